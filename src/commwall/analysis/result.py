"""Everything that is read out of one campaign, computed once.

Layer: analysis. Records, and the facts by which they are judged, are read by `commwall.records`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from commwall.analysis.gaps import GapLine, list_gaps
from commwall.analysis.platforms import display_names
from commwall.analysis.replication.judging import Replication, judge_replication
from commwall.analysis.steps.predictions import StepModels, model_steps
from commwall.analysis.values.cells import Cell, read_cells
from commwall.analysis.values.clocks import highest_clock_hz
from commwall.analysis.values.idle import IdlePowers, idle_powers_w
from commwall.analysis.verdicts.decompose import Decomposition, Undecomposed, decompose
from commwall.analysis.verdicts.judging import Verdict, judge, primary
from commwall.analysis.verdicts.pairs import Pairing, pairings, pooled
from commwall.language.translate import tr, tr_later
from commwall.records.arrival import was_tried
from commwall.records.evidence import Evidence, load_evidence
from commwall.records.hardware import NOTHING_KNOWN, read_hardware
from commwall.records.layout import Layout
from commwall.records.predictions import PredictionError, basis, read_predictions
from commwall.schema import commands
from commwall.schema.errors import CommwallError
from commwall.schema.facts import HardwareFacts
from commwall.schema.plan import Plan, Replicated
from commwall.stats.intervals import Interval, geometric_interval, mean_interval


class EvidenceMissing(CommwallError):
    """A record that the index lists and that has gone since."""


@dataclass(frozen=True)
class Analysis:
    """What the records of one campaign say."""

    evidence: Evidence
    confidence: float
    names: dict[str, str]
    """Platform -> its name for readers."""
    cells: tuple[Cell, ...]
    """Every readable record; refused where its platform's other rounds do not allow it."""
    pairings: tuple[Pairing, ...]
    verdicts: tuple[Verdict, ...]
    decompositions: tuple[Decomposition | Undecomposed, ...]
    gaps: tuple[GapLine, ...]
    facts: HardwareFacts = NOTHING_KNOWN
    """What is on file of GPUs and links."""
    replication: Replication | None = None
    """How a published campaign stands up to it; None for a campaign of its own."""

    @property
    def campaign(self) -> str:
        """The campaign's name."""
        return self.evidence.index.campaign

    @property
    def plan(self) -> Plan | None:
        """The campaign's plan; None where it cannot be read."""
        return self.evidence.plan

    @property
    def seed(self) -> int:
        """Of the generator that resamples: the plan's, else 0."""
        return self.plan.seed if self.plan else 0

    def interval(self, values: Sequence[float], *, logs: bool = True) -> Interval | None:
        """Confidence interval of the mean over rounds; None for one, or for rounds without spread.

        Args:
            values: one a round, shape (n,).
            logs: whether of the geometric mean, for positive values; else of the arithmetic one.
        """
        around = geometric_interval if logs else mean_interval
        return around(values, confidence=self.confidence, seed=self.seed)

    @cached_property
    def steps(self) -> StepModels | None:
        """Steps explained and predicted; None where the campaign has no readable plan."""
        return model_steps(self.plan, self.cells, self.confidence) if self.plan else None

    @cached_property
    def highest_clock_hz(self) -> float | None:
        """Highest clock of a GPU's processors in any record [Hz]; None if none was read."""
        return highest_clock_hz(self.evidence.records)

    @cached_property
    def idle_w(self) -> IdlePowers:
        """Idle power of each GPU [W]."""
        return idle_powers_w(self.evidence.records)

    @property
    def primary(self) -> tuple[Verdict, ...]:
        """Throughput and bandwidth verdicts; of each suite, real comparisons first."""
        return primary(self.verdicts)


def analyse(
    evidence: Evidence, confidence: float, facts: HardwareFacts = NOTHING_KNOWN
) -> Analysis:
    """Derive values, pair rounds and judge them.

    Args:
        evidence: a campaign's index, plan and records; without a plan there are no verdicts.
        confidence: level of all intervals.
        facts: of GPUs and links.
    """
    plan, cells = evidence.plan, read_cells(evidence, facts.gpus)
    pairs = pairings(plan, evidence, cells) if plan else ()
    platform_cells = pooled(cells)
    verdicts = judge(pairs, confidence=confidence, seed=plan.seed) if plan else ()
    return Analysis(
        evidence=evidence,
        confidence=confidence,
        names=display_names(plan) if plan else {},
        cells=platform_cells,
        pairings=pairs,
        verdicts=verdicts,
        decompositions=decompose(verdicts, seed=plan.seed) if plan else (),
        gaps=list_gaps(evidence.index, platform_cells, pairs),
        facts=facts,
    )


def analyse_campaign(layout: Layout, campaign: str, confidence: float) -> Analysis:
    """Load and analyse a campaign.

    Raises:
        PlanError: if there is no such campaign or no index of it.
        EvidenceMissing: if a record has gone since the index was made.
        RecordError: if a record changed since then.
        ConfigError: if a file of facts is malformed.
    """
    try:
        evidence = load_evidence(layout, campaign)
        analysis = analyse(evidence, confidence, read_hardware(layout.root))
        return with_replication(layout, analysis)
    except FileNotFoundError as error:
        raise EvidenceMissing(
            f"cannot read the records of {campaign}",
            where=str(layout.index_path(campaign).relative_to(layout.root)),
            found=f"it lists {Path(str(error.filename)).name}, which is not there any more",
            expected="an index of the records as they are",
            next_step=f"run `{commands.MEASURE}`, or `{commands.command('index')} {campaign}`",
        ) from error


def analyse_campaigns(layout: Layout, confidence: float) -> Iterator[Analysis | str]:
    """Every campaign of a checkout by name; of one that cannot be read its name, and why.

    What is only planned, by a dry run say, is none.

    One after another, so that a reader need not hold several in memory.

    Args:
        layout: of the checkout.
        confidence: level of the intervals.
    """
    for name in layout.campaigns():
        if not (layout.index_path(name).exists() or was_tried(layout, name)):
            continue
        try:
            analysis = analyse_campaign(layout, name, confidence)
        except CommwallError as error:
            yield f"{name}: {error.what}"
        else:
            yield analysis


def with_replication(layout: Layout, analysis: Analysis) -> Analysis:
    """The analysis with the published campaign that it measures again, if it does.

    Predictions that cannot be trusted are a problem that pages tell, not a stop.
    """
    plan = analysis.plan
    if plan is None or plan.replicates is None:
        return analysis
    try:
        judged = replicated(layout, plan.replicates, analysis)
    except PredictionError as error:
        found = error.parts["found"]
        problem = tr("{what} ({found})", what=tr(error.what), found=found)
        judged = Replication(plan.replicates.campaign, analysis.confidence, problem=problem)
    return replace(analysis, replication=judged)


def replicated(layout: Layout, asked: Replicated, analysis: Analysis) -> Replication:
    """Hold an analysis against what a published campaign predicts.

    Raises:
        PredictionError: if the predictions, or what they rest on, are not what they were when the
            replication was planned.
    """
    predictions = read_predictions(layout, asked.campaign)
    if predictions.digest != asked.predictions:
        raise PredictionError(
            tr_later("predictions are not those that stood when the replication was planned"),
            where=f"results/{asked.campaign}/predictions.json",
            found=f"digest {predictions.digest}",
            expected=asked.predictions,
            next_step="restore the published campaign as its publisher gave it",
        )
    records = basis(layout, predictions)
    return judge_replication(predictions, records, analysis.verdicts, analysis.cells)

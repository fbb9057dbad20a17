"""Everything that is read out of one campaign, computed once.

Layer: analysis. Records, and the facts by which they are judged, are read by `commwall.records`.
"""

from dataclasses import dataclass
from pathlib import Path

from commwall.analysis.decompose import Decomposition, Undecomposed, decompose
from commwall.analysis.gaps import GapLine, list_gaps
from commwall.analysis.names import display_names
from commwall.analysis.pairs import Cell, Pairing, pairings, pooled, read_cells
from commwall.analysis.verdicts import Verdict, judge, primary
from commwall.records.evidence import Evidence, load_evidence
from commwall.records.hardware import NOTHING_KNOWN, read_hardware
from commwall.records.layout import Layout
from commwall.schema.errors import CommwallError
from commwall.schema.facts import HardwareFacts


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
        decompositions=decompose(verdicts),
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
        return analyse(load_evidence(layout, campaign), confidence, read_hardware(layout.root))
    except FileNotFoundError as error:
        raise EvidenceMissing(
            f"cannot read the records of {campaign}",
            where=str(layout.index_path(campaign).relative_to(layout.root)),
            found=f"it lists {Path(str(error.filename)).name}, which is not there any more",
            expected="an index of the records as they are",
            next_step=f"run `snakemake --cores all`, or `commwall index {campaign}`",
        ) from error

"""Whether the faster link of a campaign is worth its price, by the assumptions of a scenario.

Layer: analysis. Assumptions are read by `commwall.economics.files`. An emulated link has no price,
and so no answer.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from commwall.analysis.platforms import is_emulated
from commwall.analysis.quantities import MEAN_POWER, PRIMARY
from commwall.analysis.result import Analysis
from commwall.analysis.verdicts.judging import Verdict
from commwall.analysis.verdicts.overall import comparisons, why_unused
from commwall.economics.files import read_scenario
from commwall.economics.judging import Judged, judge
from commwall.economics.scenario import Scenario
from commwall.economics.work import Workload, measured, stated, subjects
from commwall.language.translate import listed, tr, tr_later
from commwall.schema.case import TrainingCase
from commwall.schema.errors import ConfigError
from commwall.schema.plan import Comparison, Plan

EMULATED = tr_later(
    "an emulated link is not for sale: no price belongs to it, so nothing can be said of money"
)


@dataclass(frozen=True)
class Money:
    """What a scenario says of one comparison, or of the gains that it states itself."""

    scenario: Scenario
    sides: str
    """Which links, or what the gains are."""
    judged: tuple[Judged, ...]
    """Every workload with a gain, the mix last."""
    absent: dict[str, str]
    """Workload -> why it has no gain."""
    refusal: str | None = None
    """Why nothing may be said at all."""

    @property
    def no_mix(self) -> str | None:
        """Why there is no answer for the mix; None where there is one, or only one workload."""
        weights = self.scenario.mix or {}
        lacking = listed(name for name in weights if name in self.absent)
        return tr("the mix contains {names}, without a gain", names=lacking) if lacking else None

    @property
    def foremost(self) -> Judged | None:
        """The mix where there is one, else the first workload."""
        mixed = [judged for judged in self.judged if judged.subject.alone is None]
        return next(iter((*mixed, *self.judged)), None)


def money_of_campaign(
    root: Path, analysis: Analysis, wanted: str | None = None, sides: tuple[str, str] | None = None
) -> tuple[Money, ...]:
    """An answer for each comparison of treatments.

    Args:
        root: the checkout whose assumptions count.
        analysis: of the campaign.
        wanted: scenario, see `read_scenario`.
        sides: platforms of the one comparison that is asked for.

    Raises:
        ConfigError: if the assumptions are malformed, or there is no such comparison.
    """
    plan, found = analysis.plan, comparisons(analysis)
    if sides is not None:
        found = [each for each in found if (each.a, each.b) == sides]
    if plan is None or (sides and not found):
        raise _no_comparison(analysis, sides)
    return tuple(_of_comparison(root, analysis, plan, each, wanted) for each in found)


def money_of_scenario(root: Path, confidence: float, wanted: str | None = None) -> Money:
    """An answer from the gains that a scenario states itself.

    Raises:
        ConfigError: if the assumptions are malformed, or state no gain.
    """
    scenario = read_scenario(root, wanted)
    if not scenario.gains:
        raise ConfigError(
            "no gain to judge",
            where=scenario.name,
            found="no campaign, and the scenario states no gains",
            expected="`--campaign ID`, or `gains` in the scenario",
        )
    return _money(scenario, scenario.title, {}, {}, confidence, 0)


def _of_comparison(
    root: Path, analysis: Analysis, plan: Plan, comparison: Comparison, wanted: str | None
) -> Money:
    platforms = [plan.platform(side) for side in (comparison.a, comparison.b)]
    scenario = read_scenario(root, wanted, gpus=platforms[0].world_size)
    a, b = (analysis.names[platform.name] for platform in platforms)
    sides = tr("{a} against {b}", a=a, b=b)
    if any(map(is_emulated, platforms)):
        return Money(scenario, sides, (), {}, tr(EMULATED))
    own = [v for v in analysis.verdicts if v.comparison == comparison and v.suite == "training"]
    speeds = [verdict for verdict in own if verdict.quantity == PRIMARY]
    found = {v.case: _workload(v, own, plan) for v in speeds if v.ratio}
    absent = {v.case: why_unused(analysis, v) for v in speeds if not v.ratio}
    return _money(scenario, sides, found, absent, analysis.confidence, plan.seed)


def _money(
    scenario: Scenario,
    sides: str,
    found: dict[str, Workload],
    absent: dict[str, str],
    confidence: float,
    seed: int,
) -> Money:
    """Gains that are stated stand in only where none was measured."""
    others = {
        workload.name: workload for workload in stated(scenario) if workload.name not in found
    }
    workloads = found | others
    absent = {name: why for name, why in absent.items() if name not in workloads}
    asked = subjects(workloads, scenario.mix, absent)
    judged = tuple(judge(scenario, each, confidence, seed=abs(seed)) for each in asked)
    return Money(scenario, sides, judged, absent)


def _workload(verdict: Verdict, own: Iterable[Verdict], plan: Plan) -> Workload:
    case = plan.suite("training").cases[verdict.case]
    power = next(v for v in own if v.case == verdict.case and v.quantity == MEAN_POWER)
    values = {"speedup": _ratios(verdict), "rate": verdict.values_b}
    rounds = dict.fromkeys(values, verdict.rounds)
    if power.ratio:
        values |= {"power": power.values_b, "power_ratio": _ratios(power)}
        rounds |= dict.fromkeys(("power", "power_ratio"), power.rounds)
    return measured(
        verdict.case,
        values,
        tr("campaign {campaign}", campaign=plan.id),
        rounds=rounds,
        epoch_samples=case.dataset_samples if isinstance(case, TrainingCase) else None,
        no_energy=None if power.ratio else str(power.why_none),
    )


def _ratios(verdict: Verdict) -> tuple[float, ...]:
    return verdict.ratio.ratios if verdict.ratio else ()


def _no_comparison(analysis: Analysis, sides: tuple[str, str] | None) -> ConfigError:
    known = ", ".join(f"--a {c.a} --b {c.b}" for c in comparisons(analysis))
    return ConfigError(
        "there is no such comparison to judge",
        where=analysis.campaign,
        found=" against ".join(sides) if sides else "a plan that cannot be read",
        expected=known or "a campaign that compares platforms",
    )

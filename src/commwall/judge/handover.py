"""What a hand-over is made of: expectations, checks, and how a check comes to its outcome.

Layer: judge. Reads no file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from commwall.judge.facts import GpuLinks
from commwall.judge.finding import Evidence, Finding, Level
from commwall.judge.scene import Scene
from commwall.language.translate import listed, tr, tr_later
from commwall.schema.base import Model, PositiveFloat, PositiveInt

Outcome = Literal["pass", "warn", "fail", "open"]
"""open: the files do not show it."""
OUTCOMES: dict[Outcome, str] = {
    "pass": tr_later("pass"),
    "warn": tr_later("warn"),
    "fail": tr_later("fail"),
    "open": tr_later("open"),
}
"""Outcome -> its word, for `tr`."""
_OF_LEVEL: dict[Level, Outcome] = {
    "fault": "fail",
    "warning": "fail",
    "unknown": "open",
    "note": "pass",  # unless a check says otherwise
    "good": "pass",
}


class Expectations(Model):
    """Content of `acceptance.yaml`; None is taken from the facts."""

    gpu: str | None = None
    gpu_count: PositiveInt | None = None
    nvlink_joins: Literal["all", "pairs", "nothing"] | None = None
    nvlinks: PositiveInt | None = None
    nvlink_bytes_per_s: PositiveFloat | None = None
    power_limit_w: PositiveFloat | None = None
    pcie_generation: PositiveInt | None = None
    pcie_lanes: PositiveInt = 16
    divided: bool = False
    all_reduce_bytes_per_s: PositiveFloat | None = None


class Check(Model):
    """One line of a hand-over."""

    item: str
    outcome: Outcome
    expected: str
    found: str
    reason: str
    """Why it is so, or what to do."""
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Case:
    """What checks look at."""

    scene: Scene
    wanted: Expectations
    findings: tuple[Finding, ...]

    @property
    def gpu(self) -> GpuLinks | None:
        """Facts of the GPUs that were ordered, else of those that are there."""
        return self.scene.facts.gpu_of(
            [self.wanted.gpu] if self.wanted.gpu else self.scene.gpu_names
        )


def summary(found: Sequence[Check]) -> tuple[Outcome, str]:
    """The result as a whole, and how many checks ended how."""
    told_of: tuple[Outcome, ...] = ("fail", "warn", "open")
    count = {name: sum(one.outcome == name for one in found) for name in told_of}
    worst: Outcome = next((name for name in ("fail", "open", "warn") if count[name]), "pass")
    told = listed(f"{n} {tr(OUTCOMES[name])}" for name, n in count.items() if n)
    if not told:
        return worst, tr("{n} checks: all pass", n=len(found))
    return worst, tr("{n} checks: {counts}, the rest pass", n=len(found), counts=told)


def compared(
    item: str,
    want: object,
    found: object,
    good: bool,
    *,
    reason: str,
    evidence: tuple[Evidence, ...],
) -> Check:
    """A value against what was expected; open where either is not known.

    Args:
        item: what is checked.
        want: what was expected; None if nobody says.
        found: what the files show; None if they do not.
        good: whether the one fulfils the other.
        reason: where it does not, why; where it is not shown, the command that would.
        evidence: lines that show it.
    """
    known = want is not None and found is not None
    return Check(
        item=item,
        outcome=("pass" if good else "fail") if known else "open",
        expected=tr("not stated and not on file") if want is None else str(want),
        found=tr("not shown") if found is None else str(found),
        reason=tr("as expected") if known and good else reason,
        evidence=evidence,
    )


def decided_by(
    item: str,
    case: Case,
    rules: Sequence[str],
    expected: str,
    next_step: str,
    *,
    note: Outcome = "pass",
) -> Check:
    """A check that the judge's findings decide, the gravest first.

    Args:
        item: what is checked.
        case: what was judged.
        rules: whose findings decide.
        expected: in words.
        next_step: the command that would show it, where nothing does.
        note: what a finding of that level amounts to here.
    """
    found = [one for one in case.findings if one.rule in rules]
    if not found:
        return Check(
            item=item, outcome="open", expected=expected, found=tr("not shown"), reason=next_step
        )
    worst = found[0]
    return Check(
        item=item,
        outcome=note if worst.level == "note" else _OF_LEVEL[worst.level],
        expected=expected,
        found=worst.verdict,
        reason=worst.means,
        evidence=worst.evidence,
    )

"""What a search has found, as two files: one that a launcher sources, and the evidence.

Layer: measure. Writes `<name>.env` and `<name>.json`.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from commwall.measure.tuning.candidates import Candidate
from commwall.measure.tuning.torch_text import start_text, torch_lines
from commwall.records.files import write_atomically
from commwall.records.texts import model_text
from commwall.schema.base import Model
from commwall.schema.mitigation import Mitigation, StepCase
from commwall.schema.plan import PlannedPlatform
from commwall.schema.result import CaseResult
from commwall.schema.units import significant

CODE = "#   "
"""Begins lines of the program that trains, so that they can be cut out."""


class Tried(Model):
    """One case of one launch: the raw values behind a score."""

    rung: int
    variables: dict[str, str]
    mitigation: Mitigation
    result: CaseResult


class Offered(Model):
    """A candidate as it is told."""

    words: str
    price: str
    """What it costs in loss, or that this was not measured."""


class Evidence(Model):
    """All that a search measured, and what follows from it."""

    workload: StepCase
    platform: PlannedPlatform
    ended_at: datetime
    within_s: float
    took_s: float
    candidates: tuple[Offered, ...]
    left_out: tuple[str, ...]
    best: Offered | None
    """Null if nothing was faster than the plain step."""
    gain: float | None
    """Time of a sample without it over time with."""
    confirmed: bool = False
    """Whether `gain` is of a last rung that measured the best alone, so that it did not choose it;
    else it is the mean of all rungs, and flatters."""
    tried: tuple[Tried, ...]


@dataclass(frozen=True)
class Found:
    """The outcome of a search."""

    best: Candidate | None
    """None if nothing was faster than the plain step."""
    evidence: Evidence


def write_found(found: Found, folder: Path, name: str) -> tuple[Path, Path]:
    """Write the winning environment and, beside it, the evidence.

    Returns:
        Both paths.

    Raises:
        OSError: if the file system refuses.
    """
    folder.mkdir(parents=True, exist_ok=True)
    evidence, settings = folder / f"{name}.json", folder / f"{name}.env"
    write_atomically(evidence, model_text(found.evidence))
    write_atomically(settings, environment_text(found, evidence.name))
    return settings, evidence


def environment_text(found: Found, evidence: str) -> str:
    """A file to be sourced: NCCL's variables, and as comments what no variable can do.

    Args:
        found: the outcome.
        evidence: name of the file beside it.
    """
    variables = dict(found.best.variables) if found.best else {}
    exports = (f"export {name}={shlex.quote(value)}" for name, value in variables.items())
    return "\n".join([*_head(found.evidence, evidence), *exports, *_by_hand(found)]) + "\n"


def _head(told: Evidence, evidence: str) -> Iterator[str]:
    words = told.best.words if told.best else "nothing was faster than the plain step"
    work = f"{told.workload.model} {told.workload.preset} on {told.platform.name}"
    yield f"# {work}, {told.ended_at:%Y-%m-%d}: {words}"
    if told.best and told.gain:
        yield f"# {significant(told.gain, 3)} times as fast as the plain step"
        yield f"# price in loss: {told.best.price}"
    yield f"# evidence: {evidence}"


def _by_hand(found: Found) -> Iterator[str]:
    """What a launcher's command line and the program that trains have to do."""
    best, told = found.best, found.evidence
    if best is None or best.mitigation is None:
        return
    how = start_text(best.mitigation, told.platform.device)
    if how:
        yield f"# start processes with: {how}"
    if best.mitigation.chosen.keys() - {"numa"}:
        yield "# in the program that trains, which no variable can change:"
        case = told.workload.model_copy(update={"mitigation": best.mitigation})
        yield from (f"{CODE}{line}" for line in torch_lines(case, told.platform.device))

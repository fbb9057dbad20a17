"""Steps with something tried and the unmitigated steps they are held against, round by round.

Layer: analysis. Reads no file. An option of the step is held against the unmitigated step of its
own launch. NCCL's variables are read once a process: a platform that sets more of them than another
on the same way is that one with the variables tried, and its steps are held against the unmitigated
step of the other platform. Steps of two platforms stand beside each other only if they were taken
back to back and may be compared, as in verdicts: other records of the same round may be of another
sitting.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean, median

from commwall.analysis.values.cells import Cell
from commwall.analysis.values.mitigated import Timing, timing
from commwall.records.comparable import differences
from commwall.schema.base import canonical_json
from commwall.schema.mitigation import Mitigation, StepCase
from commwall.schema.plan import Plan, PlannedPlatform
from commwall.schema.record import Record
from commwall.schema.treatment import EmulatedLink
from commwall.schema.variables import nccl_variables
from commwall.schema.workload import Workload

Settings = tuple[tuple[str, str], ...]
"""NCCL variables and their values."""
Key = tuple[str, str, int]
"""Platform, workload, round."""
Launched = tuple[str, str, str]
"""Platform, workload, and what launches share that were made back to back."""


@dataclass(frozen=True)
class Tried:
    """What is tried: options of the step, NCCL variables, or both."""

    mitigation: Mitigation | None
    settings: Settings = ()


@dataclass(frozen=True)
class Turn:
    """One round of it."""

    cell: Cell
    """The record with what is tried."""
    baseline: str
    """Platform of the unmitigated step."""
    plain: Timing
    mitigated: Timing

    @property
    def place(self) -> Key:
        """Where the unmitigated step was taken."""
        return (self.baseline, *workload_round(self.cell))


Group = tuple[str, str, str, Tried]
"""Baseline, workload, case (none for variables alone, which several cases tell), what is tried."""


class Turns:
    """Of all usable records of a campaign.

    Args:
        plan: of the campaign; None has no platforms to hold against each other.
        cells: its records.
    """

    def __init__(self, plan: Plan | None, cells: Iterable[Cell]) -> None:
        own = tuple(cells)
        self._plain = _plain_steps(own)
        self._tuned = tuned_platforms(plan) if plan else {}
        groups: dict[Group, dict[int, Turn]] = {}
        for cell in own:
            for group, turn in self._of(cell):
                groups.setdefault(group, {}).setdefault(cell.record.id.round, turn)
        self.groups = {group: tuple(rounds.values()) for group, rounds in groups.items()}

    def plain(self, platform: str, cell: Cell) -> Timing | None:
        """The unmitigated step that a platform took back to back with a record.

        The median over the cases that have it and may be compared with the record; None if none.
        """
        own = cell.record
        steps = self._plain.get((platform, workload_round(cell)[0], own.id.round_id), [])
        fit = [
            timing
            for other, timing in steps
            if not differences(own, other, "round" if own.id.case == other.id.case else "cases")
        ]
        return _middle(fit) if fit else None

    def _of(self, cell: Cell) -> Iterator[tuple[Group, Turn]]:
        """What one record tells, and to which group it belongs."""
        sides = _sides(cell)
        if sides is None:
            return
        assert isinstance(cell.record.case, StepCase)  # no other has sides
        mine, place = cell.record.id, workload_round(cell)
        plain, mitigated = sides
        option = cell.record.case.mitigation
        if mine.platform not in self._tuned:
            turn = Turn(cell, mine.platform, plain, mitigated)
            yield (mine.platform, place[0], mine.case, Tried(option)), turn
            return
        base, settings = self._tuned[mine.platform]
        held_against, alone = self.plain(base, cell), self.plain(mine.platform, cell)
        if held_against and alone:
            yield (base, place[0], "", Tried(None, settings)), Turn(cell, base, held_against, alone)
            turn = Turn(cell, base, held_against, mitigated)
            yield (base, place[0], mine.case, Tried(option, settings)), turn


def tuned_platforms(plan: Plan) -> dict[str, tuple[str, Settings]]:
    """Platforms that set more NCCL variables than another on the same way: the other, and what
    they set besides. Of several others it is the nearest, which sets most itself.
    """
    return {
        own.name: (base.name, tuple(sorted(_variables(own).items() - _variables(base).items())))
        for own in plan.platforms
        if (base := _base_of(own, plan.platforms))
    }


def _base_of(own: PlannedPlatform, platforms: Iterable[PlannedPlatform]) -> PlannedPlatform | None:
    others = [
        each
        for each in platforms
        if _stage(each) == _stage(own) and _variables(each).items() < _variables(own).items()
    ]
    return max(others, key=lambda each: len(_variables(each)), default=None)


def _stage(platform: PlannedPlatform) -> tuple[object, ...]:
    """What platforms must share besides variables; an emulated link has no others like it."""
    link = platform.name if isinstance(platform.treatment, EmulatedLink) else platform.path
    return platform.device, platform.world_size, platform.nodes, link


def _variables(platform: PlannedPlatform) -> dict[str, str]:
    return nccl_variables(platform.treatment)


def _plain_steps(cells: Iterable[Cell]) -> dict[Launched, list[tuple[Record, Timing]]]:
    """The unmitigated step of every usable record that has one."""
    found: dict[Launched, list[tuple[Record, Timing]]] = {}
    for cell in cells:
        if sides := _sides(cell):
            where = cell.record.id
            key = (where.platform, workload_round(cell)[0], where.round_id)
            found.setdefault(key, []).append((cell.record, sides[0]))
    return found


def _middle(timings: list[Timing]) -> Timing:
    """One for all: the median time, and the mean energy of those that have one."""
    energies = [t.energy_j_per_sample for t in timings if t.energy_j_per_sample]
    time_s = median(t.sample_time_s for t in timings)
    return Timing(time_s, fmean(energies) if energies else None)


def _sides(cell: Cell) -> tuple[Timing, Timing] | None:
    """The step without and the step with a mitigation of a usable record of kind step."""
    if cell.refusals or not isinstance(cell.record.case, StepCase):
        return None
    plain, mitigated = (timing(cell.record, leg) for leg in ("full", "mitigated"))
    if isinstance(plain, str) or isinstance(mitigated, str):
        return None
    return plain, mitigated


def workload_round(cell: Cell) -> tuple[str, int]:
    """What is trained, and the round."""
    case = cell.record.case
    assert isinstance(case, Workload)  # others train nothing
    return workload_key(case), cell.record.id.round


def workload_key(case: Workload) -> str:
    """Canonical text of what is trained."""
    return canonical_json(case.identity)

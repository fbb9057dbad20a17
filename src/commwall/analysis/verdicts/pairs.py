"""Which records of a comparison stand side by side, and which are refused and why.

Layer: analysis. Reads no file. Two records are paired only if both are admitted, share a
`round_id` and differ in nothing but the treatment; whatever is left out is listed.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from commwall.analysis.values.cells import Cell
from commwall.language.translate import clauses, tr
from commwall.records.comparable import check_round, differences
from commwall.records.evidence import Evidence
from commwall.records.todo import Finding
from commwall.schema.case import Case, SuiteName
from commwall.schema.errors import IncomparableRecords
from commwall.schema.plan import Comparison, Plan, PlannedSuite
from commwall.schema.record import Record

Place = tuple[str, str, str, int]
"""Platform, suite, case, round."""


@dataclass(frozen=True)
class Refusal:
    """A round that a comparison could not use."""

    round: int
    reason: str
    of_record: bool = False
    """True if one record is the cause, which stands in the list of gaps by itself."""
    unmeasured: bool = False
    """True if no side has been measured in that round."""

    def __str__(self) -> str:
        return tr("round {round}: {reason}", round=self.round, reason=self.reason)


@dataclass(frozen=True)
class Pairing:
    """All rounds of one comparison for one case."""

    comparison: Comparison
    suite: SuiteName
    case: str
    planned: Case
    """The case as the plan has it."""
    pairs: tuple[tuple[Cell, Cell], ...]
    """Records of `a` and `b`, one pair a round, in round order."""
    refusals: tuple[Refusal, ...]


def pairings(plan: Plan, evidence: Evidence, cells: tuple[Cell, ...]) -> tuple[Pairing, ...]:
    """Pair the rounds of every comparison, for every case both its platforms run."""
    findings: dict[Place, Finding] = {
        (f.platform, f.suite, f.case, f.round): f for f in evidence.index.findings
    }
    by_place: dict[Place, Cell] = {_place(cell.record): cell for cell in cells}
    return tuple(
        _pairing(comparison, suite, case, findings, by_place)
        for comparison in plan.comparisons
        for suite in plan.suites
        for case in suite.cases
        if {comparison.a, comparison.b} <= set(suite.platforms_of(case))
    )


def _pairing(
    comparison: Comparison,
    planned: PlannedSuite,
    case: str,
    findings: Mapping[Place, Finding],
    by_place: Mapping[Place, Cell],
) -> Pairing:
    found: list[tuple[Cell, Cell]] = []
    refused: list[Refusal] = []
    suite = planned.suite
    for round_ in range(1, planned.rounds + 1):
        places: list[Place] = [(s, suite, case, round_) for s in (comparison.a, comparison.b)]
        a, b = (by_place.get(place) for place in places)
        of_records = [*_absences(places, by_place, findings), *_not_admitted(a, b)]
        of_pair = [] if of_records else _not_comparable(a, b)
        never = all(_is_missing(findings.get(place)) for place in places)
        refused += [Refusal(round_, reason, of_record=True, unmeasured=never)
                    for reason in of_records]  # fmt: skip
        refused += [Refusal(round_, reason) for reason in of_pair]
        if a and b and not of_records and not of_pair:
            found.append((a, b))
    kept, strangers = _alike(found)
    return Pairing(comparison, suite, case, planned.cases[case], kept, (*refused, *strangers))


def _place(record: Record) -> Place:
    return record.id.platform, record.id.suite, record.id.case, record.id.round


def _absences(
    places: list[Place],
    by_place: Mapping[Place, Cell],
    findings: Mapping[Place, Finding],
) -> Iterator[str]:
    """Why a side of a round has no readable record, as the index says it."""
    for place in places:
        if place not in by_place:
            finding = findings.get(place)
            standing = standing_text(finding) if finding else tr("not in the index")
            yield tr("{platform} has no record ({standing})", platform=place[0], standing=standing)


def _is_missing(finding: Finding | None) -> bool:
    return finding is not None and finding.standing == "missing"


def standing_text(finding: Finding) -> str:
    """What a record is worth, and why: "missing: no record"."""
    standing, reason = tr(finding.standing), tr(str(finding.reason))
    return tr("{standing}: {reason}", standing=standing, reason=reason)


def _not_admitted(*cells: Cell | None) -> Iterator[str]:
    for cell in cells:
        if cell:
            yield from (f"{cell.record.id.platform} {reason}" for reason in cell.refusals)


def _not_comparable(a: Cell | None, b: Cell | None) -> list[str]:
    """Why two admitted records of one round may not be paired; empty if they may."""
    if not a or not b:
        return []
    try:
        check_round(a.record, b.record)
    except IncomparableRecords as error:
        found = clauses((error.parts["found"] or error.what).splitlines())
        sides = {"a": a.record.id.platform, "b": b.record.id.platform}
        return [tr("{a} and {b} are not comparable: {found}", **sides, found=found)]
    return []


def pooled(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """The cells of every platform as its rounds may be pooled.

    A round that must not be pooled with the platform's others is refused with the reason; the
    pairing does not ask this, it pools pairs of rounds.
    """
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        platform, suite, case, _ = _place(cell.record)
        groups.setdefault((platform, suite, case), []).append(cell)
    return tuple(cell for group in groups.values() for cell in _pooled_group(group))


def _pooled_group(cells: list[Cell]) -> Iterator[Cell]:
    _, strangers = _alike([(cell,) for cell in cells if not cell.refusals])
    reasons = {refusal.round: refusal.reason for refusal in strangers}
    for cell in cells:
        reason = reasons.get(cell.record.id.round)
        yield replace(cell, refusals=(*cell.refusals, reason)) if reason else cell


Cells = TypeVar("Cells", bound=tuple[Cell, ...])


def _alike(rounds: list[Cells]) -> tuple[tuple[Cells, ...], tuple[Refusal, ...]]:
    """Keep the largest set of rounds that may be pooled with one of them; refuse the others.

    Args:
        rounds: one cell, or one of each side, for every round.
    """
    if not rounds:
        return (), ()
    sets = [[own for own in rounds if not _apart(own, reference)] for reference in rounds]
    size = max(len(alike) for alike in sets)
    reference, kept = next(
        (own, alike) for own, alike in zip(rounds, sets, strict=True) if len(alike) == size
    )
    refused = tuple(
        Refusal(own[0].record.id.round, _stranger_reason(own, reference))
        for own in rounds
        if own not in kept
    )
    return tuple(kept), refused


def _apart(own: tuple[Cell, ...], reference: tuple[Cell, ...]) -> tuple[str, ...]:
    """Fields that must agree across rounds and do not."""
    return tuple(
        str(difference)
        for cell, other in zip(own, reference, strict=True)
        for difference in differences(cell.record, other.record, "across")
    )


def _stranger_reason(own: tuple[Cell, ...], reference: tuple[Cell, ...]) -> str:
    return tr(
        "not comparable with round {round}: {fields}",
        round=reference[0].record.id.round,
        fields=clauses(dict.fromkeys(_apart(own, reference))),
    )

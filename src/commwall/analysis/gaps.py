"""Everything a reader must know is missing, refused or doubtful.

Layer: analysis. Reads no file. Nothing is left out silently: what no verdict uses stands here.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from commwall.analysis.names import QUANTITIES_OF, Quantity
from commwall.analysis.pairs import Cell, Pairing
from commwall.records.comparable import NOT_AS_PLANNED
from commwall.records.index import Index
from commwall.schema.case import Leg, SuiteName
from commwall.schema.metrics import METRICS
from commwall.schema.result import EXCLUDING_MARKS

_PERCENT = re.compile(r"(?<=\d)%")
"""Records write "80%" in their details, pages "80 %"."""
Place = tuple[SuiteName, str, str]
"""Suite, platform and case."""
Kind = Literal["problem", "accident", "record", "stale", "pair", "mark", "value"]


@dataclass(frozen=True)
class GapLine:
    """One thing that is missing or doubtful, with its reason."""

    kind: Kind
    where: str
    reason: str
    suite: SuiteName | None = None
    """Suite it concerns; None if several or none."""

    def __str__(self) -> str:
        return f"{self.where}: {_PERCENT.sub(' %', self.reason)}"


def list_gaps(
    index: Index, cells: Iterable[Cell], pairings: Iterable[Pairing]
) -> tuple[GapLine, ...]:
    """All gaps of a campaign, gravest first; equal reasons of several rounds in one line."""
    cells = tuple(cells)
    lines = [
        *(GapLine("problem", index.campaign, text, _named(text)) for text in index.problems),
        *_accidents(index),
        *_findings(index),
        *_not_admitted(cells),
        *_pairs(pairings),
        *_doubts(cells),
        *_absent_values(cells),
        *_unread(cells),
    ]
    return tuple(dict.fromkeys(lines))


def _accidents(index: Index) -> Iterator[GapLine]:
    for accident in index.accidents:
        where = f"{accident.platform}, round {accident.round}"
        cause = accident.cause.replace("_", " ")
        log = f" (log {accident.log})" if accident.log else ""
        hit = [finding.suite for finding in index.findings if finding.case in accident.cases]
        yield GapLine("accident", where, f"{cause}: {accident.detail}{log}", _only(hit))


def _findings(index: Index) -> Iterator[GapLine]:
    for finding in index.findings:
        where = f"{finding.platform}, {finding.case}, round {finding.round}"
        reason = f"{finding.standing}: {finding.reason}"
        if finding.standing in ("missing", "invalid", "withdrawn"):
            yield GapLine("record", where, reason, finding.suite)
        elif finding.standing == "stale" and not reason.startswith(f"stale: {NOT_AS_PLANNED}"):
            # A record measured otherwise than planned is refused, and told among those.
            yield GapLine("stale", where, f"{reason}; still used here", finding.suite)


def _not_admitted(cells: tuple[Cell, ...]) -> Iterator[GapLine]:
    """Refused records; the rounds that one cause refuses in one line with one example."""
    found: dict[tuple[SuiteName, str, str, str], dict[int, str]] = {}
    for cell in cells:
        place = cell.record.id
        for reason in cell.refusals:
            cause = reason.partition(":")[0]
            key = (place.suite, place.platform, place.case, cause)
            found.setdefault(key, {})[place.round] = reason
    for (suite, platform, case, _), reasons in found.items():
        first = min(reasons)
        example = f"for instance round {first} " if len(reasons) > 1 else ""
        where = f"{platform}, {case}, {rounds_text(reasons)}"
        yield GapLine("record", where, f"not used, {example}{reasons[first]}", suite)


def _pairs(pairings: Iterable[Pairing]) -> Iterator[GapLine]:
    """Refused pairs of records that are each usable by themselves."""
    for pairing in pairings:
        where = f"{pairing.comparison.a} against {pairing.comparison.b}, {pairing.case}"
        for refusal in pairing.refusals:
            if not refusal.of_record:
                when = f"{where}, round {refusal.round}"
                yield GapLine("pair", when, refusal.reason, pairing.suite)


def _doubts(cells: tuple[Cell, ...]) -> Iterator[GapLine]:
    """Marks that do not exclude a record, the rounds of each in one line with one example."""
    found: dict[tuple[SuiteName, str, str, Leg | None, str], dict[int, str]] = {}
    for cell in cells:
        place = cell.record.id
        for mark in cell.record.marks:
            if mark.name not in EXCLUDING_MARKS:
                key = (place.suite, place.platform, place.case, mark.leg, mark.name)
                found.setdefault(key, {}).setdefault(place.round, mark.detail)
    for (suite, platform, case, leg, name), details in found.items():
        where = f"{platform}, {case}, {rounds_text(details)}" + (f", leg {leg}" if leg else "")
        first = min(details)
        example = f"for instance round {first}, " if len(details) > 1 else ""
        words = f"{name.replace('_', ' ')}: {example}{details[first]}"
        yield GapLine("mark", where, words, suite)


def _absent_values(cells: tuple[Cell, ...]) -> Iterator[GapLine]:
    """Quantities that admitted records lack: what lacks the same for one reason in one line."""
    rounds: dict[tuple[Place, str, Quantity], list[int]] = {}
    for cell in cells:
        if not cell.refusals:
            place = cell.record.id
            for quantity, reason in cell.derived.absent.items():
                key = ((place.suite, place.platform, place.case), reason, quantity)
                rounds.setdefault(key, []).append(place.round)
    labels: dict[tuple[Place, str, str], list[str]] = {}
    for (where, reason, quantity), own in rounds.items():
        labels.setdefault((where, reason, rounds_text(own)), []).append(quantity.label)
    places: dict[tuple[SuiteName, str, str, str], list[Place]] = {}
    for (where, reason, when), own_labels in labels.items():
        places.setdefault((where[0], reason, when, ", ".join(own_labels)), []).append(where)
    for (suite, reason, when, what), own_places in places.items():
        named = f"{_places_text(own_places)}, {when}"
        yield GapLine("value", named, f"no {what}: {reason}", suite)


def _places_text(places: list[Place]) -> str:
    """Platforms and cases; each list once where every platform has the same cases."""
    _, platforms, cases = (list(dict.fromkeys(names)) for names in zip(*places, strict=True))
    if len(platforms) * len(cases) == len(places):
        return f"{_list_text(platforms)}, {_list_text(cases)}"
    return "; ".join(f"{platform}, {case}" for _, platform, case in places)


def _list_text(names: list[str]) -> str:
    """Names as a sentence lists them: "a, b and c"."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _unread(cells: tuple[Cell, ...]) -> Iterator[GapLine]:
    """Facts of machine and software that could not be read; metrics stand above."""
    found: dict[tuple[str, str], list[SuiteName]] = {}
    for cell in cells:
        for gap in cell.record.gaps:
            if gap.what not in METRICS:
                found.setdefault((gap.what, gap.reason), []).append(cell.record.id.suite)
    for (what, reason), suites in found.items():
        yield GapLine("value", what, f"not read: {reason}", _only(suites))


def _named(problem: str) -> SuiteName | None:
    """The suite that a problem of the index begins with: "suite memory: …"."""
    start = problem.partition(":")[0]
    return next((suite for suite in QUANTITIES_OF if start == f"suite {suite}"), None)


def _only(suites: Iterable[SuiteName]) -> SuiteName | None:
    """The one suite that all of them are; None if there are several or none."""
    known = set(suites)
    return known.pop() if len(known) == 1 else None


def rounds_text(rounds: Iterable[int]) -> str:
    """Rounds in words: "round 3", "rounds 1 to 5", "rounds 1, 2, 5"."""
    own = sorted(set(rounds))
    if len(own) == 1:
        return f"round {own[0]}"
    if len(own) > 2 and own[-1] - own[0] == len(own) - 1:
        return f"rounds {own[0]} to {own[-1]}"
    return f"rounds {', '.join(map(str, own))}"

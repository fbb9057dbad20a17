"""Everything a reader must know is missing, refused or doubtful.

Layer: analysis. Reads no file. Nothing is left out silently: what no verdict uses stands here.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from commwall.analysis.quantities import QUANTITIES_OF, Quantity
from commwall.analysis.values.cells import Cell
from commwall.analysis.verdicts.pairs import Pairing, standing_text
from commwall.language.translate import clauses, listed, tr
from commwall.records.admit import cause_of
from commwall.records.comparable import NOT_AS_PLANNED
from commwall.records.index import Index
from commwall.records.names import plain
from commwall.records.todo import Standing
from commwall.schema.case import Leg, SuiteName
from commwall.schema.metrics import METRICS
from commwall.schema.result import EXCLUDING_MARKS

_PERCENT = re.compile(r"(?<=\d)%")
"""Records write "80%" in their details, pages "80 %"."""
Place = tuple[SuiteName, str, str]
"""Suite, platform and case."""
Kind = Literal["problem", "accident", "record", "pair", "missing", "stale", "mark", "value"]
"""Gravest first."""
_FOUND: dict[Standing, Kind] = {
    "invalid": "record",
    "withdrawn": "record",
    "missing": "missing",
    "stale": "stale",
}
"""What is told of a place, by what its record is worth."""


@dataclass(frozen=True)
class GapLine:
    """One thing that is missing or doubtful, with its reason."""

    kind: Kind
    where: str
    reason: str
    suite: SuiteName | None = None
    """Suite it concerns; None if several or none."""
    records: int = 1
    """How many it tells of."""

    def __str__(self) -> str:
        reason = _PERCENT.sub(" %", self.reason)
        return tr("{where}: {reason}", where=self.where, reason=reason)


def list_gaps(
    index: Index, cells: Iterable[Cell], pairings: Iterable[Pairing]
) -> tuple[GapLine, ...]:
    """All gaps of a campaign, gravest first; equal reasons of several rounds in one line."""
    cells = tuple(cells)
    lines = [
        *(_problem(index, text) for text in index.problems),
        *_accidents(index),
        *_findings(index),
        *_not_admitted(cells),
        *_pairs(pairings),
        *_doubts(cells),
        *_absent_values(cells),
        *_unread(cells),
    ]
    return tuple(sorted(dict.fromkeys(lines), key=lambda line: get_args(Kind).index(line.kind)))


def _problem(index: Index, text: str) -> GapLine:
    """A problem that the index tells, in English; of a suite it begins with its name."""
    name, _, what = text.partition(": ")
    suite = next((suite for suite in QUANTITIES_OF if name == f"suite {suite}"), None)
    words = tr("suite {suite}: {problem}", suite=suite, problem=tr(what)) if suite else tr(text)
    return GapLine("problem", index.campaign, words, suite)


def _accidents(index: Index) -> Iterator[GapLine]:
    for accident in index.accidents:
        where = _where(accident.platform, rounds_text([accident.round]))
        reason = tr("{cause}: {detail}", cause=plain(accident.cause), detail=accident.detail)
        if accident.log:
            reason = tr("{reason} (log {log})", reason=reason, log=accident.log)
        hit = [finding.suite for finding in index.findings if finding.case in accident.cases]
        yield GapLine("accident", where, reason, _only(hit))


def _findings(index: Index) -> Iterator[GapLine]:
    """Records that are not there, or not as they should be; the rounds of each in one line."""
    found: dict[tuple[Kind, Place, str], list[int]] = {}
    for finding in index.findings:
        kind, reason = _FOUND.get(finding.standing), standing_text(finding)
        # A record measured otherwise than planned is refused, and told among those.
        if kind and not str(finding.reason).startswith(NOT_AS_PLANNED):
            place = (finding.suite, finding.platform, finding.case)
            found.setdefault((kind, place, reason), []).append(finding.round)
    for (kind, (suite, platform, case), reason), rounds in found.items():
        told = tr("{reason}; still used here", reason=reason) if kind == "stale" else reason
        where = _where(platform, case, rounds_text(rounds))
        yield GapLine(kind, where, told, suite, len(rounds))


def _not_admitted(cells: tuple[Cell, ...]) -> Iterator[GapLine]:
    """Refused records; the rounds that one cause refuses in one line with one example."""
    found: dict[tuple[SuiteName, str, str, str], dict[int, str]] = {}
    for cell in cells:
        place = cell.record.id
        for reason in cell.refusals:
            key = (place.suite, place.platform, place.case, cause_of(reason))
            found.setdefault(key, {})[place.round] = reason
    for (suite, platform, case, _), reasons in found.items():
        where = _where(platform, case, rounds_text(reasons))
        yield GapLine("record", where, _why_not_used(reasons), suite)


def _why_not_used(reasons: dict[int, str]) -> str:
    """Why rounds are refused, by the reason of the first."""
    first = min(reasons)
    if len(reasons) == 1:
        return tr("not used, {reason}", reason=reasons[first])
    return tr("not used, for instance round {round} {reason}", round=first, reason=reasons[first])


def _pairs(pairings: Iterable[Pairing]) -> Iterator[GapLine]:
    """Refused pairs of records that are each usable by themselves."""
    for pairing in pairings:
        sides = tr("{a} against {b}", a=pairing.comparison.a, b=pairing.comparison.b)
        for refusal in pairing.refusals:
            if not refusal.of_record:
                where = _where(sides, pairing.case, rounds_text([refusal.round]))
                yield GapLine("pair", where, refusal.reason, pairing.suite)


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
        legs = [tr("leg {leg}", leg=leg)] if leg else []
        where = _where(platform, case, rounds_text(details), *legs)
        yield GapLine("mark", where, _doubt_text(plain(name), details), suite)


def _doubt_text(mark: str, details: dict[int, str]) -> str:
    """A mark with what was seen in the first of its rounds."""
    first = min(details)
    if len(details) == 1:
        return tr("{mark}: {detail}", mark=mark, detail=details[first])
    return tr(
        "{mark}: for instance round {round}, {detail}",
        mark=mark,
        round=first,
        detail=details[first],
    )


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
        places.setdefault((where[0], reason, when, listed(own_labels)), []).append(where)
    for (suite, reason, when, what), own_places in places.items():
        words = tr("no {quantities}: {reason}", quantities=what, reason=reason)
        yield GapLine("value", _where(_places_text(own_places), when), words, suite)


def _places_text(places: list[Place]) -> str:
    """Platforms and cases; each list once where every platform has the same cases."""
    _, platforms, cases = (list(dict.fromkeys(names)) for names in zip(*places, strict=True))
    if len(platforms) * len(cases) == len(places):
        return _where(_list_text(platforms), _list_text(cases))
    return clauses(_where(platform, case) for _, platform, case in places)


def _where(*parts: str) -> str:
    """Where something is missing, from the whole to its part."""
    *wholes, part = parts
    return tr("{whole}, {part}", whole=_where(*wholes), part=part) if wholes else part


def _list_text(names: list[str]) -> str:
    """Names as a sentence lists them: "a, b and c"."""
    *most, last = names
    return tr("{most} and {last}", most=listed(most), last=last) if most else last


def _unread(cells: tuple[Cell, ...]) -> Iterator[GapLine]:
    """Facts of machine and software that could not be read; metrics stand above."""
    found: dict[tuple[str, str], list[SuiteName]] = {}
    for cell in cells:
        for gap in cell.record.gaps:
            if gap.what not in METRICS:
                found.setdefault((gap.what, gap.reason), []).append(cell.record.id.suite)
    for (what, reason), suites in found.items():
        name, at, size = what.partition(" at ")
        label = tr(METRICS[name].label) if name in METRICS else name
        told = tr("not read: {reason}", reason=reason)
        yield GapLine("value", f"{label}{at}{size}", told, _only(suites))


def _only(suites: Iterable[SuiteName]) -> SuiteName | None:
    """The one suite that all of them are; None if there are several or none."""
    known = set(suites)
    return known.pop() if len(known) == 1 else None


def rounds_text(rounds: Iterable[int]) -> str:
    """Rounds in words: "round 3", "rounds 1 to 5", "rounds 1, 2, 5"."""
    own = sorted(set(rounds))
    if len(own) == 1:
        return tr("round {round}", round=own[0])
    if len(own) > 2 and own[-1] - own[0] == len(own) - 1:
        return tr("rounds {first} to {last}", first=own[0], last=own[-1])
    return tr("rounds {rounds}", rounds=listed(map(str, own)))

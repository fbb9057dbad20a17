"""Tables about the campaign itself: machine and software as probed, efforts, outcomes.

Layer: analysis. Reads and writes no file; `commwall.analysis.tables.files` writes these too. They
say nothing of the quantities under test, only where the numbers come from and how they were made.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from commwall.analysis.gaps import rounds_text
from commwall.analysis.result import Analysis
from commwall.analysis.tables.frame import frame
from commwall.analysis.tables.kinds import COUNT, NUMBER, TEXT
from commwall.analysis.tables.rows import Row
from commwall.analysis.values.facts import Fact, facts_of
from commwall.language.translate import clauses, listed, tr_later
from commwall.records.admit import head_of
from commwall.records.todo import READABLE
from commwall.schema.case import Case, Leg, TrainingCase
from commwall.schema.mitigation import StepCase
from commwall.schema.record import Record
from commwall.schema.result import EXCLUDING_MARKS, Series

ALL = "all"
"""Suite, or name, of a row that counts over all of them."""

COLUMNS: dict[str, dict[str, str]] = {
    "facts": {
        "campaign": TEXT,
        "fact": TEXT,
        "gpu": COUNT,
        "unit": TEXT,
        "number": NUMBER,
        "text": TEXT,
        "why_absent": TEXT,
        "records": COUNT,
        "platforms": TEXT,
        "suites": TEXT,
        "rounds": TEXT,
    },
    "efforts": {
        "campaign": TEXT,
        "platform": TEXT,
        "suite": TEXT,
        "case": TEXT,
        "leg": TEXT,
        "records": COUNT,
        "sizes": COUNT,
        "warmup_min": COUNT,
        "warmup_max": COUNT,
        "timed_min": COUNT,
        "timed_max": COUNT,
        "repetitions_min": COUNT,
        "repetitions_max": COUNT,
        "unsettled": COUNT,
    },
    "outcomes": {
        "campaign": TEXT,
        "suite": TEXT,
        "kind": TEXT,
        "name": TEXT,
        "outcome": TEXT,
        "records": COUNT,
    },
}
"""Columns of each table with their types. `facts` has a row for each value that a fact has in
the records; `efforts` counts steps of a leg, or timed groups of an operation over its sizes,
least and most over rounds; `outcomes` counts records by what became of them, checks and marks."""

DESCRIPTIONS = {
    "facts": tr_later(
        "machine and software as probed: each fact with every value the records have"
    ),
    "efforts": tr_later("steps and groups really timed, and warmed up, per platform, case and leg"),
    "outcomes": tr_later("records used and refused, checks and marks, each counted"),
}
"""What each table holds, in the order a reader wants them, for `tr`."""


@dataclass(frozen=True)
class Census:
    """All tables about one campaign; DESCRIPTIONS says what each holds."""

    facts: pd.DataFrame
    efforts: pd.DataFrame
    outcomes: pd.DataFrame


def census_tables(analysis: Analysis) -> Census:
    """All tables about a campaign; one without records gives tables without rows."""
    makers = {"facts": _fact_rows, "efforts": _effort_rows, "outcomes": _outcome_rows}
    frames = {name: frame(rows(analysis), COLUMNS[name]) for name, rows in makers.items()}
    return Census(**frames)


def _fact_rows(analysis: Analysis) -> Iterator[Row]:
    """Each fact once for every value, in the order in which they are first seen."""
    holders: dict[Fact, list[Record]] = {}
    for record in analysis.evidence.records:
        for fact in facts_of(record):
            holders.setdefault(fact, []).append(record)
    for fact, records in holders.items():
        known = fact.why_absent is None
        number = fact.value if known and not isinstance(fact.value, str) else None
        yield {
            "campaign": analysis.campaign,
            "fact": fact.name,
            "gpu": fact.gpu,
            "unit": fact.unit,
            "number": number,
            "text": fact.value if isinstance(fact.value, str) else None,
            "why_absent": fact.why_absent,
            "records": len(records),
            "platforms": _listed(record.id.platform for record in records),
            "suites": _listed(record.id.suite for record in records),
            "rounds": rounds_text(record.id.round for record in records),
        }


def _listed(words: Iterator[str]) -> str:
    return listed(dict.fromkeys(words))


def _effort_rows(analysis: Analysis) -> Iterator[Row]:
    groups: dict[tuple[str, str, str, Leg | None], list[Record]] = {}
    for record in analysis.evidence.records:
        case = record.case
        legs = _legs(case)
        for leg in legs:
            key = (record.id.platform, record.id.suite, record.id.case, leg)
            groups.setdefault(key, []).append(record)
    for (platform, suite, name, leg), records in groups.items():
        place = {"platform": platform, "suite": suite, "case": name, "leg": leg}
        counts = _counts(records, leg)
        yield {"campaign": analysis.campaign, **place, **counts}


def _legs(case: Case) -> tuple[Leg | None, ...]:
    """What of a case has its own count of steps; None for groups of an operation."""
    if isinstance(case, TrainingCase):
        return case.legs
    return ("full", "mitigated") if isinstance(case, StepCase) else (None,)


TIMED = ("step_time_s", "operation_time_s", "token_time_s")
"""Metrics of what is timed over and over."""


def _counts(records: list[Record], leg: str | None) -> Row:
    """Lengths of the series of one leg, or of an operation at all sizes."""
    own = [s for r in records for s in r.series if s.metric in TIMED and s.leg == leg]
    warmup = [len(series.values) for series in own if series.phase == "warmup"]
    timed = [len(series.values) for series in own if series.phase == "measured"]
    repetitions = [int(v) for r in records for s in r.series for v in _repetitions(s, leg)]
    return {
        "records": len(records),
        "sizes": len({series.message_bytes for series in own if series.message_bytes}) or None,
        **_ends("warmup", warmup),
        **_ends("timed", timed),
        **_ends("repetitions", repetitions),
        "unsettled": sum(_unsettled(record, leg) for record in records),
    }


def _repetitions(series: Series, leg: str | None) -> tuple[float, ...]:
    return series.values if series.metric == "repetitions" and leg is None else ()


def _ends(name: str, counts: list[int]) -> Row:
    ends = (min(counts), max(counts)) if counts else (None, None)
    return {f"{name}_min": ends[0], f"{name}_max": ends[1]}


def _unsettled(record: Record, leg: str | None) -> bool:
    return any(m.name == "warmup_not_settled" and m.leg in (leg, None) for m in record.marks)


def _outcome_rows(analysis: Analysis) -> Iterator[Row]:
    counted = Counter(_seen(analysis))
    for (suite, kind, name, outcome), records in counted.items():
        place = {"campaign": analysis.campaign, "suite": suite}
        yield {**place, "kind": kind, "name": name, "outcome": outcome, "records": records}


Seen = tuple[str, str, str, str]
"""Suite, kind, name, outcome."""


def _seen(analysis: Analysis) -> Iterator[Seen]:
    """Everything to be counted: of its own suite, and of all."""
    for suite, kind, name, outcome in _each(analysis):
        yield suite, kind, name, outcome
        yield ALL, kind, ALL, outcome


def _each(analysis: Analysis) -> Iterator[Seen]:
    for finding in analysis.evidence.index.findings:
        yield finding.suite, "record", "planned", "planned"
        if finding.standing not in READABLE:
            yield finding.suite, "record", finding.standing, "absent"
    for cell in analysis.cells:
        suite = cell.record.id.suite
        reasons = clauses(dict.fromkeys(head_of(reason) for reason in cell.refusals))
        yield suite, "record", reasons or "admitted", "kept out" if reasons else "admitted"
        for check in cell.record.checks:
            yield suite, "check", check.name, "passed" if check.passed else "failed"
        for mark in dict.fromkeys(mark.name for mark in cell.record.marks):
            yield suite, "mark", mark, "kept out" if mark in EXCLUDING_MARKS else "shown"

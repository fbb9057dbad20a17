"""Campaigns that measured the same thing, each two held against each other.

Layer: report. Reads and writes no file. What is comparable, and what changed, is judged as
`commwall compare A B` judges it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from commwall.analysis.changes.judging import compare_campaigns
from commwall.analysis.changes.matching import matches
from commwall.analysis.changes.words import (
    cell_text,
    headline_text,
    noise_text,
    not_covered_lines,
    outcome_text,
    told_text,
)
from commwall.analysis.platforms import compared_platforms
from commwall.analysis.result import Analysis
from commwall.language.translate import tr
from commwall.report.html import Html, table
from commwall.schema.change import ChangedCell
from commwall.schema.plan import Plan

TOLERANCE = 0.03
"""How much slower a value may have become before the page counts it [1]; as `commwall compare`."""
MOST_CHANGES = 30
"""Pages of two campaigns; `commwall compare` takes any two."""


@dataclass(frozen=True)
class Change:
    """Two campaigns, the one measured first as the yardstick."""

    before: str
    after: str
    headline: str
    told: tuple[str, ...]
    """What differs beside the values."""
    values: Html
    ratios: Html
    not_covered: tuple[str, ...]
    judged: bool
    """Whether any value could be compared."""

    @property
    def path(self) -> str:
        """Path of its page, below the folder of its language."""
        return f"compare/{self.before}/{self.after}.html"

    @property
    def title(self) -> str:
        """Both campaigns, in the order of time."""
        return f"{self.before} → {self.after}"

    @property
    def anchor(self) -> str:
        """The same in every language."""
        return f"{self.before}--{self.after}"


def alike(plans: Mapping[str, Plan]) -> list[tuple[str, str]]:
    """Names of each two campaigns whose plans share a case on a platform of one name.

    Those that follow one another by name come first.
    """
    names = sorted(plans)
    pairs = sorted(combinations(range(len(names)), 2), key=lambda pair: pair[1] - pair[0])
    named = ((names[one], names[other]) for one, other in pairs)
    return [(one, other) for one, other in named if _share(plans[one], plans[other])]


def changes(analyses: Mapping[str, Analysis], pairs: Iterable[tuple[str, str]]) -> list[Change]:
    """What changed within each pair that has records on both sides.

    Args:
        analyses: by campaign; a campaign that cannot be read is missing.
        pairs: names of two campaigns each.
    """
    dated = {name: _measured(own) for name, own in analyses.items() if own.evidence.records}
    known = [sorted(pair, key=dated.__getitem__) for pair in pairs if dated.keys() >= set(pair)]
    return [_change(analyses[before], analyses[after]) for before, after in known]


def _share(one: Plan, other: Plan) -> bool:
    """Whether any case of equal parameters runs on a platform that both plans compare."""
    both = compared_platforms(one) & compared_platforms(other)
    for match in matches(one, other):
        if match.before and match.after:
            mine, theirs = one.suite(match.suite), other.suite(match.suite)
            platforms = {*mine.platforms_of(match.before)} & {*theirs.platforms_of(match.after)}
            if mine.cases[match.before] == theirs.cases[match.after] and platforms & both:
                return True
    return False


def _measured(analysis: Analysis) -> float:
    """When the first record was measured [s since the epoch]."""
    return min(record.measured_at.timestamp() for record in analysis.evidence.records)


def _change(before: Analysis, after: Analysis) -> Change:
    change = compare_campaigns(before, after, TOLERANCE)
    return Change(
        before=change.before,
        after=change.after,
        headline=headline_text(change),
        told=tuple(map(told_text, change.told)),
        values=_cells(change.values, tr("Values of one platform, before and after.")),
        ratios=_cells(change.ratios, tr("Ratios of two platforms, before and after.")),
        not_covered=tuple(not_covered_lines(change)),
        judged=bool(change.judged),
    )


def _cells(cells: Sequence[ChangedCell], caption: str) -> Html:
    heads = (tr("what"), tr("outcome"), tr("before and after"), tr("noise floor"))
    return table(heads, _rows(cells), caption)


def _rows(cells: Sequence[ChangedCell]) -> Iterator[tuple[str, ...]]:
    for cell in cells:
        noise = noise_text(cell) if cell.low is not None else ""
        yield cell_text(cell), tr(cell.outcome), outcome_text(cell), noise

"""The page on trends: every value that several campaigns measured, over dates and versions.

Layer: report. Reads campaigns through `commwall.analysis`, one after another; writes no file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from commwall.analysis.result import Analysis, analyse_campaigns
from commwall.analysis.trends import VERSIONS, Point, Trend, trends
from commwall.language.translate import (
    ENGLISH,
    around_text,
    clauses,
    listed,
    quantity_text,
    speak,
    tr,
    tr_later,
    trn,
)
from commwall.records.layout import Layout
from commwall.report.html import (
    Group,
    Html,
    bullets,
    folded,
    grouped_table,
    joined,
    paragraph,
    table,
)
from commwall.report.provenance import RecordsOf, records_of
from commwall.report.style import picture
from commwall.report.trends.figure import trend_figure
from commwall.schema.units import significant

NOTHING = tr_later("No value was measured by a second campaign.")
_DAY = "%Y-%m-%d"


@dataclass(frozen=True)
class TrendsPage:
    """Everything the page shows."""

    trends: tuple[Trend, ...]
    """All of them, those of one campaign too."""
    confidence: float
    campaigns: tuple[RecordsOf, ...]
    """Campaigns that were looked into."""
    unread: tuple[str, ...]
    """Campaigns that could not be read, with the reason."""

    @property
    def shared(self) -> tuple[Trend, ...]:
        """Trends of several campaigns, those of one machine and suite together."""
        return tuple(sorted((t for t in self.trends if t.shared), key=_order))

    @property
    def alone(self) -> tuple[Trend, ...]:
        """Values that one campaign alone measured."""
        return tuple(trend for trend in self.trends if not trend.shared)


def open_trends(root: str | Path, confidence: float, language: str | None = None) -> TrendsPage:
    """Look into all campaigns of a checkout.

    Args:
        root: the checkout.
        confidence: level of the intervals.
        language: one of `LANGUAGES`; None is English.

    Raises:
        ConfigError: if a file of facts is malformed.
    """
    speak(language or ENGLISH)
    layout = Layout(Path(root))
    read: list[RecordsOf] = []
    unread: list[str] = []

    def analyses() -> Iterator[Analysis]:
        for found in analyse_campaigns(layout, confidence):
            if isinstance(found, str):
                unread.append(found)
            else:
                read.append(records_of(found))
                yield found

    lines = trends(analyses())
    return TrendsPage(lines, confidence, tuple(read), tuple(unread))


def headline(page: TrendsPage) -> Html:
    """How much can be followed over time, in one sentence."""
    if not page.shared:
        return joined([paragraph(_no_trend(len(page.campaigns)), "verdict")], "card")
    dates = [point.measured_at for trend in page.shared for point in trend.points]
    words = tr(
        "{n} values were measured by more than one of {all} campaigns, from {first} to {last}.",
        n=len(page.shared),
        all=len(page.campaigns),
        first=f"{min(dates):{_DAY}}",
        last=f"{max(dates):{_DAY}}",
    )
    changed = sum(_changed(trend, page.confidence) for trend in page.shared)
    more = tr("Between their first and last campaign {n} of them changed for certain.", n=changed)
    return joined([paragraph(words, "verdict"), paragraph(more, "detail")], "card")


def _no_trend(campaigns: int) -> str:
    """Why there is nothing to follow."""
    if not campaigns:
        return tr("A trend needs two campaigns, and none is here: there is no trend to show.")
    return trn(
        "A trend needs two campaigns, and {n} is here: there is no trend to show.",
        "None of {n} campaigns measured what another one did: there is no trend to show.",
        campaigns,
    )


def figures(page: TrendsPage) -> Html:
    """One figure for each kind of machine and suite."""
    if not page.shared:
        return _nothing()
    return joined(
        picture(
            trend_figure(list(own)),
            tr(
                "{machine}, suite {suite}: geometric mean over the rounds with its interval, by "
                "date. Dotted lines: another {versions}. The axis does not start at zero.",
                machine=machine,
                suite=suite,
                versions=listed(map(tr, VERSIONS)),
            ),
        )
        for (machine, suite), own in groupby(page.shared, key=_machine_and_suite)
    )


def changes(page: TrendsPage) -> Html:
    """First and last campaign of each trend, and the ratio of their values."""
    if not page.shared:
        return _nothing()
    heads = (
        tr("case, platform"),
        tr("campaigns"),
        tr("first"),
        tr("last"),
        tr("last / first"),
        tr("other versions"),
    )
    groups = [
        Group(
            tr("{machine}, suite {suite}", machine=machine, suite=suite),
            [("", _change_row(trend, page.confidence)) for trend in own],
        )
        for (machine, suite), own in groupby(page.shared, key=_machine_and_suite)
    ]
    return grouped_table(heads, groups, tr("First and last campaign of each value."))


def every_value(page: TrendsPage) -> Html:
    """What each campaign measured, folded, one table a trend."""
    if not page.shared:
        return _nothing()
    heads = _value_heads()
    parts = []
    for trend in page.shared:
        words = tr("{value}, {machine}", value=_named(trend), machine=trend.machine)
        rows = [_row(trend, point) for point in trend.points]
        title = tr("{what} ({n})", what=words, n=len(rows))
        parts.append(folded(title, table(heads, rows, words)))
    return joined(parts)


def alone(page: TrendsPage) -> Html:
    """What one campaign alone measured, so that it has no trend."""
    if not page.alone:
        return paragraph(tr("Every value was measured by more than one campaign."))
    rows = [(_named(trend), *_row(trend, trend.points[0])) for trend in page.alone]
    heads = (tr("case, quantity, platform"), *_value_heads())
    title = tr("{n} values were measured by one campaign only", n=len(rows))
    words = tr("{n} values were measured by one campaign only: no trend.", n=len(rows))
    return folded(title, table(heads, rows, words))


def not_shown(page: TrendsPage) -> Html:
    """What trends do not cover."""
    return bullets(
        (
            tr(
                "What else changed between two campaigns, beside the versions marked, is in the "
                "values. `commwall compare A B` lists all that differs between two."
            ),
            tr(
                "An interval knows the spread between the rounds of its campaign, not that between "
                "days or boots."
            ),
            tr(
                "A line joins what one kind of machine measured by one procedure, over one link "
                "with equal parameters of the case; anything else begins another line."
            ),
            *(tr("Campaign not looked into: {why}", why=line) for line in page.unread),
        )
    )


def _named(trend: Trend) -> str:
    """What a trend is about, its machine aside."""
    return tr(
        "{case}, {quantity}, {platform}",
        case=trend.case,
        quantity=trend.quantity.label,
        platform=trend.points[-1].label,
    )


def _nothing() -> Html:
    return paragraph(tr(NOTHING), "missing")


def _value_heads() -> tuple[str, ...]:
    """Heads above the cells of `_row`."""
    return (tr("date"), tr("campaign"), *map(tr, VERSIONS), tr("value"), tr("rounds"))


def _order(trend: Trend) -> tuple[str, str, str, str]:
    return trend.machine, trend.suite, trend.case, trend.platform


def _machine_and_suite(trend: Trend) -> tuple[str, str]:
    return trend.machine, trend.suite


def _changed(trend: Trend, confidence: float) -> bool:
    around = trend.change(confidence).interval
    return around is not None and not around.low <= 1 <= around.high


def _change_text(trend: Trend, confidence: float) -> str:
    ratio = trend.change(confidence)
    if ratio.interval is None:
        return tr("{ratio}, no interval", ratio=significant(ratio.centre, 4))
    ends = (ratio.centre, ratio.interval.low, ratio.interval.high)
    told = around_text(*(significant(end, 4) for end in ends))
    return told if _changed(trend, confidence) else tr("{ratio}, cannot tell", ratio=told)


def _change_row(trend: Trend, confidence: float) -> tuple[str, ...]:
    first, last = trend.points[0], trend.points[-1]
    dated = (
        tr("{value}, {date}", value=_value_text(trend, point), date=f"{point.measured_at:{_DAY}}")
        for point in (first, last)
    )
    versions = (
        f"{tr(what)} {_version(first, what)} → {_version(last, what)}"
        for what in VERSIONS
        if first.versions.get(what) != last.versions.get(what)
    )
    what = tr("{case}, {platform}", case=trend.case, platform=last.label)
    count = str(len(trend.points))
    ratio = _change_text(trend, confidence)
    return what, count, *dated, ratio, clauses(versions) or tr("none")


def _version(point: Point, what: str) -> str:
    return point.versions.get(what) or tr("not told")


def _row(trend: Trend, point: Point) -> tuple[str, ...]:
    versions = (_version(point, what) for what in VERSIONS)
    day, n = f"{point.measured_at:{_DAY}}", str(len(point.values))
    return day, point.campaign, *versions, _value_text(trend, point), n


def _value_text(trend: Trend, point: Point) -> str:
    unit, around = trend.quantity.metric.unit, point.interval
    if around is None:
        return quantity_text(point.centre, unit)
    shown = (quantity_text(value, unit) for value in (point.centre, around.low, around.high))
    return around_text(*shown)

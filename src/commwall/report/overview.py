"""Verdicts over all cases: what a buyer reads first, then every case in one table.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from commwall.analysis.result import Analysis
from commwall.analysis.verdicts import overall
from commwall.analysis.verdicts.judging import Verdict
from commwall.analysis.verdicts.overall import (
    TOPICS,
    Topic,
    comparisons,
    overall_text,
    topic_verdicts,
    typical,
    why_unused,
)
from commwall.analysis.verdicts.wording import (
    brief_text,
    centre_text,
    noise_short_text,
    rounds_ratio_text,
    short_text,
    spread_short_text,
)
from commwall.language.translate import (
    capital,
    lowered,
    quantity_text,
    tr,
    tr_later,
)
from commwall.report.controls import NO_FLOOR, control_text
from commwall.report.html import (
    Group,
    Html,
    folded,
    grouped_table,
    joined,
    paragraph,
    refused_cells,
    table,
)
from commwall.report.page import Page
from commwall.report.rounds import rounds_not_used, rounds_so_far
from commwall.schema.plan import Comparison

TRAINING, ENERGY, COLLECTIVES = overall.TRAINING, overall.ENERGY, overall.COLLECTIVES
MEMORY, STRATEGIES = overall.MEMORY, overall.STRATEGIES
DECODE, PREFILL = overall.DECODE, overall.PREFILL
"""Topics, as notebooks name them."""
OF_CONTROL = {
    "case": tr_later("Every case of the A/A control"),
    "operation": tr_later("Every operation of the A/A control"),
    "mitigation": tr_later("Every mitigation of the A/A control"),
}
"""What a case of a topic is called -> title of all those of a control."""


@dataclass(frozen=True)
class Answer:
    """What one comparison says, topic by topic."""

    place: str
    """Which two sides."""
    verdict: str
    """On training, or on the first topic that the campaign has."""
    details: tuple[str, ...]
    """On every other topic, and the noise floor."""
    control: bool = False


def answers(analysis: Analysis, topics: Sequence[Topic] = TOPICS) -> tuple[Answer, ...]:
    """One answer a comparison that has a verdict on any of the topics, controls last."""
    asked = [*comparisons(analysis), *comparisons(analysis, control=True)]
    return tuple(
        answer_of(analysis, comparison, topics)
        for comparison in asked
        if any(topic_verdicts(analysis, comparison, topic) for topic in topics)
    )


def answer_cards(page: Page) -> Html:
    """The answers as cards; or what is missing for any."""
    found = answers(page.analysis)
    if not found:
        return joined(
            [paragraph(line, "verdict") for line in why_no_verdict(page.analysis)], "card"
        )
    return joined(map(card, found))


def why_no_verdict(analysis: Analysis) -> tuple[str, ...]:
    """What is missing for any verdict."""
    if analysis.plan is None:
        return (tr("No verdict: the campaign's plan cannot be read; see the problems."),)
    if not analysis.plan.comparisons:
        return (tr("No verdict: the campaign asks for no comparison."),)
    return (tr("No verdict: no case runs on both platforms of a comparison."),)


def verdict_tables(page: Page) -> Html:
    """Every case of every topic, one table a comparison of treatments."""
    analysis = page.analysis
    return joined(_verdict_table(analysis, comparison) for comparison in comparisons(analysis))


def topic_cards(page: Page, *topics: Topic) -> Html:
    """Some topics in a sentence each, a card a comparison, and all cases with their rounds."""
    analysis = page.analysis
    parts = []
    for comparison in [*comparisons(analysis), *comparisons(analysis, control=True)]:
        own = [(topic, topic_verdicts(analysis, comparison, topic)) for topic in topics]
        if known := [(topic, verdicts) for topic, verdicts in own if verdicts]:
            parts.append(card(answer_of(analysis, comparison, topics)))
            parts += _cases(analysis, comparison, known)
    if not parts:
        reasons = () if analysis.verdicts else why_no_verdict(analysis)
        labels = tr(" or ").join(topic.quantity.label for topic in topics)
        none = tr("No verdict: no comparison has a case with {quantities}.", quantities=labels)
        return joined([paragraph(line, "verdict") for line in reasons or (none,)], "card")
    return joined(parts)


def quantity_tables(page: Page) -> Html:
    """Every quantity of every comparison and training case with a usable round, folded."""
    analysis = page.analysis
    own = [verdict for verdict in analysis.verdicts if verdict.suite == "training"]
    places = dict.fromkeys((v.comparison, v.case) for v in own if v.rounds)
    if not places:
        return paragraph(tr("No training case has a usable round of both sides."), "missing")
    return joined(_quantity_table(analysis, *place) for place in places)


def answer_of(
    analysis: Analysis, comparison: Comparison, topics: Iterable[Topic] = TOPICS
) -> Answer:
    """What one comparison says; it must have a verdict on one of the topics at least."""
    told, every = [], []
    for topic in topics:
        own = topic_verdicts(analysis, comparison, topic)
        every += own
        if own and comparison.control:
            told.append((topic.title, control_text(own, topic.noun)))
        elif own:
            told.append((topic.title, overall_text(analysis, own, topic.noun)))
    (first, verdict), *others = told
    unknown = not comparison.control and not any(verdict.control for verdict in every)
    suites = {verdict.suite for verdict in every}
    return Answer(
        place=_place(analysis, comparison, first),
        verdict=capital(verdict),
        details=(
            *(tr("{topic}: {verdict}", topic=title, verdict=text) for title, text in others),
            *([tr(NO_FLOOR)] if unknown else []),
            *rounds_so_far(every),
            *rounds_not_used(analysis, comparison, suites),
        ),
        control=comparison.control,
    )


def _place(analysis: Analysis, comparison: Comparison, title: str) -> str:
    """Which two sides, and the first topic."""
    a, b = (analysis.names[side] for side in (comparison.a, comparison.b))
    if comparison.control:
        return tr("{platform} twice (A/A control): {topic}", platform=a, topic=lowered(title))
    return tr("{a} against {b}: {topic}", a=a, b=b, topic=lowered(title))


def card(answer: Answer) -> Html:
    """What one comparison says, in a box."""
    return joined(
        [
            paragraph(answer.place, "place"),
            paragraph(answer.verdict, "verdict"),
            *(paragraph(line, "detail") for line in answer.details),
        ],
        "card control" if answer.control else "card",
    )


def _verdict_table(analysis: Analysis, comparison: Comparison) -> Html:
    """All topics; the noise floor has a column only where there is an A/A control."""
    groups = list(_groups(analysis, comparison))
    floors = any(verdict.control for _, own in groups for verdict in own)
    heads = _heads(analysis, floors=floors)
    shown = [Group(title, _rows(analysis, own, floors=floors)) for title, own in groups]
    a, b = (analysis.names[side] for side in (comparison.a, comparison.b))
    words = tr("A = {a}, B = {b}. Bold: the interval lies on one side of 1.", a=a, b=b)
    return grouped_table(heads, shown, words)


def _cases(
    analysis: Analysis, comparison: Comparison, known: list[tuple[Topic, list[Verdict]]]
) -> Iterator[Html]:
    """Topics below their titles, with what several rounds say beside the interval; of a
    control folded. No table where the card has given the one reason why there is nothing.
    """
    every = [verdict for _, own in known for verdict in own]
    floors, spread = any(v.control for v in every), any(v.n > 1 for v in every)
    more = (tr("rounds: median (min to max)"), tr("spread of A, B")) if spread else ()
    heads = _heads(analysis, *more, floors=floors)
    groups = [
        Group(
            capital(topic.quantity.label) if len(known) == 1 else topic.title,
            _rows(analysis, own, floors=floors, spread=spread),
        )
        for topic, own in known
    ]
    shown = grouped_table(heads, groups, _sides(analysis, comparison))
    if any(len(group.rows) > 1 or group.rows[0][0] != "refused" for group in groups):
        title = tr(OF_CONTROL[known[0][0].noun])
        yield folded(title, shown) if comparison.control else shown


def _heads(analysis: Analysis, *more: str, floors: bool) -> tuple[str, ...]:
    last = (tr("noise floor"), tr("n")) if floors else (tr("n"),)
    medians = (tr("median A"), tr("median B"))
    # The ratio comes first: a telephone shows two columns.
    return (tr("case"), _level_text(analysis), tr("verdict"), *medians, *more, *last)


def _level_text(analysis: Analysis) -> str:
    return tr("A / B ({level} % interval)", level=f"{100 * analysis.confidence:g}")


def _sides(analysis: Analysis, comparison: Comparison) -> str:
    a, b = (analysis.names[side] for side in (comparison.a, comparison.b))
    return tr("A = {a}, B = {b}.", a=a, b=b)


def _groups(analysis: Analysis, comparison: Comparison) -> Iterator[tuple[str, list[Verdict]]]:
    """Title and verdicts of each topic; of the collectives the all-reduce only."""
    for topic in TOPICS:
        every = topic_verdicts(analysis, comparison, topic)
        shown = typical(analysis, every)
        title = topic.title
        if len(shown) < len(every):
            title = tr("{topic} (all-reduce; the others stand on page collectives)", topic=title)
        if shown:
            yield title, shown


def _rows(
    analysis: Analysis, own: list[Verdict], *, floors: bool, spread: bool = False
) -> list[tuple[str, Sequence[str]]]:
    """One row a case; at the end those without ratio, cases with one reason in one row."""
    rows: list[tuple[str, Sequence[str]]] = []
    unused: dict[str, list[str]] = {}
    for verdict in own:
        if verdict.ratio:
            more = (rounds_ratio_text(verdict.ratio), spread_short_text(verdict)) if spread else ()
            floor = (noise_short_text(verdict),) if floors else ()
            kind = "decided" if verdict.winner else "undecided"
            cells = (*_cells(verdict, centre_text(verdict.ratio)), *more, *floor, _n_text(verdict))
            rows.append((kind, cells))
        else:
            unused.setdefault(why_unused(analysis, verdict), []).append(verdict.case)
    told = (refused_cells(reason, cases, of=len(own)) for reason, cases in unused.items())
    return [*rows, *(("refused", cells) for cells in told)]


def _n_text(verdict: Verdict) -> str:
    """Rounds used, and of how many where some could not be."""
    planned = verdict.n + verdict.refused_rounds
    if not verdict.refused_rounds:
        return str(verdict.n)
    return tr("{k} of {n}", k=verdict.n, n=planned)


def _cells(verdict: Verdict, ratio: str) -> tuple[str, ...]:
    return (verdict.case, ratio, brief_text(verdict), *_medians(verdict))


def _medians(verdict: Verdict) -> list[str]:
    unit = verdict.quantity.metric.unit
    return [quantity_text(value, unit) for value in verdict.medians or ()] or [tr("absent")] * 2


def _quantity_table(analysis: Analysis, comparison: Comparison, case: str) -> Html:
    a, b = analysis.names[comparison.a], analysis.names[comparison.b]
    own = [v for v in analysis.verdicts if (v.comparison, v.case) == (comparison, case)]
    place = tr("Case {case}", case=case)
    if comparison.control:
        place = tr("Case {case}, A/A control", case=case)
    caption = tr("{place}: A = {a}, B = {b}.", place=place, a=a, b=b)
    heads = (tr("quantity"), tr("verdict"), tr("median A"), tr("median B"), _level_text(analysis),
             tr("rounds: median (min to max)"), tr("n"))  # fmt: skip
    rows = [_quantity_row(verdict) for verdict in own]
    title = tr("{place}: {a} / {b}", place=place, a=a, b=b)
    return folded(title, table(heads, rows, caption))


def _quantity_row(verdict: Verdict) -> tuple[str, ...]:
    ratio = verdict.ratio
    shown = [centre_text(ratio), rounds_ratio_text(ratio)] if ratio else [tr("none"), tr("none")]
    label = verdict.quantity.label
    return (label, short_text(verdict), *_medians(verdict), *shown, str(verdict.n))

"""Verdicts over all cases: what a buyer reads first, then every case in one table.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from commwall.analysis.overall import (
    TOPICS,
    Topic,
    comparisons,
    overall_text,
    range_text,
    topic_verdicts,
    typical,
    why_unused,
)
from commwall.analysis.result import Analysis
from commwall.analysis.verdicts import Verdict
from commwall.analysis.wording import (
    centre_text,
    noise_short_text,
    rounds_ratio_text,
    share_text,
    short_text,
    spread_short_text,
)
from commwall.report.html import Group, Html, folded, grouped_table, joined, paragraph, table
from commwall.report.page import Page
from commwall.schema.plan import Comparison
from commwall.schema.units import quantity_text

TRAINING, ENERGY = TOPICS[:2]


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


def answers(analysis: Analysis) -> tuple[Answer, ...]:
    """One answer a comparison, controls last."""
    asked = [*comparisons(analysis), *comparisons(analysis, control=True)]
    return tuple(_answer(analysis, comparison) for comparison in asked)


def answer_cards(page: Page) -> Html:
    """The answers as cards; or what is missing for any."""
    found = answers(page.analysis)
    if not found:
        return joined(
            [paragraph(line, "verdict") for line in why_no_verdict(page.analysis)], "card"
        )
    return joined(map(_card, found))


def why_no_verdict(analysis: Analysis) -> tuple[str, ...]:
    """What is missing for any verdict."""
    if analysis.evidence.plan is None:
        return ("No verdict: the campaign's plan cannot be read; see the problems.",)
    if not analysis.evidence.plan.comparisons:
        return ("No verdict: the campaign asks for no comparison.",)
    return ("No verdict: no case runs on both platforms of a comparison.",)


def verdict_tables(page: Page) -> Html:
    """Every case of every topic, one table a comparison of treatments."""
    analysis = page.analysis
    return joined(_verdict_table(analysis, comparison) for comparison in comparisons(analysis))


def topic_cards(page: Page, topic: Topic = TRAINING) -> Html:
    """One topic in a sentence a comparison, and all its cases with spread and extremes."""
    analysis = page.analysis
    parts = []
    for comparison in [*comparisons(analysis), *comparisons(analysis, control=True)]:
        own = topic_verdicts(analysis, comparison, topic)
        if own:
            answer = _answer(analysis, comparison, (topic,))
            parts += [_card(answer), _topic_table(analysis, comparison, own)]
    if not parts:
        reasons = () if analysis.verdicts else why_no_verdict(analysis)
        words = reasons or (f"No verdict: no comparison has a case with {topic.quantity.label}.",)
        return joined([paragraph(line, "verdict") for line in words], "card")
    return joined(parts)


def quantity_tables(page: Page) -> Html:
    """Every quantity of every comparison and training case, folded, one table each."""
    analysis = page.analysis
    own = [verdict for verdict in analysis.verdicts if verdict.suite == "training"]
    places = dict.fromkeys((v.comparison, v.case) for v in own)
    return joined(_quantity_table(analysis, *place) for place in places)


def _answer(analysis: Analysis, comparison: Comparison, topics: Iterable[Topic] = TOPICS) -> Answer:
    told = []
    for topic in topics:
        own = topic_verdicts(analysis, comparison, topic)
        if own and comparison.control:
            told.append((topic.title, control_text(own, topic.noun)))
        elif own:
            told.append((topic.title, overall_text(analysis, own, topic.noun)))
    (first, verdict), *others = told or [("", "No case runs on both sides.")]
    a, b = (analysis.names[side] for side in (comparison.a, comparison.b))
    sides = f"{a} twice (A/A control)" if comparison.control else f"{a} against {b}"
    return Answer(
        place=f"{sides}: {_small(first)}" if first else sides,
        verdict=verdict,
        details=tuple(f"{title}: {text}" for title, text in others),
        control=comparison.control,
    )


def _small(title: str) -> str:
    return title[:1].lower() + title[1:]


def control_text(verdicts: Sequence[Verdict], noun: str = "case") -> str:
    """What the A/A control says of one topic: does it find no difference, and how large a one
    could it have missed."""
    known = [(v, floor) for v in verdicts if (floor := v.open_difference) is not None]
    if not known:
        return "noise floor unknown, no interval: " + _few(verdicts, noun)
    wrong = [v.case for v, _ in known if v.ratio and v.ratio.excludes_one]
    floors = range_text((floor, share_text(floor)) for _, floor in known)
    held = f"its interval contains 1 in {len(known) - len(wrong)} of {len(known)} {noun}s"
    doubt = f" (not in {', '.join(wrong)})" if wrong else ""
    return f"{held}{doubt}; noise floor {floors}."


def _few(verdicts: Sequence[Verdict], noun: str) -> str:
    rounds = max(verdict.n for verdict in verdicts)
    return f"at most {rounds} usable rounds in {len(verdicts)} {noun}s."


def _card(answer: Answer) -> Html:
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
    a, b = (analysis.names[side] for side in (comparison.a, comparison.b))
    groups = list(_groups(analysis, comparison))
    floors = any(verdict.control for _, own in groups for verdict in own)
    level = f"A / B ({100 * analysis.confidence:g} % interval)"
    last = ("noise floor", "n") if floors else ("n",)
    heads = ("case", "verdict", "median A", "median B", level, *last)
    shown = [Group(title, _rows(analysis, own, floors=floors)) for title, own in groups]
    words = f"A = {a}, B = {b}. Bold: the interval lies on one side of 1."
    without = "" if floors else " Noise floor: not measured, no treatment runs twice."
    return grouped_table(heads, shown, words + without)


def _groups(analysis: Analysis, comparison: Comparison) -> Iterator[tuple[str, list[Verdict]]]:
    """Title and verdicts of each topic; of the collectives the all-reduce only."""
    for topic in TOPICS:
        every = topic_verdicts(analysis, comparison, topic)
        shown = typical(analysis, every) if topic.noun == "operation" else every
        rest = len(every) - len(shown)
        more = f" ({rest} more on page collectives)" if rest else ""
        if shown:
            yield f"{topic.title}{more}", shown


def _rows(
    analysis: Analysis, own: list[Verdict], *, floors: bool
) -> list[tuple[str, Sequence[str]]]:
    """One row a case; at the end those without ratio, cases with one reason in one row."""
    rows: list[tuple[str, Sequence[str]]] = []
    unused: dict[str, list[str]] = {}
    for verdict in own:
        if verdict.ratio:
            rows.append((_kind(verdict), _row(analysis, verdict, floors=floors)))
        else:
            unused.setdefault(why_unused(analysis, verdict), []).append(verdict.case)
    for reason, cases in unused.items():
        alone = len(cases) == 1
        head = cases[0] if alone else f"{len(cases)} more" if rows else f"all {len(cases)}"
        named = "" if alone else f" ({', '.join(cases)})"
        rows.append(("refused", (head, f"none: {reason}{named}")))
    return rows


def _row(analysis: Analysis, verdict: Verdict, *, floors: bool = True) -> tuple[str, ...]:
    return (
        verdict.case,
        _verdict_cell(analysis, verdict),
        *_medians(verdict),
        centre_text(verdict.ratio) if verdict.ratio else "none",
        *((noise_short_text(verdict),) if floors else ()),
        str(verdict.n),
    )


def _verdict_cell(analysis: Analysis, verdict: Verdict) -> str:
    return short_text(verdict) if verdict.ratio else f"none: {why_unused(analysis, verdict)}"


def _medians(verdict: Verdict) -> list[str]:
    unit = verdict.quantity.metric.unit
    return [quantity_text(value, unit) for value in verdict.medians or ()] or ["absent"] * 2


def _kind(verdict: Verdict) -> str:
    if verdict.ratio is None:
        return "refused"
    return "decided" if verdict.winner else "undecided"


def _topic_table(analysis: Analysis, comparison: Comparison, own: list[Verdict]) -> Html:
    a, b = (analysis.names[side] for side in (comparison.a, comparison.b))
    level = f"A / B ({100 * analysis.confidence:g} % interval)"
    rounds, spread = "rounds: median (min to max)", "spread of rounds A, B"
    heads = ("case", "verdict", "median A", "median B", level, rounds, spread, "noise floor", "n")
    rows = [
        (*_row(analysis, v)[:5], rounds_ratio_text(v.ratio) if v.ratio else "none",
         spread_short_text(v), *_row(analysis, v)[5:])
        for v in own
    ]  # fmt: skip
    label = own[0].quantity.label
    words = f"{label[:1].upper()}{label[1:]}: A = {a}, B = {b}."
    return grouped_table(
        heads, [Group("", [(_kind(v), row) for v, row in zip(own, rows, strict=True)])], words
    )


def _quantity_table(analysis: Analysis, comparison: Comparison, case: str) -> Html:
    a, b = analysis.names[comparison.a], analysis.names[comparison.b]
    own = [v for v in analysis.verdicts if (v.comparison, v.case) == (comparison, case)]
    control = ", A/A control" if comparison.control else ""
    caption = f"Case {case}{control}: A = {a}, B = {b}."
    if not any(verdict.rounds for verdict in own):
        return paragraph(f"{caption} None: {why_unused(analysis, own[0])}.", "caption")
    level = f"{100 * analysis.confidence:g} %"
    spread = "rounds: median (min to max)"
    heads = (
        "quantity",
        "verdict",
        "median A",
        "median B",
        f"A / B ({level} interval)",
        spread,
        "n",
    )
    rows = [_quantity_row(verdict) for verdict in own]
    return folded(f"Case {case}{control}: {a} / {b}", table(heads, rows, caption))


def _quantity_row(verdict: Verdict) -> tuple[str, ...]:
    ratio = verdict.ratio
    shown = [centre_text(ratio), rounds_ratio_text(ratio)] if ratio else ["none", "none"]
    label = verdict.quantity.label
    return (label, short_text(verdict), *_medians(verdict), *shown, str(verdict.n))

"""Verdicts over several cases: one sentence that counts them, and why a case is left out.

Layer: analysis. Reads and writes no file. The sentences are built from verdicts only; a case
that cannot tell, or whose records are kept out, is counted and named in them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from commwall.analysis.quantities import (
    BUSBW,
    DECODE_TOKENS,
    LATENCY,
    MEMORY_BANDWIDTH,
    MITIGATED,
    PREFILL_TOKENS,
    PRIMARY,
    STRATEGY_TOKENS,
    Quantity,
)
from commwall.analysis.result import Analysis
from commwall.analysis.verdicts.judging import Effect, Verdict
from commwall.analysis.verdicts.wording import better_text, effect_text, no_verdict_text, sentence
from commwall.language.translate import between_text, clauses, listed, tr, tr_later
from commwall.records.admit import head_of, without_leg
from commwall.schema.case import Case, CollectivesCase
from commwall.schema.plan import Comparison
from commwall.schema.units import significant

PER_WATT_HOUR = Quantity("energy_efficiency_samples_per_wh")
COUNTED = {
    "case": tr_later("{n} cases"),
    "operation": tr_later("{n} operations"),
    "mitigation": tr_later("{n} mitigations"),
}
"""What a case of a topic is called -> several of them."""
NAMED_CASES = 1
"""A sentence names so many cases at most, more are counted; the tables name them all."""


@dataclass(frozen=True)
class Topic:
    """A quantity that the summary judges, over all cases that have it."""

    name: str
    """Its title in English."""
    quantity: Quantity
    noun: str = "case"
    """What a case is called, one of COUNTED."""

    @property
    def title(self) -> str:
        """Its title."""
        return tr(self.name)


TRAINING = Topic(tr_later("Training throughput"), PRIMARY)
ENERGY = Topic(tr_later("Training energy"), PER_WATT_HOUR)
COLLECTIVES = (
    Topic(tr_later("Collectives, bus bandwidth at the largest size"), BUSBW, "operation"),
    Topic(
        tr_later("Collectives, latency at the smallest size, lower is better"),
        LATENCY,
        "operation",
    ),
)
MEMORY = Topic(tr_later("Memory bandwidth of the largest buffer"), MEMORY_BANDWIDTH, "operation")
STRATEGIES = Topic(tr_later("Parallel strategies, tokens per second"), STRATEGY_TOKENS)
DECODE = Topic(tr_later("Inference, tokens generated per second"), DECODE_TOKENS)
PREFILL = Topic(tr_later("Inference, tokens of prompts per second"), PREFILL_TOKENS)
MITIGATIONS = Topic(tr_later("Training with a mitigation on both sides"), MITIGATED, "mitigation")
TOPICS = (TRAINING, ENERGY, *COLLECTIVES, MEMORY, STRATEGIES, DECODE, PREFILL, MITIGATIONS)
"""What a buyer asks, in this order."""


def topic_verdicts(analysis: Analysis, comparison: Comparison, topic: Topic) -> list[Verdict]:
    """Verdicts of a comparison on a topic, in plan order; none where no case has the quantity."""
    return [
        verdict
        for verdict in analysis.verdicts
        if verdict.comparison == comparison and verdict.quantity == topic.quantity
    ]


def comparisons(analysis: Analysis, *, control: bool = False) -> list[Comparison]:
    """Comparisons that have a verdict: of treatments, or the A/A controls."""
    found = dict.fromkeys(verdict.comparison for verdict in analysis.verdicts)
    return [comparison for comparison in found if comparison.control == control]


def first_topics(analysis: Analysis) -> Iterator[tuple[Comparison, Topic, list[Verdict]]]:
    """Each comparison of treatments with the first topic that it has verdicts on, and those."""
    for comparison in comparisons(analysis):
        told = ((topic, topic_verdicts(analysis, comparison, topic)) for topic in TOPICS)
        for topic, verdicts in filter(itemgetter(1), told):
            yield comparison, topic, verdicts
            break


def typical(analysis: Analysis, verdicts: list[Verdict]) -> list[Verdict]:
    """Those on all-reduces, the operation that trains; all where none is one."""
    planned = _planned(analysis)
    own = [
        verdict
        for verdict in verdicts
        if isinstance(case := planned.get(verdict.case), CollectivesCase)
        and case.collective == "all_reduce"
    ]
    return own or verdicts


def _planned(analysis: Analysis) -> dict[str, Case]:
    plan = analysis.plan
    return {name: case for s in plan.suites for name, case in s.cases.items()} if plan else {}


def _distinct(analysis: Analysis, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Each collective once: of its sweeps one with a ratio, without load, to the largest size."""
    planned = _planned(analysis)
    sweeps: dict[object, list[tuple[tuple[bool, bool, int], Verdict]]] = {}
    for verdict in verdicts:
        case = planned.get(verdict.case)
        if isinstance(case, CollectivesCase):
            rank = (verdict.ratio is not None, case.beside is None, case.max_bytes)
            sweeps.setdefault(case.collective, []).append((rank, verdict))
        else:
            sweeps[object()] = [((False, False, 0), verdict)]
    return [max(own, key=itemgetter(0))[1] for own in sweeps.values()]


def overall_text(analysis: Analysis, verdicts: Sequence[Verdict], noun: str = "case") -> str:
    """All verdicts of one comparison and quantity in one sentence.

    Each collective counts once, however many sweeps of it there are. A single verdict gives its own
    sentence. Winners come first, with how many cases each wins
    and between which effects; then what cannot tell, then what has no usable round. The sentence
    can follow a colon: it starts with a small letter unless a name has another.

    Args:
        analysis: what they come from.
        verdicts: of one comparison and quantity, at least one.
        noun: what a case is called.
    """
    verdicts = _distinct(analysis, verdicts)
    if len(verdicts) == 1:
        return _alone(analysis, verdicts[0])
    comparison = verdicts[0].comparison
    won = [_won_text(analysis, verdicts, side, noun) for side in (comparison.a, comparison.b)]
    parts = [part for part in won if part]
    if not parts:
        return _sentence(_without_winner(analysis, verdicts, noun))
    return _sentence([*parts, *_undecided(verdicts, noun), *_left_out(analysis, verdicts, noun)])


def headlines(analysis: Analysis) -> Iterator[str]:
    """The first thing that each comparison of treatments says, with its topic."""
    for _, topic, verdicts in first_topics(analysis):
        text = overall_text(analysis, verdicts, topic.noun)
        yield tr("{topic}: {verdict}", topic=topic.title, verdict=text)


def why_unused(analysis: Analysis, verdict: Verdict) -> str:
    """Why a verdict has no ratio, as shortly as its records' refusals allow."""
    sides = (verdict.comparison.a, verdict.comparison.b)
    reasons = (
        head_of(reason)
        for cell in analysis.cells
        if (cell.record.id.suite, cell.record.id.case) == (verdict.suite, verdict.case)
        and cell.record.id.platform in sides
        for reason in cell.refusals
    )
    found = [] if _has_pairs(analysis, verdict) else list(dict.fromkeys(reasons))
    return clauses(found) or str(verdict.why_none)


def count_text(n: int, noun: str) -> str:
    """Several cases, counted: "4 operations".

    Args:
        n: how many.
        noun: what a case is called, one of COUNTED.
    """
    return tr(COUNTED[noun], n=n)


def range_text(texts: Iterable[tuple[float, str]]) -> str:
    """Least and largest of some values as they are printed: "35 % to 310 %", or one of them.

    Args:
        texts: each value with its text.
    """
    ordered = sorted(texts)
    low, high = ordered[0][1], ordered[-1][1]
    return low if low == high else between_text(low, high)


def ends_text(texts: Iterable[tuple[float, str, str]]) -> str:
    """As `range_text`, with the case of either end: "1.08 (resnet) to 2.25 (bert)".

    Args:
        texts: each value with its text and its case.
    """
    ordered = sorted(texts)
    (_, low, first), (_, high, last) = ordered[0], ordered[-1]
    if low == high:
        return low
    least, most = (tr("{value} ({case})", value=value, case=case)
                   for value, case in ((low, first), (high, last)))  # fmt: skip
    return between_text(least, most)


def _sentence(parts: Iterable[str]) -> str:
    return tr("{clauses}.", clauses=clauses(parts))


def _alone(analysis: Analysis, verdict: Verdict) -> str:
    if verdict.ratio:
        return sentence(verdict, analysis.names)
    return no_verdict_text(verdict, analysis.names, why_unused(analysis, verdict))


def _won_text(analysis: Analysis, verdicts: Sequence[Verdict], side: str, noun: str) -> str | None:
    """In how many cases a side is better, and by how much; None if in none."""
    won = [(v, v.effect) for v in verdicts if v.winner == side and v.effect]
    if not won:
        return None
    first, comparison = won[0][0], won[0][0].comparison
    other = comparison.b if side == comparison.a else comparison.a
    told = tr(
        "{winner} {better} than {loser} in {n} of {every}, by {effects}",
        winner=analysis.names[side],
        better=tr("trains faster") if first.quantity == PRIMARY else better_text(first),
        loser=analysis.names[other],
        n=len(won),
        every=count_text(len(verdicts), noun),
        effects=ends_text((effect.size, _percent(effect), v.case) for v, effect in won),
    )
    doubtful = [verdict.case for verdict, _ in won if verdict.above_noise is False]
    if not doubtful:
        return told
    return tr("{told} ({cases} not above the noise floor)", told=told, cases=_cases(doubtful, noun))


def _percent(effect: Effect) -> str:
    return f"{effect_text(effect)[0]} %"


def _without_winner(analysis: Analysis, verdicts: Sequence[Verdict], noun: str) -> Iterator[str]:
    """All verdicts where none names a winner: what cannot tell, or why there is none at all."""
    rounds = max(verdict.n for verdict in verdicts)
    every = count_text(len(verdicts), noun)
    reasons = {why_unused(analysis, verdict) for verdict in verdicts}
    if rounds:
        doubt = tr("cannot tell in any of {every}", every=every)
        yield doubt if rounds > 1 else tr("{told}, one round has no interval", told=doubt)
    elif len(reasons) > 1:
        yield tr("no verdict in any of {every}", every=every)
    elif all(_is_absent(analysis, verdict) for verdict in verdicts):
        yield tr("not measured, because {reason}", reason=reasons.pop())
        return
    else:
        yield tr("no verdict in any of {every}: {reason}", every=every, reason=reasons.pop())
        return
    if rounds:
        yield from _undecided(verdicts, noun, alone=True)
    yield from _left_out(analysis, verdicts, noun)


def _undecided(verdicts: Sequence[Verdict], noun: str, *, alone: bool = False) -> Iterator[str]:
    """What has a ratio and names no winner: without interval, or with one around 1.

    Args:
        verdicts: of one comparison and quantity.
        noun: what a case is called.
        alone: whether words before say already that all of them cannot tell.
    """
    own = [(v, v.ratio) for v in verdicts if v.ratio and v.winner is None]
    once = all(verdict.n < 2 for verdict in verdicts)
    without = [(v, r) for v, r in own if r.interval is None]
    around = [(v, r) for v, r in own if r.interval]
    for some in filter(None, (without, around)):
        seen = ends_text((r.centre, significant(r.centre, 3), v.case) for v, r in some)
        told = tr("ratio {ratio}", ratio=seen)
        if not alone or len(some) < len(own):
            cases = _cases([verdict.case for verdict, _ in some], noun)
            told = tr("ratio {ratio} in {cases}", ratio=seen, cases=cases)
        if some is without and not once:
            told = tr("{told}, without interval", told=told)
        if some is around and not alone:
            told = tr("cannot tell, {told}", told=told)
        yield told


def _left_out(analysis: Analysis, verdicts: Sequence[Verdict], noun: str) -> Iterator[str]:
    """What has no ratio, cases with one reason together."""
    reasons: dict[tuple[bool, str], list[str]] = {}
    for verdict in verdicts:
        if verdict.ratio is None:
            why = _brief(why_unused(analysis, verdict))
            reasons.setdefault((_is_absent(analysis, verdict), why), []).append(verdict.case)
    for (absent, reason), own in reasons.items():
        cases = _cases(own, noun)
        if absent:
            yield tr("{cases} not measured: {reason}", cases=cases, reason=reason)
        else:
            yield tr("{cases} not used: {reason}", cases=cases, reason=reason)


def _is_absent(analysis: Analysis, verdict: Verdict) -> bool:
    """Whether good records lack the quantity, rather than that records are missing or refused."""
    return not verdict.rounds and _has_pairs(analysis, verdict)


def _has_pairs(analysis: Analysis, verdict: Verdict) -> bool:
    """Whether a round has good records of both sides: refusals of others are then no reason."""
    place = (verdict.comparison, verdict.suite, verdict.case)
    own = [p for p in analysis.pairings if (p.comparison, p.suite, p.case) == place]
    return any(pairing.pairs for pairing in own)


def _brief(reasons: str) -> str:
    """Reasons without the leg that each concerns, each once."""
    return clauses(dict.fromkeys(map(without_leg, reasons.split(tr("; ")))))


def _cases(cases: list[str], noun: str) -> str:
    return listed(cases) if len(cases) <= NAMED_CASES else count_text(len(cases), noun)

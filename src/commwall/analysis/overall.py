"""Verdicts over several cases: one sentence that counts them, and why a case is left out.

Layer: analysis. Reads and writes no file. The sentences are built from verdicts only; a case
that cannot tell, or whose records are kept out, is counted and named in them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from commwall.analysis.names import (
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
from commwall.analysis.verdicts import Effect, Verdict
from commwall.analysis.wording import better_text, effect_text, sentence
from commwall.schema.case import CollectivesCase
from commwall.schema.plan import Comparison
from commwall.schema.units import significant

PER_WATT_HOUR = Quantity("energy_efficiency_samples_per_wh")
WHOLE_REASONS = ("skipped", "failed")
"""Beginnings of reasons that say nothing without their detail."""
NAMED_CASES = 1
"""A sentence names so many cases at most, more are counted; the tables name them all."""


@dataclass(frozen=True)
class Topic:
    """A quantity that the summary judges, over all cases that have it."""

    title: str
    quantity: Quantity
    noun: str = "case"
    """What a case is called."""


TOPICS = (
    Topic("Training throughput", PRIMARY),
    Topic("Training energy", PER_WATT_HOUR),
    Topic("Collectives, bus bandwidth at the largest size", BUSBW, "operation"),
    Topic("Collectives, latency at the smallest size", LATENCY, "operation"),
    Topic("Memory bandwidth of the largest buffer", MEMORY_BANDWIDTH, "operation"),
    Topic("Parallel strategies, tokens per second", STRATEGY_TOKENS),
    Topic("Inference, tokens generated per second", DECODE_TOKENS),
    Topic("Inference, tokens of prompts per second", PREFILL_TOKENS),
    Topic("Training with a mitigation on both sides", MITIGATED, "mitigation"),
)
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


def typical(analysis: Analysis, verdicts: list[Verdict]) -> list[Verdict]:
    """Those on all-reduces, the operation that trains; all where none is one."""
    plan = analysis.evidence.plan
    planned = (
        {name: case for suite in plan.suites for name, case in suite.cases.items()} if plan else {}
    )
    own = [
        verdict
        for verdict in verdicts
        if isinstance(case := planned.get(verdict.case), CollectivesCase)
        and case.collective == "all_reduce"
    ]
    return own or verdicts


def overall_text(analysis: Analysis, verdicts: Sequence[Verdict], noun: str = "case") -> str:
    """All verdicts of one comparison and quantity in one sentence.

    A single verdict gives its own sentence. Winners come first, with how many cases each wins
    and between which effects; then what cannot tell, then what has no usable round. The sentence
    can follow a colon: it starts with a small letter unless a name has another.

    Args:
        analysis: what they come from.
        verdicts: of one comparison and quantity, at least one.
        noun: what a case is called.
    """
    if len(verdicts) == 1:
        return _alone(analysis, verdicts[0])
    comparison = verdicts[0].comparison
    won = [_won_text(analysis, verdicts, side, noun) for side in (comparison.a, comparison.b)]
    parts = [part for part in won if part]
    if not parts:
        return "; ".join(_without_winner(analysis, verdicts, noun)) + "."
    parts += [*_undecided(verdicts, noun), *_left_out(analysis, verdicts, noun)]
    return "; ".join(parts) + "."


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
    found = [] if verdict.rounds else list(dict.fromkeys(reasons))
    return "; ".join(found) or str(verdict.why_none)


def head_of(reason: str) -> str:
    """A refusal without its detail: "marked host bound, leg single"."""
    return reason if reason.startswith(WHOLE_REASONS) else reason.partition(":")[0]


def range_text(texts: Iterable[tuple[float, str]]) -> str:
    """Least and largest of some values as they are printed: "35 % to 310 %", or one of them.

    Args:
        texts: each value with its text.
    """
    ordered = sorted(texts)
    low, high = ordered[0][1], ordered[-1][1]
    return low if low == high else f"{low} to {high}"


def _alone(analysis: Analysis, verdict: Verdict) -> str:
    if verdict.ratio:
        return sentence(verdict, analysis.names)
    a, b = (analysis.names[side] for side in (verdict.comparison.a, verdict.comparison.b))
    return f"{a} against {b}: no verdict, {why_unused(analysis, verdict)}."


def _won_text(analysis: Analysis, verdicts: Sequence[Verdict], side: str, noun: str) -> str | None:
    """In how many cases a side is better, and by how much; None if in none."""
    won = [(v, v.effect) for v in verdicts if v.winner == side and v.effect]
    if not won:
        return None
    first, comparison = won[0][0], won[0][0].comparison
    other = comparison.b if side == comparison.a else comparison.a
    better = "trains faster" if first.quantity == PRIMARY else better_text(first)
    effects = range_text((effect.size, _percent(effect)) for _, effect in won)
    where = f"in {len(won)} of {len(verdicts)} {noun}s"
    sides = f"{analysis.names[side]} {better} than {analysis.names[other]}"
    return f"{sides} {where}, by {effects}{_below_noise([v for v, _ in won], noun)}"


def _below_noise(won: list[Verdict], noun: str) -> str:
    doubtful = [verdict.case for verdict in won if verdict.above_noise is False]
    return f" ({_cases(doubtful, noun)} not above the noise floor)" if doubtful else ""


def _percent(effect: Effect) -> str:
    return f"{effect_text(effect)[0]} %"


def _without_winner(analysis: Analysis, verdicts: Sequence[Verdict], noun: str) -> Iterator[str]:
    """All verdicts where none names a winner: what cannot tell, or why there is none at all."""
    rounds = max(verdict.n for verdict in verdicts)
    every = f"in any of {len(verdicts)} {noun}s"
    reasons = {why_unused(analysis, verdict) for verdict in verdicts}
    if rounds:
        why = ", one round has no interval" if rounds == 1 else ""
        yield f"cannot tell {every}{why}"
        yield from _undecided(verdicts, noun, alone=True)
    elif len(reasons) == 1:
        absent = all(_is_absent(analysis, verdict) for verdict in verdicts)
        start = "not measured, because" if absent else f"no verdict {every}:"
        yield f"{start} {reasons.pop()}"
        return
    else:
        yield f"no verdict {every}"
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
    for start, end, some in (
        ("", "" if once else ", without interval", [(v, r) for v, r in own if r.interval is None]),
        ("" if alone else "cannot tell, ", "", [(v, r) for v, r in own if r.interval]),
    ):
        if some:
            seen = range_text((ratio.centre, significant(ratio.centre, 3)) for _, ratio in some)
            every = alone and len(some) == len(verdicts)
            where = "" if every else f" in {_cases([v.case for v, _ in some], noun)}"
            yield f"{start}ratio {seen}{where}{end}"


def _left_out(analysis: Analysis, verdicts: Sequence[Verdict], noun: str) -> Iterator[str]:
    """What has no ratio, cases with one reason together."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for verdict in verdicts:
        if verdict.ratio is None:
            how = "not measured" if _is_absent(analysis, verdict) else "not used"
            why = _brief(why_unused(analysis, verdict))
            reasons.setdefault((how, why), []).append(verdict.case)
    for (how, reason), cases in reasons.items():
        yield f"{_cases(cases, noun)} {how}: {reason}"


def _is_absent(analysis: Analysis, verdict: Verdict) -> bool:
    """Whether good records lack the quantity, rather than that records are missing or refused."""
    place = (verdict.comparison, verdict.suite, verdict.case)
    own = [p for p in analysis.pairings if (p.comparison, p.suite, p.case) == place]
    return not verdict.rounds and any(pairing.pairs for pairing in own)


def _brief(reasons: str) -> str:
    """Reasons without the leg that each concerns, each once."""
    own = (reason.partition(", leg ")[0] for reason in reasons.split("; "))
    return "; ".join(dict.fromkeys(own))


def _cases(cases: list[str], noun: str) -> str:
    return ", ".join(cases) if len(cases) <= NAMED_CASES else f"{len(cases)} {noun}s"

"""What a buyer is told of verdicts beside their sentence: how much that is, and how sure it is.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from commwall.analysis.quantities import PRIMARY
from commwall.analysis.verdicts.judging import Verdict
from commwall.analysis.verdicts.overall import range_text
from commwall.analysis.verdicts.wording import centre_text, effect_text
from commwall.language.translate import around_text, listed, tr, tr_later, trn
from commwall.report.controls import floor_text
from commwall.report.decision.figure import Row
from commwall.report.rounds import rounds_so_far
from commwall.schema.units import significant

TRAINING_H = 10
"""Chosen: a training that a reader can halve in the head."""
SEEN_TRAINED = tr_later(
    "Seen in one round, and not proven: over {a} training ran {ratios} times as fast as over {b}."
)
SEEN = tr_later(
    "Seen in one round, and not proven: {quantity} of {a} was {ratios} times that of {b}."
)
NOTHING_USED = tr_later("How sure: not at all, no round of both sides could be used.")
ONE_ROUND = tr_later(
    "How sure: one round was measured. It has no interval, so no winner is named, however large a "
    "difference looks."
)
SEVERAL_ROUNDS = tr_later(
    "How sure: {rounds} rounds, each with both sides back to back on the same machine. A winner is "
    "named only where the {level} % interval lies wholly on its side."
)


def row_words(verdict: Verdict) -> Row | None:
    """A line of the figure; None for a verdict without ratio."""
    ratio, effect = verdict.ratio, verdict.effect
    if ratio is None:
        return None
    if verdict.winner and effect:
        size, ends = effect_text(effect)
        words = tr("by {size} % ({ends})", size=size, ends=ends)
    else:
        words = tr("cannot tell: {ratio}", ratio=centre_text(ratio))
    return Row(
        case=verdict.case,
        ratio=ratio.centre,
        interval=(ratio.interval.low, ratio.interval.high) if ratio.interval else None,
        noise_floor=verdict.noise_floor,
        winner=_winning_side(verdict),
        words=words,
    )


def _winning_side(verdict: Verdict) -> Literal["a", "b"] | None:
    if verdict.winner is None:
        return None
    return "a" if verdict.winner == verdict.comparison.a else "b"


def far_words(verdicts: Sequence[Verdict], names: Mapping[str, str]) -> Iterator[str]:
    """By how much in other words: hours of a training, or what one round has shown.

    Hours are what a reader quotes, so that none are told of a case below its noise floor.

    Args:
        verdicts: of one comparison and quantity, at least one.
        names: platform -> its name for readers.
    """
    comparison, quantity = verdicts[0].comparison, verdicts[0].quantity
    trained = quantity == PRIMARY
    if trained:
        sound = [verdict for verdict in verdicts if verdict.above_noise is not False]
        for winner, loser in ((comparison.a, comparison.b), (comparison.b, comparison.a)):
            if hours := _hours_text([v for v in sound if v.winner == winner]):
                sides = {"winner": names[winner], "loser": names[loser]}
                yield tr(
                    "What takes {of} hours over {loser} takes {hours} hours over {winner}.",
                    of=TRAINING_H,
                    hours=hours,
                    **sides,
                )
    once = [v.ratio.centre for v in verdicts if v.ratio and v.n == 1]
    if once:
        yield tr(
            SEEN_TRAINED if trained else SEEN,
            quantity=tr(quantity.label),
            a=names[comparison.a],
            b=names[comparison.b],
            ratios=range_text((ratio, significant(ratio)) for ratio in once),
        )


def _hours_text(won: Sequence[Verdict]) -> str:
    """Hours of a training on the faster side: with the interval of one case, or over several."""
    effects = [verdict.effect for verdict in won if verdict.effect]
    if len(effects) == 1:
        ends = (effects[0].size, effects[0].high, effects[0].low)
        return around_text(*(_hours(gain) for gain in ends))
    return range_text((-effect.size, _hours(effect.size)) for effect in effects) if effects else ""


def _hours(gain: float) -> str:
    return significant(TRAINING_H / (1 + gain))


def sure_lines(verdicts: Sequence[Verdict], confidence: float, noun: str) -> Iterator[str]:
    """How sure the verdicts of one comparison and quantity are.

    Args:
        verdicts: at least one.
        confidence: level of their intervals.
        noun: what a case is called.
    """
    used = [verdict for verdict in verdicts if verdict.ratio]
    if not used:
        yield tr(NOTHING_USED)
        return
    rounds = range_text((verdict.n, str(verdict.n)) for verdict in used)
    level = f"{100 * confidence:g}"
    yield tr(ONE_ROUND) if rounds == "1" else tr(SEVERAL_ROUNDS, rounds=rounds, level=level)
    yield from rounds_so_far(used)
    if lost := sum(verdict.refused_rounds - verdict.unmeasured_rounds for verdict in used):
        yield trn(
            "{n} planned round of a case could not be used.",
            "{n} planned rounds of cases could not be used.",
            lost,
        )
    yield floor_text(verdicts, noun)
    won = [verdict for verdict in used if verdict.winner]
    if doubtful := [verdict.case for verdict in won if verdict.above_noise is False]:
        cases = listed(doubtful)
        yield tr("Do not rely on {cases}: not above the noise floor.", cases=cases)
    elif won and all(verdict.above_noise for verdict in won):
        yield tr("Every winner is above the noise floor of its own case.")

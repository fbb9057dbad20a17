"""The sentences of a verdict, the only place where they are worded.

Layer: analysis. Reads and writes no file.
"""

import math
from collections.abc import Mapping

from commwall.analysis.quantities import PRIMARY
from commwall.analysis.verdicts.decompose import Decomposition, Undecomposed
from commwall.analysis.verdicts.judging import Effect, Verdict
from commwall.language.translate import around_text, between_text, listed, quantity_text, tr, trn
from commwall.schema.units import significant
from commwall.stats.intervals import is_one_value
from commwall.stats.paired import PairedRatio

_FASTER = frozenset({PRIMARY.metric_id, "throughput_tokens_per_s"})
MOST_TOLD = 50
"""Beyond this many rounds a sentence names no number: nobody would measure them."""
Names = Mapping[str, str]
"""Platform -> its name for readers."""


def sentence(verdict: Verdict, names: Names) -> str:
    """The verdict in one sentence.

    Names a winner only if the interval lies on one side of 1; never calls two sides equal. An
    A/A control is not there to be decided, so that it asks for no more rounds.
    """
    ratio, effect = verdict.ratio, verdict.effect
    if ratio is None:
        return no_verdict_text(verdict, names, verdict.why_none)
    if effect is None or not ratio.excludes_one:
        why = _undecided_text(verdict, ratio)
        return tr("{sides}: {undecided}.", sides=_against(verdict, names), undecided=why)
    size, ends = effect_text(effect)
    return tr(
        "{winner} {better} by {size} % ({ends}, n = {n}) than {loser}.",
        winner=names[effect.winner],
        better=better_text(verdict),
        size=size,
        ends=ends,
        n=ratio.n,
        loser=names[effect.loser],
    )


def no_verdict_text(verdict: Verdict, names: Names, why: str | None) -> str:
    """That there is no verdict on two sides, and why."""
    return tr("{sides}: no verdict, {why}.", sides=_against(verdict, names), why=why)


def effect_text(effect: Effect) -> tuple[str, str]:
    """Effect and interval as percentages with as many decimals as the interval deserves.

    Returns:
        Such as ("25.1", "24.6 to 25.6").
    """
    decimals = _decimals(100 * (effect.high - effect.low), 100 * effect.size)
    ends = [_percent(end, decimals) for end in (effect.low, effect.high)]
    return _percent(effect.size, decimals), between_text(*ends)


def short_text(verdict: Verdict) -> str:
    """The verdict for a table cell that stands under the names of both sides."""
    return _short_text(verdict, better_text(verdict))


def brief_text(verdict: Verdict) -> str:
    """As `short_text`, where the quantity stands above the cell already."""
    if verdict.quantity.metric_id in _FASTER:
        return short_text(verdict)
    lower = verdict.quantity.metric.direction == "lower"
    return _short_text(verdict, tr("is lower") if lower else tr("is higher"))


def ratio_text(verdict: Verdict) -> str:
    """The ratio a / b with interval and the rounds' median, least and greatest."""
    ratio = verdict.ratio
    if ratio is None:
        return tr("no ratio: {why}", why=verdict.why_none)
    if ratio.n == 1:
        return centre_text(ratio)
    low, high = min(ratio.ratios), max(ratio.ratios)
    return tr(
        "{centre}; rounds: median {median}, min {low}, max {high}",
        centre=centre_text(ratio),
        median=_plain(ratio.median),
        low=_plain(low),
        high=_plain(high),
    )


def centre_text(ratio: PairedRatio) -> str:
    """The ratio's geometric mean with its interval."""
    around = ratio.interval
    if around is None:
        return tr("{value} (no interval)", value=_plain(ratio.centre))
    return around_text(*map(_plain, (ratio.centre, around.low, around.high)))


def rounds_ratio_text(ratio: PairedRatio) -> str:
    """Median, least and greatest ratio of the rounds: "2.0 (1.6 to 2.5)"; of one as it is."""
    if ratio.n == 1:
        return _plain(ratio.median)
    return around_text(*map(_plain, (ratio.median, min(ratio.ratios), max(ratio.ratios))))


def noise_text(verdict: Verdict) -> str:
    """How far equal treatments lie apart here, and whether the effect stands above that."""
    if verdict.comparison.control:
        return _control_text(verdict)
    control, floor = verdict.control, verdict.noise_floor
    if control is None:
        return tr("Noise floor: not measured, the campaign has no A/A control for this case.")
    if control.ratio is None or floor is None:
        return tr("Noise floor: unknown, A/A control: {why}.", why=_why_no_floor(control))
    seen = {"floor": _percent(floor, 1), "ratio": ratio_text(control)}
    if verdict.ratio and verdict.ratio.excludes_one and not verdict.above_noise:
        return tr(
            "Noise floor: {floor} % (A/A ratio {ratio}). The effect is not above it: do not rely "
            "on this verdict.",
            **seen,
        )
    return tr("Noise floor: {floor} % (A/A ratio {ratio}).", **seen)


def noise_short_text(verdict: Verdict) -> str:
    """The noise floor for a table cell, with a word where the effect does not stand above it."""
    if verdict.comparison.control:
        return tr("this is the A/A control")
    if verdict.control is None:
        return tr("not measured")
    if verdict.noise_floor is None:
        return tr("unknown")
    floor = share_text(verdict.noise_floor)
    if verdict.ratio and verdict.ratio.excludes_one and not verdict.above_noise:
        return tr("{floor}; the effect is not above it", floor=floor)
    return floor


def spread_text(verdict: Verdict, names: Names) -> str:
    """Between-round spread of each treatment."""
    sides = zip((verdict.comparison.a, verdict.comparison.b), verdict.spreads, strict=True)
    parts = [f"{names[side]} {share_text(spread)}" for side, spread in sides if spread is not None]
    return tr("Spread between rounds: {spreads}.", spreads=listed(parts)) if parts else ""


def spread_short_text(verdict: Verdict) -> str:
    """Between-round spread of A and B for a table cell: "1.2 %, 3.4 %"."""
    known = [share_text(spread) for spread in verdict.spreads if spread is not None]
    return listed(known) or tr("none")


def share_text(share: float) -> str:
    """A share [1] as a percentage with one decimal."""
    return f"{_percent(share, 1)} %"


def signed_share_text(share: float) -> str:
    """As `share_text`, with a true minus sign where it is below 0."""
    return share_text(share).replace("-", "−")


def values_text(verdict: Verdict, names: Names) -> str:
    """Median of each side with its unit."""
    if verdict.medians is None:
        return ""
    unit = verdict.quantity.metric.unit
    sides = zip((verdict.comparison.a, verdict.comparison.b), verdict.medians, strict=True)
    shown = listed(f"{names[side]} {quantity_text(value, unit)}" for side, value in sides)
    return tr("Median {quantity}: {values}.", quantity=verdict.quantity.label, values=shown)


def decomposition_text(part: Decomposition | Undecomposed) -> str:
    """The gap and its factors in one sentence."""
    if isinstance(part, Undecomposed):
        return tr("the gap cannot be split: {reason}.", reason=part.reason)
    return tr(
        "throughput gap {gap} = speed of one process alone {speed} x scaling {scaling} (n = {n}). "
        "Input effect: {effect}.",
        gap=factor_text(part.gap),
        speed=factor_text(part.per_gpu_speed),
        scaling=factor_text(part.scaling),
        n=part.gap.n,
        effect=part.input_effect,
    )


def factor_text(ratio: PairedRatio) -> str:
    """A factor with its interval; of one round, which has none, as it is."""
    return centre_text(ratio) if ratio.n > 1 else _plain(ratio.centre)


def better_text(verdict: Verdict) -> str:
    """What the better side is or has: "is faster", "has lower latency"."""
    metric = verdict.quantity.metric
    if metric.id in _FASTER:
        return tr("is faster")
    if metric.direction == "lower":
        return tr("has lower {quantity}", quantity=verdict.quantity.label)
    return tr("has higher {quantity}", quantity=verdict.quantity.label)


def _short_text(verdict: Verdict, better: str) -> str:
    ratio, effect = verdict.ratio, verdict.effect
    if ratio is None:
        return tr("none: {reason}", reason=verdict.why_none)
    if effect is None or not ratio.excludes_one:
        return _short_undecided_text(verdict, ratio)
    size, ends = effect_text(effect)
    side = "A" if effect.winner == verdict.comparison.a else "B"
    return tr(
        "{side} {better} by {size} % ({ends})", side=side, better=better, size=size, ends=ends
    )


def _short_undecided_text(verdict: Verdict, ratio: PairedRatio) -> str:
    if verdict.comparison.control:
        return tr("interval contains 1") if ratio.interval else tr("no interval")
    if ratio.n > 1 and ratio.interval is None:
        return tr("cannot tell with {rounds}, no spread", rounds=_rounds(ratio.n))
    return tr("cannot tell with {rounds}", rounds=_rounds(ratio.n))


def _control_text(verdict: Verdict) -> str:
    if verdict.ratio is None or verdict.ratio.interval is None:
        return tr(
            "A/A control: the same treatment twice; noise floor unknown, {why}.",
            why=_why_no_floor(verdict),
        )
    if verdict.ratio.excludes_one:
        return tr(
            "A/A control: the same treatment twice, and yet the interval excludes 1: "
            "do not rely on verdicts of this size."
        )
    return tr("A/A control: the same treatment twice; its interval contains 1, as it should.")


def _against(verdict: Verdict, names: Names) -> str:
    return tr("{a} against {b}", a=names[verdict.comparison.a], b=names[verdict.comparison.b])


def _why_no_floor(control: Verdict) -> str | None:
    return _why_no_interval(control.ratio) if control.ratio else control.why_none


def _why_no_interval(ratio: PairedRatio) -> str:
    if ratio.n == 1:
        return tr("one round has no interval")
    if not is_one_value([math.log(own) for own in ratio.ratios]):
        return tr("the rounds lie too far apart for an interval")
    return tr("the rounds show no spread, so no interval can be trusted")


def _undecided_text(verdict: Verdict, ratio: PairedRatio) -> str:
    if not verdict.comparison.control:
        told = tr("cannot tell with {rounds}, {need}", rounds=_rounds(ratio.n), need=_need(ratio))
        seen = centre_text(ratio) if ratio.interval else _plain(ratio.centre)
        return tr("{told}; ratio {ratio}", told=told, ratio=seen)
    return tr("the interval contains 1") if ratio.interval else _why_no_interval(ratio)


def _need(ratio: PairedRatio) -> str:
    """What an undecided ratio lacks."""
    needed = ratio.rounds_needed
    if ratio.interval is None:
        return _why_no_interval(ratio)
    if needed is not None and needed <= MOST_TOLD:
        return tr("about {n} would be needed", n=needed)
    return tr("more would be needed than are worth measuring")


def _rounds(n: int) -> str:
    return trn("{n} round", "{n} rounds", n)


def _percent(share: float, decimals: int) -> str:
    text = f"{100 * share:,.{decimals}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def _decimals(width_percent: float, size_percent: float) -> int:
    """Two significant digits of the interval's width, at most 3 decimals or 2 digits of the size.

    The latter so that a named winner never wins by 0.000 %.
    """
    most = max(3, _second_digit(size_percent)) if size_percent else 3
    wanted = _second_digit(width_percent) if width_percent else most
    return min(most, max(0, wanted))


def _second_digit(value: float) -> int:
    """Decimals that show two significant digits of a value that is not zero."""
    return 1 - math.floor(math.log10(abs(value)))


def _plain(ratio: float) -> str:
    return significant(ratio, 4)

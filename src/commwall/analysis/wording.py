"""The sentences of a verdict, the only place where they are worded.

Layer: analysis. Reads and writes no file.
"""

import math
from collections.abc import Mapping

from commwall.analysis.decompose import Decomposition, Undecomposed
from commwall.analysis.names import PRIMARY
from commwall.analysis.verdicts import Effect, Verdict
from commwall.schema.units import quantity_text, significant
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
        return f"{_against(verdict, names)}: no verdict, {verdict.why_none}."
    if effect is None or not ratio.excludes_one:
        return f"{_against(verdict, names)}: {_undecided_text(verdict, ratio)}."
    return (
        f"{names[effect.winner]} {better_text(verdict)} by {effect_text(effect)[0]} % "
        f"({effect_text(effect)[1]}, n = {ratio.n}) than {names[effect.loser]}."
    )


def effect_text(effect: Effect) -> tuple[str, str]:
    """Effect and interval as percentages with as many decimals as the interval deserves.

    Returns:
        Such as ("25.1", "24.6 to 25.6").
    """
    decimals = _decimals(100 * (effect.high - effect.low), 100 * effect.size)
    ends = [_percent(end, decimals) for end in (effect.low, effect.high)]
    return _percent(effect.size, decimals), f"{ends[0]} to {ends[1]}"


def short_text(verdict: Verdict) -> str:
    """The verdict for a table cell that stands under the names of both sides."""
    return _short_text(verdict, better_text(verdict))


def brief_text(verdict: Verdict) -> str:
    """As `short_text`, where the quantity stands above the cell already."""
    if verdict.quantity.metric_id in _FASTER:
        return short_text(verdict)
    lower = verdict.quantity.metric.direction == "lower"
    return _short_text(verdict, "is lower" if lower else "is higher")


def ratio_text(verdict: Verdict) -> str:
    """The ratio a / b with interval and the rounds' median, least and greatest."""
    ratio = verdict.ratio
    if ratio is None:
        return f"no ratio: {verdict.why_none}"
    if ratio.n == 1:
        return centre_text(ratio)
    low, high = min(ratio.ratios), max(ratio.ratios)
    extremes = f"median {_plain(ratio.median)}, min {_plain(low)}, max {_plain(high)}"
    return f"{centre_text(ratio)}; rounds: {extremes}"


def centre_text(ratio: PairedRatio) -> str:
    """The ratio's geometric mean with its interval."""
    around = ratio.interval
    ends = f"{_plain(around.low)} to {_plain(around.high)}" if around else "no interval"
    return f"{_plain(ratio.centre)} ({ends})"


def rounds_ratio_text(ratio: PairedRatio) -> str:
    """Median, least and greatest ratio of the rounds: "2.0 (1.6 to 2.5)"; of one as it is."""
    if ratio.n == 1:
        return _plain(ratio.median)
    low, high = min(ratio.ratios), max(ratio.ratios)
    return f"{_plain(ratio.median)} ({_plain(low)} to {_plain(high)})"


def noise_text(verdict: Verdict) -> str:
    """How far equal treatments lie apart here, and whether the effect stands above that."""
    if verdict.comparison.control:
        return _control_text(verdict)
    control, floor = verdict.control, verdict.noise_floor
    if control is None:
        return "Noise floor: not measured, the campaign has no A/A control for this case."
    if control.ratio is None or floor is None:
        return f"Noise floor: unknown, A/A control: {_why_no_floor(control)}."
    seen = f"Noise floor: {_percent(floor, 1)} % (A/A ratio {ratio_text(control)})."
    if verdict.ratio and verdict.ratio.excludes_one and not verdict.above_noise:
        return f"{seen} The effect is not above it: do not rely on this verdict."
    return seen


def noise_short_text(verdict: Verdict) -> str:
    """The noise floor for a table cell, with a word where the effect does not stand above it."""
    if verdict.comparison.control:
        return "this is the A/A control"
    if verdict.control is None:
        return "not measured"
    if verdict.noise_floor is None:
        return "unknown"
    decided = verdict.ratio is not None and verdict.ratio.excludes_one
    doubt = "; the effect is not above it" if decided and not verdict.above_noise else ""
    return f"{_percent(verdict.noise_floor, 1)} %{doubt}"


def spread_text(verdict: Verdict, names: Names) -> str:
    """Between-round spread of each treatment."""
    sides = zip((verdict.comparison.a, verdict.comparison.b), verdict.spreads, strict=True)
    parts = [f"{names[s]} {_percent(v, 1)} %" for s, v in sides if v is not None]
    return f"Spread between rounds: {', '.join(parts)}." if parts else ""


def spread_short_text(verdict: Verdict) -> str:
    """Between-round spread of A and B for a table cell: "1.2 %, 3.4 %"."""
    known = [share_text(spread) for spread in verdict.spreads if spread is not None]
    return ", ".join(known) or "none"


def share_text(share: float) -> str:
    """A share [1] as a percentage with one decimal."""
    return f"{_percent(share, 1)} %"


def signed_share_text(share: float) -> str:
    """As `share_text`, with a true minus sign where it is below 0."""
    return share_text(share).replace("-", "−")


def span_text(least: str, most: str) -> str:
    """Two ends, each in words: "1.9 to 2.4 ms", what they share once."""
    if least == most:
        return least
    number, _, unit = least.partition(" ")
    return f"{number} to {most}" if unit == most.partition(" ")[2] else f"{least} to {most}"


def values_text(verdict: Verdict, names: Names) -> str:
    """Median of each side with its unit."""
    if verdict.medians is None:
        return ""
    unit = verdict.quantity.metric.unit
    sides = zip((verdict.comparison.a, verdict.comparison.b), verdict.medians, strict=True)
    shown = ", ".join(f"{names[side]} {quantity_text(value, unit)}" for side, value in sides)
    return f"Median {verdict.quantity.label}: {shown}."


def decomposition_text(part: Decomposition | Undecomposed) -> str:
    """The gap and its factors in one sentence."""
    if isinstance(part, Undecomposed):
        return f"the gap cannot be split: {part.reason}."
    factors = (part.gap, part.per_gpu_speed, part.scaling)
    gap, speed, scaling = map(factor_text, factors)
    return (
        f"throughput gap {gap} = speed of one process alone {speed} x scaling {scaling} "
        f"(n = {part.gap.n}). Input effect: {part.input_effect}."
    )


def factor_text(ratio: PairedRatio) -> str:
    """A factor with its interval; of one round, which has none, as it is."""
    return centre_text(ratio) if ratio.n > 1 else _plain(ratio.centre)


def better_text(verdict: Verdict) -> str:
    """What the better side is or has: "is faster", "has lower latency"."""
    metric = verdict.quantity.metric
    if metric.id in _FASTER:
        return "is faster"
    return f"has {'lower' if metric.direction == 'lower' else 'higher'} {verdict.quantity.label}"


def _short_text(verdict: Verdict, better: str) -> str:
    ratio, effect = verdict.ratio, verdict.effect
    if ratio is None:
        return f"none: {verdict.why_none}"
    if effect is None or not ratio.excludes_one:
        if verdict.comparison.control:
            return "interval contains 1" if ratio.interval else "no interval"
        no_spread = ", no spread" if ratio.n > 1 and ratio.interval is None else ""
        return f"cannot tell with {_rounds(ratio.n)}{no_spread}"
    size, ends = effect_text(effect)
    side = "A" if effect.winner == verdict.comparison.a else "B"
    return f"{side} {better} by {size} % ({ends})"


def _control_text(verdict: Verdict) -> str:
    if verdict.ratio is None or verdict.ratio.interval is None:
        why = _why_no_floor(verdict)
        return f"A/A control: the same treatment twice; noise floor unknown, {why}."
    if verdict.ratio.excludes_one:
        return (
            "A/A control: the same treatment twice, and yet the interval excludes 1: "
            "do not rely on verdicts of this size."
        )
    return "A/A control: the same treatment twice; its interval contains 1, as it should."


def _against(verdict: Verdict, names: Names) -> str:
    return f"{names[verdict.comparison.a]} against {names[verdict.comparison.b]}"


def _why_no_floor(control: Verdict) -> str | None:
    return _why_no_interval(control.ratio) if control.ratio else control.why_none


def _why_no_interval(ratio: PairedRatio) -> str:
    if ratio.n == 1:
        return "one round has no interval"
    if max(ratio.ratios) > 2 * min(ratio.ratios):
        return "the rounds lie too far apart for an interval"
    return "the rounds show no spread, so no interval can be trusted"


def _undecided_text(verdict: Verdict, ratio: PairedRatio) -> str:
    if not verdict.comparison.control:
        return f"cannot tell with {_rounds(ratio.n)}, {_need(ratio)}"
    return "the interval contains 1" if ratio.interval else _why_no_interval(ratio)


def _need(ratio: PairedRatio) -> str:
    """What an undecided ratio lacks."""
    needed = ratio.rounds_needed
    if ratio.interval is None:
        return _why_no_interval(ratio)
    if needed is not None and needed <= MOST_TOLD:
        return f"about {needed} would be needed"
    return "more would be needed than are worth measuring"


def _rounds(n: int) -> str:
    return f"{n} round" + ("" if n == 1 else "s")


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

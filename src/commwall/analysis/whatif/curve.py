"""A model placed on a campaign's break-even curves: what its faster link gains, and where it pays.

Layer: analysis. Reads no file. A curve knows the exchange over two links for each byte (leg `comm`)
as the campaign's GPUs took it, so that it holds for as many of them, data parallel.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from commwall.analysis.breakeven import ALL, GAINS, NOTHING, Contest, band, contests
from commwall.analysis.result import Analysis
from commwall.analysis.whatif.answers import Answer
from commwall.analysis.whatif.words import Line, gain_text, per_gb_span, per_gradient_byte
from commwall.model.estimates import Estimate
from commwall.model.layout import Layout


@dataclass(frozen=True)
class Reading:
    """One model on the curve of one comparison."""

    contest: Contest
    s_per_byte: Estimate
    """Compute of its step for each byte of gradients [s/byte]."""

    @property
    def gain(self) -> Estimate:
        """Of the faster link, from nothing hidden to all that fits [1]."""
        at = self.s_per_byte
        ends = [end for x in (at.low, at.high) for end in band(self.contest.links, x)]
        return Estimate(min(ends), max(ends), "modelled", "read off the curve")


def readings(analysis: Analysis, answer: Answer) -> tuple[Reading, ...]:
    """A model on each curve of a campaign; none where no curve is of such a step.

    Args:
        analysis: of the campaign.
        answer: of the model, on GPUs of the campaign's kind.
    """
    question, at = answer.question, per_gradient_byte(answer)
    if at is None or question.layout != Layout(question.gpus):
        return ()
    ranks = {cell.record.id.platform: cell.record.platform.world_size for cell in analysis.cells}
    found = contests(analysis)
    return tuple(Reading(each, at) for each in found if ranks[each.faster] == question.gpus)


def curve_lines(analysis: Analysis, answer: Answer) -> Iterator[Line]:
    """What the curves say of a model, in words, or that none does."""
    found = readings(analysis, answer)
    if not found:
        yield Line(
            "place on the break-even curve", "none", "modelled",
            f"{analysis.campaign} has no curve of so many GPUs, data parallel",
        )  # fmt: skip
    for each in found:
        names = [analysis.names[side] for side in (each.contest.faster, each.contest.slower)]
        x = per_gb_span(each.s_per_byte.low, each.s_per_byte.high)
        yield Line(
            f"curve: gain of {' over '.join(names)}", gain_text(each.gain), "modelled",
            f"read at {x} off the break-even curve of {analysis.campaign}, from "
            "nothing hidden to all that fits",
        )  # fmt: skip
        yield from (_crossing_line(each, gain) for gain in GAINS)


def _crossing_line(reading: Reading, gain: float) -> Line:
    links = reading.contest.links
    known = [x for end in (NOTHING, ALL) if (x := links.crossing(gain, end)) is not None]
    value = per_gb_span(min(known), max(known)) if known else "never"
    return Line(
        f"curve: {100 * gain:g} % is crossed at", value, "modelled",
        "solved from the curve: a step that computes less for each GB gains more",
    )  # fmt: skip

"""An answer in lines: what, how much, how that is known, and what it rests on.

Layer: analysis. Reads and writes no file.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from commwall.analysis.verdicts.wording import signed_share_text
from commwall.analysis.whatif.answers import Answer, OverLink, Question, Way
from commwall.analysis.whatif.calibration import Calibration
from commwall.analysis.whatif.offers import Offer
from commwall.language.translate import span_text, tr
from commwall.model.estimates import Estimate, Origin
from commwall.model.layout import Layout, micro_batches
from commwall.model.memory import ADAM, logit_bytes
from commwall.model.strategies import bubble_share, wire_bytes
from commwall.model.update import PACKING_PASSES, UPDATE_BYTES
from commwall.schema.units import significant, time_text, volume_text
from commwall.schema.volumes import layer_exchanges, sharing


@dataclass(frozen=True)
class Line:
    """One line of an answer."""

    what: str
    value: str
    origin: Origin
    basis: str


def heading(question: Question) -> str:
    """The question in one sentence."""
    workload = question.workload
    samples = f"{workload.batch_per_gpu:g} {question.sample}s of {workload.sequence_length} tokens"
    nodes = f" in {question.nodes} nodes" if question.nodes > 1 else ""
    return (
        f"{question.title} on {question.gpus} {question.kind}{nodes}: {samples} a GPU and step, "
        f"{layout_text(question.layout)}"
    )


def origin_lines(
    question: Question, measured: Calibration | None, model: str | None
) -> Iterator[str]:
    """What an answer takes from a campaign, what it does not and why, and how it would take more.

    Args:
        question: what is asked.
        measured: the campaign; None if none is named.
        model: name of the model; None for one that is told by its parameters.
    """
    if measured is None:
        yield "No campaign is named: published and nominal values are used, and told as such."
        if question.mfu.origin == "published":
            yield "The MFU published is that of large decoders: a small batch reaches less."
        return
    own = [link for link in question.links if link.measured_ranks]
    mfu = ["MFU"] if question.mfu.origin in ("measured", "modelled") else []
    taken = [*mfu, *(_link_part(link) for link in own)]
    yield f"From campaign {measured.campaign}: {'; '.join(taken) or 'nothing'}."
    if not mfu:
        given = question.mfu.origin == "given"
        why = "given" if given else "published, the campaign has none of a transformer"
        yield f"MFU is {why}."
    if question.mfu.origin == "modelled":
        yield (
            "No case of this model and batch was measured: its MFU is bounded by those of other "
            "batches."
        )
    for link in question.links:
        if link not in own:
            yield (
                f"{link.name} is no link of the campaign (its own for --link, of "
                f"{', '.join(measured.gpus) or 'no GPU'}: "
                f"{', '.join(measured.links) or 'none with all-reduces'}): rate "
                f"{link.bytes_per_s.origin}, overlap {question.overlap.origin}."
            )
    same = [case for case, name in measured.models.items() if name == model]
    if len(same) > 1:
        yield (
            f"Overlap of {len(same)} cases of this model is pooled; of one alone: "
            f"{' or '.join(f'--case {case}' for case in same)}."
        )


def _link_part(link: Offer) -> str:
    parts = "rate, latency and overlap" if link.overlap else "rate and latency, not overlap,"
    carried = link.bytes_per_s.origin == "modelled"
    among = f", measured among {link.measured_ranks} GPUs and modelled for more" if carried else ""
    return f"{parts} of {link.name}{among}"


def layout_text(layout: Layout) -> str:
    """Degrees in words: "data 16 x tensor 8"."""
    degrees = [f"{name} {getattr(layout, name)}" for name in ("data", "tensor", "pipeline")]
    used = [text for text in degrees if not text.endswith(" 1")] or ["one GPU"]
    schedule = f" ({layout.schedule})" if int(layout.pipeline) > 1 else ""
    experts = f", experts over {layout.expert}" if int(layout.expert) > 1 else ""
    zero = f", ZeRO stage {layout.zero}" if layout.zero else ""
    return " x ".join(used) + schedule + experts + zero


def answer_lines(answer: Answer) -> tuple[Line, ...]:
    """All lines of an answer; `commwall.analysis.whatif.premises` has what it rests on."""
    return (
        Line("compute of a step", seconds_text(answer.compute), "modelled", _work_text(answer)),
        _update_line(answer),
        *_volume_lines(answer),
        *_memory_lines(answer),
        *(line for over in answer.over for line in _link_lines(over, answer)),
        *_gain_lines(answer),
    )


def seconds_text(estimate: Estimate) -> str:
    """A time between its ends."""
    return _times_text(estimate.low, estimate.high)


def gain_text(estimate: Estimate) -> str:
    """A gain between its ends."""
    return span_text(signed_share_text(estimate.low), signed_share_text(estimate.high))


def percents_text(share: Estimate) -> str:
    """A share between its ends, with a true minus sign."""
    ends = (f"{100 * end:.0f} %".replace("-", "−") for end in (share.low, share.high))
    return span_text(*ends)


def per_gradient_byte(answer: Answer) -> Estimate | None:
    """Compute of a step for each byte of gradients, where the step lies on the break-even curve
    [s/byte]; None where none are exchanged."""
    exchanged = float(answer.exchanged.gradients)
    if not exchanged:
        return None
    words = "compute of a step, its update and packing included, over its gradients"
    alone = answer.alone
    return Estimate(alone.low / exchanged, alone.high / exchanged, "modelled", words)


def per_gb_text(seconds_per_byte: float) -> str:
    """Compute for each gigabyte of gradients (1 GB = 10^9 byte)."""
    return tr("{time} per GB", time=time_text(seconds_per_byte * 1e9))


def per_gb_span(least: float, most: float) -> str:
    """The same between two ends."""
    return tr("{time} per GB", time=span_text(time_text(least * 1e9), time_text(most * 1e9)))


def way_rows(ways: Iterable[Way]) -> Iterator[tuple[str, str, str]]:
    """Layout, step time and memory of each way of a sweep with its verdict, in words."""
    for way in ways:
        memory = f"{volume_text(way.memory_bytes)} a GPU: {way.room}"
        yield layout_text(way.layout), seconds_text(way.step), memory


def scale_rows(answers: Iterable[Answer]) -> Iterator[tuple[str, ...]]:
    """GPUs, step time over each link in the order asked for, samples per second over the best."""
    for each in answers:
        steps = {over.link.name: seconds_text(over.step) for over in each.over}
        samples = each.question.workload.batch_per_gpu * each.question.gpus
        best = each.over[0].step
        rate = span_text(significant(samples / best.high), significant(samples / best.low))
        asked = [steps[link.name] for link in each.question.links]
        yield f"{each.question.gpus:,}", *asked, f"{rate} samples/s"


def _work_text(answer: Answer) -> str:
    question = answer.question
    flops, mfu = question.workload.flops_per_gpu, question.mfu
    again = ", forward pass repeated" if question.workload.repeats_forward else ""
    return (
        f"{significant(flops / 1e12)} TFLOP a GPU{again} at {percents_text(mfu)} of "
        f"{significant(question.peak.low / 1e12)} TFLOP/s"
    )


def _update_line(answer: Answer) -> Line:
    what, rate = "update and packing of gradients", answer.question.memory_rate
    if rate is None:
        return Line(what, "not known", "modelled", "left out: the memory's rate is not on file")
    return Line(
        what, time_text(answer.update_s), "modelled",
        f"{UPDATE_BYTES} byte of AdamW for each parameter that a GPU updates, and "
        f"{PACKING_PASSES} passes over gradients that are exchanged, at the memory's nominal "
        f"{_rate(rate.low)}: at least",
    )  # fmt: skip


def _volume_lines(answer: Answer) -> Iterator[Line]:
    question, volumes = answer.question, answer.exchanged
    times = layer_exchanges(repeated=question.workload.repeats_forward)
    basis = {
        "gradients": _sharing_text(question),
        "tensor": f"{times} all-reduces a layer and micro-batch",
        "pipeline": "each micro-batch to the next stage, and its gradient back",
        "expert": f"{times} all-to-alls a layer and micro-batch",
    }
    found = {name: float(getattr(volumes, name)) for name in basis}
    for name, amount in found.items():
        if amount:
            what = "bytes synchronised" if name == "gradients" else f"bytes of {name} parallelism"
            yield Line(f"{what}, each GPU", volume_text(amount), "modelled", basis[name])
    if any(found.values()):
        sent = volume_text(wire_bytes(question.workload, question.layout))
        words = "what rings put on its links, the mean over GPUs"
        yield Line("bytes sent in a step, each GPU", sent, "modelled", words)
    else:
        yield Line("bytes exchanged", "none", "modelled", "one GPU has nobody to exchange with")
    x = per_gradient_byte(answer)
    if x:
        text = per_gb_span(x.low, x.high)
        yield Line("compute for the bytes synchronised", text, "modelled", x.basis)


def _sharing_text(question: Question) -> str:
    """What data-parallel ranks exchange, and how often."""
    workload, layout = question.workload, question.layout
    held = f"{workload.gradient_bytes} byte a parameter that a GPU holds"
    if not layout.zero:
        return f"{held}, all-reduced once a step"
    several = micro_batches(workload, layout)
    times = sharing(layout.zero, several, whole_gradients=layout.whole_gradients).whole
    return f"{held}, gathered or scattered {times:g} times a step, each half an all-reduce"


def _memory_lines(answer: Answer) -> Iterator[Line]:
    question, counted = answer.question, answer.memory
    size = volume_text(question.memory.low)
    yield Line(
        "memory of a GPU", f"{volume_text(float(counted.whole))} of {size}: {answer.room}",
        "modelled",
        f"{volume_text(float(counted.state))} of parameters, gradients and Adam "
        f"({ADAM.whole:g} byte a parameter), {_activations_text(answer)}, "
        f"{_buffers_text(answer)}; not the framework's own",
    )  # fmt: skip
    margin = percents_text(question.margin)
    basis = f"to fit is to leave it free; {question.margin.basis}"
    yield Line("margin for what is not counted", margin, question.margin.origin, basis)
    state = volume_text(ADAM.whole * question.workload.parameters)
    told = f"{answer.fewest}" if answer.fewest else "no number is enough"
    yield Line(
        "fewest GPUs that hold it", told, "modelled",
        f"{state} of state divided evenly, by ZeRO stage 3, tensor or pipeline parallelism, beside "
        f"these activations, all with {margin} on top",
    )  # fmt: skip


def _activations_text(answer: Answer) -> str:
    """Activations, and what of them is counted."""
    workload, layout = answer.question.workload, answer.question.layout
    logits = float(logit_bytes(workload, layout))
    several = f", {workload.experts.active} experts a token" if workload.experts else ""
    gated = "gated " if workload.gated else ""
    words = f"logits of {workload.vocabulary:,} words ({volume_text(logits)})"
    return (
        f"{volume_text(float(answer.memory.activations))} of activations (attention and a "
        f"{gated}feed-forward part {workload.widening:.3g} times as wide{several}, "
        f"{words if logits else 'no logits'})"
    )


def _buffers_text(answer: Answer) -> str:
    buffers = float(answer.memory.buffers)
    if not buffers:
        return "no buffers of the exchange"
    stage = answer.question.layout.zero
    what = "gathered parameters of two layers" if stage == 3 else "copies of gradients in buckets"
    return f"{volume_text(buffers)} of {what}"


def _link_lines(over: OverLink, answer: Answer) -> Iterator[Line]:
    link, question = over.link, answer.question
    ends = rates_text(link.bytes_per_s)
    beyond = f", {rates_text(question.network.bytes_per_s)} between nodes"
    between = beyond if question.nodes > 1 else ""
    yield Line(
        f"{link.name}: exchanges alone", seconds_text(over.communication), "modelled",
        f"{ends} in one direction{between}",
    )  # fmt: skip
    yield Line(f"{link.name}: step", seconds_text(over.step), "modelled", _parts_text(over, answer))


def _parts_text(over: OverLink, answer: Answer) -> str:
    """What is waited for beside compute, at both ends."""
    names = {
        "gradients_s": "gradients", "tensor_s": "tensor parallelism", "stages_s": "other stages",
        "expert_s": "experts", "bubble_s": "the pipeline's bubble",
    }  # fmt: skip
    parts = []
    for field, name in names.items():
        low, high = sorted(float(getattr(step, field)) for step in (over.fast, over.slow))
        if high > 0:
            parts.append(f"{_times_text(low, high)} for {name}")
    layout = answer.question.layout
    if int(layout.pipeline) > 1:
        several = micro_batches(answer.question.workload, layout)
        share = float(bubble_share(layout.pipeline, several))
        parts.append(f"bubble {100 * share:.1f} % with {float(several):g} micro-batches")
    alone = "compute, update"
    return f"{alone}, and waiting {', '.join(parts)}" if parts else f"{alone} alone"


def _gain_lines(answer: Answer) -> Iterator[Line]:
    for each in answer.gains:
        what = f"gain of {each.faster.name} over {each.slower.name}"
        yield Line(
            what, gain_text(each.gain), "modelled", "step time ratio less 1, one MFU on both sides"
        )


def _times_text(low: float, high: float) -> str:
    """A time between its ends; none has no unit."""
    if not high:
        return tr("none")
    return span_text(time_text(low) if low else "0", time_text(high))


def rates_text(estimate: Estimate) -> str:
    """A link's rate between its ends, in GB/s (1 GB = 10^9 byte)."""
    return span_text(_rate(estimate.low), _rate(estimate.high))


def _rate(bytes_per_s: float) -> str:
    return f"{significant(bytes_per_s / 1e9)} GB/s"

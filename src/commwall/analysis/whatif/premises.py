"""What an answer rests on, in lines: rates, shares, and everything that was assumed.

Layer: analysis. Reads and writes no file.
"""

from collections.abc import Iterator

from commwall.analysis.whatif.answers import Question
from commwall.analysis.whatif.asking import EVEN, HEAD_WIDTH
from commwall.analysis.whatif.offers import Offer
from commwall.analysis.whatif.words import Line, percents_text, rates_text, seconds_text
from commwall.model.estimates import Estimate, Origin
from commwall.model.layout import Layout, micro_batch
from commwall.model.scale import BUCKET_BYTES
from commwall.schema.units import significant

RECOMPUTED = {
    "none": "every activation is kept",
    "selective": "scores of the attention are not kept, as with fused kernels",
    "full": "only what enters a layer is kept; the forward pass and its exchanges are repeated",
}
"""What `commwall.model.workload.Recompute` means."""


def premise_lines(question: Question) -> Iterator[Line]:
    """All that an answer, or a sweep of layouts, rests on."""
    yield from _of_compute(question)
    yield from _of_exchange(question)
    yield from _of_links(question)
    yield from _of_model(question)


def _of_compute(question: Question) -> Iterator[Line]:
    mfu, peak = question.mfu, question.peak
    yield Line("MFU without waiting", percents_text(mfu), mfu.origin, mfu.basis)
    rate = f"{significant(peak.low / 1e12)} TFLOP/s"
    yield Line("peak in bfloat16, dense", rate, peak.origin, peak.basis)
    workload = question.workload
    batch = f"of the {workload.batch_per_gpu:g} {question.sample}s that a step has for each GPU"
    yield Line(
        "micro-batch",
        f"{micro_batch(workload):g} at a time",
        _origin("micro_batch", question),
        f"{batch}; where nothing is told, all of them",
    )
    again = workload.recompute
    yield Line("recomputation", again, _origin("recompute", question), RECOMPUTED[again])


def _of_exchange(question: Question) -> Iterator[Line]:
    yield from _of_hiding(question)
    if int(question.layout.data) > 1:
        yield from _of_gradients(question.layout)
    experts = question.workload.experts
    if experts:
        basis = f"each of {experts.number} experts gets as many tokens, none is dropped or padded"
        yield Line("load of experts", "equal", "assumed", basis)


def _of_hiding(question: Question) -> Iterator[Line]:
    """How much of the exchange is hidden, with the links' names where they differ in it."""
    over: dict[Estimate, list[str]] = {}
    for link in question.links:
        over.setdefault(link.overlap or question.overlap, []).append(link.name)
    for share, links in over.items():
        where = f" over {' and '.join(links)}" if len(over) > 1 else ""
        what = f"of what could be hidden{where} is"
        yield Line(what, percents_text(share), share.origin, share.basis)


def _of_gradients(layout: Layout) -> Iterator[Line]:
    yield Line(
        "gradients can be hidden behind", "2/3 of compute", "assumed",
        "backward passes, of twice the FLOPs of forward ones: of the last micro-batch, or of all "
        "where each one has its exchange; ZeRO's gathers beside forward passes behind those",
    )  # fmt: skip
    bucket = f"{BUCKET_BYTES / 2**20:g} MiB"
    yield Line("bucket of gradients", bucket, "assumed", "default of DistributedDataParallel")
    if layout.zero < 2:
        return
    what = "gradients between micro-batches"
    if layout.whole_gradients:
        yield Line(what, "whole", "given", "scattered once, after the last")
    else:
        basis = "scattered after each; --whole-gradients keeps them whole, scattered once"
        yield Line(what, "divided", "assumed", basis)


def _of_links(question: Question) -> Iterator[Line]:
    used = [*question.links, *([question.network] if question.nodes > 1 else [])]
    for link in used:
        rate = link.bytes_per_s
        yield Line(f"rate of {link.name}", rates_text(rate), rate.origin, rate.basis)
        yield from _of_switch(link)
    for link in used:
        latency = link.latency_s
        yield Line(f"latency of {link.name}", seconds_text(latency), latency.origin, latency.basis)
    last = question.gpus % question.gpus_per_node
    if question.nodes > 1 and last:
        yield Line(
            "GPUs of the last node", f"{last} of {question.gpus_per_node}", "assumed",
            "nodes are filled one after the other; what leaves the last shares its fewer ports",
        )  # fmt: skip


def _of_switch(link: Offer) -> Iterator[Line]:
    """Sums in the switch, where a link has them."""
    if link.switch_share:
        share = f"{100 * link.switch_share:g} % of that rate"
        basis = "on the wire; NCCL's own efficiency of NVLS, used where it is faster than a ring"
        yield Line(f"sums in the switch of {link.name}", share, "published", basis)


def _of_model(question: Question) -> Iterator[Line]:
    if question.notes:
        yield Line(
            "shape of the model", ", ".join(question.notes), "assumed",
            "usual of a decoder of this size; layers and heads rounded to multiples of "
            f"{EVEN}, heads {HEAD_WIDTH} wide, so that GPUs can divide them",
        )  # fmt: skip
        words = f"{question.workload.vocabulary:,} words"
        yield Line("vocabulary", words, "assumed", "as of Llama's first; logits grow with it")


def _origin(name: str, question: Question) -> Origin:
    return "given" if name in question.said else "assumed"

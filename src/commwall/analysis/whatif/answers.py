"""What a step of a reader's own model would take on GPUs and links that nobody measured it on.

Layer: analysis. Reads no file. All inputs are ranges; a step is computed at its slow end
(least MFU, overlap and rate) and at its fast end. The gain of one link over another is that of one
machine: the MFU is the same on both sides, so is the overlap where it was measured over neither.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from commwall.analysis.whatif.offers import End, Offer
from commwall.model.estimates import Estimate
from commwall.model.layout import Layout, layouts
from commwall.model.links import Fabric
from commwall.model.memory import ADAM, Memory, Room, fewest_gpus, memory, room
from commwall.model.scale import StepTime, step_time
from commwall.model.strategies import Volumes, volumes
from commwall.model.workload import Workload
from commwall.schema.errors import ConfigError

ENDS: tuple[End, End] = ("fast", "slow")


@dataclass(frozen=True)
class Question:
    """What is asked."""

    title: str
    """Name of the model for readers."""
    sample: str
    """What a sample is called: sequence or image."""
    workload: Workload
    kind: str
    """Key of the GPU."""
    peak: Estimate
    """Of the GPU in bfloat16 [FLOP/s]."""
    memory: Estimate
    """Of the GPU [byte]."""
    memory_rate: Estimate | None
    """Of the GPU's memory, reading and writing together; None where it is not on file [byte/s]."""
    layout: Layout
    gpus_per_node: int
    links: tuple[Offer, ...]
    """Inside a node, to be compared."""
    network: Offer
    """Between nodes."""
    mfu: Estimate
    overlap: Estimate
    """Of links that have none of their own."""
    margin: Estimate
    """Memory in use beyond what is counted, as a share of that [1]."""
    said: frozenset[str] = frozenset()
    """What the user said, by the names of `commwall.analysis.whatif.asking.Words`."""
    notes: tuple[str, ...] = ()
    """What was assumed of the model, as it was not told."""

    @property
    def gpus(self) -> int:
        """All of them."""
        return int(self.layout.gpus)

    @property
    def nodes(self) -> int:
        """Nodes that they fill."""
        return -(-self.gpus // self.gpus_per_node)


@dataclass(frozen=True)
class OverLink:
    """A step over one link."""

    link: Offer
    fast: StepTime
    slow: StepTime

    @property
    def step(self) -> Estimate:
        """Step time [s]."""
        return self._between(float(self.fast.whole_s), float(self.slow.whole_s))

    @property
    def communication(self) -> Estimate:
        """All exchanges of a GPU with nothing in the way [s]."""
        return self._between(*(_exchanges_s(each) for each in (self.fast, self.slow)))

    def _between(self, low: float, high: float) -> Estimate:
        return Estimate(low, high, "modelled", f"over {self.link.name}")


@dataclass(frozen=True)
class Gain:
    """Step time over the slower link over that over the faster one, less 1."""

    faster: Offer
    slower: Offer
    gain: Estimate


@dataclass(frozen=True)
class Answer:
    """What follows."""

    question: Question
    compute: Estimate
    """Forward and backward pass of a step [s]."""
    update_s: float
    """Optimiser and packing of gradients; 0 where the memory's rate is not on file [s]."""
    exchanged: Volumes
    memory: Memory
    """Of one GPU."""
    fewest: int | None
    """GPUs that hold the model and the margin if they divide its state evenly; None if no number
    does."""
    over: tuple[OverLink, ...]
    """Fastest first."""
    gains: tuple[Gain, ...]
    """Of the fastest over each other link."""

    @property
    def alone(self) -> Estimate:
        """A step without exchange [s]."""
        ends = (self.compute.low + self.update_s, self.compute.high + self.update_s)
        return Estimate(*ends, "modelled", "compute, update and packing")

    @property
    def room(self) -> Room:
        """Whether the memory of a GPU is large enough for its part."""
        counted = float(self.memory.whole)
        return room(counted, self.question.memory.low, self.question.margin.high)


def answer(question: Question) -> Answer:
    """Work out a question.

    Raises:
        ConfigError: if a link does not join the GPUs of a node.
    """
    _check_reach(question)
    workload, layout = question.workload, question.layout
    over = tuple(
        sorted((_over(question, link) for link in question.links), key=lambda each: each.step.low)
    )
    counted = memory(workload, layout)
    more = 1 + question.margin.high
    return Answer(
        question=question,
        compute=_compute(question),
        update_s=float(over[0].fast.update_s),
        exchanged=volumes(workload, layout),
        memory=counted,
        fewest=fewest_gpus(
            more * ADAM.whole * workload.parameters,
            more * float(counted.activations),
            question.memory.low,
        ),
        over=over,
        gains=tuple(_gain(question, over[0].link, each.link) for each in over[1:]),
    )


def at_scale(question: Question, counts: tuple[int, ...]) -> Iterator[Answer]:
    """The same with other numbers of GPUs: more data-parallel ranks, the batch of a GPU kept.

    Raises:
        ConfigError: if a number of GPUs cannot be divided so.
    """
    layout = question.layout
    for count in counts:
        replica = int(layout.tensor * layout.pipeline)
        if count % (replica * int(layout.expert)):
            raise ConfigError(
                "GPUs that cannot be divided so",
                where="--gpus",
                found=f"{count} GPUs, tensor x pipeline = {replica}, expert = {layout.expert}",
                expected="a multiple of them",
            )
        yield answer(replace(question, layout=replace(layout, data=count // replica)))


@dataclass(frozen=True)
class Way:
    """One layout of a sweep."""

    layout: Layout
    step: Estimate
    """[s]"""
    memory_bytes: float
    """Counted of one GPU [byte]."""
    room: Room


def fastest_ways(question: Question, link: Offer, most: int = 5) -> tuple[Way, ...]:
    """The layouts that fit into memory, or may, and take the shortest steps, in this order.

    All ways to divide the step over the GPUs are computed at once, and ordered by the middle of
    their ends. One with fewer micro-batches than stages stays in: its bubble tells.

    Raises:
        ConfigError: if a link does not join the GPUs of a node.
    """
    _check_reach(question)
    workload = question.workload
    experts = workload.experts.number if workload.experts else 1
    every = replace(
        layouts(question.gpus, workload.layers, workload.heads, experts),
        zero=question.layout.zero,
        schedule=question.layout.schedule,
        whole_gradients=question.layout.whole_gradients,
    )
    fast, slow = (np.asarray(_step(question, link, end, every).whole_s) for end in ENDS)
    counted = np.asarray(memory(workload, every).whole)
    possible = counted <= question.memory.low
    order = np.argsort(np.where(possible, fast + slow, np.inf), kind="stable")
    return tuple(
        Way(
            _one(every, i),
            Estimate(float(fast[i]), float(slow[i]), "modelled", f"over {link.name}"),
            float(counted[i]),
            room(float(counted[i]), question.memory.low, question.margin.high),
        )
        for i in order[:most]
        if possible[i]
    )


def _one(every: Layout, index: int) -> Layout:
    degrees = (every.data, every.tensor, every.pipeline, every.expert)
    data, tensor, pipeline, expert = (int(np.asarray(each)[index]) for each in degrees)
    return replace(every, data=data, tensor=tensor, pipeline=pipeline, expert=expert)


def _exchanges_s(step: StepTime) -> float:
    return float(step.tensor_s + step.expert_s + step.stages_s + step.exchange_s)


def _compute(question: Question) -> Estimate:
    workload = question.workload
    work = workload.work_share * workload.flops_per_gpu / question.peak.low
    return Estimate(
        work / question.mfu.high, work / question.mfu.low, "modelled", question.mfu.basis
    )


def _over(question: Question, link: Offer) -> OverLink:
    fast, slow = (_step(question, link, end, question.layout) for end in ENDS)
    return OverLink(link, fast, slow)


def _step(question: Question, link: Offer, end: End, layout: Layout) -> StepTime:
    """A step at one end of everything."""
    hidden = link.overlap or question.overlap
    mfu, overlap = (each.high if end == "fast" else each.low for each in (question.mfu, hidden))
    return _step_at(question, link, end, layout, mfu, overlap)


def _step_at(
    question: Question, link: Offer, end: End, layout: Layout, mfu: float, overlap: float
) -> StepTime:
    fabric = Fabric(link.at(end), question.network.at(end), question.gpus_per_node)
    speed = mfu * question.peak.low
    memory = question.memory_rate.low if question.memory_rate else math.inf
    return step_time(
        question.workload,
        layout,
        fabric,
        flops_per_s=speed,
        overlap=overlap,
        memory_bytes_per_s=memory,
    )


def _gain(question: Question, faster: Offer, slower: Offer) -> Gain:
    """Ends of the gain over all corners of MFU, overlap and both rates."""
    gains = []
    for mfu, overlaps in product(_ends(question.mfu), _overlaps(question, faster, slower)):
        short, long = (
            [float(_step_at(question, link, end, question.layout, mfu, overlap).whole_s)
             for end in ENDS]
            for link, overlap in zip((faster, slower), overlaps, strict=True)
        )  # fmt: skip
        gains += [slow / fast - 1 for fast, slow in product(short, long)]
    words = f"{faster.name} over {slower.name}"
    return Gain(faster, slower, Estimate(min(gains), max(gains), "modelled", words))


def _overlaps(question: Question, faster: Offer, slower: Offer) -> Iterator[tuple[float, float]]:
    """Corners of the overlap over both links: the same one where it was measured over neither."""
    own = [link.overlap or question.overlap for link in (faster, slower)]
    if not faster.overlap and not slower.overlap:
        yield from ((end, end) for end in _ends(question.overlap))
    else:
        yield from product(*(_ends(each) for each in own))


def _ends(estimate: Estimate) -> tuple[float, float]:
    return estimate.low, estimate.high


def _check_reach(question: Question) -> None:
    """A bridge between two cards is no link among eight."""
    joined = min(question.gpus, question.gpus_per_node)
    for link in question.links:
        if link.joins and link.joins < joined:
            raise ConfigError(
                "a link that does not join the GPUs of a node",
                where="--link",
                found=f"{link.name} of {question.kind} joins {link.joins}, a node has {joined}",
                expected="GPUs that it joins: beyond them a ring leaves it",
                next_step="ask for pcie, or for fewer GPUs in a node (--gpus-per-node)",
            )

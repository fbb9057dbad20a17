"""From a user's words to a question that a model can answer.

Layer: analysis. Reads no file. Every word that is refused is named with what would be taken.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from commwall.analysis.whatif.answers import Question
from commwall.analysis.whatif.assumptions import Facts
from commwall.analysis.whatif.calibration import Calibration
from commwall.analysis.whatif.offers import Offer, network, offer
from commwall.model.estimates import Estimate
from commwall.model.layout import Layout, Schedule
from commwall.model.memory import Zero
from commwall.model.workload import Recompute, Workload
from commwall.schema.errors import ConfigError
from commwall.schema.facts import GpuPeaks
from commwall.schema.units import significant

NODE = 8
"""Chosen: GPUs of a node where nothing says otherwise, as boards and servers of the field have."""
WIDTH_OVER_LAYERS = 128
"""Chosen: width over layers of a model whose shape is not told; 4096 over 32 in decoders of 7B."""
HEAD_WIDTH = 128
"""Chosen: width of an attention head where their number is not told; 4096 over 32 likewise."""
EVEN = 8
"""Chosen: assumed layers and heads are multiples of it, so that a node's GPUs can divide them."""
VOCABULARY = 32_000
"""Chosen: words of a model whose vocabulary is not told; those of Llama and Mixtral."""
ANY_OVERLAP = Estimate(
    0.0, 1.0, "assumed", "from nothing hidden to all that fits into the backward pass"
)
DEGREES = ("data", "tensor", "pipeline", "expert")


@dataclass(frozen=True)
class Words:
    """What a user says of the model and the machine; None is not said."""

    model: str | None = None
    params: float | None = None
    layers: int | None = None
    hidden: int | None = None
    heads: int | None = None
    sequence: int | None = None
    batch: float | None = None
    micro_batch: float | None = None
    gradient_bytes: int | None = None
    recompute: Recompute | None = None
    gpu: str = ""
    gpus: int = 1
    gpus_per_node: int | None = None
    links: Sequence[str] = ()
    network: str = "ib400"
    strategy: str = "data"
    zero: Zero = 0
    whole_gradients: bool = False
    schedule: Schedule = "1f1b"
    mfu: tuple[float, float] | None = None


def question_of(words: Words, facts: Facts, measured: Calibration | None) -> Question:
    """The question that words ask.

    Args:
        words: of the user.
        facts: on file.
        measured: a campaign to start from; None is facts alone.

    Raises:
        ConfigError: if a word means nothing, or too little is said.
    """
    title, sample, workload, notes = _workload(words, facts)
    kind, peaks = facts.gpu(words.gpu)
    node = words.gpus_per_node or _node(peaks)
    return Question(
        title=title,
        sample=sample,
        workload=workload,
        kind=kind,
        peak=_nominal(peaks, "bfloat16_dense_flops"),
        memory=_nominal(peaks, "memory_bytes"),
        memory_rate=_nominal(peaks, "memory_bytes_per_s") if peaks.memory_bytes_per_s else None,
        layout=replace(
            layout_of(words.strategy, words.gpus, workload),
            zero=words.zero,
            schedule=words.schedule,
            whole_gradients=words.whole_gradients,
        ),
        gpus_per_node=node,
        links=_links(words, kind, facts, measured, min(words.gpus, node)),
        network=network(words.network, facts),
        mfu=_mfu(words, facts, measured, peaks, workload),
        overlap=ANY_OVERLAP,
        margin=_margin(facts),
        said=frozenset(name for name, value in vars(words).items() if value is not None),
        notes=notes,
    )


def layout_of(strategy: str, gpus: int, workload: Workload) -> Layout:
    """Degrees from words: `data`, `tensor`, or `tensor=8,pipeline=4`; what is left is data.

    Raises:
        ConfigError: if a word is unknown, or GPUs, layers, heads or experts cannot be divided so.
    """
    degrees = dict.fromkeys(DEGREES, 1)
    told = set[str]()
    for part in strategy.split(","):
        name, _, number = part.strip().partition("=")
        strange = name not in DEGREES or (number and not re.fullmatch(r"[1-9]\d{0,8}", number))
        if strange or name in told:
            raise ConfigError(
                "no such strategy",
                where="--strategy",
                found=part,
                expected=f"{', '.join(DEGREES)}, best, or degrees such as tensor=8,pipeline=4, "
                "each once",
            )
        told.add(name)
        degrees[name] = int(number) if number else gpus
    _check_degrees(degrees, gpus, workload)
    replica = degrees["tensor"] * degrees["pipeline"]
    return Layout(gpus // replica, degrees["tensor"], degrees["pipeline"], degrees["expert"])


def _links(
    words: Words, kind: str, facts: Facts, measured: Calibration | None, joined: int
) -> tuple[Offer, ...]:
    """Those that are asked for, else those that a campaign compared on such GPUs, else those on
    file."""
    alike = measured is not None and measured.is_of(kind, facts)
    known = measured.links_for(words.model, joined) if measured else {}
    compared = measured.compared if measured and alike else ()
    asked = words.links or compared or own_links(kind, facts, words.gpus)
    if not asked:
        raise ConfigError(
            "no link of a GPU is on file",
            where="--link",
            found=kind,
            expected="a link by name",
            next_step="give its rate in one direction: --link 900GB/s, say",
        )
    strange = [word for word in asked if word in known]
    if measured and strange and not alike:
        raise ConfigError(
            "a link that was measured on another kind of GPU",
            where="--link",
            found=f"{strange[0]} of {', '.join(measured.gpus) or 'a machine without GPUs'}",
            expected=f"a link of {kind}",
            next_step="ask for nvlink or pcie as on file, or give its rate: 25GB/s, say",
        )
    return tuple(offer(word, kind, facts, known) for word in dict.fromkeys(asked))


def own_links(kind: str, facts: Facts, gpus: int) -> tuple[str, ...]:
    """Links to compare where none is named: NVLink if it joins so many, and PCIe if it has it."""
    peaks, linked = facts.gpus.root[kind], facts.links.gpus.get(kind)
    domain = peaks.nvlink_domain.value if peaks.nvlink_domain else 0
    if linked is None:
        return ()
    joined = linked.nvlink_bytes_per_s and domain >= min(gpus, _node(peaks))
    known = {"nvlink": joined, "pcie": linked.pcie_generation}
    return tuple(word for word, there in known.items() if there)


def _check_degrees(degrees: Mapping[str, int], gpus: int, workload: Workload) -> None:
    """Refuse what cannot be divided evenly, all at once."""
    replica = degrees["tensor"] * degrees["pipeline"]
    experts = workload.experts.number if workload.experts else degrees["expert"]
    parts = (
        (gpus, replica * degrees["expert"], "GPUs", "tensor x pipeline x expert"),
        (workload.heads, degrees["tensor"], "attention heads", "tensor"),
        (workload.layers, degrees["pipeline"], "layers", "pipeline"),
        (experts, degrees["expert"], "experts of a layer", "expert"),
    )
    wrong = [
        f"{whole} {what} are not a multiple of {name} = {share}"
        for whole, share, what, name in parts
        if whole % share
    ]
    if degrees["expert"] > 1 and workload.experts is None:
        wrong.append("the model has no experts")
    if degrees["data"] not in (1, gpus, gpus // max(1, replica)):
        wrong.append(f"data = {degrees['data']} is not what the others leave of {gpus} GPUs")
    if wrong:
        raise ConfigError(
            "a strategy that does not divide the step", where="--strategy", found="\n".join(wrong),
            expected="even shares; data is what tensor and pipeline leave",
        )  # fmt: skip


def _workload(words: Words, facts: Facts) -> tuple[str, str, Workload, tuple[str, ...]]:
    """Title, name of a sample, the model, and what was assumed of it."""
    if words.model:
        preset, workload = facts.preset(words.model)
        return preset.title, preset.sample, _checked(_changed(workload, words)), ()
    missing = [f"--{n}" for n in ("params", "batch", "sequence") if getattr(words, n) is None]
    if missing:
        raise ConfigError(
            "too little is said of the model",
            found=f"no {', '.join(missing)}",
            expected=f"a model by name ({', '.join(facts.presets)}), or these",
        )
    bare = _shaped(cast(float, words.params), words)
    told = {"layers": "layers", "heads": "heads", "hidden": "wide"}
    notes = [f"{getattr(bare, n)} {what}" for n, what in told.items() if getattr(words, n) is None]
    title = f"model of {significant(bare.parameters / 1e9)} billion parameters"
    return title, "sequence", _checked(_changed(bare, words)), tuple(notes)


def _shaped(parameters: float, words: Words) -> Workload:
    """A decoder of usual shape, of those that can be divided the one nearest in size.

    Source: Kaplan et al., arXiv:2001.08361, section 2.1 (12 x layers x width^2 parameters without
        embeddings).
    """
    layers, heads, hidden = min(
        _shapes(parameters, words),
        key=lambda shape: abs(math.log(12 * shape[0] * shape[2] ** 2 / parameters)),
    )
    return Workload(
        parameters, layers, hidden, heads, words.sequence or 1, words.batch or 1,
        vocabulary=VOCABULARY,
    )  # fmt: skip


def _shapes(parameters: float, words: Words) -> Iterator[tuple[int, int, int]]:
    """Layers, heads and width near a size; what is told stays."""
    deep = (parameters / (12 * WIDTH_OVER_LAYERS**2)) ** (1 / 3)
    for layers in (words.layers,) if words.layers else _even(deep):
        width = words.hidden or (parameters / (12 * layers)) ** 0.5
        for heads in (words.heads,) if words.heads else _even(width / HEAD_WIDTH):
            head = max(1, round(width / heads)) if words.heads else HEAD_WIDTH
            yield layers, heads, words.hidden or heads * head


def _even(number: float) -> tuple[int, int]:
    """Multiples of `EVEN` on both sides of a number; below it, powers of two."""
    if number < EVEN:
        low = 1 << max(0, math.floor(math.log2(number)))
        return low, 2 * low
    low = EVEN * math.floor(number / EVEN)
    return low, low + EVEN


def _changed(workload: Workload, words: Words) -> Workload:
    """A model with what the user says otherwise."""
    said: dict[str, Any] = {
        "parameters": words.params,
        "layers": words.layers,
        "hidden": words.hidden,
        "heads": words.heads,
        "sequence_length": words.sequence,
        "batch_per_gpu": words.batch,
        "micro_batch": words.micro_batch,
        "gradient_bytes": words.gradient_bytes,
        "recompute": words.recompute,
    }
    return replace(workload, **{name: value for name, value in said.items() if value is not None})


def _checked(workload: Workload) -> Workload:
    """A model whose batch is made of whole micro-batches, and whose width of whole heads.

    Raises:
        ConfigError: if it is not.
    """
    if workload.hidden % workload.heads:
        raise ConfigError(
            "heads that do not fill the width",
            where="--heads",
            found=f"width {workload.hidden}, {workload.heads} heads",
            expected="a width that is a multiple of the heads",
        )
    part = workload.micro_batch
    if part and workload.batch_per_gpu % part:
        raise ConfigError(
            "micro-batches that do not fill the batch",
            where="--micro-batch",
            found=f"{workload.batch_per_gpu:g} samples a GPU, {part:g} in a micro-batch",
            expected="a batch that is a multiple of the micro-batch",
        )
    return workload


def _node(peaks: GpuPeaks) -> int:
    """GPUs of a node: those that NVLink joins, unless a bridge joins just two cards."""
    domain = peaks.nvlink_domain.value if peaks.nvlink_domain else NODE
    return max(NODE, domain)


def _nominal(
    peaks: GpuPeaks, field: Literal["bfloat16_dense_flops", "memory_bytes", "memory_bytes_per_s"]
) -> Estimate:
    fact = getattr(peaks, field)
    return Estimate(fact.value, fact.value, "nominal", fact.source)


def _margin(facts: Facts) -> Estimate:
    figure = facts.modelling.uncounted_memory
    basis = f"{figure.condition}; {figure.source}"
    return Estimate(figure.value, figure.most or figure.value, "measured", basis)


def _mfu(
    words: Words, facts: Facts, measured: Calibration | None, peaks: GpuPeaks, workload: Workload
) -> Estimate:
    """As given, as measured, or as published; measured on another GPU it is told to be."""
    if words.mfu:
        return Estimate(*words.mfu, "given", "as asked for")
    found = measured.mfu(words.model, workload.flops_per_gpu) if measured else None
    if measured and found:
        strange = ", ".join(name for name in measured.gpus if name not in peaks.names)
        note = f", measured on {strange}, another GPU" if strange else ""
        return replace(found, basis=found.basis + note)
    figure = facts.modelling.mfu
    basis = f"{figure.condition}; {figure.source}"
    return Estimate(figure.value, figure.most or figure.value, "published", basis)

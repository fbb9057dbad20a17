"""Suite `mitigations`: what software can do about a slow link, and the cases that measure it.

Layer: schema. Reads and writes no file.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from commwall.schema.base import Bytes, Model, PositiveInt
from commwall.schema.phrases import Phrase, phrase
from commwall.schema.units import size_text
from commwall.schema.workload import CAPTURING, StepMode, Workload

Exchange = Literal["float32", "bfloat16", "float16", "int8", "onebit", "powersgd"]
"""In what form gradients are exchanged: as they are, rounded to 16 bit, quantised to 8 or 1 bit
with error feedback, or as products of thin matrices (PowerSGD, with error feedback)."""
EXCHANGE_WORDS: dict[Exchange, Phrase] = {
    "bfloat16": phrase("bfloat16 exchange"),
    "float16": phrase("float16 exchange"),
    "int8": phrase("8-bit exchange"),
    "onebit": phrase("1-bit exchange"),
    "powersgd": phrase("PowerSGD exchange"),
}
NUMERICAL = ("exchange", "rank", "accumulate", "local_steps", "outer", "batch_times")
"""Options that change what is computed; the others change how, and only the order of sums."""
_NEEDS_DDP = ("exchange", "bucket_bytes", "static_graph", "copied_gradients", "overlap_optimizer")


class Mitigation(Model):
    """Options of a training step; what is left out is as in the unmitigated step."""

    exchange: Exchange = "float32"
    """Form in which gradients are exchanged."""
    rank: Annotated[int, Field(ge=1, le=64)] | None = None
    """Columns of PowerSGD's matrices; null for every other exchange."""
    bucket_bytes: Bytes | None = None
    """Size of DDP's gradient buckets [byte]; null is the workload's."""
    static_graph: bool = False
    """Whether DDP is told that every step uses the same parameters in the same order."""
    copied_gradients: bool = False
    """Whether gradients are copied out of DDP's buckets (gradient_as_bucket_view false)."""
    overlap_optimizer: bool = False
    """Whether the optimiser updates each bucket's parameters as soon as it is exchanged."""
    accumulate: Annotated[int, Field(ge=1, le=64)] = 1
    """Batches whose gradients are added up before one exchange and one update."""
    local_steps: Annotated[int, Field(ge=1, le=256)] = 1
    """Updates that each process makes on its own before weights are averaged."""
    outer: Literal["average", "nesterov"] = "average"
    """What becomes of the averaged weights: they are taken, or an outer optimiser follows them
    (DiLoCo)."""
    batch_times: Annotated[int, Field(ge=1, le=64)] = 1
    """Samples of a batch, relative to the workload's."""
    step_mode: StepMode | None = None
    """How the step is run; null is the workload's."""
    numa: Literal["near"] | Annotated[int, Field(ge=0, le=255)] | None = None
    """Node to whose CPUs each process is bound: a number, or the one that is near to its device;
    null binds none."""

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        for wrong, why in _CONTRADICTIONS:
            if wrong(self):
                raise ValueError(why)
        return self

    @property
    def chosen(self) -> dict[str, Any]:
        """The options that differ from the unmitigated step."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @property
    def numerical(self) -> dict[str, Any]:
        """Those of them that change what is computed."""
        return {name: value for name, value in self.chosen.items() if name in NUMERICAL}

    @property
    def batches(self) -> int:
        """Batches of the workload's size that a process trains on between two exchanges."""
        return self.accumulate * self.local_steps * self.batch_times

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        """The options, one phrase each."""
        chosen = self.chosen
        return tuple(word(chosen[name], self) for name, word in _WORDS.items() if name in chosen)

    @property
    def words(self) -> str:
        """The options in English: "bfloat16 exchange, buckets of 100 MiB"."""
        return ", ".join(map(str, self.phrases))


_CONTRADICTIONS: tuple[tuple[Callable[[Mitigation], bool], str], ...] = (
    (lambda m: not m.chosen, "mitigation: it names no option"),
    (
        lambda m: (m.rank is not None) != (m.exchange == "powersgd"),
        "mitigation.rank: it belongs to exchange powersgd, and that needs it",
    ),
    (
        lambda m: m.outer == "nesterov" and m.local_steps == 1,
        "mitigation.outer: nesterov follows averaged weights, and needs local_steps above 1",
    ),
    (
        lambda m: m.local_steps > 1 and bool({*_NEEDS_DDP} & m.chosen.keys()),
        f"mitigation.local_steps: steps that exchange no gradients have no {', '.join(_NEEDS_DDP)}",
    ),
    (
        lambda m: m.local_steps > 1 and m.accumulate > 1,
        "mitigation.local_steps: it already exchanges rarely, and goes without accumulate",
    ),
    (
        lambda m: m.static_graph and m.accumulate > 1,
        "mitigation.static_graph: DDP notes the order of gradients in a first step that exchanges "
        "them, which a step with accumulate does not begin with",
    ),
)
"""Options that exclude each other, and why."""
_WORDS: dict[str, Callable[[Any, Mitigation], Phrase]] = {
    "exchange": lambda value, m: (
        phrase("{exchange}, rank {rank}", exchange=EXCHANGE_WORDS[m.exchange], rank=m.rank)
        if m.rank
        else EXCHANGE_WORDS[m.exchange]
    ),
    "bucket_bytes": lambda value, m: phrase("buckets of {size}", size=size_text(value)),
    "static_graph": lambda value, m: phrase("static graph"),
    "copied_gradients": lambda value, m: phrase("gradients copied out of buckets"),
    "overlap_optimizer": lambda value, m: phrase("optimiser beside the backward pass"),
    "accumulate": lambda value, m: phrase("{count} batches a step", count=value),
    "local_steps": lambda value, m: (
        phrase("{count} local steps, outer Nesterov", count=value)
        if m.outer == "nesterov"
        else phrase("{count} local steps", count=value)
    ),
    "batch_times": lambda value, m: phrase("batch times {factor}", factor=value),
    "step_mode": lambda value, m: phrase("step mode {mode}", mode=value),
    "numa": lambda value, m: (
        phrase("bound to the near node")
        if value == "near"
        else phrase("bound to node {node}", node=value)
    ),
}
UNCAPTURABLE: dict[Exchange, str] = {
    "powersgd": "PowerSGD counts its steps and draws its matrices on the host"
}
"""Exchanges that no CUDA graph can hold, and why."""
NEEDS_GPUS: dict[Exchange, str] = {
    "powersgd": "PowerSGD waits for an exchange in the thread that ends the one before, and gloo "
    "and the emulated link have too few of them"
}
"""Exchanges of several buckets that hang beside gloo, and why."""


class StepCase(Workload):
    """A workload's step with a mitigation, beside the same step without, in one launch."""

    suite: Literal["mitigations"] = "mitigations"
    kind: Literal["step"] = "step"
    mitigation: Mitigation
    """What is tried."""

    @model_validator(mode="after")
    def _can_be_run(self) -> Self:
        asked, mode = self.mitigation, self.mitigated_mode
        if asked.exchange in UNCAPTURABLE and mode in CAPTURING:
            raise ValueError(
                f"mitigation.exchange: {asked.exchange} cannot be recorded in a CUDA graph "
                f"({UNCAPTURABLE[asked.exchange]}), and step_mode is {mode}; give the mitigation "
                "step_mode compile or eager"
            )
        if asked.step_mode == self.step_mode:
            raise ValueError(f"mitigation.step_mode: the workload itself has {self.step_mode}")
        return self

    @property
    def mitigated_mode(self) -> StepMode:
        """How the mitigated step is run."""
        return self.mitigation.step_mode or self.step_mode


class PriceCase(Model):
    """What a mitigation costs in loss and in the error of gradients, on a small real task."""

    suite: Literal["mitigations"] = "mitigations"
    kind: Literal["price"] = "price"
    mitigation: Mitigation
    """What is tried; options that change no arithmetic are left as they are."""
    seeds: Annotated[int, Field(ge=1, le=64)] = 3
    """Trainings with and without it in each round; every round has seeds of its own."""
    batches: Annotated[PositiveInt, Field(le=10**5)] = 240
    """Batches that each process trains on, the same with and without it."""

    @model_validator(mode="after")
    def _something_to_price(self) -> Self:
        if not self.mitigation.numerical:
            raise ValueError(
                f"mitigation: {self.mitigation.words} changes no arithmetic; cases of kind step "
                "check it by their losses"
            )
        if self.batches % self.mitigation.batches:
            raise ValueError(
                f"batches: {self.batches} is no multiple of {self.mitigation.batches}, the batches "
                "between two exchanges"
            )
        return self


MitigationCase = Annotated[StepCase | PriceCase, Field(discriminator="kind")]
"""Union of the suite's two kinds of cases."""

"""Suite `strategies`: its cases, and the transformer stack that they split.

Layer: schema. Reads and writes no file. The stack is layers only: without embedding and head, what
a strategy sends is a short formula (`commwall.schema.volumes`).
"""

import math
from typing import Literal, NamedTuple, Self

from pydantic import Field, model_validator

from commwall.schema.base import Duration, Model, Samples
from commwall.schema.phrases import Phrase, phrase

Strategy = Literal["tensor", "pipeline", "fsdp", "expert", "accumulation"]
"""tensor: each layer's matrices are cut (DTensor); pipeline: layers are dealt out, micro-batches
follow each other (torch.distributed.pipelining); fsdp: parameters are cut and gathered when they
are used (FSDP2); expert: the ranks' tokens go to the rank of their expert and back (all-to-all);
accumulation: gradients of several micro-batches are exchanged once (DDP)."""
Schedule = Literal["gpipe", "1f1b"]
"""gpipe: all forward passes, then all backward passes; 1f1b: one of each in turn."""
Stepping = Literal["eager", "captured"]
"""eager: the host starts every kernel; captured: a CUDA graph is recorded and replayed."""
RECORDABLE: frozenset[Strategy] = frozenset({"tensor", "expert", "accumulation"})
"""Strategies whose step can be recorded in a CUDA graph; pipelines and FSDP2 are driven by the
host."""
CUTTING: frozenset[Strategy] = frozenset({"tensor", "pipeline"})
"""Strategies whose ranks work on one batch; the ranks of the others have a batch each."""
_USUAL: dict[str, dict[str, object]] = {
    "pipeline": {"schedule": "1f1b"},
    "expert": {"capacity_factor": 1.25},
}
"""What strategies have of their own, unless a case says otherwise."""


class Stack(NamedTuple):
    """A stack of transformer layers."""

    layers: int
    hidden: int
    heads: int

    @property
    def feed_forward_parameters(self) -> int:
        """Of the feed-forward half of a layer, four times as wide: two matrices with biases."""
        return 8 * self.hidden**2 + 5 * self.hidden

    @property
    def layer_parameters(self) -> int:
        """Of one layer: attention's four matrices with biases, two norms, the other half."""
        return 4 * self.hidden**2 + 8 * self.hidden + self.feed_forward_parameters

    @property
    def parameters(self) -> int:
        """Of the stack."""
        return self.layers * self.layer_parameters


STACKS = {
    "demo": Stack(layers=2, hidden=64, heads=4),
    "bert-large": Stack(layers=24, hidden=1024, heads=16),
    "gpt3-2.7b": Stack(layers=32, hidden=2560, heads=32),
}
"""Source: Devlin et al., "BERT", arXiv:1810.04805, section 3; Brown et al., "Language Models are
Few-Shot Learners", arXiv:2005.14165, table 2.1. The demo's sizes are the project's."""


class StrategiesCase(Model):
    """One way to split the training step of a transformer stack over the ranks."""

    suite: Literal["strategies"] = "strategies"
    strategy: Strategy
    """How the stack is split."""
    preset: Literal["demo", "bert-large", "gpt3-2.7b"]
    """Layers, width and heads of the stack."""
    sequence_length: Samples
    """Tokens of a sample."""
    micro_batch: Samples
    """Samples of one pass through the stack."""
    micro_batches: Samples = 1
    """Passes of a step; a pipeline needs several to fill its stages."""
    schedule: Schedule | None = None
    """Order of a pipeline's passes; null is `1f1b` of a pipeline, and of the others none."""
    capacity_factor: float | None = Field(default=None, gt=0, le=64)
    """Tokens an expert takes of each rank, relative to an equal share; null is 1.25 of experts."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Type of parameters, states and gradients, all of them; no copy in a wider type is kept."""
    step_mode: Stepping = "eager"
    """captured: the step is recorded in a CUDA graph."""
    window_s: Duration = 2.0
    """About how long the step is timed [s]."""
    seed: int = 0
    """Seed of weights and synthetic data."""

    @model_validator(mode="before")
    @classmethod
    def _usual_parts(cls, data: object) -> object:
        """Say what a case leaves to its strategy."""
        if not isinstance(data, dict):
            return data
        own = _USUAL.get(str(data.get("strategy")), {})
        return data | {key: value for key, value in own.items() if data.get(key) is None}

    @model_validator(mode="after")
    def _parts_of_the_strategy(self) -> Self:
        if self.schedule is not None and self.strategy != "pipeline":
            raise ValueError(f"schedule must be left out; {self.strategy} has none")
        if self.capacity_factor is not None and self.strategy != "expert":
            raise ValueError(f"capacity_factor must be left out; {self.strategy} has no experts")
        if self.step_mode == "captured" and self.strategy not in RECORDABLE:
            raise ValueError(
                f"step_mode must be eager; the host drives the step of {self.strategy}, which no "
                "CUDA graph can hold"
            )
        return self

    @property
    def stack(self) -> Stack:
        """What is split."""
        return STACKS[self.preset]

    @property
    def batch_text(self) -> Phrase:
        """What a rank passes through the stack in a step, in words."""
        sizes = phrase("{n} x {length} tokens", n=self.micro_batch, length=self.sequence_length)
        if self.micro_batches == 1:
            return sizes
        return phrase("{n} micro-batches of {sizes}", n=self.micro_batches, sizes=sizes)

    @property
    def text(self) -> str:
        """The strategy in words."""
        schedule = f" ({self.schedule})" if self.schedule else ""
        return f"{self.strategy}{schedule}, {self.preset}"

    @property
    def points(self) -> int:
        """Windows of a case."""
        return 1

    def step_samples(self, ranks: int) -> int:
        """Samples of one step of all ranks."""
        batches = 1 if self.strategy in CUTTING else ranks
        return batches * self.micro_batch * self.micro_batches

    def capacity(self, ranks: int) -> int:
        """Tokens of one micro-batch of a rank that each expert takes, one expert a rank."""
        tokens = self.micro_batch * self.sequence_length
        return math.ceil((self.capacity_factor or 1.0) * tokens / ranks)


def why_indivisible(case: StrategiesCase, ranks: int) -> str | None:
    """Why so many ranks cannot split the stack; None if they can."""
    stack = case.stack
    if case.strategy == "tensor" and stack.heads % ranks:
        return f"{stack.heads} heads cannot be dealt out to {ranks} ranks"
    if case.strategy == "pipeline" and stack.layers % ranks:
        return f"{stack.layers} layers cannot be dealt out to {ranks} ranks"
    if case.strategy == "pipeline" and case.micro_batches < ranks:
        return f"{case.micro_batches} micro-batches do not fill {ranks} stages"
    return None

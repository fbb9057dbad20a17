"""Fully resolved parameter sets of the suites.

Layer: schema. Reads and writes no file.
"""

from typing import Annotated, Any, Literal, NamedTuple, Self, get_args

from pydantic import Field, model_validator

from commwall.schema.base import Bytes, Duration, Model, PositiveInt, Samples
from commwall.schema.collective import DTYPE_BYTES, IN_PLACE, Collective
from commwall.schema.inference import InferenceCase
from commwall.schema.strategies import StrategiesCase

Leg = Literal["full", "nosync", "packed", "comm", "single"]
"""full: DDP step; nosync: same step, no gradient exchange; packed: same step, gradients packed into
DDP's buckets, which nobody exchanges; comm: the same buckets exchanged, no compute; single: one
process alone, the control for per-GPU speed."""

LEGS: tuple[Leg, ...] = get_args(Leg)
SuiteName = Literal["training", "memory", "collectives", "strategies", "inference"]
StepMode = Literal["eager", "compile", "captured", "compiled_captured"]
"""eager: the host starts every kernel; compile: blocks of the model are compiled (torch.compile);
captured: the whole step is recorded in a CUDA graph and replayed; compiled_captured: both."""
COMPILING: frozenset[StepMode] = frozenset({"compile", "compiled_captured"})
CAPTURING: frozenset[StepMode] = frozenset({"captured", "compiled_captured"})
ModelName = Literal["bert", "gpt", "resnet", "swin", "transformer_xl", "unet3d", "vit"]


class ModelFamily(NamedTuple):
    """What a case may ask of a model family."""

    presets: tuple[str, ...]
    """Sizes it offers."""
    samples: Literal["sequence", "image", "volume"]
    """What a sample is; sequences have a length, images and volumes the size of the preset."""
    dataset: str
    """Data set whose size states the epoch unless the case names another."""
    longest_sequence: int | None = None
    """Tokens for which it has positions; null is no limit."""


MODELS: dict[ModelName, ModelFamily] = {
    "bert": ModelFamily(("large", "demo"), "sequence", "squad-1.1-train", 512),
    "gpt": ModelFamily(("small", "medium", "demo"), "sequence", "wikitext-103-train", 1024),
    "resnet": ModelFamily(
        ("50", "152", "next-101-32x8d", "demo", "next-demo"), "image", "imagenet-1k-train"
    ),
    "swin": ModelFamily(("tiny", "demo"), "image", "imagenet-1k-train"),
    "transformer_xl": ModelFamily(("base", "large", "demo"), "sequence", "wikitext-103-train"),
    "unet3d": ModelFamily(("paper", "demo"), "volume", "kits19-train"),
    "vit": ModelFamily(("base-16", "large-16", "demo"), "image", "imagenet-1k-train"),
}
"""Model families; `commwall.workers.models.FAMILIES` builds them."""


class Windows(Model):
    """How long each leg is timed."""

    full_s: Duration
    """Least duration of the timed window of leg `full` [s]."""
    other_s: Duration
    """Least duration of the timed window of every other leg [s]."""
    min_steps: Annotated[int, Field(gt=0, le=10**6)]
    """Least number of timed steps of any leg."""
    warmup_max_s: Duration
    """Longest warm-up of a leg [s]; a leg that has not settled by then is marked."""


class TrainingCase(Model):
    """One training workload with every parameter resolved."""

    suite: Literal["training"] = "training"
    model: ModelName
    """Model family."""
    preset: str
    """Size of the model; `demo` is the same code, small enough for a CPU."""
    batch_per_gpu: Samples
    """Samples per process and step."""
    sequence_length: Samples | None = None
    """Tokens per sample, for models that take sequences; null for images and volumes."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Arithmetic of forward and backward (bfloat16 by autocast); weights stay float32."""
    step_mode: StepMode = "eager"
    """How the step is run."""
    bucket_bytes: Bytes = 25 * 2**20
    """DDP's gradient bucket size [byte]; the default is PyTorch's own (25 MiB)."""
    legs: tuple[Leg, ...] = LEGS
    """Variants to measure."""
    dataset: str = "squad-1.1-train"
    """Data set whose size states the epoch (config/facts/datasets.yaml); the data are synthetic."""
    dataset_samples: PositiveInt
    """Samples in that data set."""
    seed: int = 0
    """Seed of weights and synthetic data."""
    windows: Windows

    @model_validator(mode="after")
    def _known_preset(self) -> Self:
        known = MODELS[self.model].presets
        if self.preset not in known:
            raise ValueError(
                f"preset {self.preset!r} of {self.model} is unknown; known: {', '.join(known)}"
            )
        return self

    @model_validator(mode="after")
    def _sequences_have_a_length(self) -> Self:
        sample = MODELS[self.model].samples
        if sample == "sequence" and self.sequence_length is None:
            raise ValueError(f"sequence_length is missing; {self.model} takes sequences of tokens")
        if sample != "sequence" and self.sequence_length is not None:
            raise ValueError(f"sequence_length must be left out; {self.model} takes {sample}s")
        longest = MODELS[self.model].longest_sequence
        if longest and (self.sequence_length or 0) > longest:
            raise ValueError(
                f"sequence_length {self.sequence_length} is too long; {self.model} takes up to "
                f"{longest} tokens"
            )
        return self

    @model_validator(mode="after")
    def _legs_that_explain(self) -> Self:
        alone = self.legs == ("single",)  # all that one process has
        if not ("full" in self.legs or alone) or len(set(self.legs)) != len(self.legs):
            raise ValueError("legs must contain 'full', or be 'single', and name each leg once")
        return self

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Samples of one process's batch, and tokens of each if they are sequences."""
        length = self.sequence_length
        return (self.batch_per_gpu,) if length is None else (self.batch_per_gpu, length)

    @property
    def sample_text(self) -> str:
        """A sample in words: "sequence of 128 tokens", "image" or "volume"."""
        length = self.sequence_length
        return f"sequence of {length} tokens" if length else MODELS[self.model].samples


MemoryOperation = Literal[
    "copy",
    "triad",
    "host_to_device_pinned",
    "host_to_device_pageable",
    "device_to_host_pinned",
    "device_to_host_pageable",
    "peer",
    "peer_bidirectional",
]


class Traffic(NamedTuple):
    """What a memory operation moves."""

    counted: int
    """How often the bytes of a buffer count: once for each read and write of device memory,
    once for each transfer between two memories."""
    between: Literal["device", "host", "peer"]
    """Memory at the other end: the device's own, the host's, another device's."""


TRAFFIC: dict[MemoryOperation, Traffic] = {
    "copy": Traffic(2, "device"),
    "triad": Traffic(3, "device"),
    "host_to_device_pinned": Traffic(1, "host"),
    "host_to_device_pageable": Traffic(1, "host"),
    "device_to_host_pinned": Traffic(1, "host"),
    "device_to_host_pageable": Traffic(1, "host"),
    "peer": Traffic(1, "peer"),
    "peer_bidirectional": Traffic(2, "peer"),
}
"""Source of the counts of copy and triad: J. D. McCalpin, STREAM (a = b; a = b + s c)."""

NO_PEER_ACCESS = "peer access of device {rank} to device {peer}"
"""What the gap is called that tells of a pair whose copies the driver stages through the host."""
Turns = Literal["together", "one_at_a_time"]

LEAST_MESSAGE_BYTES = 8
SIZE_STEP = 4
Load = Literal["matmul"]
"""Work that keeps a device busy: products of square matrices, one after another."""


class MemoryCase(Model):
    """One memory operation on buffers of one or more sizes."""

    suite: Literal["memory"] = "memory"
    operation: MemoryOperation
    """copy and triad (a = b + s c) on the device, which is RAM on device cpu; transfers between
    host and device; each device's copies into every other one."""
    buffer_bytes: tuple[Annotated[Bytes, Field(ge=4, multiple_of=4)], ...] = Field(
        min_length=1, max_length=64
    )
    """Sizes of a buffer of float32 values, ascending [byte]; verdicts are about the largest."""
    ranks: Turns = "together"
    """Whether all processes work at once, as in training, or one while the others wait; both
    together show what devices share. Of copies between devices one pair works in any case."""
    window_s: Duration = 0.15
    """About how long each size is timed [s]."""

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if list(self.buffer_bytes) != sorted(set(self.buffer_bytes)):
            raise ValueError("buffer_bytes must ascend")
        return self

    @property
    def points(self) -> int:
        """Sizes that are timed."""
        return len(self.buffer_bytes)


class CollectivesCase(Model):
    """One collective over messages of growing size."""

    suite: Literal["collectives"] = "collectives"
    collective: Collective
    """Which operation; send_recv passes the buffer on to the next rank."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Type of the values."""
    in_place: bool
    """Whether a rank receives where it sends from; left out, what is usual: true for all_reduce
    and broadcast, which torch offers no other way, else false."""
    beside: Load | None = None
    """What the devices compute meanwhile; null is nothing. It shows how much longer an exchange
    takes that compute disturbs, and how much longer the compute."""
    max_bytes: Annotated[Bytes, Field(ge=LEAST_MESSAGE_BYTES)]
    """Largest message [byte]; sizes grow from 8 byte by a factor of 4 and end with it."""
    window_s: Duration = 0.15
    """About how long each size is timed [s]."""

    @model_validator(mode="before")
    @classmethod
    def _usual_place(cls, data: Any) -> Any:
        """Say where a case works that does not say so itself."""
        if not isinstance(data, dict):
            return data
        asked = str(data.get("collective"))
        usual = next((places[0] for name, places in IN_PLACE.items() if name == asked), False)
        return {"in_place": usual, **data}

    @model_validator(mode="after")
    def _possible_place(self) -> Self:
        if self.in_place in IN_PLACE[self.collective]:
            return self
        if self.in_place:
            raise ValueError(f"in_place must be false; {self.collective} cannot work in place")
        raise ValueError(
            f"in_place must be true; torch's {self.collective} works in place only, and a copy "
            "before it would be timed with it"
        )

    def message_sizes(self, ranks: int) -> tuple[int, ...]:
        """Sizes of the full buffer, ascending, such that each rank has an equal share [byte].

        Args:
            ranks: number of processes; sizes are rounded up to a value for each of them.
        """
        share = ranks * DTYPE_BYTES[self.dtype]
        sizes = [LEAST_MESSAGE_BYTES]
        while sizes[-1] * SIZE_STEP < self.max_bytes:
            sizes.append(sizes[-1] * SIZE_STEP)
        whole = {-(-size // share) * share for size in (*sizes, self.max_bytes)}
        return tuple(sorted(whole))

    @property
    def points(self) -> int:
        """Sizes that are timed, at most."""
        return len(self.message_sizes(1))


Case = Annotated[
    TrainingCase | MemoryCase | CollectivesCase | StrategiesCase | InferenceCase,
    Field(discriminator="suite"),
]
"""Union of the suites' cases; grows with the suites."""

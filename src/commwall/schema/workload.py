"""What is trained: model families, how a step is run, and a workload with every parameter.

Layer: schema. Reads and writes no file. Suites that train add their own parameters to `Workload`.
"""

from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from commwall.schema.base import Bytes, Duration, Model, PositiveInt, Samples
from commwall.schema.phrases import Phrase, phrase

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
_SAMPLE_WORDS = {"image": phrase("image"), "volume": phrase("volume")}
"""Samples that all have one size."""


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


class Workload(Model):
    """One training workload with every parameter resolved."""

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

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Samples of one process's batch, and tokens of each if they are sequences."""
        length = self.sequence_length
        return (self.batch_per_gpu,) if length is None else (self.batch_per_gpu, length)

    @property
    def identity(self) -> dict[str, Any]:
        """What is trained and how, windows aside: the same for cases of all suites that do so."""
        return self.model_dump(mode="json", include=set(Workload.model_fields) - {"windows"})

    @property
    def sample_text(self) -> Phrase:
        """A sample in words: "sequence of 128 tokens", "image" or "volume"."""
        if self.sequence_length:
            return phrase("sequence of {n} tokens", n=self.sequence_length)
        return _SAMPLE_WORDS[MODELS[self.model].samples]

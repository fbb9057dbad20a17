"""Fully resolved parameter sets of the suites.

Layer: schema. Reads and writes no file.
"""

from typing import Literal, NamedTuple, Self, get_args

from pydantic import model_validator

from commwall.schema.base import Model, PositiveFloat, PositiveInt

Leg = Literal["full", "nosync", "comm", "single"]
"""full: DDP step; nosync: same step, no gradient exchange; comm: the same buckets
exchanged, no compute; single: one process alone, the control for per-GPU speed."""

LEGS: tuple[Leg, ...] = get_args(Leg)
SuiteName = Literal["training"]
ModelName = Literal["bert", "resnet", "swin", "transformer_xl"]


class ModelFamily(NamedTuple):
    """What a case may ask of a model family."""

    presets: tuple[str, ...]
    """Sizes it offers."""
    samples: Literal["sequence", "image"]
    """What a sample is; sequences have a length, images the size of the preset."""
    dataset: str
    """Data set whose size states the epoch unless the case names another."""


MODELS: dict[ModelName, ModelFamily] = {
    "bert": ModelFamily(("large", "demo"), "sequence", "squad-1.1-train"),
    "resnet": ModelFamily(("50", "demo"), "image", "imagenet-1k-train"),
    "swin": ModelFamily(("tiny", "demo"), "image", "imagenet-1k-train"),
    "transformer_xl": ModelFamily(("base", "large", "demo"), "sequence", "wikitext-103-train"),
}
"""Model families; `commwall.workers.models.FAMILIES` builds them."""


class Windows(Model):
    """How long each leg is timed."""

    full_s: PositiveFloat
    """Least duration of the timed window of leg `full` [s]."""
    other_s: PositiveFloat
    """Least duration of the timed window of every other leg [s]."""
    min_steps: PositiveInt
    """Least number of timed steps of any leg."""
    warmup_max_s: PositiveFloat
    """Longest warm-up of a leg [s]; a leg that has not settled by then is marked."""


class TrainingCase(Model):
    """One training workload with every parameter resolved."""

    suite: Literal["training"] = "training"
    model: ModelName
    """Model family."""
    preset: str
    """Size of the model; `demo` is the same code, small enough for a CPU."""
    batch_per_gpu: PositiveInt
    """Samples per process and step."""
    sequence_length: PositiveInt | None = None
    """Tokens per sample, for models that take sequences; null for images."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Arithmetic of forward and backward (bfloat16 by autocast); weights stay float32."""
    step_mode: Literal["eager"] = "eager"
    """How the step is run."""
    bucket_bytes: PositiveInt = 25 * 2**20
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
        if sample == "image" and self.sequence_length is not None:
            raise ValueError(f"sequence_length must be left out; {self.model} takes images")
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
        """A sample in words: "sequence of 128 tokens" or "image"."""
        return f"sequence of {self.sequence_length} tokens" if self.sequence_length else "image"


Case = TrainingCase
"""Union of the suites' cases; grows with the suites."""

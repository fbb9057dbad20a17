"""Fully resolved parameter sets of the suites.

Layer: schema. Reads and writes no file.
"""

from typing import Literal, Self, get_args

from pydantic import model_validator

from commwall.schema.base import Model, PositiveFloat, PositiveInt

Leg = Literal["full", "nosync", "comm", "single"]
"""full: DDP step; nosync: same step, no gradient exchange; comm: the same buckets
exchanged, no compute; single: one process alone, the control for per-GPU speed."""

LEGS: tuple[Leg, ...] = get_args(Leg)
SuiteName = Literal["training"]
PRESETS: dict[str, tuple[str, ...]] = {"bert": ("large", "demo")}
"""Model families and the presets each offers."""


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
    model: Literal["bert"]
    """Model family."""
    preset: str
    """Size of the model; `demo` is the same code, small enough for a CPU."""
    batch_per_gpu: PositiveInt
    """Samples per process and step."""
    sequence_length: PositiveInt
    """Tokens per sample."""
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
        known = PRESETS[self.model]
        if self.preset not in known:
            raise ValueError(
                f"preset {self.preset!r} of {self.model} is unknown; known: {', '.join(known)}"
            )
        return self

    @model_validator(mode="after")
    def _legs_that_explain(self) -> Self:
        if "full" not in self.legs or len(set(self.legs)) != len(self.legs):
            raise ValueError("legs must contain 'full' and name each leg once")
        return self


Case = TrainingCase
"""Union of the suites' cases; grows with the suites."""

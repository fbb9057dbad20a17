"""What models of a step start from: named transformers, and values that stand in for measured ones.

Layer: schema. Models only; `presets.yaml`, `modelling.yaml` and `models.yaml` of `config/facts` are
read by `commwall.analysis.whatif.assumptions`.
"""

import datetime
from typing import Literal

from pydantic import RootModel

from commwall.schema.base import Model, Name, PositiveFloat, PositiveInt
from commwall.schema.facts import Figure


class Preset(Model):
    """A transformer under its name."""

    title: str
    """Name for readers."""
    parameters: Name
    """Entry of `models.yaml`."""
    active_parameters: Name | None = None
    """Entry of `models.yaml`: those that each token uses; None is all."""
    experts: PositiveInt | None = None
    """In each layer; None is a model without."""
    active_experts: PositiveInt | None = None
    """Of them used by each token."""
    layers: PositiveInt
    hidden: PositiveInt
    heads: PositiveInt
    feed_forward: PositiveInt | None = None
    """Width inside a feed-forward part or an expert; None is four times `hidden`."""
    gated: bool = False
    """Whether feed-forward parts have a gate (SwiGLU)."""
    vocabulary: PositiveInt | None = None
    """Words of which each token is predicted as one; None is a head too small to count."""
    sample: Literal["sequence", "image"]
    sequence_length: PositiveInt
    """Tokens of a sample."""
    batch_per_gpu: PositiveFloat
    """Samples of a step, divided by the number of GPUs."""
    micro_batch: PositiveFloat | None = None
    """Samples that a replica works on at a time; None is the whole batch of a GPU."""
    gradient_bytes: Literal[2, 4]
    """Of each gradient as it is exchanged [byte]."""
    source: str
    date: datetime.date
    grade: Literal["primary", "secondary", "estimate"]


class PresetsFile(RootModel[dict[Name, Preset]]):
    """Content of `presets.yaml`."""


class Modelling(Model):
    """Content of `modelling.yaml`."""

    nvlink_latency: Figure
    """Of one step of an algorithm [s]."""
    pcie_latency: Figure
    network_latency: Figure
    switch_share: dict[PositiveInt, Figure]
    """Generation of NVLink -> rate of reductions in the switch as a share of a ring's [1]."""
    network_share: Figure
    """Of a port's nominal rate [1]."""
    mfu: Figure
    """Of a step without waiting [1]."""
    uncounted_memory: Figure
    """Used of a GPU beyond what `commwall.model.memory` counts, as a share of that [1]."""

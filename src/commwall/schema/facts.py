"""Sourced constants: what a fact says of itself, the peaks of GPUs, the rates of links.

Layer: schema. Models only; `config/facts/*.yaml` is read by those who need it.
"""

import datetime
from typing import Literal

from pydantic import RootModel

from commwall.schema.base import Model, PositiveFloat, PositiveInt


class Fact(Model):
    """A constant and where it comes from."""

    value: PositiveFloat
    unit: str
    source: str
    date: datetime.date
    """When the source stated it."""
    grade: Literal["primary", "secondary", "estimate"]
    """primary: the makers' own statement; secondary: somebody else's; estimate: ours."""


class Generation(Fact):
    """A fact that is the generation of a standard."""

    value: PositiveInt


class GpuPeaks(Model):
    """What a kind of GPU can do at most."""

    names: tuple[str, ...]
    """Names under which drivers know it, whole."""
    bfloat16_dense_flops: Fact
    """Matrix products in bfloat16 without sparsity [FLOP/s]."""
    memory_bytes_per_s: Fact
    """Of its memory, reading and writing together [byte/s]."""
    nvlink_generation: Generation | None = None
    """Of its NVLinks; None where it has none, or where it is not known."""


class GpuFactsFile(RootModel[dict[str, GpuPeaks]]):
    """Content of `gpus.yaml`."""

    def of(self, name: str) -> GpuPeaks | None:
        """Peaks of the GPU of that name; None if it is unknown. No other GPU stands in."""
        return next((peaks for peaks in self.root.values() if name in peaks.names), None)


class LinkRates(Model):
    """Content of `links.yaml`: nominal rates, each of one direction."""

    nvlink: dict[PositiveInt, Fact] = {}
    """Of one link, by generation [byte/s]."""
    pcie: dict[PositiveInt, Fact] = {}
    """Of one lane, by generation, after line encoding [byte/s]."""


class HardwareFacts(Model):
    """What is on file of GPUs and links."""

    gpus: GpuFactsFile = GpuFactsFile({})
    links: LinkRates = LinkRates()

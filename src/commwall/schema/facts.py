"""Sourced constants: what a fact says of itself, the peaks of GPUs, the rates of links.

Layer: schema. Models only; `config/facts/*.yaml` is read by those who need it.
"""

import datetime
from collections.abc import Iterable
from typing import Literal

from pydantic import RootModel

from commwall.schema.base import Model, Name, PositiveFloat, PositiveInt


class Source(Model):
    """Where a constant comes from."""

    unit: str
    """`name` if the value is a word."""
    direction: Literal["one", "both"] | None = None
    """Of a link's rate: of one direction, or both added."""
    condition: str | None = None
    """Under which it holds."""
    source: str
    date: datetime.date
    """When the source stated it, or was read if it bears no date."""
    grade: Literal["primary", "secondary", "measured", "reported", "estimate"]
    """primary: the makers' own statement; secondary: somebody else's; measured: by those who
    publish it, who say how; reported: by one person; estimate: ours."""


class Fact(Source):
    """A constant and where it comes from."""

    value: PositiveFloat


class Word(Source):
    """A fact that is a name."""

    value: str


class Figure(Fact):
    """A fact that may be a range, as prices and measurements are."""

    most: PositiveFloat | None = None
    """Its other end, `value` being the lower one."""
    varies: bool = False
    """Differs by seller, region and day: a price."""


class FiguresFile(RootModel[dict[Name, Figure]]):
    """Content of a file of figures."""


class Generation(Fact):
    """A fact that is a whole number: a generation, a number of links, a year."""

    value: PositiveInt


class GpuPeaks(Model):
    """What a kind of GPU can do at most, and how it is linked; None where it is not known."""

    names: tuple[str, ...]
    """Names under which drivers know it, whole."""
    bfloat16_dense_flops: Fact | None = None
    """Matrix products in bfloat16 without sparsity, sums in float32 [FLOP/s]."""
    float16_sums_dense_flops: Fact | None = None
    """The same with sums in float16, where they are faster [FLOP/s]."""
    tf32_dense_flops: Fact | None = None
    """In TF32 [FLOP/s]."""
    fp8_dense_flops: Fact | None = None
    """In 8 bits [FLOP/s]."""
    fp4_dense_flops: Fact | None = None
    """In 4 bits [FLOP/s]."""
    memory_bytes_per_s: Fact | None = None
    """Of its memory, reading and writing together [byte/s]."""
    memory_bytes: Fact | None = None
    """Size of its memory as sold [byte]."""
    memory_kind: Word | None = None
    """Standard of its memory."""
    power_w: Fact | None = None
    """Highest power that its maker states [W]."""
    nvlink_generation: Generation | None = None
    """Of its NVLinks; None where it has none, or where it is not known."""
    nvlink_links: Generation | None = None
    """Number of its NVLinks."""
    nvlink_link_bytes_per_s: Fact | None = None
    """Of one link in one direction, where it is not that of its generation [byte/s]."""
    nvlink_bytes_per_s: Fact | None = None
    """Of all links in one direction, where their number is not known [byte/s]."""
    nvlink_domain: Generation | None = None
    """GPUs that its NVLinks join at most: on a board, by a bridge, in a rack."""
    pcie_generation: Generation | None = None
    """The highest that it speaks."""


class GpuFactsFile(RootModel[dict[str, GpuPeaks]]):
    """Content of `gpus.yaml`."""

    def of(self, name: str) -> GpuPeaks | None:
        """Peaks of the GPU of that name; None if it is unknown. No other GPU stands in."""
        return next((peaks for peaks in self.root.values() if name in peaks.names), None)

    def of_all(self, names: Iterable[str]) -> GpuPeaks | None:
        """Peaks of GPUs that all have one name; None if they have several, or it is unknown."""
        own = list(dict.fromkeys(names))
        return self.of(own[0]) if len(own) == 1 else None


class LinkRates(Model):
    """Content of `links.yaml`: nominal rates, each of one direction."""

    nvlink: dict[PositiveInt, Fact] = {}
    """Of one link, by generation [byte/s]."""
    pcie: dict[PositiveInt, Fact] = {}
    """Of one lane, by generation, after line encoding [byte/s]."""
    infiniband: dict[PositiveInt, Fact] = {}
    """Of one port, by its rate in Gbit/s as it is sold [byte/s]."""
    nvlink_year: dict[PositiveInt, Generation] = {}
    """Year in which a generation appeared."""
    pcie_signalling: dict[PositiveInt, Fact] = {}
    """Of one lane, by generation, line encoding included [byte/s]."""


class HardwareFacts(Model):
    """What is on file of GPUs and links."""

    gpus: GpuFactsFile = GpuFactsFile({})
    links: LinkRates = LinkRates()

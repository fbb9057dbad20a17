"""Rates of collectives that others have measured: what a healthy machine reaches.

Layer: schema. Models only; `config/facts/busbw.yaml` is read by `commwall.records.hardware`.
"""

import datetime
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, RootModel

from commwall.schema.base import Model, Name, PositiveFloat, PositiveInt
from commwall.schema.collective import Collective

LinkPath = Literal["nvswitch", "nvlink_mesh", "nvlink_bridge", "pcie", "host_staged", "network"]
"""What joins the GPUs: NVLink through a switch, from GPU to GPU, or by a bridge between two;
PCIe with access between GPUs; copies through the host's memory; a network between machines."""


class Achieved(Model):
    """Bus bandwidth over message size of one kind of machine."""

    gpus: tuple[Name, ...]
    """Keys of `gpus.yaml` for which it holds."""
    path: LinkPath
    collective: Collective
    ranks: tuple[Annotated[PositiveInt, Field(ge=2)], ...]
    """Numbers of GPUs for which it holds."""
    algorithm: Literal["ring", "tree", "nvls"] | None = None
    """None where the source does not tell."""
    busbw_bytes_per_s: dict[PositiveInt, PositiveFloat] = Field(min_length=1)
    """Size of the full buffer [byte] -> bus bandwidth, of one direction [byte/s]."""
    most_bytes_per_s: PositiveFloat | None = None
    """Other end of a range whose lower end the values above are [byte/s]."""
    condition: str
    """Machine, software and what else was not free."""
    source: str
    date: datetime.date
    """When the source stated it."""
    grade: Literal["measured", "reported", "estimate"]
    """measured: by those who publish it, who say how; reported: by one person; estimate: ours."""

    def reached(self, message_bytes: float) -> float | None:
        """Bus bandwidth at the largest listed size that is not above this one [byte/s].

        Since it grows with the size, a healthy machine reaches at least this.

        Args:
            message_bytes: size of the full buffer [byte].

        Returns:
            None if every listed size is above it: nothing is known there.
        """
        below = [size for size in self.busbw_bytes_per_s if size <= message_bytes]
        return self.busbw_bytes_per_s[max(below)] if below else None

    @property
    def largest(self) -> float:
        """Highest bus bandwidth listed [byte/s]."""
        return max(self.busbw_bytes_per_s.values())


class AchievedFile(RootModel[dict[Name, Achieved]]):
    """Content of `busbw.yaml`."""

    def of(
        self, gpu: str, collective: Collective, ranks: int, paths: Iterable[LinkPath] = ()
    ) -> dict[str, Achieved]:
        """All entries for so many GPUs of a kind; empty if nothing is known.

        Args:
            gpu: key of `gpus.yaml`.
            collective: which operation.
            ranks: number of GPUs.
            paths: ways to accept; none named accepts every one.
        """
        wanted = set(paths)
        return {
            name: each
            for name, each in self.root.items()
            if gpu in each.gpus
            and each.collective == collective
            and ranks in each.ranks
            and (not wanted or each.path in wanted)
        }

"""How a platform's link is chosen: the treatment and the label it must carry.

Layer: schema. Reads and writes no file.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from commwall.schema.base import Model, Words

LinkPath = Literal["nvlink", "pcie_peer", "host_staged", "socket", "ib", "roce"]
"""A way between two GPUs: direct by NVLink or PCIe, through host memory, through the network
stack; between machines the network stack, InfiniBand or RoCE."""

BETWEEN_MACHINES: tuple[LinkPath, ...] = ("ib", "roce", "socket")
"""Ways that join machines; the last one also joins GPUs of one."""


VariableName = Annotated[str, StringConstraints(pattern=r"^NCCL_[A-Z0-9_]+$", max_length=80)]
"""A variable of NCCL; any other may change what the workers run."""


class Label(Model):
    """What a treatment stands for, printed wherever its numbers are."""

    title: Words
    """Short name for titles, figures and verdicts."""
    stands_for: Words
    """What the reader may take it for, one sentence."""
    does_not_cover: Words
    """What the reader must not take it for, one sentence."""


class NativeLink(Model):
    """The link as the machine offers it; nothing is set."""

    kind: Literal["native"] = "native"
    label: Label


class EmulatedLink(Model):
    """A serial link emulated in the process group on top of gloo."""

    kind: Literal["emulated"] = "emulated"
    label: Label
    bandwidth_bytes_per_s: Annotated[float, Field(ge=1e3, le=1e15)]
    """Rate of the link per direction [byte/s]."""
    latency_s: Annotated[float, Field(ge=0, le=60)]
    """Time added to every collective [s]."""


class NcclVariables(Model):
    """A path chosen by NCCL environment variables."""

    kind: Literal["nccl"] = "nccl"
    label: Label
    variables: dict[VariableName, str]
    """NCCL_* variables set for the workers."""


Treatment = Annotated[NativeLink | EmulatedLink | NcclVariables, Field(discriminator="kind")]

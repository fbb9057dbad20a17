"""`nvidia-smi -L`: GPUs and the MIG devices that they are divided into.

Layer: readers. Reads no file. MIG devices are indented below their GPU:

    GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-…)
      MIG 3g.20gb     Device  0: (UUID: MIG-…)
"""

import re

from commwall.readers.nvidia_smi import error_of
from commwall.readers.reading import Reading
from commwall.readers.refusal import Unreadable
from commwall.schema.base import Model

KIND = "gpu-list"

_GPU = re.compile(r"[ \t]*GPU ([0-9]{1,4}): (\S.{0,199}?) \(UUID: ?([^)]{1,80})\)[ \t]*")
_MIG = re.compile(
    r"[ \t]*MIG (\S{1,40})[ \t]{1,40}Device[ \t]{1,8}([0-9]{1,4}): ?\(UUID: ?([^)]+)\)[ \t]*"
)
_SIGN = re.compile(r"^" + _GPU.pattern + r"$", re.MULTILINE)
_LINK = re.compile(r"^[ \t]*Link [0-9]+: ", re.MULTILINE)
_NO_LINKS = re.compile(r"^NVML: Unable to retrieve NVLink", re.MULTILINE)


class ListedGpu(Model):
    """A GPU of the list."""

    index: int
    name: str
    mig_devices: tuple[str, ...]
    """Profile of each MIG device: 3g.20gb."""


class GpuList(Reading):
    """The GPUs of a machine. A MIG device is none: it has no access to other GPUs."""

    gpu_count: int | None = None
    gpus: tuple[ListedGpu, ...] | None = None
    mig_instances: int | None = None
    verdict: str | None = None
    """mig_enabled_no_multi_gpu_p2p, single_gpu or several_gpus."""


def looks_like(text: str) -> bool:
    """Whether GPUs are listed with their UUIDs, and not because their links are."""
    return (
        "(UUID:" in text
        and bool(_SIGN.search(text))
        and not (_LINK.search(text) or _NO_LINKS.search(text))
    )


def read(text: str) -> GpuList:
    """The GPUs in the list's order.

    Raises:
        Unreadable: if there is no line about a GPU, an index stands twice, or a MIG device has no
            GPU.
    """
    lines = text.split("\n")
    gpus: list[ListedGpu] = []
    numbers: list[int] = []
    for line in lines:
        if gpu := _GPU.fullmatch(line):
            gpus.append(ListedGpu(index=int(gpu[1]), name=gpu[2], mig_devices=()))
            numbers = []
        elif mig := _MIG.fullmatch(line):
            numbers.append(int(mig[2]))
            if not gpus or numbers != list(range(len(numbers))):
                raise Unreadable(KIND, "mig_device_missing")
            profiles = (*gpus[-1].mig_devices, mig[1])
            gpus[-1] = gpus[-1].model_copy(update={"mig_devices": profiles})
    if not gpus:
        raise Unreadable(KIND, error_of(text) or "no_gpu_listed")
    cut = bool(lines[-1].strip()) and not (_GPU.fullmatch(lines[-1]) or _MIG.fullmatch(lines[-1]))
    return _list_of(gpus, cut=cut)


def _list_of(gpus: list[ListedGpu], *, cut: bool) -> GpuList:
    """The list; nvidia-smi counts from 0, so a gap is a line that is missing."""
    if [gpu.index for gpu in gpus] != list(range(len(gpus))):
        raise Unreadable(KIND, "gpu_missing_or_listed_twice")
    instances = sum(len(gpu.mig_devices) for gpu in gpus)
    several = "several_gpus" if len(gpus) > 1 else "single_gpu"
    return GpuList(
        kind=KIND,
        tool="nvidia-smi -L",
        partial=cut,
        gpu_count=len(gpus),
        gpus=tuple(gpus),
        mig_instances=None if cut else instances,
        verdict="mig_enabled_no_multi_gpu_p2p" if instances else None if cut else several,
    )

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
    r"[ \t]*MIG (\S{1,40})[ \t]{1,40}Device[ \t]{1,8}[0-9]{1,4}: ?\(UUID: ?([^)]+)\)[ \t]*"
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
    return bool(_SIGN.search(text)) and not (_LINK.search(text) or _NO_LINKS.search(text))


def read(text: str) -> GpuList:
    """The GPUs in the list's order.

    Raises:
        Unreadable: if there is no line about a GPU, or an index stands twice.
    """
    gpus: list[ListedGpu] = []
    profiles: dict[int, list[str]] = {}
    for line in text.split("\n"):
        if gpu := _GPU.fullmatch(line):
            index = int(gpu[1])
            if index in profiles:
                raise Unreadable(KIND, "gpu_listed_twice")
            profiles[index] = []
            gpus.append(ListedGpu(index=index, name=gpu[2], mig_devices=()))
        elif gpus and (mig := _MIG.fullmatch(line)):
            profiles[gpus[-1].index].append(mig[1])
    if not gpus:
        raise Unreadable(KIND, error_of(text) or "no_gpu_listed")
    return _list_of(gpus, profiles)


def _list_of(gpus: list[ListedGpu], profiles: dict[int, list[str]]) -> GpuList:
    instances = sum(map(len, profiles.values()))
    several = "several_gpus" if len(gpus) > 1 else "single_gpu"
    return GpuList(
        kind=KIND,
        tool="nvidia-smi -L",
        gpu_count=len(gpus),
        gpus=tuple(
            gpu.model_copy(update={"mig_devices": tuple(profiles[gpu.index])}) for gpu in gpus
        ),
        mig_instances=instances,
        verdict="mig_enabled_no_multi_gpu_p2p" if instances else several,
    )

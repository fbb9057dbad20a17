"""Sentences of drivers, NCCL and kernels that name their cause, in whatever file they stand.

Layer: judge. Reads no file.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from commwall.judge.finding import Finding, Level
from commwall.judge.scene import Scene
from commwall.language.translate import listed, tr, tr_later


@dataclass(frozen=True)
class _Sentence:
    rule: str
    level: Level
    needles: tuple[str, ...]
    """Any of them, as regular expressions."""
    verdict: str
    means: str
    next_step: str


_MORE_SHARED_MEMORY = tr_later(
    "df -h /dev/shm; docker run --shm-size=8g (or --ipc=host); Kubernetes: emptyDir with "
    "medium Memory at /dev/shm"
)
_SMALL_SHARED_MEMORY = (
    r"^\S{1,80}[ \t]+(?:[0-9.]{1,6}K|(?:[1-5]?[0-9]|6[0-4])(?:\.[0-9])?M)"
    r"(?:[ \t]+\S{1,9}){3}[ \t]+/dev/shm[ \t]*$"
)
"""A line of df."""
_IOMMU_IN_COMMAND_LINE = (
    r"^(?=.*\b(?:BOOT_IMAGE|root)=)(?!.*\biommu=pt\b).*\b(?:intel|amd)_iommu=on\b"
)
"""The kernel's, where `iommu=pt` does not spare devices of the host."""
_SENTENCES = (
    _Sentence(
        "fabric_manager",
        "fault",
        ("system not yet initialized", "cudaErrorSystemNotReady", "CUDA_ERROR_SYSTEM_NOT_READY"),
        tr_later(
            "CUDA is not ready (error 802): on a machine with NVSwitches the fabric manager does "
            "not "
            "run, or is of another version than the driver"
        ),
        tr_later("no CUDA program starts; neither NCCL nor the GPUs are broken"),
        tr_later(
            "systemctl status nvidia-fabricmanager; its version must be that of the driver "
            "(nvidia-smi); systemctl restart nvidia-fabricmanager"
        ),
    ),
    _Sentence(
        "fabric_manager",
        "fault",
        (r"Failed to bind NVLink SHARP \(NVLS\) Multicast memory",),
        tr_later("memory for reduction in the switch cannot be bound: fabric manager or switches"),
        tr_later("jobs fail at the start until it is repaired, or until NVLS is off"),
        tr_later("systemctl status nvidia-fabricmanager; as a stopgap NCCL_NVLS_ENABLE=0"),
    ),
    _Sentence(
        "shared_memory",
        "fault",
        (
            "posix_fallocate failed",
            "Error while creating shared memory segment",
            r"Bus error \(core dumped\)",
            "unable to open shared memory object",
        ),
        tr_later("/dev/shm is too small: NCCL found no room to stage data through host memory"),
        tr_later(
            "the start fails or hangs; neither NCCL nor the GPUs are broken. Containers get 64 "
            "MB by "
            "default"
        ),
        _MORE_SHARED_MEMORY,
    ),
    _Sentence(
        "shared_memory",
        "fault",
        ("is killed by signal: Bus error",),
        tr_later("/dev/shm is too small: a process of the data loader found no room for its batch"),
        tr_later("the job ends; neither NCCL nor the GPUs are broken"),
        _MORE_SHARED_MEMORY,
    ),
    _Sentence(
        "shared_memory_size",
        "warning",
        (_SMALL_SHARED_MEMORY,),
        tr_later("/dev/shm is no larger than the 64 MB that containers get by default"),
        tr_later("NCCL's start or a data loader may fail or hang for want of room there"),
        _MORE_SHARED_MEMORY,
    ),
    _Sentence(
        "acs",
        "warning",
        (r"ACSCtl:.{0,200}(?:ReqRedir|UpstreamFwd)\+",),
        tr_later(
            "PCI ACS redirects requests on a bridge: traffic between GPUs goes up to the root "
            "complex"
        ),
        tr_later("P2P over PCIe is slow, hangs or brings wrong data"),
        tr_later(
            "sudo lspci -vvv (which bridges, and whether GPUs lie behind them); off in the "
            "firmware, on bare metal only: it keeps virtual machines apart"
        ),
    ),
    _Sentence(
        "iommu",
        "warning",
        (
            "DMAR: IOMMU enabled",
            "iommu: Default domain type: Translated",
            _IOMMU_IN_COMMAND_LINE,
        ),
        tr_later("the IOMMU is on: on bare metal it can redirect traffic between GPUs"),
        tr_later(
            "P2P over PCIe may be slow, hang or bring wrong data; a virtual machine needs it on"
        ),
        tr_later("cat /proc/cmdline; try iommu=pt (or off) and measure again"),
    ),
    _Sentence(
        "xid",
        "fault",
        ("NVRM: Xid",),
        tr_later("the driver reports Xid errors"),
        tr_later("a GPU or its link failed; the number says how"),
        tr_later("dmesg | grep -i xid; look the number up in NVIDIA's list of Xid errors"),
    ),
    _Sentence(
        "hmem",
        "note",
        ("cuMem host allocations do not appear to be working",),
        tr_later("host memory from CUDA's cuMem does not work here: NCCL uses /dev/shm instead"),
        tr_later(
            "it is about host memory, not about access between GPUs; /dev/shm must be large enough"
        ),
        tr_later("df -h /dev/shm; allow NUMA calls in the container (--cap-add SYS_NICE)"),
    ),
    _Sentence(
        "kernel_died",
        "warning",
        ("DeadKernelError", "Kernel died", "Kernel didn't respond in"),
        tr_later("a notebook's kernel died or did not start in time"),
        tr_later(
            "a process was ended (out of memory, as a rule) or too many start at once; no bug of "
            "the "
            "notebook is shown by it"
        ),
        tr_later("dmesg | grep -i 'out of memory'; fewer kernels at once, a longer start time-out"),
    ),
)


_PATTERNS = {one: re.compile("|".join(one.needles), re.MULTILINE) for one in _SENTENCES}


def sentences(scene: Scene) -> Iterator[Finding]:
    """Each that stands in some file, once a file."""
    for paste in scene.pasted:
        for one in _SENTENCES:
            if found := _PATTERNS[one].search(paste.text):
                number = paste.text.count("\n", 0, found.start()) + 1
                yield Finding(
                    rule=one.rule,
                    level=one.level,
                    verdict=tr(one.verdict),
                    means=tr(one.means),
                    next_step=tr(one.next_step),
                    evidence=(paste.at(number),),
                )


_ERRORS = {
    "driver_not_loaded": (
        tr_later("the NVIDIA driver is not loaded"),
        tr_later(
            "sudo modprobe nvidia; dmesg | grep -i nvrm; a new kernel needs the driver built again"
        ),
    ),
    "driver_library_mismatch": (
        tr_later("driver and library have different versions: the driver was updated while loaded"),
        tr_later("reboot, or unload and load the driver"),
    ),
    "device_handle_unknown_error": (
        tr_later("a GPU does not answer: it has fallen off the bus"),
        tr_later("dmesg | grep -iE 'xid|fallen off'; power cables and seat; power cycle"),
    ),
    "gpu_is_lost": (
        tr_later("a GPU is lost"),
        tr_later("dmesg | grep -iE 'xid|fallen off'; power cycle"),
    ),
    "device_handle_error": (
        tr_later("a GPU does not answer"),
        tr_later("dmesg | grep -iE 'xid|fallen off'"),
    ),
    "no_devices": (
        tr_later("the driver sees no GPU"),
        tr_later("lspci | grep -i nvidia; dmesg | grep -i nvrm"),
    ),
    "library_not_found": (
        tr_later("the driver's library is not there, as in a container without GPU access"),
        tr_later("docker run --gpus all …; ldconfig -p | grep nvidia-ml"),
    ),
    "command_not_found": (
        tr_later("nvidia-smi is not installed here"),
        tr_later("install the driver's tools"),
    ),
    "insufficient_permissions": (
        tr_later("the user may not ask"),
        tr_later("ask as root, or the administrator"),
    ),
    "bad_arguments": (
        tr_later("the command was refused: its arguments do not fit together"),
        tr_later("nvidia-smi topo -m (without -i)"),
    ),
    "not_supported": (
        tr_later("the GPU does not support this monitor: power is unavailable, not 0"),
        tr_later("nvidia-smi -q -d POWER; integrate samples where the counter is missing"),
    ),
    "invalid_json": (
        tr_later("the trace is no valid JSON: its export failed, which says nothing of the run"),
        tr_later("export it anew; python -m json.tool FILE names the place"),
    ),
}
_HARMLESS = ("bad_arguments", "command_not_found", "insufficient_permissions", "not_supported")


def tool_failures(scene: Scene) -> Iterator[Finding]:
    """What tools say instead of an answer."""
    for paste in scene.pasted:
        for reading in paste.readings:
            if reading.error is None or reading.error not in _ERRORS:
                continue
            verdict, next_step = _ERRORS[reading.error]
            devices = listed(getattr(reading, "failed_devices", None) or ())
            yield Finding(
                rule="tool_failed",
                level="unknown" if reading.error in (*_HARMLESS, "invalid_json") else "fault",
                verdict=tr("{what} ({devices})", what=tr(verdict), devices=devices)
                if devices
                else tr(verdict),
                means=tr(
                    "this file says nothing of links or rates; do not count the GPU as one of the "
                    "machine"
                )
                if devices
                else tr("this file says nothing of links or rates"),
                next_step=tr(next_step),
                evidence=paste.find(r"\S"),
            )


def look_alikes(scene: Scene) -> Iterator[Finding]:
    """Output of another vendor's tool."""
    for paste in scene.pasted:
        for reading in paste.readings:
            if reading.kind == "negative":
                yield Finding(
                    rule="not_nvidia",
                    level="unknown",
                    verdict=tr(
                        "this is output of {tool}, not of an NVIDIA tool or NCCL", tool=reading.tool
                    ),
                    means=tr(
                        "nothing in it is judged: the words look alike and mean something else"
                    ),
                    next_step=None,
                    evidence=paste.find(r"(?i)rccl|rocm|system management|amd|HIP version|smi|XGMI")
                    or paste.find(r"\S"),
                )

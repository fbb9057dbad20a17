"""Sentences of drivers, NCCL and kernels that name their cause, in whatever file they stand.

Layer: judge. Reads no file.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from commwall.judge.finding import Finding, Level
from commwall.judge.scene import Scene


@dataclass(frozen=True)
class _Sentence:
    rule: str
    level: Level
    needles: tuple[str, ...]
    """Any of them, as they stand in the text."""
    verdict: str
    means: str
    next_step: str


_SENTENCES = (
    _Sentence(
        "fabric_manager",
        "fault",
        ("system not yet initialized", "cudaErrorSystemNotReady", "CUDA_ERROR_SYSTEM_NOT_READY"),
        "CUDA is not ready (error 802): on a machine with NVSwitches the fabric manager does not "
        "run, or is of another version than the driver",
        "no CUDA program starts; neither NCCL nor the GPUs are broken",
        "systemctl status nvidia-fabricmanager; its version must be that of the driver "
        "(nvidia-smi); systemctl restart nvidia-fabricmanager",
    ),
    _Sentence(
        "fabric_manager",
        "fault",
        ("Failed to bind NVLink SHARP (NVLS) Multicast memory",),
        "memory for reduction in the switch cannot be bound: fabric manager or switches",
        "jobs fail at the start until it is repaired, or until NVLS is off",
        "systemctl status nvidia-fabricmanager; as a stopgap NCCL_NVLS_ENABLE=0",
    ),
    _Sentence(
        "shared_memory",
        "fault",
        (
            "posix_fallocate failed",
            "Error while creating shared memory segment",
            "Bus error (core dumped)",
            "unable to open shared memory object",
        ),
        "/dev/shm is too small: NCCL found no room to stage data through host memory",
        "the start fails or hangs; neither NCCL nor the GPUs are broken. Containers get 64 MB by "
        "default",
        "df -h /dev/shm; docker run --shm-size=8g (or --ipc=host); Kubernetes: emptyDir with "
        "medium Memory at /dev/shm",
    ),
    _Sentence(
        "acs",
        "warning",
        ("ReqRedir+", "UpstreamFwd+ EgressCtrl"),
        "PCI ACS redirects requests on a bridge: traffic between GPUs goes up to the root complex",
        "P2P over PCIe is slow, hangs or brings wrong data",
        "sudo setpci -s <bridge> ECAP_ACS+0x6.w=0000 (bare metal only), or off in the firmware",
    ),
    _Sentence(
        "iommu",
        "warning",
        ("DMAR: IOMMU enabled", "iommu: Default domain type: Translated"),
        "the IOMMU is on: on bare metal it can redirect traffic between GPUs",
        "P2P over PCIe may be slow, hang or bring wrong data; a virtual machine needs it on",
        "cat /proc/cmdline; try iommu=pt (or off) and measure again",
    ),
    _Sentence(
        "xid",
        "fault",
        ("NVRM: Xid",),
        "the driver reports Xid errors",
        "a GPU or its link failed; the number says how",
        "dmesg | grep -i xid; look the number up in NVIDIA's list of Xid errors",
    ),
    _Sentence(
        "hmem",
        "note",
        ("cuMem host allocations do not appear to be working",),
        "host memory from CUDA's cuMem does not work here: NCCL uses /dev/shm instead",
        "it is about host memory, not about access between GPUs; /dev/shm must be large enough",
        "df -h /dev/shm; allow NUMA calls in the container (--cap-add SYS_NICE)",
    ),
    _Sentence(
        "kernel_died",
        "warning",
        ("DeadKernelError", "Kernel died", "Kernel didn't respond in"),
        "a notebook's kernel died or did not start in time",
        "a process was ended (out of memory, as a rule) or too many start at once; no bug of the "
        "notebook is shown by it",
        "dmesg | grep -i 'out of memory'; fewer kernels at once, a longer start time-out",
    ),
)


def sentences(scene: Scene) -> Iterator[Finding]:
    """Each that stands in some file, once a file."""
    for paste in scene.pasted:
        for one in _SENTENCES:
            needle = next((word for word in one.needles if word in paste.text), None)
            if needle:
                number = paste.text.count("\n", 0, paste.text.index(needle)) + 1
                yield Finding(
                    rule=one.rule,
                    level=one.level,
                    verdict=one.verdict,
                    means=one.means,
                    next_step=one.next_step,
                    evidence=(paste.at(number),),
                )


_ERRORS = {
    "driver_not_loaded": (
        "the NVIDIA driver is not loaded",
        "sudo modprobe nvidia; dmesg | grep -i nvrm; a new kernel needs the driver built again",
    ),
    "driver_library_mismatch": (
        "driver and library have different versions: the driver was updated while loaded",
        "reboot, or unload and load the driver",
    ),
    "device_handle_unknown_error": (
        "a GPU does not answer: it has fallen off the bus",
        "dmesg | grep -iE 'xid|fallen off'; power cables and seat; power cycle",
    ),
    "gpu_is_lost": ("a GPU is lost", "dmesg | grep -iE 'xid|fallen off'; power cycle"),
    "device_handle_error": ("a GPU does not answer", "dmesg | grep -iE 'xid|fallen off'"),
    "no_devices": ("the driver sees no GPU", "lspci | grep -i nvidia; dmesg | grep -i nvrm"),
    "library_not_found": (
        "the driver's library is not there, as in a container without GPU access",
        "docker run --gpus all …; ldconfig -p | grep nvidia-ml",
    ),
    "command_not_found": ("nvidia-smi is not installed here", "install the driver's tools"),
    "insufficient_permissions": ("the user may not ask", "ask as root, or the administrator"),
    "bad_arguments": (
        "the command was refused: its arguments do not fit together",
        "nvidia-smi topo -m (without -i)",
    ),
    "not_supported": (
        "the GPU does not support this monitor: power is unavailable, not 0",
        "nvidia-smi -q -d POWER; integrate samples where the counter is missing",
    ),
    "invalid_json": (
        "the trace is no valid JSON: its export failed, which says nothing of the run",
        "export it anew; python -m json.tool FILE names the place",
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
            devices = ", ".join(getattr(reading, "failed_devices", None) or ())
            yield Finding(
                rule="tool_failed",
                level="unknown" if reading.error in (*_HARMLESS, "invalid_json") else "fault",
                verdict=verdict + (f" ({devices})" if devices else ""),
                means="this file says nothing of links or rates"
                + ("; do not count the GPU as one of the machine" if devices else ""),
                next_step=next_step,
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
                    verdict=f"this is output of {reading.tool}, not of an NVIDIA tool or NCCL",
                    means="nothing in it is judged: the words look alike and mean something else",
                    next_step=None,
                    evidence=paste.find(r"(?i)rccl|rocm|system management|amd|HIP version|smi|XGMI")
                    or paste.find(r"\S"),
                )

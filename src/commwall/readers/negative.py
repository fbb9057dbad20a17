"""Output of other vendors' tools that could be taken for NVIDIA's: recognised, and read no further.

Layer: readers. Reads no file. Their tables of GPUs have the same names and look the same, and
RCCL writes lines that begin with `NCCL INFO`.
"""

import re

from commwall.readers.reading import Reading
from commwall.readers.refusal import Unreadable

KIND = "negative"

_RCCL = "rccl-log"
_SIGNS: dict[str, tuple[str, str]] = {
    _RCCL: (
        "rccl_banner",
        r"^RCCL version ?:|\bRCCL version [0-9]|^HIP version ?: |^Librccl path ?: |\blibrccl\.so",
    ),
    "rccl-tests": (
        "rccl_tests",
        r"^#[ \t]+Rank[ \t]+[0-9]+ .{0,300}\] (?:AMD|Radeon|gfx[0-9])|\brccl-tests\b",
    ),
    "rocm-smi": (
        "amd_rocm_smi",
        r"ROCm System Management Interface|^=+ End of ROCm SMI Log =+|^ROCM?-SMI(?:-LIB)? version:"
        r"|^=+ (?:Weight|Hops|Link Type|Link accessible) between two GPUs =+"
        r"|^[ \t]*GPU[0-9]+ .*\bXGMI\b",
    ),
    "amd-smi": (
        "amd_smi",
        r"^[|+ ]*(?:AMD-SMI|amd-smi) [0-9a-z-]|amdsmi_"
        r"|^(?:ACCESS|WEIGHT|HOPS|LINK TYPE|NUMA BW|XGMI BW) TABLE: *$",
    ),
    "hy-smi": (
        "hygon_smi",
        r"Hygon System Management Interface|^=+ System Management Interface =+",
    ),
    "xpu-smi": (
        "intel_xpu_smi",
        r"^[|+ ]*xpu-smi [0-9a-z-]|\bXL[0-9*]+\b.*\bXL[0-9*]+\b|^[ \t]*GPU 0/0 ",
    ),
    "npu-smi": (
        "huawei_npu_smi",
        r"^[|+ ]*npu-smi [0-9a-z-]|^[ \t]*NPU0\b.*\b(?:NPU1|HCCS)\b|\bHCCS_SW\b",
    ),
    "mthreads-gmi": (
        "moore_threads_gmi",
        r"^[|+ ]*mthreads-gmi [0-9a-z-]|\bMTLink\b|\bMTT S[0-9]{2}",
    ),
    "mx-smi": ("metax_mx_smi", r"^[|+ ]*mx-smi [0-9a-z-]|\bMetaXLink\b|\bMXC[0-9]{3}\b"),
    "cnmon": ("cambricon_cnmon", r"^[|+ ]*cnmon [0-9a-z-]|\bMLU-?Link\b"),
    "hl-smi": ("habana_hl_smi", r"^[|+ ]*hl-smi [0-9a-z-]|^[|+ ]*HL-SMI Version"),
}
"""Tool -> reason, and what only its output says."""
_TOOLS = {tool: re.compile(pattern, re.MULTILINE) for tool, (_, pattern) in _SIGNS.items()}
_WORDS = (
    *("RCCL", "rccl", "HIP version", "System Management Interface", "ROC", "XGMI", "two GPUs"),
    *("amd-smi", "AMD-SMI", "amdsmi_", " TABLE:", "xpu-smi", "XL", "GPU 0/0", "npu-smi", "NPU0"),
    *("HCCS_SW", "mthreads-gmi", "MTLink", "MTT S", "mx-smi", "MetaXLink", "MXC", "cnmon", "MLU"),
    *("hl-smi", "HL-SMI", "] AMD", "] Radeon", "] gfx"),
)
"""One of them is in every text that a pattern fits."""
_SHOWTOPO = re.compile(r"between two GPUs|\(Topology\)")


class LookAlike(Reading):
    """Whose output it is. Nothing in it is a value of an NVIDIA GPU or of NCCL."""

    is_nvidia: bool = False
    verdict: str = "not_nvidia_tool"
    gpu_count: None = None
    links: None = None
    nccl_version: None = None


def looks_like(text: str) -> bool:
    """Whether another vendor's tool names itself."""
    return _tool(text) is not None


def read(text: str) -> LookAlike:
    """Name the tool.

    Raises:
        Unreadable: if no other vendor's tool names itself.
    """
    tool = _tool(text)
    if tool is None:
        raise Unreadable(None, "no_sign_of_another_vendor")
    return LookAlike(
        kind=KIND,
        tool=f"{tool} --showtopo" if tool == "rocm-smi" and _SHOWTOPO.search(text) else tool,
        readable=tool == _RCCL,  # a log that can be read, and that says it is not NCCL's
        reason=_SIGNS[tool][0],
    )


def _tool(text: str) -> str | None:
    if not any(word in text for word in _WORDS):  # a long log is searched fast
        return None
    return next((tool for tool, pattern in _TOOLS.items() if pattern.search(text)), None)

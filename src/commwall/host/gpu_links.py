"""How the GPUs are linked to each other, as NVML tells.

Layer: host. Reads and writes no file; the caller opens NVML.
"""

from collections.abc import Sequence
from typing import Any

from commwall.schema.result import Gap

MOST_LINKS = 36
"""Links that are asked for; NVML refuses the numbers that a GPU does not have."""
PEER_READ, PEER_NVLINK = 0, 2
"""Values of nvmlGpuP2PCapsIndex_t (nvml.h): named ones differ between bindings."""
ANCESTORS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""nvmlGpuTopologyLevel_t (nvml.h) -> the word `nvidia-smi topo -m` prints."""
Matrix = tuple[tuple[str, ...], ...]


def link_matrix(nvml: Any, handles: Sequence[Any]) -> tuple[Matrix | None, Gap | None]:
    """Kind of link between every two GPUs, or why it is not known.

    Args:
        nvml: the bindings, started.
        handles: of the GPUs.

    Returns:
        Shape (n, n): `NV18` for 18 NVLinks, else the nearest PCIe ancestor; `X` on the diagonal.
    """
    if len(handles) < 2:
        return None, None
    try:
        rows = [[_link(nvml, one, other) for other in handles] for one in handles]
    except nvml.NVMLError as error:
        return None, Gap(what="machine.link_matrix", reason=f"NVML: {error}")
    return tuple(map(tuple, rows)), None


def peer_access(nvml: Any, handles: Sequence[Any]) -> bool | None:
    """Whether every GPU may read every other's memory; None where NVML does not tell."""
    if len(handles) < 2:
        return None
    try:
        return all(
            _peers(nvml, one, other, PEER_READ)
            for one in handles
            for other in handles
            if one is not other
        )
    except nvml.NVMLError:
        return None


def _link(nvml: Any, one: Any, other: Any) -> str:
    if one is other:
        return "X"
    if _peers(nvml, one, other, PEER_NVLINK):
        return f"NV{_links_between(nvml, one, other)}"
    return ANCESTORS[nvml.nvmlDeviceGetTopologyCommonAncestor(one, other)]


def _peers(nvml: Any, one: Any, other: Any, capability: int) -> bool:
    status = nvml.nvmlDeviceGetP2PStatus(one, other, capability)
    return bool(status == nvml.NVML_P2P_STATUS_OK)


def _links_between(nvml: Any, one: Any, other: Any) -> int:
    """Active links that end at the other GPU; through a switch, all that are active."""
    wanted = nvml.nvmlDeviceGetPciInfo(other).busId
    ends = [end for link in range(MOST_LINKS) if (end := _end(nvml, one, link)) is not None]
    return ends.count(wanted) or len(ends)


def _end(nvml: Any, handle: Any, link: int) -> Any:
    """Bus id at the far end of an active link, "" where it is not told; None for no link."""
    try:
        if not nvml.nvmlDeviceGetNvLinkState(handle, link):
            return None
    except nvml.NVMLError:
        return None
    try:
        return nvml.nvmlDeviceGetNvLinkRemotePciInfo(handle, link).busId
    except nvml.NVMLError:
        return ""

"""The table that `nvidia-smi` prints without an option.

Layer: readers. Reads no file. A GPU takes two lines, each of three cells, under a heading that
names them; a third line, of MIG, is newer. Names that are too long end with `...`.

    |   0  NVIDIA A100-SXM4-40GB          On  | 00000000:07:00.0 Off |                    0 |
    | N/A   31C    P0              53W / 400W |      0MiB / 40960MiB |      0%      Default |
"""

import re
from collections.abc import Mapping, Sequence

from commwall.readers.nvidia_smi import error_told, value_in
from commwall.readers.reading import Reading, Unavailable
from commwall.readers.refusal import Unreadable
from commwall.schema.base import Model

KIND = "smi-table"

_BANNER = re.compile(
    r"\bNVIDIA-SMI (?:version )?([0-9][0-9.]{0,19})\b.{0,40}?"
    r"Driver Version: ([0-9][0-9.]{0,19})(?:.{0,40}?CUDA Version: ([0-9.]{1,9}|N/A))?"
)
_CELL = r"(?:N/A|ERR!|Unknown|\[[^\]|]{1,20}\])"
_HEAD = re.compile(r"([0-9]{1,3})\s+(\S.{0,60}?)(?:\s+(?:On|Off|N/A|WDDM|TCC|MCDM))?")
_BUS = re.compile(
    r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])(?:\s+(?:On|Off|N/A))?"
)
_STATE = re.compile(
    rf"([0-9]{{1,3}}%|{_CELL})\s+([0-9]{{1,3}}C|{_CELL})\s+(P[0-9]{{1,2}}|{_CELL})"
    rf"\s+([0-9.]{{1,8}} ?W|{_CELL})\s*/\s*([0-9.]{{1,8}} ?W|{_CELL})"
)
_MEMORY = re.compile(
    rf"([0-9]{{1,9}}MiB|{_CELL})\s*/\s*([0-9]{{1,9}}MiB|{_CELL})|(Not Supported|N/A)"
)
_UTILISATION = re.compile(rf"([0-9]{{1,3}}%|{_CELL})(?:\s+\S.*)?")
_CELLS = 3


class TableGpu(Model):
    """A GPU of the table."""

    index: int
    name: str
    """As displayed: it ends with ... where the table has cut it."""
    bus_id: str
    fan_pct: float | Unavailable | None = None
    temperature_c: float | Unavailable | None = None
    perf: str | None = None
    power_draw_w: float | Unavailable | None = None
    power_limit_w: float | Unavailable | None = None
    memory_used_mib: float | Unavailable | None = None
    memory_total_mib: float | Unavailable | None = None
    util_pct: float | Unavailable | None = None


class Table(Reading):
    """What the table says."""

    smi_version: str | None = None
    driver_version: str | None = None
    cuda_version: str | None = None
    gpu_count: int | None = None
    gpus: tuple[TableGpu, ...] | None = None


def looks_like(text: str) -> bool:
    """Whether there is the banner of the table."""
    return "NVIDIA-SMI" in text and bool(_BANNER.search(text))


def read(text: str) -> Table:
    """The GPUs of the table.

    Raises:
        Unreadable: if there is none, or an index stands twice.
    """
    gpus: list[TableGpu] = []
    expects_state = False
    for line in text.split("\n"):
        cells = _cells(line)
        if head := _head(cells):
            gpus.append(head)
            expects_state = True
        elif expects_state:
            gpus[-1] = gpus[-1].model_copy(update=_state(cells))
            expects_state = False
    if not gpus:
        return _failure(text)
    if len({gpu.index for gpu in gpus}) < len(gpus):
        raise Unreadable(KIND, "gpu_listed_twice")
    banner = _BANNER.search(text)
    return Table(
        kind=KIND,
        tool="nvidia-smi",
        partial=any(gpu.perf is None for gpu in gpus),
        smi_version=banner[1] if banner else None,
        driver_version=banner[2] if banner else None,
        cuda_version=banner[3] if banner and banner[3] != "N/A" else None,
        gpu_count=len(gpus),
        gpus=tuple(gpus),
    )


def _failure(text: str) -> Table:
    error = error_told(text, KIND, "no_gpu_in_table")
    return Table(kind=KIND, tool="nvidia-smi", readable=False, error=error)


def _cells(line: str) -> Sequence[str]:
    """The three cells of a line between its bars; nothing if it has another number of them."""
    stripped = line.strip()
    if not (stripped.startswith("|") and stripped.endswith("|")) or len(stripped) > 400:
        return ()
    cells = [cell.strip() for cell in stripped[1:-1].split("|")]
    return cells if len(cells) == _CELLS else ()


def _head(cells: Sequence[str]) -> TableGpu | None:
    if not cells:
        return None
    head, bus = _HEAD.fullmatch(cells[0]), _BUS.fullmatch(cells[1])
    return TableGpu(index=int(head[1]), name=head[2], bus_id=bus[1]) if head and bus else None


def _state(cells: Sequence[str]) -> Mapping[str, object]:
    """Values of a GPU's second line, as fields; nothing if the line is another one."""
    if not cells:
        return {}
    state, memory = _STATE.fullmatch(cells[0]), _MEMORY.fullmatch(cells[1])
    utilisation = _UTILISATION.fullmatch(cells[2])
    if state is None or memory is None or utilisation is None:
        return {}
    used, total = memory[1] or memory[3], memory[2] or memory[3]
    return {
        "fan_pct": value_in(state[1], "%"),
        "temperature_c": value_in(state[2], "C"),
        "perf": state[3],
        "power_draw_w": value_in(state[4], "W"),
        "power_limit_w": value_in(state[5], "W"),
        "memory_used_mib": value_in(used, "MiB"),
        "memory_total_mib": value_in(total, "MiB"),
        "util_pct": value_in(utilisation[1], "%"),
    }

"""Which reader reads a text.

Layer: readers. Reads no file. Modules are imported when a text is looked at, so that whoever
needs one reader, or none, starts fast.
"""

import importlib
import typing
from collections.abc import Callable
from types import ModuleType

from commwall.readers.cleaning import clean
from commwall.readers.reading import Reading
from commwall.readers.refusal import Unreadable

MODULES: dict[str, str] = {
    "negative": "negative",
    "topo": "topo",
    "nvlink": "nvlink",
    "gpu-list": "gpu_list",
    "dmon": "dmon",
    "smi-q": "smi_q",
    "smi-csv": "smi_csv",
    "smi-table": "smi_table",
    "nvbandwidth": "nvbandwidth",
    "torch-trace": "torch_trace",
    "cpu-topology": "cpu_topology",
    "nccl-tests": "nccl_tests",
    "nccl-log": "nccl_log",
}
"""Module of each kind, the more certain signs first. Look-alikes come before all others."""
LOOK_ALIKE = "negative"
_HEAD_CHARACTERS = 1 << 18
"""A tool names itself early. More of a long text is looked at only where this says nothing."""


def read_text(text: str, kind: str | None = None) -> Reading:
    """Read a text as what it looks like.

    Args:
        text: a tool's output, with whatever a terminal or a launcher put around it.
        kind: read it as this kind, whatever it looks like; only another vendor's look-alike is
            told as such all the same.

    Raises:
        Unreadable: if nothing is certain in it.
        KeyError: if there is no such kind.
    """
    return read_cleaned(clean(text), kind)


def read_cleaned(cleaned: str, kind: str | None = None) -> Reading:
    """Read a text that is cleaned already; as `read_text` else."""
    if kind is None:
        kind = next(iter(kinds_of(cleaned)), None)
    elif _module(LOOK_ALIKE).looks_like(cleaned[:_HEAD_CHARACTERS]):
        kind = LOOK_ALIKE
    if kind is None:
        raise Unreadable(None, "no_known_format")
    return _reader(kind)(cleaned)


def model_of(kind: str) -> type[Reading]:
    """What a reader of this kind returns.

    Raises:
        KeyError: if there is no such kind.
    """
    model: type[Reading] = typing.get_type_hints(_reader(kind))["return"]
    return model


def kinds_of(cleaned: str) -> tuple[str, ...]:
    """The kinds a cleaned text looks like, the most certain first; none if it looks like nothing
    known."""
    head = cleaned if len(cleaned) < 2 * _HEAD_CHARACTERS else cleaned[:_HEAD_CHARACTERS]
    found = tuple(kind for kind in MODULES if _module(kind).looks_like(head))
    if found or len(head) == len(cleaned):
        return found
    return tuple(kind for kind in MODULES if _module(kind).looks_like(cleaned))


def _reader(kind: str) -> Callable[[str], Reading]:
    read: Callable[[str], Reading] = _module(kind).read
    return read


def _module(kind: str) -> ModuleType:
    return importlib.import_module(f"commwall.readers.{MODULES[kind]}")

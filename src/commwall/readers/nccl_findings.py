"""What NCCL's log says of causes: variables, networks, warnings and signs of NVLink.

Layer: readers. Reads no file. Each message is known by words that NCCL prints for nothing else.
"""

import re
from dataclasses import dataclass, field

from commwall.readers.nccl_lines import LogLine

P2P_NVLINK_CHUNK_BYTES = 1 << 19
"""Chunk that NCCL takes where NVLink joins all GPUs of a node; over PCIe it is a quarter.

Source: NVIDIA NCCL 2.28, src/init.cc, computeBuffSizes.
"""
_VERSION = re.compile(
    r"NCCL version ([0-9]{1,2}\.[0-9]{1,3}\.[0-9]{1,3})\+cuda([0-9]+\.[0-9]+)\s*$"
)
_VERSION_CUT = re.compile(r"NCCL version ([0-9]{1,2}\.[0-9]{1,3}\.[0-9]{1,3})\+")
_ENV = re.compile(r"(NCCL_[A-Z0-9_]{1,80}) set by environment to (.*)")
_USING = re.compile(r"Using (?:internal )?[Nn]etwork (\S.{0,60}?)\s*$")
_NETWORKS = ("IB", "Socket", "Libfabric", "AWS Libfabric", "IBext", "OFI", "FasTrak")
_NET_USING = re.compile(r"NET/([A-Za-z][^:/]{0,60}?) ?: Using (?:interface |\[[0-9]+\])")
_CARD = re.compile(r"\[([0-9]{1,3})\][\w.-]{1,60}:[0-9]{1,3}/(IB|RoCE)(?= |$)")
_ADDRESS = re.compile(r"Using (?:\[0\])?[\w.@-]{1,40}:([0-9a-fA-F.:%\w]{3,60})<[0-9]{1,5}>")
_LOOPBACK = ("127.", "::1", "fe80")
_CHUNK = re.compile(r"P2P Chunksize set to ([0-9]{1,12})\s*$")
_GPU_PATHS = re.compile(r"GPU/[0-9A-Fa-f-]+ ?:(.*)")
_GPU_PATH = re.compile(r"GPU/[0-9A-Fa-f-]+ \([0-9]+/[0-9.]+/([A-Z0-9]+)\)")
_NVLINK_SEEN = re.compile(r"\+ NVL\[[0-9.]+\] - ")
_INIT_FAILED = re.compile(r"(?:init|group)\.cc:[0-9]{1,6} -> [1-9]")
_MNNVL = re.compile(r"comm 0x.* MNNVL 1\s*$")

_REASONS = {
    "Could not enable P2P between": "could_not_enable_p2p",
    "P2P is disabled between connected GPUs": "p2p_disabled_between_connected_gpus",
    "P2P is disabled between NVLINK connected GPUs": "p2p_disabled_between_nvlink_gpus",
}
_MESSAGES = {
    "NET/IB : No device found": "ib_no_device",
    "Failed to open libibverbs": "ib_verbs_missing",
    "GPU Direct RDMA Disabled for": "gdr_disabled_distance",
    "cuMem host allocations do not appear to be working": "cumem_host_fallback_dev_shm",
}
_ERRORS = {
    "posix_fallocate failed": "shm_posix_fallocate_no_space",
    "Error while creating shared memory segment": "shm_segment_create_failed",
    "P2P is disabled between NVLINK connected GPUs": "p2p_disabled_between_nvlink_gpus",
    "Test NCCL failure": "nccl_unhandled_cuda_error",
    "aws-ofi-nccl initialization failed": "ofi_plugin_init_failed",
}
_OF_NETWORKS = ("Using ", "NET/", "Bootstrap")
_OF_LINKS = ("P2P Chunksize", "comm 0x", "+ NVL", "GPU/")
_OF_CAUSES = ("Could not ", "P2P is ", "NET/", "Failed to ", "GPU Direct ", "cuMem ")
BEGIN = (
    *("NCCL version", "NCCL_", "NVLS multicast support is ", "Connected all rings", "init.cc"),
    *("group.cc", *_OF_NETWORKS, *_OF_LINKS, *_OF_CAUSES),
)
"""How the lines begin that say something here."""
HARMLESS = frozenset({"ofi_plugin_init_failed"})
"""Errors after which NCCL goes on, with another network."""


@dataclass(slots=True)
class Findings:
    """Everything but who is connected with whom."""

    versions: dict[tuple[str, str | None], int] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    env_differs: set[str] = field(default_factory=set)
    networks: dict[str, int] = field(default_factory=dict)
    networks_found: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    messages: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    signs: dict[str, int] = field(default_factory=dict)
    """Sign of NVLink, and the first line that has it."""
    cards: dict[str, set[str]] = field(default_factory=dict)
    """Number of a network card -> IB or RoCE; both if processes do not agree."""
    addresses: dict[tuple[str, int], str] = field(default_factory=dict)
    """Host and process -> network address that it is reached at."""
    nvls: bool | None = None
    rings_connected: bool | None = None
    init_failed: bool = False

    def take(self, line: LogLine) -> None:
        """Take in what a line says."""
        says = line.says
        if says.startswith("NCCL version"):
            self._take_version(line)
        elif says.startswith("NCCL_"):
            self._take_variable(line)
        elif says.startswith(_OF_NETWORKS):
            self._take_network(line)
        elif says.startswith("NVLS multicast support is "):
            self._take_nvls(line)
        elif says.startswith("Connected all rings"):
            self.rings_connected = True
        elif _INIT_FAILED.match(says):
            self.init_failed = True
        elif says.startswith(_OF_LINKS):
            self._take_signs(line)
        if line.warns or says.startswith(_OF_CAUSES):
            _first(self.reasons, _REASONS, line)
            _first(self.messages, _MESSAGES, line)
            _first(self.errors, _ERRORS, line)

    def _take_version(self, line: LogLine) -> None:
        if found := _VERSION.match(line.says):
            self.versions.setdefault((found[1], found[2] if line.whole else None), line.number)
        elif found := _VERSION_CUT.match(line.says):
            self.versions.setdefault((found[1], None), line.number)

    def _take_variable(self, line: LogLine) -> None:
        found = _ENV.match(line.says)
        if found is None or not (line.whole or found[2].rstrip().endswith(".")):
            return
        value = found[2].rstrip().removesuffix(".")
        if self.env.setdefault(found[1], value) != value:
            self.env_differs.add(found[1])

    def _take_network(self, line: LogLine) -> None:
        address = _ADDRESS.search(line.says)
        if address and line.speaker and not address[1].startswith(_LOOPBACK):
            self.addresses.setdefault((line.speaker.host, line.speaker.pid), address[1])
        found = _USING.match(line.says)
        if found and line.whole and not _is_beginning(found[1]):
            self.networks.setdefault(found[1], line.number)
        elif found := _NET_USING.match(line.says):
            self.networks_found.setdefault(found[1], line.number)
            for number, kind in _CARD.findall(line.says):
                self.cards.setdefault(number, set()).add(kind)

    def _take_nvls(self, line: LogLine) -> None:
        if "is available on dev" in line.says:
            self.signs.setdefault("nvls_available", line.number)
            self.nvls = True
        elif "is not available" in line.says:
            self.nvls = bool(self.nvls)

    def _take_signs(self, line: LogLine) -> None:
        chunk = _CHUNK.match(line.says) if line.whole else None
        if chunk and int(chunk[1]) == P2P_NVLINK_CHUNK_BYTES:
            self.signs.setdefault("nvlink_chunk", line.number)
        elif "NVL" not in line.says:
            return
        elif line.whole and _MNNVL.search(line.says):
            self.signs.setdefault("mnnvl", line.number)
        elif _NVLINK_SEEN.search(line.says):
            self.signs.setdefault("topology_dump", line.number)
        elif paths := _GPU_PATHS.match(line.says):
            for kind in {*_GPU_PATH.findall(paths[1])} - {"LOC"}:
                sign = "nvlink_path" if kind == "NVL" else "other_path"
                self.signs.setdefault(sign, line.number)


def _is_beginning(network: str) -> bool:
    """Whether the end of a known name is missing."""
    return network not in _NETWORKS and any(known.startswith(network) for known in _NETWORKS)


def _first(found: dict[str, int], known: dict[str, str], line: LogLine) -> None:
    """Note the first line of each thing that is known by its words."""
    for words, name in known.items():
        if words in line.says:
            found.setdefault(name, line.number)

"""The network between hosts, and settings, by NCCL's log.

Layer: judge. Reads no file.
"""

from collections.abc import Iterator

from commwall.judge.finding import Finding
from commwall.judge.lint import lint
from commwall.judge.scene import Scene
from commwall.language.translate import tr
from commwall.readers.nccl_log import NcclLog

_WAYS = {"nvlink": "nvlink", "shm": "host_staged", "net": "socket"}
_TOLD = tuple((name, "mistaken") for name in ("NCCL_P2P_LEVEL", "NCCL_TOPO_FILE", "NCCL_HOSTID"))
"""Notes that matter for the way of a run; others are left to `lint-env`."""


def socket(scene: Scene) -> Iterator[Finding]:
    """Traffic between hosts, or a plug-in's, that fell back to sockets."""
    for paste, log in scene.of(NcclLog):
        several = (log.nnodes or 1) > 1 and log.intra_node_path != "net"
        if log.network != "Socket" or not (several or log.net_fallback_to_socket):
            continue
        lost = "ofi_plugin_init_failed" in (log.errors or ())
        reason = (
            tr("the OFI plug-in failed to start")
            if lost
            else tr("libibverbs is missing, so that InfiniBand and RoCE cannot be used")
            if "ib_verbs_missing" in (log.messages or ())
            else tr("no InfiniBand or RoCE device is found")
            if "ib_no_device" in (log.messages or ())
            else tr("the log gives no reason")
        )
        yield Finding(
            rule="network",
            level="warning" if several else "note",
            verdict=tr("NCCL's network is TCP sockets: {reason}", reason=reason),
            means=tr(
                "traffic between hosts runs at a fraction of a fast card's rate and costs CPU: "
                "data-parallel training over hosts is bound by it"
            )
            if several
            else tr("it matters only with several hosts: inside this one no traffic takes it"),
            next_step=tr(
                "in the container: ibv_devinfo; mount /dev/infiniband and install libibverbs, or "
                "repair the plug-in (fi_info -p efa)"
            ),
            evidence=(
                *paste.find("Failed to open libibverbs|initialization failed|No device found"),
                *paste.find("Using network Socket|NET/Socket : Using"),
            ),
        )


def direct_memory(scene: Scene) -> Iterator[Finding]:
    """Whether network cards reach the GPUs' memory."""
    for paste, log in scene.of(NcclLog):
        if log.gdr is None or log.network == "Socket":
            continue
        if log.gdr:
            yield Finding(
                rule="gpudirect",
                level="good",
                verdict=tr(
                    "network cards ({network}) reach GPU memory directly (GDRDMA)",
                    network=log.network,
                ),
                means=tr(
                    "traffic between hosts makes no detour through host memory; NET between ranks "
                    "of different hosts is no fallback"
                ),
                evidence=paste.find("GDRDMA"),
            )
        else:
            reason = (
                tr("card and GPU are too far apart")
                if "gdr_disabled_distance" in (log.messages or ())
                else tr("the log gives no reason")
            )
            yield Finding(
                rule="gpudirect",
                level="warning",
                verdict=tr(
                    "the network ({network}) does not reach GPU memory directly: {reason}",
                    network=log.network,
                    reason=reason,
                ),
                means=tr(
                    "traffic between hosts goes through host memory: less bandwidth, and more load "
                    "on the CPU"
                ),
                next_step=tr(
                    "nvidia-smi topo -m (GPU to NIC); lsmod | grep nvidia_peermem; a card near "
                    "each GPU, before NCCL_NET_GDR_LEVEL is raised"
                ),
                evidence=(
                    *paste.find("GPU Direct RDMA Disabled"),
                    *paste.find(r"via NET/(?!Socket)"),
                ),
            )


def variables(scene: Scene) -> Iterator[Finding]:
    """Settings in the log that do not do what they seem to."""
    for paste, log in scene.of(NcclLog):
        way = _WAYS.get(log.intra_node_path or "") if _one_host(log) else None
        known = scene.facts.variables
        for found in lint(log.env or {}, known, version=log.nccl_version, way=way):
            needed = (found.variable, found.rule) == ("NCCL_TOPO_FILE", "mistaken")  # by VMs
            level = "note" if needed else found.level
            told = found.rule == "void_value" or (found.variable, found.rule) in _TOLD
            if level == "note" and not told:
                continue
            lines = paste.find(f"{found.variable} set by environment")
            yield found.model_copy(update={"level": level, "evidence": lines}).finding()


def _one_host(log: NcclLog) -> bool:
    """Whether no traffic leaves the host: only then a variable of networks has no effect."""
    return log.nnodes == 1 or log.intra_node_path == "net"

"""Verdicts on every file of the corpus, each checked by hand against its text.

A file is judged alone here; what it does not say, no verdict may say.
"""

import functools
import random

import pytest

from commwall.judge.facts import read_facts
from commwall.judge.finding import Finding
from commwall.judge.rules import judge
from commwall.judge.scene import Scene, paste
from commwall.readers.detection import MODULES
from tests.contracts.tree import ROOT
from tests.corpus import LOSSLESS, LOSSY, expected, text_of

FACTS = read_facts(ROOT)
INPUTS = {
    item["input"].rpartition(".")[0]: item["input"] for kind in MODULES for item in expected(kind)
}
VERDICTS = {
    "csv-4090-units": "note power",
    "csv-gb10-na": "unknown power_untold; note power",
    "csv-pcie-width": "warning pcie_width; unknown pcie_width; "
    "unknown pcie_generation; unknown pcie_untold; good pcie_full",
    "dmon-2016-pucvmet": "note samples",
    "dmon-gpm-metrics": "note samples",
    "dmon-puct-h100-wide": "note samples",
    "dmon-unsupported": "unknown tool_failed",
    "lscpu-gh200-9nodes": "note numa",
    "lscpu-zh-hygon-8numa": "note numa",
    "lscpu-zh-mixed": "note numa",
    "neg-rccl-log": "unknown not_nvidia",
    "neg-rocm-smi-showtopo": "unknown not_nvidia",
    "nl-2.10-2node-gdrdma": "good path_inside_host; good gpudirect",
    "nl-2.12-roce-no-gdr-env": "warning gpudirect; good path_inside_host",
    "nl-2.14-shm-across-sockets": "warning path_inside_host",
    "nl-2.18-4090-p2p-disabled": "warning path_inside_host",
    "nl-2.19-p2p-disable-1": "warning path_inside_host",
    "nl-2.20-h100-nvls": "good path_inside_host; good nvls",
    "nl-2.21-2node-socket": "warning network; note path_inside_host",
    "nl-2.22-gdr-distance-shm": "warning path_inside_host; warning gpudirect",
    "nl-2.27-nvlink-p2p-broken": "fault nvlink_broken",
    "nl-2.27-nvlink-pairs-shm": "warning path_inside_host",
    "nl-2.27-ofi-fail-socket": "note network; good path_inside_host",
    "nl-2.30-shm-direct": "warning path_inside_host; note hmem",
    "nl-2.5-ring-busid-mpi": "warning path_inside_host",
    "nl-2.7-shm-too-small": "fault shared_memory; warning path_inside_host",
    "nl-numeric-host": "note path_inside_host",
    "nt-2018-allreduce-ms-failed": "fault wrong_results",
    "nt-2018-broadcast-oop-only": "unknown share_of_bound",
    "nt-2020-allgather-noredop": "note share_of_bound",
    "nt-2020-allgather-oob-algeqbus": "fault wrong_results; note old_factor",
    "nt-2020-allreduce-error-col": "note rounding; note share_of_bound; note misleading_mean",
    "nt-2023-h100-allreduce-16g": "note misleading_mean; good share_of_bound",
    "nt-2024-2node-bf16": "unknown share_of_bound",
    "nt-2024-mpi-prefix-info": "unknown path_inside_host; unknown share_of_bound",
    "nt-2024-nranks1-duplicated": "fault one_rank",
    "nt-2025-alltoall-2.17.8": "note share_of_bound",
    "nt-2025-sendrecv-x8": "unknown share_of_bound",
    "nt-fail-unhandled-cuda": "fault run_failed",
    "nt-reducescatter-zero-rows": "unknown share_of_bound",
    "nt-single-gpu-busbw0": "note one_rank",
    "nt-wrong-results": "fault wrong_results",
    "numactl-gh200": "note numa",
    "numactl-none": "note numa",
    "numactl-threadripper-no-mem": "warning nodes_without_memory",
    "nvb-0.1-diag-zero": "good peer_copies",
    "nvb-0.2-4090-p2p-waived": "warning peer_access; good host_copies",
    "nvb-0.5-6xa6000-pcie": "note peer_copies",
    "nvb-0.8-latency-waived-error": "fault copy_failed; good peer_copies",
    "nvb-json-0.8": "fault copy_failed; good peer_copies; good host_copies",
    "nvlink-3090-snip-no-uuid": "unknown nvlinks",
    "nvlink-a6000-one-unbridged": "warning nvlink_down",
    "nvlink-b200-gpu1-all-inactive": "fault gpu_off_the_fabric",
    "nvlink-gb200-zero-speed": "fault nvlink_down",
    "nvlink-v100-6x25": "good nvlinks",
    "smi-L-mig": "warning mig",
    "smi-err-device-handle": "fault tool_failed",
    "smiq-power-470-throttle": "unknown power_untold; note power_cap; good clocks",
    "smiq-power-570": "warning power_limit; note power; note power",
    "smiq-power-laptop": "note power_untold",
    "topo-2x3090-numa-na": "warning links; note numa_affinity_unavailable",
    "topo-2x5090-p2p-gns": "warning peer_access; note links",
    "topo-3xa6000-one-bridge": "warning links",
    "topo-4xh100-comma-cpulist": "note far_from_network; good links",
    "topo-8x4090-all-sys": "warning links; note far_within_a_node; note far_from_network",
    "topo-8xl40s-pix-pxb-sys": "warning links",
    "topo-ansi-6gpu-pix-node-sys": "warning links",
    "topo-b200-gpu2-off-nvlink": "fault gpu_off_the_fabric",
    "topo-dgx1v-hybrid-cube-mesh": "good links",
    "topo-dgx2-16gpu-nv6": "note far_from_network; good links",
    "topo-dgxa100-nv12-nic10": "good links",
    "topo-err-driver": "fault tool_failed",
    "topo-err-minus-i": "unknown tool_failed",
    "topo-gb200-numa-lists": "good links",
    "topo-gh200-single": "note links",
    "topo-power8-minsky-soc": "warning links",
    "topo-truncated-midrow": "unknown links",
    "topo-vm-single-nic-spaces": "note links",
    "topo-wsl-single-empty": "note links",
    "trace-1.8-capital-kernel": "note trace_communication",
    "trace-2gpu-overlap": "note trace_communication",
    "trace-malformed-empty-value": "unknown tool_failed",
    "trace-no-nccl-kernel": "unknown trace_communication",
}
"""Level and rule of each verdict, the gravest first."""


@functools.cache
def findings(name: str) -> tuple[Finding, ...]:
    return judge(Scene((paste(name, text_of(INPUTS[name])),), FACTS))


def test_every_input_is_judged() -> None:
    assert set(VERDICTS) == set(INPUTS)


@pytest.mark.parametrize("name", VERDICTS)
def test_verdicts(name: str) -> None:
    found = "; ".join(f"{finding.level} {finding.rule}" for finding in findings(name))
    assert found == VERDICTS[name]


@pytest.mark.parametrize("name", VERDICTS)
def test_every_verdict_shows_its_lines(name: str) -> None:
    lines = paste(name, text_of(INPUTS[name])).lines
    for finding in findings(name):
        assert finding.evidence
        for one in finding.evidence:
            assert one.line is not None
            assert one.text.rstrip("…") in " ".join(lines[one.line - 1].split())


def told(text: str) -> list[tuple[str, str]]:
    found = judge(Scene((paste("text", text),), FACTS))
    return [(finding.level, finding.rule) for finding in found]


@pytest.mark.parametrize("name", VERDICTS)
def test_what_terminals_and_launchers_add_changes_no_verdict(name: str) -> None:
    text = text_of(INPUTS[name])
    changes = LOSSLESS.values() if not INPUTS[name].endswith(".json") else [LOSSLESS["returns"]]
    for change in changes:
        assert told(change(text, random.Random(name))) == told(text)


@pytest.mark.parametrize("name", VERDICTS)
def test_what_is_lost_makes_no_machine_better_or_broken(name: str) -> None:
    text = text_of(INPUTS[name])
    before = {*told(text), ("fault", "start_failed")}  # less of the reason for a failure
    dice = random.Random(name)
    for change in LOSSY.values():
        new = {*told(change(text, dice))} - before
        assert {(level, rule) for level, rule in new if level in ("fault", "good")} == set()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("topo-b200-gpu2-off-nvlink", "GPU2 is not on the NVLink fabric"),
        ("topo-dgx1v-hybrid-cube-mesh", "a ring over all GPUs takes NVLink alone"),
        ("topo-3xa6000-one-bridge", "GPU0-GPU1; the others are NODE apart; no ring"),
        ("topo-truncated-midrow", "not known: GPU5-GPU6, GPU5-GPU7, GPU6-GPU7"),
        ("topo-2x5090-p2p-gns", "no access between GPUs GPU0-GPU1 (GNS"),
        ("nvlink-gb200-zero-speed", "link 17 is up at a rate of 0, 17 of 18 carry data"),
        ("nl-2.14-shm-across-sockets", "ranks 0-3, 1-2 of one host talk through host memory"),
        ("nl-2.19-p2p-disable-1", "the user's variable NCCL_P2P_DISABLE=1"),
        ("nl-2.21-2node-socket", "libibverbs is missing"),
        ("nl-2.27-ofi-fail-socket", "the OFI plug-in failed"),
        ("nl-2.7-shm-too-small", "/dev/shm is too small"),
        ("nl-2.22-gdr-distance-shm", "card and GPU are too far apart"),
        ("nt-2023-h100-allreduce-16g", "each GPU sends 307 GB/s, 68% of its links' rate"),
        ("nt-2023-h100-allreduce-16g", "others reach 479 GB/s with reduction in the switch (NVLS)"),
        ("nt-2024-nranks1-duplicated", "2 runs of one GPU each"),
        ("nt-2025-sendrecv-x8", "PCIe 3.0 x8 or 4.0 x4 (a hint, no proof)"),
        ("nt-2020-allreduce-error-col", "5e-07 at most) is rounding"),
        ("csv-pcie-width", "GPU2: PCIe link of 4 lanes, 16 are possible (at most 7.88 GB/s"),
        ("csv-pcie-width", "GPU1: PCIe generation 1 of 4, which an idle GPU shows too"),
        ("smiq-power-570", "GPU1: limited to 300 W, 450 W is its default"),
        ("smiq-power-470-throttle", "249.33 of 250 W, normal at full load"),
        ("nvb-0.1-diag-zero", "no PCIe link carries that, so it is NVLink"),
        ("nvb-json-0.8", "88% of NVLink's 450 GB/s"),
        ("numactl-threadripper-no-mem", "NUMA node(s) 0, 2 have processors and no memory"),
        ("trace-2gpu-overlap", "350 us of it without compute beside"),
    ],
)
def test_words(name: str, words: str) -> None:
    assert any(words in finding.verdict for finding in findings(name))

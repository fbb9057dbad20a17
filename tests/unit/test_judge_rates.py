"""Rates of nccl-tests and nvbandwidth against what the way can carry, and links of a topology."""

from collections.abc import Mapping, Sequence

import pytest

from commwall.judge.finding import Finding
from tests.unit.test_judge import judged, of

MIB, GIB = 2**20, 2**30
A100, H100, H200 = "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA H200"
Halves = tuple[float, float]


def run(
    gpu: str,
    ranks: int,
    busbw: Mapping[int, float | Halves],
    *,
    operation: str = "all_reduce",
    algbw: float = 0.0,
    time_us: float = 100.0,
) -> str:
    """A run within one host: size [byte] -> bus bandwidth [GB/s], or that of both halves."""
    devices = "".join(
        f"#  Rank {rank:2d} Group  0 Pid  9 on node-a device {rank:2d} [0x1b] {gpu}\n"
        for rank in range(ranks)
    )
    sent = {"all_reduce": 2 * (ranks - 1), "sendrecv": ranks}.get(operation, ranks - 1)
    head = (
        "#       size         count      type   redop    root     time   algbw   busbw #wrong"
        "     time   algbw   busbw #wrong\n"
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)       "
        "     (us)  (GB/s)  (GB/s)       \n"
    )
    rows = ""
    for size, rate in busbw.items():
        halves = rate if isinstance(rate, tuple) else (rate, rate)
        cells = (
            f"{time_us:.2f} {algbw or rate * ranks / sent:.2f} {rate:.2f} 0" for rate in halves
        )
        rows += f"  {size}  {size // 4}  float  sum  -1  {'  '.join(cells)}\n"
    return (
        f"# Collective test starting: {operation}_perf\n"
        f"# nThread 1 nGpus {ranks} minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5\n"
        f"{devices}{head}{rows}# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1 \n"
    )


def rates(found: tuple[Finding, ...]) -> list[tuple[str, str]]:
    return [(one.level, one.rule) for one in found if one.rule != "misleading_mean"]


@pytest.mark.parametrize(
    ("gpu", "operation", "busbw", "rule"),
    [
        (A100, "all_reduce", 400.0, "impossible_rate"),
        (A100, "all_reduce", 232.0, "share_of_bound"),
        (H100, "all_reduce", 480.0, "share_of_bound"),
        (H100, "all_reduce", 710.0, "impossible_rate"),
        (H100, "all_gather", 480.0, "impossible_rate"),
        (H100, "reduce_scatter", 480.0, "impossible_rate"),
        (H100, "alltoall", 480.0, "impossible_rate"),
        (H100, "sendrecv", 480.0, "impossible_rate"),
        (H100, "alltoall", 340.0, "share_of_bound"),
    ],
)
def test_only_a_switch_that_reduces_lifts_only_all_reduce_above_its_links(
    gpu: str, operation: str, busbw: float, rule: str
) -> None:
    found = judged(run=run(gpu, 8, {8 * GIB: busbw}, operation=operation))
    assert [one.rule for one in found] == [rule]
    reduces = "reduction in the switch included" in found[0].verdict
    assert reduces == (busbw == 710.0)


def test_a_rate_above_the_bound_is_impossible_in_any_row() -> None:
    text = run(H100, 8, {MIB: 3057.0, GIB: 466.0, 8 * GIB: 479.0})
    (found,) = judged(run=text)
    assert (found.rule, found.level) == ("impossible_rate", "fault")
    assert "3.06 TB/s busbw at 1 MiB" in found.verdict
    assert found.evidence[0].text.startswith(f"{MIB} ")


def test_no_busbw_beside_a_rate_is_impossible() -> None:
    text = run("a GPU that is not on file", 8, {GIB: 0.0}, algbw=1.7e6)
    found = of(judged(run=text), "impossible_rate")
    assert "busbw is 0" in found.verdict and "1,700 TB/s" in found.verdict
    assert found.evidence[0].text.startswith(f"{GIB} ")


@pytest.mark.parametrize(
    ("time_us", "rules"), [(0.3, ["impossible_rate"]), (12.0, ["share_of_bound"])]
)
def test_a_collective_takes_its_time(time_us: float, rules: list[str]) -> None:
    found = judged(run=run(H100, 8, {8: 0.01}, time_us=time_us))
    assert [one.rule for one in found] == rules


def test_a_row_that_falls_between_its_neighbours_is_told() -> None:
    busbw = {256 * MIB: 423.0, 512 * MIB: 60.0, GIB: 466.0}
    found = of(judged(run=run(H100, 8, busbw)), "uneven_rows")
    assert (found.level, found.evidence[0].text[:9]) == ("note", f"{512 * MIB}")
    assert "60.0 GB/s (512 MiB)" in found.verdict
    steady = {**busbw, 512 * MIB: 300.0}
    assert rates(judged(run=run(H100, 8, steady))) == [("good", "share_of_bound")]
    small = {MIB: 43.0, 2 * MIB: 6.0, 4 * MIB: 128.0, 8 * GIB: 479.0}
    assert rates(judged(run=run(H100, 8, small))) == [("good", "share_of_bound")]


@pytest.mark.parametrize(("out_of_place", "rules"), [(90.0, 1), (340.0, 0), (0.0, 0)])
def test_halves_that_differ_are_told(out_of_place: float, rules: int) -> None:
    found = judged(run=run(H100, 8, {8 * GIB: (out_of_place, 366.0)}))
    assert sum(one.rule == "uneven_halves" for one in found) == rules


def test_more_than_others_reach_is_told_and_what_is_near_is_never_the_same() -> None:
    more = of(judged(run=run(H100, 4, {8 * GIB: 480.0})), "share_of_bound")
    assert (more.level, "more than others reach" in more.means) == ("note", True)
    near = of(judged(run=run(A100, 8, {8 * GIB: 200.0})), "share_of_bound")
    assert (near.level, near.means) == ("good", "normal: at most 15% below what others reach")


@pytest.mark.parametrize(("busbw", "level"), [(4.0, "warning"), (50.0, "unknown")])
def test_small_messages_are_set_beside_those_of_others(busbw: float, level: str) -> None:
    found = of(judged(run=run(H200, 8, {MIB: busbw})), "share_of_bound")
    assert (found.level, "others reach 53.0 GB/s" in found.verdict) == (level, True)


def test_links_newer_than_the_gpu_are_no_hint() -> None:
    found = of(judged(run=run("NVIDIA A100 80GB PCIe", 4, {GIB: 24.0})), "share_of_bound")
    assert "it would fit PCIe 4.0 x16 (a hint" in found.verdict


def copies(gpu: str, matrix: Sequence[Sequence[float]], *, host: float | None = None) -> str:
    """A run of nvbandwidth: copies between GPUs [GB/s], and those of the host to each."""

    def table(name: str, what: str, rows: Sequence[Sequence[float]]) -> str:
        head = " ".join(f"{at:9d}" for at in range(len(rows[0])))
        body = "".join(
            f"{at:2d} "
            + " ".join("      N/A" if value == 0 else f"{value:9.2f}" for value in row)
            + "\n"
            for at, row in enumerate(rows)
        )
        total = sum(map(sum, rows))
        return f"Running {name}.\n{what} (GB/s)\n   {head}\n{body}\nSUM {name} {total:.2f}\n\n"

    devices = "".join(f"Device {at}: {gpu} (00000000:1{at}:00)\n" for at in range(len(matrix)))
    text = (
        "nvbandwidth Version: v0.8\nBuilt from Git version: v0.8\n\nCUDA Runtime Version: 12080\n"
        f"CUDA Driver Version: 12080\nDriver Version: 570.86.15\n\n{devices}\n"
    )
    if host is not None:
        name = "memcpy CE CPU(row) -> GPU(column) bandwidth"
        text += table("host_to_device_memcpy_ce", name, [[host] * len(matrix)])
    name = "memcpy CE GPU(row) <- GPU(column) bandwidth"
    return text + table("device_to_device_memcpy_read_ce", name, matrix)


def square(gpus: int, rate: float, slow: Mapping[int, float] = {}) -> list[list[float]]:
    """Copies between all pairs, and those of some GPUs."""
    return [
        [0.0 if row == at else min(slow.get(row, rate), slow.get(at, rate)) for at in range(gpus)]
        for row in range(gpus)
    ]


def test_one_gpu_without_nvlink_does_not_deny_the_others() -> None:
    found = judged(nvb=copies(H100, square(8, 376.0, {3: 45.0})))
    peers = of(found, "peer_copies")
    assert peers.level == "warning"
    assert "42 of 56 pairs are faster than PCIe carries, so NVLink" in peers.verdict
    assert "not NVLink" not in peers.verdict
    assert "GPU3 is slower" in of(found, "slow_gpu").verdict


def test_pairs_without_a_bridge_are_no_fault() -> None:
    matrix = square(4, 25.0)
    for one, other in ((0, 1), (1, 0), (2, 3), (3, 2)):
        matrix[one][other] = 270.0
    found = of(judged(nvb=copies("NVIDIA A100 80GB PCIe", matrix)), "peer_copies")
    assert (found.level, "4 of 12 pairs" in found.verdict) == ("note", True)


def test_copies_faster_than_the_slot_are_impossible() -> None:
    peers = of(judged(nvb=copies("NVIDIA L40S", square(2, 100.0))), "peer_copies")
    assert peers.level == "fault" and "100 GB/s" in peers.verdict and "31.5 GB/s" in peers.verdict
    host = of(judged(nvb=copies(H100, square(2, 376.0), host=80.0)), "host_copies")
    assert (
        host.level == "fault"
        and "host_to_device_memcpy_ce: 80.0 GB/s" in host.verdict
        and "63.0 GB/s" in host.verdict
    )
    fine = judged(nvb=copies(H100, square(2, 376.0), host=55.0))
    assert {one.rule for one in fine} == {"peer_copies", "host_copies"}


def topology(links: Sequence[Sequence[str]]) -> str:
    """Output of `nvidia-smi topo -m`."""
    head = (
        "\t" + "\t".join(f"GPU{at}" for at in range(len(links))) + "\tCPU Affinity\tNUMA Affinity\n"
    )
    return head + "".join(
        f"GPU{at}\t"
        + "\t".join("X" if at == to else word for to, word in enumerate(row))
        + "\t0-31\t0\n"
        for at, row in enumerate(links)
    )


def names(gpu: str, count: int) -> str:
    return "".join(f"GPU {at}: {gpu} (UUID: GPU-0000000{at})\n" for at in range(count))


def test_a_board_of_switches_without_nvlink_is_told() -> None:
    plain = topology([["PHB"] * 8] * 8)
    assert of(judged(topo=plain), "links").level == "note"
    found = of(judged(topo=plain, gpus=names(H100, 8)), "links")
    assert (found.level, "made for NVLink" in found.means) == ("warning", True)
    assert "fabricmanager" in (found.next_step or "")
    other = of(judged(topo=plain, gpus=names("NVIDIA L40S", 8)), "links")
    assert other.level == "note"


@pytest.mark.parametrize("listed", [True, False])
def test_a_missing_link_to_a_switch_is_told(listed: bool) -> None:
    short = topology(
        [["NV17" if 3 in (row, at) else "NV18" for at in range(8)] for row in range(8)]
    )
    beside = {"gpus": names(H100, 8)} if listed else {}
    found = of(judged(topo=short, **beside), "links")
    assert (found.level, "GPU3 has fewer links" in found.verdict) == ("warning", True)


def test_pairs_of_a_board_without_switches_may_differ() -> None:
    mesh = topology([["NV2" if (row + at) % 2 else "NV1" for at in range(4)] for row in range(4)])
    assert of(judged(topo=mesh), "links").level == "note"


def test_several_gpus_are_told_in_the_plural() -> None:
    lost = topology(
        [["SYS" if {row, at} & {3, 5} else "NV18" for at in range(8)] for row in range(8)]
    )
    verdict = of(judged(topo=lost), "gpu_off_the_fabric").verdict
    assert verdict == "GPU3, GPU5 are not on the NVLink fabric that joins all other GPUs"


def test_ranks_of_which_none_share_a_host_say_nothing_of_ways_inside() -> None:
    log = "".join(
        f"node-{host}:11:21 [0] NCCL INFO comm 0x{host} rank {host} nranks 2 cudaDev 0 nvmlDev 0 "
        f"busId 1b000 commId 0x1 - Init START\n"
        f"node-{host}:11:21 [0] NCCL INFO comm 0x{host} rank {host} nRanks 2 nNodes 2 localRanks 1 "
        "localRank 0 MNNVL 0\n"
        f"node-{host}:11:21 [0] NCCL INFO Channel 00/0 : {host}[0] -> {1 - host}[0] [send] via "
        "NET/IB/0/GDRDMA\n"
        for host in range(2)
    )
    found = {one.rule for one in judged(log=log)}
    assert "gpudirect" in found and "path_inside_host" not in found

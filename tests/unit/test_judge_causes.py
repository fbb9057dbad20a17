"""Verdicts on why: what keeps ranks apart, what lowers clocks, what a host's tools show."""

import pytest

from commwall.cli.main import main
from commwall.judge.binding import _ranges, _set
from commwall.judge.finding import Finding
from tests.corpus import text_of
from tests.unit.test_judge import judged, of
from tests.unit.test_judge_corpus import INPUTS

STAGED = text_of(INPUTS["nl-2.19-p2p-disable-1"])
"""Two ranks that talk through host memory, because of NCCL_P2P_DISABLE=1."""
VARIABLE = "NCCL_P2P_DISABLE set by environment to 1"
TOPOLOGY = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t{0}\t0-31\t0\n" + (
    "GPU1\t{0}\t X \t0-31\t0\n"
)
NVLINK = TOPOLOGY.format("NV18")
MASK = "Setting affinity for GPU 1 to ffffffff"


def path(setting: str, topology: str | None = None) -> Finding:
    """Why the ranks are staged, where another variable is set than P2P_DISABLE."""
    log = STAGED.replace(VARIABLE, setting)
    assert log != STAGED
    others = {"topology": topology} if topology else {}
    return of(judged(log=log, **others), "path_inside_host")


@pytest.mark.parametrize("level", ["LOC", "0"])
def test_a_level_can_forbid_access_altogether(level: str) -> None:
    found = path(f"NCCL_P2P_LEVEL set by environment to {level}", NVLINK)
    assert f"NCCL_P2P_LEVEL={level} disables P2P" in found.verdict
    assert "NVLink is there and not used" in found.means
    assert found.next_step and found.next_step.startswith("unset NCCL_P2P_LEVEL")
    assert "P2P_LEVEL" in found.evidence[-1].text


def test_a_level_is_named_where_gpus_may_be_farther_apart() -> None:
    found = path("NCCL_P2P_LEVEL set by environment to PIX", TOPOLOGY.format("SYS"))
    assert "NCCL_P2P_LEVEL=PIX: GPUs that are farther apart" in found.verdict


@pytest.mark.parametrize(
    ("setting", "link"),
    [
        ("NCCL_P2P_LEVEL set by environment to NVL", "NV18"),
        ("NCCL_P2P_LEVEL set by environment to SYS", "SYS"),
        ("nothing", "NV18"),
        ("nothing", "PIX"),
    ],
)
def test_distance_is_no_reason_where_the_topology_denies_it(setting: str, link: str) -> None:
    found = path(setting, TOPOLOGY.format(link))
    assert "not too far apart" in found.verdict and "container" in found.means
    assert found.next_step and "NCCL_P2P_LEVEL=SYS" not in found.next_step


def test_distance_stays_a_suspect_where_it_may_be_one() -> None:
    for topology in (None, TOPOLOGY.format("SYS")):
        assert "farther apart than it uses P2P for" in path("nothing", topology).verdict


def test_ranks_with_names_of_other_hosts_are_told() -> None:
    first, second = (f"NCCL_HOSTID set by environment to {name}" for name in "ab")
    log = STAGED.replace(VARIABLE, first, 1).replace(VARIABLE, second)
    assert "NCCL_HOSTID differs" in of(judged(log=log), "path_inside_host").verdict


def test_one_rank_a_host_has_no_way_inside_a_host() -> None:
    rank = "host{0}:1{0}:1{0} [0] NCCL INFO "
    says = (
        "Using network IB",
        "comm 0x{0} rank {0} nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x1 - Init START",
        "comm 0x{0} rank {0} nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0",
        "Channel 00/0 : {0}[0] -> {1}[0] [send] via NET/IB/0/GDRDMA",
        "comm 0x{0} rank {0} nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x1 - Init COMPLETE",
    )
    log = "".join(f"{rank}{line}\n".format(n, 1 - n) for line in says for n in range(2))
    assert [one.rule for one in judged(log=log)] == ["gpudirect"]


def test_a_topology_file_is_no_warning_in_a_log() -> None:
    log = STAGED.replace(VARIABLE, "NCCL_TOPO_FILE set by environment to /opt/topo.xml")
    found = of(judged(log=log), "variable_mistaken")
    assert (found.level, "chooses" in found.verdict, found.evidence[0].line) == ("note", False, 1)


@pytest.mark.parametrize(
    ("line", "bound", "near"),
    [
        ("Setting affinity for GPU 1 to ffffffff,00000000", "32-63", "0-31"),
        (
            "Affinity for GPU 1 is empty, ignoring. (GPU affinity = 0-7,16-23 ; "
            "CPU affinity = 9,12-13).",
            "9,12-13",
            "0-7,16-23",
        ),
    ],
)
def test_a_process_far_from_its_gpu_is_told(line: str, bound: str, near: str) -> None:
    (found,) = (
        one
        for one in judged(log=STAGED.replace(MASK, line), topology=TOPOLOGY.format("SYS"))
        if one.rule == "cpu_affinity"
    )
    assert f"bound to processors {bound}, none of them near this GPU ({near})" in found.verdict
    assert line in found.evidence[0].text


def test_a_process_near_its_gpu_is_not_told() -> None:
    named = "Affinity for GPU 1 is 0-7. (GPU affinity = 0-7 ; CPU affinity = 0-63)."
    for line in (MASK, named):
        found = judged(log=STAGED.replace(MASK, line), topology=TOPOLOGY.format("SYS"))
        assert "cpu_affinity" not in {one.rule for one in found}
    one = named.replace("is 0-7", "is 5")
    assert "one processor" in of(judged(log=STAGED.replace(MASK, one)), "cpu_affinity").verdict


def test_processors_are_written_as_they_are_read() -> None:
    for text in ("0", "0-31", "1,3-4,64-95"):
        assert _ranges(_set(text)) == text


def csv(*rows: str, columns: str = "") -> str:
    head = f"index, name, power.draw [W], power.limit [W], clocks_event_reasons.active{columns}\n"
    return head + "".join(f"{row}\n" for row in rows)


def test_a_power_cap_far_below_the_limit_is_told_of_csv_too() -> None:
    rows = [
        f"{n}, NVIDIA RTX A6000, {watts} W, 300.00 W, 0x0000000000000004"
        for n, watts in enumerate(("295.10", "150.00", "290.00"))
    ]
    found = [one for one in judged(csv=csv(*rows, rows[0])) if one.rule == "power_cap"]
    assert [one.level for one in found] == ["warning", "note", "note"]
    assert "GPU1: power cap active at 150 of 300 W" in found[0].verdict


def test_a_limit_is_not_raised_against_a_brake() -> None:
    columns = ", power.default_limit [W]"
    rows = [f"{n}, NVIDIA H100 80GB HBM3, 400 W, 500 W, 0x80, 700 W" for n in range(2)]
    found = [one for one in judged(csv=csv(*rows, columns=columns)) if one.rule == "power_limit"]
    assert len(found) == 2 and not any("peers" in one.means for one in found)
    assert not any("-pl" in (one.next_step or "") for one in found)


def test_a_limit_is_raised_for_one_gpu_and_after_a_question() -> None:
    columns = ", power.default_limit [W]"
    rows = [
        "0, NVIDIA H100 80GB HBM3, 690 W, 700 W, 0x0, 700 W",
        "1, NVIDIA H100 80GB HBM3, 400 W, 500 W, 0x0, 700 W",
    ]
    found = of(judged(csv=csv(*rows, columns=columns)), "power_limit")
    assert "slower than its peers" in found.means
    assert found.next_step and found.next_step.startswith("ask who lowered it")
    assert "nvidia-smi -i 1 -pl 700" in found.next_step


@pytest.mark.parametrize(
    "line",
    [
        "ACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl-",
        "BOOT_IMAGE=/vmlinuz root=/dev/sda1 iommu=pt intel_iommu=on",
        "tmpfs            24G     0   64M   0% /dev/shm",
        "shm             256M     0  256M   0% /dev/shm",
    ],
)
def test_what_could_be_is_not_told_as_what_is(line: str) -> None:
    assert judged(paste=f"\t\t{line}\n") == judged(paste=f"{line}\n") == ()


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("ACSCtl:\tSrcValid- ReqRedir- UpstreamFwd+ EgressCtrl-", "acs"),
        ("BOOT_IMAGE=/vmlinuz root=/dev/sda1 intel_iommu=on quiet", "iommu"),
        ("shm              64M     0   64M   0% /dev/shm", "shared_memory_size"),
        ("shm              64.0M     0   64.0M   0% /dev/shm", "shared_memory_size"),
        ("DataLoader worker (pid 7) is killed by signal: Bus error. It is", "shared_memory"),
    ],
)
def test_what_tools_of_a_host_show_is_told(line: str, rule: str) -> None:
    found = of(judged(paste=f"{line}\n"), rule)
    assert "setpci" not in (found.next_step or "")


def test_what_a_verdict_rests_on_is_not_called_unread(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [("df -h /dev/shm", "shm 64M 0 64M 0% /dev/shm\n"), ("cat /proc/cmdline", "quiet\n")]
    monkeypatch.setattr("commwall.cli.judge.tool_outputs", lambda: iter(said))
    assert main(["judge", "--here"]) == 0
    assert "not read" not in capsys.readouterr().out


def test_a_machine_of_which_nothing_can_be_read_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [("cat /proc/cmdline", "quiet\n")]
    monkeypatch.setattr("commwall.cli.judge.tool_outputs", lambda: iter(said))
    assert main(["judge", "--here"]) == 2
    assert "which outputs are read" in capsys.readouterr().out

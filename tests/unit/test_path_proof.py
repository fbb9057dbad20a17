"""Which way traffic took: every way right and wrong, and what is said when evidence is missing."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from commwall.host.link_counters import LinkTraffic
from commwall.measure.proof.launch import Sources, prove
from commwall.measure.proof.nccl_log import Logged, read_log
from commwall.measure.proof.path import path_finding, traffic_of, transports_of
from commwall.measure.proof.treatment import treatment_finding
from commwall.records.admit import refusals
from commwall.schema.plan import PlannedPlatform
from commwall.schema.record import MachineFacts, Traffic
from commwall.schema.result import CaseResult, Check, Gap, Transfer
from commwall.schema.treatment import Label, LinkPath, NativeLink, NcclVariables
from tests import samples
from tests.unit.test_supervisor import request_for

LOGS = Path(__file__).parents[1] / "data/nccl-h200x2"
LABEL = Label(title="link", stands_for="a link", does_not_cover="another")
SENT = 50 * 2**30
"""What each rank sends of 50 all-reduces of 1 GiB on two ranks."""
SEEN = 52_430_470 * 2**10
"""What NVLink's counters of one H200 showed of it."""
TRANSFER = Transfer(what="50 all-reduces of 1 GiB", sent_bytes=SENT, start_ns=0, end_ns=10**9)
NVLINK = MachineFacts(
    fingerprint="f", cpu_model="cpu", cpu_count=32, link_matrix=(("X", "NV18"), ("NV18", "X"))
)
PCIE = NVLINK.model_copy(update={"link_matrix": (("X", "NODE"), ("NODE", "X"))})
UNKNOWN = NVLINK.model_copy(update={"link_matrix": None})
COUNTED = LinkTraffic(nvlink_sent_bytes=(SEEN, SEEN), nvlink_received_bytes=(SEEN, SEEN))
STILL = LinkTraffic(
    nvlink_sent_bytes=(0, 0),
    nvlink_received_bytes=(0, 0),
    pcie_sent_bytes_per_s=(60e9, 61e9),
    pcie_received_bytes_per_s=(55e9, 56e9),
)
UNCOUNTED = Gap(what="traffic.nvlink_sent_bytes", reason="the driver refuses")
QUIET, LOUD = 10_000, 2 * SENT + 10_000
TREATMENTS = {
    "nvlink": {},
    "host-staged": {"NCCL_P2P_DISABLE": "1"},
    "socket": {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"},
}


def on_gpus(
    path: LinkPath | None, variables: Mapping[str, str] | None = None, ranks: int = 2
) -> PlannedPlatform:
    own = dict(variables or {})
    link = NcclVariables(label=LABEL, variables=own) if own else NativeLink(label=LABEL)
    return PlannedPlatform(name="gpus", device="cuda", world_size=ranks, treatment=link, path=path)


def logged(name: str, folder: Path) -> Logged:
    """The log of two H200, one file a process, as a launch finds it."""
    lines = (LOGS / f"{name}.log").read_text(encoding="utf-8").splitlines(keepends=True)
    by_process: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith("vm:"):
            by_process.setdefault(line.split(":")[1], []).append(line)
    for pid, own in by_process.items():
        (folder / f"nccl.{pid}.log").write_text("".join(own), encoding="utf-8")
    return read_log(folder, {})


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Logged]:
    return {name: logged(name, tmp_path_factory.mktemp(name)) for name in TREATMENTS} | {
        "none": Logged()
    }


def finding(
    path: LinkPath,
    links: LinkTraffic | Gap,
    loopback: int | Gap,
    log: Logged,
    machine: MachineFacts = NVLINK,
    ranks: int = 2,
) -> Check | Gap | None:
    traffic, _ = traffic_of(TRANSFER, links, loopback, log, ranks)
    return path_finding(traffic, on_gpus(path, ranks=ranks), machine)


def test_the_ways_stand_in_the_logs_of_two_h200(logs: dict[str, Logged]) -> None:
    assert {name: transports_of(log, 2) for name, log in logs.items()} == {
        "nvlink": ("P2P/CUMEM",),
        "host-staged": ("SHM/direct/direct",),
        "socket": ("NET/Socket",),
        "none": (),
    }
    assert transports_of(logs["nvlink"], 3) == (), "a rank that is not heard may go another way"


@pytest.mark.parametrize(
    ("path", "links", "loopback", "log", "machine"),
    [
        ("nvlink", COUNTED, QUIET, "nvlink", NVLINK),
        ("nvlink", COUNTED, QUIET, "none", UNKNOWN),
        ("host_staged", STILL, QUIET, "host-staged", NVLINK),
        ("host_staged", UNCOUNTED, QUIET, "host-staged", PCIE),
        ("pcie_peer", STILL, QUIET, "nvlink", NVLINK),
        ("pcie_peer", UNCOUNTED, QUIET, "nvlink", PCIE),
        ("socket", STILL, LOUD, "socket", NVLINK),
        ("socket", UNCOUNTED, LOUD, "none", NVLINK),
    ],
)
def test_a_way_that_was_taken_is_proven(
    path: LinkPath,
    links: LinkTraffic | Gap,
    loopback: int,
    log: str,
    machine: MachineFacts,
    logs: dict[str, Logged],
) -> None:
    found = finding(path, links, loopback, logs[log], machine)
    assert isinstance(found, Check) and found.passed, found
    assert found.found.startswith("by ") == isinstance(links, Gap)


HALF = LinkTraffic(nvlink_sent_bytes=(SENT, SENT // 2), nvlink_received_bytes=(SENT, SENT))
TRICKLE = LinkTraffic(nvlink_sent_bytes=(0, SENT // 500), nvlink_received_bytes=(0, 0))


@pytest.mark.parametrize(
    ("path", "links", "loopback", "log", "told"),
    [
        ("nvlink", STILL, QUIET, "nvlink", "NVLink carried 0.0000 to 0.0000 of the formula"),
        ("nvlink", HALF, QUIET, "nvlink", "NVLink carried 0.5000 to 1.0000"),
        ("nvlink", UNCOUNTED, QUIET, "host-staged", "NCCL's log says SHM/direct/direct"),
        ("nvlink", UNCOUNTED, LOUD, "none", "the loopback carried 1.0000"),
        ("host_staged", COUNTED, QUIET, "host-staged", "NVLink carried 1.0000 to 1.0000"),
        ("host_staged", TRICKLE, QUIET, "host-staged", "NVLink carried 0.0000 to 0.0020"),
        ("host_staged", STILL, QUIET, "nvlink", "NCCL's log says P2P/CUMEM"),
        ("host_staged", STILL, LOUD, "socket", "NCCL's log says NET/Socket; the loopback"),
        ("pcie_peer", COUNTED, QUIET, "nvlink", "NVLink carried 1.0000"),
        ("pcie_peer", STILL, QUIET, "host-staged", "NCCL's log says SHM"),
        ("socket", STILL, QUIET, "socket", "the loopback carried 0.0000"),
        ("socket", STILL, LOUD, "host-staged", "NCCL's log says SHM"),
        ("socket", COUNTED, LOUD, "socket", "NVLink carried 1.0000"),
    ],
)
def test_a_way_that_was_not_taken_fails(
    path: LinkPath,
    links: LinkTraffic | Gap,
    loopback: int,
    log: str,
    told: str,
    logs: dict[str, Logged],
) -> None:
    found = finding(path, links, loopback, logs[log])
    assert isinstance(found, Check) and not found.passed
    assert told in found.found


@pytest.mark.parametrize(
    ("path", "links", "log", "machine"),
    [
        ("nvlink", UNCOUNTED, "nvlink", UNKNOWN),  # P2P/CUMEM alone is not NVLink
        ("nvlink", UNCOUNTED, "none", NVLINK),
        ("host_staged", STILL, "none", NVLINK),
        ("pcie_peer", UNCOUNTED, "nvlink", NVLINK),
        ("pcie_peer", STILL, "none", NVLINK),
    ],
)
def test_what_does_not_suffice_is_a_gap(
    path: LinkPath,
    links: LinkTraffic | Gap,
    log: str,
    machine: MachineFacts,
    logs: dict[str, Logged],
) -> None:
    found = finding(path, links, Gap(what="loopback", reason="unread"), logs[log], machine)
    assert isinstance(found, Gap) and found.reason.startswith(f"{path} is not proven: ")


def test_socket_without_log_and_counter_is_a_gap() -> None:
    found = finding("socket", STILL, Gap(what="loopback", reason="unread"), Logged())
    assert isinstance(found, Gap)


def test_a_rate_of_pcie_that_cannot_be_the_transfers_fails(logs: dict[str, Logged]) -> None:
    idle = LinkTraffic(pcie_sent_bytes_per_s=(20e9, 1e6), pcie_received_bytes_per_s=(20e9, 20e9))
    found = finding("host_staged", idle, QUIET, logs["host-staged"])
    assert isinstance(found, Check) and not found.passed
    assert "PCIe carried 1.00 MB/s to 20.0 GB/s" in found.found


def spread(log: Logged, ranks: int, *shares: float) -> Check | Gap | None:
    """A finding on NVLink where the ranks sent these shares of the formula's bytes."""
    counted = tuple(int(share * SENT) for share in shares)
    links = LinkTraffic(nvlink_sent_bytes=counted, nvlink_received_bytes=counted)
    everyone = MachineFacts(
        fingerprint="f",
        cpu_model="cpu",
        cpu_count=32,
        link_matrix=tuple(
            tuple("X" if i == j else "NV18" for j in range(ranks)) for i in range(ranks)
        ),
    )
    return finding("nvlink", links, QUIET, log, everyone, ranks)


def test_where_nccl_has_a_choice_the_ranks_may_send_unequal_shares(
    logs: dict[str, Logged],
) -> None:
    for log, ranks, shares, passed in (
        (logs["none"], 4, (0.67, 1.33, 1.33, 0.67), True),
        (logs["none"], 4, (0.67, 1.33, 1.33, 0.4), False),
        (logs["nvlink"], 2, (0.75, 0.75), False),
        (with_switch(logs["nvlink"]), 2, (0.75, 0.75), True),
    ):
        found = spread(log, ranks, *shares)
        assert isinstance(found, Check) and found.passed == passed, (ranks, shares)


def with_switch(log: Logged) -> Logged:
    assert log.ways
    return Logged(ways=log.ways.model_copy(update={"nvls": True}), named=log.named)


def test_a_switch_that_can_reduce_leaves_other_ways_to_the_counters(
    logs: dict[str, Logged],
) -> None:
    log = with_switch(logs["host-staged"])
    assert isinstance(finding("host_staged", UNCOUNTED, QUIET, log), Gap)
    counted = finding("host_staged", STILL, QUIET, log)
    assert isinstance(counted, Check) and counted.passed


def test_what_is_not_claimed_is_not_judged_and_all_is_kept(logs: dict[str, Logged]) -> None:
    traffic, gaps = traffic_of(TRANSFER, STILL, QUIET, logs["nvlink"], 2)
    assert path_finding(traffic, on_gpus(None), NVLINK) is None
    assert gaps == ()
    assert traffic == Traffic(
        what=TRANSFER.what,
        expected_bytes=SENT,
        duration_s=1.0,
        nvlink_sent_bytes=(0, 0),
        nvlink_received_bytes=(0, 0),
        pcie_sent_bytes_per_s=(60e9, 61e9),
        pcie_received_bytes_per_s=(55e9, 56e9),
        loopback_bytes=QUIET,
        transports=("P2P/CUMEM",),
    )


def test_what_is_not_known_is_a_gap_with_its_reason() -> None:
    unread = Gap(what="traffic.loopback_bytes", reason="unread")
    refused = LinkTraffic(gaps=(UNCOUNTED,))
    traffic, gaps = traffic_of(TRANSFER, refused, unread, Logged(), 2)
    assert (traffic.nvlink_sent_bytes, traffic.loopback_bytes, traffic.transports) == (
        None,
        None,
        (),
    )
    silent = Gap(
        what="traffic.transports", reason="no way between ranks is named: NCCL wrote no log"
    )
    assert set(gaps) == {unread, silent, UNCOUNTED}


@pytest.mark.parametrize("name", list(TREATMENTS))
def test_a_treatment_that_both_processes_name_was_taken(name: str, logs: dict[str, Logged]) -> None:
    found = treatment_finding(on_gpus(None, TREATMENTS[name]), logs[name], {})
    assert isinstance(found, Check) and found.passed, found


def test_a_copy_engine_that_a_release_does_not_have_is_told(logs: dict[str, Logged]) -> None:
    wanted = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_USE_CUDA_MEMCPY": "1"}
    found = treatment_finding(on_gpus(None, wanted), logs["host-staged"], wanted)
    assert isinstance(found, Check) and not found.passed
    assert found.found == "NCCL does not name NCCL_SHM_USE_CUDA_MEMCPY in a process"


def named(*processes: Mapping[str, str]) -> Logged:
    return Logged(named=processes)


STAGED = {"NCCL_P2P_DISABLE": "1"}


@pytest.mark.parametrize(
    ("chosen", "processes", "told"),
    [
        (STAGED, (STAGED, {}), "NCCL does not name NCCL_P2P_DISABLE in a process"),
        (STAGED, (STAGED, {"NCCL_P2P_DISABLE": "0"}), "NCCL took NCCL_P2P_DISABLE=0 for 1"),
        ({"NCCL_P2P_DISABLE": "0"}, ({}, {}), "NCCL_P2P_DISABLE=0 disables nothing"),
        ({}, (STAGED, STAGED), "NCCL took NCCL_P2P_DISABLE=1 from a file (nccl.conf)"),
        (STAGED, (STAGED, STAGED | {"NCCL_SHM_DISABLE": "1"}), "NCCL_SHM_DISABLE=1 from a file"),
        ({"NCCL_P2P_LEVEL": "PHB"}, ({"NCCL_P2P_LEVEL": "SYS"},) * 2, "=SYS for PHB"),
    ],
)
def test_a_treatment_that_was_not_taken_fails(
    chosen: Mapping[str, str], processes: tuple[Mapping[str, str], ...], told: str
) -> None:
    found = treatment_finding(on_gpus(None, chosen), named(*processes), {})
    assert isinstance(found, Check) and not found.passed
    assert told in found.found


def test_a_variable_of_the_environment_that_no_treatment_asked_for_fails() -> None:
    both = STAGED | {"NCCL_SHM_DISABLE": "1"}
    found = treatment_finding(on_gpus(None, STAGED), named(both, both), both)
    assert isinstance(found, Check) and not found.passed
    assert found.found == "NCCL took NCCL_SHM_DISABLE=1 from the environment"


@pytest.mark.parametrize(
    ("chosen", "processes"),
    [
        ({"NCCL_P2P_LEVEL": "5"}, ({"NCCL_P2P_LEVEL": "SYS"},) * 2),
        ({"NCCL_BUFFSIZE": "0x400000"}, ({"NCCL_BUFFSIZE": "4194304"},) * 2),
        ({"NCCL_DEBUG": "WARN"}, ({}, {})),
        ({}, ({"NCCL_IB_TIMEOUT": "22"},) * 2),
    ],
)
def test_a_treatment_may_be_named_in_other_words(
    chosen: Mapping[str, str], processes: tuple[Mapping[str, str], ...]
) -> None:
    found = treatment_finding(on_gpus(None, chosen), named(*processes), {})
    assert isinstance(found, Check) and found.passed, found


def test_a_process_without_a_log_is_a_gap_and_the_cpu_has_no_nccl(
    logs: dict[str, Logged],
) -> None:
    staged = on_gpus(None, STAGED)
    for log, told in ((Logged(), "NCCL wrote no log"), (named(STAGED), "1 of 2 processes")):
        found = treatment_finding(staged, log, {})
        assert isinstance(found, Gap) and told in found.reason
    cpu = staged.model_copy(update={"device": "cpu"})
    assert treatment_finding(cpu, logs["host-staged"], {}) is None


class FakeMeter:
    """Counters that moved as told."""

    def __init__(self, links: LinkTraffic | Gap) -> None:
        self.links = links

    def traffic(self, start_ns: int, end_ns: int) -> LinkTraffic | Gap:
        assert (start_ns, end_ns) == (TRANSFER.start_ns, TRANSFER.end_ns)
        return self.links


def proof(folder: Path, log: Logged, **changes: object) -> tuple[list[tuple[str, bool]], set[str]]:
    """Checks and gaps of a host-staged launch."""
    where = on_gpus("host_staged", STAGED)
    request = request_for(folder, "ok").model_copy(update={"platform": where, **changes})
    result = CaseResult(case="ok", status="ok", transfer=TRANSFER)
    sources = Sources(FakeMeter(STILL), None, log, STAGED)  # type: ignore[arg-type]
    found = prove(request, result, NVLINK, sources)
    return [(c.name, c.passed) for c in found.checks], {gap.what for gap in found.gaps}


def test_a_launch_proves_treatment_and_way(tmp_path: Path, logs: dict[str, Logged]) -> None:
    unread = {"traffic.loopback_bytes"}
    both = [("treatment_taken", True), ("path_taken", True)]
    assert proof(tmp_path, logs["host-staged"]) == (both, unread)
    wrong = [("treatment_taken", False), ("path_taken", False)]
    assert proof(tmp_path, logs["nvlink"]) == (wrong, unread)
    assert proof(tmp_path, logs["nvlink"], suite="memory") == ([], {"traffic"})


def test_a_way_that_fails_keeps_a_record_out_of_verdicts(logs: dict[str, Logged]) -> None:
    found = finding("host_staged", COUNTED, QUIET, logs["nvlink"])
    assert isinstance(found, Check)
    (refusal,) = refusals(samples.record(samples.plan(), "fast", 1, checks=(found,)))
    assert refusal.startswith("check path_taken failed: found NVLink carried 1.0000")


def test_a_launch_that_exchanged_nothing_known_says_so(logs: dict[str, Logged]) -> None:
    request = request_for(Path("unused"), "ok").model_copy(
        update={"platform": on_gpus("nvlink"), "suite": "training"}
    )
    sources = Sources(FakeMeter(STILL), None, logs["nvlink"], {})  # type: ignore[arg-type]
    found = prove(request, CaseResult(case="ok", status="ok"), NVLINK, sources)
    assert found.traffic is None
    assert [gap.what for gap in found.gaps] == ["traffic", "path_taken"]

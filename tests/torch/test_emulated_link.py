"""The emulated link takes as long as a serial link of its rate and latency would."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

pytest.importorskip("torch")

from launching import HERE, run_ranks
from rank_programs import COUNT, LATENCY_S, RATE, SHAPED_COUNT, SHAPED_RATE

from commwall.workers.lanes import EXIT_LINK, Job, LinkCounters, LinkWork

MB = COUNT * 4
WIRE_BYTES = {
    "all_reduce": MB,  # 2 (n-1)/n of 1 MB, n = 2
    "broadcast": MB,
    "reduce": MB,
    "all_gather": MB / 2,  # (n-1)/n
    "all_gather_into_tensor": MB / 2,
    "reduce_scatter": MB / 2,
    "reduce_scatter_tensor": MB / 2,
    "all_to_all_single": MB / 2,
    "gather": MB / 2,  # n-1 pieces of half a MB
    "scatter": MB / 2,
    "send": MB,
    "crossing_sends": MB / 2,  # full duplex: both at once
    "barrier": 0,
}
LATER_S = 0.015
"""How late a loaded machine may notice an end [s]."""


def link_time_s(wire_bytes: float) -> float:
    return LATENCY_S + wire_bytes / RATE


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("link")
    assert run_ranks("link", folder) == [0, 0]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize("name", WIRE_BYTES)
def test_operation_takes_the_links_time_and_computes_rightly(
    found: list[dict[str, Any]], name: str
) -> None:
    expected_s = link_time_s(WIRE_BYTES[name])
    for rank in found:
        operation = rank["operations"][name]
        assert operation["right"]
        assert expected_s <= operation["seconds"] <= expected_s + LATER_S


def test_every_operation_of_the_program_is_judged(found: list[dict[str, Any]]) -> None:
    assert set(found[0]["operations"]) == set(WIRE_BYTES)


def test_operations_asked_for_at_once_follow_each_other(found: list[dict[str, Any]]) -> None:
    for rank in found:
        for place, end_s in enumerate(rank["queued"], start=1):
            expected_s = place * link_time_s(MB)
            assert expected_s - 0.5 * LATER_S <= end_s <= expected_s + LATER_S


def test_link_counts_its_operations(found: list[dict[str, Any]]) -> None:
    for rank in found:
        assert rank["counted"] == 4
        seen_late_s = [
            max(0.0, end_s - place * link_time_s(MB))
            for place, end_s in enumerate(rank["queued"], start=1)
        ]
        late_s = 4 * link_time_s(MB) * (1 / rank["share"] - 1)
        # The link begins when it is asked for, after the first clock and before the second.
        assert 0 < late_s <= sum(seen_late_s)
        assert sum(seen_late_s) <= late_s + 4 * LATER_S


@pytest.mark.parametrize("comes_late", [False, True])
def test_waking_counts_for_a_caller_that_waited_and_only_for_it(comes_late: bool) -> None:
    counters, job, waking_s = LinkCounters(), Job(lambda: (0, 0), "result"), 0.05
    work = LinkWork(job, counters)

    def complete() -> None:
        job.completed_ns = time.monotonic_ns()
        time.sleep(waking_s)  # in place of the time that waking the caller takes
        job.done.set_result(job.result)

    lane = threading.Thread(target=complete)
    lane.start()
    if comes_late:
        lane.join()
    assert work.wait()
    lane.join()
    assert work.result() == "result"
    if comes_late:
        assert counters.late_ns == 0
    else:
        assert counters.late_ns >= waking_s * 1e9


def test_sending_does_not_hold_the_caller(found: list[dict[str, Any]]) -> None:
    """Gloo's send writes to a socket before it returns; the link's thread is to do that."""
    for rank in found:
        assert rank["handed_over_by"] == ["link-receives", "link-sends"]


def test_operation_starts_with_the_last_rank_and_ends_together(
    found: list[dict[str, Any]],
) -> None:
    early, late = (rank["late"] for rank in found)
    assert early["seconds"] >= 0.1 + link_time_s(MB) - 0.5 * LATER_S
    assert abs(early["end_s"] - late["end_s"]) < LATER_S


def test_ddp_trains_as_over_plain_gloo(found: list[dict[str, Any]]) -> None:
    for rank in found:
        assert rank["ddp"] == rank["ddp_plain"]
    assert found[0]["ddp"] == found[1]["ddp"]


def test_operation_without_a_formula_is_refused(found: list[dict[str, Any]]) -> None:
    assert all("not emulated" in rank["refused"] for rank in found)


def test_lost_peer_ends_the_process_loudly(tmp_path: Path) -> None:
    start = time.monotonic()
    assert run_ranks("lost_peer", tmp_path) == [EXIT_LINK, 0]
    assert time.monotonic() - start < 20


def test_agrees_with_a_shaped_loopback(tmp_path: Path) -> None:
    """The emulated all-reduce takes what gloo takes over a loopback of the same rate.

    Two ranks send S bytes each (2(n-1)/n S, n = 2), both through the one device `lo`: a link
    of rate b per direction is a loopback that passes n b in all. Segments are up to 64 KiB, so
    headers add 0.1 %; the burst of 256 kB lets 1.5 % of 16 MiB pass at once.
    """
    reason = cannot_shape()
    if reason:
        pytest.skip(reason)
    enter = f"ip link set lo up && exec {sys.executable} -c 'import launching as l, pathlib as p; "
    run = f'print(l.run_ranks("shaped", p.Path("{tmp_path}")))\''
    subprocess.run(["unshare", "-n", "sh", "-c", enter + run], check=True, cwd=HERE, timeout=90)
    for rank in range(2):
        took = json.loads((tmp_path / f"{rank}.json").read_text())
        assert took["shaped_s"] == pytest.approx(took["emulated_s"], rel=0.1)
        assert took["emulated_s"] >= SHAPED_COUNT * 4 / SHAPED_RATE


def cannot_shape() -> str | None:
    """Why no loopback can be shaped here, or None."""
    missing = [tool for tool in ("tc", "ip", "unshare") if shutil.which(tool) is None]
    if missing:
        return f"needs {', '.join(missing)}"
    if os.geteuid() != 0:
        return "needs root to shape a loopback in a network namespace"
    probe = "ip link set lo up && tc qdisc add dev lo root tbf rate 1gbit burst 256kb limit 1mb"
    tried = subprocess.run(["unshare", "-n", "sh", "-c", probe], capture_output=True, text=True)
    return None if tried.returncode == 0 else f"no tbf in a network namespace: {tried.stderr}"

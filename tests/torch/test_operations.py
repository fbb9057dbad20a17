"""Suites collectives and memory: launches through torchrun, and the parts they are made of."""

from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import SimpleNamespace

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

pytest.importorskip("torch")

import torch
from launching import emulated, failed_results, faulty_package, launched, request

from commwall.schema.case import Case, CollectivesCase, MemoryCase, MemoryOperation
from commwall.schema.collective import COLLECTIVES, Collective, wire_share
from commwall.schema.result import CaseResult, LaunchRequest, NamedCase
from commwall.workers import memory
from commwall.workers.collectives import Exchange, once_more
from commwall.workers.findings import Findings
from commwall.workers.outcomes import Unsupported
from commwall.workers.repetitions import (
    LEAST_GROUPS,
    MOST_GROUPS,
    MOST_RECORDED,
    Repeated,
    recorded_repetitions,
    recorder_of,
    time_repetitions,
)
from commwall.workers.values import POISON, ramp

FAST, SLOW = 100e6, 10e6
LATENCY_S = 20e-6
LARGEST = 2**20
CPU = torch.device("cpu")
WRONG_COLLECTIVES = """

_right = _moves


def _moves(collective, rank, ranks):
    def spoil(received, sent):
        _right(collective, rank, ranks)(received, sent)
        if rank == 1:
            received[-1] += 1

    return spoil
"""
WRONG_COPIES = """

def _copying(source, target):
    return Transfer(lambda: target[:-1].copy_(source[:-1]), (source, target))
"""


def asked(folder: Path, rate: float, suite: str, cases: dict[str, Case]) -> LaunchRequest:
    named = tuple(NamedCase(name=name, case=case) for name, case in cases.items())
    changes = {"suite": suite, "cases": named}
    return request(folder, emulated(rate, LATENCY_S)).model_copy(update=changes)


def collectives(window_s: float = 0.05, max_bytes: int = LARGEST) -> dict[str, Case]:
    return {
        name.replace("_", "-"): CollectivesCase(
            collective=name, max_bytes=max_bytes, window_s=window_s
        )
        for name in COLLECTIVES
    }


def link_s(collective: str, message_bytes: int, rate: float) -> float:
    """Time the emulated link takes for one operation [s]."""
    return LATENCY_S + wire_share(collective, 2) * message_bytes / rate  # type: ignore[arg-type]


def results(folder: Path, wanted: LaunchRequest) -> dict[str, CaseResult]:
    with launched(wanted) as (launch, log):
        assert launch.wait(timeout=90) == 0, log.read_text()
    return {
        named.name: CaseResult.model_validate_json((folder / f"{named.name}.json").read_text())
        for named in wanted.cases
    }


@pytest.fixture(scope="module")
def exchanged(tmp_path_factory: pytest.TempPathFactory) -> dict[float, dict[str, CaseResult]]:
    """All collectives on two links: rate -> case -> result."""
    found = {}
    for rate in (FAST, SLOW):
        folder = tmp_path_factory.mktemp("collectives")
        found[rate] = results(folder, asked(folder, rate, "collectives", collectives()))
    return found


@pytest.mark.parametrize("rate", [FAST, SLOW])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_largest_message_takes_the_links_time(
    exchanged: dict[float, dict[str, CaseResult]], collective: str, rate: float
) -> None:
    result = exchanged[rate][collective.replace("_", "-")]
    expected_s = link_s(collective, LARGEST, rate)
    for rank in (0, 1):
        times_s = values(result, "operation_time_s", LARGEST, rank)
        assert len(times_s) >= LEAST_GROUPS
        # The fastest group: on a busy machine gloo now and then takes longer than the link.
        assert expected_s <= min(times_s) < 1.5 * expected_s


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_size_of_every_rank_is_checked_and_told(
    exchanged: dict[float, dict[str, CaseResult]], collective: str
) -> None:
    result = exchanged[FAST][collective.replace("_", "-")]
    sizes = CollectivesCase(collective=collective, max_bytes=LARGEST).message_sizes(2)  # type: ignore[arg-type]
    assert sizes[0] == 8 and sizes[-1] == LARGEST
    for rank in (0, 1):
        for size in sizes:
            times_s = values(result, "operation_time_s", size, rank)
            assert LEAST_GROUPS <= len(times_s) <= MOST_GROUPS
            (share,) = values(result, "link_bound_share", size, rank)
            assert share == pytest.approx(link_s(collective, size, FAST) / median(times_s))
            assert len(values(result, "repetitions", size, rank)) == 1
    checked = [check.name for check in result.checks if check.passed]
    for name in ("received_values", "received_values_after_timing", "link_rate_bound"):
        assert checked.count(name) == len(sizes)
    assert len(checked) == len(result.checks)
    assert result.runtime is not None and result.runtime.parameters is None


def test_in_place_a_rank_exchanges_its_own_share_of_the_buffer(tmp_path: Path) -> None:
    cases: dict[str, Case] = {
        name.replace("_", "-"): CollectivesCase(
            collective=name, in_place=True, dtype="bfloat16", max_bytes=4096, window_s=0.02
        )
        for name in ("all_gather", "reduce_scatter")
    }
    for result in results(tmp_path, asked(tmp_path, FAST, "collectives", cases)).values():
        assert result.status == "ok"
        checked = [c for c in result.checks if c.name.startswith("received_values")]
        assert len(checked) == 2 * 6 and all(check.passed for check in checked)


def two_ranks(collective: Collective, in_place: bool) -> Exchange:
    """An exchange as rank 0 of two sees it, whose partner is made up."""
    case = CollectivesCase(collective=collective, in_place=in_place, max_bytes=64)
    group = SimpleNamespace(rank=0, size=2, device=CPU)
    exchange = Exchange(case, 64, group)  # type: ignore[arg-type]

    def move(received: torch.Tensor, sent: torch.Tensor) -> None:
        theirs = ramp(torch.empty(16)) + 1  # what rank 1 sends
        if collective == "all_gather":
            received.copy_(torch.cat([sent.clone(), theirs[:8]]))
        elif collective == "reduce_scatter":
            received.copy_(sent[:8] + theirs[:8])
        else:
            received.add_(theirs)

    exchange._move = move
    return exchange


FORMS = [
    ("all_reduce", True),
    ("all_gather", False),
    ("all_gather", True),
    ("reduce_scatter", False),
    ("reduce_scatter", True),
]


@pytest.mark.parametrize(("collective", "in_place"), FORMS)
def test_what_was_recorded_is_what_is_checked(collective: Collective, in_place: bool) -> None:
    exchange, counts = two_ranks(collective, in_place), []

    def record(operation: Callable[[], object], count: int) -> Callable[[], object]:
        counts.append(count)
        return lambda: [operation() for _ in range(count)]

    made_up = MadeUpTime()

    def run() -> None:
        exchange.run()
        made_up.spend(1e-3)

    repeated = time_repetitions(run, 0.02, made_up, made_up, record=record, hold=made_up.hold)
    again = once_more(exchange, repeated, record)
    check = exchange.check("received_values_after_timing", again)
    assert check.passed, check.found
    one_alone = in_place and collective != "all_gather"
    assert counts == ([3, 1] if one_alone else [3])


@pytest.mark.parametrize("wrong", ["nothing", "stale", "one value"])
@pytest.mark.parametrize(("collective", "in_place"), FORMS)
def test_a_wrong_result_of_a_recording_is_seen(
    collective: Collective, in_place: bool, wrong: str
) -> None:
    exchange = two_ranks(collective, in_place)
    assert exchange.check("received_values", exchange.run).passed
    kept = exchange.received.clone()

    def replay() -> None:
        if wrong == "stale":
            exchange.received.copy_(kept)  # zeros: what the buffer held when it was recorded
        if wrong == "one value":
            exchange.run()
            exchange.received[-1] += 1

    check = exchange.check("received_values_after_timing", replay)
    assert not check.passed
    expected = 1 if wrong == "one value" else exchange.received.numel()
    own_share = collective == "all_gather" and in_place and wrong == "nothing"
    assert check.found.startswith(f"{8 if own_share else expected} of ")


def test_a_check_looks_at_every_part_of_a_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commwall.workers.collectives._PART_VALUES", 3)
    exchange = two_ranks("all_gather", False)
    assert exchange.check("received_values", exchange.run).passed
    assert not exchange.check("received_values", lambda: None).passed


@pytest.mark.parametrize(
    ("collective", "in_place", "reason"),
    [
        ("all_reduce", False, "torch's all_reduce works in place only"),
        ("broadcast", False, "torch's broadcast works in place only"),
        ("all_to_all", True, "all_to_all cannot work in place"),
        ("send_recv", True, "send_recv cannot work in place"),
    ],
)
def test_a_place_that_a_collective_does_not_have_is_refused(
    collective: Collective, in_place: bool, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        CollectivesCase(collective=collective, in_place=in_place, max_bytes=8)


def test_a_case_that_does_not_say_it_works_where_it_usually_does() -> None:
    usual = {name: CollectivesCase(collective=name, max_bytes=8).in_place for name in COLLECTIVES}
    assert [name for name, in_place in usual.items() if in_place] == ["all_reduce", "broadcast"]
    stored = CollectivesCase(collective="all_gather", max_bytes=8).model_dump(exclude={"in_place"})
    assert CollectivesCase.model_validate(stored).in_place is False


def test_copies_in_ram_are_measured_and_transfers_are_skipped_with_their_reason(
    tmp_path: Path,
) -> None:
    sizes = (2**16, 2**20)
    cases: dict[str, Case] = {
        operation: MemoryCase(operation=operation, buffer_bytes=sizes, window_s=0.05)
        for operation in ("copy", "triad", "peer")
    }
    found = results(tmp_path, asked(tmp_path, FAST, "memory", cases))
    for operation in ("copy", "triad"):
        assert found[operation].status == "ok"
        for rank in (0, 1):
            small, large = (
                min(values(found[operation], "operation_time_s", size, rank)) for size in sizes
            )
            assert 0 < small < large < 0.05  # a memory of 20 MB/s there is not
        assert all(check.passed for check in found[operation].checks)
    assert found["peer"].status == "skipped"
    assert "on device cpu there is one memory" in str(found["peer"].detail)


@pytest.mark.parametrize(
    ("suite", "fault", "check", "ranks"),
    [
        ("collectives", WRONG_COLLECTIVES, "received_values", {1}),
        ("memory", WRONG_COPIES, "copied_values", {0, 1}),
    ],
)
def test_a_wrong_result_fails_the_case(
    tmp_path: Path, suite: str, fault: str, check: str, ranks: set[int]
) -> None:
    cases: dict[str, Case] = {
        "collectives": {
            "case": CollectivesCase(collective="all_gather", max_bytes=8, window_s=0.05)
        },
        "memory": {"case": MemoryCase(operation="copy", buffer_bytes=(64,), window_s=0.05)},
    }[suite]  # type: ignore[assignment]
    environment = faulty_package(tmp_path / "package")
    module = tmp_path / "package/commwall/workers" / f"{suite}.py"
    module.write_text(module.read_text() + fault)
    with launched(asked(tmp_path, FAST, suite, cases), environment) as (launch, log):
        assert launch.wait(timeout=90) != 0
    failed = failed_results(tmp_path)
    assert failed, log.read_text()
    assert set(failed) <= {f"case.rank{rank}.failed.json" for rank in ranks}
    for result in failed.values():
        assert result.cause == "check_failed"
        assert result.checks[-1].name == check
        assert result.checks[-1].found.startswith("1 of ")
    assert not (tmp_path / "case.json").exists()


def values(result: CaseResult, metric: str, size: int, rank: int) -> tuple[float, ...]:
    """The measured values of a metric at one size on one rank."""
    (found,) = [
        series.values
        for series in result.series
        if (series.metric, series.message_bytes, series.rank, series.phase)
        == (metric, size, rank, "measured")
    ]
    return found


class MadeUpTime:
    """A clock and a crew of two, the other of whom takes twice as long.

    Args:
        ahead: whether the host gets ahead of a device that is kept busy.
    """

    def __init__(self, *, ahead: bool = True) -> None:
        self.ahead = ahead
        self.now_s = 0.0
        self.marks: list[float] = []

    def spend(self, seconds: float) -> None:
        self.now_s += seconds

    def mark(self) -> None:
        self.marks.append(self.now_s)

    def intervals_s(self) -> list[float]:
        marks, self.marks = self.marks, []
        return [after - before for before, after in zip(marks, marks[1:], strict=False)]

    def most(self, value: float) -> float:
        return 2 * value

    def least(self, value: float) -> float:
        return value

    def meet(self) -> None: ...

    def hold(self, delay_s: float) -> Callable[[], bool]:
        return lambda: self.ahead


@pytest.mark.parametrize(
    ("each_s", "groups", "repetitions"),
    [
        (0.001, 10, 5),  # the crew says 2 ms: 100 ms are 50 repetitions
        (0.012, 5, 1),
        (1.0, 3, 1),
    ],
)
def test_groups_fill_the_window_as_the_slowest_sees_it(
    each_s: float, groups: int, repetitions: int
) -> None:
    made_up = MadeUpTime()
    before = []
    found = time_repetitions(
        lambda: made_up.spend(each_s),
        0.1,
        made_up,
        made_up,
        lambda: before.append(made_up.now_s),
    )
    assert (len(found.time_s), found.repetitions) == (groups, repetitions)
    assert found.time_s == pytest.approx([each_s] * groups)
    assert found.warmup_s == pytest.approx([each_s] * len(found.warmup_s))
    assert made_up.now_s - before[0] == pytest.approx(groups * repetitions * each_s)


class MadeUpGraphs:
    """Records operations of a device that takes a time of its own for each."""

    def __init__(self, made_up: MadeUpTime, device_s: float) -> None:
        self.made_up, self.device_s = made_up, device_s
        self.counts: list[int] = []

    def __call__(self, operation: Callable[[], object], count: int) -> Callable[[], object]:
        self.counts.append(count)
        return lambda: self.made_up.spend(count * self.device_s)


@pytest.mark.parametrize(
    ("host_s", "device_s", "count", "eager"),
    [
        (40e-6, 11e-6, 63, True),  # the crew says 80 us: 5 ms are 62.5 repetitions
        (4e-6, 4e-6, MOST_RECORDED, True),
        (0.155, 0.155, 1, False),
    ],
)
def test_recorded_repetitions_take_the_devices_time_and_eager_ones_the_hosts(
    host_s: float, device_s: float, count: int, eager: bool
) -> None:
    made_up = MadeUpTime()
    graphs = MadeUpGraphs(made_up, device_s)
    found = on_made_up(made_up, graphs, host_s)
    assert graphs.counts == [count] and found.recorded == count
    assert found.repetitions == count and not found.host_bound
    assert found.time_s == pytest.approx([device_s] * len(found.time_s))
    assert found.warmup_s == pytest.approx([device_s] * len(found.warmup_s))
    assert found.eager_s == pytest.approx([host_s] * len(found.eager_s))
    assert bool(found.eager_s) is eager
    before = made_up.now_s
    found.again()
    assert made_up.now_s - before == pytest.approx(count * device_s)


def test_a_slow_host_is_seen_in_the_eager_time_alone() -> None:
    quick, slow = (recorded_on(host_s, 11e-6) for host_s in (40e-6, 400e-6))
    assert median(slow.eager_s) > 9 * median(quick.eager_s)
    assert median(slow.time_s) == pytest.approx(median(quick.time_s))


def recorded_on(host_s: float, device_s: float, *, ahead: bool = True) -> Repeated:
    """A recorded operation for which host and device need those times."""
    made_up = MadeUpTime(ahead=ahead)
    return on_made_up(made_up, MadeUpGraphs(made_up, device_s), host_s)


def on_made_up(made_up: MadeUpTime, graphs: MadeUpGraphs, host_s: float) -> Repeated:
    """An operation whose repetitions are recorded, timed for about 0.1 s."""
    return time_repetitions(
        lambda: made_up.spend(host_s), 0.1, made_up, made_up, record=graphs, hold=made_up.hold
    )


def test_a_host_that_never_gets_ahead_of_the_replays_marks_the_case() -> None:
    repeated = recorded_on(40e-6, 11e-6, ahead=False)
    assert repeated.host_bound and len(repeated.time_s) >= LEAST_GROUPS
    findings = Findings("case", 0)
    findings.repeated(repeated, 8)
    (mark,) = findings.result().marks
    assert mark.name == "host_bound" and mark.detail.startswith("at 8 byte the host")


def test_a_rank_that_comes_late_does_not_pass_for_a_slow_operation() -> None:
    made_up, late_s = MadeUpTime(), iter([0.5])
    found = time_repetitions(lambda: made_up.spend(1e-3 + next(late_s, 0.0)), 0.1, made_up, made_up)
    assert max(found.warmup_s) == pytest.approx(1e-3)
    assert found.repetitions > 1


def test_a_group_of_recorded_repetitions_is_told_in_the_findings() -> None:
    made_up = MadeUpTime()
    by_host = time_repetitions(lambda: made_up.spend(40e-6), 0.1, made_up, made_up)
    timed = {"graph": recorded_on(40e-6, 11e-6), "host": by_host}
    told = {}
    for name, repeated in timed.items():
        findings = Findings("case", 0)
        findings.repeated(repeated, 8)
        told[name] = {series.metric for series in findings.result().series}
    assert told["graph"] - told["host"] == {"recorded_repetitions", "eager_time_s"}


def test_repetitions_to_record_are_fixed_by_the_time_of_one() -> None:
    assert [recorded_repetitions(s) for s in (0.0, 50e-6, 1e-3, 5e-3, 0.1)] == [
        MOST_RECORDED, 100, 5, 1, 1,
    ]  # fmt: skip


def test_only_a_gpu_records() -> None:
    assert recorder_of(CPU) is None
    assert recorder_of(torch.device("cuda", 0)) is not None


def test_an_operation_that_cannot_be_recorded_is_an_outcome() -> None:
    def refuse(operation: Callable[[], object], count: int) -> Callable[[], object]:
        raise Unsupported("the work cannot be recorded in a CUDA graph")

    made_up = MadeUpTime()
    with pytest.raises(Unsupported):
        time_repetitions(lambda: made_up.spend(1e-3), 0.1, made_up, made_up, record=refuse)


@pytest.mark.parametrize(
    ("make", "right"),
    [
        (lambda: memory.own_transfer("copy", 4096, CPU), True),
        (lambda: memory.own_transfer("triad", 4096, CPU), True),
        (lambda: memory.own_transfer("host_to_device_pageable", 4096, CPU), True),
        (lambda: memory.own_transfer("device_to_host_pageable", 4096, CPU), True),
        (lambda: memory.peer_transfer("peer", 4096, CPU, CPU), True),
        (lambda: nothing_moved(), False),
    ],
)
def test_transfers_are_judged_by_known_values(
    make: Callable[[], memory.Transfer], right: bool
) -> None:
    transfer = make()
    check = transfer.check("copied_values")
    assert transfer.buffer_bytes == 4096
    assert check.passed is right
    assert check.found == f"{0 if right else 1024} of 1024 values wrong at 4096 byte"


def nothing_moved() -> memory.Transfer:
    return memory.Transfer(lambda: None, (torch.zeros(1024), torch.zeros(1024)))


@pytest.mark.parametrize(
    ("operation", "device", "ranks", "reason"),
    [
        ("copy", "cpu", 2, None),
        ("triad", "cuda", 1, None),
        ("host_to_device_pinned", "cpu", 2, "on device cpu there is one memory"),
        ("peer", "cpu", 2, "on device cpu there is one memory"),
        ("device_to_host_pageable", "cuda", 1, None),
        ("peer", "cuda", 1, "one process has one device"),
        ("peer_bidirectional", "cuda", 2, None),
    ],
)
def test_an_operation_without_its_memory_is_skipped(
    operation: MemoryOperation, device: str, ranks: int, reason: str | None
) -> None:
    found = memory.why_skipped(operation, device, ranks)
    assert found is None if reason is None else str(found).startswith(reason)


def test_pairs_of_devices() -> None:
    assert memory.pairs_of("peer", 3) == ((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1))
    assert memory.pairs_of("peer_bidirectional", 3) == ((0, 1), (0, 2), (1, 2))


def test_a_peer_out_of_reach_is_a_gap() -> None:
    assert memory.unreachable(0, 1, lambda a, b: True) is None
    gap = memory.unreachable(0, 1, lambda a, b: (a, b) != (0, 1))
    assert gap is not None
    assert gap.what == "peer access of device 0 to device 1"
    assert "staged through host memory" in gap.reason


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_known_values_differ_between_equal_parts_and_from_the_poison(dtype: torch.dtype) -> None:
    values = ramp(torch.empty(4096, dtype=dtype))
    for parts in (2, 4, 8):
        first, second, *_ = values.chunk(parts)
        assert bool((first != second).all())
    assert float(values.min()) == 1 and float(values.max()) <= 1021 and POISON < 0

"""What limits a training case: every share can be done in the head."""

from dataclasses import replace
from pathlib import Path

import pytest

from commwall.analysis.limit_words import limit_sentence
from commwall.analysis.limits import (
    CaseLimit,
    Limit,
    Parts,
    decide,
    limits,
    parts_of,
    split_step,
)
from commwall.analysis.quantities import MEMORY_SHARE, Quantity
from commwall.analysis.result import Analysis, analyse_campaign
from commwall.analysis.tables.tidy import Tables
from commwall.analysis.values.cells import Cell
from commwall.analysis.values.derive import derive
from commwall.analysis.values.derived import Derived
from commwall.analysis.values.gpu_use import memory_share_least
from commwall.report.limits import limit_figure
from commwall.report.style import looks_of
from commwall.schema.record import Record
from commwall.schema.result import Check, Mark, Series
from tests.golden.build import AGAIN, CAMPAIGN, CASE, FAST, SLOW, Change, record, write_campaign
from tests.golden.test_energy import PEAKS, on_gpus

HOST_MARK = Mark(name="host_bound", leg="single", detail="a step with 1 sample takes as long")


def analysis_of(root: Path, change: Change = lambda r: r) -> Analysis:
    return analyse_campaign(write_campaign(root, change), CAMPAIGN, 0.95)


def limit_of(analysis: Analysis, platform: str) -> CaseLimit | None:
    own = [c for c in limits(analysis) if c.cells[0].record.id.platform == platform]
    return own[0] if own else None


@pytest.mark.parametrize(
    ("times", "gaps", "exposed", "host"),
    [
        ((0.1, 0.09), (None, None), 0.1, None),
        ((0.1, 0.09), (0.0, 0.0), 0.1, 0.0),
        # of 100 ms the device works 70, 60 of them without exchange: 40 of 50 ms, 10 are the link's
        ((0.1, 0.075), (0.3, 0.2), 0.1, 0.3),
        ((0.1, None), (0.3, None), None, 0.3),
        ((0.1, 0.11), (0.0, 0.0), -0.1, 0.0),
    ],
)
def test_a_step_divides_without_rest(
    times: tuple[float, float | None],
    gaps: tuple[float | None, float | None],
    exposed: float | None,
    host: float | None,
) -> None:
    found = split_step(*times, *gaps)
    assert found == (exposed if exposed is None else pytest.approx(exposed), host)
    if gaps[1] is not None and times[1] is not None and exposed is not None and exposed > 0:
        own_work = Parts(*found).own_work
        assert own_work == pytest.approx((1 - gaps[1]) * times[1] / times[0])


@pytest.mark.parametrize(
    ("parts", "limit"),
    [
        (Parts(0.6, 0.1), "link"),
        (Parts(0.6, None), "link"),  # whatever the host takes of the rest
        (Parts(0.4, None), "unknown"),
        (Parts(0.4, 0.3), "link"),
        (Parts(0.1, 0.6), "host"),
        (Parts(None, 0.6), "host"),
        (Parts(None, 0.1), "unknown"),
        (Parts(None, None), "unknown"),
        (Parts(0.1, None, marked_host_bound=True), "host"),
        (Parts(0.1, 0.0, marked_host_bound=True), "device"),  # measured: it does not wait
        (Parts(0.2, 0.0, mfu=0.5, memory=0.3), "compute"),  # 0.5 / 0.8 above a half
        (Parts(0.2, 0.0, mfu=0.3, memory=0.5), "memory"),
        (Parts(0.2, 0.0, mfu=0.3, memory=0.39), "neither"),
        (Parts(0.2, 0.0, mfu=0.41, memory=0.3), "compute"),  # 0.51 of its own work
        (Parts(0.2, 0.0, mfu=0.6, memory=None), "device"),
        (Parts(0.2, 0.0, mfu=None, memory=0.9), "device"),
        (Parts(0.2, 0.0, mfu=0.3, memory_least=0.3), "device"),
        (Parts(0.2, 0.0, mfu=0.3, memory_least=0.45), "memory"),
        (Parts(0.2, 0.0, mfu=0.6, memory_least=0.45), "device"),
        (Parts(-0.1, -0.01, mfu=0.6, memory=0.2), "compute"),
        (Parts(0.5, 0.5), "unknown"),  # no part is the largest
        (Parts(None, 0.0, memory=0.5, exposed_most=0.1, power_limited=True), "power"),
        (Parts(0.1, 0.0, memory=0.5, exposed_most=0.1, power_limited=True), "power"),
        (Parts(None, 0.0, exposed_most=0.6, power_limited=True), "unknown"),  # less of it, perhaps
        (Parts(None, 0.3, exposed_most=0.4, power_limited=True), "unknown"),
        (Parts(None, 0.6, exposed_most=0.1, power_limited=True), "host"),
        (Parts(0.6, 0.1, exposed_most=0.6, power_limited=True), "link"),
        (Parts(None, None, exposed_most=0.1, power_limited=True), "unknown"),
        (Parts(None, 0.0, exposed_most=0.1), "unknown"),  # clocks are low for another reason
    ],
)
def test_the_rule(parts: Parts, limit: Limit) -> None:
    assert decide(parts) == limit


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (Parts(0.6, 0.1), "The link limits: 60.0 % of the step"),
        (Parts(0.1, 0.6), "the device waits for it 60.0 % of the step"),
        (Parts(0.1, None, marked_host_bound=True), "marked host bound"),
        (Parts(0.2, 0.0, mfu=0.6, memory=0.2), "Compute limits: the device's own work takes 80"),
        (Parts(0.2, 0.0, mfu=0.6, memory=0.2), "compute at 75.0 % of its peak and memory at 25"),
        (Parts(0.2, 0.0, mfu=0.2, memory=0.6), "Memory limits"),
        (Parts(0.2, 0.0, mfu=0.2, memory=0.2), "Neither compute nor memory at half of its peak"),
        (Parts(0.2, 0.0, mfu=0.6, memory_least=0.08), "memory at 10.0 % of its own or more"),
        (Parts(0.2, 0.0, mfu=0.6), "the traffic of the device's memory is not measured"),
        (Parts(0.2, None), "how much of the rest the device waits for the host was not measured"),
        (Parts(None, 0.0), "leg nosync"),
        (Parts(None, 0.0, exposed_most=0.3), "at most 30.0 % of the step is exposed communication"),
        (
            Parts(None, 0.0, mfu=0.2, memory=0.5, exposed_most=0.1, power_limited=True),
            "memory at 50.0 % of its own; at most 10.0 % of it is exposed",
        ),
    ],
)  # fmt: skip
def test_the_sentence_has_the_shares_that_decide(parts: Parts, words: str) -> None:
    assert words in limit_sentence(CaseLimit((), parts, decide(parts), ((decide(parts), 1),)))


def test_a_slow_link_limits_and_a_fast_one_does_not(tmp_path: Path) -> None:
    analysis = analysis_of(tmp_path)
    slow, fast = limit_of(analysis, SLOW), limit_of(analysis, FAST)
    assert slow is not None and fast is not None
    # 110 of 200 ms; in round 4 70 of 160 ms
    assert slow.parts.exposed == pytest.approx(0.55)
    assert (slow.limit, dict(slow.rounds)) == ("link", {"link": 4, "device": 1})
    assert "Single rounds differ: the link in 4, the device's own work in 1." in limit_sentence(
        slow
    )
    assert (fast.limit, fast.parts.host) == ("device", 0.0)  # a CPU does not wait for itself
    assert fast.parts.own_work == pytest.approx(0.9)


def test_rounds_that_the_host_decides_count_here_and_failed_ones_do_not(tmp_path: Path) -> None:
    check = Check(name="c", passed=False, found="1", expected="0")

    def change(golden: Record) -> Record:
        update = {FAST: {"marks": (HOST_MARK,)}, AGAIN: {"checks": (check,)}, SLOW: {}}
        return golden.model_copy(update=update[golden.id.platform]).sealed()

    analysis = analysis_of(tmp_path, change)
    fast = limit_of(analysis, FAST)
    assert fast is not None and len(fast.cells) == 5 and fast.parts.marked_host_bound
    assert limit_of(analysis, AGAIN) is None
    assert not any(cell.refusals == () for cell in fast.cells)


def test_measured_gaps_and_traffic_are_taken_from_the_derived_values() -> None:
    golden = on_gpus(record(FAST, 1))
    derived = derive(golden, PEAKS)
    assert decided(golden, derived) == (None, None, "unknown")
    gaps = {Quantity("host_gap_share", "full"): 0.1, Quantity("host_gap_share", "nosync"): 0.2}
    # of 100 ms 10 are the host's and 80 % of 90 the device's own; MFU 0.4 / 0.72 is above a half
    measured = replace(derived, values=derived.values | gaps)
    exposed, own_work, limit = decided(golden, measured)
    assert (exposed, own_work) == pytest.approx((0.18, 0.72))
    assert limit == "device"
    traffic = {MEMORY_SHARE: 0.3}
    with_traffic = replace(derived, values=measured.values | traffic)
    assert decided(golden, with_traffic)[2] == "compute"


def decided(golden: Record, derived: Derived) -> tuple[float | None, float | None, Limit]:
    """Exposed communication where the host's part is known, the device's own work, the limit."""
    parts = parts_of(Cell(golden, derived, ()), PEAKS)
    assert parts is not None
    exposed = None if parts.host is None else parts.exposed
    return exposed, parts.own_work, decide(parts)


@pytest.mark.parametrize(
    ("leg", "queued", "marked"),
    [
        ("single", False, True),
        ("full", False, True),  # the host was never ahead of the device
        ("full", True, False),  # its share follows from the steps enqueued beforehand
        ("comm", False, False),
    ],
)
def test_a_mark_counts_where_it_is_all_that_is_known(leg: str, queued: bool, marked: bool) -> None:
    golden = on_gpus(record(FAST, 1))
    steps = Series(metric="queued_step_time_s", unit="s", leg="full", rank=0, values=(0.09,))
    mark = HOST_MARK.model_copy(update={"leg": leg})
    series = (*golden.series, *((steps,) if queued else ()))
    changed = golden.model_copy(update={"marks": (mark,), "series": series})
    parts = parts_of(Cell(changed, derive(changed, PEAKS), ()), PEAKS)
    assert parts is not None and parts.marked_host_bound is marked


def test_noise_of_a_gap_makes_no_exchange_smaller() -> None:
    golden = on_gpus(record(FAST, 1))
    derived = derive(golden, PEAKS)
    gaps = {Quantity("host_gap_share", "full"): -0.01, Quantity("host_gap_share", "nosync"): -0.02}
    parts = parts_of(Cell(golden, replace(derived, values=derived.values | gaps), ()), PEAKS)
    assert parts is not None and (parts.exposed, parts.host) == (pytest.approx(0.1), 0.0)


def test_counted_bytes_of_the_optimiser() -> None:
    # 28 x 2e6 byte in 0.1 s are 5.6e8 of 1e12 byte/s
    assert memory_share_least(on_gpus(record(FAST, 1)), 0.1, PEAKS) == pytest.approx(5.6e-4)
    assert memory_share_least(on_gpus(record(FAST, 1), "Made-up 9"), 0.1, PEAKS) is None
    assert memory_share_least(record(FAST, 1), 0.1, PEAKS) is None


def test_table_and_figure(tmp_path: Path) -> None:
    tables = Tables(analysis_of(tmp_path))
    row = tables.limits.set_index("platform").loc[SLOW]
    assert (row["case"], row["n"], row["limit"]) == (CASE, 5, "link")
    assert row["own_work_share"] == pytest.approx(0.45)
    figure = limit_figure(tables, looks_of([FAST, SLOW, AGAIN]))
    assert "(emulated links)" in figure.get_suptitle()
    widths = [bar.get_width() for bar in figure.axes[0].patches]
    assert widths == pytest.approx([0.9, 0, 0.1, 0.45, 0, 0.55, 0.9, 0, 0.1])
    empty = type(tables)(**{**vars(tables), "limits": tables.limits.head(0)})
    assert not limit_figure(empty, {}).axes

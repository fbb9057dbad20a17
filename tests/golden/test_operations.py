"""Collectives and copies: all expectations can be done in the head."""

from pathlib import Path

import pytest

from commwall.analysis.quantities import ALGBW, BUSBW, LATENCY, MEMORY_BANDWIDTH, Quantity
from commwall.analysis.result import Analysis, analyse_campaign
from commwall.analysis.tables.tidy import Tables
from commwall.analysis.values.derive import derive
from commwall.analysis.values.operations import points
from commwall.analysis.verdicts.judging import Verdict
from commwall.analysis.verdicts.wording import noise_short_text, sentence
from commwall.schema.case import CollectivesCase, MemoryCase
from commwall.schema.collective import COLLECTIVES, Collective, bus_bandwidth
from commwall.schema.errors import UnitError
from commwall.schema.result import Series
from tests.golden.build import AGAIN, FAST, SLOW
from tests.golden.operations import CAMPAIGN, SKIPPED, operation, record, write_campaign

NOT_BOUND = "the CPU under the emulated link, not the link, sets the time of 8 B"


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    root: Path = tmp_path_factory.mktemp("operations")
    return analyse_campaign(write_campaign(root), CAMPAIGN, 0.95)


def _verdict(analysis: Analysis, case: str, b: str, quantity: Quantity) -> Verdict:
    (found,) = [
        v for v in analysis.verdicts if (v.case, v.comparison.b, v.quantity) == (case, b, quantity)
    ]
    return found


@pytest.mark.parametrize(
    ("collective", "ranks", "rate"),
    [
        ("all_reduce", 2, 100.0),  # 2 x 1/2 of 100 byte in 1 s
        ("all_reduce", 4, 150.0),
        ("all_gather", 4, 75.0),
        ("reduce_scatter", 4, 75.0),
        ("all_to_all", 4, 75.0),
        ("broadcast", 4, 100.0),
        ("send_recv", 4, 100.0),
    ],
)
def test_bus_bandwidth_is_that_of_nccl_tests(
    collective: Collective, ranks: int, rate: float
) -> None:
    found = bus_bandwidth(message_bytes=100, time_s=1, ranks=ranks, collective=collective)
    assert found == pytest.approx(rate)


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize(("time_s", "ranks"), [(0.0, 2), (-1.0, 2), (1.0, 1)])
def test_no_bus_bandwidth_without_time_or_peers(
    collective: Collective, time_s: float, ranks: int
) -> None:
    with pytest.raises(UnitError, match="at least 2 ranks"):
        bus_bandwidth(message_bytes=100, time_s=time_s, ranks=ranks, collective=collective)


@pytest.mark.parametrize(
    ("max_bytes", "ranks", "dtype", "sizes"),
    [
        (128, 2, "float32", (8, 32, 128)),
        (100, 2, "float32", (8, 32, 104)),  # 100 byte are no equal shares of whole values
        (8, 8, "float32", (32,)),
        (32, 3, "bfloat16", (12, 36)),
    ],
)
def test_sizes_grow_by_4_and_give_each_rank_an_equal_share(
    max_bytes: int, ranks: int, dtype: str, sizes: tuple[int, ...]
) -> None:
    case = CollectivesCase.model_validate(
        {"collective": "all_gather", "max_bytes": max_bytes, "dtype": dtype}
    )
    assert case.message_sizes(ranks) == sizes


def test_buffers_must_ascend() -> None:
    with pytest.raises(ValueError, match="buffer_bytes must ascend"):
        MemoryCase(operation="copy", buffer_bytes=(8, 4))


@pytest.mark.parametrize(
    ("name", "case", "quantity", "value"),
    [
        (FAST, "all-reduce", BUSBW, 128 / 0.004),  # 2 (n-1)/n = 1
        (FAST, "all-reduce", ALGBW, 128 / 0.004),
        (FAST, "all-gather", BUSBW, 64 / 0.004),  # (n-1)/n = 1/2
        (FAST, "all-gather", ALGBW, 128 / 0.004),
        (FAST, "all-gather", LATENCY, 0.001),
        (SLOW, "all-gather", LATENCY, 0.002),
        (FAST, "copy", MEMORY_BANDWIDTH, 2e9),  # 2 x 4 MB in 4 ms
    ],
)
def test_derived_values(name: str, case: str, quantity: Quantity, value: float) -> None:
    assert derive(record(name, case, 1)).values[quantity] == pytest.approx(value)


def test_a_size_that_the_link_does_not_set_enters_no_verdict(analysis: Analysis) -> None:
    assert derive(record(FAST, "all-reduce", 1)).absent[LATENCY] == NOT_BOUND
    verdict = _verdict(analysis, "all-reduce", SLOW, LATENCY)
    assert (verdict.ratio, verdict.why_none) == (None, NOT_BOUND)
    sizes = Tables(analysis).sizes.query("case == 'all-reduce'")
    assert set(sizes[~sizes["bound"]]["message_bytes"]) == {8}


def test_ranks_that_timed_different_numbers_of_groups_give_no_point() -> None:
    golden = record(FAST, "all-reduce", 1)
    series = tuple(_shortened(each) for each in golden.series)
    found = derive(golden.model_copy(update={"series": series}))
    assert BUSBW not in found.values
    assert found.absent[BUSBW].startswith("128 B has no times")


def _shortened(series: Series) -> Series:
    last = (series.metric, series.message_bytes, series.rank) == ("operation_time_s", 128, 1)
    return series.model_copy(update={"values": series.values[:-1]}) if last else series


def test_peer_copies_are_told_by_pair_and_judged_by_the_slowest() -> None:
    golden = record(FAST, "copy", 1)
    case = MemoryCase(operation="peer", buffer_bytes=(4_000_000,))
    series = tuple(
        operation("operation_time_s", "s", [t, t, t], 4_000_000, rank, peer=1 - rank)
        for rank, t in ((0, 0.001), (1, 0.002))
    )
    changed = golden.model_copy(update={"case": case, "series": series})
    found = {(p.rank, p.peer): p.values[MEMORY_BANDWIDTH] for p in points(changed)}
    assert found == pytest.approx({(0, 1): 4e9, (1, 0): 2e9})
    assert derive(changed).values[MEMORY_BANDWIDTH] == pytest.approx(2e9)
    both = changed.model_copy(
        update={"case": case.model_copy(update={"operation": "peer_bidirectional"})}
    )
    assert derive(both).values[MEMORY_BANDWIDTH] == pytest.approx(4e9)


def test_bus_bandwidth_verdict(analysis: Analysis) -> None:
    verdict = _verdict(analysis, "all-reduce", SLOW, BUSBW)
    assert verdict.ratio is not None
    assert verdict.ratio.ratios == pytest.approx((10, 8, 12.5))
    assert verdict.ratio.centre == pytest.approx(10)
    assert "has higher bus bandwidth by" in sentence(verdict, analysis.names)
    assert verdict.effect is not None and verdict.effect.winner == FAST


def test_latency_verdict(analysis: Analysis) -> None:
    verdict = _verdict(analysis, "all-gather", SLOW, LATENCY)
    assert verdict.ratio is not None and verdict.ratio.centre == pytest.approx(0.5)
    assert "the rounds show no spread" in sentence(verdict, analysis.names)


def test_control_contains_one_and_gives_the_noise_floor(analysis: Analysis) -> None:
    control = _verdict(analysis, "all-reduce", AGAIN, BUSBW)
    assert control.ratio is not None and control.ratio.centre == pytest.approx(1)
    assert not control.ratio.excludes_one
    # log-ratios 0, d, -d with d = ln 1.02: half-width 4.3027 d / sqrt(3) = 0.049193
    verdict = _verdict(analysis, "all-reduce", SLOW, BUSBW)
    assert verdict.noise_floor == pytest.approx(0.05042, abs=1e-5)
    assert noise_short_text(verdict) == "5.0 %"
    assert noise_short_text(control) == "this is the A/A control"


def test_main_verdicts_are_those_of_bandwidths(analysis: Analysis) -> None:
    found = {(v.suite, v.quantity) for v in analysis.primary}
    assert found == {("memory", MEMORY_BANDWIDTH), ("collectives", BUSBW)}
    assert [v.comparison.control for v in analysis.primary if v.suite == "memory"] == (
        [False, False, True, True]
    )


def test_a_skipped_case_says_why(analysis: Analysis) -> None:
    verdict = _verdict(analysis, "to-device", SLOW, MEMORY_BANDWIDTH)
    assert verdict.ratio is None
    assert verdict.why_none == "no round has a usable record of both platforms"
    assert any("to-device" in gap.where and SKIPPED in gap.reason for gap in analysis.gaps)


def test_training_quantities_are_not_asked_of_other_suites(analysis: Analysis) -> None:
    assert not [v for v in analysis.verdicts if v.quantity.leg]
    assert not [gap for gap in analysis.gaps if "throughput" in gap.reason]

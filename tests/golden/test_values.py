"""The golden campaign's values: all expectations can be done in the head."""

from pathlib import Path

import pytest

from commwall.analysis.breakeven import contests
from commwall.analysis.quantities import PRIMARY, Quantity
from commwall.analysis.result import Analysis, analyse_campaign
from commwall.analysis.values.derive import derive
from commwall.analysis.verdicts.decompose import Decomposition
from commwall.analysis.verdicts.judging import Verdict
from commwall.analysis.verdicts.wording import decomposition_text, noise_text, sentence, short_text
from commwall.schema.record import Record
from tests import samples
from tests.golden.build import AGAIN, CAMPAIGN, FAST, NO_COUNTER, SLOW, record, write_campaign


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    root: Path = tmp_path_factory.mktemp("golden")
    return analyse_campaign(write_campaign(root), CAMPAIGN, 0.95)


def _verdict(analysis: Analysis, b: str, quantity: Quantity) -> Verdict:
    (found,) = [v for v in analysis.verdicts if v.comparison.b == b and v.quantity == quantity]
    return found


@pytest.mark.parametrize(
    ("platform", "metric", "value"),
    [
        (FAST, "throughput_samples_per_s", 8 / 0.1),
        (FAST, "throughput_tokens_per_s", 80 * 128),
        (FAST, "epoch_time_s", 8000 / 80),
        (FAST, "exposed_comm_time_s", 0.010),
        (FAST, "overlap_ratio", 1 - 8 / 40),
        (FAST, "scaling_efficiency", 80 / 100),
        (FAST, "exchange_busbw_bytes_per_s", 8e6 / 0.040),
        (FAST, "energy_efficiency_samples_per_j", 5 * 8 / 40),
        (FAST, "peak_memory_bytes", 2**29),
        (SLOW, "throughput_samples_per_s", 8 / 0.2),
        (SLOW, "exposed_comm_time_s", 0.110),
        (SLOW, "overlap_ratio", 1 - 108 / 150),
        (SLOW, "scaling_efficiency", 80 / 200),
    ],
)
def test_derived_values_of_round_one(platform: str, metric: str, value: float) -> None:
    assert derive(record(platform, 1)).values[Quantity(metric)] == pytest.approx(value)


def test_a_step_takes_as_long_as_its_slowest_rank_and_warmup_does_not_count() -> None:
    assert derive(record(FAST, 1)).values[Quantity("step_time_s", "full")] == 0.1


def test_what_was_not_measured_is_absent_with_its_reason() -> None:
    derived = derive(record(SLOW, 1))
    quantity = Quantity("energy_efficiency_samples_per_j")
    assert quantity not in derived.values
    assert derived.absent[quantity] == NO_COUNTER


def test_images_have_no_tokens() -> None:
    golden = record(FAST, 1)
    images = golden.case.model_copy(update={"model": "resnet", "sequence_length": None})
    derived = derive(golden.model_copy(update={"case": images}))
    quantity = Quantity("throughput_tokens_per_s")
    assert quantity not in derived.values
    assert quantity not in derived.absent
    assert derived.values[PRIMARY] == pytest.approx(80)


def test_without_leg_packed_its_packing_counts_as_not_hidden() -> None:
    golden = record(FAST, 1)
    others = tuple(own for own in golden.series if own.leg != "packed")
    derived = derive(golden.model_copy(update={"series": others}))
    assert derived.values[Quantity("overlap_ratio")] == pytest.approx(1 - 10 / 40)


def test_overlap_below_zero_is_shown_as_it_is() -> None:
    assert derive(record(SLOW, 5)).values[Quantity("overlap_ratio")] == pytest.approx(-8 / 150)


def test_exposed_communication_below_zero_is_not_clipped() -> None:
    golden = record(FAST, 1)
    slower = tuple(
        s.model_copy(update={"values": tuple(2 * v for v in s.values)}) if s.leg == "nosync" else s
        for s in golden.series
    )
    derived = derive(golden.model_copy(update={"series": slower}))
    assert derived.values[Quantity("exposed_comm_time_s")] == pytest.approx(0.1 - 0.18)


def test_ranks_with_different_numbers_of_steps_give_no_step_time() -> None:
    golden = record(FAST, 1)
    short = tuple(
        s.model_copy(update={"values": s.values[:-1]}) if (s.leg, s.rank) == ("full", 1) else s
        for s in golden.series
    )
    derived = derive(golden.model_copy(update={"series": short}))
    assert "different numbers of steps: [4, 5]" in derived.absent[Quantity("step_time_s", "full")]
    assert PRIMARY not in derived.values


@pytest.mark.parametrize(("rank", "values"), [(0, ()), (1, (0.01,)), (0, (0.06, 0.064))])
def test_steps_enqueued_beforehand_count_where_a_rank_timed_both(
    rank: int, values: tuple[float, ...]
) -> None:
    """Rank 0 alone times leg single: 80 ms, of which 64 without waiting for the host."""
    golden = record(FAST, 1)
    queued = samples.series("queued_step_time_s", "s", values, "single", rank)
    derived = derive(golden.model_copy(update={"series": (*golden.series, queued)}))
    found = derived.values.get(Quantity("host_gap_share", "single"))
    assert found == (pytest.approx(0.2) if len(values) == 2 else None)
    assert derived.values[PRIMARY] == pytest.approx(80)


def test_bootstrapped_intervals_of_one_ratio_are_one_interval(tmp_path: Path) -> None:
    """From 15 rounds on rounds are resampled, by the plan's seed wherever their ratio is told."""

    def drifting(own: Record) -> Record:
        series = (
            s.model_copy(
                update={"values": tuple(v * (1 + own.id.round**2 / 1e3) for v in s.values)}
            )
            if (s.leg, own.id.platform) == ("single", SLOW)
            else s
            for s in own.series
        )
        return own.model_copy(update={"series": tuple(series)}).sealed()

    analysis = analyse_campaign(write_campaign(tmp_path, drifting, rounds=15), CAMPAIGN, 0.95)
    (part,) = analysis.decompositions
    (contest,) = contests(analysis)
    assert isinstance(part, Decomposition)
    told = {
        Quantity("step_time_s", "single"): part.per_gpu_speed,
        Quantity("step_time_s", "full"): contest.points[0].gain,
    }
    for quantity, ratio in told.items():
        around = _verdict(analysis, SLOW, quantity).ratio
        assert around and around.interval and ratio.interval
        assert around.interval.method == "bootstrap-t"
        assert ratio.interval.low == pytest.approx(1 / around.interval.high, rel=1e-9)
        assert ratio.interval.high == pytest.approx(1 / around.interval.low, rel=1e-9)


def test_throughput_verdict(analysis: Analysis) -> None:
    verdict = _verdict(analysis, SLOW, PRIMARY)
    assert verdict.ratio is not None
    assert verdict.ratio.ratios == pytest.approx((2, 2, 2, 1.6, 2.5))
    assert verdict.ratio.median == pytest.approx(2)
    assert verdict.ratio.centre == pytest.approx(2)
    assert verdict.medians == pytest.approx((80, 40))
    assert sentence(verdict, analysis.names) == (
        "fast link, emulated [golden-fast] is faster by 100 % (64 to 143, n = 5) "
        "than slow link, emulated."
    )


def test_interval_of_the_throughput_ratio(analysis: Analysis) -> None:
    # log-ratios: ln 2 + (0, 0, 0, -d, d) with d = ln 1.25 = 0.22314; deviation d / sqrt(2);
    # half-width 2.7764 d / sqrt(10) = 0.19591; 2 e^-0.19591 = 1.6442, 2 e^0.19591 = 2.4329
    verdict = _verdict(analysis, SLOW, PRIMARY)
    assert verdict.ratio is not None and verdict.ratio.interval is not None
    assert verdict.ratio.interval.low == pytest.approx(1.6442, abs=1e-4)
    assert verdict.ratio.interval.high == pytest.approx(2.4329, abs=1e-4)


def test_control_contains_one_and_gives_the_noise_floor(analysis: Analysis) -> None:
    control = _verdict(analysis, AGAIN, PRIMARY)
    assert control.ratio is not None and not control.ratio.excludes_one
    assert control.ratio.centre == pytest.approx(1)
    assert sentence(control, analysis.names).endswith(": the interval contains 1.")
    assert short_text(control) == "interval contains 1"
    # half-width of the control's log-ratios: 2.7764 ln 1.02 / sqrt(10) = 0.017386
    verdict = _verdict(analysis, SLOW, PRIMARY)
    assert verdict.noise_floor == pytest.approx(0.01754, abs=1e-5)
    assert verdict.above_noise
    assert noise_text(verdict).startswith("Noise floor: 1.8 % (A/A ratio 1.000 (0.9828 to 1.018)")


def test_less_is_better_where_the_registry_says_so(analysis: Analysis) -> None:
    verdict = _verdict(analysis, SLOW, Quantity("epoch_time_s"))
    assert verdict.effect is not None
    assert verdict.effect.winner == FAST
    assert verdict.effect.size == pytest.approx(0.5)


def test_spread_between_rounds(analysis: Analysis) -> None:
    # throughputs 40, 40, 39.2, 50, 32: (50 - 32) / 40
    assert _verdict(analysis, SLOW, PRIMARY).spreads[1] == pytest.approx(18 / 40)


def test_gap_is_the_product_of_its_factors(analysis: Analysis) -> None:
    (part,) = analysis.decompositions
    assert isinstance(part, Decomposition)
    assert part.gap.centre == pytest.approx(2)
    assert part.per_gpu_speed.centre == pytest.approx(1)
    assert part.scaling.centre == pytest.approx(2)
    assert part.gap.centre == pytest.approx(part.per_gpu_speed.centre * part.scaling.centre)
    text = decomposition_text(part)
    assert "Input effect: not measured" in text
    # the interval of the throughput ratio; one process alone takes the same in every round
    around = "2.000 (1.644 to 2.433)"
    assert (
        f"gap {around} = speed of one process alone 1.000 (no interval) x scaling {around}" in text
    )


def test_a_quantity_that_no_logarithm_can_take_has_no_ratio(analysis: Analysis) -> None:
    verdict = _verdict(analysis, SLOW, Quantity("overlap_ratio"))
    assert verdict.ratio is None
    assert verdict.why_none == "golden-slow is not above zero in round 5: no ratio"


def test_every_verdict_calls_emulated_links_emulated(analysis: Analysis) -> None:
    assert all("emulated" in sentence(v, analysis.names) for v in analysis.verdicts)


def test_throughput_comes_first(analysis: Analysis) -> None:
    assert analysis.verdicts[0].quantity == PRIMARY
    assert [v.comparison.control for v in analysis.primary] == [False, True]

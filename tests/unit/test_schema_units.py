"""Stored SI values become words; each metric says unit and direction in one voice."""

import pytest

from commwall.language.translate import around_text
from commwall.schema import units
from commwall.schema.metrics import METRICS

SUFFIXES = {
    "_samples_per_wh": "sample/Wh",
    "_w": "W",
    "_bytes_per_s": "byte/s",
    "_samples_per_s": "sample/s",
    "_tokens_per_s": "token/s",
    "_tokens_per_s_per_gpu": "token/s",
    "_samples_per_j": "sample/J",
    "_bytes": "byte",
    "_time_s": "s",
    "latency_s": "s",
    "_j": "J",
    "_j_per_sample": "J/sample",
    "_hz": "Hz",
    "temperature_c": "°C",
}


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234.5, "1,234"), (0.012345, "0.0123"), (9.876, "9.88"), (0, "0"), (-2.5, "-2.50")],
)
def test_significant_digits(value: float, text: str) -> None:
    assert units.significant(value) == text


@pytest.mark.parametrize("value", [0.9996, 9.996, 99.96])
def test_rounding_up_keeps_the_number_of_digits(value: float) -> None:
    assert len(units.significant(value).replace(".", "")) == 3


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0125, "12.5 ms"),
        (20e-6, "20.0 µs"),
        (5e-9, "5.00 ns"),
        (1.5, "1.50 s"),
        (119, "119 s"),
        (120, "2.00 min"),
        (7200, "2.00 h"),
    ],
)
def test_times(seconds: float, text: str) -> None:
    assert units.time_text(seconds) == text


def test_rates_are_decimal_and_sizes_binary() -> None:
    assert units.rate_text(0.62e9) == "620 MB/s"
    assert units.rate_text(344e9) == "344 GB/s"
    assert units.size_text(25 * 2**20) == "25 MiB"
    assert units.size_text(3 * 2**30) == "3 GiB"
    assert (units.size_text(1), units.size_text(1023)) == ("1 B", "1,023 B")
    assert units.size_text(1.5 * 2**20) == "1.50 MiB"
    assert units.size_text(2**30 + 1) == "1.00 GiB"  # not exactly one


def test_a_common_unit_of_a_range_stands_once() -> None:
    assert around_text("2.10 ms", "1.90 ms", "2.40 ms") == "2.10 ms (1.90 to 2.40)"
    assert around_text("1.00 ms", "990 µs", "1.10 ms") == "1.00 ms (990 µs to 1.10 ms)"
    assert around_text("0.5", "0.4", "0.6") == "0.5 (0.4 to 0.6)"


def test_what_was_moved_is_in_the_units_of_its_rate() -> None:
    assert units.volume_text(2.4e11) == "240 GB"
    assert units.volume_text(5 * 2**30) == "5.37 GB"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.5, "s", "500 ms"),
        (2e9, "byte/s", "2.00 GB/s"),
        (2**20, "byte", "1 MiB"),
        (0.5, "1", "0.500"),
        (12.0, "J", "12.0 J"),
    ],
)
def test_quantities(value: float, unit: str, text: str) -> None:
    assert units.quantity_text(value, unit) == text


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.id)
def test_a_metric_carries_its_unit_in_its_name(metric: object) -> None:
    ends = [unit for end, unit in SUFFIXES.items() if metric.id.endswith(end)]
    assert metric.unit == (ends[0] if ends else "1")


def test_metrics_are_complete() -> None:
    assert len(METRICS) == len({metric.label for metric in METRICS.values()})
    for metric in METRICS.values():
        assert metric.definition.endswith(".")
        assert metric.source

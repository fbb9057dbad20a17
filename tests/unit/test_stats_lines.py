"""Lines through times over sizes: exact where there is a line, even-handed where there is none."""

import numpy as np
import pytest

from commwall.stats.lines import relative_line

SIZES = [8.0 * 4**power for power in range(15)]
LATENCY_S, RATE = 12e-6, 340e9


def times_s(latency_s: float = LATENCY_S, rate: float = RATE) -> list[float]:
    return [latency_s + size / rate for size in SIZES]


def test_points_of_a_line_give_it_back() -> None:
    line = relative_line(SIZES, times_s())
    assert line is not None
    assert line.intercept == pytest.approx(LATENCY_S)
    assert 1 / line.slope == pytest.approx(RATE)
    assert max(map(abs, line.misfits(SIZES, times_s()))) < 1e-9


def test_small_sizes_have_their_say() -> None:
    """A few per cent at the large end leave the latency where it is."""
    noisy = [*times_s()[:-2], 0.96 * times_s()[-2], 1.04 * times_s()[-1]]
    line = relative_line(SIZES, noisy)
    assert line is not None
    assert line.intercept == pytest.approx(LATENCY_S, rel=0.01)
    assert 1 / line.slope == pytest.approx(RATE, rel=0.02)
    plain = np.polyfit(SIZES, noisy, 1)[1]  # what unweighted least squares makes of it
    assert abs(plain / LATENCY_S - 1) > 0.5


def test_it_is_the_best_line_of_relative_misfits() -> None:
    bent = [time_s * (1.3 if index == 8 else 1) for index, time_s in enumerate(times_s())]
    line = relative_line(SIZES, bent)
    assert line is not None

    def squares(latency_s: float, slope: float) -> float:
        own = [latency_s + slope * size for size in SIZES]
        return sum((a / b - 1) ** 2 for a, b in zip(own, bent, strict=True))

    least = squares(line.intercept, line.slope)
    for near in (0.99, 1.01):
        assert squares(near * line.intercept, line.slope) > least
        assert squares(line.intercept, near * line.slope) > least


@pytest.mark.parametrize(
    ("x", "y"),
    [([1.0, 2.0], [1.0, 2.0]), ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]), ([1.0, 2.0, 3.0], [1, 0, 1])],
)
def test_no_line_through_too_little(x: list[float], y: list[float]) -> None:
    assert relative_line(x, y) is None

"""What a record keeps of a value."""

import struct

import pytest

from commwall.measure.assembly import as_kept
from commwall.schema.result import Series


def kept(*values: float) -> tuple[float, ...]:
    return as_kept(Series(metric="step_time_s", unit="s", values=values)).values


def test_whole_numbers_are_kept_whole() -> None:
    counted = (207776474112.0, 0.0, -3.0, 2.0**60)
    assert kept(*counted) == counted


def test_other_values_keep_the_digits_of_a_float32() -> None:
    told = struct.unpack("f", struct.pack("f", 12.062080383300781))[0] / 1e3
    assert kept(told)[0] == pytest.approx(told, rel=2**-24)
    assert len(repr(kept(told)[0])) <= len("0.012345678")


def test_a_value_near_a_whole_number_is_not_taken_for_one() -> None:
    assert kept(1.0000001) == (1.0000001,)

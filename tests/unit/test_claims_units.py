"""Units as people write them, and the small language of relations."""

import pytest

from commwall.claims.expressions import (
    ExpressionError,
    evaluate,
    names_in,
    parse,
    parse_relation,
)
from commwall.claims.wording import told, told_in, told_range
from commwall.schema.errors import UnitError
from commwall.schema.quantities import Quantity, dimension_text, unit_of


@pytest.mark.parametrize(
    ("text", "value", "dimension"),
    [
        ("GB/s", 1e9, "byte/s"),
        ("GiB", 2**30, "byte"),
        ("Gb/s", 1.25e8, "byte/s"),
        ("ms", 1e-3, "s"),
        ("TFLOPS", 1e12, "FLOP/s"),
        ("W", 1.0, "J/s"),
        ("kW", 1000.0, "J/s"),
        ("sample/Wh", 1 / 3600, "sample/J"),
        ("$/h", 1 / 3600, "$/s"),
        ("training/month", 1.0, "1/month"),
        ("images", 1.0, "image"),
        ("token/s/GPU", 1.0, "token/s"),
        ("%", 0.01, "1"),
    ],
)
def test_units_have_size_and_kind(text: str, value: float, dimension: str) -> None:
    found = unit_of(text)
    assert found.value == pytest.approx(value)
    assert dimension_text(found.dimension) == dimension


@pytest.mark.parametrize("text", ["GBps", "furlong", "GB//s", ""])
def test_an_unknown_unit_is_refused(text: str) -> None:
    with pytest.raises(UnitError, match="unknown unit"):
        unit_of(text)


def test_other_kinds_are_not_added() -> None:
    with pytest.raises(UnitError, match="two kinds"):
        unit_of("GB") + unit_of("s")


def value(text: str, **known: tuple[float, str]) -> Quantity:
    names = {name: Quantity(size) * unit_of(unit) for name, (size, unit) in known.items()}
    return evaluate(parse(text), names)


def test_arithmetic_keeps_the_units() -> None:
    found = value("volume / rate", volume=(28, "GB"), rate=(64, "GB/s"))
    assert (found.value, dimension_text(found.dimension)) == (pytest.approx(0.4375), "s")
    assert value("2 * h ** 2 / 8", h=(8192, "1")).value == 2**24


def test_formulas_take_only_their_units() -> None:
    """8 GPUs, 1 GB, 1.75 GB on each link at 100 GB/s: 17.5 ms."""
    known = {"message": (1, "GB"), "rate": (100, "GB/s")}
    assert value("all_reduce_time(message, 8, rate)", **known).value == pytest.approx(0.0175)
    assert value("bubble(8, 16)").value == pytest.approx(7 / 23)
    with pytest.raises(UnitError, match="another kind"):
        value("all_reduce_time(rate, 8, message)", **known)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a +", "is no expression"),
        ("a[0]", "is not allowed"),
        ("a.b", "is not allowed"),
        ("__import__(a)", "there is no formula"),
        ("(lambda: a)()", "is not allowed"),
        ("'a' * 3", "is not allowed"),
        ("a ** 9", "a power is 2 or 3"),
        ("a ** a", "a power is 2 or 3"),
        ("bubble(8)", "takes 2 values, not 1"),
        ("unheard + a", "is not known here"),
        ("a if a else a", "is not allowed"),
    ],
)
def test_nothing_else_is_evaluated(text: str, reason: str) -> None:
    with pytest.raises(ExpressionError, match=reason):
        value(text, a=(1, "1"))


@pytest.mark.parametrize("text", ["a", "a < b < c", "a != b", "a = b", "a and b"])
def test_a_relation_compares_two_things(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_relation(text)


def test_names_of_formulas_are_no_names() -> None:
    assert names_in(parse("bubble(stages, m) + stages")) == {"stages", "m"}


def test_values_are_told_in_units_that_readers_expect() -> None:
    assert told(unit_of("GB/s")) == "1.00 GB/s"
    assert told(Quantity(352.0) * unit_of("MB")) == "352 MB"
    assert told(Quantity(16.0)) == "16"
    assert told_range([3.2e8, 3.52e8], unit_of("byte").dimension) == "320 to 352 MB"
    assert told_in([9482.0], "h") == "2.63 h"
    assert told_in([5.62], "month") == "5.62 months"
    assert told_in([2.88e17], "EFLOPS") == "0.288 EFLOPS"
    assert told_in([0.135, 0.179], "%") == "13.5 to 17.9 %"

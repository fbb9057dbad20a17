"""Each rule of the checker, on claims that are made up so that the answer is known."""

from typing import Any

import pytest

from commwall.claims.factbook import FactBook, KnownValue, Vocabulary
from commwall.claims.judging import Judged, count, judge
from commwall.schema.claims import Claim
from commwall.schema.quantities import Quantity, unit_of


def known(value: float, unit: str, most: float | None = None, **more: Any) -> KnownValue:
    ends = (Quantity(end) * unit_of(unit) for end in (value, most or value))
    return KnownValue("a/b", *ends, "a source", **more)


BOOK = FactBook(
    values={
        "link": known(450, "GB/s"),
        "share": known(0.2, "1", 0.9),
        "price": known(100, "k$", varies=True),
        "rate": known(60, "sequence/s"),
    },
    words={},
    vocabularies={
        "whole": Vocabulary(
            title="the names", complete=True, words=("NCCL_ALGO",), source="a manual"
        ),
        "part": Vocabulary(title="the columns", complete=False, words=("dmon",), source="a manual"),
    },
)


def judged(**parts: Any) -> Judged:
    numbers = {
        name: dict(zip(("value", "unit"), each, strict=False)) | (each[2] if each[2:] else {})
        for name, each in parts.pop("numbers", {}).items()
    }
    claim = Claim.model_validate({"id": "a", "says": "a text", "numbers": numbers, **parts})
    return judge(claim, BOOK)


def test_arithmetic_that_is_right_within_the_last_digit_holds() -> None:
    numbers = {"a": (1520, "img/s"), "b": (1840, "img/s"), "gain": (21, "%")}
    assert judged(numbers=numbers, relations=["b / a == 1 + gain"]).verdict == "holds"
    numbers["gain"] = (23, "%")
    assert judged(numbers=numbers, relations=["b / a == 1 + gain"]).verdict == "wrong"


def test_numbers_of_two_places_contradict_each_other() -> None:
    numbers = {
        "slow": (28, "ms"),
        "fast": (9, "ms"),
        "factor": (2.7, "x", {"place": "remark"}),
    }
    assert judged(numbers=numbers, relations=["slow / fast == factor"]).verdict == "inconsistent"
    numbers["factor"] = (3.1, "x", {"place": "remark"})
    assert judged(numbers=numbers, relations=["slow / fast == factor"]).verdict == "holds"


@pytest.mark.parametrize(
    ("direction", "verdict"), [("both", "holds"), ("unstated", "unit"), ("one", "unit")]
)
def test_directions_are_compared_in_one(direction: str, verdict: str) -> None:
    found = judged(
        numbers={"rate": (900, "GB/s", {"direction": direction})},
        facts={"link": "link"},
        relations=["rate == link"],
    )
    assert found.verdict == verdict
    assert ("both directions added" in found.findings[0].words) == (verdict == "unit")


def test_a_rate_of_one_direction_called_both_is_a_unit_error() -> None:
    found = judged(
        numbers={"rate": (450, "GB/s", {"direction": "both"})},
        facts={"link": "link"},
        relations=["rate == link"],
    )
    assert found.verdict == "unit"


def test_a_number_that_no_reading_saves_is_wrong() -> None:
    found = judged(
        numbers={"rate": (700, "GB/s", {"direction": "unstated"})},
        facts={"link": "link"},
        relations=["rate == link"],
    )
    assert found.verdict == "wrong"
    assert found.sources == ("a source",)


def test_bits_thousands_and_sums_of_gpus_are_tried() -> None:
    bits = {"volume": (1.0, "GB"), "rate": (8.0, "Gb/s"), "time": (0.125, "s")}
    assert judged(numbers=bits, relations=["volume / rate == time"]).verdict == "unit"
    thousand = {"volume": (1.0, "GB"), "rate": (1.0, "GB/s"), "time": (1.0, "ms")}
    assert judged(numbers=thousand, relations=["volume / rate == time"]).verdict == "unit"
    eight = {"rate": (7.5, "sequence/s", {"gpus": 8})}
    found = judged(numbers=eight, facts={"known": "rate"}, relations=["rate == known"])
    assert found.verdict == "unit"
    assert "each of the 8 GPUs" in found.findings[0].words


def test_a_bound_is_not_talked_away_by_another_reading() -> None:
    found = judged(
        numbers={"rate": (600, "GB/s", {"direction": "one"})},
        facts={"link": "link"},
        relations=["rate <= link"],
    )
    assert found.verdict == "wrong"


def test_images_are_no_sequences() -> None:
    numbers = {"rate": (51, "img/s")}
    found = judged(numbers=numbers, facts={"known": "rate"}, relations=["rate <= known"])
    assert found.verdict == "unit"
    assert "image/s with sequence/s" in found.findings[0].words


def test_a_nominal_rate_is_not_one_that_was_reached() -> None:
    def told(**more: Any) -> str:
        numbers = {"rate": (450, "GB/s", {"direction": "one", **more})}
        return judged(numbers=numbers, facts={"a": "link"}, relations=["rate <= a"]).verdict

    assert told() == "holds"
    assert told(reached=True) == "unit"


def test_a_price_proves_nothing_wrong() -> None:
    numbers = {"price": (28, "k$")}
    facts = {"other": "price"}
    assert judged(numbers=numbers, facts=facts, relations=["price >= other"]).verdict == (
        "unsupported"
    )


def test_a_value_within_a_wide_range_depends_on_the_machine() -> None:
    numbers = {"share": (40, "%")}
    facts = {"reported": "share"}
    assert judged(numbers=numbers, facts=facts, relations=["share == reported"]).verdict == (
        "conditional"
    )
    numbers = {"share": (95, "%")}
    assert judged(numbers=numbers, facts=facts, relations=["share == reported"]).verdict == "wrong"


BUBBLE = {
    "words": "the number of micro-batches",
    "unit": "1",
    "within": [1, 1000],
    "equation": "bubble(8, m) == share",
}


@pytest.mark.parametrize(
    ("role", "verdict"), [("setting", "conditional"), ("outcome", "unsupported")]
)
def test_what_is_not_told_is_solved_for(role: str, verdict: str) -> None:
    """7 / (m + 7) = 0.28 for m = 18."""
    found = judged(numbers={"share": (28, "%")}, unknowns={"m": {**BUBBLE, "role": role}})
    assert found.verdict == verdict
    assert "18" in found.findings[0].words


def test_what_nothing_makes_true_is_wrong() -> None:
    found = judged(numbers={"share": (95, "%")}, unknowns={"m": {**BUBBLE, "role": "setting"}})
    assert found.verdict == "wrong"
    assert "impossible" in found.findings[0].words


def test_a_step_is_shown_and_used() -> None:
    found = judged(
        numbers={"share": (28, "%")},
        unknowns={"m": {**BUBBLE, "role": "step"}},
        relations=["m == 18"],
        shown={"half": {"of": "m / 2", "unit": "1", "words": "half of it"}},
    )
    assert found.verdict == "holds"
    assert [(value.words, value.text) for value in found.values] == [
        ("the number of micro-batches", "18.0"),
        ("half of it", "9.00"),
    ]


AT = {"depth": [8, "stage"], "m": [16, "1"]}


@pytest.mark.parametrize(
    ("text", "more", "verdict"),
    [
        ("(depth - 1) / (m + depth - 1)", {}, "holds"),
        ("depth", {"only_scaling": True}, "wrong"),
        ("(depth - 1) / m", {}, "wrong"),
    ],
)
def test_formulas_are_compared_by_how_they_grow(
    text: str, more: dict[str, Any], verdict: str
) -> None:
    formula = {"text": text, "documented": "bubble(depth, m)", "unit": "1", "at": AT, **more}
    assert judged(formulas=[formula]).verdict == verdict


def test_a_formula_that_needs_another_meaning_is_conditional() -> None:
    formula = {
        "text": "(depth - 1) / (batch + depth - 1)",
        "documented": "bubble(depth, m)",
        "unit": "1",
        "at": {"depth": [8, "stage"], "batch": [16, "1"]},
        "reads": {"batch": "m"},
    }
    found = judged(formulas=[formula])
    assert found.verdict == "conditional"
    assert "batch means m" in found.findings[0].words


def test_a_formula_of_the_wrong_kind_is_wrong() -> None:
    at = {"parameters": [7e10, "parameter"], "memory": [80, "GB"]}
    formula = {"text": "parameters / memory", "unit": "GPU", "at": at}
    found = judged(formulas=[formula])
    assert found.verdict == "wrong"
    assert "parameter/byte, not 1" in found.findings[0].words


@pytest.mark.parametrize(
    ("word", "vocabulary", "verdict"),
    [
        ("NCCL_ALGO", "whole", "holds"),
        ("NCCL_ALGOS", "whole", "wrong"),
        ("other", "part", "unsupported"),
    ],
)
def test_words_are_looked_up(word: str, vocabulary: str, verdict: str) -> None:
    found = judged(words={word: vocabulary})
    assert found.verdict == verdict
    assert vocabulary not in found.findings[0].words, "readers get words, no key of a file"


def test_what_was_shown_for_inference_is_said_so() -> None:
    context = {"workload": "inference"}
    assert judged(context=context, relations=["1 == 1"]).verdict == "conditional"
    assert judged(context=context, scope=context, relations=["1 == 1"]).verdict == "holds"


def test_nothing_to_compute_cannot_be_checked() -> None:
    assert judged().verdict == "unsupported"


def test_the_gravest_finding_decides() -> None:
    found = judged(relations=["1 == 1", "1 == 2"], context={"a": "b"})
    assert found.verdict == "wrong"
    assert [finding.outcome for finding in found.deciding] == ["wrong"]
    assert count([found, judged()]) == {
        "wrong": 1, "inconsistent": 0, "unit": 0, "unsupported": 1, "conditional": 0, "holds": 0,
    }  # fmt: skip


@pytest.mark.parametrize("zero", [(0, "GB/s"), (1, "GB/s", {"about_percent": 100})])
def test_what_may_be_divided_by_zero_is_not_said_to_hold(zero: tuple[Any, ...]) -> None:
    numbers = {"a": (900, "GB/s"), "b": zero, "f": (10, "x")}
    found = judged(numbers=numbers, relations=["a / b == f"])
    assert found.verdict == "unsupported"
    assert "b, by which it divides, may be 0" in found.findings[0].words


def test_a_number_beyond_all_bounds_proves_nothing_wrong() -> None:
    numbers = {"a": (1e308, "TB/s"), "f": (10, "x")}
    assert judged(numbers=numbers, relations=["a / a == f"]).verdict == "unsupported"
    times = {"t": (0.5, "s", {"about_percent": 100}), "n": (8, "GPU"), "a": (1, "GB")}
    busbw = "all_reduce_busbw(a, n, t) == a / (8 * t)"
    assert judged(numbers=times, relations=[busbw]).verdict == "unsupported"


def test_a_pole_is_no_solution() -> None:
    unknown = {"equation": "f / q == 2", "unit": "x", "within": (-50, 100), "words": "w"}
    found = judged(numbers={"f": (10, "x")}, unknowns={"q": {**unknown, "role": "step"}})
    assert [value.text for value in found.values] == ["5"]
    rate = {"equation": "all_reduce_time(m, 2, q) == t", "unit": "GB/s", "within": (0, 100)}
    found = judged(
        numbers={"m": (20, "GB"), "t": (1, "s")},
        unknowns={"q": {**rate, "words": "w", "role": "step"}},
    )
    assert [value.text for value in found.values] == ["20 GB/s"]

"""The table of nccl-tests: outputs of seven years, cut off and damaged ones."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from commwall.readers.nccl_tests_table import Timing, read_table

DATA = Path(__file__).parents[1] / "data/corpus"
NAMES = sorted(path.stem for path in DATA.glob("nt-*.txt"))


def text_of(name: str) -> str:
    return (DATA / f"{name}.txt").read_text(encoding="utf-8")


def half(found: Timing | None) -> tuple[float | None, float | None] | None:
    return found and (pytest.approx(found.time_s), found.wrong)


def expected_half(row: dict[str, Any] | None) -> tuple[float | None, float | None] | None:
    return row and (row["time_us"] / 1e6, row["err"])


@pytest.mark.parametrize("name", NAMES)
def test_every_row_is_read(name: str) -> None:
    expected = json.loads((DATA / f"{name}.expected.json").read_text(encoding="utf-8"))
    found = read_table(text_of(name))
    assert [
        (row.size_bytes, row.dtype, half(row.out_of_place), half(row.in_place))
        for row in found.rows
    ] == [
        (row["size"], row["type"], expected_half(row["oop"]), expected_half(row["ip"]))
        for row in expected["rows"]
    ]
    assert bool(found.failure) is bool(expected["failed"])


@pytest.mark.parametrize("name", NAMES)
def test_a_table_cut_off_anywhere_gives_whole_rows(name: str) -> None:
    text = text_of(name)
    whole = read_table(text).rows
    for end in range(0, len(text), 7):
        found = read_table(text[:end]).rows
        # The last row may lack the end of its last number.
        assert found[:-1] == whole[: len(found)][:-1]


@pytest.mark.parametrize("seed", range(30))
def test_damage_stops_nothing(seed: int) -> None:
    chance = random.Random(seed)
    text = text_of(chance.choice(NAMES))
    letters = list(text)
    for _ in range(40):
        letters[chance.randrange(len(letters))] = chr(chance.randrange(1, 0x2000))
    lines = len(text.splitlines())
    assert len(read_table("".join(letters)).rows) <= lines


def test_what_is_no_table_has_no_rows() -> None:
    assert read_table("").rows == ()
    assert read_table("8 2 float sum -1 1 2 3 0 1 2 3 0\n").rows == (), "no header, no meaning"

"""The quick way to a record's digest agrees with the careful one, or leaves the record to it."""

import json
from pathlib import Path

import pytest

from commwall.records.quick import sealed_record
from commwall.records.store import read_record
from commwall.records.texts import record_text
from commwall.schema.errors import RecordError
from commwall.schema.record import Record
from tests.golden import build, many

SAMPLES = sorted(Path(__file__).parents[2].glob("results/gpu-sample-*/records/**/*.json"))


def text_of(record: Record) -> bytes:
    return record_text(record).encode()


def test_every_record_of_the_sample_is_taken_quickly_and_comes_out_the_same() -> None:
    assert len(SAMPLES) > 20
    with_series = [path for path in SAMPLES if json.loads(path.read_bytes())["series"]]
    for path in with_series:
        assert sealed_record(path.read_bytes()) == Record.model_validate(
            json.loads(path.read_bytes())
        )


def test_any_other_digit_is_seen() -> None:
    text = text_of(build.record(build.FAST, 1))
    places = [place for place, byte in enumerate(text) if chr(byte) in "123456"]
    assert len(places) > 200
    for place in places:
        changed = text[:place] + bytes([text[place] + 1]) + text[place + 1 :]
        assert sealed_record(changed) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"values":[', b'"values":[[1,2],'),
        (b'"values":[', b'"values":["'),
        (b'"values":[', b'"values":[NaN,'),
        (b'"values":[', b'"values":[1],"values":['),
        (b'"values":[', b'"values": ['),
        (b"0.098", b"0.0 98"),
        (b'"rank":0', b'"rank":0,"rank":0'),
        (b'"cpu_count": 2', b'"cpu_count": 2, "cpu_count": 2'),
        (b'"cpu_count": 2', b'"cpu_count": 2, "values": 0'),
        (b'"series": [', b'"series": 3, "others": ['),
        (b"{", b"[{"),
        (b'"digest"', b'"digests"'),
    ],
)
def test_what_is_written_otherwise_is_left_to_the_careful_way(old: bytes, new: bytes) -> None:
    text = text_of(build.record(build.FAST, 1))
    assert old in text
    assert sealed_record(text.replace(old, new, 1)) is None


@pytest.mark.parametrize("text", [b"", b"[]", b"null", b'"values":[', b"[" * 100_000])
def test_what_is_no_record_is_left_to_the_careful_way(text: bytes) -> None:
    assert sealed_record(text) is None


def test_words_that_look_like_values_stay_words() -> None:
    words = 'found "values":[1,2], "values":0, expected [1, 2]'
    record = many.training_record(build.FAST, "bert", 1)
    checks = tuple(check.model_copy(update={"found": words}) for check in record.checks)
    own = record.model_copy(update={"checks": checks}).sealed()
    assert sealed_record(text_of(own)) == own
    changed = text_of(own).replace(b"[1,2]", b"[1, 2]", 1)
    assert changed != text_of(own)
    assert sealed_record(changed) is None


def test_a_key_that_stands_twice_is_seen_though_quotes_are_written_otherwise() -> None:
    record = build.record(build.FAST, 1)
    machine = record.machine.model_copy(update={"cpu_model": 'so called "CPU"'})
    text = text_of(record.model_copy(update={"machine": machine}).sealed())
    assert sealed_record(text) is not None
    twice = text.replace(b'"cpu_count": 2', b'"cpu_count": 2, "cpu_count": 2')
    assert sealed_record(twice.replace(rb"\"", rb"\u0022")) is None


def test_a_sealed_number_beyond_all_bounds_is_left_to_the_careful_way() -> None:
    record = build.record(build.FAST, 1)
    huge = record.series[0].model_copy(update={"values": (1e300,)})
    assert sealed_record(text_of(record.model_copy(update={"series": (huge,)}).sealed())) is None
    machine = record.machine.model_copy(update={"memory_bytes": 10**30})
    assert sealed_record(text_of(record.model_copy(update={"machine": machine}).sealed())) is None


def test_another_layout_is_as_valid(tmp_path: Path) -> None:
    record = build.record(build.FAST, 1)
    path = tmp_path / "golden/records/golden-fast/training/bert-golden/r01.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(record.model_dump(mode="json")))
    assert sealed_record(path.read_bytes()) is None
    assert read_record(path) == record
    path.write_text(path.read_text().replace("0.098", "0.097", 1))
    with pytest.raises(RecordError, match="it was edited"):
        read_record(path)

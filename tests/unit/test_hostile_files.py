"""Files that strangers made: refused with a reason, in bounded time and memory, or read exactly."""

import gzip
import json
import os
import random
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commwall.records import files, predictions
from commwall.records.arrival import take_in
from commwall.records.bundle import BundleError, BundleList
from commwall.records.layout import Layout
from commwall.records.store import read_plan, read_record, write_record
from commwall.records.texts import model_text
from commwall.schema.base import digest
from commwall.schema.config import Config
from commwall.schema.errors import CommwallError, ConfigError, PlanError, RecordError
from commwall.schema.parsing import parse_json, parse_json_model, parse_model, parse_yaml
from commwall.schema.plan import Comparison, Plan
from commwall.schema.record import Record
from commwall.schema.treatment import NcclVariables
from tests import samples
from tests.clock import cpu_seconds
from tests.golden.build import record as golden_record

MIB = 2**20
SECONDS = 10.0
"""What any one hostile file may cost; most are refused in milliseconds."""
MEMORY_BYTES = 2**30


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    record = samples.record(
        samples.plan(),
        "fast",
        1,
        measured=(samples.series("step_time_s", "s", (0.1, 2e-05), "full"),),
    )
    return write_record(Layout(tmp_path), record)


def resealed(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Change a record and give it the digest that its new content asks for."""
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    content["digest"] = digest({k: v for k, v in content.items() if k != "digest"})
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def misread(path: Path, content: bytes, original: Record) -> bool:
    """Whether a damaged record passes for something that was not written."""
    path.write_bytes(content)
    try:
        return read_record(path) != original
    except RecordError:
        return False


# Damage ------------------------------------------------------------------------------------


def test_a_flipped_bit_in_any_byte_is_found(stored: Path) -> None:
    original, text = read_record(stored), stored.read_bytes()
    dice = random.Random(1)
    for place in range(len(text)):
        flipped = bytearray(text)
        flipped[place] ^= 1 << dice.randrange(8)
        assert not misread(stored, bytes(flipped), original), f"byte {place}"


def test_a_record_cut_off_anywhere_is_found(stored: Path) -> None:
    original, text = read_record(stored), stored.read_bytes()
    for length in range(len(text)):
        assert not misread(stored, text[:length], original), f"{length} byte"


def test_random_damage_of_a_large_record_is_found(tmp_path: Path) -> None:
    path = write_record(Layout(tmp_path), golden_record("golden-fast", 1))
    original, text = read_record(path), path.read_bytes()
    dice = random.Random(2)
    for _ in range(200):
        damaged = bytearray(text)
        for _ in range(dice.choice((1, 2, 8))):
            damaged[dice.randrange(len(text))] ^= 1 << dice.randrange(8)
        start = dice.randrange(len(text))
        torn = text[:start] + bytes(dice.randrange(1, 4096)) + text[start + 4096 :]
        assert not misread(path, bytes(damaged), original)
        assert not misread(path, torn, original), "a page of the disk that was never written"


# Records -----------------------------------------------------------------------------------


def _set(*place: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: Any) -> None:
        for key in place[:-1]:
            content = content[key]
        content[place[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (_set("machine", "cpu_model", to="\ud800"), "surrogates not allowed"),
        (_set("software", "variables", to={"\udfff": "1"}), "surrogates not allowed"),
        (_set("machine", "memory_bytes", to=10**400), "hundreds of digits"),
        (_set("machine", "cpu_count", to=10**4000), "hundreds of digits"),
        (_set("machine", "cpu_count", to=-1), "greater than 0"),
        (_set("measured_at", to="2026-01-01T00:00:00"), "timezone"),
        (_set("id", "round", to=10**17), "another place"),
        (_set("id", "platform", to="../../../etc"), "id.platform"),
        (_set("id", "campaign", to="a/b"), "id.campaign"),
        (_set("series", 0, "values", to=[[]] * 500_000), "500000 of them"),
        (_set("series", 0, "values", to=["x"] * 9_999), "9949 more"),
        (_set("machine", "cpu_model", to={"x" * MIB: 1}), "valid string"),
        (lambda content: content.update({"x" * MIB: 1}), "unknown key"),
        (lambda content: content.update({f"k{i}": 1 for i in range(9_000)}), "8950 more"),
    ],
)
def test_a_sealed_record_that_cannot_be_is_refused_in_few_words(
    stored: Path, change: Callable[[dict[str, Any]], object], word: str
) -> None:
    resealed(stored, change)
    with pytest.raises(RecordError) as caught:
        read_record(stored)
    assert word in str(caught.value)
    assert len(str(caught.value)) < 20_000


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("[0.1,2e-05]", "[NaN, 0.2]", "finite number"),
        ("[0.1,2e-05]", "[-Infinity, 0.2]", "finite number"),
        ("[0.1,2e-05]", "[1e999, 0.2]", "finite number"),
        ("[0.1,2e-05]", f"[{'9' * 5000}, 0.2]", "4300"),
        ('"cpu_count": 2', '"cpu_count": 64, "cpu_count": 2', "'cpu_count' stands twice"),
        ('"digest":', '"digest": "0", "digest":', "'digest' stands twice"),
    ],
)
def test_a_text_that_others_read_otherwise_is_refused(
    stored: Path, old: str, new: str, word: str
) -> None:
    text = stored.read_text(encoding="utf-8")
    assert text.count(old) == 1
    stored.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(RecordError, match=word):
        read_record(stored)


def test_what_is_no_plain_file_is_not_waited_for(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = stored.read_bytes()
    stored.unlink()
    os.mkfifo(stored)
    with pytest.raises(RecordError, match="no plain file"):
        read_record(stored)
    stored.unlink()
    stored.symlink_to("/dev/zero")
    with pytest.raises(RecordError, match="no plain file"):
        read_record(stored)
    stored.unlink()
    elsewhere = stored.with_name("kept-elsewhere")
    elsewhere.write_bytes(content)
    stored.symlink_to(elsewhere)
    assert read_record(stored).id.round == 1, "large files may be kept apart"
    monkeypatch.setattr(files, "LARGEST_FILE_BYTES", 100)
    with pytest.raises(RecordError, match="more than 100"):
        read_record(stored)


def test_a_name_among_predictions_leads_to_records_only(tmp_path: Path) -> None:
    for name in ("/dev/zero", "../../../etc/passwd", "plan.json"):
        with pytest.raises(predictions.PredictionError, match="no record has"):
            predictions._basis_record(Layout(tmp_path), "golden", name, "0")


# Plans and treatments ----------------------------------------------------------------------


def _planned(**changes: Any) -> Plan:
    return Plan.model_validate(samples.plan().model_dump() | changes)


def test_a_plan_that_nobody_could_measure_is_refused(tmp_path: Path) -> None:
    suite = samples.plan().suites[0]
    endless = suite.model_copy(update={"orders": suite.orders[:1] * 10_000})
    path = Layout(tmp_path).plan_path("golden")
    for own in (
        samples.plan().model_copy(update={"suites": (endless,)}),
        samples.plan().model_copy(
            update={"comparisons": (Comparison(a="fast", b="slow"),) * 20_001}
        ),
    ):
        files.write_atomically(path, model_text(own))
        with pytest.raises(PlanError, match="at most 20000"):
            read_plan(path)


@pytest.mark.parametrize("name", ["LD_PRELOAD", "PATH", "PYTHONPATH", "NCCL_X=1\nPATH", "nccl_x"])
def test_a_treatment_sets_variables_of_nccl_only(name: str) -> None:
    label = {"title": "t", "stands_for": "s", "does_not_cover": "d"}
    with pytest.raises(ConfigError, match="variables"):
        parse_model(NcclVariables, {"label": label, "variables": {name: "1"}}, "x.yaml")


@pytest.mark.parametrize("name", ["site", "pages"])
def test_no_campaign_has_the_name_of_a_folder_that_is_made_anew(tmp_path: Path, name: str) -> None:
    layout = Layout(tmp_path)
    files.write_atomically(layout.plan_path(name), model_text(_planned(id=name)))
    assert layout.campaigns() == ()
    listed = BundleList(campaign=name, files={})
    text = model_text(listed).encode()
    bundle = _header("bundle.json", size=len(text)) + text + bytes(-len(text) % 512 + 1024)
    (tmp_path / "b.tar.gz").write_bytes(gzip.compress(bundle))
    with pytest.raises(BundleError, match=f"name '{name}'"):
        take_in(layout, tmp_path / "b.tar.gz")


# Texts -------------------------------------------------------------------------------------

_LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 60)
)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (_LAUGHS + "campaigns: *a59\n", "aliases are written out"),
        ("campaigns: &a [*a]\n", "aliases are written out"),
        ("confidence: &a {<<: *a, x: 1}\n", "aliases are written out"),
        (f"confidence: 0x{'f' * 5000}\n", "whole number of 5002 characters"),
        (f"confidence: {'1:' * 5000}1\n", "whole number of 10001 characters"),
        ("x: " + "y" * MIB, "more than 262144"),
        ("campaigns: !!python/object/apply:os.system ['touch made']\n", "python/object/apply"),
        ("campaigns: !!python/name:os.system\n", "python/name"),
        ("campaigns: !!python/module:os\n", "python/module"),
        ("campaigns: !Something {x: 1}\n", "!Something"),
        ("--- {}\n--- {}\n", "another document"),
        ('confidence: "\\ud800"\n', "confidence"),
    ],
)
def test_a_yaml_text_costs_little_and_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, word: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        parse_model(Config, parse_yaml(text, "x.yaml"), "x.yaml")
    assert word in str(caught.value)
    assert len(str(caught.value)) < 5_000
    assert list(tmp_path.iterdir()) == []


def test_a_json_text_has_its_plain_meaning_or_none() -> None:
    assert parse_json('{"a": "\\ud83d\\ude00"}', "x") == {"a": "😀"}
    assert parse_json(b'\xef\xbb\xbf{"a": 1}', "x") == {"a": 1}, "as some editors write it"
    for text in (b'"\xed\xa0\x80"', '"\\ud83d"', '{"a": {"b": 1, "b": 1}}', b"\xff", "[" * 10**5):
        with pytest.raises(ConfigError, match="cannot read a JSON file"):
            parse_json(text, "x")


@pytest.mark.parametrize(
    "text",
    [
        "[" + "[]," * 999_000 + "[]]",
        "{" + ",".join(f'"confidens{i}": 1' for i in range(300_000)) + "}",
        '{"campaigns": [' + "1," * 999_000 + "1]}",
        '{"campaigns": ["' + "x" * 8 * MIB + '"]}',
        "{" + ",".join(f'"k{i}": {{}}' for i in range(200_000)) + ',"k0": 1}',
    ],
    ids=["lists", "keys", "wrong values", "a long word", "a key twice"],
)
def test_a_large_json_text_is_refused_in_bounded_time(text: str) -> None:
    def read() -> None:
        with pytest.raises(CommwallError) as caught:
            parse_json_model(Config, text, "x.json")
        assert len(str(caught.value)) < 20_000

    assert cpu_seconds(read) < SECONDS


# Archives ----------------------------------------------------------------------------------


def _header(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0) -> bytes:
    header = tarfile.TarInfo(name)
    header.type, header.size = kind, size
    return header.tobuf(tarfile.GNU_FORMAT)


def _extended(record: bytes, name: str = "plan.json") -> bytes:
    """A member behind a header that extends its own."""
    body = record + bytes(-len(record) % tarfile.BLOCKSIZE)
    return _header("x", tarfile.XHDTYPE, len(record)) + body + _header(name)


ARCHIVES: dict[str, Callable[[], bytes]] = {
    "names after names": lambda: (_header("x", tarfile.GNUTYPE_LONGNAME, 4) + bytes(512)) * 5_000,
    "extensions after extensions": lambda: _extended(b"12 path=abc\n")[:1024] * 5_000,
    "a name of 20 MB": lambda: _header("x", tarfile.GNUTYPE_LONGNAME, 20 * MIB) + b"x" * 20 * MIB,
    "digits for 20 MB": lambda: _extended(b"1" * 20 * MIB),
    "records for 20 MB": lambda: _extended(b"6 a=b\n" * (20 * MIB // 6)),
    "negative size": lambda: _header("plan.json", size=-1024) + bytes(4096),
    "negative extension": lambda: _header("x", tarfile.XHDTYPE, -512) + bytes(4096),
    "negative size by extension": lambda: _extended(b"14 size=-1024\n"),
    "a size of many digits": lambda: _extended(b"26 size=99999999999999999\n"),
    "a record longer than all": lambda: _extended(b"99999999999999999999 a=b\n"),
    "a name by extension": lambda: _extended(b"22 path=../../../../x\n"),
    "a sparse map": lambda: _extended(b"23 GNU.sparse.major=1\n23 GNU.sparse.minor=0\n"),
    "nothing": lambda: b"",
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_made_to_be_wrong_is_refused_in_bounded_time(tmp_path: Path, name: str) -> None:
    path = tmp_path / "b.tar.gz"
    path.write_bytes(gzip.compress(ARCHIVES[name]() + bytes(1024), 1))

    def take() -> None:
        with pytest.raises(BundleError, match="nothing was written"):
            take_in(Layout(tmp_path), path)

    assert cpu_seconds(take) < SECONDS
    assert [own.name for own in tmp_path.rglob("*")] == ["b.tar.gz"]


def test_random_damage_of_an_archive_is_refused(tmp_path: Path) -> None:
    """Below gzip, whose checksum would find all of it."""
    text = model_text(BundleList(campaign="golden", files={})).encode()
    whole = _header("bundle.json", size=len(text)) + text + bytes(-len(text) % 512)
    whole += _extended(b"18 path=plan.json\n") + bytes(1024)
    path, dice = tmp_path / "b.tar.gz", random.Random(3)
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(dice.choice((1, 4, 32))):
            damaged[dice.randrange(len(whole))] = dice.randrange(256)
        path.write_bytes(gzip.compress(bytes(damaged), 1))
        with pytest.raises(BundleError):
            take_in(Layout(tmp_path), path)


LIMITED = """
import resource, sys
from pathlib import Path
from commwall.records.arrival import take_in
from commwall.records.layout import Layout
from commwall.schema.errors import CommwallError
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
try:
    take_in(Layout(Path(sys.argv[1]).parent), Path(sys.argv[1]))
except CommwallError as error:
    sys.exit(str(error.parts["found"])[:200])
"""


def test_a_bomb_fits_into_little_memory(tmp_path: Path) -> None:
    """300 MiB of zeros, and a list of a million wrong values, within 1 GiB of addresses."""
    wrong = b'{"campaign": "a", "files": {"plan.json": [' + b"[]," * 999_000 + b"[]]}}"
    listed = _header("bundle.json", size=len(wrong)) + wrong + bytes(-len(wrong) % 512)
    for content, word in ((bytes(300 * MIB), "more than is allowed"), (listed, "cannot be read")):
        path = tmp_path / "b.tar.gz"
        path.write_bytes(gzip.compress(content + bytes(1024), 1))
        command = [sys.executable, "-c", LIMITED, str(path), str(MEMORY_BYTES)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and word in done.stderr, done.stderr

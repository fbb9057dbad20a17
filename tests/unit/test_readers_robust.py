"""Cleaning, detection and the verb `read`: no text may crash or stall a reader."""

import io
import json
import sys
from pathlib import Path

import pytest

from commwall.cli.main import main
from commwall.judge.rules import judge
from commwall.judge.scene import Scene, paste
from commwall.readers.cleaning import clean
from commwall.readers.detection import MODULES, kinds_of, read_text
from commwall.readers.refusal import Unreadable
from tests.clock import cpu_seconds
from tests.corpus import CORPUS, expected, text_of
from tests.fuzz import FACTS, INPUTS, MEGABYTE, PIECES, SECONDS_PER_MEGABYTE, problem_of, problems

FUZZ_SECONDS = 2.0
TRIES = 3


def outcome(text: str, kind: str | None = None) -> str:
    try:
        return read_text(text, kind).model_dump_json()
    except Unreadable as refusal:
        return str(refusal)


def test_no_text_crashes_or_stalls_a_reader() -> None:
    found = [problem for _, _, problem in problems(seed=20, seconds=FUZZ_SECONDS)]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "# Collective test starting: all_reduce_perf\n# Avg bus bandwidth    : 0.030.031 \n",
        "available: 2 nodes (0-1)\nnode 0 cpus: 0\nnode 0 size: 1 MB\nnode 1 cpus:\n"
        "node 77 size: 1 MB\n",
        "Architecture:  x86_64\nNUMA node(s):  9999999999999999999999\nNUMA node0 CPU(s):  0-3\n",
    ],
)
def test_texts_that_once_crashed_a_reader(text: str) -> None:
    for kind in (None, *MODULES):
        assert problem_of(text, kind) is None


def test_fuzzing_sees_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str, kind: str | None) -> None:
        raise KeyError(kind)

    monkeypatch.setattr("tests.fuzz._take", broken)
    assert "KeyError" in str(problem_of("text", "topo"))


LONG = {
    **{f"many {kind}": text_of(expected(kind)[0]["input"]) for kind in MODULES if expected(kind)},
    **{f"only {piece[:12]!r}": piece for piece in PIECES},
    "rows": "GPU0\t X \tNV18\n",
    "header": "GPU0\tGPU1\tCPU Affinity\n",
    "bars": "| 0  a  On | 00000000:07:00.0 Off | 0 |\n",
    "fields": "power.draw, ",
    "keys": "    Power Draw : 1.00 W\n",
    "escapes": "\x1b[",
    "prompts": "a@b:",
}


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize("name", LONG)
def test_time_is_linear(name: str, kind: str) -> None:
    text = LONG[name] * (MEGABYTE // 20 // len(LONG[name]))
    taken_s = cpu_seconds(lambda: outcome(text, kind), TRIES)
    assert taken_s < SECONDS_PER_MEGABYTE / 4  # quadratic: tens of seconds


@pytest.mark.parametrize("name", LONG)
def test_judging_time_is_linear(name: str) -> None:
    text = LONG[name] * (MEGABYTE // 20 // len(LONG[name]))
    scene = Scene((paste("text", text),), FACTS)
    assert cpu_seconds(lambda: judge(scene), TRIES) < SECONDS_PER_MEGABYTE / 4


@pytest.mark.parametrize("text", INPUTS)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("\x1b]0;title\x07\x1b[4m\tGPU0\x1b[0m\r\n", "\tGPU0\n"),
        ("[4m\tGPU0[0m\n", "\tGPU0\n"),
        ("2025-03-12T10:15:42.123456789Z \tGPU0\n", "\tGPU0\n"),
        ("2024/05/16 14:44:16.977, 0, x\n", "2024/05/16 14:44:16.977, 0, x\n"),
        ("[1,0]<stdout>:2025-03-12 10:15:42 a\n", "a\n"),
        ("0: a\n0: \n0: b\n", "a\n\nb\n"),
        ("0: a\nb\n", "0: a\nb\n"),
        ("[root@node ~]# nvidia-smi -L\n", "nvidia-smi -L\n"),
        ("# gpu   pwr\n", "# gpu   pwr\n"),
    ],
)
def test_cleaning(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_nothing_known_is_nothing() -> None:
    assert kinds_of("hello\n") == ()
    with pytest.raises(Unreadable, match="no_known_format"):
        read_text("hello\n")


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_verb_reads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", str(CORPUS / "smi-L-mig.txt")]) == 0
    assert printed(capsys)["gpu_count"] == 2


def test_verb_refuses_with_the_kind_and_null(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cut.txt"
    path.write_text("\tGPU0\tGPU1\tCPU Affinity\n")
    assert main(["read", str(path)]) == 2
    found = printed(capsys)
    assert (found["kind"], found["readable"]) == ("topo", False)
    assert found["reason"] == "no_matrix"
    assert found["gpu_count"] is None


def test_verb_takes_what_a_windows_shell_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes(text_of("smi-L-mig.txt").replace("\n", "\r\n").encode("utf-16"))
    assert main(["read", str(path)]) == 0
    assert printed(capsys)["mig_instances"] == 3


@pytest.mark.parametrize("content", [b"\x7fELF\0\0", b"\xff\xfe\xff", b"", b"\xc3\x28 GPU 0: \xff"])
def test_verb_says_what_is_no_text(
    content: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert main(["read", "-"]) == 2
    assert printed(capsys)["readable"] is False


def test_verb_without_a_file_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", "no/such/file"]) == 2
    assert "no/such/file" in capsys.readouterr().err


def test_verb_has_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("commwall.cli.inputs.LIMIT_BYTES", 10)
    path = tmp_path / "long.txt"
    path.write_text("x" * 11)
    assert main(["read", str(path)]) == 2
    assert printed(capsys)["reason"] == "larger_than_10_bytes"

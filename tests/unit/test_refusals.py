"""What ends a verb from outside is told in words, with where and what next."""

import errno
import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from commwall.cli import claims
from commwall.cli.main import EXIT_REFUSED, EXIT_STOPPED, main

TOLD_NEXT = {errno.ENOSPC: "free some space", errno.EACCES: "permissions"}


@pytest.mark.parametrize("code", TOLD_NEXT)
def test_what_the_system_refuses_has_a_place_and_a_next_step(
    code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_: object) -> int:
        raise OSError(code, "the system's words", "page.html")

    monkeypatch.setattr(claims, "run", refuse)
    assert main(["claims"]) == EXIT_REFUSED
    told = capsys.readouterr().err
    assert "page.html" in told and "the system's words" in told and TOLD_NEXT[code] in told


def test_ctrl_c_ends_a_verb_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(claims, "run", stop)
    assert main(["claims"]) == EXIT_STOPPED
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "told"),
    [(gzip.compress(b"NCCL INFO", mtime=0), "gunzip"), (b"\x89PNG\r\n\x1a\n\0", "paste the text")],
)
def test_a_file_that_is_no_text_says_what_to_do(
    content: bytes, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    assert main(["judge", str(path)]) == EXIT_REFUSED
    assert told in capsys.readouterr().out


def test_an_older_python_is_told_at_once() -> None:
    code = "import runpy, sys; sys.version_info = (3, 10); runpy.run_module('commwall')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("commwall needs Python 3.11") and "\n" not in done.stderr.strip()


def test_only_a_page_is_written_in_another_language(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "--language", "zh", __file__]) == EXIT_REFUSED
    assert "--page" in capsys.readouterr().err

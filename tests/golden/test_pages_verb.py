"""`commwall pages`: how a run ends, with the verdicts in short and the page to open."""

from pathlib import Path

import pytest

from commwall.cli.main import main
from commwall.records.store import write_atomically
from tests.golden.many import CAMPAIGN, write_campaign


def test_a_run_ends_with_a_sentence_for_each_comparison_and_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = write_campaign(tmp_path)
    monkeypatch.chdir(tmp_path)
    write_atomically(layout.landing_path(), "<p>")
    write_atomically(layout.plan_path("broken"), "{")
    assert main(["pages"]) == 0
    *told, last = capsys.readouterr().out.splitlines()
    (verdict,) = told
    assert verdict.startswith(f"{CAMPAIGN}: Training throughput: fast link")
    assert "in 2 of 4 cases, by 50 % to 100 %" in verdict
    assert last == "The page to open: results/site/index.html"

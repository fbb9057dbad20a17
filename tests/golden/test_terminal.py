"""What the terminal shows of a campaign: `commwall pages` in short, `compare` at length."""

from pathlib import Path

import pytest

from commwall.analysis.gaps import GapLine
from commwall.cli.main import main
from commwall.cli.verdicts import FOLDED, gap_lines
from commwall.records.files import write_atomically
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
    assert "in 2 of 4 cases, by 50 % (resnet-demo) to 100 % (bert-demo)" in verdict
    assert last == "The page to open: results/site/index.html"


def test_doubts_that_begin_alike_are_one_line_unless_all_are_asked_for() -> None:
    doubts = [
        GapLine("mark", f"case-{n}", f"not settled: after {n} steps", "training") for n in "123"
    ]
    gone = [GapLine("record", f"case-{n}", "no record", "training") for n in "12"]
    assert list(gap_lines([*gone, *doubts], FOLDED)) == [
        "record    case-1: no record",
        "record    case-2: no record",
        "mark      case-1: not settled: after 1 steps [and 2 more alike: --all]",
    ]
    assert len(list(gap_lines([*gone, *doubts], ()))) == 5

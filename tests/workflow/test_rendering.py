"""Pages follow the evidence and the code that draws them, and nothing else."""

import json
import re
import time
from pathlib import Path

import pytest

from tests.workflow.checkout import Checkout

pytestmark = pytest.mark.beside

NO_OP_WITHIN_S = 10


@pytest.mark.alone
def test_second_run_of_everything_does_nothing(rendered: Checkout) -> None:
    started = time.monotonic()
    run = rendered.snakemake("--cores", "2")
    assert (run.code, run.jobs) == (0, {}), run.output
    assert time.monotonic() - started < NO_OP_WITHIN_S


def test_pages_are_there(rendered: Checkout) -> None:
    site = rendered.root / "results/site"
    names = {str(path.relative_to(site)) for path in site.rglob("*.html")}
    campaign = rendered.campaign
    assert names >= {
        "index.html",
        f"{campaign}/decision.html",
        f"{campaign}/summary.html",
        f"{campaign}/throughput.html",
        f"{campaign}/platforms.html",
        f"{campaign}/method.html",
        "pages/claims.html",
        "pages/trends.html",
    }


def test_edited_claim_renders_its_page_only(rendered: Checkout) -> None:
    claims = next((rendered.root / "config/facts/claims").glob("*.yaml"))
    claims.write_text(claims.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
    run = rendered.snakemake("-n")
    assert run.code == 0, run.output
    assert run.started == {"render_general", "publish_site"}


def test_edited_assumptions_render_what_speaks_of_money_only(rendered: Checkout) -> None:
    path = rendered.root / "config/economics.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
    run = rendered.snakemake("-n")
    assert run.started == {"render_notebook", "render_decision", "publish_site"}
    assert run.jobs["render_notebook"] == 1


def test_edited_figure_renders_only(rendered: Checkout) -> None:
    module = rendered.root / "src/commwall/report/__init__.py"
    module.write_text(module.read_text(encoding="utf-8") + "\nEDITED = True\n", encoding="utf-8")
    run = rendered.snakemake("-n")
    assert run.code == 0, run.output
    assert run.started == {
        *("render_notebook", "render_decision", "render_general", "publish_site")
    }


def test_comment_in_a_figure_renders_nothing(rendered: Checkout) -> None:
    module = rendered.root / "src/commwall/report/__init__.py"
    module.write_text(module.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
    assert rendered.snakemake("-n").jobs == {}


def test_edited_analysis_measures_nothing(rendered: Checkout) -> None:
    module = rendered.root / "src/commwall/analysis/__init__.py"
    module.write_text(module.read_text(encoding="utf-8") + "\nEDITED = True\n", encoding="utf-8")
    run = rendered.snakemake("-n")
    assert run.code == 0, run.output
    assert "tabulate_records" in run.started
    assert not run.started & {"measure_suite", "provision_environment"}


def test_edited_notebook_renders_that_one(rendered: Checkout) -> None:
    notebook = rendered.root / "notebooks/summary.py"
    notebook.write_text(notebook.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
    run = rendered.snakemake("-n")
    assert run.jobs["render_notebook"] == 1
    assert "measure_suite" not in run.started


def test_page_missing_in_one_language_is_rendered(rendered: Checkout) -> None:
    folder = rendered.root / "results" / rendered.campaign / "notebooks"
    (folder / "zh/summary.html").unlink()
    run = rendered.snakemake("--cores", "2", "reports")
    assert run.jobs["render_notebook"] == 1, run.output
    assert (folder / "zh/summary.html").exists() and (folder / "summary.html").exists()


def test_deleted_record_reaches_the_pages(rendered: Checkout) -> None:
    rendered.path("slow", 1).unlink()
    run = rendered.snakemake("-n", "reports")
    assert run.started >= {"measure_suite", "index_records", "tabulate_records", "render_notebook"}


def test_pages_come_although_work_is_missing(rendered: Checkout) -> None:
    landing = rendered.root / "results/site/index.html"
    before = landing.stat().st_mtime_ns
    rendered.path("slow", 1).unlink()
    rendered.wish({"act": "kill", "platform": "slow", "round": 1})
    run = rendered.snakemake("--cores", "2")
    assert run.code != 0
    assert "The page to open: results/site/index.html" in run.output
    assert run.started >= {"render_notebook", "publish_site", "check_complete"}
    assert landing.stat().st_mtime_ns > before


def test_delete_all_output_leaves_records(rendered: Checkout) -> None:
    before = rendered.results()
    run = rendered.snakemake("--cores", "2", "--delete-all-output")
    assert run.code == 0, run.output
    assert not (rendered.root / "results/site/index.html").exists()
    assert rendered.results() == before


def test_report_builds_and_loads_nothing(rendered: Checkout, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    run = rendered.snakemake("--report", str(page))
    assert run.code == 0, run.output
    text = page.read_text(encoding="utf-8")
    told = [json.loads(labels) for labels in re.findall(r'"labels": (\{.*?\})', text)]
    pages = [(labels["page"], labels.get("language")) for labels in told]
    wanted = {("Throughput", "English"), ("Decision report, PDF", "中文"), ("Landing page", None)}
    assert wanted <= set(pages)
    assert len(pages) == len(set(pages)), "no two pages are told alike"
    captions = ("verdicts first", "as one sheet of A4", "about all campaigns and", "of the site: ")
    assert sum(map(text.count, captions)) == len(pages), "each has its caption"
    assert not re.search(
        r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=\W?(?:https?:)?//", text
    )


def test_report_with_work_due_measures_nothing(rendered: Checkout, tmp_path: Path) -> None:
    rendered.path("slow", 1).unlink()
    before = rendered.results()
    run = rendered.snakemake("--report", str(tmp_path / "report.html"))
    assert run.code == 0, run.output
    assert rendered.results() == before

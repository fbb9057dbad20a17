"""What stands on the rendered pages: every number traced, nothing fetched, in reading order."""

import json
import re
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

from commwall.analysis.mitigations import table as mitigations
from commwall.analysis.scaling import tables as scaling
from commwall.analysis.tables import breakeven, census, columns
from commwall.records.layout import Layout
from commwall.report.pages import pages_for
from commwall.report.site.downloads import DESCRIPTIONS
from tests.golden.build import AGAIN, CAMPAIGN, FAST, SLOW
from tests.notebooks.conftest import campaign_page

COLUMNS = {
    **columns.COLUMNS,
    **breakeven.COLUMNS,
    **scaling.COLUMNS,
    **census.COLUMNS,
    **mitigations.COLUMNS,
}
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
SCALES = (1, 1e3, 1e6, 1e-3, 1e-6, 1e-9, 1 / 60, 1 / 3600, 2**-10, 2**-20, 2**-30)
"""What schema.units may multiply a stored value with."""
PAGES = pages_for({"training"})


def _page(layout: Layout, name: str) -> str:
    return (layout.notebooks_dir(CAMPAIGN) / f"{name}.html").read_text()


def _table(layout: Layout, name: str) -> pd.DataFrame:
    return pd.read_csv(layout.tables_dir(CAMPAIGN) / f"{name}.csv")


def _numbers(markup: str) -> list[str]:
    return NUMBER.findall(unescape(re.sub(r"<[^>]+>", " ", markup)))


def _untraced(markup: str, rows: pd.DataFrame, scales: tuple[float, ...] = (1,)) -> list[str]:
    """Numbers of a text that are no cell of the rows, rounded as printed."""
    cells = [float(value) for value in rows.select_dtypes("number").to_numpy().ravel()]
    return [text for text in _numbers(markup) if not _is_a_cell(text, cells, scales)]


def _is_a_cell(text: str, cells: list[float], scales: tuple[float, ...]) -> bool:
    value = float(text.replace(",", ""))
    half_a_digit = 0.5000001 * 10.0 ** -len(text.partition(".")[2])
    return any(abs(cell * scale - value) <= half_a_digit for cell in cells for scale in scales)


def _cards(page: str) -> list[str]:
    return re.findall(r'<p class="(?:verdict|detail)">(.*?)</p>', page)


def _grouped_rows(page: str) -> list[str]:
    """Rows of the first table whose rows stand in groups."""
    bodies = page[page.index("Bold: the interval") :].split("</table>")[0]
    return re.findall(r'<tr class="(?:decided|undecided)">(.*?)</tr>', bodies)


def test_every_number_of_the_verdicts_is_a_cell_of_ratios(published: Layout) -> None:
    ratios = _table(published, "ratios")
    own = ratios[(ratios["metric"] == "throughput_samples_per_s") & (ratios["b"] == SLOW)]
    (row,) = _grouped_rows(_page(published, "summary"))
    assert len(_numbers(row)) == 10
    assert _untraced(row, own, SCALES) == []
    page = _page(published, "throughput")
    (of_rounds,) = re.findall(r'<tr class="decided">(.*?)</tr>', page)
    assert len(_numbers(of_rounds)) == 15
    assert _untraced(of_rounds, own, SCALES) == []
    first = _cards(page)[0]
    assert len(_numbers(first)) == 4
    assert _untraced(first, own) == []


def test_tracing_finds_a_number_that_is_in_no_table(published: Layout) -> None:
    rows = _table(published, "ratios")
    assert _untraced("faster by 101 % (64 to 143, n = 6)", rows.head(1)) == ["101", "6"]


def test_every_number_of_the_quantity_tables_is_a_cell_of_its_row(published: Layout) -> None:
    ratios = _table(published, "ratios")
    folded = re.findall(r"<details><summary>Case.*?</details>", _page(published, "summary"))
    for other, table in zip((SLOW, AGAIN), folded, strict=True):
        rows = re.findall(r"<tr>(<th scope=\"row\">.*?)</tr>", table)
        own = ratios[ratios["b"] == other]
        assert len(rows) == len(own)
        for markup, (_, verdict) in zip(rows, own.iterrows(), strict=True):
            reason = str(verdict["reason"]) if pd.notna(verdict["reason"]) else ""
            shown = unescape(markup).replace(reason, "") if reason else markup
            assert _untraced(shown, verdict.to_frame().T.infer_objects(), SCALES) == []


def test_every_number_of_the_decomposition_is_a_cell_of_factors(published: Layout) -> None:
    page = _page(published, "throughput")
    (body,) = re.findall(r"The gap and its factors.*?<tbody>(.*?)</tbody>", page)
    factors = _table(published, "factors")
    assert len(_numbers(body)) == 8  # two factors have an interval
    assert _untraced(body, factors) == []


def test_every_number_of_the_limits_is_a_cell_of_its_row(published: Layout) -> None:
    page = _page(published, "throughput")
    limits = _table(published, "limits")
    caption = "What limits a step of leg full: medians of the rounds, shares of the step."
    (body,) = re.findall(rf"{re.escape(caption)}[^<]*<.*?<tbody>(.*?)</tbody>", page, re.DOTALL)
    rows = re.findall(r"<tr>(.*?)</tr>", body)
    assert [row.count("unknown") for row in rows] == [2] * 3  # MFU and memory
    for markup, (_, line) in zip(rows, limits.iterrows(), strict=True):
        cells = re.findall(r"<td>(.*?)</td>", markup)[2:]  # after platform and limit
        assert _untraced(" ".join(cells), line.to_frame().T.infer_objects(), (*SCALES, 100)) == []
    for words in limits["words"]:
        assert words[1:] in unescape(page)  # after a colon it starts with a small letter


def test_losses_are_cells_of_measurements(published: Layout) -> None:
    page = _page(published, "throughput")
    (body,) = re.findall(r"largest relative difference.*?<tbody>(.*?)</tbody>", page, re.DOTALL)
    assert re.findall(r"<td>([\d.e+-]+)</td>", body) == ["9.5", "8.5", "0", "0"]
    raw = _table(published, "measurements").query("metric == 'loss'")
    assert {9.5, 8.5} <= set(raw["value"])


@pytest.mark.parametrize("name", PAGES)
def test_pages_fetch_nothing_and_run_no_script(published: Layout, name: str) -> None:
    page = _page(published, name)
    assert not re.search(r"""(?:src|href)\s*=\s*["']?\s*(?:https?:)?//""", page)
    assert not re.search(r"url\(\s*[\"']?(?:https?:)?//|@import", page)
    assert "<script" not in page
    assert "default-src 'none'" in page


@pytest.mark.parametrize("name", PAGES)
def test_verdict_first_then_evidence_then_limits_then_provenance(
    published: Layout, name: str
) -> None:
    page = _page(published, name)
    evidence = "<table " if name in ("platforms", "method") else "<figure "
    if name == "prediction":  # emulated links are not predicted
        evidence = "No step is predicted"
    if name == "money":  # of emulated links, which have no price
        evidence = "No verdict: an emulated link is not for sale"
    order = ['id="Verdict"', evidence, 'id="What-this-does-not-show"', 'id="Provenance"']
    places = [page.index(mark) for mark in order]
    assert places == sorted(places)


@pytest.mark.parametrize("name", PAGES)
def test_executed_notebook_holds_no_path_of_this_machine(published: Layout, name: str) -> None:
    text = (published.notebooks_dir(CAMPAIGN) / f"{name}.ipynb").read_text()
    notebook = json.loads(text)
    assert str(published.root) not in text
    assert "papermill" not in notebook["metadata"]
    assert all(c["execution_count"] for c in notebook["cells"] if c["cell_type"] == "code")


OF_THE_MODEL = ("bucket_sizes", "predicted_cases")
OF_SEVERAL_SIZES = ("scaling", "scaled_steps")
OF_OPERATIONS = ("sizes", "paths", "sharing", "links", "choices", "yardsticks")


def test_tables_have_their_columns_in_both_formats(published: Layout) -> None:
    folder = published.tables_dir(CAMPAIGN)
    for name in DESCRIPTIONS:
        text = pd.read_csv(folder / f"{name}.csv")
        binary = pd.read_parquet(folder / f"{name}.parquet")
        numeric = [column for column, kind in COLUMNS[name].items() if kind == "float64"]
        assert list(text.columns) == list(binary.columns) == list(COLUMNS[name])
        assert len(text) == len(binary)
        # No operations, energy of one side, and nothing replicated, modelled or scaled.
        if name in (
            *OF_OPERATIONS,
            *OF_THE_MODEL,
            *OF_SEVERAL_SIZES,
            "energy_parts",
            "replication",
            "mitigations",
        ):
            assert text.empty
            continue
        assert len(text) > 0
        pd.testing.assert_frame_equal(text[numeric], binary[numeric])


def test_rounds_hold_the_golden_values(published: Layout) -> None:
    rounds = _table(published, "rounds")
    own = rounds[(rounds["platform"] == SLOW) & (rounds["metric"] == "throughput_samples_per_s")]
    assert own["value"].tolist() == pytest.approx([40, 40, 8 / 0.204, 50, 32])
    assert set(own["unit"]) == {"sample/s"}
    raw = _table(published, "measurements")
    warmup = raw[(raw["platform"] == FAST) & (raw["phase"] == "warmup") & (raw["leg"] == "full")]
    assert len(warmup) == 5


def test_the_verb_sets_the_sheet_that_the_decision_report_links_to(published: Layout) -> None:
    assert 'href="decision.pdf"' in _page(published, "decision")
    assert (published.notebooks_dir(CAMPAIGN) / "decision.pdf").read_bytes().startswith(b"%PDF")


def test_campaign_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert "there is no such campaign" in campaign_page(Layout(tmp_path), "absent")

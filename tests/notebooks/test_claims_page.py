"""The page on claims: every verdict stands there, counts add up, measured cells are of records."""

import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from commwall.analysis.result import analyse_campaign
from commwall.analysis.tables.tidy import Tables
from commwall.claims.judging import OUTCOMES, WORDS
from commwall.cli.main import main
from commwall.records.layout import Layout
from commwall.report.claims import MEANINGS, ClaimsPage, headline, measured, open_claims
from commwall.schema.units import rate_text
from tests.notebooks.conftest import REPOSITORY

SAMPLE = "gpu-sample-655c9664"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    root = tmp_path_factory.mktemp("checkout")
    shutil.copytree(REPOSITORY / "results" / SAMPLE, root / "results" / SAMPLE)
    shutil.copytree(REPOSITORY / "config" / "facts", root / "config" / "facts")
    (root / "notebooks").symlink_to(REPOSITORY / "notebooks")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert main(["index", SAMPLE]) == 0
        assert main(["render", "claims"]) == 0
        assert main(["site", SAMPLE]) == 0
        yield Layout(root)


@pytest.fixture(scope="module")
def page(checkout: Layout) -> ClaimsPage:
    return open_claims(checkout.root, 0.95)


def text_of(checkout: Layout) -> str:
    return unescape((checkout.general_dir() / "claims.html").read_text(encoding="utf-8"))


def test_every_claim_stands_there_with_its_verdict(checkout: Layout, page: ClaimsPage) -> None:
    markup = text_of(checkout)
    for judged in page.judged:
        row = markup[markup.index(f">{judged.claim.says}<") :].split("</tr>")[0]
        assert f"<td>{WORDS[judged.verdict]}</td>" in row, judged.claim.id
        assert [
            f.words for f in judged.findings if f.outcome != "holds" and f.words not in row
        ] == []
    assert len(page.judged) == 59


def test_counts_add_up(checkout: Layout, page: ClaimsPage) -> None:
    body = text_of(checkout).partition("Verdicts by text.")[2].partition("</table>")[0]
    rows = [re.findall(r"<td>(\d+)</td>", row) for row in body.split("<tr>")[2:]]
    numbers = [[int(cell) for cell in row] for row in rows]
    assert len(numbers) == len(page.texts) + 1
    assert [sum(column) for column in zip(*numbers[:-1], strict=True)] == numbers[-1]
    assert all(sum(row[:-1]) == row[-1] for row in numbers)
    assert f"{numbers[-1][OUTCOMES.index('holds')]} of 59 claims" in headline(page).markup


def test_verdict_first_then_limits_then_provenance(checkout: Layout) -> None:
    heads = re.findall(r"<h2[^>]*>([^<]+)", text_of(checkout))
    assert heads[0] == "Verdict"
    assert heads[-2:] == ["What this does not show", "Provenance"]
    assert set(MEANINGS) == set(OUTCOMES)


def test_measured_cells_are_those_of_the_sample(checkout: Layout, page: ClaimsPage) -> None:
    """Each case and platform by itself: the largest size of the table `sizes`."""
    sizes = Tables(analyse_campaign(checkout, SAMPLE, 0.95)).sizes
    own = sizes[(sizes["metric"] == "busbw_bytes_per_s") & sizes["case"].str.startswith("all-red")]
    assert not own.empty
    expected = {}
    for (case, label), rows in own.groupby(["case", "label"]):
        largest = rows[rows["message_bytes"] == rows["message_bytes"].max()]
        expected[case, label] = rate_text(float(largest["value"].median()))
    found = {
        (each.what.split(",")[0].removeprefix("case "), each.platform): each
        for each in page.measured
        if each.claim == "nvlink-totals"
    }
    assert {key: each.measured.split(" (")[0] for key, each in found.items()} == expected
    assert all(each.above and "among 2 h200-sxm" in each.what for each in found.values())
    (copies,) = [each for each in page.measured if each.claim == "any-pair-at-any-number"]
    assert copies.platform == "NVLink"
    for each in page.measured:
        assert each.measured in measured(page).markup


def test_one_round_has_no_interval_and_two_have(page: ClaimsPage) -> None:
    for each in page.measured:
        assert ("n = 1" in each.measured) == ("no interval" in each.measured)


def test_gains_of_the_faster_link_stand_beside_those_of_a_text(page: ClaimsPage) -> None:
    """The README's finding: BERT-Large trains 2.25 times as fast, ResNet-50 1.08 times."""
    gains = {each.what: each for each in page.measured if each.claim == "table-of-gains"}
    bert = gains["throughput, case bert-large-s128-b32 among 2 h200-sxm"]
    assert (bert.stated, bert.platform) == ("33.5 to 34.5 %", "NVLink against host-staged")
    assert bert.measured.startswith("125 % (n = 1") and bert.above is False
    resnet = gains["throughput, case resnet-50-b64 among 2 h200-sxm"]
    assert resnet.measured.startswith("8.24 % (n = 1") and resnet.above


def test_no_other_gpus_cells_are_taken(checkout: Layout, tmp_path: Path) -> None:
    """Where the sample's GPU is not on file, nothing is set beside a claim about it."""
    shutil.copytree(checkout.root / "results" / SAMPLE, tmp_path / "results" / SAMPLE)
    shutil.copytree(checkout.root / "config", tmp_path / "config")
    path = tmp_path / "config/facts/gpus.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"NVIDIA H200"', '"NVIDIA H200 NVL"'), encoding="utf-8")
    page = open_claims(tmp_path, 0.95)
    assert page.measured == ()
    assert "No campaign has a cell" in measured(page).markup


def test_the_landing_page_leads_there(checkout: Layout) -> None:
    landing = (checkout.site_dir() / "index.html").read_text(encoding="utf-8")
    (link,) = re.findall(r'href="(pages/claims\.html)"', landing)
    assert (checkout.site_dir() / link).exists()


def test_the_verb_prints_the_same(
    checkout: Layout, page: ClaimsPage, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["claims"]) == 0
    told = capsys.readouterr().out
    assert "contradicts itself" in told
    assert "2.89 to 3.35 is not 2.65 to 2.75 (pcie / nvlink = factor)" in told
    assert page.measured
    assert all(f"{each.what}, " in told and each.measured in told for each in page.measured)
    for outcome in OUTCOMES:
        number = sum(judged.verdict == outcome for judged in page.judged)
        assert f"{number:5} {WORDS[outcome]}" in told


def test_the_verb_takes_one_claim_and_refuses_a_wrong_file(
    checkout: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["claims", "--brief", "--id", "payback"]) == 0
    assert "    1 true on a condition" in capsys.readouterr().out
    assert main(["claims", "--id", "unheard-of"]) == 2
    assert "no claim to judge" in capsys.readouterr().err
    wrong = checkout.root / "wrong.yaml"
    wrong.write_text("title: a\nsource: b\nclaims:\n  - id: x\n    sais: y\n", encoding="utf-8")
    assert main(["claims", str(wrong)]) == 2
    told = capsys.readouterr().err
    assert "line 5" in told and "did you mean 'says'?" in told

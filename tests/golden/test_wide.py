"""Campaign `h200x2-wide` gives its figures: tried on golden records of its own plan."""

from dataclasses import replace
from html import unescape

import pytest

from commwall.analysis.result import analyse_campaign
from commwall.claims.factbook import read_factbook
from commwall.claims.files import loaded, shipped
from commwall.claims.measured import Beside, Rounds, beside
from commwall.claims.scene import scene_of
from commwall.records.hardware import read_hardware
from commwall.records.layout import Layout
from commwall.report.page import Page, open_page
from commwall.report.prediction import page as prediction
from tests.golden import wide

ERRORS = {wide.STAGED: 100 * (17 / 18 - 1), wide.NVLINK: 100 * (15 / 14 - 1)}
"""Target -> by how much its predictions are off, but for cases that are predicted exactly [%]."""

BOTH = "NVLink against host-staged"


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return wide.write_campaign(tmp_path_factory.mktemp("wide"))


@pytest.fixture(scope="module")
def page(layout: Layout) -> Page:
    return open_page(layout.root, wide.plan().id, 0.95)


def test_every_new_workload_is_predicted_both_ways(page: Page) -> None:
    """Without sweeps of its own the campaign would predict nothing."""
    cases = wide.plan().suite("training").cases
    rows = page.tables.predicted_steps
    assert set(rows["case"]) == set(cases)
    assert len(rows) == 2 * len(cases) == rows["error_percent"].notna().sum()
    for row in rows.itertuples():
        expected = 0 if row.case in wide.EXACT else ERRORS[row.target]
        assert row.error_percent == pytest.approx(expected, abs=1e-3)
    assert rows["contention_measured"].all()


def test_the_page_has_each_error_and_the_median(page: Page) -> None:
    head, body = prediction.verdict(page).markup, prediction.predictions(page).markup
    assert (
        "22 steps predicted from another link's training are off by 5.6 % in the median, by 7.1 % "
        "at worst" in unescape(head)
    )
    cases = wide.plan().suite("training").cases
    assert all(f">{case}<" in body for case in cases)
    assert body.count("−5.6") == body.count("+7.1") == len(cases) - len(wide.EXACT)


@pytest.fixture(scope="module")
def claimed(layout: Layout) -> list[Beside]:
    """What the campaign measured of the claims that are shipped."""
    book = read_factbook(wide.ROOT)
    analysis = analyse_campaign(layout, wide.plan().id, 0.95)
    judged = replace(analysis, facts=read_hardware(wide.ROOT))
    claims = [c for file in loaded(shipped(wide.ROOT), book).values() for c in file.claims]
    return [own for claim in claims for own in beside(claim, scene_of(claim, book), judged)]


def of_claim(claimed: list[Beside], claim: str) -> list[tuple[str, str, str, str, bool | None]]:
    """Case, platforms, what is stated and measured, and whether that is less."""
    return [
        (
            own.what.split("case ")[1].split()[0],
            own.platform,
            own.stated,
            own.measured.split(" (")[0],
            own.above,
        )
        for own in claimed
        if own.claim == claim
    ]


def test_a_shorter_epoch_stands_beside_the_claim(claimed: list[Beside]) -> None:
    # 14 ms of 18 ms are 22.2 % less
    assert of_claim(claimed, "epoch-time-shorter") == [
        ("resnet-152-b64", BOTH, "36.5 to 37.5 %", "22.2 %", True)
    ]


def test_tokens_of_each_gpu_stand_beside_the_claim(claimed: list[Beside]) -> None:
    """One answer in 2 ms over NVLink, in 3 ms host-staged; two GPUs."""
    found = of_claim(claimed, "tokens-with-nvswitch")
    assert [own for own in found if own[0] == "llama-70b-b1"] == [
        ("llama-70b-b1", "NVLink", "114 to 116 token/s", "250 token/s", False),
        ("llama-70b-b1", "host-staged", "79.5 to 80.5 token/s", "167 token/s", False),
        ("llama-70b-b1", BOTH, "1.44", "1.50", False),
    ]
    assert {own[0] for own in found} == {"llama-70b-b1", "llama-70b-b8", "llama-70b-b32"}


def test_strategies_stand_beside_a_claim_without_numbers(claimed: list[Beside]) -> None:
    found = of_claim(claimed, "strategies-differ")
    assert ("tensor-gpt3-2.7b", BOTH, "", "4", None) in found
    assert ("pipeline-gpt3-2.7b", BOTH, "", "1.10", None) in found
    assert ("expert-bert-large", BOTH, "", "1.10", None) in found
    # t of two degrees is 4.303: 4 times 1.01^(-+4.303 / sqrt 3)
    texts = [
        own.measured for own in claimed if own.what.startswith("split-step throughput, case t")
    ]
    assert texts == ["4 (3.90 to 4.10, n = 3)"] * 2


def test_an_exchange_beside_compute_is_no_rate_of_a_link(claimed: list[Beside]) -> None:
    cases = {own[0] for own in of_claim(claimed, "nvlink-totals")}
    assert cases == {"all-reduce-to-256mib,"}


def test_a_change_keeps_its_interval(page: Page) -> None:
    """A ratio of 0.8 (0.7 to 0.9) is 20 % less, 10 to 30; for what should grow, -20 % more."""
    own = Rounds(page.analysis.cells[0], BOTH, (0.8,), 0.8, (0.7, 0.9))
    assert own.changes("lower").ends == pytest.approx((0.1, 0.3))
    assert own.changes("higher").middle == pytest.approx(-0.2)

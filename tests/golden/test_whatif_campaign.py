"""`commwall whatif` against the reference campaign: its answers hold what was measured."""

from dataclasses import replace

import pytest

from commwall.analysis.quantities import Quantity
from commwall.analysis.result import Analysis, analyse
from commwall.analysis.values.legs import hidden_share_of
from commwall.analysis.whatif.answers import Answer, answer
from commwall.analysis.whatif.asking import Words, question_of
from commwall.analysis.whatif.assumptions import Facts, read_assumptions
from commwall.analysis.whatif.calibration import (
    TRANSFORMERS,
    Calibration,
    calibrate,
)
from commwall.analysis.whatif.curve import curve_lines, readings
from commwall.analysis.whatif.premises import premise_lines
from commwall.model.estimates import Estimate
from commwall.records.evidence import look_at
from commwall.records.hardware import read_hardware
from commwall.records.layout import Layout
from commwall.schema.case import Leg
from tests.contracts.tree import ROOT

CAMPAIGN = "h200x2"
NVLINK, AGAIN, STAGED = (f"h200x2-{name}" for name in ("nvlink", "nvlink-again", "hoststaged"))
SMALL, LARGE = "bert-large-s128-b4", "bert-large-s128-b32"


@pytest.fixture(scope="module")
def facts() -> Facts:
    return read_assumptions(ROOT)


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analyse(look_at(Layout(ROOT), CAMPAIGN), 0.95, read_hardware(ROOT))


def measured(analysis: Analysis, case: str, platform: str, leg: Leg) -> list[float]:
    """Step times of a leg in all admitted rounds [s]."""
    quantity = Quantity("step_time_s", leg)
    found = [
        cell.derived.values[quantity]
        for cell in analysis.cells
        if (cell.record.id.case, cell.record.id.platform) == (case, platform) and not cell.refusals
    ]
    assert found
    return found


def ask(facts: Facts, campaign: Calibration | None, **words: object) -> Answer:
    asked = {"model": "bert-large", "gpu": "h200", "gpus": 2, **words}
    return answer(question_of(Words(**asked), facts, campaign))  # type: ignore[arg-type]


def within(values: list[float], ends: Estimate) -> bool:
    return ends.low <= min(values) and max(values) <= ends.high


def test_what_is_published_holds_what_was_measured(analysis: Analysis, facts: Facts) -> None:
    """Rates of large messages alone would make DDP's buckets a quarter faster than they were."""
    (nvlink, _) = ask(facts, None).over
    exchange = nvlink.communication
    assert within(measured(analysis, LARGE, NVLINK, "comm"), exchange)
    assert within(measured(analysis, LARGE, NVLINK, "full"), nvlink.step)
    assert exchange.high < 2 * exchange.low, "and says something"


def test_another_batch_is_bounded_by_the_one_that_was_measured(
    analysis: Analysis, facts: Facts
) -> None:
    found = ask(facts, calibrate(analysis, LARGE), batch=4, links=(NVLINK, STAGED))
    assert within(measured(analysis, SMALL, NVLINK, "packed"), found.alone)
    assert found.question.mfu.origin == "modelled"
    for over, platform in zip(found.over, (NVLINK, STAGED), strict=True):
        assert within(measured(analysis, SMALL, platform, "full"), over.step)


def test_a_model_starts_from_its_own_cases_another_from_transformers(
    analysis: Analysis, facts: Facts
) -> None:
    campaign = calibrate(analysis)
    assert {each.model.rpartition("-")[0] for each in campaign.trained} <= TRANSFORMERS
    own = ask(facts, campaign, batch=4).question
    assert SMALL in own.mfu.basis and LARGE not in own.mfu.basis
    other = ask(facts, campaign, model="vit-large-16").question
    assert SMALL not in other.mfu.basis and "other models" in other.mfu.basis
    assert other.mfu.high < 2 * other.mfu.low
    shares = [link.overlap for link in other.links if link.overlap]
    assert shares and all(0 < share.low <= share.high < 1 for share in shares)


def test_a_control_is_not_offered(analysis: Analysis) -> None:
    campaign = calibrate(analysis)
    assert AGAIN in campaign.links and AGAIN not in campaign.compared


def test_the_curve_is_read_where_the_model_lies(analysis: Analysis, facts: Facts) -> None:
    """A step computes 19 ms for each GB; above the crossing of 20 % it gains less than that."""
    found = ask(facts, calibrate(analysis))
    (first, *_) = readings(analysis, found)
    assert (first.contest.faster, first.contest.slower) == (NVLINK, STAGED)
    at = first.s_per_byte.low
    compute = measured(analysis, LARGE, NVLINK, "packed")[0]
    assert at == pytest.approx(compute / float(found.exchanged.gradients), rel=0.02)
    links = first.contest.links
    crossing = max(links.crossing(0.2, end) or 0 for end in (0.0, 1.0))
    assert (first.gain.low > 0.2) == (at < crossing)
    lines = list(curve_lines(analysis, found))
    assert [line.what for line in lines[:4]] == [
        "curve: gain of NVLink over host-staged",
        *(f"curve: {gain} % is crossed at" for gain in (1, 5, 20)),
    ]


def test_what_is_hidden_is_told_with_its_link(analysis: Analysis, facts: Facts) -> None:
    question = ask(facts, calibrate(analysis)).question
    told = [line.what for line in premise_lines(question) if "could be hidden" in line.what]
    assert told == [f"of what could be hidden over {link.name} is" for link in question.links]
    assert len(set(told)) > 1
    same = replace(question, links=question.links[:1])
    assert "of what could be hidden is" in [line.what for line in premise_lines(same)]


def test_there_is_no_curve_of_other_numbers_of_gpus(analysis: Analysis, facts: Facts) -> None:
    found = ask(facts, calibrate(analysis), gpus=8)
    assert readings(analysis, found) == ()
    assert [line.value for line in curve_lines(analysis, found)] == ["none"]
    tensor = ask(facts, calibrate(analysis), strategy="tensor")
    assert readings(analysis, tensor) == ()


def test_nothing_is_told_of_overlap_where_legs_ran_at_different_clocks(analysis: Analysis) -> None:
    cells = [cell for cell in analysis.cells if cell.record.id.platform == NVLINK]
    hidden = {cell.record.id.case: hidden_share_of(cell) for cell in cells}
    assert hidden["resnet-50-b256"] is None  # at the power limit
    assert hidden[LARGE] is not None

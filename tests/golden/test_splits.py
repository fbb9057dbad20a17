"""Strategies and inference of the golden campaign against values computed by hand."""

from pathlib import Path

import pytest

from commwall.analysis.quantities import (
    DECODE_TOKENS,
    DECODE_TOKENS_PER_GPU,
    FORMULA_SENT,
    HBM_SHARE,
    PREFILL_TOKENS,
    SENT,
    SENT_OVER_FORMULA,
    STRATEGY_TOKENS,
)
from commwall.analysis.result import Analysis, analyse_campaign
from commwall.analysis.tables.tidy import Tables
from commwall.analysis.values.derive import derive
from commwall.schema.facts import Fact, GpuFactsFile, GpuPeaks
from tests.golden import splits
from tests.golden.build import FAST, SLOW


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    root = tmp_path_factory.mktemp("splits")
    return analyse_campaign(splits.write_campaign(root), splits.CAMPAIGN, 0.95)


def test_tokens_are_those_of_all_ranks(analysis: Analysis) -> None:
    found = {
        (cell.record.id.case, cell.record.id.platform): cell.derived.values[STRATEGY_TOKENS]
        for cell in analysis.cells
        if cell.record.id.round == 1 and STRATEGY_TOKENS in cell.derived.values
    }
    # One batch of 2 x 50 tokens for both ranks; 4 x 2 x 50 tokens for each of two ranks.
    assert found["tensor", FAST] == pytest.approx(100 / 0.010)
    assert found["accumulation", SLOW] == pytest.approx(800 / 0.025)


def test_verdict_is_about_tokens_per_second(analysis: Analysis) -> None:
    assert {verdict.quantity for verdict in analysis.primary} == {STRATEGY_TOKENS, DECODE_TOKENS}
    tensor = next(verdict for verdict in analysis.primary if verdict.case == "tensor")
    assert tensor.ratio
    assert tensor.ratio.centre == pytest.approx(10)


def test_bytes_beside_the_formula(analysis: Analysis) -> None:
    cells = {(c.record.id.case, c.record.id.platform): c.derived for c in analysis.cells}
    fast, slow = cells["tensor", FAST], cells["tensor", SLOW]
    # 4 all-reduces in each of 2 layers; each sends once the 100 tokens of width 64 in float32.
    assert fast.values[FORMULA_SENT] == 4 * 2 * 100 * 64 * 4
    assert fast.values[SENT] == pytest.approx(1.01 * 204_800)
    assert fast.values[SENT_OVER_FORMULA] == pytest.approx(1.01)
    assert slow.absent[SENT_OVER_FORMULA] == splits.UNCOUNTED
    assert slow.values[FORMULA_SENT] == 204_800


def test_tokens_of_the_decoder(analysis: Analysis) -> None:
    found = {
        c.record.id.platform: c.derived for c in analysis.cells if c.record.id.case == "decoder"
    }
    fast, slow = found[FAST].values, found[SLOW].values
    assert fast[DECODE_TOKENS] == pytest.approx(4 / 0.002)
    assert fast[DECODE_TOKENS_PER_GPU] == pytest.approx(1000)
    assert slow[PREFILL_TOKENS] == pytest.approx(4 * 25 / 0.020)
    # 2 x 2 all-reduces of 128 values and half of 256 scores, in 4 byte, for each of 4 answers.
    assert fast[FORMULA_SENT] == 4 * 4 * (4 * 128 + 128)
    verdict = next(verdict for verdict in analysis.primary if verdict.case == "decoder")
    assert verdict.ratio and verdict.ratio.centre == pytest.approx(4)  # 3.2 x 5 = 4 x 4
    assert "RAM" in found[FAST].absent[HBM_SHARE]


def test_share_of_the_memory_bound_needs_the_rate_of_the_memory() -> None:
    record = splits.record(FAST, "decoder", 1)
    runtime = record.software.runtime.model_copy(update={"device_names": ("GPU X", "GPU X")})
    where = record.platform.model_copy(update={"device": "cuda"})
    software = record.software.model_copy(update={"runtime": runtime})
    on_gpus = record.model_copy(update={"platform": where, "software": software})
    unknown = derive(on_gpus)
    assert unknown.absent[HBM_SHARE].startswith("the memory of GPU X is unknown")
    rate = Fact(value=1e9, unit="byte/s", source="x", date="2026-01-01", grade="primary")
    peaks = GpuFactsFile({"x": GpuPeaks(names=("GPU X",), memory_bytes_per_s=rate)})
    share = derive(on_gpus, peaks).values[HBM_SHARE]
    # Half of 327,680 values of matrices, 640 of norms, half of 2 x 2 x 4 x 40 x 64 of the cache.
    assert share == pytest.approx(4 * (163_840 + 640 + 20_480) / 1e9 / 0.002)


def test_a_record_with_the_bytes_of_one_rank_says_nothing(tmp_path: Path) -> None:
    whole = splits.record(FAST, "tensor", 1)
    half = [s for s in whole.series if s.metric != "step_sent_bytes" or s.rank == 0]
    record = whole.model_copy(update={"series": tuple(half)}).sealed()
    layout = splits.samples.write_campaign(tmp_path, splits.plan(), (record,))
    splits.samples.write_index(layout, splits.CAMPAIGN)
    (cell,) = analyse_campaign(layout, splits.CAMPAIGN, 0.95).cells
    assert SENT not in cell.derived.values
    assert cell.derived.absent[SENT]


def test_bytes_have_a_round_value_and_no_verdict(analysis: Analysis) -> None:
    tables = Tables(analysis)
    assert SENT_OVER_FORMULA.metric_id in set(tables.rounds["metric"])
    assert SENT_OVER_FORMULA.metric_id not in set(tables.ratios["metric"])


def test_links_on_which_a_step_computes_otherwise_are_not_compared(tmp_path: Path) -> None:
    fast, slow = splits.record(FAST, "tensor", 1), splits.record(SLOW, "tensor", 1)
    apart = [
        s.model_copy(update={"values": (2.0, 1.9, 1.7)}) if s.metric == "loss" else s
        for s in slow.series
    ]
    other = slow.model_copy(update={"series": tuple(apart)}).sealed()
    layout = splits.samples.write_campaign(tmp_path, splits.plan(), (fast, other))
    splits.samples.write_index(layout, splits.CAMPAIGN)
    found = analyse_campaign(layout, splits.CAMPAIGN, 0.95).pairings
    pairing = next(own for own in found if own.case == "tensor")
    assert not pairing.pairs
    assert any("loss: 1.8 and 1.7" in str(refusal) for refusal in pairing.refusals)

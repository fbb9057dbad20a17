"""A launch of eight processes over an emulated link: what more ranks change."""

from pathlib import Path
from statistics import median

import pytest

# ruff: noqa: E402 - without torch this module is skipped before it imports it
pytest.importorskip("torch")

from launching import CASE, emulated, launched, request

from commwall.schema.case import Windows
from commwall.schema.collective import wire_share
from commwall.schema.result import CaseResult

RANKS = 8
RATE, LATENCY_S = 20e6, 20e-6
"""So slow a link that it, and not the CPUs that all ranks share, sets the time of an exchange."""
WINDOWS = Windows(full_s=0.2, other_s=0.1, min_steps=3, warmup_max_s=0.3)
LEGS = ("full", "comm", "single")


def test_every_rank_exchanges_what_the_wire_formula_says(tmp_path: Path) -> None:
    wanted = request(tmp_path, emulated(RATE, LATENCY_S), legs=LEGS, windows=WINDOWS)
    platform = wanted.platform.model_copy(update={"world_size": RANKS})
    with launched(wanted.model_copy(update={"platform": platform})) as (process, log):
        assert process.wait(timeout=180) == 0, log.read_text()
    result = CaseResult.model_validate_json((tmp_path / f"{CASE}.json").read_text())
    assert result.status == "ok" and all(check.passed for check in result.checks)
    steps = {
        (series.leg, series.rank): series.values
        for series in result.series
        if (series.metric, series.phase) == ("step_time_s", "measured")
    }
    everyone = {(leg, rank) for leg in ("full", "comm") for rank in range(RANKS)}
    assert set(steps) == everyone | {("single", 0)}
    assert len({len(steps["full", rank]) for rank in range(RANKS)}) == 1, "they decide together"
    losses = {s.values for s in result.series if s.metric == "loss" and s.leg is None}
    assert len(losses) == RANKS, "every rank has a batch of its own"
    assert result.runtime is not None and len(result.runtime.device_names) == RANKS
    wire_s = wire_share("all_reduce", RANKS) * sum(result.runtime.bucket_bytes) / RATE
    exchanged_s = median(steps["comm", 0])
    assert wire_s <= exchanged_s < 1.5 * wire_s

"""Columns of the tidy tables with their types, and those with which rows begin.

Layer: analysis. Reads and writes no file.
"""

from typing import Any, Protocol

from commwall.analysis.names import Quantity, is_emulated
from commwall.analysis.result import Analysis
from commwall.analysis.steps.columns import STEP_COLUMNS, STEP_DESCRIPTIONS
from commwall.analysis.tables.kinds import (
    COUNT,
    NUMBER,
    PAIR,
    PLATFORM,
    QUANTITY,
    RATIO,
    TEXT,
    TRUTH,
)
from commwall.language.translate import tr_later
from commwall.schema.plan import Comparison
from commwall.schema.record import Record
from commwall.stats.paired import PairedRatio

Row = dict[str, Any]
_TEXT, _COUNT, _NUMBER, _TRUTH = TEXT, COUNT, NUMBER, TRUTH
_PLATFORM, _PAIR, _QUANTITY, _RATIO = PLATFORM, PAIR, QUANTITY, RATIO
ROUND = {"round": _COUNT, "round_id": _TEXT}
COLUMNS: dict[str, dict[str, str]] = {
    "measurements": {
        **_PLATFORM,
        **ROUND,
        **_QUANTITY,
        "rank": _COUNT,
        "message_bytes": _COUNT,
        "peer": _COUNT,
        "bucket": _COUNT,
        "phase": _TEXT,
        "step": _COUNT,
        "value": _NUMBER,
    },
    "rounds": {
        **_PLATFORM,
        **ROUND,
        **_QUANTITY,
        "value": _NUMBER,
        "admitted": _TRUTH,
        "reason": _TEXT,
    },
    "sizes": {
        **_PLATFORM,
        **ROUND,
        **_QUANTITY,
        "rank": _COUNT,
        "message_bytes": _COUNT,
        "peer": _COUNT,
        "value": _NUMBER,
        "bound": _TRUTH,
        "admitted": _TRUTH,
    },
    "paths": {
        **_PLATFORM,
        **ROUND,
        "operation": _TEXT,
        "ranks": _TEXT,
        "rank": _COUNT,
        "message_bytes": _COUNT,
        "peer": _COUNT,
        "kind": _TEXT,
        "path": _TEXT,
        "bandwidth_bytes_per_s": _NUMBER,
        "nominal_bytes_per_s": _NUMBER,
        "nominal_share": _NUMBER,
        "unknown": _TEXT,
        "admitted": _TRUTH,
    },
    "sharing": {
        **_PLATFORM,
        **ROUND,
        "case_alone": _TEXT,
        "operation": _TEXT,
        "rank": _COUNT,
        "message_bytes": _COUNT,
        "together_bytes_per_s": _NUMBER,
        "alone_bytes_per_s": _NUMBER,
        "together_share": _NUMBER,
    },
    "platforms": {
        **_PLATFORM,
        **_QUANTITY,
        "n": _COUNT,
        "confidence": _NUMBER,
        "mean_kind": _TEXT,
        "mean": _NUMBER,
        "mean_low": _NUMBER,
        "mean_high": _NUMBER,
        "median": _NUMBER,
        "min": _NUMBER,
        "max": _NUMBER,
        "spread_percent": _NUMBER,
    },
    "limits": {
        **_PLATFORM,
        "n": _COUNT,
        "step_time_s": _NUMBER,
        "exposed_comm_share": _NUMBER,
        "host_gap_share": _NUMBER,
        "own_work_share": _NUMBER,
        "mfu": _NUMBER,
        "memory_share": _NUMBER,
        "memory_share_least": _NUMBER,
        "limit": _TEXT,
        "words": _TEXT,
    },
    "pairs": {
        **_PAIR,
        **ROUND,
        **_QUANTITY,
        "value_a": _NUMBER,
        "value_b": _NUMBER,
        "ratio": _NUMBER,
    },
    "ratios": {
        **_PAIR,
        **_QUANTITY,
        **_RATIO,
        "median_a": _NUMBER,
        "median_b": _NUMBER,
        "spread_a_percent": _NUMBER,
        "spread_b_percent": _NUMBER,
        "winner": _TEXT,
        "effect_percent": _NUMBER,
        "effect_low_percent": _NUMBER,
        "effect_high_percent": _NUMBER,
        "noise_floor_percent": _NUMBER,
        "refused_rounds": _COUNT,
        "reason": _TEXT,
        "verdict": _TEXT,
    },
    "factors": {**_PAIR, "factor": _TEXT, **_RATIO},
    "energy": {
        **_PLATFORM,
        **ROUND,
        "rank": _COUNT,
        "window_s": _NUMBER,
        "energy_j": _NUMBER,
        "power_w": _NUMBER,
        "polled_power_w": _NUMBER,
        "polled_difference_percent": _NUMBER,
        "idle_power_w": _NUMBER,
        "energy_j_per_sample": _NUMBER,
        "energy_above_idle_j_per_sample": _NUMBER,
        "admitted": _TRUTH,
    },
    "energy_parts": {
        **_PAIR,
        **_QUANTITY,
        "median_a": _NUMBER,
        "median_b": _NUMBER,
        **_RATIO,
        "uncounted_power_w": _NUMBER,
    },
    "traffic": {
        **{name: kind for name, kind in _PLATFORM.items() if name != "case"},
        **ROUND,
        "rank": _COUNT,
        "transfer": _TEXT,
        "expected_bytes": _COUNT,
        "duration_s": _NUMBER,
        "nvlink_sent_bytes": _COUNT,
        "nvlink_received_bytes": _COUNT,
        "nvlink_sent_percent": _NUMBER,
        "pcie_sent_bytes_per_s": _NUMBER,
        "pcie_received_bytes_per_s": _NUMBER,
        "loopback_bytes": _COUNT,
        "transports": _TEXT,
        "path": _TEXT,
        "path_taken": _TRUTH,
        "path_expected": _TEXT,
        "path_found": _TEXT,
        "path_reason": _TEXT,
        "treatment_taken": _TRUTH,
        "treatment_expected": _TEXT,
        "treatment_found": _TEXT,
        "treatment_reason": _TEXT,
        "reason": _TEXT,
    },
    "disturbance": {
        **_PLATFORM,
        "n": _COUNT,
        "sm_clock_min_hz": _NUMBER,
        "sm_clock_median_hz": _NUMBER,
        "sm_clock_max_hz": _NUMBER,
        "memory_clock_min_hz": _NUMBER,
        "memory_clock_median_hz": _NUMBER,
        "memory_clock_max_hz": _NUMBER,
        "temperature_min_c": _NUMBER,
        "temperature_median_c": _NUMBER,
        "temperature_max_c": _NUMBER,
        "throttled": _COUNT,
        "contended": _COUNT,
        "link_degraded": _COUNT,
        "power_capped": _COUNT,
        "at_power_limit": _COUNT,
        "sm_clock_mean_hz": _NUMBER,
        "sm_clock_highest_hz": _NUMBER,
        "not_ruled_out": _TEXT,
        "reason": _TEXT,
    },
    "links": {
        **_PLATFORM,
        "collective": _TEXT,
        "dtype": _TEXT,
        "in_place": _TRUTH,
        "wire_share": _NUMBER,
        "n": _COUNT,
        "confidence": _NUMBER,
        "link_latency_s": _NUMBER,
        "link_latency_low_s": _NUMBER,
        "link_latency_high_s": _NUMBER,
        "link_rate_bytes_per_s": _NUMBER,
        "link_rate_low_bytes_per_s": _NUMBER,
        "link_rate_high_bytes_per_s": _NUMBER,
        "smallest_bytes": _COUNT,
        "largest_bytes": _COUNT,
        "misfit_percent": _NUMBER,
        "misfit_bytes": _COUNT,
        "misfit_at_largest_percent": _NUMBER,
        "reason": _TEXT,
    },
    **STEP_COLUMNS,
    "yardsticks": {
        **_PLATFORM,
        **ROUND,
        "message_bytes": _COUNT,
        "operation_time_s": _NUMBER,
        "nccl_tests_time_s": _NUMBER,
        "rate_ratio": _NUMBER,
        "admitted": _TRUTH,
    },
    "replication": {
        "published": _TEXT,
        "suite": _TEXT,
        "case": _TEXT,
        "metric": _TEXT,
        "unit": _TEXT,
        "a": _TEXT,
        "b": _TEXT,
        "published_rounds": _COUNT,
        "published_mean": _NUMBER,
        "rounds": _COUNT,
        "mean": _NUMBER,
        "low": _NUMBER,
        "high": _NUMBER,
        "outcome": _TEXT,
        "reason": _TEXT,
    },
    "choices": {
        **_PLATFORM,
        **ROUND,
        "message_bytes": _COUNT,
        "algorithm": _TEXT,
        "protocol": _TEXT,
        "channels": _COUNT,
    },
}
"""Columns of each table with their types. In `pairs` and `ratios`, `unit` is that of the values;
ratios are pure numbers, and `..._percent` says its own. `effect_*` describes the winner
relative to the other side, negative where the interval reaches beyond 1, empty without interval.
`mean` is geometric for positive quantities, as `ratio` is. `bound` is false where the CPU under
the emulated link set the time. `rate_ratio` is the own rate over that of nccl-tests. `rank` is
empty in `energy` where all counted domains stand together, in `traffic` where nothing was counted.
`uncounted_power_w` would make up for the difference in energy. `throttled`, `contended`,
`link_degraded` and `power_capped` count records with that mark; readings of all records count
there. `at_power_limit` counts those whose power limit kept the clocks of leg `full` down, by the
mark or, before that was given, by power and clocks; `sm_clock_mean_hz` is that of the slowest GPU
in leg `full`, `sm_clock_highest_hz` the highest reading of the campaign."""

DESCRIPTIONS = {
    "ratios": tr_later("one verdict per comparison, case and quantity"),
    "pairs": tr_later("one ratio per comparison, case, quantity and round"),
    "factors": tr_later("the throughput gap of each comparison and its factors"),
    "energy": tr_later(
        "energy and power of each GPU and of all by the counter, polled, and above idle"
    ),
    "energy_parts": tr_later(
        "energy per sample of each comparison and its factors, power and time"
    ),
    "traffic": tr_later(
        "which way a known transfer took, by each launch's counters and NCCL's log"
    ),
    "disturbance": tr_later("clocks, temperatures and marks of disturbance while training"),
    "limits": tr_later(
        "where a training step's time goes, and what limits it: medians over rounds"
    ),
    "platforms": tr_later(
        "each platform over its admitted rounds: mean with interval, extremes, spread"
    ),
    "rounds": tr_later("one value per platform, case, round and quantity"),
    "sizes": tr_later("time and bandwidth per platform, case, round and size of message or buffer"),
    "paths": tr_later(
        "the way of each copy, its nominal rate and the share of it that was reached"
    ),
    "sharing": tr_later("what each device reaches while all copy, beside what it reaches alone"),
    "links": tr_later(
        "latency and rate of each link by collective: a line over the sizes, with its misfit"
    ),
    **STEP_DESCRIPTIONS,
    "yardsticks": tr_later(
        "the own times of collectives beside those of nccl-tests, where it was run"
    ),
    "replication": tr_later(
        "each cell of a published campaign, measured again, beside its fixed interval"
    ),
    "choices": tr_later("algorithm, protocol and channels that NCCL's log tells, by size"),
    "measurements": tr_later("every raw value of every readable record, warm-up included"),
}
"""What each table holds, in the order a reader wants them, for `tr`."""


def platform_columns(record: Record, analysis: Analysis) -> Row:
    """Where a row about a record belongs."""
    place = record.id
    return {
        "campaign": place.campaign,
        "platform": place.platform,
        "label": analysis.names.get(place.platform, place.platform),
        "emulated": is_emulated(record.platform),
        "suite": place.suite,
        "case": place.case,
    }


def round_columns(record: Record) -> Row:
    """Round of a row about a record."""
    return {"round": record.id.round, "round_id": record.id.round_id}


def quantity_columns(quantity: Quantity) -> Row:
    """What a row has a value of."""
    return {"metric": quantity.metric_id, "leg": quantity.leg, "unit": quantity.metric.unit}


class Compared(Protocol):
    """Anything about one comparison and case."""

    @property
    def comparison(self) -> Comparison:
        """Which two platforms."""

    @property
    def suite(self) -> str:
        """Its suite."""

    @property
    def case(self) -> str:
        """Its case."""


def pair_columns(part: Compared, analysis: Analysis) -> Row:
    """Where a row about a comparison belongs."""
    a, b = part.comparison.a, part.comparison.b
    return {
        "campaign": analysis.evidence.index.campaign,
        "suite": part.suite,
        "case": part.case,
        "a": a,
        "b": b,
        "label_a": analysis.names[a],
        "label_b": analysis.names[b],
        "control": part.comparison.control,
        "emulated": _any_emulated((a, b), analysis),
    }


def _any_emulated(platforms: tuple[str, ...], analysis: Analysis) -> bool:
    plan = analysis.evidence.plan
    return plan is not None and any(is_emulated(plan.platform(name)) for name in platforms)


def ratio_columns(ratio: PairedRatio) -> Row:
    """A ratio with its interval and what its rounds say."""
    interval = ratio.interval
    return {
        "n": ratio.n,
        "confidence": ratio.confidence,
        "method": interval.method if interval else None,
        "ratio": ratio.centre,
        "ratio_low": interval.low if interval else None,
        "ratio_high": interval.high if interval else None,
        "ratio_median": ratio.median,
        "ratio_min": min(ratio.ratios),
        "ratio_max": max(ratio.ratios),
        "rounds_needed": ratio.rounds_needed,
    }

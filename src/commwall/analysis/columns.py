"""Columns of the tidy tables with their types, and those with which rows begin.

Layer: analysis. Reads and writes no file.
"""

from typing import Any

from commwall.analysis.names import Quantity, is_emulated
from commwall.analysis.result import Analysis
from commwall.schema.record import Record

Row = dict[str, Any]
_TEXT, _COUNT, _NUMBER, _TRUTH = "string", "Int64", "float64", "boolean"

_PLATFORM = {
    "campaign": _TEXT,
    "platform": _TEXT,
    "label": _TEXT,
    "emulated": _TRUTH,
    "suite": _TEXT,
    "case": _TEXT,
}
_PAIR = {
    "campaign": _TEXT,
    "suite": _TEXT,
    "case": _TEXT,
    "a": _TEXT,
    "b": _TEXT,
    "label_a": _TEXT,
    "label_b": _TEXT,
    "control": _TRUTH,
    "emulated": _TRUTH,
}
ROUND = {"round": _COUNT, "round_id": _TEXT}
_QUANTITY = {"metric": _TEXT, "leg": _TEXT, "unit": _TEXT}
_RATIO = {
    "n": _COUNT,
    "confidence": _NUMBER,
    "method": _TEXT,
    "ratio": _NUMBER,
    "ratio_low": _NUMBER,
    "ratio_high": _NUMBER,
    "ratio_median": _NUMBER,
    "ratio_min": _NUMBER,
    "ratio_max": _NUMBER,
    "rounds_needed": _COUNT,
}
COLUMNS: dict[str, dict[str, str]] = {
    "measurements": {
        **_PLATFORM,
        **ROUND,
        **_QUANTITY,
        "rank": _COUNT,
        "message_bytes": _COUNT,
        "peer": _COUNT,
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
    "yardsticks": {
        **_PLATFORM,
        **ROUND,
        "message_bytes": _COUNT,
        "operation_time_s": _NUMBER,
        "nccl_tests_time_s": _NUMBER,
        "rate_ratio": _NUMBER,
        "admitted": _TRUTH,
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
`mean` is geometric for positive quantities, as `ratio` is. `bound` is false where gloo under the
emulated link set the time. `rate_ratio` is the own rate over that of nccl-tests."""

DESCRIPTIONS = {
    "ratios": "one verdict per comparison, case and quantity",
    "pairs": "one ratio per comparison, case, quantity and round",
    "factors": "the throughput gap of each comparison and its factors",
    "limits": "where a training step's time goes, and what limits it: medians over rounds",
    "platforms": "each platform over its admitted rounds: mean with interval, extremes, spread",
    "rounds": "one value per platform, case, round and quantity",
    "sizes": "time and bandwidth per platform, case, round and size of message or buffer",
    "paths": "the way of each copy, its nominal rate and the share of it that was reached",
    "sharing": "what each device reaches while all copy, beside what it reaches alone",
    "links": "latency and rate of each link by collective: a line over the sizes, with its misfit",
    "yardsticks": "the own times of collectives beside those of nccl-tests, where it was run",
    "choices": "algorithm, protocol and channels that NCCL's log tells, by size",
    "measurements": "every raw value of every readable record, warm-up included",
}
"""What each table holds, in the order a reader wants them."""


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

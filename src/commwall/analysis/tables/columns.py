"""Columns of the tidy tables of records and verdicts, with their types.

Layer: analysis. Reads and writes no file.
"""

from commwall.analysis.steps.columns import STEP_COLUMNS, STEP_DESCRIPTIONS
from commwall.analysis.tables.kinds import (
    COUNT,
    NUMBER,
    PAIR,
    PLATFORM,
    QUANTITY,
    RATIO,
    ROUND,
    TEXT,
    TRUTH,
)
from commwall.language.translate import tr_later

COLUMNS: dict[str, dict[str, str]] = {
    "measurements": {
        **PLATFORM,
        **ROUND,
        **QUANTITY,
        "rank": COUNT,
        "message_bytes": COUNT,
        "peer": COUNT,
        "bucket": COUNT,
        "phase": TEXT,
        "step": COUNT,
        "value": NUMBER,
    },
    "rounds": {
        **PLATFORM,
        **ROUND,
        **QUANTITY,
        "value": NUMBER,
        "admitted": TRUTH,
        "reason": TEXT,
    },
    "sizes": {
        **PLATFORM,
        **ROUND,
        **QUANTITY,
        "rank": COUNT,
        "message_bytes": COUNT,
        "peer": COUNT,
        "value": NUMBER,
        "bound": TRUTH,
        "admitted": TRUTH,
    },
    "paths": {
        **PLATFORM,
        **ROUND,
        "operation": TEXT,
        "ranks": TEXT,
        "rank": COUNT,
        "message_bytes": COUNT,
        "peer": COUNT,
        "kind": TEXT,
        "path": TEXT,
        "bandwidth_bytes_per_s": NUMBER,
        "nominal_bytes_per_s": NUMBER,
        "nominal_share": NUMBER,
        "unknown": TEXT,
        "admitted": TRUTH,
    },
    "sharing": {
        **PLATFORM,
        **ROUND,
        "case_alone": TEXT,
        "operation": TEXT,
        "rank": COUNT,
        "message_bytes": COUNT,
        "together_bytes_per_s": NUMBER,
        "alone_bytes_per_s": NUMBER,
        "together_share": NUMBER,
    },
    "platforms": {
        **PLATFORM,
        **QUANTITY,
        "n": COUNT,
        "confidence": NUMBER,
        "mean_kind": TEXT,
        "mean": NUMBER,
        "mean_low": NUMBER,
        "mean_high": NUMBER,
        "median": NUMBER,
        "min": NUMBER,
        "max": NUMBER,
        "spread_percent": NUMBER,
    },
    "limits": {
        **PLATFORM,
        "n": COUNT,
        "step_time_s": NUMBER,
        "exposed_comm_share": NUMBER,
        "host_gap_share": NUMBER,
        "own_work_share": NUMBER,
        "mfu": NUMBER,
        "memory_share": NUMBER,
        "memory_share_least": NUMBER,
        "limit": TEXT,
        "words": TEXT,
    },
    "pairs": {
        **PAIR,
        **ROUND,
        **QUANTITY,
        "value_a": NUMBER,
        "value_b": NUMBER,
        "ratio": NUMBER,
    },
    "ratios": {
        **PAIR,
        **QUANTITY,
        **RATIO,
        "median_a": NUMBER,
        "median_b": NUMBER,
        "spread_a_percent": NUMBER,
        "spread_b_percent": NUMBER,
        "winner": TEXT,
        "effect_percent": NUMBER,
        "effect_low_percent": NUMBER,
        "effect_high_percent": NUMBER,
        "noise_floor_percent": NUMBER,
        "refused_rounds": COUNT,
        "reason": TEXT,
        "verdict": TEXT,
    },
    "factors": {**PAIR, "factor": TEXT, **RATIO},
    "energy": {
        **PLATFORM,
        **ROUND,
        "rank": COUNT,
        "window_s": NUMBER,
        "energy_j": NUMBER,
        "power_w": NUMBER,
        "polled_power_w": NUMBER,
        "polled_difference_percent": NUMBER,
        "idle_power_w": NUMBER,
        "energy_j_per_sample": NUMBER,
        "energy_above_idle_j_per_sample": NUMBER,
        "admitted": TRUTH,
    },
    "energy_parts": {
        **PAIR,
        **QUANTITY,
        "median_a": NUMBER,
        "median_b": NUMBER,
        **RATIO,
        "uncounted_power_w": NUMBER,
    },
    "traffic": {
        **{name: kind for name, kind in PLATFORM.items() if name != "case"},
        **ROUND,
        "rank": COUNT,
        "transfer": TEXT,
        "expected_bytes": COUNT,
        "duration_s": NUMBER,
        "nvlink_sent_bytes": COUNT,
        "nvlink_received_bytes": COUNT,
        "nvlink_sent_percent": NUMBER,
        "pcie_sent_bytes_per_s": NUMBER,
        "pcie_received_bytes_per_s": NUMBER,
        "loopback_bytes": COUNT,
        "transports": TEXT,
        "path": TEXT,
        "path_taken": TRUTH,
        "path_expected": TEXT,
        "path_found": TEXT,
        "path_reason": TEXT,
        "treatment_taken": TRUTH,
        "treatment_expected": TEXT,
        "treatment_found": TEXT,
        "treatment_reason": TEXT,
        "reason": TEXT,
    },
    "disturbance": {
        **PLATFORM,
        "n": COUNT,
        "sm_clock_min_hz": NUMBER,
        "sm_clock_median_hz": NUMBER,
        "sm_clock_max_hz": NUMBER,
        "memory_clock_min_hz": NUMBER,
        "memory_clock_median_hz": NUMBER,
        "memory_clock_max_hz": NUMBER,
        "temperature_min_c": NUMBER,
        "temperature_median_c": NUMBER,
        "temperature_max_c": NUMBER,
        "throttled": COUNT,
        "contended": COUNT,
        "link_degraded": COUNT,
        "power_capped": COUNT,
        "at_power_limit": COUNT,
        "sm_clock_mean_hz": NUMBER,
        "sm_clock_highest_hz": NUMBER,
        "not_ruled_out": TEXT,
        "reason": TEXT,
    },
    "links": {
        **PLATFORM,
        "collective": TEXT,
        "dtype": TEXT,
        "in_place": TRUTH,
        "wire_share": NUMBER,
        "n": COUNT,
        "confidence": NUMBER,
        "link_latency_s": NUMBER,
        "link_latency_low_s": NUMBER,
        "link_latency_high_s": NUMBER,
        "link_rate_bytes_per_s": NUMBER,
        "link_rate_low_bytes_per_s": NUMBER,
        "link_rate_high_bytes_per_s": NUMBER,
        "smallest_bytes": COUNT,
        "largest_bytes": COUNT,
        "misfit_percent": NUMBER,
        "misfit_bytes": COUNT,
        "misfit_at_largest_percent": NUMBER,
        "reason": TEXT,
    },
    **STEP_COLUMNS,
    "yardsticks": {
        **PLATFORM,
        **ROUND,
        "message_bytes": COUNT,
        "operation_time_s": NUMBER,
        "nccl_tests_time_s": NUMBER,
        "rate_ratio": NUMBER,
        "admitted": TRUTH,
    },
    "replication": {
        "published": TEXT,
        "suite": TEXT,
        "case": TEXT,
        "metric": TEXT,
        "unit": TEXT,
        "a": TEXT,
        "b": TEXT,
        "published_rounds": COUNT,
        "published_mean": NUMBER,
        "rounds": COUNT,
        "mean": NUMBER,
        "low": NUMBER,
        "high": NUMBER,
        "outcome": TEXT,
        "reason": TEXT,
    },
    "choices": {
        **PLATFORM,
        **ROUND,
        "message_bytes": COUNT,
        "algorithm": TEXT,
        "protocol": TEXT,
        "channels": COUNT,
    },
}
"""Columns of each table with their types. In `pairs` and `ratios`, `unit` is that of the values;
ratios are pure numbers, and `..._percent` says its own. `effect_*` describes the winner
relative to the other side, negative where the interval reaches beyond 1, empty without interval.
`mean` is geometric for positive quantities, as `ratio` is. `bound` is false where the CPU under
the emulated link set the time. `rate_ratio` is the own rate over that of nccl-tests. `rank` is
empty in `energy` where all counted domains stand together, in `traffic` where nothing was counted.
`idle_power_w` is the lowest of each GPU before any launch of the campaign. `uncounted_power_w`
would make up for the difference in energy. `throttled`, `contended`, `link_degraded` and
`power_capped` count records with that mark; readings of all records count there. `at_power_limit`
counts those whose power limit kept the clocks of leg `full` down, by the mark or, before that was
given, by power and clocks; `sm_clock_mean_hz` is that of the slowest GPU in leg `full`,
`sm_clock_highest_hz` the highest reading of the campaign."""

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

"""Stand-in for the training suite: step times from a formula, the same on every run.

A step computes for 20 ms and exchanges 8 MB; 60 % of the exchange is exposed.
"""

import random
from typing import Any

COMPUTE_S = 0.020
GRADIENT_BYTES = 8_000_000
EXPOSED = 0.6
STEPS = 12


def result_of(case: str, request: dict[str, Any]) -> dict[str, Any]:
    """The result of one case as rank 0 writes it."""
    link = request["platform"]["treatment"]
    comm_s = GRADIENT_BYTES / link["bandwidth_bytes_per_s"] + link["latency_s"]
    leg_s = {
        "full": COMPUTE_S + EXPOSED * comm_s,
        "nosync": COMPUTE_S,
        "comm": comm_s,
        "single": 0.95 * COMPUTE_S,
    }
    noise = random.Random(f"{request['platform']['name']} {request['round']}")
    ranks = range(request["platform"]["world_size"])
    series = [
        _series("step_time_s", "s", leg, rank, _noisy(noise, seconds), phase)
        for leg, seconds in leg_s.items()
        for rank in ranks
        for phase in ("warmup", "measured")
        if leg != "single" or rank == 0
    ]
    for rank in ranks:
        series.append(_series("loss", "1", "full", rank, [6.9, 6.8, 6.7]))
        series.append(_series("gradient_norm", "1", "full", rank, [1.5, 1.4, 1.3]))
        series.append(_series("peak_memory_bytes", "byte", None, rank, [2e8]))
        series.append(_series("link_bound_share", "1", "comm", rank, [1.0]))
    return {
        "case": case,
        "status": "ok",
        "series": series,
        "windows": [{"leg": "full", "start_ns": 1_000_000_000, "end_ns": 2_000_000_000}],
        "runtime": {
            "torch": "2.13.0",
            "device_names": ["stand-in"] * len(ranks),
            "threads_per_rank": request["threads_per_rank"],
            "parameters": GRADIENT_BYTES // 4,
            "bucket_bytes": [GRADIENT_BYTES],
        },
    }


def _noisy(noise: random.Random, seconds: float) -> list[float]:
    return [seconds * noise.uniform(0.99, 1.01) for _ in range(STEPS)]


def _series(
    metric: str,
    unit: str,
    leg: str | None,
    rank: int,
    values: list[float],
    phase: str = "measured",
) -> dict[str, Any]:
    return {
        "metric": metric,
        "unit": unit,
        "leg": leg,
        "rank": rank,
        "phase": phase,
        "values": values,
    }

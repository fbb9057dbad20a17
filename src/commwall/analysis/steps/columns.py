"""Columns of the tables about the model of a step; part of `commwall.analysis.tables.columns`.

Layer: analysis. Reads and writes no file.
"""

from commwall.analysis.tables.kinds import COUNT, NUMBER, PLATFORM, TEXT, TRUTH
from commwall.language.translate import tr_later

PREDICTION = {
    "n": COUNT,
    "packed_step_s": NUMBER,
    "exchange_s": NUMBER,
    "sensitivity": NUMBER,
    "drag": NUMBER,
    "contention_measured": TRUTH,
    "predicted_s": NUMBER,
    "predicted_low_s": NUMBER,
    "predicted_high_s": NUMBER,
    "misfit_cases": COUNT,
    "measured_n": COUNT,
    "measured_s": NUMBER,
    "error_percent": NUMBER,
    "half_width_percent": NUMBER,
    "inside": TRUTH,
    "compute_percent": NUMBER,
    "exchange_percent": NUMBER,
    "contention_percent": NUMBER,
    "reason": TEXT,
}
"""A predicted step, and what it is held against."""

STEP_COLUMNS = {
    "predicted_steps": {
        "campaign": TEXT,
        "case": TEXT,
        "source": TEXT,
        "target": TEXT,
        "label_source": TEXT,
        "label_target": TEXT,
        "control": TRUTH,
        "confidence": NUMBER,
        **PREDICTION,
    },
    "prediction_errors": {
        "campaign": TEXT,
        "source": TEXT,
        "target": TEXT,
        "control": TRUTH,
        "confidence": NUMBER,
        "cells": COUNT,
        "unpredicted": COUNT,
        "judged": COUNT,
        "median_error_percent": NUMBER,
        "worst_error_percent": NUMBER,
        "worst_case": TEXT,
        "worst_source": TEXT,
        "worst_target": TEXT,
        "with_interval": COUNT,
        "inside": COUNT,
        "median_half_width_percent": NUMBER,
    },
    "step_models": {
        **PLATFORM,
        "n": COUNT,
        "buckets": COUNT,
        "bucket_bytes": COUNT,
        "gradient_bytes": COUNT,
        "first_ready_s": NUMBER,
        "backward_end_s": NUMBER,
        "packed_step_s": NUMBER,
        "full_step_s": NUMBER,
        "comm_s": NUMBER,
        "sweep": TEXT,
        "swept_s": NUMBER,
        "sweep_error_percent": NUMBER,
        "lost": NUMBER,
        "stretch": NUMBER,
        "sensitivity": NUMBER,
        "drag": NUMBER,
        "rest_s": NUMBER,
        "reason": TEXT,
    },
    "predicted_cases": {
        **PLATFORM,
        "source_case": TEXT,
        "differs": TEXT,
        "n": COUNT,
        "predicted_s": NUMBER,
        "measured_s": NUMBER,
        "error_percent": NUMBER,
        "predicted_cost_s": NUMBER,
        "measured_cost_s": NUMBER,
    },
    "bucket_sizes": {
        **PLATFORM,
        "n": COUNT,
        "bucket_bytes": COUNT,
        "buckets": COUNT,
        "step_s": NUMBER,
    },
}
"""`compute_percent`, `exchange_percent` and `contention_percent` say how far off each input of a
prediction is: as ratios they multiply to predicted / measured. `lost` and `stretch`
are what the sweep beside a load says of the case's buckets, `sensitivity` times as much is what the
workload takes, and the exchange takes 1 + `drag` times as long beyond that: pure numbers.
`..._cost_s` is what a step has beyond the packed one. `bucket_bytes` is the size from which on a
bucket is closed."""

STEP_DESCRIPTIONS = {
    "predicted_steps": tr_later(
        "each step predicted from another platform's training, beside the measured"
    ),
    "prediction_errors": tr_later("how far off predicted steps are: all, and by pair of platforms"),
    "step_models": tr_later("what the model of a step rests on: legs, sweeps, contention, traits"),
    "predicted_cases": tr_later(
        "steps predicted from another batch or smaller buckets of the same platform"
    ),
    "bucket_sizes": tr_later("the modelled step with gradient buckets joined to larger ones"),
}

"""What a record of suite `training` says: step time of each leg, and what is derived from it.

Layer: analysis. Reads no file. A value that cannot be had is absent with its reason, and a
negative exposed communication stays negative.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean, median

from commwall.analysis.quantities import EXPOSED, HOST_GAP, OVERLAP, Quantity, step_time
from commwall.analysis.values.clocks import APART, apart
from commwall.analysis.values.derived import Derived
from commwall.analysis.values.energy_values import energy_values
from commwall.analysis.values.gpu_use import gpu_use, peak_unknown
from commwall.analysis.values.idle import IdlePowers
from commwall.analysis.values.readings import (
    all_values,
    gap_reason,
    gradient_bytes,
    measured,
    not_measured,
    slowest_rank,
    training_case,
    why_no_steps,
    window_samples,
)
from commwall.language.translate import tr
from commwall.schema.case import Leg, TrainingCase
from commwall.schema.collective import bus_bandwidth
from commwall.schema.facts import GpuFactsFile
from commwall.schema.record import Record

MFU = Quantity("mfu")
StepTimes = Mapping[Leg, float]
"""Leg -> step time of the round [s]: the median over steps of the slowest rank's time."""


@dataclass(frozen=True)
class Formula:
    """How one derived metric comes from a record."""

    metric_id: str
    legs: tuple[Leg, ...]
    """Legs whose step times it needs."""
    compute: Callable[[Record, StepTimes], float]
    metrics: tuple[str, ...] = ()
    """Further measured metrics it needs."""


def training_values(
    record: Record,
    case: TrainingCase,
    peaks: GpuFactsFile,
    highest_hz: float | None,
    idle_w: IdlePowers,
) -> Derived:
    """Step times, what follows from them by formula, energy, and how the GPUs were used.

    Args:
        record: one cell of a campaign.
        case: its case.
        peaks: of the GPUs that are known.
        highest_hz: highest clock of the GPUs' processors in the campaign; None if unknown [Hz].
        idle_w: idle power of the campaign's GPUs.
    """
    reasons = {leg: why_no_steps(record, leg) for leg in case.legs}
    steps: dict[Leg, float] = {
        leg: median(slowest_rank(record, leg)) for leg, why in reasons.items() if not why
    }
    step_s = fmean(slowest_rank(record, "full")) if "full" in steps else None
    return (
        Derived(
            {step_time(leg): value for leg, value in steps.items()},
            {step_time(leg): why for leg, why in reasons.items() if why},
        )
        | Derived(_host_gaps(record, steps))
        | _by_formula(record, case, steps, highest_hz)
        | energy_values(record, idle_w, needs_leg("full") if step_s is None else None)
        | _told(MFU, mfu(record, steps, peaks))
        | gpu_use(record, step_s, peaks)
    )


def _host_gaps(record: Record, steps: StepTimes) -> dict[Quantity, float]:
    gaps = {leg: host_gap(record, leg) for leg in steps}
    return {Quantity(HOST_GAP, leg): gap for leg, gap in gaps.items() if gap is not None}


def _by_formula(
    record: Record, case: TrainingCase, steps: StepTimes, highest_hz: float | None
) -> Derived:
    derived = Derived()
    for formula in _formulas(steps):
        quantity = Quantity(formula.metric_id)
        if quantity.concerns(case):
            reason = _why_absent(record, formula, steps)
            if not reason and apart(record, formula.legs, highest_hz):
                reason = tr(APART)
            derived |= _told(quantity, reason or formula.compute(record, steps))
    return derived


def _told(quantity: Quantity, found: float | str) -> Derived:
    """A value, or the reason why there is none."""
    return Derived({}, {quantity: found}) if isinstance(found, str) else Derived({quantity: found})


def mfu(record: Record, steps: StepTimes, peaks: GpuFactsFile) -> float | str:
    """Model FLOPs utilisation of leg `full` [1], or why it is not known.

    Source: Chowdhery et al., PaLM, arXiv:2204.02311, appendix B.
    """
    runtime = record.software.runtime
    if record.platform.device == "cpu":
        return tr("the peak of a CPU is not on file")
    if training_case(record).precision != "bfloat16":
        return tr("the peaks on file are those of bfloat16")
    if runtime is None or runtime.step_flops is None:
        return tr("the record does not state the FLOPs of a step")
    own = peaks.of_all(runtime.device_names)
    if own is None or own.bfloat16_dense_flops is None:
        return peak_unknown(runtime.device_names)
    if "full" not in steps:
        return needs_leg("full")
    return runtime.step_flops / (steps["full"] * own.bfloat16_dense_flops.value)


def host_gap(record: Record, leg: Leg) -> float | None:
    """Share of a leg's step in which the device waits for the host [1]; None if not measured.

    The median step against the slowest of those enqueued beforehand, on the rank that waits most:
    the rule of mark host_bound (decision 036). Only ranks that timed both tell it.
    """
    timed, queued = (
        {own.rank: own.values for own in measured(record, metric, leg) if own.values}
        for metric in ("step_time_s", "queued_step_time_s")
    )
    both = timed.keys() & queued.keys()
    return max((1 - max(queued[rank]) / median(timed[rank]) for rank in both), default=None)


def throughput(record: Record, step_time_s: float) -> float:
    """Samples per second of all ranks [sample/s]."""
    return training_case(record).batch_per_gpu * record.platform.world_size / step_time_s


def _overlap(alone: Leg) -> Formula:
    """Share of the exchange that compute hides, measured from a step without exchange."""
    return Formula(
        OVERLAP.metric_id,
        ("full", alone, "comm"),
        lambda r, s: 1 - (s["full"] - s[alone]) / s["comm"],
    )


def _formulas(steps: StepTimes) -> tuple[Formula, ...]:
    """Those of a record: without leg `packed` packing counts as exchange that nothing hides."""
    if "packed" in steps:
        return FORMULAS
    return tuple(_overlap("nosync") if f.metric_id == OVERLAP.metric_id else f for f in FORMULAS)


def _why_absent(record: Record, formula: Formula, steps: StepTimes) -> str | None:
    """Reason why a formula lacks an input; None if it has all."""
    own = gap_reason(record, formula.metric_id, *formula.metrics)
    for leg in formula.legs:
        if leg not in steps:
            return own or needs_leg(leg)
    for metric_id in formula.metrics:
        if not any(value > 0 for value in all_values(record, metric_id)):
            return own or not_measured(metric_id)
    if formula.metric_id == "exchange_busbw_bytes_per_s":
        return _why_no_exchange(record)
    return None


def needs_leg(leg: Leg) -> str:
    """Why a value is absent that needs a leg which was not measured."""
    return tr("needs leg {leg}, which has no step times here", leg=leg)


def _why_no_exchange(record: Record) -> str | None:
    if record.platform.world_size < 2:
        return tr("one process exchanges nothing")
    stated = record.software.runtime is not None
    return None if stated else tr("the record does not state the bucket sizes")


def _exchange_busbw(record: Record, steps: StepTimes) -> float:
    return bus_bandwidth(
        message_bytes=gradient_bytes(record),
        time_s=steps["comm"],
        ranks=record.platform.world_size,
        collective="all_reduce",
    )


def _time_per_sample(record: Record) -> float:
    return sum(slowest_rank(record, "full")) / window_samples(record)


FORMULAS: tuple[Formula, ...] = (
    Formula("throughput_samples_per_s", ("full",), lambda r, s: throughput(r, s["full"])),
    Formula(
        "throughput_tokens_per_s",
        ("full",),
        lambda r, s: math.prod(training_case(r).batch_shape) * r.platform.world_size / s["full"],
    ),
    Formula(
        "epoch_time_s",
        ("full",),
        lambda r, s: training_case(r).dataset_samples / throughput(r, s["full"]),
    ),
    Formula(EXPOSED.metric_id, ("full", "nosync"), lambda r, s: s["full"] - s["nosync"]),
    Formula("packing_time_s", ("packed", "nosync"), lambda r, s: s["packed"] - s["nosync"]),
    Formula("exchange_cost_time_s", ("full", "packed"), lambda r, s: s["full"] - s["packed"]),
    _overlap("packed"),
    Formula("scaling_efficiency", ("full", "single"), lambda r, s: s["single"] / s["full"]),
    Formula("exchange_busbw_bytes_per_s", ("comm",), _exchange_busbw),
    Formula("mean_sample_time_s", ("full",), lambda r, s: _time_per_sample(r)),
    Formula(
        "peak_memory_bytes",
        (),
        lambda r, s: max(all_values(r, "peak_memory_bytes")),
        ("peak_memory_bytes",),
    ),
)
"""Scaling needs no batch: full and single take the same batch per process, so
throughput / (ranks x single throughput) is single step time / full step time."""

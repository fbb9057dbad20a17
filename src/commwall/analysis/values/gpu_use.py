"""How much of its GPUs a training record uses, by the GPUs' own counters.

Layer: analysis. Reads no file. Absent before Hopper and on CPUs, with the reason; nothing is
taken for it.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from commwall.analysis.quantities import MEMORY_SHARE, MEMORY_TRAFFIC, STEP_TRAFFIC, Quantity
from commwall.analysis.values.derived import Derived
from commwall.analysis.values.readings import by_rank, gap_reason
from commwall.language.translate import tr, tr_later
from commwall.schema.facts import GpuFactsFile
from commwall.schema.metrics import METRICS
from commwall.schema.record import Record
from commwall.schema.units import significant
from commwall.schema.use_metrics import AVERAGED, MEAN

AVERAGES = {MEMORY_SHARE: "dram_active_share"} | {Quantity(MEAN + m.id): m.id for m in AVERAGED}
"""Quantity -> the counter whose mean it is."""
ON_CPU = tr_later("a CPU has no such counters")
NOT_READ = tr_later("the record holds no reading of the GPUs' own counters")
MOST_SHARE = 1.01
"""No share is above 1; what exceeds it by less may be rounding. Chosen [1]."""
NEVER_IDLE = ("dram_active_share", "sm_active_share")
"""Counters that move in every step."""
OPTIMISER_BYTES = 28
"""Float32 traffic of AdamW for a parameter: 4 values read, 3 written [byte]."""
STATE_BYTES = 16
"""What AdamW keeps of a parameter: itself, its gradient and two moments in float32 [byte]."""
CACHED_BYTES = 2**28
"""A smaller state of the optimiser may stay in a GPU's cache, and traffic below the bound.
Chosen: five times the second-level cache of an H100, 50 MB.

Source: NVIDIA, H100 Tensor Core GPU Architecture, section "H100 L2 cache"."""


def gpu_use(record: Record, step_s: float | None, peaks: GpuFactsFile) -> Derived:
    """Means over window and GPUs, and the traffic of the devices' memory.

    Args:
        record: of suite training.
        step_s: mean step time of leg full; None where it has none [s].
        peaks: of the GPUs that are known.
    """
    use = Derived()
    for quantity, metric_id in AVERAGES.items():
        found = _mean(record, metric_id)
        if quantity == MEMORY_SHARE and step_s is not None and not isinstance(found, str):
            found = _too_little(record, step_s, peaks) or found
        if isinstance(found, str):
            use.absent[quantity] = found
        else:
            use.values[quantity] = found
    _add_memory(use, nominal_memory_rate(record, peaks), step_s)
    return use


def _add_memory(use: Derived, nominal: float | str, step_s: float | None) -> None:
    """Rate and bytes of a step, where the share and the nominal rate are known."""
    share = use.values.get(MEMORY_SHARE)
    if share is None or isinstance(nominal, str):
        why = use.absent.get(MEMORY_SHARE, str(nominal))
        use.absent.update({MEMORY_TRAFFIC: why, STEP_TRAFFIC: why})
        return
    use.values[MEMORY_TRAFFIC] = share * nominal
    if step_s is None:
        use.absent[STEP_TRAFFIC] = tr("{what} has no step times", what=tr("leg {leg}", leg="full"))
    else:
        use.values[STEP_TRAFFIC] = share * nominal * step_s


def memory_share_least(record: Record, step_s: float, peaks: GpuFactsFile) -> float | None:
    """Lower bound of the share of the memory's nominal rate that a step takes [1].

    Args:
        record: of suite training.
        step_s: step time of leg full [s].
        peaks: of the GPUs that are known.

    Source: definition of `memory_share_least` in the metric registry.
    """
    runtime = record.software.runtime
    rate = nominal_memory_rate(record, peaks)
    if isinstance(rate, str) or runtime is None or runtime.parameters is None:
        return None
    return OPTIMISER_BYTES * runtime.parameters / (step_s * rate)


def nominal_memory_rate(record: Record, peaks: GpuFactsFile) -> float | str:
    """Nominal rate of the memory of each of the record's GPUs [byte/s], or why it is not known."""
    runtime = record.software.runtime
    if record.platform.device == "cpu" or runtime is None:
        return tr("the nominal rate of the memory is not known")
    own = peaks.of_all(runtime.device_names)
    if own is None or own.memory_bytes_per_s is None:
        return peak_unknown(runtime.device_names)
    return own.memory_bytes_per_s.value


def peak_unknown(gpus: Iterable[str]) -> str:
    """Why a share of a peak of GPUs cannot be told."""
    names = tr(" and ").join(dict.fromkeys(gpus))
    return tr("the peak of {gpus} is unknown (config/facts/gpus.yaml)", gpus=names)


def of_some_gpus(metric_id: str, count: int, gpus: int) -> str:
    """Why a value of all GPUs cannot be told."""
    return tr(
        "{metric} is of {count} of {gpus} GPUs only", metric=metric_id, count=count, gpus=gpus
    )


def _mean(record: Record, metric_id: str) -> float | str:
    """Mean over the window and then over the GPUs; in words why there is none."""
    if record.platform.device == "cpu":
        return tr(ON_CPU)
    own, gpus = by_rank(record, metric_id), record.platform.world_size
    if len(own) == gpus:
        return _impossible(metric_id, own) or fmean(fmean(values) for values in own.values())
    why = gap_reason(record, metric_id)
    return why or (of_some_gpus(metric_id, len(own), gpus) if own else tr(NOT_READ))


def _impossible(metric_id: str, of_gpus: Mapping[int | None, Sequence[float]]) -> str | None:
    """Why values of a counter cannot be true; None if they can."""
    least, most = (end(map(end, of_gpus.values())) for end in (min, max))
    if least < 0:
        return tr("{metric} reads less than 0", metric=metric_id)
    if METRICS[metric_id].unit == "1" and most > MOST_SHARE:
        return tr(
            "{metric} reads {share}, and no share is above 100 %",
            metric=metric_id,
            share=f"{significant(100 * most)} %",
        )
    if metric_id in NEVER_IDLE and not all(map(any, of_gpus.values())):
        return tr("{metric} stays at 0 on a GPU that did steps", metric=metric_id)
    return None


def _too_little(record: Record, step_s: float, peaks: GpuFactsFile) -> str | None:
    """Why the counter of the memory misses what each step must move; None if it does not."""
    runtime, least = record.software.runtime, memory_share_least(record, step_s, peaks)
    if least is None or runtime is None or STATE_BYTES * (runtime.parameters or 0) < CACHED_BYTES:
        return None
    read = min(map(fmean, by_rank(record, "dram_active_share").values()))
    if read >= least:
        return None
    return tr(
        "{metric} reads {share} on a GPU whose optimiser alone takes {least}",
        metric="dram_active_share",
        share=f"{significant(100 * read, 2)} %",
        least=f"{significant(100 * least, 2)} %",
    )

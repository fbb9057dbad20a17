"""How much of its GPUs a training record uses, by the GPUs' own counters.

Layer: analysis. Reads no file. Absent before Hopper and on CPUs, with the reason; nothing is
taken for it.
"""

from collections.abc import Iterable
from statistics import fmean

from commwall.analysis.names import MEMORY_SHARE, MEMORY_TRAFFIC, STEP_TRAFFIC, Quantity
from commwall.analysis.values.derived import Derived
from commwall.analysis.values.readings import by_rank, gap_reason
from commwall.language.translate import tr, tr_later
from commwall.schema.facts import GpuFactsFile
from commwall.schema.record import Record
from commwall.schema.use_metrics import AVERAGED, MEAN

AVERAGES = {MEMORY_SHARE: "dram_active_share"} | {Quantity(MEAN + m.id): m.id for m in AVERAGED}
"""Quantity -> the counter whose mean it is."""
ON_CPU = tr_later("a CPU has no such counters")
NOT_READ = tr_later("the record holds no reading of the GPUs' own counters")


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
        return fmean(fmean(values) for values in own.values())
    why = gap_reason(record, metric_id)
    return why or (of_some_gpus(metric_id, len(own), gpus) if own else tr(NOT_READ))

"""Metrics derived from energy and from GPUs' own counters; part of the registry in
`commwall.schema.metrics`.

Layer: schema. Reads and writes no file.
"""

from commwall.schema.device_metrics import DEVICE_METRICS
from commwall.schema.metric import DESIGN, Direction, Metric

MEAN = "mean_"
AVERAGED = tuple(
    metric
    for metric in DEVICE_METRICS
    if metric.id in ("sm_active_share", "tensor_active_share") or metric.unit == "byte/s"
)
"""Counters of which the mean over window and GPUs is a value of the round; that of the memory's
has a name of its own."""


def _derived(
    metric_id: str, unit: str, direction: Direction, label: str, definition: str, source: str
) -> Metric:
    return Metric(
        id=metric_id,
        unit=unit,
        direction=direction,
        kind="derived",
        label=label,
        definition=definition,
        source=source,
    )


def _mean(metric: Metric) -> Metric:
    return _derived(
        f"{MEAN}{metric.id}",
        metric.unit,
        "neither",
        f"mean {metric.label.replace(', ', ' ')}",
        f"Mean of {metric.id} over the timed window of leg `full`, then over the GPUs.",
        metric.source,
    )


USE_METRICS = (
    _derived(
        "energy_j_per_sample",
        "J/sample",
        "lower",
        "energy per sample",
        "energy_j of all counted domains divided by the samples of the timed window of leg "
        "`full`; the product of mean_power_w and mean_sample_time_s.",
        DESIGN,
    ),
    _derived(
        "mean_sample_time_s",
        "s",
        "lower",
        "time per sample",
        "Time of the steps of leg `full` divided by their samples, of all ranks together. A mean, "
        "because energy is one; throughput is of the median step.",
        DESIGN,
    ),
    _derived(
        "energy_above_idle_j_per_sample",
        "J/sample",
        "lower",
        "energy per sample above idle",
        "As energy_j_per_sample without what the same GPUs would have taken idle: the lowest "
        "idle_power_w of each before any launch of the campaign, times the time of the steps. A "
        "lower bound: a GPU that had not come to rest even then draws less at rest.",
        DESIGN,
    ),
    _derived(
        "efficiency_above_idle_samples_per_wh",
        "sample/Wh",
        "higher",
        "samples per watt-hour above idle",
        "3600 / energy_above_idle_j_per_sample; so an upper bound.",
        DESIGN,
    ),
    _derived(
        "memory_share",
        "1",
        "neither",
        "share of the memory bound",
        "Mean of dram_active_share over the timed window of leg `full`, then over the GPUs: "
        "measured traffic of the device's memory by its nominal rate.",
        "NVML, GPU performance monitoring, DRAM bandwidth utilisation",
    ),
    _derived(
        "memory_traffic_bytes_per_s",
        "byte/s",
        "neither",
        "memory traffic",
        "memory_share times the nominal rate: what one GPU reads and writes in its own memory "
        "while it trains, mean over the GPUs.",
        "NVML, GPU performance monitoring, DRAM bandwidth utilisation; config/facts/gpus.yaml",
    ),
    _derived(
        "step_memory_traffic_bytes",
        "byte",
        "neither",
        "memory traffic of a step",
        "memory_traffic_bytes_per_s times the mean step time of leg `full`. The "
        "exchange's own traffic is among it, and differs between links.",
        DESIGN,
    ),
    *map(_mean, AVERAGED),
)

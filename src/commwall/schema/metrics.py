"""The metric registry: each metric once, with unit, direction, definition and source.

Layer: schema. Labels, table heads and docs/metrics.md come from here.
"""

from commwall.schema.device_metrics import DEVICE_METRICS
from commwall.schema.inference_metrics import INFERENCE_METRICS
from commwall.schema.metric import DESIGN, Metric
from commwall.schema.mitigation_metrics import MITIGATION_METRICS
from commwall.schema.model_metrics import MODEL_METRICS
from commwall.schema.operation_metrics import OPERATION_METRICS
from commwall.schema.strategy_metrics import STRATEGY_METRICS
from commwall.schema.use_metrics import USE_METRICS

_ALL = (
    Metric(
        id="step_time_s",
        unit="s",
        direction="lower",
        kind="measured",
        label="step time",
        definition="Duration of one optimisation step of a leg on one rank, from the end of the "
        "step before to the end of this one, device synchronised.",
        source=DESIGN,
    ),
    Metric(
        id="queued_step_time_s",
        unit="s",
        direction="lower",
        kind="measured",
        label="step time, enqueued",
        definition="Step time of a leg whose steps are recorded, with the host's work done "
        "beforehand: steps enqueued while the GPU is kept busy. What step_time_s is longer is "
        "time in which the GPU waits for the host.",
        source=DESIGN,
    ),
    Metric(
        id="host_gap_share",
        unit="1",
        direction="lower",
        kind="derived",
        label="host gap",
        definition="Share of a leg's step in which the GPU waits for the host: 1 - longest "
        "queued_step_time_s / median step_time_s, on the rank that waits most; above 2 % the leg "
        "is marked host_bound. The longest, since what a step now and then takes anyway is no "
        "waiting; so it may be negative. Known where steps are recorded; the rest of the step the "
        "GPU is busy.",
        source=DESIGN,
    ),
    Metric(
        id="first_steps_time_s",
        unit="s",
        direction="neither",
        kind="measured",
        label="time of the first steps",
        definition="Wall time of each of the first steps after building, with a look at loss and "
        "gradients. In the first one kernels are compiled or loaded; it is not part of any other "
        "value.",
        source=DESIGN,
    ),
    Metric(
        id="compile_cache_hits",
        unit="1",
        direction="neither",
        kind="measured",
        label="compile cache hits",
        definition="Compiled graphs that one rank's process has found in the compiler's cache "
        "since it began.",
        source="PyTorch, torch._dynamo.utils.counters",
    ),
    Metric(
        id="compile_cache_misses",
        unit="1",
        direction="neither",
        kind="measured",
        label="compile cache misses",
        definition="Compiled graphs that one rank's process had to compile since it began.",
        source="PyTorch, torch._dynamo.utils.counters",
    ),
    Metric(
        id="one_sample_step_time_s",
        unit="s",
        direction="lower",
        kind="measured",
        label="step time with one sample",
        definition="Step time of leg `single` on a GPU with a batch of one sample, where the step "
        "is not recorded: about what the host needs to start a step's kernels. Above 80 % of the "
        "case's own step time the case is marked host bound.",
        source=DESIGN,
    ),
    Metric(
        id="loss",
        unit="1",
        direction="neither",
        kind="measured",
        label="loss",
        definition="Training loss of the first steps after seeding, on one rank; the same on "
        "every platform of a round within the rounding of the case's precision.",
        source=DESIGN,
    ),
    Metric(
        id="gradient_norm",
        unit="1",
        direction="neither",
        kind="measured",
        label="gradient norm",
        definition="Euclidean norm of all gradients after the exchange, for the steps of `loss`.",
        source=DESIGN,
    ),
    Metric(
        id="peak_memory_bytes",
        unit="byte",
        direction="lower",
        kind="measured",
        label="peak memory",
        definition="Most memory in use on one rank during a case: the device allocator's peak on "
        "CUDA, the process's peak resident set on CPU.",
        source="torch.cuda.max_memory_allocated; proc(5), VmHWM after writing 5 to clear_refs",
    ),
    Metric(
        id="link_bound_share",
        unit="1",
        direction="higher",
        kind="measured",
        label="link-bound share",
        definition="Time the emulated link takes for the operations, divided by the time that they "
        "take: below 0.95 the emulation does not bind. In the suite collectives the time of an "
        "operation is the timed one, the median over the groups. In a leg of a training case, "
        "where compute may lie beside, it is the link's plus the lateness: from the link's end "
        "until the caller goes on, or until the operation is complete where the caller comes "
        "later or is DDP, which waits unseen.",
        source=DESIGN,
    ),
    Metric(
        id="energy_j",
        unit="J",
        direction="lower",
        kind="measured",
        label="energy",
        definition="Energy of the counted domains over the timed window of leg `full`, between "
        "two updates of the counter.",
        source="Linux powercap sysfs, energy_uj; NVML nvmlDeviceGetTotalEnergyConsumption",
    ),
    Metric(
        id="power_w",
        unit="W",
        direction="lower",
        kind="measured",
        label="polled power",
        definition="Power of one GPU as its driver averages it, polled during the timed window of "
        "leg `full`. More than 5 % apart from energy_j over time, the record is marked.",
        source="NVML, nvmlDeviceGetPowerUsage",
    ),
    Metric(
        id="idle_power_w",
        unit="W",
        direction="lower",
        kind="measured",
        label="idle power",
        definition="Power of one GPU polled in the first 2 s of a launch, before its workers open "
        "the device; a GPU that worked shortly before may still be above its rest.",
        source="NVML, nvmlDeviceGetPowerUsage",
    ),
    Metric(
        id="throughput_samples_per_s",
        unit="sample/s",
        direction="higher",
        kind="derived",
        label="throughput",
        definition="Samples of one step of all ranks divided by the round's median step time of "
        "leg `full`, where a step takes as long as its slowest rank.",
        source=DESIGN,
    ),
    Metric(
        id="throughput_tokens_per_s",
        unit="token/s",
        direction="higher",
        kind="derived",
        label="token throughput",
        definition="throughput_samples_per_s times the sequence length; padding does not occur in "
        "the synthetic data.",
        source=DESIGN,
    ),
    Metric(
        id="epoch_time_s",
        unit="s",
        direction="lower",
        kind="derived",
        label="epoch time",
        definition="Samples of the stated data set divided by throughput_samples_per_s.",
        source="config/facts/datasets.yaml for the size",
    ),
    Metric(
        id="exposed_comm_time_s",
        unit="s",
        direction="lower",
        kind="derived",
        label="exposed communication",
        definition="Step time of leg `full` minus step time of leg `nosync`: communication that "
        "compute does not hide.",
        source=DESIGN,
    ),
    Metric(
        id="overlap_ratio",
        unit="1",
        direction="higher",
        kind="derived",
        label="overlap",
        definition="1 - exposed_comm_time_s / step time of leg `comm`: share of the exchange "
        "hidden behind compute.",
        source=DESIGN,
    ),
    Metric(
        id="scaling_efficiency",
        unit="1",
        direction="higher",
        kind="derived",
        label="scaling efficiency",
        definition="throughput_samples_per_s / (ranks x throughput of leg `single`).",
        source=DESIGN,
    ),
    Metric(
        id="exchange_busbw_bytes_per_s",
        unit="byte/s",
        direction="higher",
        kind="derived",
        label="exchange bus bandwidth",
        definition="2(n-1)/n x gradient bytes of one step / step time of leg `comm`.",
        source="NVIDIA nccl-tests, doc/PERFORMANCE.md, section 'AllReduce'",
    ),
    Metric(
        id="energy_efficiency_samples_per_j",
        unit="sample/J",
        direction="higher",
        kind="derived",
        label="energy efficiency",
        definition="Samples of the timed window of leg `full` divided by energy_j. Counted are "
        "the GPUs, or on a CPU its packages and memory; never switches, network or fans.",
        source=DESIGN,
    ),
    Metric(
        id="energy_efficiency_samples_per_wh",
        unit="sample/Wh",
        direction="higher",
        kind="derived",
        label="samples per watt-hour",
        definition="energy_efficiency_samples_per_j times 3600.",
        source=DESIGN,
    ),
    Metric(
        id="mean_power_w",
        unit="W",
        direction="lower",
        kind="derived",
        label="mean power",
        definition="energy_j of all counted domains divided by the time of the steps of leg "
        "`full`.",
        source=DESIGN,
    ),
    Metric(
        id="mfu",
        unit="1",
        direction="higher",
        kind="derived",
        label="MFU",
        definition="Model FLOPs utilisation: FLOPs of the model's forward and backward pass for "
        "one process's batch, divided by step time of leg `full` and by the GPU's dense bfloat16 "
        "peak. Nothing that is computed twice counts twice.",
        source="Chowdhery et al., PaLM, arXiv:2204.02311, appendix B; config/facts/gpus.yaml for "
        "the peak; the model families for the FLOPs",
    ),
    Metric(
        id="exposed_comm_share",
        unit="1",
        direction="lower",
        kind="derived",
        label="exposed communication, share of the step",
        definition="exposed_comm_time_s / step time of leg `full`, both without the host's gaps "
        "where these were measured: what the link costs the device.",
        source=DESIGN,
    ),
    Metric(
        id="own_work_share",
        unit="1",
        direction="higher",
        kind="derived",
        label="the device's own work, share of the step",
        definition="What is left of a step of leg `full` without exposed communication and without "
        "the gaps in which the device waits for the host. On device cpu there are no such gaps: "
        "host and device are one.",
        source=DESIGN,
    ),
    Metric(
        id="memory_share_least",
        unit="1",
        direction="neither",
        kind="derived",
        label="share of the memory bound, at least",
        definition="28 byte for each parameter, divided by step time of leg `full` and by the "
        "device memory's nominal rate: what the optimiser alone must move (AdamW in float32: "
        "parameter, gradient and two moments read, all but the gradient written). A lower bound, "
        "and a loose one: activations are not counted, and caches may keep a few per cent of it.",
        source="Loshchilov and Hutter, Decoupled Weight Decay Regularization, arXiv:1711.05101, "
        "algorithm 2, for what is read and written; config/facts/gpus.yaml for the rate",
    ),
)

METRICS: dict[str, Metric] = {
    metric.id: metric
    for metric in (
        *_ALL,
        *MODEL_METRICS,
        *USE_METRICS,
        *DEVICE_METRICS,
        *OPERATION_METRICS,
        *MITIGATION_METRICS,
        *STRATEGY_METRICS,
        *INFERENCE_METRICS,
    )
}

"""Metrics of the suite mitigations; part of the registry in `commwall.schema.metrics`.

Layer: schema. Reads and writes no file.
"""

from commwall.schema.metric import DESIGN, Metric

MITIGATION_METRICS = (
    Metric(
        id="held_out_loss",
        unit="1",
        direction="lower",
        kind="measured",
        label="loss on held-out text",
        definition="Loss [nat] on characters that were not learnt, after a fixed number of batches "
        "of a small net that learns the next character of Python's own documentation; one value a "
        "seed. Leg `full` trains without the mitigation, leg `mitigated` with it, from the same "
        "weights on the same batches.",
        source=DESIGN,
    ),
    Metric(
        id="gradient_error",
        unit="1",
        direction="lower",
        kind="measured",
        label="gradient error",
        definition="Distance between the gradient that a step of that training used and the exact "
        "mean of the ranks' gradients at the same weights, relative to the length of the latter; "
        "one value a step. What an earlier step's error feedback adds counts as error.",
        source=DESIGN,
    ),
    Metric(
        id="bound_node",
        unit="1",
        direction="neither",
        kind="measured",
        label="NUMA node",
        definition="Number of the NUMA node to whose CPUs a rank was bound.",
        source="Linux kernel, Documentation/ABI/stable/sysfs-devices-node",
    ),
    Metric(
        id="bound_cpus",
        unit="1",
        direction="neither",
        kind="measured",
        label="CPUs of the node",
        definition="CPUs to which a rank's threads were bound.",
        source="Linux kernel, Documentation/ABI/stable/sysfs-devices-node",
    ),
    Metric(
        id="mitigated_throughput_samples_per_s",
        unit="sample/s",
        direction="higher",
        kind="derived",
        label="throughput with the mitigation",
        definition="Samples of one step of leg `mitigated` of all ranks, all its batches counted, "
        "divided by the round's median step time, where a step takes as long as its slowest rank.",
        source=DESIGN,
    ),
    Metric(
        id="unmitigated_throughput_samples_per_s",
        unit="sample/s",
        direction="higher",
        kind="derived",
        label="throughput without the mitigation",
        definition="Samples of one step of leg `full` of all ranks divided by the round's median "
        "step time, in a launch that times the mitigated step in turn with it.",
        source=DESIGN,
    ),
    Metric(
        id="mitigation_speedup",
        unit="1",
        direction="higher",
        kind="derived",
        label="speed-up by the mitigation",
        definition="mitigated_throughput_samples_per_s / unmitigated_throughput_samples_per_s of "
        "the same launch, where the two steps took turns.",
        source=DESIGN,
    ),
    Metric(
        id="gap_recovered_share",
        unit="1",
        direction="higher",
        kind="derived",
        label="share of the platform gap recovered",
        definition="(t - m) / (t - f), with t the time per sample of the unmitigated step, m that "
        "of the mitigated one, and f that of the unmitigated step on the faster platform in the "
        "same round. 1 is as fast as the faster platform without the mitigation.",
        source=DESIGN,
    ),
    Metric(
        id="mitigation_energy_ratio",
        unit="1",
        direction="lower",
        kind="derived",
        label="energy per sample, relative",
        definition="Energy per sample of leg `mitigated` divided by that of leg `full`, of the "
        "counted domains over each leg's own windows.",
        source=DESIGN,
    ),
    Metric(
        id="loss_price",
        unit="1",
        direction="lower",
        kind="derived",
        label="price in loss",
        definition="held_out_loss of leg `mitigated` minus that of leg `full`, mean over all seeds "
        "of all rounds. 0 is free.",
        source=DESIGN,
    ),
)

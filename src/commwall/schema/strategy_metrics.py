"""Metrics of parallel strategies; part of the registry in `commwall.schema.metrics`.

Layer: schema. Reads and writes no file.
"""

from commwall.schema.metric import DESIGN, Metric

STRATEGY_METRICS = (
    Metric(
        id="strategy_tokens_per_s",
        unit="token/s",
        direction="higher",
        kind="derived",
        label="split-step throughput",
        definition="Tokens of one training step of all ranks divided by the round's median step "
        "time, where a step takes as long as its slowest rank.",
        source=DESIGN,
    ),
    Metric(
        id="step_sent_bytes",
        unit="byte",
        direction="lower",
        kind="measured",
        label="bytes sent in a step",
        definition="What one rank puts on its link in one step of a strategy, or for one token of "
        "each answer of a decoder: the emulated link's own count of what it was asked to carry, or "
        "NVML's counters of NVLink payload over steps with quiet before and after them, divided by "
        "their number. Unknown where nobody counts: PCIe has a rate only, gloo nothing. As a "
        "round's value: the mean over the ranks, because the ends of a pipeline send less than its "
        "middle.",
        source="NVML, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX; the emulated link's counters",
    ),
    Metric(
        id="formula_sent_bytes",
        unit="byte",
        direction="neither",
        kind="derived",
        label="bytes sent in a step, by formula",
        definition="What the formula of the strategy or decoder says of step_sent_bytes, with ring "
        "algorithms, as the mean over the ranks.",
        source="commwall.schema.volumes, with the papers it names",
    ),
    Metric(
        id="sent_over_formula",
        unit="1",
        direction="neither",
        kind="derived",
        label="bytes sent, measured over formula",
        definition="The round's step_sent_bytes divided by formula_sent_bytes. NCCL may send more "
        "where it adds flags to small messages, and less where a switch reduces.",
        source=DESIGN,
    ),
)

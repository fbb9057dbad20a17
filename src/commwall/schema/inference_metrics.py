"""Metrics of inference; part of the registry in `commwall.schema.metrics`.

Layer: schema. Reads and writes no file.
"""

from commwall.schema.metric import DESIGN, Metric

INFERENCE_METRICS = (
    Metric(
        id="prefill_time_s",
        unit="s",
        direction="lower",
        kind="measured",
        label="time to read the prompts",
        definition="Duration of reading all prompts of a batch on one rank, up to the first token "
        "of each answer.",
        source=DESIGN,
    ),
    Metric(
        id="token_time_s",
        unit="s",
        direction="lower",
        kind="measured",
        label="time per token",
        definition="Duration of generating one token of each answer of a batch on one rank, scores "
        "of all words gathered and the likeliest chosen.",
        source=DESIGN,
    ),
    Metric(
        id="prefill_tokens_per_s",
        unit="token/s",
        direction="higher",
        kind="derived",
        label="prompt throughput",
        definition="Tokens of all prompts divided by the round's median prefill_time_s, of the "
        "slowest rank each time.",
        source=DESIGN,
    ),
    Metric(
        id="decode_tokens_per_s",
        unit="token/s",
        direction="higher",
        kind="derived",
        label="generation throughput",
        definition="Answers of the batch divided by the round's median token_time_s, of the "
        "slowest rank each time.",
        source=DESIGN,
    ),
    Metric(
        id="decode_tokens_per_s_per_gpu",
        unit="token/s",
        direction="higher",
        kind="derived",
        label="generation throughput, per GPU",
        definition="decode_tokens_per_s divided by the number of ranks.",
        source=DESIGN,
    ),
    Metric(
        id="hbm_bound_share",
        unit="1",
        direction="higher",
        kind="derived",
        label="share of the memory bound of generation",
        definition="What a rank must read of its memory for one token of each answer (its part of "
        "the weights, and the cache as it is allocated) divided by the memory's nominal rate and "
        "by the round's token_time_s: 1 would be generating as fast as the memory can be read.",
        source="commwall.schema.inference.read_bytes; config/facts/gpus.yaml for the rate",
    ),
)

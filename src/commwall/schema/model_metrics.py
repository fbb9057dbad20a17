"""Metrics on which the model of a step rests; part of the registry in `commwall.schema.metrics`.

Layer: schema. Reads and writes no file.
"""

from commwall.schema.metric import DESIGN, Metric

MODEL_METRICS = (
    Metric(
        id="bucket_ready_time_s",
        unit="s",
        direction="lower",
        kind="measured",
        label="bucket ready after",
        definition="From the start of a step of leg `packed` until a gradient bucket holds all its "
        "gradients on one rank: when its exchange could begin. One series a bucket.",
        source=DESIGN,
    ),
    Metric(
        id="backward_end_time_s",
        unit="s",
        direction="lower",
        kind="measured",
        label="backward over after",
        definition="From the start of the same steps until the backward pass is over; what is left "
        "of the step is the optimiser's.",
        source=DESIGN,
    ),
    Metric(
        id="load_time_s",
        unit="s",
        direction="neither",
        kind="measured",
        label="load alone",
        definition="Duration of a run of matrix products on one rank with nothing beside it, in a "
        "case of suite collectives that says `beside`.",
        source=DESIGN,
    ),
    Metric(
        id="load_beside_time_s",
        unit="s",
        direction="lower",
        kind="measured",
        label="load beside the exchange",
        definition="Duration of the same run with the collective beside it: "
        "load_beside_repetitions of it, one after another, which end before the run does.",
        source=DESIGN,
    ),
    Metric(
        id="load_beside_repetitions",
        unit="1",
        direction="neither",
        kind="measured",
        label="repetitions beside the load",
        definition="Repetitions of the collective in a run of load_beside_time_s; operation_time_s "
        "of such a case is the time of one of them.",
        source=DESIGN,
    ),
    Metric(
        id="packing_time_s",
        unit="s",
        direction="lower",
        kind="derived",
        label="packing of gradients",
        definition="packed - nosync: step time with gradients packed into DDP's buckets, which "
        "nobody exchanges, minus the step that leaves them where they are.",
        source=DESIGN,
    ),
    Metric(
        id="exchange_cost_time_s",
        unit="s",
        direction="lower",
        kind="derived",
        label="cost of the exchange",
        definition="full - packed: what the exchange itself adds to a step, by waiting for it and "
        "by what it takes from the compute beside it.",
        source=DESIGN,
    ),
)

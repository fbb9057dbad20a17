"""Metrics of collectives and copies; part of the registry in `commwall.schema.metrics`.

Layer: schema. Reads and writes no file.
"""

from commwall.schema.metric import DESIGN, Metric

_NCCL_TESTS = "NVIDIA nccl-tests, doc/PERFORMANCE.md, section 'Bandwidth'"

OPERATION_METRICS = (
    Metric(
        id="operation_time_s",
        unit="s",
        direction="lower",
        kind="measured",
        label="operation time",
        definition="Duration of one timed group of back-to-back repetitions of a collective or a "
        "copy on one rank, divided by their number; the device is synchronised at both ends. Where "
        "recorded_repetitions stands beside it the repetitions were recorded in a CUDA graph whose "
        "replays the device finds enqueued, else the host asked for each.",
        source=DESIGN,
    ),
    Metric(
        id="repetitions",
        unit="1",
        direction="neither",
        kind="measured",
        label="repetitions",
        definition="Repetitions in each timed group of operation_time_s, agreed among the ranks.",
        source=DESIGN,
    ),
    Metric(
        id="recorded_repetitions",
        unit="1",
        direction="neither",
        kind="measured",
        label="recorded repetitions",
        definition="Repetitions in the CUDA graph whose replays were timed, agreed among "
        "the ranks.",
        source=DESIGN,
    ),
    Metric(
        id="eager_time_s",
        unit="s",
        direction="lower",
        kind="measured",
        label="operation time, eager",
        definition="As operation_time_s, but asked for by the host one by one, as an eager program "
        "does; left out where one takes longer than 1 ms, since the host then plays no part.",
        source=DESIGN,
    ),
    Metric(
        id="nccl_tests_time_s",
        unit="s",
        direction="lower",
        kind="measured",
        label="operation time, nccl-tests",
        definition="Mean time of an operation that the user's nccl-tests prints, one process for "
        "all GPUs, asked for by the host; run after the launch with the platform's variables.",
        source="NVIDIA nccl-tests, doc/PERFORMANCE.md",
    ),
    Metric(
        id="busbw_bytes_per_s",
        unit="byte/s",
        direction="higher",
        kind="derived",
        label="bus bandwidth",
        definition="algbw_bytes_per_s times the share of the buffer that each rank's link carries "
        "per direction: 2(n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter and "
        "all-to-all, 1 for broadcast and send/recv. As a round's value: of the largest message.",
        source=_NCCL_TESTS,
    ),
    Metric(
        id="algbw_bytes_per_s",
        unit="byte/s",
        direction="higher",
        kind="derived",
        label="algorithm bandwidth",
        definition="Bytes of the full buffer divided by the median over groups of the slowest "
        "rank's operation_time_s. As a round's value: of the largest message.",
        source=_NCCL_TESTS,
    ),
    Metric(
        id="latency_s",
        unit="s",
        direction="lower",
        kind="derived",
        label="latency",
        definition="Median over groups of the slowest rank's operation_time_s for the smallest "
        "message.",
        source=DESIGN,
    ),
    Metric(
        id="link_latency_s",
        unit="s",
        direction="lower",
        kind="derived",
        label="link latency",
        definition="Intercept of the line time = latency + wire bytes / rate that is fitted to a "
        "round's operation_time_s over the sizes with the least squares of relative misfits; wire "
        "bytes are the size times the share that busbw_bytes_per_s takes. NCCL changes its "
        "protocol with the size, so the largest misfit stands beside it.",
        source="R. W. Hockney, The communication challenge for MPP, Parallel Computing 20 (1994)",
    ),
    Metric(
        id="link_rate_bytes_per_s",
        unit="byte/s",
        direction="higher",
        kind="derived",
        label="link rate",
        definition="Inverse slope of the line of link_latency_s: one rate that serves all sizes "
        "of the sweep. NCCL's protocol of middle sizes draws it below the bus bandwidth of large "
        "messages, by about the misfit at the largest size; for that bandwidth see "
        "busbw_bytes_per_s.",
        source="R. W. Hockney, The communication challenge for MPP, Parallel Computing 20 (1994)",
    ),
    Metric(
        id="memory_bandwidth_bytes_per_s",
        unit="byte/s",
        direction="higher",
        kind="derived",
        label="memory bandwidth",
        definition="Counted bytes of one operation on one rank divided by the median over groups "
        "of the slowest rank's operation_time_s, all ranks working at once unless the case has "
        "them take turns. Counted are reads and writes of device memory (copy 2, triad 3 times "
        "the buffer) and each transfer between memories once (both directions of a bidirectional "
        "copy). As a round's value: of the largest buffer, and of the slowest device or pair of "
        "devices where they work in turn.",
        source="J. D. McCalpin, STREAM: Sustainable Memory Bandwidth in High Performance Computers",
    ),
    Metric(
        id="nominal_share",
        unit="1",
        direction="higher",
        kind="derived",
        label="share of nominal",
        definition="memory_bandwidth_bytes_per_s divided by the nominal rate of the way, counted "
        "alike: device memory reading and writing together; PCIe or NVLink by generation and "
        "lanes or links, per direction, twice that for a bidirectional copy. Above 1 a "
        "measurement is invalid. Unknown where a GPU or link is not on file, and for buffers "
        "below 256 MiB of device memory, which may stay in a cache.",
        source="config/facts/gpus.yaml and config/facts/links.yaml",
    ),
    Metric(
        id="together_share",
        unit="1",
        direction="higher",
        kind="derived",
        label="bandwidth while all copy, relative to alone",
        definition="Bandwidth of one device while all devices do the same, divided by its "
        "bandwidth while the others wait: 1 where each has a way of its own, 1/n where n share "
        "one.",
        source=DESIGN,
    ),
)

"""What travels between the supervisor and the worker processes.

Layer: schema. The supervisor writes a LaunchRequest; rank 0 writes a CaseResult per case,
and a rank that fails writes one of its own.
"""

from typing import Literal

from commwall.schema.base import Model, Name, PositiveFloat, PositiveInt
from commwall.schema.case import Case, Leg, SuiteName
from commwall.schema.plan import PlannedPlatform

Cause = Literal["out_of_memory", "unsupported", "check_failed", "error"]
"""Outcomes that would come again: they are the record."""

MarkName = Literal[
    "host_bound",
    "throttled",
    "contended",
    "emulation_not_binding",
    "warmup_not_settled",
    "energy_doubtful",
    "link_degraded",
    "compiled_anew",
    "power_capped",
]
EXCLUDING_MARKS: frozenset[str] = frozenset(
    {"host_bound", "throttled", "contended", "emulation_not_binding"}
)
"""Marks that keep a record's numbers out of verdicts."""
LEAST_BOUND_SHARE = 0.95
"""Below this share of the operations' time the emulated link does not bind: the CPU does."""


class Series(Model):
    """Raw values of one metric in measured order."""

    metric: str
    """Identifier in the metric registry."""
    unit: str
    """Unit of the values; equals the registry's."""
    leg: Leg | None = None
    """Leg in which they were measured."""
    rank: int | None = None
    """Process that measured them; None if they hold for the whole launch."""
    message_bytes: PositiveInt | None = None
    """Size of the message or buffer; None where the metric has none [byte]."""
    peer: int | None = None
    """Rank whose device is at the other end of a peer copy."""
    bucket: int | None = None
    """Place of a gradient bucket in the order of exchange, from 0."""
    phase: Literal["warmup", "measured"] = "measured"
    """Warm-up values are kept, and kept apart."""
    values: tuple[float, ...]
    """Values in measured order."""


class Window(Model):
    """When a leg was timed, on the machine's monotonic clock (CLOCK_MONOTONIC)."""

    leg: Leg
    start_ns: int
    end_ns: int


class Check(Model):
    """A correctness check made while measuring."""

    name: str
    """What was checked."""
    passed: bool
    """False keeps the record out of verdicts."""
    found: str
    """What was there."""
    expected: str
    """What should have been there."""


class Mark(Model):
    """A disturbance or doubt that a reader must know."""

    name: MarkName
    """Kind of disturbance."""
    leg: Leg | None = None
    """Leg concerned; null if all."""
    detail: str
    """What was seen, with numbers."""


class Gap(Model):
    """Something that could not be read, and why."""

    what: str
    """Metric identifier or field that is absent."""
    reason: str
    """Why it is absent."""


class NcclChoice(Model):
    """How NCCL carried a collective out at one size."""

    message_bytes: PositiveInt
    """Size of the full buffer [byte]."""
    algorithm: str
    """RING, TREE, NVLS …"""
    protocol: str
    """LL, LL128 or SIMPLE."""
    channels: PositiveInt
    """Channels it used, each a block of threads on the GPU."""


QUIET_S = 0.4
"""How long nothing is sent before and after a known transfer, so that a counter that is read a
few times a second holds it alone [s]."""


class Transfer(Model):
    """A known amount of data that the ranks exchanged, with quiet before and after it."""

    what: str
    """In words, such as `20 all-reduces of 256 MiB`."""
    sent_bytes: PositiveInt
    """What each rank sends over its links by the collective's wire formula [byte]."""
    start_ns: int
    """Nothing was on the links shortly before; CLOCK_MONOTONIC [ns]."""
    end_ns: int
    """Nothing was on the links shortly after [ns]."""


class CountedSteps(Model):
    """Steps of a case with quiet before and after them, for counters that are read from outside."""

    steps: PositiveInt
    start_ns: int
    """Nothing was on the links shortly before; CLOCK_MONOTONIC [ns]."""
    end_ns: int
    """Nothing was on the links shortly after [ns]."""


class RuntimeFacts(Model):
    """What only the workers can say of their own software and set-up."""

    torch: str
    """Version of PyTorch."""
    cuda: str | None = None
    """CUDA version PyTorch was built for."""
    nccl: str | None = None
    """Version of NCCL."""
    device_names: tuple[str, ...]
    """Device of each rank, in rank order."""
    threads_per_rank: PositiveInt
    """CPU threads of each process."""
    parameters: PositiveInt | None = None
    """Trainable parameters of the model; None where none is trained."""
    step_flops: PositiveFloat | None = None
    """FLOPs of the model's forward and backward pass for one process's batch, by its family's
    formula; null where the family states none for the preset."""
    bucket_bytes: tuple[int, ...] = ()
    """Bytes of each gradient bucket in the order of exchange [byte]."""


class NamedCase(Model):
    """A case with the name it has in its plan."""

    name: Name
    case: Case
    """What to measure."""


class LaunchRequest(Model):
    """Everything one launch of the workers needs to know."""

    campaign: Name
    platform: PlannedPlatform
    suite: SuiteName
    round: PositiveInt
    round_id: str
    cases: tuple[NamedCase, ...]
    output_dir: str
    """Folder for results, one file a case: `<case>.json`, `<case>.rank<N>.failed.json`."""
    cache_dir: str
    """Folder in which compiled kernels are kept from launch to launch."""
    threads_per_rank: PositiveInt
    collective_timeout_s: PositiveFloat
    """A collective that takes longer ends the launch [s]."""
    only_compile: bool = False
    """True has the workers compile what the cases run, and time nothing."""


class CaseResult(Model):
    """What one launch found for one case."""

    case: Name
    status: Literal["ok", "failed", "skipped"]
    cause: Cause | None = None
    detail: str | None = None
    """Reason when failed or skipped, with rank and message."""
    series: tuple[Series, ...] = ()
    windows: tuple[Window, ...] = ()
    checks: tuple[Check, ...] = ()
    marks: tuple[Mark, ...] = ()
    gaps: tuple[Gap, ...] = ()
    runtime: RuntimeFacts | None = None
    transfer: Transfer | None = None
    """Of the launch; by it counters prove which way the traffic takes."""
    counted: CountedSteps | None = None
    """When the bytes of a step may be counted; null where the workers count them, or nobody."""

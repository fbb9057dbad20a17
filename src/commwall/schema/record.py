"""The record: one case, one platform, one round, with all that is needed to judge and repeat it.

Layer: schema. Stored as `results/<campaign>/records/<platform>/<suite>/<case>/r<NN>.json`.
Holds raw values only: no mean, no deviation, no host name, user name, address or serial.
"""

from typing import Literal, Self

from pydantic import AwareDatetime, model_validator

from commwall.schema.base import Model, Name, PositiveInt, digest
from commwall.schema.case import Case, SuiteName
from commwall.schema.plan import PlannedPlatform
from commwall.schema.result import Cause, Check, Gap, Mark, NcclChoice, RuntimeFacts, Series

RECORD_VERSION: Literal[1] = 1


class RecordId(Model):
    """Where a record belongs; its path must agree."""

    campaign: Name
    platform: Name
    suite: SuiteName
    case: Name
    round: PositiveInt
    round_id: str
    """Shared by all platforms measured back to back in this round."""


class Status(Model):
    """Outcome of the case."""

    state: Literal["ok", "failed", "skipped"]
    cause: Cause | None = None
    """Why it failed; null unless failed."""
    detail: str | None = None
    """Reason of a failed or skipped case in words."""

    @model_validator(mode="after")
    def _reasoned(self) -> Self:
        if self.state == "failed" and self.cause is None:
            raise ValueError("a failed record needs a cause")
        if self.state == "skipped" and not self.detail:
            raise ValueError("a skipped record needs a reason")
        return self


class Protocol(Model):
    """Which version of the measuring procedure made the numbers."""

    version: str
    """Protocol version of the suite, or `digest-<12 digits>` for unacknowledged code."""
    freshness_key: str
    """Protocol version and environment lock; a record is fresh while this is the current key."""


class GpuFacts(Model):
    """One GPU as probed."""

    name: str
    """Marketing name; says less than the other fields."""
    uuid_digest: str
    """SHA-256 of the uuid, 12 digits."""
    memory_bytes: int
    """Memory of the device [byte]."""
    power_limit_w: float | None = None
    """Enforced power limit [W]."""
    max_sm_clock_hz: float | None = None
    """Highest clock of the processors [Hz]."""
    pcie_generation: int | None = None
    """Highest generation of its PCIe link that GPU and slot allow."""
    pcie_width: int | None = None
    """Most lanes of its PCIe link that GPU and slot allow."""
    partitioned: bool | None = None
    """True if it is divided into instances (MIG); null if it cannot be."""


class MachineFacts(Model):
    """The machine as probed."""

    fingerprint: str
    """Identity of the kind of machine; equals the plan's."""
    cpu_model: str
    """Model name of the CPU."""
    cpu_count: PositiveInt
    """CPUs this process may use."""
    numa_nodes: PositiveInt | None = None
    """NUMA nodes with memory."""
    memory_bytes: int | None = None
    """Memory of the machine [byte]."""
    boot_digest: str | None = None
    """SHA-256 of the kernel's boot id, 12 digits."""
    gpus: tuple[GpuFacts, ...] = ()
    """GPUs in index order."""
    driver: str | None = None
    """Version of the GPU driver."""
    link_matrix: tuple[tuple[str, ...], ...] | None = None
    """Kind of link between GPU i and j, as `nvidia-smi topo` names it."""
    peer_access: bool | None = None
    """Whether every GPU may read every other's memory without the host."""


class SoftwareFacts(Model):
    """The software as probed."""

    python: str
    """Version of Python."""
    lock_digest: str
    """Digest of the environment's lock, or `adopted-…` for an adopted one."""
    packages_digest: str
    """Digest of the packages really installed."""
    code_digest: str
    """Digest of the code that measured."""
    git_commit: str | None = None
    """Commit of the checkout."""
    dirty: bool | None = None
    """True if the checkout had uncommitted changes."""
    argv: tuple[str, ...]
    """Words of the measuring command."""
    variables: dict[str, str]
    """Allow-listed environment variables of the workers."""
    runtime: RuntimeFacts | None = None
    """What the workers say of themselves; null if none came to say it."""


class Traffic(Model):
    """What carried the launch's known transfer, as counters and NCCL's log tell."""

    what: str
    """The transfer in words."""
    expected_bytes: PositiveInt
    """What each rank sends by the wire formula [byte]."""
    duration_s: float
    """How long the transfer took [s]."""
    nvlink_sent_bytes: tuple[int, ...] | None = None
    """By NVML's counters of payload, summed over the links of each rank's GPU [byte]."""
    nvlink_received_bytes: tuple[int, ...] | None = None
    """The same of what came in [byte]."""
    pcie_sent_bytes_per_s: tuple[float, ...] | None = None
    """Rate of each rank's GPU during the transfer, protocol included [byte/s]."""
    pcie_received_bytes_per_s: tuple[float, ...] | None = None
    """The same of what came in [byte/s]."""
    loopback_bytes: int | None = None
    """What the loopback interface carried meanwhile [byte]."""
    transports: tuple[str, ...] = ()
    """How the ranks are joined, in NCCL's words, such as `P2P/CUMEM`."""


class Record(Model):
    """One measured cell of a campaign."""

    schema_version: Literal[1] = RECORD_VERSION
    digest: str
    """SHA-256 of the canonical text of everything else; an edited record is invalid."""
    id: RecordId
    measured_at: AwareDatetime
    """End of the launch (UTC)."""
    status: Status
    case: Case
    """What was measured, with every parameter resolved."""
    protocol: Protocol
    platform: PlannedPlatform
    machine: MachineFacts
    other_nodes: tuple[MachineFacts, ...] = ()
    """The other machines of a launch on several, in the order of their ranks."""
    software: SoftwareFacts
    series: tuple[Series, ...] = ()
    nccl_choices: tuple[NcclChoice, ...] = ()
    """What NCCL's log tells of the sizes of a collective; a size may have several."""
    traffic: Traffic | None = None
    """Which way the traffic took; null where nothing was exchanged to see it."""
    checks: tuple[Check, ...] = ()
    marks: tuple[Mark, ...] = ()
    gaps: tuple[Gap, ...] = ()

    @property
    def machines(self) -> tuple[MachineFacts, ...]:
        """All machines of the launch, in the order of their ranks."""
        return (self.machine, *self.other_nodes)

    def content_digest(self) -> str:
        """Digest of everything but `digest` itself."""
        return digest(self.model_dump(mode="json", exclude={"digest"}))

    def sealed(self) -> "Record":
        """The same record carrying its own digest."""
        return self.model_copy(update={"digest": self.content_digest()})

    @model_validator(mode="after")
    def _path_parts_agree(self) -> Self:
        if self.id.platform != self.platform.name or self.id.suite != self.case.suite:
            raise ValueError("id disagrees with platform or case")
        return self

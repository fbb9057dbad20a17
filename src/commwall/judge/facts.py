"""What verdicts are measured by: how GPUs are linked, what others reach, and thresholds.

Layer: judge. Reads `gpus.yaml`, `gpu-links.yaml`, `links.yaml`, `busbw.yaml`, `copies.yaml`,
`thresholds.yaml` and `nccl-variables.yaml` of `config/facts`.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from pydantic import BaseModel, RootModel

from commwall.judge.variables import VariableFacts
from commwall.schema.achieved import AchievedFile
from commwall.schema.base import Model, Name
from commwall.schema.errors import ConfigError
from commwall.schema.facts import (
    Fact,
    Figure,
    FiguresFile,
    Generation,
    GpuFactsFile,
    GpuPeaks,
    LinkRates,
)
from commwall.schema.parsing import parse_model, parse_yaml

FOLDER = Path("config/facts")
LANES = 16
"""Of a full PCIe slot."""
M = TypeVar("M", bound=BaseModel)


class GpuLinks(Model):
    """How GPUs of a kind reach each other and the host."""

    names: tuple[str, ...] = ()
    """Names under which drivers know it, whole."""
    reach: Literal["switch", "direct", "bridge", "none"]
    """What NVLink joins: all GPUs of a board through switches, GPUs to each other without one,
    pairs of cards by a bridge, or nothing."""
    nvlinks: Generation | None = None
    """NVLinks of a GPU."""
    nvlink_generation: Generation | None = None
    """Of these links; None where it is not told."""
    nvlink_bytes_per_s: Fact | None = None
    """All of them together in one direction [byte/s]."""
    pcie_generation: Generation | None = None
    """None where the way to the host is another one, or not known."""
    power_w: Fact | None = None
    """Limit as it is sold [W]."""
    peer_access: bool | None = None
    """Whether the maker's driver lets these GPUs reach each other's memory at all; None where that
    is not known for all of the kind."""
    peer_copy: Name | None = None
    """Entry of `copies.yaml`: a copy between two."""
    host_copy: Name | None = None
    """Entry of `copies.yaml`: a copy with the host."""


class Slot(NamedTuple):
    """The full PCIe slot that a GPU is made for."""

    generation: int
    bytes_per_s: float
    """Nominal rate in one direction."""
    source: str


class Thresholds(Model):
    """Where a value becomes a verdict."""

    large_message_bytes: Fact
    saturating_message_bytes: Fact
    full_rate_message_bytes: Fact
    usual_share_of_nvlink: Fact
    poor_share_of_nvlink: Fact
    tolerated_share_of_achieved: Fact
    outlier_share: Fact
    dip_share: Fact
    least_collective_time_s: Fact
    busy_share: Fact
    near_power_limit_share: Fact
    least_pcie_share: Fact
    most_pcie_share: Fact
    rounding_error_most: Fact
    socket_threads_most: Fact


class _Gpus(RootModel[dict[str, GpuLinks]]):
    pass


class JudgeFacts(Model):
    """All of them."""

    gpus: dict[str, GpuLinks]
    links: LinkRates
    achieved: AchievedFile
    copies: dict[str, Figure]
    thresholds: Thresholds
    variables: VariableFacts

    def kind_of(self, name: str) -> str | None:
        """The kind of a GPU; None if it is not on file. No other GPU stands in."""
        return next((kind for kind, gpu in self.gpus.items() if name in gpu.names), None)

    def gpu_of(self, names: Iterable[str]) -> GpuLinks | None:
        """What is on file of GPUs that are all of one kind."""
        kinds = {self.kind_of(name) for name in names}
        kind = kinds.pop() if len(kinds) == 1 else None
        return self.gpus[kind] if kind else None

    def slot_of(self, gpu: GpuLinks | None) -> Slot | None:
        """The full slot that a GPU is made for; None where that is not on file."""
        number = gpu.pcie_generation.value if gpu and gpu.pcie_generation else None
        lane = self.links.pcie.get(number) if number else None
        return Slot(number, lane.value * LANES, lane.source) if number and lane else None

    def pcie_bytes_per_s(self, generation: int, lanes: int = LANES) -> float | None:
        """Nominal rate of a PCIe link in one direction [byte/s]; None if it is not on file."""
        lane = self.links.pcie.get(generation)
        return lane.value * lanes if lane else None


def facts_root(start: Path) -> Path:
    """The checkout whose facts count: the one at hand, else the one this package stands in."""
    own = Path(__file__).resolve().parents[3]
    return start if (start / FOLDER / "thresholds.yaml").exists() else own


def read_facts(root: Path) -> JudgeFacts:
    """Read all facts.

    Args:
        root: the checkout.

    Raises:
        ConfigError: if a file is absent or malformed.
    """
    links = _read(root, "links.yaml", LinkRates)
    peaks = _read(root, "gpus.yaml", GpuFactsFile).root
    own = _read(root, "gpu-links.yaml", _Gpus).root
    return JudgeFacts(
        gpus={kind: _linked(each, peaks.get(kind), links) for kind, each in own.items()},
        links=links,
        achieved=_read(root, "busbw.yaml", AchievedFile),
        copies=_read(root, "copies.yaml", FiguresFile).root,
        thresholds=_read(root, "thresholds.yaml", Thresholds),
        variables=read_variables(root),
    )


def _linked(own: GpuLinks, peaks: GpuPeaks | None, links: LinkRates) -> GpuLinks:
    """What the file of GPUs says of a kind, and what it lacks."""
    if peaks is None:
        return own
    known = {
        "nvlinks": peaks.nvlink_links,
        "nvlink_generation": peaks.nvlink_generation,
        "nvlink_bytes_per_s": peaks.nvlink_bytes_per_s or _all_links(peaks, links),
        "pcie_generation": peaks.pcie_generation,
        "power_w": peaks.power_w,
    }
    told = {name: fact for name, fact in known.items() if fact}
    return own.model_copy(update={"names": (*peaks.names, *own.names), **told})


def _all_links(peaks: GpuPeaks, links: LinkRates) -> Fact | None:
    """Rate of a GPU's NVLinks together in one direction: their number times that of one."""
    generation = peaks.nvlink_generation
    one = peaks.nvlink_link_bytes_per_s or (
        links.nvlink.get(generation.value) if generation else None
    )
    if one is None or peaks.nvlink_links is None:
        return None
    return one.model_copy(update={"value": one.value * peaks.nvlink_links.value})


def read_variables(root: Path) -> VariableFacts:
    """Read what is on file of NCCL's variables.

    Raises:
        ConfigError: if the file is absent or malformed.
    """
    return _read(root, "nccl-variables.yaml", VariableFacts)


def _read(root: Path, name: str, model: type[M]) -> M:
    where = str(FOLDER / name)
    try:
        text = (root / FOLDER / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            "cannot read a file",
            where=where,
            found=getattr(error, "strerror", None) or str(error),
            expected="a readable UTF-8 text",
            next_step="restore it; facts lie in config/facts of the checkout",
        ) from error
    return parse_model(model, parse_yaml(text, where), where)

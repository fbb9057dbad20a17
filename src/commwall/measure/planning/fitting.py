"""What of a campaign file this machine allows, and what the platforms are called on it.

Layer: measure. Reads and writes no file.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from commwall.measure.planning.configuration import Campaign
from commwall.schema.case import Case
from commwall.schema.config import PlatformConfig
from commwall.schema.plan import Comparison, LeftOut, PlannedPlatform
from commwall.schema.record import GpuFacts, MachineFacts

ALONE = ("single",)
"""Legs of a process that has nobody to exchange with."""
_NO_PART_OF_A_MODEL = frozenset({"nvidia", "geforce", "quadro", "tesla"})


@dataclass(frozen=True)
class Fitted:
    """A campaign file as this machine can measure it."""

    platforms: dict[str, PlannedPlatform]
    """Name in the campaign file -> platform under the name it has in the plan."""
    comparisons: tuple[Comparison, ...]
    cases: dict[str, Case]
    left_out: tuple[LeftOut, ...]


def fit(campaign: Campaign, machine: MachineFacts) -> Fitted:
    """Leave out what the machine does not allow, each with its reason.

    Args:
        campaign: what the user asked for.
        machine: this machine.
    """
    config = campaign.config
    reasons = {name: why_not(asked, machine) for name, asked in config.platforms.items()}
    platforms = {
        name: _planned(name, asked, machine.gpus)
        for name, asked in config.platforms.items()
        if reasons[name] is None
    }
    pairs = [pair for pair in config.comparisons if {pair.a, pair.b} <= platforms.keys()]
    cases, shortened = _cases(campaign.cases, list(platforms.values()))
    lost = [pair for pair in config.comparisons if pair not in pairs]
    left_out = (
        *(LeftOut(what=f"platform {n}", reason=why) for n, why in reasons.items() if why),
        *(_lost_pair(pair, reasons) for pair in lost),
        *shortened,
    )
    comparisons = tuple(
        pair.model_copy(update={"a": platforms[pair.a].name, "b": platforms[pair.b].name})
        for pair in pairs
    )
    return Fitted(platforms, comparisons, cases, left_out)


def why_not(asked: PlatformConfig, machine: MachineFacts) -> str | None:
    """Why a machine does not have a platform; None if it has."""
    count = len(machine.gpus)
    least = 1 if asked.world_size == "all" else asked.world_size // asked.nodes
    if asked.device == "cuda" and count < least and (asked.where is None or least > 2):
        return f"it needs {least} GPUs{' on each node' * (asked.nodes > 1)}, here are {count}"
    if asked.where is None:
        return None
    if asked.where == "one_gpu":
        return None if count == 1 else f"it is for machines with one GPU, here are {count}"
    if count < 2:
        return f"it needs two GPUs, here {'is' if count == 1 else 'are'} {count}"
    linked = every_two_by_nvlink(machine)
    if asked.where == "nvlink" and not linked:
        return f"no NVLink between every two GPUs: {_matrix_text(machine)}"
    if asked.where == "no_nvlink" and linked:
        return f"NVLink joins every two GPUs: {_matrix_text(machine)}"
    if asked.where == "no_nvlink" and machine.peer_access is False:
        return "the driver allows no access between GPUs: NCCL would stage through the host anyway"
    return None


def every_two_by_nvlink(machine: MachineFacts) -> bool:
    """True if NVLink is known to join every two GPUs."""
    rows = machine.link_matrix or ()
    links = [link for i, row in enumerate(rows) for j, link in enumerate(row) if i != j]
    return bool(links) and all(link.startswith("NV") for link in links)


def machine_kind(gpus: Sequence[GpuFacts]) -> str:
    """GPUs in a word that can begin a platform's name: `h200x2`, `rtx4090x1`, `gpux2` if mixed."""
    names = {gpu.name for gpu in gpus}
    model = _model_word(names.pop()) if len(names) == 1 else ""
    return f"{model or 'gpu'}x{len(gpus)}"


def name_prefix(device: Literal["cpu", "cuda"], gpus: Sequence[GpuFacts], nodes: int) -> str:
    """What planning puts before a platform's name: GPUs of a node, and how many nodes.

    Args:
        device: on which the platform computes.
        gpus: those that it uses of a node.
        nodes: how many there are.
    """
    if device == "cpu":
        return ""
    return f"{machine_kind(gpus)}-" + (f"{nodes}nodes-" if nodes > 1 else "")


def _model_word(name: str) -> str:
    """`NVIDIA A100-SXM4-80GB` -> `a100`, `NVIDIA GeForce RTX 4090` -> `rtx4090`."""
    words = [w for w in re.findall(r"[a-z0-9]+", name.lower()) if w not in _NO_PART_OF_A_MODEL]
    numbered = next((i for i, word in enumerate(words) if re.search(r"\d", word)), None)
    return "" if numbered is None else "".join(words[: numbered + 1])


def _planned(name: str, asked: PlatformConfig, gpus: Sequence[GpuFacts]) -> PlannedPlatform:
    """A platform of the plan; on GPUs its name says which and how many."""
    size = len(gpus) * asked.nodes if asked.world_size == "all" else asked.world_size
    return PlannedPlatform(
        name=name_prefix(asked.device, gpus[: size // asked.nodes], asked.nodes) + name,
        device=asked.device,
        world_size=size,
        nodes=asked.nodes,
        treatment=asked.treatment,
        path=asked.path,
    )


def _cases(
    cases: dict[str, Case], platforms: list[PlannedPlatform]
) -> tuple[dict[str, Case], tuple[LeftOut, ...]]:
    """The cases, with the one leg that is left where no platform has two processes."""
    if not platforms or any(platform.world_size > 1 for platform in platforms):
        return cases, ()
    shortened = {
        name: case.model_copy(update={"legs": ALONE}) if "legs" in type(case).model_fields else case
        for name, case in cases.items()
    }
    names = sorted({leg for case in cases.values() for leg in getattr(case, "legs", ())} - {*ALONE})
    told = LeftOut(what=f"legs {', '.join(names)}", reason="one process exchanges nothing")
    return shortened, (told,) if names else ()


def _lost_pair(pair: Comparison, reasons: dict[str, str | None]) -> LeftOut:
    side = pair.a if reasons[pair.a] else pair.b
    return LeftOut(what=f"comparison {pair.a} against {pair.b}", reason=f"no platform {side} here")


def _matrix_text(machine: MachineFacts) -> str:
    if machine.link_matrix is None:
        return "NVML does not tell the links"
    return "; ".join(" ".join(row) for row in machine.link_matrix)

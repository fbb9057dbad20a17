"""Copies between GPUs and to the host, by nvbandwidth.

Layer: judge. Reads no file.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from commwall.judge.bounds import fitting_pcie
from commwall.judge.facts import LANES, GpuLinks, Slot
from commwall.judge.finding import Evidence, Finding
from commwall.judge.references import Reference, of_copies, rates_text, words_of
from commwall.judge.scene import Scene
from commwall.judge.topology import LOG
from commwall.language.translate import clauses, listed, tr, trn
from commwall.readers.nvbandwidth import BandwidthTest, Nvbandwidth
from commwall.schema.facts import Fact
from commwall.schema.units import rate_text

GB = 1e9
_LINKS = "nvidia-smi --query-gpu=index,pcie.link.width.current,pcie.link.gen.current --format=csv"
_HOST = ("host_to_device_memcpy_ce", "device_to_host_memcpy_ce")
_PEER = ("device_to_device_memcpy_read_ce", "device_to_device_memcpy_write_ce")


def no_access(scene: Scene) -> Iterator[Finding]:
    """Copies between GPUs that the program did not make."""
    for paste, run in scene.of(Nvbandwidth):
        if run.p2p_available is False:
            yield Finding(
                rule="peer_access",
                level="warning",
                verdict=tr(
                    "GPUs have no access to each other: all copies between them were waived"
                ),
                means=tr(
                    "that is not a rate of 0: NCCL stages such traffic through host memory. "
                    "GeForce cards from the 4090 on never get access from the maker's driver"
                ),
                next_step=f"nvidia-smi topo -p2p r; {tr(LOG)}",
                evidence=paste.find(r"^Waiv(?:ing|ed)|\"Waived\"", most=2),
            )


def failed(scene: Scene) -> Iterator[Finding]:
    """Tests that ended with an error."""
    for paste, run in scene.of(Nvbandwidth):
        for test in run.tests or ():
            if test.status == "Error":
                pattern = "pattern_check_failed" in (run.errors or ())
                yield Finding(
                    rule="copy_failed",
                    level="fault",
                    verdict=tr("{test} failed: data came back wrong", test=test.name)
                    if pattern
                    else tr("{test} failed; the cause is not in this file", test=test.name),
                    means=tr("memory or link of a GPU corrupts data")
                    if pattern
                    else tr("this copy was not measured; others are not touched by it"),
                    next_step=f"nvbandwidth -t {test.name}; dmesg | grep -i xid; nvidia-smi -q -d "
                    "ECC,ROW_REMAPPER",
                    evidence=paste.find(
                        r"Invalid value when checking|\[CUDA_ERROR|\"Error\"|\[cudaError"
                    ),
                )


def peers(scene: Scene) -> Iterator[Finding]:
    """Copies between GPUs beside the bound of their way."""
    for paste, run in scene.of(Nvbandwidth):
        for test in _passed(run, _PEER):
            values = tuple(GB * value for value in _off_diagonal(test).values())
            if values:
                told = tr("copies between GPUs: {rates}", rates=_span(values))
                found = _Copies("peer_copies", told, values, paste.find(_line_of(test)))
                gpu = scene.facts.gpu_of(run.devices or scene.gpu_names)
                yield _peer_finding(found, gpu, scene)
                break


@dataclass(frozen=True)
class _Copies:
    """What copies between GPUs or with the host reached."""

    rule: str
    told: str
    """Which, and how fast, in words."""
    bytes_per_s: tuple[float, ...]
    evidence: tuple[Evidence, ...]

    @property
    def least_bytes_per_s(self) -> float:
        """Of the slowest."""
        return min(self.bytes_per_s)

    @property
    def most_bytes_per_s(self) -> float:
        """Of the fastest."""
        return max(self.bytes_per_s)

    def alike(self, scene: Scene) -> bool:
        """Whether the slowest is as good as the fastest."""
        share = scene.facts.thresholds.tolerated_share_of_achieved.value
        return self.least_bytes_per_s >= share * self.most_bytes_per_s

    def faster_than(self, slot: Slot | None) -> int:
        """How many of them the slot could not carry; all where there is none."""
        return sum(slot is None or rate > slot.bytes_per_s for rate in self.bytes_per_s)


def _peer_finding(found: _Copies, gpu: GpuLinks | None, scene: Scene) -> Finding:
    slot = scene.facts.slot_of(gpu)
    nvlink = gpu.nvlink_bytes_per_s if gpu else None
    fast = found.faster_than(slot)
    if gpu and nvlink and fast:
        if found.most_bytes_per_s > nvlink.value:
            return _impossible(found, "NVLink", nvlink.value, nvlink.source)
        if fast < len(found.bytes_per_s):
            return _partly_by_nvlink(found, gpu, slot)
        return _by_nvlink(found, nvlink, _reference(scene, gpu, "peer"), scene)
    if gpu and slot:
        return _beyond_slot(found, slot) if fast else _by_pcie(found, gpu, slot, scene)
    return _without_figures(found, scene)


def _without_figures(found: _Copies, scene: Scene) -> Finding:
    newest = scene.facts.pcie_bytes_per_s(max(scene.facts.links.pcie)) or 0.0
    sure = found.least_bytes_per_s > newest
    is_nvlink = tr("no PCIe link carries that, so it is NVLink")
    hint = is_nvlink if sure else fitting_pcie(found.most_bytes_per_s, None, scene)
    no_figures = tr("no figures on file for these GPUs")
    return Finding(
        rule="peer_copies",
        level="good" if sure else "unknown",
        verdict=clauses(filter(None, [found.told, hint, no_figures])),
        means=tr("all pairs are alike") if found.alike(scene) else tr("pairs differ"),
        next_step=None if sure else "nvidia-smi -L; nvidia-smi topo -m",
        evidence=found.evidence,
    )


def _by_pcie(found: _Copies, gpu: GpuLinks, slot: Slot, scene: Scene) -> Finding:
    share = f"{found.most_bytes_per_s / slot.bytes_per_s:.0%}"
    told = tr(
        "{told}, {share} of PCIe {generation}.0 x16 at best, so not NVLink",
        told=found.told,
        share=share,
        generation=slot.generation,
    )
    differ = [] if found.alike(scene) else [tr("pairs differ: some share a way")]
    return Finding(
        rule="peer_copies",
        level="note" if not gpu.nvlink_bytes_per_s or gpu.reach == "bridge" else "warning",
        verdict=clauses([told, *differ]),
        means=tr(
            "GPUs reach each other over PCIe; pairs with the higher rate sit nearer together: put "
            "ranks that talk most there"
        ),
        next_step="nvidia-smi topo -m",
        evidence=found.evidence,
        sources=(slot.source,),
    )


def _impossible(found: _Copies, what: str, most_bytes_per_s: float, source: str) -> Finding:
    """Copies that are faster than their way."""
    return Finding(
        rule=found.rule,
        level="fault",
        verdict=tr(
            "{told}, more than {what} carries in one direction ({most})",
            told=found.told,
            what=what,
            most=rate_text(most_bytes_per_s),
        ),
        means=tr("something else was measured"),
        next_step=tr("nvbandwidth of the newest release, one direction"),
        evidence=found.evidence,
        sources=(source,),
    )


def _beyond_slot(found: _Copies, slot: Slot) -> Finding:
    what = f"PCIe {slot.generation}.0 x{LANES}"
    return _impossible(found, what, slot.bytes_per_s, slot.source)


def _partly_by_nvlink(found: _Copies, gpu: GpuLinks, slot: Slot | None) -> Finding:
    """Pairs of which only some are faster than PCIe carries."""
    switched = gpu.reach == "switch"
    return Finding(
        rule="peer_copies",
        level="warning" if switched else "note",
        verdict=tr(
            "{told}; {n} of {all} pairs are faster than PCIe carries, so NVLink, and the rest are "
            "not",
            told=found.told,
            n=found.faster_than(slot),
            all=len(found.bytes_per_s),
        ),
        means=tr(
            "switches join all GPUs of such a board alike: a job over all GPUs waits for the slow "
            "pairs, and a GPU that is slow to all others has lost its links"
        )
        if switched
        else tr(
            "NVLink joins some pairs of such boards only: put ranks that talk most on the fast "
            "ones; whether a ring over all GPUs stays on them the topology says"
        ),
        next_step="nvidia-smi topo -m; nvidia-smi nvlink -s",
        evidence=found.evidence,
    )


def _by_nvlink(found: _Copies, nvlink: Fact, reference: Reference | None, scene: Scene) -> Finding:
    least, share = found.least_bytes_per_s, scene.facts.thresholds.tolerated_share_of_achieved.value
    slow = reference is not None and least < share * reference.least_bytes_per_s
    reached = f"{least / nvlink.value:.0%}"
    told = tr(
        "{told}, {share} of NVLink's {nominal} per direction at least",
        told=found.told,
        share=reached,
        nominal=rate_text(nvlink.value),
    )
    return Finding(
        rule="peer_copies",
        level="warning" if slow else "good",
        verdict=clauses([told, words_of(reference)]) if reference else told,
        means=tr("some pairs are slower than others reach")
        if slow
        else tr("NVLink works between all pairs that were measured; a diagonal is no measurement"),
        next_step="nvidia-smi nvlink -s" if slow else None,
        evidence=found.evidence,
        sources=(nvlink.source, *((reference.source,) if reference else ())),
    )


def one_slow(scene: Scene) -> Iterator[Finding]:
    """One GPU whose copies are slow to and from all others."""
    for paste, run in scene.of(Nvbandwidth):
        for test in _passed(run, (*_PEER, *_HOST)):
            slow = _slow_gpus(test, scene)
            if slow:
                yield Finding(
                    rule="slow_gpu",
                    level="warning",
                    verdict=trn(
                        "{test}: {gpus} is slower than all others",
                        "{test}: {gpus} are slower than all others",
                        len(slow),
                        test=test.name,
                        gpus=listed(f"GPU{at}" for at in slow),
                    ),
                    means=tr(
                        "a job over all GPUs waits for it: its PCIe link may have trained with "
                        "fewer lanes or an older generation, or its NVLinks are not all up"
                    ),
                    next_step=tr(
                        "under load: {command}", command=f"{_LINKS}; nvidia-smi nvlink -s"
                    ),
                    evidence=paste.find(_line_of(test)),
                )


def _slow_gpus(test: BandwidthTest, scene: Scene) -> list[int]:
    """GPUs whose every value is below the share of the median that counts as normal."""
    matrix = test.matrix or ()
    width = len(matrix[0]) if matrix else 0
    if width < 3:
        return []
    share = scene.facts.thresholds.outlier_share.value
    values = _off_diagonal(test) if len(matrix) == width else dict(_row(test))
    if not values:
        return []
    middle = statistics.median(values.values())
    own = {
        at: [
            value for pair, value in values.items() if at in (pair if len(matrix) > 1 else pair[1:])
        ]
        for at in range(width)
    }
    slow = [at for at, found in own.items() if found and max(found) < share * middle]
    return slow if len(slow) < width / 2 else []


def hosts(scene: Scene) -> Iterator[Finding]:
    """Copies to and from the host."""
    for paste, run in scene.of(Nvbandwidth):
        gpu = scene.facts.gpu_of(run.devices or scene.gpu_names)
        for test in _passed(run, _HOST):
            values = tuple(GB * value for _, value in _row(test))
            slot = scene.facts.slot_of(gpu)
            if not values or slot is None:
                continue
            told = tr("{test}: {rates}", test=test.name, rates=_span(values))
            found = _Copies("host_copies", told, values, paste.find(_line_of(test)))
            yield _host_finding(found, slot, _reference(scene, gpu, "host"), scene)
            break


def _host_finding(found: _Copies, slot: Slot, reference: Reference | None, scene: Scene) -> Finding:
    if found.faster_than(slot):
        return _beyond_slot(found, slot)
    share = found.least_bytes_per_s / slot.bytes_per_s
    fine = share >= scene.facts.thresholds.least_pcie_share.value
    part = f"{share:.0%}"
    told = tr(
        "{told}, {share} of PCIe {generation}.0 x16 at least",
        told=found.told,
        share=part,
        generation=slot.generation,
    )
    return Finding(
        rule="host_copies",
        level="good" if fine else "warning",
        verdict=clauses([told, words_of(reference)]) if reference else told,
        means=tr("host and GPUs talk over full PCIe links")
        if fine
        else tr("some GPU has a narrower or older PCIe link, or its host buffer is far away"),
        next_step=None if fine else tr("under load: {command}", command=f"{_LINKS}; numactl -H"),
        evidence=found.evidence,
        sources=(slot.source,),
    )


def _span(values: Sequence[float]) -> str:
    return rates_text(min(values), max(values))


def _line_of(test: BandwidthTest) -> str:
    """Pattern of the line that ends a test's table, or names it."""
    return rf"(?:SUM |\"){test.name}"


def _passed(run: Nvbandwidth, names: tuple[str, ...]) -> Iterator[BandwidthTest]:
    for test in run.tests or ():
        if test.name in names and test.matrix and test.unit in (None, "GB/s"):
            yield test


def _off_diagonal(test: BandwidthTest) -> dict[tuple[int, int], float]:
    """Values of pairs; the diagonal is no measurement."""
    return {
        (row, at): value
        for row, values in enumerate(test.matrix or ())
        for at, value in enumerate(values)
        if at != row and value is not None
    }


def _row(test: BandwidthTest) -> Iterator[tuple[tuple[int, int], float]]:
    """The one row of a copy with the host."""
    for at, value in enumerate((test.matrix or ((),))[0]):
        if value is not None:
            yield (0, at), value


def _reference(
    scene: Scene, gpu: GpuLinks | None, which: Literal["peer", "host"]
) -> Reference | None:
    """What others reach with these GPUs."""
    name = (gpu.peer_copy if which == "peer" else gpu.host_copy) if gpu else None
    return of_copies(scene.facts.copies.get(name)) if name else None

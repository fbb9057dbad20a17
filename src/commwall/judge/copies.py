"""Copies between GPUs and to the host, by nvbandwidth.

Layer: judge. Reads no file.
"""

import statistics
from collections.abc import Iterator
from typing import Literal

from commwall.judge.bounds import fitting_pcie
from commwall.judge.facts import LANES, GpuLinks
from commwall.judge.finding import Finding
from commwall.judge.references import Reference, of_copies, span_text, words_of
from commwall.judge.scene import Scene
from commwall.judge.topology import LOG
from commwall.language.translate import clauses, listed, tr, trn
from commwall.readers.nvbandwidth import BandwidthTest, Nvbandwidth
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
            values = _off_diagonal(test)
            if not values:
                continue
            found = _peer_finding([GB * value for value in values.values()], run, scene)
            evidence = paste.find(rf"(?:SUM |\"){test.name}")
            yield found.model_copy(update={"evidence": evidence})
            break


def _peer_finding(rates: list[float], run: Nvbandwidth, scene: Scene) -> Finding:
    low, high = min(rates), max(rates)
    told = tr("copies between GPUs: {rates}", rates=span_text(low, high))
    gpu = scene.facts.gpu_of(run.devices or scene.gpu_names)
    slot = scene.facts.slot_of(gpu)
    slots = slot[1] if slot else 0.0
    if gpu is None or not (slot or gpu.nvlink_bytes_per_s):
        newest = scene.facts.pcie_bytes_per_s(max(scene.facts.links.pcie)) or 0.0
        sure = low > newest
        is_nvlink = tr("no PCIe link carries that, so it is NVLink")
        hint = is_nvlink if sure else fitting_pcie(high, None, scene)
        no_figures = tr("no figures on file for these GPUs")
        return Finding(
            rule="peer_copies",
            level="good" if sure else "unknown",
            verdict=clauses(filter(None, [told, hint, no_figures])),
            means=tr("all pairs are alike") if _alike(low, high, scene) else tr("pairs differ"),
            next_step=None if sure else "nvidia-smi -L; nvidia-smi topo -m",
        )
    if high > slots and gpu.nvlink_bytes_per_s:
        return _by_nvlink(gpu, rates, slots, scene)
    if slot and high > slots:
        return _impossible("peer_copies", told, f"PCIe {slot[0]}.0 x{LANES}", slots, slot[2])
    share = f"{high / slots:.0%}"
    over_pcie = tr(
        "{told}, {share} of PCIe {generation}.0 x16 at best, so not NVLink",
        told=told,
        share=share,
        generation=slot[0] if slot else "?",
    )
    return Finding(
        rule="peer_copies",
        level="note" if not gpu.nvlink_bytes_per_s or gpu.reach == "bridge" else "warning",
        verdict=over_pcie
        if _alike(low, high, scene)
        else clauses([over_pcie, tr("pairs differ: some share a way")]),
        means=tr(
            "GPUs reach each other over PCIe; pairs with the higher rate sit nearer together: put "
            "ranks that talk most there"
        ),
        next_step="nvidia-smi topo -m",
        sources=(slot[2],) if slot else (),
    )


def _partly_by_nvlink(gpu: GpuLinks, told: str, fast: int, pairs: int) -> Finding:
    """Pairs of which only some are faster than PCIe carries.

    Args:
        gpu: what is on file of the GPUs.
        told: the rates.
        fast: pairs that are faster.
        pairs: all.
    """
    switched = gpu.reach == "switch"
    return Finding(
        rule="peer_copies",
        level="warning" if switched else "note",
        verdict=tr(
            "{told}; {n} of {all} pairs are faster than PCIe carries, so NVLink, and the rest are "
            "not",
            told=told,
            n=fast,
            all=pairs,
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
    )


def _impossible(rule: str, told: str, what: str, most: float, source: str) -> Finding:
    """Copies that are faster than their way.

    Args:
        rule: whose copies they are.
        told: which, and how fast.
        what: the way.
        most: its rate [byte/s].
        source: of that.
    """
    return Finding(
        rule=rule,
        level="fault",
        verdict=tr(
            "{told}, more than {what} carries in one direction ({most})",
            told=told,
            what=what,
            most=rate_text(most),
        ),
        means=tr("something else was measured"),
        next_step=tr("nvbandwidth of the newest release, one direction"),
        sources=(source,),
    )


def _by_nvlink(gpu: GpuLinks, rates: list[float], slots: float, scene: Scene) -> Finding:
    """Pairs of which some are faster than PCIe carries.

    Args:
        gpu: what is on file of the GPUs.
        rates: of all pairs [byte/s].
        slots: of the full PCIe slot, 0 where there is none [byte/s].
        scene: facts.
    """
    assert gpu.nvlink_bytes_per_s is not None
    nominal, source = gpu.nvlink_bytes_per_s.value, gpu.nvlink_bytes_per_s.source
    low, high = min(rates), max(rates)
    told = tr("copies between GPUs: {rates}", rates=span_text(low, high))
    if high > nominal:
        return _impossible("peer_copies", told, "NVLink", nominal, source)
    if low <= slots:
        return _partly_by_nvlink(gpu, told, sum(rate > slots for rate in rates), len(rates))
    reference = _reference(scene, gpu, "peer")
    share = scene.facts.thresholds.tolerated_share_of_achieved.value
    least = reference.least_bytes_per_s if reference else nominal
    slow = low < share * least if reference else False
    reached = f"{low / nominal:.0%}"
    told = tr(
        "{told}, {share} of NVLink's {nominal} per direction at least",
        told=told,
        share=reached,
        nominal=rate_text(nominal),
    )
    return Finding(
        rule="peer_copies",
        level="warning" if slow else "good",
        verdict=clauses([told, words_of(reference)]) if reference else told,
        means=tr("some pairs are slower than others reach")
        if slow
        else tr("NVLink works between all pairs that were measured; a diagonal is no measurement"),
        next_step="nvidia-smi nvlink -s" if slow else None,
        sources=(source, *((reference.source,) if reference else ())),
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
                    evidence=paste.find(rf"(?:SUM |\"){test.name}"),
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
            values = [GB * value for _, value in _row(test)]
            slot = scene.facts.slot_of(gpu)
            if not values or slot is None:
                continue
            told = tr("{test}: {rates}", test=test.name, rates=span_text(min(values), max(values)))
            found = _host_finding(told, values, slot, _reference(scene, gpu, "host"), scene)
            evidence = paste.find(rf"(?:SUM |\"){test.name}")
            yield found.model_copy(update={"evidence": evidence})
            break


def _host_finding(
    told: str,
    rates: list[float],
    slot: tuple[int, float, str],
    reference: Reference | None,
    scene: Scene,
) -> Finding:
    generation, most, source = slot
    if max(rates) > most:
        return _impossible("host_copies", told, f"PCIe {generation}.0 x{LANES}", most, source)
    fine = min(rates) >= scene.facts.thresholds.least_pcie_share.value * most
    share = f"{min(rates) / most:.0%}"
    told = tr(
        "{told}, {share} of PCIe {generation}.0 x16 at least",
        told=told,
        share=share,
        generation=generation,
    )
    return Finding(
        rule="host_copies",
        level="good" if fine else "warning",
        verdict=clauses([told, words_of(reference)]) if reference else told,
        means=tr("host and GPUs talk over full PCIe links")
        if fine
        else tr("some GPU has a narrower or older PCIe link, or its host buffer is far away"),
        next_step=None if fine else tr("under load: {command}", command=f"{_LINKS}; numactl -H"),
        sources=(source,),
    )


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


def _alike(low: float, high: float, scene: Scene) -> bool:
    return low >= scene.facts.thresholds.tolerated_share_of_achieved.value * high


def _reference(
    scene: Scene, gpu: GpuLinks | None, which: Literal["peer", "host"]
) -> Reference | None:
    """What others reach with these GPUs."""
    name = (gpu.peer_copy if which == "peer" else gpu.host_copy) if gpu else None
    return of_copies(scene.facts.copies.get(name)) if name else None

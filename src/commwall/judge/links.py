"""State of the NVLinks, by `nvidia-smi nvlink -s`.

Layer: judge. Reads no file.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import starmap

from commwall.judge.finding import Evidence, Finding
from commwall.judge.scene import Pasted, Scene
from commwall.language.translate import clauses, listed, span_text, tr, tr_later
from commwall.readers.nvlink import LinkedGpu, NvLinks
from commwall.readers.smi_q import Query
from commwall.schema.facts import Generation

_COMMAND = "nvidia-smi nvlink -s > nvlink.txt"
_FABRIC = tr_later(
    "dmesg | grep -i xid; systemctl status nvidia-fabricmanager; nvidia-smi -q (section Fabric)"
)


SMI_OVER_NOMINAL = 17 / 16
"""What nvidia-smi states of a link of generation 4 or 5 over its nominal rate.

Source: readings of `nvidia-smi nvlink -s`: 26.562 GB/s on H100 and H200 for 25, 53.125 on GB200 for
50 (NVIDIA/nccl#1397, NVIDIA/k8s-test-infra#371).
"""


def stated_more(stated: float, nominal: float) -> str | None:
    """Why nvidia-smi's rate is above the nominal one; None where it is not for that reason.

    Args:
        stated: by nvidia-smi, in the unit of the nominal rate.
        nominal: of data sheets.
    """
    if not math.isclose(stated, SMI_OVER_NOMINAL * nominal, rel_tol=1e-3):
        return None
    return tr("nvidia-smi states 1/16 more than data sheets do, whose rate is the bound here")


def all_up(scene: Scene) -> Iterator[Finding]:
    """Links that are all up, beside what the GPU has."""
    for paste, found in scene.of(NvLinks):
        if found.verdict == "all_links_up" and found.gpus:
            yield _all_up(paste, found.gpus, scene)


def _all_up(paste: Pasted, gpus: Sequence[LinkedGpu], scene: Scene) -> Finding:
    counts = sorted({gpu.active_links or 0 for gpu in gpus})
    short = [(gpu, has) for gpu in gpus if (has := _unlisted(gpu, scene))]
    doubtful = short or len(counts) > 1
    less = [tr("but {gpus}", gpus=listed(starmap(_short_text, short)))] if short else []
    return Finding(
        rule="nvlinks",
        level="unknown" if doubtful else "good",
        verdict=clauses([_up_text(gpus, counts), *_why_more(gpus, scene), *less]),
        means=tr(
            "the text is cut off, or links are missing in it: those that are down are listed "
            "as inactive as a rule"
        )
        if doubtful
        else tr("NVLink has its full rate on these GPUs; which GPUs it joins, the topology says"),
        next_step=_COMMAND if doubtful else "nvidia-smi topo -m",
        evidence=_headings(paste, gpus[:3]),
        sources=tuple(dict.fromkeys(has.source for _, has in short)),
    )


def _unlisted(gpu: LinkedGpu, scene: Scene) -> Generation | None:
    """The number of NVLinks that such a GPU has, where fewer are up."""
    known = scene.facts.gpu_of([gpu.name])
    has = known.nvlinks if known else None
    return has if has and (gpu.active_links or 0) < has.value else None


def _short_text(gpu: LinkedGpu, has: Generation) -> str:
    return tr("GPU{gpu} has {n} of {all}", gpu=gpu.index, n=gpu.active_links, all=has.value)


def _up_text(gpus: Sequence[LinkedGpu], counts: Sequence[int]) -> str:
    least, most = _sums(gpus)
    return tr(
        "all NVLinks that are listed are up: {n} a GPU, {rate} GB/s together in one direction",
        n=tr(" or ").join(map(str, counts)),
        rate=span_text(f"{least:.0f}", f"{most:.0f}"),
    )


def _why_more(gpus: Sequence[LinkedGpu], scene: Scene) -> Iterator[str]:
    """Why the highest sum of rates is above the nominal one, where it is."""
    first = scene.facts.gpu_of([gpus[0].name])
    if first and first.nvlink_bytes_per_s:
        _, most = _sums(gpus)
        if why := stated_more(1e9 * most, first.nvlink_bytes_per_s.value):
            yield why


def _sums(gpus: Sequence[LinkedGpu]) -> tuple[float, float]:
    """Least and most of what a GPU's links have together [GB/s]."""
    sums = [gpu.sum_gbps or 0.0 for gpu in gpus]
    return min(sums), max(sums)


def down(scene: Scene) -> Iterator[Finding]:
    """Single links that are down, or up without a rate."""
    for paste, found in scene.of(NvLinks):
        for gpu in found.gpus or ():
            lost = [n for n, speed in gpu.links.items() if speed in ("inactive", 0)]
            if lost and len(lost) < len(gpu.links):
                zero = [n for n in lost if gpu.links[n] == 0]
                told = {
                    "gpu": gpu.index,
                    "links": listed(lost),
                    "n": gpu.active_links,
                    "all": len(gpu.links),
                }
                yield Finding(
                    rule="nvlink_down",
                    level="fault",
                    verdict=tr(
                        "GPU{gpu}: link {links} is up at a rate of 0, {n} of {all} carry data",
                        **told,
                    )
                    if zero == lost
                    else tr("GPU{gpu}: link {links} is down, {n} of {all} carry data", **told),
                    means=tr(
                        "every ring through this GPU is slower by that share or fails; a link at "
                        "rate 0 is as useless as one that is down"
                    ),
                    next_step=tr(_FABRIC),
                    evidence=_link_lines(paste, gpu, lost),
                )


def whole_gpus(scene: Scene) -> Iterator[Finding]:
    """GPUs none of whose links is up."""
    for paste, found in scene.of(NvLinks):
        gpus = found.gpus or ()
        dead = [gpu for gpu in gpus if gpu.active_links == 0 and gpu.state != "not_supported"]
        alive = [gpu for gpu in gpus if gpu.active_links]
        if dead:
            yield _dead(paste, dead, alive, scene)
        lacking = [gpu for gpu in gpus if gpu.state == "not_supported"]
        if lacking:
            yield Finding(
                rule="nvlink_absent",
                level="note",
                verdict=tr(
                    "{gpus}: NVLink does not answer: there is none, or no link of it is up",
                    gpus=_named(lacking),
                ),
                means=tr("their traffic goes over PCIe or host memory"),
                next_step="nvidia-smi topo -m",
                evidence=_headings(paste, lacking[:3]),
            )


def _dead(
    paste: Pasted, dead: Sequence[LinkedGpu], alive: Sequence[LinkedGpu], scene: Scene
) -> Finding:
    known = scene.facts.gpu_of(gpu.name for gpu in dead)
    on_a_board = bool(known and known.reach in ("switch", "direct"))
    if on_a_board:
        return Finding(
            rule="gpu_off_the_fabric",
            level="fault",
            verdict=tr(
                "{gpus}: no NVLink is up, on a GPU that is built into an NVLink board",
                gpus=_named(dead),
            ),
            means=tr(
                "the GPU is off the fabric (hardware, or a fabric manager that does not run): jobs "
                "that include it fail or run at PCIe speed; leave it out until it is repaired"
            ),
            next_step=tr(_FABRIC),
            evidence=_headings(paste, dead[:2]),
        )
    told = (
        tr(
            "{gpus} has none up, other GPUs here have: no bridge, or one that is not seated",
            gpus=_named(dead),
        )
        if alive
        else tr("{gpus} has none up: no bridge, or one that is not seated", gpus=_named(dead))
    )
    fabric = [] if known else [tr("on a board of NVSwitches a GPU off the fabric")]
    return Finding(
        rule="nvlink_down",
        level="warning",
        verdict=clauses([told, *fabric]),
        means=tr(
            "traffic to and from this GPU goes over PCIe or host memory, and with it every ring "
            "through it"
        ),
        next_step=tr("nvidia-smi topo -m; if a bridge is fitted: reseat it and look again"),
        evidence=_headings(paste, dead[:2]),
    )


def fabric(scene: Scene) -> Iterator[Finding]:
    """GPUs whose fabric is not set up, by `nvidia-smi -q`."""
    for paste, query in scene.of(Query):
        for at, gpu in enumerate(query.gpus or ()):
            if gpu.fabric_state not in (None, "Completed"):
                yield Finding(
                    rule="fabric_manager",
                    level="fault",
                    verdict=tr(
                        "GPU{gpu}: the NVSwitch fabric is not set up ({state})",
                        gpu=at,
                        state=gpu.fabric_state,
                    ),
                    means=tr(
                        "CUDA does not start on this GPU, or not with NVLink, until the fabric "
                        "manager has done its work"
                    ),
                    next_step=tr(_FABRIC),
                    evidence=paste.below(gpu.bus_id, r"^[ \t]*State +: "),
                )


def incomplete(scene: Scene) -> Iterator[Finding]:
    """GPUs of which links are missing in the text."""
    for paste, found in scene.of(NvLinks):
        cut = [gpu for gpu in found.gpus or () if gpu.state == "incomplete"]
        whole = [gpu for gpu in found.gpus or () if gpu.active_links]
        if cut:
            told = tr("the links of {gpus} are cut off", gpus=_named(cut))
            if whole:
                rates = clauses(map(_rate_text, whole))
                told = clauses([told, tr("{rates} in one direction", rates=rates)])
            yield Finding(
                rule="nvlinks",
                level="unknown",
                verdict=told,
                means=tr("whether all its links are up cannot be said"),
                next_step=_COMMAND,
                evidence=_headings(paste, cut[:2]),
            )


def _rate_text(gpu: LinkedGpu) -> str:
    rate = f"{gpu.sum_gbps:.1f}"
    return tr(
        "GPU{gpu} has {n} links up, {rate} GB/s", gpu=gpu.index, n=gpu.active_links, rate=rate
    )


def _named(gpus: Sequence[LinkedGpu]) -> str:
    return listed(f"GPU{gpu.index}" for gpu in gpus)


def _headings(paste: Pasted, gpus: Sequence[LinkedGpu]) -> tuple[Evidence, ...]:
    return tuple(line for gpu in gpus for line in paste.find(rf"^[ \t]*GPU {gpu.index}: "))


def _link_lines(paste: Pasted, gpu: LinkedGpu, links: Sequence[str]) -> tuple[Evidence, ...]:
    """Lines of a GPU's links: those of the number below its heading."""
    head = paste.find(rf"^[ \t]*GPU {gpu.index}: ")
    start = (head[0].line or 1) if head else 1
    wanted = tuple(f"Link {number}:" for number in links)
    for number, line in enumerate(paste.lines[start:], start + 1):
        if line.strip().startswith(wanted):
            return (*head, paste.at(number))
    return head

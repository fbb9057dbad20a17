"""Width and generation of PCIe links, by `nvidia-smi --query-gpu`.

Layer: judge. Reads no file. An idle GPU lowers its link to save power, so that a low generation
counts only under load: where the GPU's use says so. A width does not fall when idle as a rule, but
some boards lower it too: without a sign of load it is told with that doubt.
"""

from collections.abc import Iterator, Mapping

from commwall.judge.finding import Evidence, Finding
from commwall.judge.scene import Pasted, Scene
from commwall.language.translate import clauses, listed, tr, tr_later
from commwall.readers.smi_csv import CsvTable, Value
from commwall.readers.smi_q import Query
from commwall.schema.units import rate_text

UNDER_LOAD = tr_later(
    "under load: nvidia-smi --query-gpu=index,utilization.gpu,pcie.link.gen.current,"
    "pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max --format=csv"
)
_SLOT = tr_later(
    "sudo lspci -vv -s <bus id> | grep -E 'LnkCap|LnkSta'; slot, riser, bifurcation in firmware"
)


def widths(scene: Scene) -> Iterator[Finding]:
    """Links of fewer lanes than GPU and slot could have."""
    for paste, row in _rows(scene):
        if row.get("degraded_width"):
            loaded = _loaded(scene, row)
            at_best = row.get("gen_current") == row.get("gen_max") and row.get("gen_max")
            lanes, most = row["width_current"], row["width_max"]
            told = tr(
                "{gpu}: PCIe link of {lanes} lanes, {most} are possible{rate}",
                gpu=_name(row),
                lanes=lanes,
                most=most,
                rate=_rate(scene, row, lanes),
            )
            doubt = tr("read at a lowered generation, so maybe idle")
            yield Finding(
                rule="pcie_width",
                level="warning" if loaded or at_best else "unknown",
                verdict=told if loaded or at_best else clauses([told, doubt]),
                means=tr(
                    "all traffic of this GPU to host, network and GPUs without NVLink has this "
                    "bound, and a job over all GPUs waits for its slowest"
                ),
                next_step=tr(_SLOT)
                if loaded or at_best
                else tr("{first}; then: {second}", first=tr(UNDER_LOAD), second=tr(_SLOT)),
                evidence=_line(paste, row),
                sources=_source(scene, row),
            )


def generations(scene: Scene) -> Iterator[Finding]:
    """Links of an older generation than possible."""
    for paste, row in _rows(scene):
        if row.get("low_gen_maybe_idle"):
            loaded = _loaded(scene, row)
            told = {"gpu": _name(row), "now": row["gen_current"], "most": row["gen_max"]}
            yield Finding(
                rule="pcie_generation",
                level="warning" if loaded else "unknown",
                verdict=tr("{gpu}: PCIe generation {now} of {most} under load", **told)
                if loaded
                else tr(
                    "{gpu}: PCIe generation {now} of {most}, which an idle GPU shows too", **told
                ),
                means=tr("each generation halves the rate to host and other GPUs")
                if loaded
                else tr("whether the link is slow cannot be said from an idle reading"),
                next_step=tr(_SLOT) if loaded else tr(UNDER_LOAD),
                evidence=_line(paste, row),
            )


def whole(scene: Scene) -> Iterator[Finding]:
    """Links at their best, and those of which nothing is told."""
    for paste, table in scene.of(CsvTable):
        rows = [row for row in table.rows or () if "degraded_width" in row]
        full = [row for row in rows if row["degraded_width"] is False and not _slow(row)]
        if full:
            yield Finding(
                rule="pcie_full",
                level="good",
                verdict=tr("PCIe at its best: {gpus}", gpus=listed(sorted(set(map(_name, full))))),
                means=tr("these links are not what slows traffic down"),
                evidence=_line(paste, full[0]),
            )
        lost = [row for row in rows if row["degraded_width"] is None]
        if lost:
            yield Finding(
                rule="pcie_untold",
                level="unknown",
                verdict=tr("{gpus}: width of the link unavailable", gpus=listed(map(_name, lost))),
                means=tr("nothing can be said of this link; it is not a link of width 0"),
                next_step="sudo lspci -vv -s <bus id> | grep -E 'LnkCap|LnkSta'",
                evidence=_line(paste, lost[0]),
            )


def queried(scene: Scene) -> Iterator[Finding]:
    """Links in `nvidia-smi -q`: of fewer lanes, or of an older generation while nothing idles."""
    for paste, query in scene.of(Query):
        for at, gpu in enumerate(query.gpus or ()):
            idle = "Idle" in (gpu.throttle_active or ()) or gpu.throttle_active is None
            narrow = (gpu.pcie_width or 0) < (gpu.pcie_width_max or 0)
            old = (gpu.pcie_generation or 0) < (gpu.pcie_generation_max or 0)
            known = gpu.pcie_width is not None and gpu.pcie_generation is not None
            if known and (narrow or old):
                resting = old and idle
                told = {
                    "gpu": at,
                    "generation": gpu.pcie_generation,
                    "newest": gpu.pcie_generation_max,
                    "lanes": gpu.pcie_width,
                    "most": gpu.pcie_width_max,
                }
                yield Finding(
                    rule="pcie_width" if narrow else "pcie_generation",
                    level="unknown" if resting else "warning",
                    verdict=tr(
                        "GPU{gpu}: PCIe generation {generation} of {newest}, {lanes} of {most} "
                        "lanes, which an idle GPU may show",
                        **told,
                    )
                    if resting
                    else tr(
                        "GPU{gpu}: PCIe generation {generation} of {newest}, {lanes} of {most} "
                        "lanes",
                        **told,
                    ),
                    means=tr("whether the link is slow cannot be said from an idle reading")
                    if resting
                    else tr("a job over all GPUs waits for the slowest link"),
                    next_step=tr(UNDER_LOAD) if resting else tr(_SLOT),
                    evidence=paste.below(gpu.bus_id, "Link Width" if narrow else "PCIe Generation"),
                )


def _slow(row: Mapping[str, Value]) -> bool:
    return bool(row.get("low_gen_maybe_idle"))


def _rows(scene: Scene) -> Iterator[tuple[Pasted, Mapping[str, Value]]]:
    for paste, table in scene.of(CsvTable):
        for row in table.rows or ():
            yield paste, row


def _loaded(scene: Scene, row: Mapping[str, Value]) -> bool:
    use = row.get("util_pct")
    return isinstance(use, int | float) and use >= scene.facts.thresholds.busy_share.value


def _rate(scene: Scene, row: Mapping[str, Value], lanes: Value) -> str:
    """The bound of a link of so many lanes, where the generation is told."""
    generation = row.get("gen_max")
    if not isinstance(generation, int) or not isinstance(lanes, int):
        return ""
    rate = scene.facts.pcie_bytes_per_s(generation, lanes)
    if not rate:
        return ""
    return tr(
        " (at most {rate} per direction at generation {n})", rate=rate_text(rate), n=generation
    )


def _source(scene: Scene, row: Mapping[str, Value]) -> tuple[str, ...]:
    generation = row.get("gen_max")
    lane = scene.facts.links.pcie.get(generation) if isinstance(generation, int) else None
    return (lane.source,) if lane else ()


def _name(row: Mapping[str, Value]) -> str:
    for key in ("index", "bus_id", "uuid", "name"):
        if row.get(key) is not None:
            return f"GPU{row[key]}" if key == "index" else f"GPU {row[key]}"
    return tr("a GPU")


def _line(paste: Pasted, row: Mapping[str, Value]) -> tuple[Evidence, ...]:
    """The line that has the row's identity, else the table as a whole."""
    for key, pattern in (("bus_id", "{}"), ("uuid", "{}"), ("index", r"^(?:[^,\n]*, *)?{} *,")):
        if row.get(key) is not None:
            found = paste.find(pattern.format(row[key]))
            if found:
                return found
    return paste.whole(tr("the table"))

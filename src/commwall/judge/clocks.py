"""What lowers clocks: the power limit, heat, or the power supply; by `nvidia-smi -q` and CSV.

Layer: judge. Reads no file.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from commwall.judge.finding import Evidence, Finding
from commwall.judge.power import LOOK, as_float, is_number
from commwall.judge.scene import Scene
from commwall.language.translate import listed, tr, tr_later
from commwall.readers.smi_csv import CsvTable, Row
from commwall.readers.smi_q import Query

_POWER_CAP = "SW Power Cap"
_BRAKES = ("HW Slowdown", "HW Thermal Slowdown", "HW Power Brake Slowdown", "SW Thermal Slowdown")
_BITS = {
    0x4: _POWER_CAP,
    0x8: "HW Slowdown",
    0x20: "SW Thermal Slowdown",
    0x40: "HW Thermal Slowdown",
    0x80: "HW Power Brake Slowdown",
}
_COOL = tr_later("nvidia-smi -q -d TEMPERATURE,POWER; fans, air flow, power supply")
_SLOWED = tr_later("heat or power supply slows this GPU, and every job that includes it")


def caps(scene: Scene) -> Iterator[Finding]:
    """Clocks lowered by the power limit: normal near it, a fault far below."""
    for paste, query in scene.of(Query):
        for at, gpu in enumerate(query.gpus or ()):
            if _POWER_CAP not in (gpu.throttle_active or ()):
                continue
            evidence = paste.below(gpu.bus_id, rf"{_POWER_CAP} +: Active")
            yield _cap(f"GPU{at}", gpu.power_draw_w, gpu.power_limit_w, evidence, scene)


def _cap(
    gpu: str, draw_w: object, limit_w: object, evidence: tuple[Evidence, ...], scene: Scene
) -> Finding:
    """A power cap that is active, by what the GPU draws beside its limit [W]."""
    if not is_number(draw_w) or not is_number(limit_w) or not as_float(limit_w):
        return Finding(
            rule="power_cap",
            level="unknown",
            verdict=tr("{gpu}: power cap active, its draw or limit is not told", gpu=gpu),
            means=tr("whether that is the normal cap at full load cannot be said"),
            next_step=tr(LOOK),
            evidence=evidence,
        )
    watts = {"gpu": gpu, "draw": f"{draw_w:g}", "limit": f"{limit_w:g}"}
    share = scene.facts.thresholds.near_power_limit_share.value
    if as_float(draw_w) >= share * as_float(limit_w):
        return Finding(
            rule="power_cap",
            level="note",
            verdict=tr(
                "{gpu}: power cap active at {draw} of {limit} W, normal at full load", **watts
            ),
            means=tr("the cap bounds compute; differences between links can hide behind it"),
            evidence=evidence,
        )
    return Finding(
        rule="power_cap",
        level="warning",
        verdict=tr("{gpu}: power cap active at {draw} of {limit} W, far below its limit", **watts),
        means=tr(
            "something else holds power down: a cap by the board's controller, a power supply or a "
            "missing cable; the GPU computes slower than it could"
        ),
        next_step=tr("{command}; power cables, supply, limits of the BMC", command=tr(LOOK)),
        evidence=evidence,
    )


def brakes(scene: Scene) -> Iterator[Finding]:
    """Clocks lowered by heat or by the power supply."""
    for paste, query in scene.of(Query):
        for at, gpu in enumerate(query.gpus or ()):
            active = [one for one in gpu.throttle_active or () if one in _BRAKES]
            if active:
                yield Finding(
                    rule="slowdown",
                    level="warning",
                    verdict=_active_text(f"GPU{at}", active),
                    means=tr(_SLOWED),
                    next_step=tr(_COOL),
                    evidence=paste.below(gpu.bus_id, rf"{active[0]} +: Active"),
                )


def limits(scene: Scene) -> Iterator[Finding]:
    """Power limits below those that GPUs are made for."""
    for paste, query in scene.of(Query):
        gpus = query.gpus or ()
        alike = len({(gpu.power_limit_w, gpu.default_limit_w) for gpu in gpus}) == 1
        for at, gpu in enumerate(gpus):
            if gpu.power_capped_below_default:
                watts = (gpu.power_limit_w, gpu.default_limit_w)
                lines = paste.below(gpu.bus_id, rf"Power Limit +: {gpu.power_limit_w:.2f} W")
                yield _limited(at, watts, gpu.throttle_active or (), lines, alike=alike)


def _limited(
    index: object,
    watts: tuple[object, object],
    active: Sequence[str],
    evidence: tuple[Evidence, ...],
    *,
    alike: bool,
) -> Finding:
    """A limit that was lowered.

    Args:
        index: of the GPU; None where it is not told.
        watts: the limit, and the default [W].
        active: reasons of lowered clocks. A limit is not raised against a brake.
        evidence: lines.
        alike: whether all GPUs have the same limit.
    """
    limit, default = (f"{as_float(one):g}" for one in watts)
    braked = [one for one in active if one in _BRAKES]
    raised = f"sudo nvidia-smi -i {'<index>' if index is None else index} -pl {default}"
    return Finding(
        rule="power_limit",
        level="warning",
        verdict=tr(
            "{gpu}: limited to {limit} W, {default} W is its default",
            gpu=tr("a GPU") if index is None else f"GPU{index}",
            limit=limit,
            default=default,
        ),
        means=tr("it computes slower than at its default")
        if alike
        else tr("it computes slower than its peers, and a job waits for its slowest GPU"),
        next_step=tr(
            "leave the limit while {reasons} is active: power supply, cables, temperature and the "
            "BMC's limits first",
            reasons=listed(braked),
        )
        if braked
        else tr(
            "ask who lowered it, and whether supply and cooling bear more; only then {command}",
            command=raised,
        ),
        evidence=evidence,
    )


def reasons(scene: Scene) -> Iterator[Finding]:
    """CSV: reasons of lowered clocks, as words or as a mask, and lowered limits."""
    for paste, table in scene.of(CsvTable):
        rows = table.rows or ()
        limits = [(row.get("power_limit_w"), row.get("power_default_limit_w")) for row in rows]
        for row, watts in zip(rows, limits, strict=True):
            active = _active(row)
            braked = [one for one in active if one in _BRAKES]
            if braked:
                yield Finding(
                    rule="slowdown",
                    level="warning",
                    verdict=_active_text(_gpu_of(row), braked),
                    means=tr(_SLOWED),
                    next_step=tr(_COOL),
                    evidence=paste.find("reasons"),
                )
            if all(map(is_number, watts)) and as_float(watts[0]) < as_float(watts[1]):
                yield _limited(
                    row.get("index"),
                    watts,
                    active,
                    paste.find(r"power\.default_limit"),
                    alike=len({*limits}) == 1,
                )
        for row in _least_drawn(row for row in rows if _POWER_CAP in _active(row)):
            draw, limit = row.get("power_draw_w"), row.get("power_limit_w")
            yield _cap(_gpu_of(row), draw, limit, paste.find("reasons"), scene)


def _least_drawn(rows: Iterable[Row]) -> Iterator[Row]:
    """Of each GPU the reading in which it draws least; one without a draw only if all are."""
    least: dict[str, Row] = {}
    for row in rows:
        kept = least.setdefault(_gpu_of(row), row)
        if _drawn(row) < _drawn(kept):
            least[_gpu_of(row)] = row
    yield from least.values()


def _drawn(row: Row) -> float:
    draw = row.get("power_draw_w")
    return as_float(draw) if is_number(draw) else math.inf


def _gpu_of(row: Row) -> str:
    return f"GPU{row['index']}" if "index" in row else tr("a GPU")


def _active(row: Row) -> list[str]:
    """Reasons that a row names as active.

    Source: NVIDIA NVML, nvml.h, nvmlClocksEventReason*: the bits of the mask.
    """
    found = []
    for column, value in row.items():
        if "_reasons_" not in column:
            continue
        if column.endswith("_reasons_active") and str(value).startswith("0x"):
            mask = int(str(value), 16)
            found += [word for bit, word in _BITS.items() if mask & bit]
        elif value == "Active":
            name = column.partition("_reasons_")[2].replace("_", " ")
            found += [word for word in _BITS.values() if word.lower() == name]
    return list(dict.fromkeys(found))


def _active_text(gpu: str, reasons: Sequence[str]) -> str:
    return tr("{gpu}: {reasons} is active", gpu=gpu, reasons=listed(reasons))

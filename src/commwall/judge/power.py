"""Power, its limits and lowered clocks, by `nvidia-smi -q`, CSV, dmon and the table.

Layer: judge. Reads no file.
"""

from collections.abc import Iterator, Mapping, Sequence

from commwall.judge.finding import Finding
from commwall.judge.scene import Pasted, Scene
from commwall.language.translate import clauses, listed, span_text, tr, tr_later
from commwall.readers.dmon import Samples
from commwall.readers.reading import UNAVAILABLE
from commwall.readers.smi_csv import CsvTable, Value
from commwall.readers.smi_q import QueriedGpu, Query
from commwall.readers.smi_table import Table, TableGpu

_POWER_CAP = "SW Power Cap"
_BRAKES = ("HW Slowdown", "HW Thermal Slowdown", "HW Power Brake Slowdown", "SW Thermal Slowdown")
_BITS = {
    0x4: _POWER_CAP,
    0x8: "HW Slowdown",
    0x20: "SW Thermal Slowdown",
    0x40: "HW Thermal Slowdown",
    0x80: "HW Power Brake Slowdown",
}
_LOOK = tr_later("nvidia-smi -q -d POWER,PERFORMANCE,CLOCK (under load)")

_COOL = tr_later("nvidia-smi -q -d TEMPERATURE,POWER; fans, air flow, power supply")
_SLOWED = tr_later("heat or power supply slows this GPU, and every job that includes it")
_LIMITED = tr_later("it computes slower than its peers, and a job waits for its slowest GPU")


def caps(scene: Scene) -> Iterator[Finding]:
    """Clocks lowered by the power limit: normal near it, a fault far below."""
    for paste, query in scene.of(Query):
        for at, gpu in enumerate(query.gpus or ()):
            if _POWER_CAP not in (gpu.throttle_active or ()):
                continue
            evidence = paste.below(gpu.bus_id, rf"{_POWER_CAP} +: Active")
            draw, limit = gpu.power_draw_w, gpu.power_limit_w
            if not isinstance(draw, float) or not isinstance(limit, float) or not limit:
                yield Finding(
                    rule="power_cap",
                    level="unknown",
                    verdict=tr("GPU{gpu}: power cap active, its draw or limit is not told", gpu=at),
                    means=tr("whether that is the normal cap at full load cannot be said"),
                    next_step=tr(_LOOK),
                    evidence=evidence,
                )
                continue
            watts = {"gpu": at, "draw": f"{draw:g}", "limit": f"{limit:g}"}
            near = draw >= scene.facts.thresholds.near_power_limit_share.value * limit
            yield Finding(
                rule="power_cap",
                level="note" if near else "warning",
                verdict=tr(
                    "GPU{gpu}: power cap active at {draw} of {limit} W, normal at full load",
                    **watts,
                )
                if near
                else tr(
                    "GPU{gpu}: power cap active at {draw} of {limit} W, far below its limit",
                    **watts,
                ),
                means=tr("the cap bounds compute; differences between links can hide behind it")
                if near
                else tr(
                    "something else holds power down: a cap by the board's controller, a power "
                    "supply or a missing cable; the GPU computes slower than others"
                ),
                next_step=None
                if near
                else tr("{command}; power cables, supply, limits of the BMC", command=tr(_LOOK)),
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
        for at, gpu in enumerate(query.gpus or ()):
            if gpu.power_capped_below_default:
                yield Finding(
                    rule="power_limit",
                    level="warning",
                    verdict=_limited_text(f"GPU{at}", gpu.power_limit_w, gpu.default_limit_w),
                    means=tr(_LIMITED),
                    next_step=f"sudo nvidia-smi -i {at} -pl {gpu.default_limit_w:g}",
                    evidence=paste.below(gpu.bus_id, rf"Power Limit +: {gpu.power_limit_w:.2f} W"),
                )


def steady(scene: Scene) -> Iterator[Finding]:
    """GPUs that nothing slows, and what is told of the power of each."""
    for paste, query in scene.of(Query):
        gpus = tuple(enumerate(query.gpus or ()))
        fine = [at for at, gpu in gpus if gpu.throttled is False]
        if fine:
            yield Finding(
                rule="clocks",
                level="good",
                verdict=tr("nothing lowers the clocks of {gpus}", gpus=_list(fine)),
                means=tr("idle is no slowdown; only a reading under load shows what a job meets"),
                next_step=tr(_LOOK) if _idle(query) else None,
                evidence=paste.find(r"Clocks (?:Event|Throttle) Reasons"),
            )
        yield from (_untold_power(paste, at, gpu) for at, gpu in gpus if _untold(gpu))
        for at, gpu in gpus:
            if _is_number(gpu.power_draw_w) and gpu.throttle_active is None:
                yield _draw(paste, at, gpu)


def _untold_power(paste: Pasted, at: int, gpu: QueriedGpu) -> Finding:
    """A GPU whose mean power is unavailable; some tell that of the moment instead."""
    field = (gpu.power_draw_field or "power draw").lower()
    untold = tr("GPU{gpu}: {field} is unavailable", gpu=at, field=field)
    also = _is_number(gpu.instant_power_w)
    watts = f"{gpu.instant_power_w:g}" if also else ""
    return Finding(
        rule="power_untold",
        level="note" if also else "unknown",
        verdict=clauses([untold, tr("its instantaneous draw is {watts} W", watts=watts)])
        if also
        else untold,
        means=tr("energy cannot be counted from it; it is not 0 W"),
        next_step=None if also else tr("use the energy counter, or leave energy out"),
        evidence=paste.below(gpu.bus_id, r"Power Draw +: "),
    )


def _draw(paste: Pasted, at: int, gpu: QueriedGpu) -> Finding:
    """Draw beside the limit, where nothing is told of lowered clocks."""
    drawn = f"{gpu.power_draw_w:g}"
    return Finding(
        rule="power",
        level="note",
        verdict=tr("GPU{gpu}: draws {draw} of {limit}", gpu=at, draw=drawn, limit=_watts(gpu)),
        means=tr("whether something lowers its clocks this file does not say"),
        next_step=tr(_LOOK),
        evidence=paste.below(gpu.bus_id, rf"Power Draw +: {gpu.power_draw_w:.2f} W"),
    )


def tables(scene: Scene) -> Iterator[Finding]:
    """Power in CSV: draw beside the limit."""
    for paste, table in scene.of(CsvTable):
        rows = [row for row in table.rows or () if "power_draw_w" in row]
        untold = [
            row for row in rows if UNAVAILABLE in (row.get("power_limit_w"), row["power_draw_w"])
        ]
        draws = [row["power_draw_w"] for row in rows if _is_number(row["power_draw_w"])]
        if draws:
            yield Finding(
                rule="power",
                level="note",
                verdict=tr(
                    "power of {gpus} GPU(s): {power} W in {n} reading(s)",
                    gpus=table.gpu_count or tr("some"),
                    power=span_text(*_ends(draws)),
                    n=len(draws),
                ),
                means=tr(
                    "single readings are no energy; one GPU that idles while another works shows a "
                    "job that does not use both"
                ),
                next_step=tr("nvidia-smi -q -d POWER,PERFORMANCE (limits, lowered clocks)"),
                evidence=paste.find("power.draw"),
            )
        if untold:
            yield Finding(
                rule="power_untold",
                level="unknown",
                verdict=tr("power draw or limit of a GPU is unavailable"),
                means=tr("a share of the limit cannot be told; it is not 0 W"),
                next_step="nvidia-smi -q -d POWER",
                evidence=paste.find(r"\[?N/A\]?|Not Supported"),
            )


def reasons(scene: Scene) -> Iterator[Finding]:
    """CSV: reasons of lowered clocks, as words or as a mask, and lowered limits."""
    for paste, table in scene.of(CsvTable):
        for row in table.rows or ():
            gpu = f"GPU{row['index']}" if "index" in row else tr("a GPU")
            active = [one for one in _active(row) if one in _BRAKES]
            if active:
                yield Finding(
                    rule="slowdown",
                    level="warning",
                    verdict=_active_text(gpu, active),
                    means=tr(_SLOWED),
                    next_step=tr(_COOL),
                    evidence=paste.find("reasons"),
                )
            limit, default = row.get("power_limit_w"), row.get("power_default_limit_w")
            if _is_number(limit) and _is_number(default) and _float(limit) < _float(default):
                yield Finding(
                    rule="power_limit",
                    level="warning",
                    verdict=_limited_text(gpu, limit, default),
                    means=tr(_LIMITED),
                    next_step=f"sudo nvidia-smi -pl {default:g}",
                    evidence=paste.find(r"power\.default_limit"),
                )


def _active(row: Mapping[str, Value]) -> list[str]:
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


def overview(scene: Scene) -> Iterator[Finding]:
    """The table that nvidia-smi prints without an option."""
    for paste, table in scene.of(Table):
        told = [_overview_text(gpu) for gpu in table.gpus or ()]
        if told:
            yield Finding(
                rule="overview",
                level="note",
                verdict=tr("{n} GPU(s): {gpus}", n=len(told), gpus=clauses(told)),
                means=tr("this table says nothing of links, and of power at one moment only"),
                next_step="nvidia-smi topo -m; nvidia-smi nvlink -s; nvidia-smi -q -d POWER",
                evidence=paste.find("NVIDIA-SMI"),
            )


def samples(scene: Scene) -> Iterator[Finding]:
    """dmon: what it says, and what it is mistaken for."""
    for paste, found in scene.of(Samples):
        if not found.samples:
            continue
        hot = [f"GPU{one['gpu']}" for one in found.samples if one.get("tviol_bool")]
        if hot:
            yield Finding(
                rule="slowdown",
                level="warning",
                verdict=tr(
                    "{gpus}: clocks lowered by heat in some sample",
                    gpus=listed(dict.fromkeys(hot)),
                ),
                means=tr("a hot GPU slows every job that includes it"),
                next_step=tr("nvidia-smi -q -d TEMPERATURE; fans, air flow"),
                evidence=paste.find(r"\btviol\b"),
            )
        yield Finding(
            rule="samples",
            level="note",
            verdict=clauses(_samples_texts(found)),
            means=tr(
                "column mem is the time in which memory was busy, not its bandwidth; traffic by "
                "NVLink is in no column of it. A dash is not 0"
            ),
            next_step=tr("nvidia-smi -q -d PERFORMANCE (lowered clocks); nvidia-smi nvlink -gt d"),
            evidence=paste.find(r"^[# \t]*#[ \t]*gpu\b"),
        )


def _samples_texts(found: Samples) -> Iterator[str]:
    """What samples tell of power and of traffic."""
    samples = found.samples or ()
    power = [one["pwr_w"] for one in samples if one.get("pwr_w") is not None]
    yield tr(
        "{n} samples of {gpus} GPU(s): {power}",
        n=len(samples),
        gpus=found.gpu_count,
        power=_power_text(found, power),
    )
    untold = [f"GPU{one['gpu']}" for one in samples if "pwr_w" in one and one["pwr_w"] is None]
    if untold and power:
        yield tr("unavailable for {gpus}", gpus=listed(dict.fromkeys(untold)))
    if _has(found, "pci"):
        yield tr("traffic over PCIe is in its columns")


def _power_text(found: Samples, power: Sequence[object]) -> str:
    """Least and most of the samples' powers [W], or why there is none."""
    if not power:
        return tr("power unavailable") if found.has_power else tr("no column of power")
    least, most = _ends(power)
    return tr("power {least} to {most} W", least=least, most=most)


def _ends(values: Sequence[object]) -> tuple[str, str]:
    """Least and most of some numbers, in words."""
    numbers = [_float(value) for value in values]
    return f"{min(numbers):g}", f"{max(numbers):g}"


def _active_text(gpu: str, reasons: Sequence[str]) -> str:
    return tr("{gpu}: {reasons} is active", gpu=gpu, reasons=listed(reasons))


def _limited_text(gpu: str, limit_w: object, default_w: object) -> str:
    limit, default = (f"{_float(watts):g}" for watts in (limit_w, default_w))
    return tr(
        "{gpu}: limited to {limit} W, {default} W is its default",
        gpu=gpu,
        limit=limit,
        default=default,
    )


def _overview_text(gpu: TableGpu) -> str:
    told = {"gpu": gpu.index, "name": gpu.name}
    if not _is_number(gpu.power_draw_w) or not _is_number(gpu.power_limit_w):
        return tr("GPU{gpu} {name}, power unavailable", **told)
    draw, limit = (f"{_float(watts):g}" for watts in (gpu.power_draw_w, gpu.power_limit_w))
    return tr("GPU{gpu} {name}, {draw} of {limit} W", **told, draw=draw, limit=limit)


def _has(found: Samples, part: str) -> bool:
    return any(part in column for column in found.columns or ())


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _float(value: object) -> float:
    return float(str(value))


def _watts(gpu: QueriedGpu) -> str:
    return f"{gpu.power_limit_w:g} W" if _is_number(gpu.power_limit_w) else tr("an unknown limit")


def _untold(gpu: QueriedGpu) -> bool:
    return gpu.power_draw_w == UNAVAILABLE


def _idle(query: Query) -> bool:
    return all("Idle" in (gpu.throttle_active or ()) for gpu in query.gpus or ())


def _list(numbers: Sequence[int]) -> str:
    return listed(f"GPU{number}" for number in numbers)

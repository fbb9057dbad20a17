"""Power that GPUs draw, by `nvidia-smi -q`, CSV, dmon and the table.

Layer: judge. Reads no file.
"""

from collections.abc import Iterator, Sequence

from commwall.judge.finding import Finding
from commwall.judge.scene import Pasted, Scene
from commwall.language.translate import clauses, listed, span_text, tr, tr_later
from commwall.readers.dmon import Samples
from commwall.readers.reading import UNAVAILABLE
from commwall.readers.smi_csv import CsvTable
from commwall.readers.smi_q import QueriedGpu, Query
from commwall.readers.smi_table import Table, TableGpu

LOOK = tr_later("nvidia-smi -q -d POWER,PERFORMANCE,CLOCK (under load)")
"""How to see what lowers clocks, for `tr`."""


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
                next_step=tr(LOOK) if _idle(query) else None,
                evidence=paste.find(r"Clocks (?:Event|Throttle) Reasons"),
            )
        yield from (_untold_power(paste, at, gpu) for at, gpu in gpus if _untold(gpu))
        for at, gpu in gpus:
            if is_number(gpu.power_draw_w) and gpu.throttle_active is None:
                yield _draw(paste, at, gpu)


def _untold_power(paste: Pasted, at: int, gpu: QueriedGpu) -> Finding:
    """A GPU whose mean power is unavailable; some tell that of the moment instead."""
    field = (gpu.power_draw_field or "power draw").lower()
    untold = tr("GPU{gpu}: {field} is unavailable", gpu=at, field=field)
    also = is_number(gpu.instant_power_w)
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
        next_step=tr(LOOK),
        evidence=paste.below(gpu.bus_id, rf"Power Draw +: {gpu.power_draw_w:.2f} W"),
    )


def tables(scene: Scene) -> Iterator[Finding]:
    """Power in CSV: draw beside the limit."""
    for paste, table in scene.of(CsvTable):
        rows = [row for row in table.rows or () if "power_draw_w" in row]
        untold = [
            row for row in rows if UNAVAILABLE in (row.get("power_limit_w"), row["power_draw_w"])
        ]
        draws = [row["power_draw_w"] for row in rows if is_number(row["power_draw_w"])]
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
    numbers = [as_float(value) for value in values]
    return f"{min(numbers):g}", f"{max(numbers):g}"


def _overview_text(gpu: TableGpu) -> str:
    told = {"gpu": gpu.index, "name": gpu.name}
    if not is_number(gpu.power_draw_w) or not is_number(gpu.power_limit_w):
        return tr("GPU{gpu} {name}, power unavailable", **told)
    draw, limit = (f"{as_float(watts):g}" for watts in (gpu.power_draw_w, gpu.power_limit_w))
    return tr("GPU{gpu} {name}, {draw} of {limit} W", **told, draw=draw, limit=limit)


def _has(found: Samples, part: str) -> bool:
    return any(part in column for column in found.columns or ())


def is_number(value: object) -> bool:
    """Whether a reading is a number, and no word that it is unavailable."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_float(value: object) -> float:
    """A reading that is a number."""
    return float(str(value))


def _watts(gpu: QueriedGpu) -> str:
    return f"{gpu.power_limit_w:g} W" if is_number(gpu.power_limit_w) else tr("an unknown limit")


def _untold(gpu: QueriedGpu) -> bool:
    return gpu.power_draw_w == UNAVAILABLE


def _idle(query: Query) -> bool:
    return all("Idle" in (gpu.throttle_active or ()) for gpu in query.gpus or ())


def _list(numbers: Sequence[int]) -> str:
    return listed(f"GPU{number}" for number in numbers)

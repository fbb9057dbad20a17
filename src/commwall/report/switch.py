"""Says so where NCCL was kept from reducing in the NVLink switch (NVLS), and what that means.

Layer: report. Reads `config/facts/busbw.yaml` through `commwall.records`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from commwall.analysis.result import Analysis
from commwall.analysis.verdicts.wording import share_text
from commwall.language.translate import quantity_text, tr
from commwall.records.hardware import read_achieved
from commwall.report.html import Html, paragraph
from commwall.report.page import Page
from commwall.schema.achieved import Achieved, AchievedFile
from commwall.schema.record import Record

VARIABLE = "NCCL_NVLS_ENABLE"
OFF = {VARIABLE: "0", "NVSHMEM_DISABLE_NVLS": "1", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1"}
"""Variables that keep libraries from the switch, with the value that does."""
_FEW = 4
"""So many GPUs gain nothing by it where somebody looked."""


def switched_off_lines(analysis: Analysis) -> Iterator[str]:
    """That NCCL was kept from the switch, with all variables that keep libraries from it."""
    taken = [record.software.variables for record in analysis.evidence.records]
    off = [own for own in taken if own.get(VARIABLE) == OFF[VARIABLE]]
    if off:
        names = [name for name, value in OFF.items() if any(own.get(name) == value for own in off)]
        yield tr(
            "Reduction in the NVLink switch (NVLS): off by {variables} in the environment of "
            "{off} of {all} records, whatever the treatment; a link as the machine offers it is "
            "meant without it.",
            variables=", ".join(f"{name}={OFF[name]}" for name in names),
            off=len(off),
            all=len(taken),
        )


def switch_note(page: Page, root: str | Path) -> Html:
    """What switching NVLS off means for a campaign's exchanges; nothing where it was not.

    Args:
        page: of the campaign.
        root: the checkout.
    """
    records = [cell.record for cell in page.analysis.cells]
    off = [r for r in records if r.software.variables.get(VARIABLE) == "0"]
    if not off:
        return Html("")
    said = tr(
        "Reduction in the NVLink switch (NVLS) was off: {variable}=0 stands in the environment of "
        "{off} of {all} records.",
        variable=VARIABLE,
        off=len(off),
        all=len(records),
    )
    known = read_achieved(Path(root))
    return paragraph(" ".join([said, *_of_many(page, off, known), *_of_few(page, known)]))


def _of_many(page: Page, off: list[Record], known: AchievedFile) -> Iterator[str]:
    """What others reached on as many GPUs of the kind, with it and by rings."""
    ranks = max(record.platform.world_size for record in off)
    names = {gpu.name for record in off for gpu in record.machine.gpus}
    kinds = [
        kind for kind, peaks in page.analysis.facts.gpus.root.items() if names & set(peaks.names)
    ]
    own = [each for kind in kinds for each in known.of(kind, "all_reduce", ranks).values()]
    reducing, rings = ([e for e in own if e.algorithm == way] for way in ("nvls", "ring"))
    if ranks > _FEW and reducing and rings:
        yield tr(
            "Others reached {switch} of bus bandwidth with it on {ranks} such GPUs and {rings} by "
            "rings ({sources}): with it, long exchanges over NVLink would take about {share} of "
            "what they take here; host-staged ones would not change.",
            switch=quantity_text(_best(reducing), "byte/s"),
            ranks=ranks,
            rings=quantity_text(_best(rings), "byte/s"),
            sources="; ".join(dict.fromkeys(each.source for each in (*reducing, *rings))),
            share=share_text(_best(rings) / _best(reducing)),
        )


def _of_few(page: Page, known: AchievedFile) -> Iterator[str]:
    """That a few GPUs gain nothing by it, as far as somebody looked."""
    for each in known.root.values():
        if each.algorithm == "nvls" and max(each.ranks) <= _FEW:
            yield tr(
                "On {least} to {most} {gpus} rings reached as much ({source}).",
                least=min(each.ranks),
                most=max(each.ranks),
                gpus=page.analysis.facts.gpus.root[each.gpus[0]].names[0],
                source=each.source,
            )


def _best(entries: Iterable[Achieved]) -> float:
    return max(each.largest for each in entries)

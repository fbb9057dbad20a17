"""Models by name on GPUs and links: those of a campaign, all on file, growing clusters.

Layer: report. Reads `config/facts` through `commwall.analysis.whatif.assumptions`; writes no file.
"""

from pathlib import Path

from commwall.analysis.whatif.answers import Answer, Gain, answer, at_scale
from commwall.analysis.whatif.asking import Words, own_links, question_of
from commwall.analysis.whatif.assumptions import Facts, read_assumptions
from commwall.analysis.whatif.calibration import Calibration, calibrate
from commwall.analysis.whatif.words import (
    gain_text,
    per_gb_text,
    per_gradient_byte,
    percents_text,
    seconds_text,
)
from commwall.analysis.wording import span_text
from commwall.judge.facts import facts_root
from commwall.language.translate import clauses, listed, tr, tr_later
from commwall.report.html import Html, joined, paragraph, table
from commwall.report.page import Page
from commwall.schema.units import volume_text

GPUS = 8
"""Chosen: GPUs of the examples on other machines, one node."""
COUNTS = (8, 64, 256, 1024)
"""Chosen: GPUs of the examples of growing clusters."""
EXAMPLE_HEADS = (
    tr_later("model"),
    tr_later("gradients"),
    tr_later("compute per GB"),
    tr_later("step over each link"),
    tr_later("gain"),
    tr_later("memory of a GPU"),
)


def open_facts(root: str | Path) -> Facts:
    """Facts on file for a page: those of the checkout, else those that come with the package.

    Raises:
        ConfigError: if a file is malformed.
    """
    return read_assumptions(facts_root(Path(root)))


def examples(page: Page, facts: Facts) -> Html:
    """Models by name on the campaign's own GPUs and links."""
    measured = calibrate(page.analysis)
    kinds = [k for k, gpu in facts.gpus.root.items() if set(measured.gpus) & set(gpu.names)]
    if len(kinds) != 1 or not measured.links:
        words = tr(
            "No example: it takes GPUs of one kind whose peak is on file, and all-reduces over "
            "sizes. `commwall whatif` answers for other GPUs from facts on file."
        )
        return paragraph(words, "missing")
    ranks = max(cell.record.platform.world_size for cell in page.analysis.cells)
    links = [name for name in measured.links if name in _compared(page)]
    rows = []
    for name in _dense(facts):
        asked = Words(model=name, gpu=kinds[0], gpus=ranks, links=links)
        rows.append(_example_cells(answer(question_of(asked, facts, measured))))
    words = tr(
        "Data parallel on {n} x {gpu}, modelled from this campaign ({mfu}).",
        n=ranks,
        gpu=kinds[0],
        mfu=_mfu_text(measured),
    )
    return table([*map(tr, EXAMPLE_HEADS)], rows, words)


def _mfu_text(measured: Calibration) -> str:
    """The MFU that a campaign measured, or that none was."""
    if measured.mfu is None:
        return tr("MFU assumed")
    return tr("MFU {share}", share=percents_text(measured.mfu))


def _compared(page: Page) -> set[str]:
    """Platforms of comparisons that are no controls."""
    plan = page.analysis.evidence.plan
    real = [c for c in (plan.comparisons if plan else ()) if not c.control]
    return {side for comparison in real for side in (comparison.a, comparison.b)}


def _dense(facts: Facts) -> list[str]:
    """Models by name that have no experts: one node trains them."""
    return [name for name, preset in facts.presets.items() if preset.experts is None]


def _example_cells(found: Answer) -> tuple[str, ...]:
    steps = (
        tr("{what}: {value}", what=each.link.name, value=seconds_text(each.step))
        for each in found.over
    )
    return (
        found.question.title,
        volume_text(float(found.exchanged.gradients)),
        _compute_text(found),
        clauses(steps),
        clauses(map(_gain_text, found.gains)) or tr("one link"),
        _memory_text(found),
    )


def _compute_text(found: Answer) -> str:
    """Compute for each GB of gradients, where there are any."""
    per_byte = per_gradient_byte(found)
    if per_byte is None:
        return tr("none")
    return span_text(per_gb_text(per_byte.low), per_gb_text(per_byte.high))


def _memory_text(found: Answer) -> str:
    """What a GPU has to hold, and whether it can."""
    memory = volume_text(float(found.memory.whole))
    if found.room == "fits":
        return tr("{memory}, fits", memory=memory)
    if found.room == "may not fit":
        return tr("{memory}, may not fit", memory=memory)
    return tr("{memory}, does not fit", memory=memory)


def _gain_text(own: Gain) -> str:
    """The gain of one link over another."""
    return tr(
        "{faster} over {slower}: {gain}",
        faster=own.faster.name,
        slower=own.slower.name,
        gain=gain_text(own.gain),
    )


def other_gpus(facts: Facts) -> Html:
    """Gain of NVLink over PCIe on every GPU on file, from published and nominal rates."""
    names = _dense(facts)
    found = {kind: _on_gpu(kind, names, facts) for kind in facts.complete}
    rows = [
        (
            tr("{gpu}, {n} GPUs", gpu=kind, n=each[0].question.gpus),
            *(gain_text(one.gains[0].gain) for one in each),
        )
        for kind, each in found.items()
        if each
    ]
    others = listed(kind for kind, each in found.items() if not each)
    titles = [facts.presets[name].title for name in names]
    words = tr(
        "Gain of NVLink over PCIe on as many GPUs of a node as NVLink joins, data parallel: "
        "modelled from published and nominal values, nothing of it measured here."
    )
    none = paragraph(tr("Not both links are on file of {gpus}.", gpus=others))
    return joined([table(("GPU", *titles), rows, words), none])


def _on_gpu(kind: str, names: list[str], facts: Facts) -> list[Answer]:
    """Answers for each model on a GPU; none where NVLink and PCIe are not both on file."""
    domain = facts.gpus.root[kind].nvlink_domain
    gpus = min(GPUS, domain.value) if domain else GPUS
    if len(own_links(kind, facts, gpus)) < 2:
        return []
    asked = (Words(model=name, gpu=kind, gpus=gpus) for name in names)
    return [answer(question_of(each, facts, None)) for each in asked]


def clusters(facts: Facts) -> Html:
    """Steps of each model on growing clusters of the first GPU on file with both links."""
    names = _dense(facts)
    kind = next(kind for kind in facts.complete if _on_gpu(kind, names, facts))
    questions = [question_of(Words(model=n, gpu=kind, gpus=COUNTS[0]), facts, None) for n in names]
    rows = [_cluster_cells(each) for q in questions for each in at_scale(q, COUNTS)]
    links, network = questions[0].links, questions[0].network.name
    words = tr(
        "Data parallel on {gpu}, nodes of {n} joined by {network} a GPU, the batch of a GPU kept: "
        "modelled.",
        gpu=kind,
        n=questions[0].gpus_per_node,
        network=network,
    )
    steps = (tr("step, {link}", link=link.name) for link in links)
    return table((tr("model"), "GPUs", *steps, tr("gain")), rows, words)


def _cluster_cells(found: Answer) -> tuple[str, ...]:
    question = found.question
    steps = {each.link: seconds_text(each.step) for each in found.over}
    return (
        question.title, f"{question.gpus:,}", *(steps[link] for link in question.links),
        gain_text(found.gains[0].gain),
    )  # fmt: skip

"""Models by name on GPUs and links: those of a campaign, all on file, growing clusters.

Layer: report. Reads `config/facts` through `commwall.analysis.whatif.assumptions`; writes no file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from commwall.analysis.whatif.answers import Answer, Gain, Question, answer, at_scale
from commwall.analysis.whatif.asking import Words, own_links, question_of
from commwall.analysis.whatif.assumptions import Facts, read_assumptions
from commwall.analysis.whatif.calibration import Calibration, calibrate
from commwall.analysis.whatif.curve import readings
from commwall.analysis.whatif.words import (
    gain_text,
    per_gb_text,
    per_gradient_byte,
    percents_text,
    seconds_text,
)
from commwall.judge.facts import facts_root
from commwall.language.translate import clauses, listed, span_text, tr, tr_later
from commwall.model.estimates import Estimate
from commwall.report.breakeven.placed import Placed
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
    "MFU",
    tr_later("compute per GB"),
    tr_later("step over each link"),
    tr_later("gain"),
    tr_later("memory of a GPU"),
)


@dataclass(frozen=True)
class Way:
    """A model divided among GPUs."""

    model: str
    strategy: str
    """As `whatif` takes it."""
    words: str
    """For readers, to be translated."""
    replica: int
    """GPUs among which one copy of the model, or its experts, is divided."""

    def asked(self, kind: str, gpus: int) -> Words:
        """The question for so many GPUs of a kind."""
        return Words(model=self.model, gpu=kind, gpus=gpus, strategy=self.strategy)


COUNTS_OF_WAYS = (8, 64, 1024)
"""Chosen: one node, a few, many."""
WAYS = (
    Way("llama-7b", "data", tr_later("data parallel"), 1),
    Way("llama-7b", "tensor=8", tr_later("tensor 8, then data"), 8),
    Way("llama-7b", "pipeline=8", tr_later("pipeline 8, then data"), 8),
    Way("llama-7b", "tensor=8,pipeline=8", tr_later("tensor 8, pipeline 8, then data"), 64),
    Way("mixtral-8x7b", "expert=8", tr_later("data, its experts over 8"), 8),
)
"""Chosen: each strategy by itself, and the two that large models combine."""


def open_facts(root: str | Path) -> Facts:
    """Facts on file for a page: those of the checkout, else those that come with the package.

    Raises:
        ConfigError: if a file is malformed.
    """
    return read_assumptions(facts_root(Path(root)))


def examples(page: Page, facts: Facts) -> Html:
    """Models by name on the campaign's own GPUs and links."""
    measured = calibrate(page.analysis)
    found = list(_answers(page, facts, measured, _dense(facts)))
    if not found:
        words = tr(
            "No example: it takes GPUs of one kind whose peak is on file, and all-reduces over "
            "sizes. `commwall whatif` answers for other GPUs from facts on file."
        )
        return paragraph(words, "missing")
    asked = found[0].question
    words = tr(
        "Data parallel on {n} x {gpu}, modelled from this campaign: of models that it did not "
        "train, MFU and overlap are those of its transformers.",
        n=asked.gpus,
        gpu=asked.kind,
    )
    return table([*map(tr, EXAMPLE_HEADS)], [_example_cells(each) for each in found], words)


def _answers(
    page: Page, facts: Facts, measured: Calibration, names: Sequence[str]
) -> Iterator[Answer]:
    """Models by name on the campaign's own GPUs and links; none where too little is known."""
    kinds = [kind for kind in facts.gpus.root if measured.is_of(kind, facts)]
    if len(kinds) != 1 or not measured.compared:
        return
    ranks = max(cell.record.platform.world_size for cell in page.analysis.cells)
    for name in names:
        asked = Words(model=name, gpu=kinds[0], gpus=ranks)
        yield answer(question_of(asked, facts, measured))


def placed(page: Page, facts: Facts) -> list[Placed]:
    """Those of the models that the campaign did not train, on its break-even curves."""
    measured = calibrate(page.analysis)
    others = [name for name in _dense(facts) if name not in measured.models.values()]
    return [
        Placed(found.question.title, each)
        for found in _answers(page, facts, measured, others)
        for each in readings(page.analysis, found)
    ]


def _dense(facts: Facts) -> list[str]:
    """Models by name that have no experts: one node trains them."""
    return [name for name, preset in facts.presets.items() if preset.experts is None]


def _example_cells(found: Answer) -> tuple[str, ...]:
    steps = (
        tr("{what}: {value}", what=each.link.name, value=seconds_text(each.step))
        for each in found.over
    )
    return (
        tr("{model}, {batch}", model=found.question.title, batch=_batch_text(found.question)),
        volume_text(float(found.exchanged.gradients)),
        _mfu_text(found.question.mfu),
        _compute_text(found),
        clauses(steps),
        clauses(map(_gain_text, found.gains)) or tr("one link"),
        _memory_text(found),
    )


def _batch_text(question: Question) -> str:
    """Samples that a GPU takes at a time."""
    batch = f"{question.workload.batch_per_gpu:g}"
    if question.sample == "image":
        return tr("{n} images a GPU", n=batch)
    length = question.workload.sequence_length
    return tr("{n} sequences of {length} tokens a GPU", n=batch, length=length)


def _mfu_text(mfu: Estimate) -> str:
    """MFU between its ends, and whether it was measured."""
    told = percents_text(mfu)
    return told if mfu.origin == "measured" else tr("{share}, assumed", share=told)


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
    shown = next(filter(None, found.values()))
    titles = [tr("{model}, {batch}", model=each.question.title, batch=_batch_text(each.question))
              for each in shown]  # fmt: skip
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


def _first_kind(facts: Facts) -> str:
    """The first GPU on file with both links."""
    return next(kind for kind in facts.complete if _on_gpu(kind, _dense(facts), facts))


def clusters(facts: Facts) -> Html:
    """Steps of each model on growing clusters of the first GPU on file with both links."""
    kind = _first_kind(facts)
    asked = (Words(model=name, gpu=kind, gpus=COUNTS[0]) for name in _dense(facts))
    questions = [question_of(each, facts, None) for each in asked]
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


def strategies(facts: Facts) -> Html:
    """What a GPU exchanges and a step takes where GPUs share it in other ways, over each link."""
    kind = _first_kind(facts)
    found = [
        (way, answer(question_of(way.asked(kind, gpus), facts, None)))
        for way in WAYS
        for gpus in COUNTS_OF_WAYS
        if gpus % way.replica == 0
    ]
    first = found[0][1].question
    words = tr(
        "On {gpu}, nodes of {n} joined by {network} a GPU; the model's usual batch of a GPU kept. "
        "Bytes are those that a GPU gives to collectives in a step: modelled.",
        gpu=kind,
        n=first.gpus_per_node,
        network=first.network.name,
    )
    heads = (
        tr("model, divided by"),
        "GPUs",
        tr("bytes of a step"),
        *(tr("step, {link}", link=link.name) for link in first.links),
        tr("memory of a GPU"),
    )
    return table(heads, [_way_cells(way, each) for way, each in found], words)


def _way_cells(way: Way, found: Answer) -> tuple[str, ...]:
    question = found.question
    steps = {each.link: seconds_text(each.step) for each in found.over}
    return (
        tr("{model}, {way}", model=question.title, way=tr(way.words)),
        f"{question.gpus:,}",
        volume_text(float(found.exchanged.whole)),
        *(steps[link] for link in question.links),
        _memory_text(found),
    )

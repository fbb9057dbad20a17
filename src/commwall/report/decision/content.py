"""The decision report: what a campaign says to somebody who buys or rents, on one page.

Layer: report. Reads and writes no file. Plain data, made once and shown twice: as a page (`page`)
and as a sheet to print (`sheet`). Every verdict is worded by the rules of `commwall.analysis` and
`commwall.economics`; nothing here decides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from commwall.analysis.platforms import any_emulated, compared_platforms, display_names
from commwall.analysis.quantities import PRIMARY
from commwall.analysis.result import Analysis
from commwall.analysis.verdicts.judging import Verdict
from commwall.analysis.verdicts.overall import (
    ENERGY,
    Topic,
    first_topics,
    overall_text,
    topic_verdicts,
)
from commwall.language.translate import capital, lowered, tr, tr_later, trn
from commwall.report.decision.figure import Row, Sides, spread_evenly
from commwall.report.decision.money import money_lines
from commwall.report.decision.words import far_words, row_words, sure_lines
from commwall.report.energy.page import NOT_COUNTED
from commwall.report.machines import machine_text
from commwall.report.money.page import MoneyPage
from commwall.report.narrative import measured_text, not_covered_lines
from commwall.report.overview import Answer, why_no_verdict
from commwall.report.provenance import records_digest
from commwall.schema.plan import Comparison

MOST_ANSWERS = 3
"""Comparisons that one page tells of; the summary has them all."""
MOST_LINES = 12
"""Lines on what was not measured; the others stand on the pages Summary and Platforms."""
REPLICA_ROUNDS = 2
LINK = tr_later(
    "The processors that train a model together exchange what they have computed in every step; "
    "the link is what they exchange it over. A case is one model, trained in one way."
)
EMULATED = tr_later(
    "The links are emulated in software, at rates that somebody chose: this says nothing of any "
    "link that can be bought."
)
MEASURE_COPY = tr_later(
    "Measure again: copy {file} under a name of your own, here config/campaigns/COPY.yaml, then"
)
MEASURE_ALIKE = tr_later(
    "Measure the same: the campaign's file is not in this checkout; write one under a name of your "
    "own, here config/campaigns/COPY.yaml, after results/{campaign}/plan.json, then"
)
SNAKEMAKE = ".venv/bin/snakemake --cores all --config 'campaigns=[\"{}\"]'"
ABOVE_ONE = tr_later("Ratios are {a} / {b}: above 1, {a} does more with the same energy.")
NO_ENERGY = tr_later("Not measured: no comparison has a case that trains.")


@dataclass(frozen=True)
class Command:
    """Something to type."""

    words: str
    """What it does."""
    line: str


@dataclass(frozen=True)
class Decision:
    """Everything on the page, in the language spoken when it was made."""

    campaign: str
    title: str
    question: str
    sides: tuple[str, ...]
    """What is compared, a line each."""
    answers: tuple[Answer, ...]
    """One a comparison, the foremost first and with all details."""
    figure: tuple[Row, ...]
    """Cases of the foremost comparison that have a ratio."""
    axis: Sides | None
    """What the figure compares; None where it shows nothing."""
    money: tuple[str, ...]
    energy: tuple[str, ...]
    not_measured: tuple[str, ...]
    repeat: tuple[Command, ...]
    provenance: str
    """Campaign, machine, dates and digest of the records."""


@dataclass(frozen=True)
class Asked:
    """A comparison, and the first of the topics on which it has verdicts."""

    comparison: Comparison
    topic: Topic
    verdicts: list[Verdict]

    @property
    def sides(self) -> tuple[str, str]:
        """Both platforms."""
        return self.comparison.a, self.comparison.b


def decide(money: MoneyPage, *, replicable: bool, file: str | None) -> Decision:
    """The report of a campaign.

    Args:
        money: the campaign's money page.
        replicable: whether it predicts what others should find.
        file: that asks for the campaign, where the checkout has it.
    """
    analysis = _plainly_named(money.page.analysis)
    every = [Asked(*each) for each in first_topics(analysis)]
    foremost = every[0] if every else None
    rows = _rows(foremost) if foremost else ()
    return Decision(
        campaign=analysis.campaign,
        title=tr(analysis.evidence.index.title),
        question=_question(analysis, foremost),
        sides=tuple(_sides(analysis, every)),
        answers=_answers(analysis, every),
        figure=rows,
        axis=_axis(analysis, foremost, rows) if foremost and rows else None,
        money=tuple(money_lines(money)),
        energy=tuple(_energy(analysis, foremost)),
        not_measured=_not_measured(analysis),
        repeat=tuple(_repeat(analysis, file, replicable=replicable)),
        provenance=_provenance(analysis),
    )


def _plainly_named(analysis: Analysis) -> Analysis:
    """The same with names that tell apart what is compared, and not controls from it."""
    plan = analysis.plan
    if plan is None:
        return analysis
    kept = compared_platforms(plan)
    told = plan.model_copy(update={"platforms": [p for p in plan.platforms if p.name in kept]})
    return replace(analysis, names={**analysis.names, **display_names(told)})


def _question(analysis: Analysis, asked: Asked | None) -> str:
    if asked is None:
        return tr("None: the campaign compares no links.")
    a, b = _names(analysis, asked.comparison)
    if asked.topic.quantity == PRIMARY:
        words = tr_later("Over which link does training run faster, {a} or {b}, and by how much?")
    else:
        words = tr_later("Which link does better, {a} or {b}, and by how much?")
    return tr(words, a=a, b=b)


def _names(analysis: Analysis, comparison: Comparison) -> tuple[str, str]:
    return analysis.names[comparison.a], analysis.names[comparison.b]


def _sides(analysis: Analysis, every: Sequence[Asked]) -> Iterator[str]:
    """What each side of the comparisons that are told is, in its treatment's own words."""
    plan = analysis.plan
    told = {side for asked in every[:MOST_ANSWERS] for side in asked.sides}
    for platform in plan.platforms if plan else ():
        if platform.name in told:
            yield _named(analysis.names[platform.name], tr(platform.treatment.label.stands_for))


def _answers(analysis: Analysis, every: Sequence[Asked]) -> tuple[Answer, ...]:
    if not every:
        return (Answer("", " ".join(why_no_verdict(analysis)), ()),)
    first, *others = every
    told = [_answer(analysis, asked, ()) for asked in others[: MOST_ANSWERS - 1]]
    details, more = [*_details(analysis, first)], len(every) - MOST_ANSWERS
    if more > 0:
        details.append(
            trn("{n} more comparison: page Summary.", "{n} more comparisons: page Summary.", more)
        )
    return (_answer(analysis, first, tuple(details)), *told)


def _answer(analysis: Analysis, asked: Asked, details: tuple[str, ...]) -> Answer:
    a, b = _names(analysis, asked.comparison)
    place = tr("{a} against {b}: {topic}", a=a, b=b, topic=lowered(asked.topic.title))
    text = overall_text(analysis, asked.verdicts, asked.topic.noun)
    return Answer(place, capital(text), details)


def _details(analysis: Analysis, asked: Asked) -> Iterator[str]:
    """By how much in other words, and how sure that is."""
    yield from far_words(asked.verdicts, analysis.names)
    if any_emulated(analysis.plan, asked.sides):
        yield tr(EMULATED)
    yield from sure_lines(asked.verdicts, analysis.confidence, asked.topic.noun)


def _rows(asked: Asked) -> tuple[Row, ...]:
    rows = (row_words(verdict) for verdict in asked.verdicts)
    return spread_evenly([row for row in rows if row])


def _axis(analysis: Analysis, asked: Asked, rows: Sequence[Row]) -> Sides:
    a, b = _names(analysis, asked.comparison)
    return Sides(
        a=a,
        b=b,
        quantity=asked.topic.quantity,
        emulated=any_emulated(analysis.plan, asked.sides),
        left_out=sum(verdict.ratio is not None for verdict in asked.verdicts) - len(rows),
    )


def _energy(analysis: Analysis, asked: Asked | None) -> Iterator[str]:
    own = topic_verdicts(analysis, asked.comparison, ENERGY) if asked else []
    if not own:
        yield tr(NO_ENERGY)
        return
    label = capital(tr(ENERGY.quantity.label))
    yield tr("{topic}: {verdict}", topic=label, verdict=overall_text(analysis, own))
    if asked and any(verdict.ratio for verdict in own):
        a, b = _names(analysis, asked.comparison)
        yield tr(ABOVE_ONE, a=a, b=b)
        yield tr(NOT_COUNTED[0])


def _not_measured(analysis: Analysis) -> tuple[str, ...]:
    lines = [*_absent(analysis), *not_covered_lines(analysis), *_impossible(analysis)]
    more = len(lines) - MOST_LINES
    rest = [tr("{n} more: pages Summary and Platforms.", n=more)] if more > 0 else []
    return (*lines[:MOST_LINES], *rest)


def _named(name: str, what: str) -> str:
    return tr("{name}: {what}", name=name, what=what)


def _impossible(analysis: Analysis) -> Iterator[str]:
    """How much of the campaign is for other machines; which, only engineers ask."""
    plan = analysis.plan
    if count := len(plan.left_out) if plan else 0:
        yield trn(
            "{n} thing that the campaign asks for does not exist on this machine: page Platforms.",
            "{n} things that the campaign asks for do not exist on this machine: page Platforms.",
            count,
        )


def _absent(analysis: Analysis) -> Iterator[str]:
    """How many records are not there, or not used."""
    evidence = analysis.evidence
    standings = [finding.standing for finding in evidence.index.findings]
    if missing := standings.count("missing"):
        held, planned = len(standings) - missing, len(standings)
        yield tr("{held} of {planned} planned records measured.", held=held, planned=planned)
    if lost := len(standings) - missing - len(evidence.records):
        yield trn(
            "{n} record cannot be used at all: page Method.",
            "{n} records cannot be used at all: page Method.",
            lost,
        )
    if refused := sum(bool(cell.refusals) for cell in analysis.cells):
        yield trn(
            "{n} record is kept out of verdicts: page Method.",
            "{n} records are kept out of verdicts: page Method.",
            refused,
        )


def _repeat(analysis: Analysis, file: str | None, *, replicable: bool) -> Iterator[Command]:
    campaign = analysis.campaign
    judge = tr("Judge the same records again, on any computer:")
    yield Command(judge, f".venv/bin/commwall compare {campaign}")
    if not replicable:
        copy = tr(MEASURE_COPY, file=file) if file else tr(MEASURE_ALIKE, campaign=campaign)
        yield Command(copy, SNAKEMAKE.format("COPY"))
        return
    plan = tr("Plan the same on a machine of this kind, to be held against what is predicted:")
    yield Command(plan, f".venv/bin/commwall replicate {campaign} --rounds {REPLICA_ROUNDS}")
    yield Command(tr("Then measure it:"), SNAKEMAKE.format(f"{campaign}-replica"))


def _provenance(analysis: Analysis) -> str:
    plan, records = analysis.plan, analysis.evidence.records
    parts = [tr("campaign {name}", name=analysis.campaign)]
    if plan:
        parts.append(machine_text(plan.machine))
    if records:
        parts.append(tr("measured {dates} (UTC)", dates=measured_text(records)))
        parts.append(trn("{n} record", "{n} records", len(records)))
        parts.append(tr("digest of all records {digest}", digest=records_digest(records)))
    return " · ".join(parts)

"""What the site says of a campaign: verdicts by suite, what is missing, what each page rests on.

Layer: report. Reads index, plan and records through `commwall.analysis`. Everything is in the
language spoken when it is made.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import get_args

from commwall.analysis.platforms import is_emulated
from commwall.analysis.quantities import QUANTITIES_OF
from commwall.analysis.result import Analysis
from commwall.analysis.verdicts.judging import Verdict
from commwall.analysis.verdicts.overall import TOPICS, first_topics
from commwall.analysis.verdicts.wording import sentence
from commwall.language.translate import tr, tr_later
from commwall.records.ladders import ladders
from commwall.records.todo import Finding
from commwall.report.controls import floor_text
from commwall.report.machines import machine_text
from commwall.report.narrative import not_covered_lines, provenance_rows
from commwall.report.overview import Answer, answer_of, answers, why_no_verdict
from commwall.report.pages import DECISION, pages_for
from commwall.report.site.contents import Chapter, Rendered
from commwall.schema.case import SuiteName

SUITES: dict[SuiteName | None, str] = {
    "training": tr_later("Training"),
    "collectives": tr_later("Collectives"),
    "memory": tr_later("Memory"),
    "strategies": tr_later("Parallel strategies"),
    "inference": tr_later("Inference"),
    "mitigations": tr_later("Mitigations"),
    None: tr_later("The whole campaign"),
}
"""Suite -> heading of its part of a campaign's page; None: what is about no suite alone."""
FIRST = (DECISION, "summary")
"""Pages that all others explain."""


@dataclass(frozen=True)
class Part:
    """One suite of a campaign, or what is about all of them."""

    suite: SuiteName | None
    title: str
    cards: tuple[Answer, ...]
    pages: tuple[Rendered, ...]
    """That rest on its records."""
    findings: tuple[Finding, ...]
    """Every planned record of it."""

    @property
    def anchor(self) -> str:
        """The same in every language."""
        return self.suite or "all"

    @property
    def later_pages(self) -> tuple[Rendered, ...]:
        """Those that are not read first."""
        return tuple(page for page in self.pages if page.name not in FIRST)


@dataclass(frozen=True)
class Entry:
    """One campaign."""

    chapter: Chapter
    machine: str = ""
    """That its plan was made for."""
    state: str = ""
    """How many of its records there are."""
    weight: tuple[int, ...] = ()
    """How telling it is; see `weight_of`."""
    headlines: tuple[Answer, ...] = ()
    """One sentence a comparison, with its intervals."""
    parts: tuple[Part, ...] = ()
    problems: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    provenance: tuple[tuple[str, str], ...] = ()

    @property
    def first_pages(self) -> tuple[Rendered, ...]:
        """What to read first."""
        return tuple(page for page in self.chapter.pages if page.name in FIRST)


def entry_of(chapter: Chapter, analysis: Analysis) -> Entry:
    """What the site says of a campaign."""
    index, plan = analysis.evidence.index, analysis.plan
    held, planned = f"{len(analysis.evidence.records):,}", f"{len(index.findings):,}"
    return Entry(
        chapter=chapter,
        machine=machine_text(plan.machine) if plan else "",
        state=tr("{held} of {planned} planned records measured", held=held, planned=planned),
        weight=weight_of(analysis),
        headlines=tuple(_headlines(analysis)),
        parts=tuple(_parts(chapter, analysis)),
        problems=() if analysis.verdicts else why_no_verdict(analysis),
        not_covered=not_covered_lines(analysis),
        gaps=(*_not_rendered(chapter, analysis), *(str(gap) for gap in analysis.gaps)),
        provenance=tuple(provenance_rows(analysis)),
    )


def unreadable(chapter: Chapter, problem: str) -> Entry:
    """What the site says of a campaign that cannot be read."""
    return Entry(chapter, problems=(problem,))


def weight_of(analysis: Analysis) -> tuple[int, ...]:
    """How telling a campaign is, as a key to sort by.

    Links that exist come before emulated ones; among them, campaigns that name a winner come first,
    then those with more rounds, then those with more cases.
    """
    own = [verdict for verdict in analysis.primary if not verdict.comparison.control]
    plan = analysis.plan
    real = not any(map(is_emulated, plan.platforms if plan else ()))
    decided = any(verdict.winner for verdict in own)
    compared = sum(verdict.ratio is not None for verdict in own)
    return real, decided, max((verdict.n for verdict in own), default=0), compared


def _headlines(analysis: Analysis) -> Iterator[Answer]:
    """The first topic of each comparison with its noise floor; where it counts cases, the ends
    with their intervals.
    """
    for comparison, topic, own in first_topics(analysis):
        ends = _ends(analysis, own) if len(own) > 1 else ()
        details = (*ends, floor_text(own, topic.noun))
        yield replace(answer_of(analysis, comparison, [topic]), details=details)


def _ends(analysis: Analysis, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The smallest and the largest difference that a winner is named for."""
    sized = [(v.effect.size, v) for v in verdicts if v.winner and v.effect]
    ordered = [verdict for _, verdict in sorted(sized, key=itemgetter(0))]
    told = [tr("{name}: {what}", name=verdict.case, what=sentence(verdict, analysis.names))
            for verdict in dict.fromkeys([*ordered[:1], *ordered[-1:]])]  # fmt: skip
    if len(ordered) <= len(told):
        yield from told
    else:
        yield tr("Least: {verdict}", verdict=told[0])
        yield tr("Most: {verdict}", verdict=told[-1])


def _parts(chapter: Chapter, analysis: Analysis) -> Iterator[Part]:
    """Every suite with verdicts, records or pages; what is about all of them at the end."""
    for suite, title in SUITES.items():
        topics = [topic for topic in TOPICS if suite and topic.quantity in QUANTITIES_OF[suite]]
        part = Part(
            suite=suite,
            title=tr(title),
            cards=answers(analysis, topics),
            pages=tuple(page for page in chapter.pages if _suite_of(page) == suite),
            findings=tuple(f for f in analysis.evidence.index.findings if f.suite == suite),
        )
        if part.cards or part.pages or part.findings:
            yield part


def _suite_of(page: Rendered) -> SuiteName | None:
    return page.kind.suite if page.kind else None


def _not_rendered(chapter: Chapter, analysis: Analysis) -> Iterator[str]:
    plan = analysis.plan
    suites = {suite.suite for suite in plan.suites} if plan else set(get_args(SuiteName))
    rendered = {page.name for page in chapter.pages}
    for name in pages_for(suites, several_sizes=bool(plan and ladders(plan))):
        if name not in rendered:
            yield tr("page {name}: not rendered", name=name)

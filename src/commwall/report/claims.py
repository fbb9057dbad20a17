"""The page on published claims: what texts say, the verdicts, and what is known beside them.

Layer: report. Reads claims and facts through `commwall.claims`, campaigns through
`commwall.analysis`; writes no file.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from commwall.analysis.result import analyse_campaigns
from commwall.claims.factbook import FactBook, read_factbook
from commwall.claims.files import loaded, shipped
from commwall.claims.judging import OUTCOMES, WORDS, Judged, count, judge
from commwall.claims.measured import Beside, beside
from commwall.claims.scene import scene_of
from commwall.language.translate import (
    ENGLISH,
    clauses,
    listed,
    speak,
    tr,
    tr_later,
)
from commwall.records.layout import Layout
from commwall.report.html import Html, bullets, folded, heading, joined, paragraph, table
from commwall.report.provenance import RecordsOf, records_of
from commwall.schema.claims import ClaimsFile

MEANINGS = {
    "wrong": tr_later("contradicts arithmetic or a sourced constant"),
    "inconsistent": tr_later("two statements of the text contradict each other"),
    "unit": tr_later("true only if a unit, a direction or what is counted is read otherwise"),
    "unsupported": tr_later("needs something that the text does not tell"),
    "conditional": tr_later(
        "true under a condition that it does not state; the condition is solved for"
    ),
    "holds": tr_later("nothing on file speaks against it"),
}
"""What each verdict means, for readers."""

_PLACES = {
    True: tr_later("above all of them"),
    False: tr_later("within or below"),
    None: tr_later("without a number"),
}
"""Where a claim lies, by whether it is above all that was measured."""


@dataclass(frozen=True)
class Text:
    """One text with its judged claims."""

    name: str
    file: ClaimsFile
    judged: tuple[Judged, ...]


@dataclass(frozen=True)
class ClaimsPage:
    """Everything the page shows."""

    texts: tuple[Text, ...]
    measured: tuple[Beside, ...]
    campaigns: tuple[RecordsOf, ...]
    """Campaigns that were looked into."""
    unread: tuple[str, ...]
    """Campaigns that could not be read, with the reason."""

    @property
    def judged(self) -> tuple[Judged, ...]:
        """All claims of all texts."""
        return tuple(each for text in self.texts for each in text.judged)


def open_claims(root: str | Path, confidence: float, language: str | None = None) -> ClaimsPage:
    """Judge the claims of a checkout.

    Args:
        root: the checkout.
        confidence: level of the intervals of what campaigns measured.
        language: one of `LANGUAGES`; None is English.

    Raises:
        ConfigError: if a file of claims or facts is malformed.
    """
    speak(language or ENGLISH)
    base = Path(root)
    book = read_factbook(base)
    texts = tuple(
        Text(path.stem, file, tuple(judge(claim, book) for claim in file.claims))
        for path, file in loaded(shipped(base), book).items()
    )
    rows, read, unread = _measured(texts, book, Layout(base), confidence)
    return ClaimsPage(texts, rows, read, unread)


def _measured(
    texts: Iterable[Text], book: FactBook, layout: Layout, confidence: float
) -> tuple[tuple[Beside, ...], tuple[RecordsOf, ...], tuple[str, ...]]:
    """Rows in the order of the claims, campaigns looked into, and those that cannot be read.

    One campaign is held in memory at a time.
    """
    claims = [claim for text in texts for claim in text.file.claims if claim.measured]
    scenes = {claim.id: scene_of(claim, book) for claim in claims}
    rows: list[Beside] = []
    read: list[RecordsOf] = []
    unread: list[str] = []
    for found in analyse_campaigns(layout, confidence):
        if isinstance(found, str):
            unread.append(found)
        else:
            read.append(records_of(found))
            rows += [each for c in claims for each in beside(c, scenes[c.id], found)]
    places = list(scenes)
    rows.sort(key=lambda row: places.index(row.claim))
    return tuple(rows), tuple(read), tuple(unread)


def headline(page: ClaimsPage) -> Html:
    """How many claims hold, in one sentence."""
    numbers, total = count(page.judged), len(page.judged)
    if not total:
        return paragraph(tr("No claim is on file."), "missing")
    told = {"n": numbers["holds"], "all": total, "texts": len(page.texts)}
    others = listed(
        tr("{n} {verdict}", n=n, verdict=tr(WORDS[outcome]))
        for outcome, n in numbers.items()
        if n and outcome != "holds"
    )
    if others:
        words = tr(
            "{n} of {all} claims of {texts} texts hold as they stand; {others}.",
            **told,
            others=others,
        )
    else:
        words = tr("{n} of {all} claims of {texts} texts hold as they stand.", **told)
    return joined([paragraph(words, "verdict")], "card")


def counts(page: ClaimsPage) -> Html:
    """Number of each verdict by text, with what the verdicts mean."""
    rows = [(tr(text.file.title), *_numbers(text.judged)) for text in page.texts]
    heads = (tr("text"), *(tr(WORDS[outcome]) for outcome in OUTCOMES), tr("all"))
    meanings = bullets(
        tr("{what}: {value}", what=tr(WORDS[outcome]), value=tr(MEANINGS[outcome]))
        for outcome in OUTCOMES
    )
    all_of_them = (tr("all"), *_numbers(page.judged))
    return joined([table(heads, [*rows, all_of_them], tr("Verdicts by text.")), meanings])


def _numbers(judged: tuple[Judged, ...]) -> tuple[str, ...]:
    return (*(str(number) for number in count(judged).values()), str(len(judged)))


def texts(page: ClaimsPage) -> Html:
    """Every claim of every text: what it says, the verdict, why, and values beside it."""
    return joined(part for text in page.texts for part in _text(page, text))


def _text(page: ClaimsPage, text: Text) -> tuple[Html, ...]:
    rows = [_row(page, judged) for judged in text.judged]
    heads = (tr("the text says"), tr("verdict"), tr("why"), tr("for comparison"))
    sources = dict.fromkeys(source for judged in text.judged for source in judged.sources)
    folds = tr("{n} sources of the constants used", n=len(sources))
    return (
        heading(tr(text.file.title)),
        table(heads, rows, tr("Claims of: {source}.", source=tr(text.file.source))),
        folded(folds, bullets(sources)),
    )


def _row(page: ClaimsPage, judged: Judged) -> tuple[str, ...]:
    others = [f for f in judged.findings if f.outcome not in (judged.verdict, "holds")]
    reasons = [f.words for f in judged.deciding]
    reasons += [
        tr("Besides, {verdict}: {why}", verdict=tr(WORDS[f.outcome]), why=f.words) for f in others
    ]
    known = [tr("{what}: {value}", what=own.words, value=own.text) for own in judged.values]
    known += [_measured_text(each) for each in page.measured if each.claim == judged.claim.id]
    return (
        tr(judged.claim.says),
        tr(WORDS[judged.verdict]),
        tr(". ").join(reasons),
        clauses(known) or tr("nothing on file"),
    )


def _measured_text(each: Beside) -> str:
    return tr(
        "measured, {cell}, {platform} ({campaign}): {value}",
        cell=each.what,
        platform=each.platform,
        campaign=each.campaign,
        value=each.measured,
    )


def measured(page: ClaimsPage) -> Html:
    """Numbers of texts that a campaign of this checkout has measured on the GPU they name."""
    if not page.measured:
        looked = listed(each.campaign for each in page.campaigns) or tr("none can be read")
        words = tr(
            "No campaign has a cell for any claim. Looked into: {campaigns}.", campaigns=looked
        )
        return paragraph(words, "missing")
    rows = [
        (
            each.claim,
            each.stated or tr("no number"),
            each.what,
            f"{each.platform} ({each.campaign})",
            each.measured,
            tr(_PLACES[each.above]),
        )
        for each in page.measured
    ]
    heads = (
        tr("claim"),
        tr("stated, one direction"),
        tr("cell"),
        tr("platform"),
        tr("measured"),
        tr("the claim is"),
    )
    words = tr(
        "Measured beside stated. The texts' machines were others: this decides no verdict. Of two "
        "links: the value over the first relative to that over the second, in % by how much the "
        "first is better."
    )
    return table(heads, rows, words)


def not_shown(page: ClaimsPage) -> Html:
    """What the verdicts do not cover."""
    return bullets(
        (
            tr(
                "A verdict is about a statement as the claim file puts it, in the project's own "
                "words. Who doubts the wording reads the source."
            ),
            tr(
                "“Holds” means that arithmetic, units and the constants on file agree, not that it "
                "was measured."
            ),
            tr(
                "A constant may be out of date: each has a source and a day, below its table. "
                "Prices differ by seller, region and day, so no claim is called wrong for a price."
            ),
            tr(
                "Conditions are solved for one quantity at a time, the others being as stated or "
                "on file; ranges come from the ranges of constants."
            ),
            *(tr("Campaign not looked into: {why}", why=line) for line in page.unread),
        )
    )

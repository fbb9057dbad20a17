"""Which records a page rests on: the digest of each, and one of all.

Layer: report. Reads and writes no file.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from commwall.analysis.result import Analysis
from commwall.language.translate import tr, tr_later, trn
from commwall.records.todo import READABLE, Finding, Standing
from commwall.report.html import Html, folded, joined, paragraph, table
from commwall.report.review.change import DIGEST_DIGITS
from commwall.schema.base import digest
from commwall.schema.case import SuiteName
from commwall.schema.record import Record

_ABSENT: dict[Standing, str] = {
    "missing": tr_later("missing"),
    "invalid": tr_later("invalid"),
    "withdrawn": tr_later("withdrawn"),
}


def rests_on(analysis: Analysis, suites: Collection[SuiteName] = ()) -> Html:
    """Every record of a page, folded, a table a suite, below the digest of all of them.

    Args:
        analysis: of the campaign.
        suites: whose records the page shows; none named are all.
    """
    findings = [f for f in analysis.evidence.index.findings if not suites or f.suite in suites]
    digests = [f.digest for f in findings if f.standing in READABLE and f.digest]
    if not digests:
        return paragraph(tr("This page rests on no record."), "missing")
    whole = digest_of(digests)
    title = trn("Rests on {n} record, digest {digest}", "Rests on {n} records, digest {digest}",
                len(digests), digest=whole[:DIGEST_DIGITS])  # fmt: skip
    words = tr(
        "Digest of the records of this page: {digest} (SHA-256 of the sorted list of their digests "
        "as JSON). Records that are kept out of verdicts are among them.",
        digest=whole,
    )
    named = dict.fromkeys(finding.suite for finding in findings)
    tables = [_suite_table([f for f in findings if f.suite == suite]) for suite in named]
    return folded(title, joined([paragraph(words), *tables]))


@dataclass(frozen=True)
class RecordsOf:
    """All records of one campaign, told by one digest."""

    campaign: str
    count: int
    digest: str


def records_of(analysis: Analysis) -> RecordsOf:
    """What a page about several campaigns tells of the records of one."""
    records = analysis.evidence.records
    return RecordsOf(analysis.campaign, len(records), records_digest(records))


def campaigns(rests_on: Iterable[RecordsOf]) -> Html:
    """Campaigns that a page rests on, a row each."""
    rows = [(each.campaign, str(each.count), each.digest) for each in rests_on]
    if not rows:
        return paragraph(tr("This page rests on no record."), "missing")
    words = tr("Campaigns that this page rests on, each with the digest of all its records.")
    return table((tr("campaign"), tr("records"), tr("digest of all of them")), rows, words)


def records_digest(records: Iterable[Record]) -> str:
    """One digest of records, which tells whether two reports rest on the same ones."""
    return digest_of(record.digest for record in records)


def digest_of(digests: Iterable[str]) -> str:
    """One digest of the digests of records, whatever their order."""
    return digest(sorted(digests))


def _suite_table(findings: list[Finding]) -> Html:
    """A row for each case and platform, a column for each round."""
    cells = {(f.case, f.platform, f.round): _shown(f) for f in findings}
    rounds = sorted({f.round for f in findings})
    places = dict.fromkeys((f.case, f.platform) for f in findings)
    rows = [(*place, *(cells[*place, round_] for round_ in rounds)) for place in places]
    heads = (tr("case"), tr("platform"), *(tr("round {n}", n=round_) for round_ in rounds))
    words = tr(
        "Records of suite {suite}: first {digits} digits of the digest that each carries.",
        suite=findings[0].suite,
        digits=DIGEST_DIGITS,
    )
    return table(heads, rows, words)


def _shown(finding: Finding) -> str:
    if finding.standing in READABLE and finding.digest:
        return finding.digest[:DIGEST_DIGITS]
    return tr(_ABSENT.get(finding.standing, finding.standing))

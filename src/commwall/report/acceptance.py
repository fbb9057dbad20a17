"""The page of a hand-over: expected against found, and every verdict behind it, in one file.

Layer: report. Reads the files that are judged, `config/acceptance.yaml` and the facts; the page is
written by who asks for it. It holds no script and loads nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from commwall.judge.acceptance import checks
from commwall.judge.facts import facts_root, read_facts
from commwall.judge.finding import WORDS, Evidence, Finding
from commwall.judge.handover import OUTCOMES, Case, Check, Expectations, summary
from commwall.judge.rules import judge
from commwall.judge.scene import Pasted, Scene, paste
from commwall.language.translate import ENGLISH, clauses, listed, speak, spoken, tr, tr_later
from commwall.readers.decoding import decoded
from commwall.readers.refusal import Unreadable
from commwall.report.html import (
    Group,
    Html,
    bullets,
    folded,
    grouped_table,
    heading,
    joined,
    paragraph,
)
from commwall.schema.errors import ConfigError
from commwall.schema.parsing import parse_model, parse_yaml

EXPECTATIONS = Path("config/acceptance.yaml")
TITLE = tr_later("Acceptance of a machine")
_CSS = Path(__file__).with_name("templates") / "page.css"
_OWN_CSS = """
td { overflow-wrap: anywhere; min-width: 3.5rem; }
tr.fail td:nth-child(2), tr.fault td:nth-child(1) { color: #a30000; font-weight: 600; }
tr.open td, tr.open th { color: var(--muted); font-weight: 400; }
@media print { @page { size: landscape; margin: 1cm; } }
"""
"""Evidence has words without blanks; what fails is red and says so in words."""
_WORDS = {
    "pass": tr_later("It is what was expected."),
    "warn": tr_later("Nothing fails; some values lie in doubt."),
    "fail": tr_later("It is not what was expected."),
    "open": tr_later("Nothing fails so far; some checks are not shown by these files."),
}


@dataclass(frozen=True)
class HandOver:
    """A judged machine."""

    scene: Scene
    findings: tuple[Finding, ...]
    checks: tuple[Check, ...]


def read_expectations(path: Path) -> Expectations:
    """Read what is expected.

    Raises:
        ConfigError: if the file is absent or malformed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            "cannot read expectations",
            where=str(path),
            found=str(error),
            expected=f"a YAML file such as {EXPECTATIONS}",
            next_step=f"copy {EXPECTATIONS} and fill in the order",
        ) from error
    content = parse_yaml(text, str(path))
    return parse_model(Expectations, {} if content is None else content, str(path))


def hand_over(scene: Scene, wanted: Expectations, more: Iterable[Check] = ()) -> HandOver:
    """Judge a machine and set it against what was expected.

    Args:
        scene: its files.
        wanted: what was expected.
        more: checks that others made.
    """
    findings = judge(scene)
    return HandOver(scene, findings, (*checks(Case(scene, wanted, findings)), *more))


def open_files(
    names: Sequence[str], expect: str | None, root: str = ".", language: str | None = None
) -> HandOver:
    """A hand-over from files, for a notebook, which writes from now on in a language.

    Args:
        names: paths of the files.
        expect: path of the expectations; None takes those of the checkout.
        root: the checkout.
        language: one of `LANGUAGES`; None is English.

    Raises:
        LanguageError: if there is no such language.
        ConfigError: if facts or expectations cannot be read.
        OSError: if a file cannot be read.
    """
    speak(language or ENGLISH)
    checkout = facts_root(Path(root))
    scene = Scene(tuple(map(_pasted, names)), read_facts(checkout))
    return hand_over(scene, read_expectations(Path(expect) if expect else checkout / EXPECTATIONS))


def _pasted(name: str) -> Pasted:
    try:
        return paste(Path(name).name, decoded(Path(name).read_bytes()))
    except Unreadable as refusal:
        return Pasted(Path(name).name, "", (), refusal.reason)


def headline(found: HandOver) -> Html:
    """The result in one card."""
    outcome, counts = summary(found.checks)
    words = {"outcome": tr(OUTCOMES[outcome]).upper(), "meaning": tr(_WORDS[outcome])}
    verdict, counted = tr("{outcome}: {meaning}", **words), tr("{clauses}.", clauses=counts)
    return joined([paragraph(verdict, "verdict"), paragraph(counted)], "card")


def table_of_checks(found: HandOver) -> Html:
    """Expected against found."""
    rows = [
        (
            one.outcome,
            (
                one.item,
                tr(OUTCOMES[one.outcome]),
                one.expected,
                one.found,
                one.reason,
                _lines(one.evidence),
            ),
        )
        for one in found.checks
    ]
    return grouped_table(
        (
            tr("check"),
            tr("outcome"),
            tr("expected"),
            tr("found"),
            tr("why, or the command that shows it"),
            tr("shown by"),
        ),
        [Group("", rows)],
        tr("Expected against found. open: these files do not show it; the command beside it does."),
    )


def table_of_findings(found: HandOver) -> Html:
    """Every verdict with its evidence."""
    rows = [
        (
            one.level,
            (
                tr(WORDS[one.level]),
                one.verdict,
                one.means,
                one.next_step or "",
                _lines(one.evidence),
            ),
        )
        for one in found.findings
    ]
    return grouped_table(
        (tr("level"), tr("verdict"), tr("what it means"), tr("next"), tr("shown by")),
        [Group("", rows)],
        tr("All verdicts"),
    )


def limits(found: HandOver) -> Html:
    """What such a hand-over does not show."""
    refused = [
        tr("not read: {file} ({reason})", file=Path(one.name).name, reason=one.refused)
        for one in found.scene.pasted
        if one.refused
    ]
    files = listed(Path(one.name).name for one in found.scene.pasted)
    sources = sorted({source for one in found.findings for source in one.sources})
    return joined(
        [
            heading(tr("What this does not show")),
            bullets(
                [
                    tr(
                        "It judges the moment at which the files were made, not how the machine "
                        "behaves after hours under load."
                    ),
                    tr(
                        "Expected values that the order does not state are those of the facts on "
                        "file for the model of GPU."
                    ),
                    tr("A file shows what was pasted; who wrote it is not proven."),
                    *refused,
                ]
            ),
            paragraph(tr("Files: {files}.", files=files), "muted"),
            folded(tr("Sources of figures"), bullets(sources)),
        ]
    )


def page_of(found: HandOver) -> str:
    """The whole page, self-contained."""
    body = joined(
        [
            headline(found),
            table_of_checks(found),
            folded(tr("Every verdict, with its lines"), table_of_findings(found)),
            limits(found),
        ]
    )
    title = escape(tr(TITLE))
    return (
        f'<!DOCTYPE html>\n<html lang="{spoken()}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">\n"
        f"<title>{title}</title>\n<style>{_CSS.read_text(encoding='utf-8')}{_OWN_CSS}</style>\n</head>\n"
        f"<body>\n<main>\n<h1>{title}</h1>\n{body.markup}\n</main>\n</body>\n</html>\n"
    )


def _lines(evidence: Sequence[Evidence]) -> str:
    return clauses(
        f"{Path(one.file).name}:{one.line}: {one.text}"
        if one.line
        else f"{Path(one.file).name}: {one.text}"
        for one in evidence[:2]
    )

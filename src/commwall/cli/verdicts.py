"""What `commwall compare CAMPAIGN` prints.

Layer: cli. Reads the campaign's records as they are now; writes no file.
"""

import argparse
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from commwall.analysis.gaps import GapLine, Kind
from commwall.analysis.result import Analysis, analyse_campaign
from commwall.analysis.verdicts.decompose import Decomposition, Undecomposed
from commwall.analysis.verdicts.judging import Verdict
from commwall.analysis.verdicts.wording import (
    decomposition_text,
    noise_text,
    ratio_text,
    sentence,
    spread_text,
    values_text,
)
from commwall.cli.parent import EXIT_UNREADABLE
from commwall.cli.settings import confidence_level
from commwall.records.admit import cause_of
from commwall.records.layout import Layout
from commwall.schema.case import SuiteName

FOLDED: tuple[Kind, ...] = ("mark", "value")
"""Kinds of gaps that keep no record out of a verdict."""


def run(arguments: argparse.Namespace) -> int:
    """Print each verdict with its ratio, noise floor and spread, then what is missing."""
    root = Path.cwd()
    analysis = analyse_campaign(Layout(root), arguments.campaign, confidence_level(root))
    print(f"{arguments.campaign}: {analysis.evidence.index.title}")
    for verdict in analysis.verdicts if arguments.all else analysis.primary:
        _print_verdict(verdict, analysis)
    for part in analysis.decompositions:
        _print_decomposition(part, analysis)
    for line in gap_lines(analysis.gaps, () if arguments.all else FOLDED):
        print(f"  {line}")
    if analysis.evidence.index.unreadable:
        return EXIT_UNREADABLE
    if not any(verdict.ratio for verdict in analysis.primary):
        print("  no verdict yet: no round has usable records of both sides of a comparison")
    return 0


def gap_lines(gaps: Iterable[GapLine], folded: Collection[Kind]) -> Iterator[str]:
    """What is missing; of folded kinds the first of those that begin alike, and how many more."""
    alike: dict[tuple[Kind, SuiteName | None, str], list[GapLine]] = {}
    for gap in gaps:
        what = cause_of(gap.reason) if gap.kind in folded else str(gap)
        alike.setdefault((gap.kind, gap.suite, what), []).append(gap)
    for first, *others in alike.values():
        more = f" [and {len(others)} more alike: --all]" if others else ""
        yield f"{first.kind:<9} {first}{more}"


def _print_verdict(verdict: Verdict, analysis: Analysis) -> None:
    names = analysis.names
    print(f"\n{verdict.case}, {verdict.quantity.label}: {sentence(verdict, names)}")
    if verdict.ratio:
        print(f"  ratio     {ratio_text(verdict)}")
        print(f"  values    {values_text(verdict, names)}")
        print(f"  noise     {noise_text(verdict)}")
        spread = spread_text(verdict, names)
        if spread:
            print(f"  spread    {spread}")


def _print_decomposition(part: Decomposition | Undecomposed, analysis: Analysis) -> None:
    sides = f"{analysis.names[part.comparison.a]} / {analysis.names[part.comparison.b]}"
    print(f"\n{part.case}, {sides}: {decomposition_text(part)}")

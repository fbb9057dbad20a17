"""What `commwall compare CAMPAIGN OTHER` prints, and the exit code that it gives to a script.

Layer: cli. Reads the records of both campaigns as they are now; writes no file.
"""

import argparse
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from commwall.analysis.changes.judging import compare_campaigns
from commwall.analysis.changes.words import (
    cell_text,
    headline_text,
    noise_text,
    not_covered_lines,
    outcome_text,
    told_text,
)
from commwall.analysis.result import Analysis, analyse
from commwall.cli.settings import confidence_level
from commwall.records.evidence import look_at
from commwall.records.hardware import read_hardware
from commwall.records.layout import Layout
from commwall.schema.change import CampaignChange, ChangedCell
from commwall.schema.errors import PlanError

EXIT_SLOWER = 1
EXIT_NOTHING_COMPARED = 3
MOST_ALIKE = 3
"""Cells that are missing for one reason: beyond so many they are counted."""


def run(arguments: argparse.Namespace) -> int:
    """Print what has changed.

    Returns:
        0 if nothing is shown to be slower by more than the tolerance, 1 if something is, 3 if
        nothing could be compared. Asked to be strict, 1 unless every value is shown not to be.

    Raises:
        PlanError: if a campaign is not here, cannot be read or has no records, or both are one.
    """
    before, after = arguments.campaign, arguments.other
    if before == after:
        raise PlanError(
            "a campaign has not changed against itself",
            where=f"results/{before}",
            found=f"{before} twice",
            expected="two campaigns",
        )
    layout = Layout(Path.cwd())
    change = compare_campaigns(
        _analysis(layout, before), _analysis(layout, after), arguments.tolerance
    )
    if arguments.json:
        print(change.model_dump_json(indent=1))
    else:
        _print(change, everything=arguments.all)
    if not change.judged:
        return EXIT_NOTHING_COMPARED
    failed = not change.ruled_out if arguments.strict else bool(change.slower)
    return EXIT_SLOWER if failed else 0


def _analysis(layout: Layout, campaign: str) -> Analysis:
    facts = read_hardware(layout.root)
    return analyse(look_at(layout, campaign), confidence_level(layout.root), facts)


def _print(change: CampaignChange, *, everything: bool) -> None:
    print(headline_text(change))
    reasons = Counter(cell.reason for cell in change.cells if cell.outcome == "missing")
    folded = {why: n for why, n in reasons.items() if n > MOST_ALIKE and not everything}
    if sum(folded.values()) < len(change.cells):
        _print_both(change, folded)
    for why, number in folded.items():
        print(f"  {number} cells have no counterpart ({why}); --all lists them")


def _print_both(change: CampaignChange, folded: Collection[str | None]) -> None:
    """What differs, and each cell unless it is missing for a reason that is told once."""
    print("\nwhat differs")
    for told in change.told:
        print(f"  {told_text(told)}")
    if not change.told:
        print("  nothing that records tell")
    _print_cells("values", [cell for cell in change.values if cell.reason not in folded])
    _print_cells("ratios of two platforms", [c for c in change.ratios if c.reason not in folded])
    print()
    for line in not_covered_lines(change):
        print(f"  {line}")


def _print_cells(title: str, cells: Sequence[ChangedCell]) -> None:
    print(f"\n{title}")
    for cell in cells:
        mark = "!" if cell.beyond_tolerance else "?" if cell.left_open else " "
        beside = f"; {noise_text(cell)}" if cell.low is not None else ""
        print(f"{mark} {cell.outcome:<14}  {cell_text(cell)}: {outcome_text(cell)}{beside}")
    if not cells:
        print("  none")

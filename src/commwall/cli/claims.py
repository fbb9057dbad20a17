"""`commwall claims [FILE …]`: judge published claims by rules.

Layer: cli. Reads claims and facts of the checkout; writes none.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path

from commwall.analysis.result import Analysis, analyse_campaigns
from commwall.claims.factbook import FactBook, read_factbook
from commwall.claims.files import loaded, shipped
from commwall.claims.judging import WORDS, Judged, count, judge
from commwall.claims.measured import Beside, beside
from commwall.claims.scene import scene_of
from commwall.cli.settings import confidence_level
from commwall.judge.facts import facts_root
from commwall.records.layout import Layout
from commwall.schema.claims import ClaimsFile
from commwall.schema.errors import ConfigError


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE", type=Path,
        help="default: all of config/facts/claims",
    )  # fmt: skip
    parser.add_argument("--id", metavar="CLAIM", help="only this one")
    parser.add_argument("--brief", action="store_true", help="verdicts only")


def run(arguments: argparse.Namespace) -> int:
    """Print each claim with its verdict and what led to it, then the number of each verdict."""
    root = facts_root(Path.cwd())
    book = read_factbook(root)
    files = loaded(tuple(arguments.files) or shipped(root), book)
    judged = {path: _of_file(file, arguments.id, book) for path, file in files.items()}
    everything = [each for own in judged.values() for each in own]
    if not everything:
        raise ConfigError(
            "no claim to judge", found=arguments.id or "no file in config/facts/claims"
        )
    wanted = any(each.claim.measured for each in everything) and not arguments.brief
    measured = _measured(root, judged.values(), book) if wanted else []
    for path, own in judged.items():
        if own:
            print(f"\n{path.name}: {files[path].title}")
        for each in own:
            _print(each, brief=arguments.brief)
            if each.claim.measured and not arguments.brief:
                _print_measured(each, measured)
    print()
    for outcome, number in count(everything).items():
        print(f"{number:5} {WORDS[outcome]}")
    return 0


def _of_file(file: ClaimsFile, wanted: str | None, book: FactBook) -> list[Judged]:
    return [judge(claim, book) for claim in file.claims if wanted in (None, claim.id)]


def _measured(root: Path, judged: Iterable[list[Judged]], book: FactBook) -> list[Beside]:
    """What campaigns have measured of all claims; one that cannot be read is told by other verbs.

    One campaign is held in memory at a time.
    """
    layout, found = Layout(root), list[Beside]()
    claims = [each.claim for own in judged for each in own if each.claim.measured]
    for analysis in analyse_campaigns(layout, confidence_level(root)):
        if isinstance(analysis, Analysis):
            for claim in claims:
                found += beside(claim, scene_of(claim, book), analysis)
    return found


def _print_measured(judged: Judged, measured: list[Beside]) -> None:
    for each in measured:
        if each.claim == judged.claim.id:
            where = f"{each.platform} of {each.campaign}"
            print(f"{'':6}{'measured':20} {each.what}, {where}: {each.measured}")


def _print(judged: Judged, *, brief: bool) -> None:
    print(f"  {WORDS[judged.verdict]:22} {judged.claim.id}: {judged.claim.says}")
    if brief:
        return
    for finding in judged.findings:
        print(f"{'':6}{WORDS[finding.outcome]:20} {finding.words}")
    for value in judged.values:
        print(f"{'':6}{'for comparison':20} {value.words}: {value.text}")
    for source in judged.sources:
        print(f"{'':6}{'source':20} {source}")

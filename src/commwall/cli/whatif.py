"""`commwall whatif MODEL --gpu KIND --gpus N`: a step of a model on GPUs and links not measured.

Layer: cli. Reads the facts of the checkout, and a campaign where one is named; writes nothing.
"""

import argparse
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from commwall.analysis.result import Analysis, analyse
from commwall.analysis.whatif.answers import Question, answer, at_scale, fastest_ways
from commwall.analysis.whatif.asking import Words, question_of
from commwall.analysis.whatif.assumptions import Facts, read_assumptions
from commwall.analysis.whatif.calibration import calibrate
from commwall.analysis.whatif.curve import curve_lines
from commwall.analysis.whatif.offers import FORMS
from commwall.analysis.whatif.premises import premise_lines
from commwall.analysis.whatif.words import (
    Line,
    answer_lines,
    gain_lines,
    heading,
    origin_lines,
    scale_rows,
    way_rows,
)
from commwall.cli.settings import confidence_level
from commwall.judge.facts import facts_root
from commwall.model.layout import Schedule
from commwall.model.memory import Zero
from commwall.model.workload import Recompute
from commwall.records.evidence import look_at
from commwall.records.layout import Layout
from commwall.schema.errors import ConfigError
from commwall.schema.facts import HardwareFacts

COUNTS = {"": 1, "k": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12}
BEST = "best"
_WIDTH = 110
_INDENT = 6


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    _configure_model(parser)
    machine = parser.add_argument_group("machine")
    machine.add_argument("--gpu", required=True, metavar="KIND", help="h200, a100-sxm-80gb, …")
    machine.add_argument(
        "--gpus", type=_counts, default=(1,), metavar="N[,N…]",
        help="how many in all; of several numbers the first is told in full, all in a table",
    )  # fmt: skip
    machine.add_argument("--gpus-per-node", type=_whole, metavar="N", help="default: what NVLink "
                         "joins, at least 8")  # fmt: skip
    machine.add_argument(
        "--link", action="extend", type=_words, default=[], metavar="LINK[,LINK…]",
        help=f"inside a node, to be compared: {FORMS}, or a platform of the campaign",
    )  # fmt: skip
    machine.add_argument("--network", default=Words.network, metavar="LINK", help="between nodes, "
                         "one port a GPU (default: %(default)s)")  # fmt: skip
    machine.add_argument(
        "--strategy", default=Words.strategy, metavar="HOW",
        help="data, tensor, pipeline, expert, degrees such as tensor=8,pipeline=4, or best "
        "(default: %(default)s)",
    )  # fmt: skip
    machine.add_argument(
        "--zero", type=int, choices=get_args(Zero), default=0, help="stage of ZeRO"
    )
    machine.add_argument(
        "--whole-gradients", action="store_true",
        help="with ZeRO stage 2 or 3: kept whole between micro-batches, scattered once",
    )  # fmt: skip
    machine.add_argument(
        "--schedule", choices=get_args(Schedule), default=Words.schedule, help="of pipelines"
    )
    machine.add_argument("--mfu", type=_range, metavar="LOW[-HIGH]", help="0.3-0.45, say")
    machine.add_argument("--campaign", help="start from what this one measured")
    machine.add_argument("--case", metavar="CASE", help="of its training cases only this one")


def _configure_model(parser: argparse.ArgumentParser) -> None:
    model = parser.add_argument_group("model")
    parser.add_argument("model", nargs="?", help="by name; config/facts/presets.yaml lists them")
    model.add_argument("--params", type=_count, metavar="N", help="parameters: 7e9, 7B")
    for name, words in (
        ("layers", "default: of a decoder of this size"),
        ("hidden", "width; default: of a decoder of this size"),
        ("heads", "of the attention; default: one for each 64 of the width"),
        ("sequence", "tokens of a sample"),
    ):
        model.add_argument(f"--{name}", type=_whole, metavar="N", help=words)
    model.add_argument("--batch", type=_whole, metavar="N", help="samples of a step for each GPU")
    model.add_argument("--micro-batch", type=_whole, metavar="N", help="samples at a time")
    model.add_argument("--gradient-bytes", type=int, choices=(2, 4), help="of each gradient sent")
    model.add_argument("--recompute", choices=get_args(Recompute), help="of activations")


def run(arguments: argparse.Namespace) -> int:
    """Print the answer, each line with its label and what it rests on."""
    root = facts_root(Path.cwd())
    facts = read_assumptions(root)
    analysis = _analysis(arguments.campaign, arguments.case, facts)
    measured = calibrate(analysis, arguments.case) if analysis else None
    best = arguments.strategy == BEST
    words = _said(arguments, "data" if best else arguments.strategy)
    question = question_of(words, facts, measured)
    if best:
        for count in arguments.gpus:
            _print_ways(replace(question, layout=replace(question.layout, data=count)))
        print()
        _print_lines(premise_lines(question))
        return 0
    found = answer(question)
    print(heading(question))
    for line in origin_lines(question, measured, arguments.model):
        print(line)
    print()
    _print_lines(gain_lines(found))
    if analysis and measured and measured.is_of(question.kind, facts):
        _print_lines(curve_lines(analysis, found))
    _print_lines([*answer_lines(found), *premise_lines(question)])
    if len(arguments.gpus) > 1:
        _print_scale(question, arguments.gpus)
    return 0


def _said(arguments: argparse.Namespace, strategy: str) -> Words:
    names = Words.__dataclass_fields__.keys() & vars(arguments).keys()
    said = {name: getattr(arguments, name) for name in names}
    return Words(
        **said | {"gpus": arguments.gpus[0], "links": arguments.link, "strategy": strategy}
    )


def _analysis(campaign: str | None, case: str | None, facts: Facts) -> Analysis | None:
    """A campaign of the checkout at hand; None if none is named."""
    if campaign is None:
        if case is not None:
            raise ConfigError(
                "a case of no campaign",
                where="--case",
                found=case,
                expected="the campaign that measured it",
                next_step=f"name it: --campaign NAME --case {case}",
            )
        return None
    root = Path.cwd()
    hardware = HardwareFacts(gpus=facts.gpus, links=facts.links.links)
    evidence = look_at(Layout(root), campaign)
    return analyse(evidence, confidence_level(root), hardware)


def _print_lines(lines: Iterable[Line]) -> None:
    for line in lines:
        print(f"{line.what:44} {line.value:32} {line.origin}")
        told = textwrap.fill(line.basis, _WIDTH, initial_indent=" " * _INDENT,
                             subsequent_indent=" " * _INDENT)  # fmt: skip
        print(told)


def _print_scale(question: Question, counts: Sequence[int]) -> None:
    names = [link.name for link in question.links]
    print("\nWith more GPUs, each with the same batch (modelled):")
    for row in (
        ("GPUs", *names, "over the fastest"),
        *scale_rows(at_scale(question, tuple(counts))),
    ):
        print("  ".join(f"{cell:>24}" for cell in row))


def _print_ways(question: Question) -> None:
    """The fastest layouts over each link."""
    print(f"\n{question.title} on {question.gpus} {question.kind}, all layouts tried (modelled)")
    for link in question.links:
        print(f"{link.name}, {question.network.name} between nodes of {question.gpus_per_node}:")
        rows = list(way_rows(fastest_ways(question, link)))
        for layout, step, memory in rows:
            print(f"  {layout:56} {step:24} {memory}")
        if not rows:
            print("  no layout fits into the memory of these GPUs")


def _counts(text: str) -> tuple[int, ...]:
    return tuple(_whole(part) for part in text.split(","))


def _words(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _whole(text: str) -> int:
    number = _count(text)
    if number != int(number):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(number)


def _count(text: str) -> float:
    """A number above 0, with k, M, B or T for powers of a thousand."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?(?:e\+?\d{1,2})?)([kMBGT]?)", text.strip())
    number = float(found[1]) * COUNTS[found[2]] if found else 0.0
    if not 0 < number < 1e15:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0 such as 8, 7e9 or 7B")
    return number


def _range(text: str) -> tuple[float, float]:
    """One share, or two with a hyphen between."""
    found = re.fullmatch(r"(0?\.\d+|1(?:\.0+)?)(?:-(0?\.\d+|1(?:\.0+)?))?", text.strip())
    low, high = (float(found[1]), float(found[2] or found[1])) if found else (0.0, 0.0)
    if not 0 < low <= high <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share such as 0.4 or 0.3-0.45")
    return low, high

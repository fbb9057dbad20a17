"""`commwall cost`: whether the faster link is worth its price, by a scenario's assumptions.

Layer: cli. Reads assumptions, facts and records of the checkout; writes none.
"""

import argparse
from pathlib import Path

from commwall.analysis.money.answers import Money, money_of_campaign, money_of_scenario
from commwall.analysis.result import analyse_campaign
from commwall.cli.settings import confidence_level
from commwall.economics.costs import Cost, NoCost, costs
from commwall.economics.files import home_of, shipped
from commwall.economics.judging import Judged
from commwall.economics.wording import (
    break_even_text,
    cost_texts,
    driver_text,
    flips_head,
    flips_text,
    gain_text,
    left_out,
    range_text,
    sentence,
    solved_text,
)
from commwall.records.layout import Layout
from commwall.schema.errors import ConfigError


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument(
        "--scenario", metavar="NAME|FILE",
        help="of config/scenarios, or a file of your own; default: config/economics.yaml",
    )  # fmt: skip
    parser.add_argument("--campaign", help="whose measured gains are judged")
    parser.add_argument("--a", metavar="PLATFORM", help="with the faster link, beside --b")
    parser.add_argument("--b", metavar="PLATFORM", help="with the slower link, beside --a")
    parser.add_argument("--brief", action="store_true", help="verdicts only")


def run(arguments: argparse.Namespace) -> int:
    """Print the verdicts, what drives and flips them, costs, and what they rest on."""
    root, confidence = Path.cwd(), confidence_level(Path.cwd())
    for money in _money(arguments, root, confidence):
        _print(money, confidence, brief=arguments.brief)
    return 0


def _money(arguments: argparse.Namespace, root: Path, confidence: float) -> tuple[Money, ...]:
    sides = (arguments.a, arguments.b)
    if (None in sides) != (sides == (None, None)) or (arguments.a and not arguments.campaign):
        raise ConfigError("--a and --b go together, and with --campaign")
    home = home_of(root)
    if not arguments.campaign and not arguments.scenario:
        raise _nothing_named(home, Layout(root))
    if not arguments.campaign:
        return (money_of_scenario(home, confidence, arguments.scenario),)
    analysis = analyse_campaign(Layout(root), arguments.campaign, confidence)
    one = None if arguments.a is None else (arguments.a, arguments.b)
    return money_of_campaign(home, analysis, arguments.scenario, one)


def _nothing_named(home: Path, layout: Layout) -> ConfigError:
    campaigns = ", ".join(layout.campaigns()) or "none yet"
    scenarios = ", ".join(shipped(home))
    return ConfigError(
        "neither a campaign nor a scenario is named, so there is no gain to judge",
        expected=f"--campaign, one of: {campaigns}; or --scenario, one of: {scenarios}",
    )


def _print(money: Money, confidence: float, *, brief: bool) -> None:
    print(f"\n{money.sides}\n  scenario   {money.scenario.title}")
    print(f"  stands for {money.scenario.difference}")
    if money.refusal:
        print(f"  no verdict: {money.refusal}")
        return
    for judged in money.judged:
        _print_subject(judged, confidence, brief=brief)
    for name, why in money.absent.items():
        print(f"\n{name}: no gain, {why}")
    if money.no_mix:
        print(f"\nmix: no verdict, {money.no_mix}")
    if not brief:
        _print_assumptions(money, confidence)


def _print_subject(judged: Judged, confidence: float, *, brief: bool) -> None:
    print(f"\n{judged.subject.name}: speed-up {gain_text(judged, confidence)}")
    for answer in judged.answers:
        print(f"  {sentence(judged, answer)}")
        if answer.result and not brief:
            print(f"    driver   {driver_text(judged, answer)}")
        if (answer.result or answer.flips) and not brief:
            print(f"    {flips_head(answer)}: {flips_text(answer)}")
    if brief:
        return
    for words in (solved_text(judged), break_even_text(judged)):
        if words:
            print(f"  {words}")
    for cost in costs(judged, confidence):
        _print_cost(cost)
    for line in left_out(judged.middle):
        print(f"  not in it  {line}")


def _print_cost(cost: Cost | NoCost) -> None:
    if isinstance(cost, NoCost):
        print(f"  {cost.what:32} none: {cost.reason}")
        return
    a, b, ratio = cost_texts(cost)
    print(f"  {cost.what:32} faster link {a}, other {b}, ratio {ratio}")


def _print_assumptions(money: Money, confidence: float) -> None:
    print("\nassumptions")
    for entry in money.scenario.entries.values():
        print(f"  {entry.asked.words}: {range_text(entry, confidence)}")
        print(f"  {'':10} {entry.source} ({entry.date})")

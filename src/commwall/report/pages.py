"""Which pages a campaign has: the one list that workflow, landing page and tests read.

Layer: report. Reads and writes no file, and imports nothing that draws: the Snakefile reads it.
"""

from typing import NamedTuple

from commwall.language.translate import tr_later
from commwall.schema.case import SuiteName


class PageKind(NamedTuple):
    """One notebook of the folder `notebooks`."""

    title: str
    """Words of the landing page, in English."""
    suite: SuiteName | None
    """Suite it is about; None if it is about the campaign as a whole."""
    reads: tuple[str, ...] = ()
    """What it reads besides records, tables, facts and code."""
    of_ladders: bool = False
    """True if it is about links that are measured with several numbers of processes."""


DECISION = "decision"
"""The page that also exists as a sheet to print."""

PAGES = {
    DECISION: PageKind(
        tr_later("Decision report: the whole answer on one page, for those who buy or rent"),
        None,
        reads=("config/economics.yaml", "src/commwall/report/templates/decision.typ"),
    ),
    "summary": PageKind(tr_later("Summary: every verdict, ratio and interval"), None),
    "throughput": PageKind(tr_later("Throughput: where the step's time goes"), "training"),
    "scaling": PageKind(
        tr_later("Scaling: what more GPUs on one link bring"), "training", of_ladders=True
    ),
    "breakeven": PageKind(
        tr_later("Break-even: when the faster link pays, for your model too"), "training"
    ),
    "prediction": PageKind(
        tr_later("Prediction: steps on a link that was not trained on"), "training"
    ),
    "energy": PageKind(tr_later("Energy: samples per watt-hour, power, utilisation"), "training"),
    "money": PageKind(
        tr_later("Money: is the faster link worth its price, and what turns that"),
        "training",
        reads=("config/economics.yaml",),
    ),
    "collectives": PageKind(
        tr_later("Collectives: bus bandwidth over message size"), "collectives"
    ),
    "memory": PageKind(
        tr_later("Memory bandwidth: on the device, to the host, between devices"), "memory"
    ),
    "strategies": PageKind(
        tr_later("Parallel strategies: step time, bytes against formulas"), "strategies"
    ),
    "inference": PageKind(
        tr_later("Inference: tokens per second, share of the memory bound"), "inference"
    ),
    "mitigations": PageKind(
        tr_later("Mitigations: what software wins back, and its price"), "mitigations"
    ),
    "platforms": PageKind(tr_later("Platforms: machine, links, software, treatments"), None),
    "method": PageKind(
        tr_later("Method: how these numbers were made, and which were refused"), None
    ),
}
"""Notebook -> what it is, in reading order."""

GENERAL_PAGES = {
    "claims": PageKind(tr_later("Published claims: what articles say, judged by rules"), None),
    "trends": PageKind(
        tr_later("Trends: what several campaigns measured, over dates and versions"), None
    ),
}
"""Notebook -> what it is, of pages that belong to no campaign."""

APART = ("acceptance",)
"""Notebooks that are about no campaign, so that no workflow renders them."""


def pages_for(suites: set[SuiteName], *, several_sizes: bool = False) -> tuple[str, ...]:
    """Pages of a campaign with these suites, in reading order.

    Args:
        suites: of the campaign.
        several_sizes: whether a link is measured with several numbers of processes.
    """
    return tuple(
        name
        for name, kind in PAGES.items()
        if kind.suite in (None, *suites) and several_sizes >= kind.of_ladders
    )

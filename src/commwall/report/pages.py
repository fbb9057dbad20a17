"""Which pages a campaign has: the one list that workflow, landing page and tests read.

Layer: report. Reads and writes no file, and imports nothing that draws: the Snakefile reads it.
"""

from typing import NamedTuple

from commwall.schema.case import SuiteName


class PageKind(NamedTuple):
    """One notebook of the folder `notebooks`."""

    title: str
    """Words of the landing page."""
    suite: SuiteName | None
    """Suite it is about; None if it is about the campaign as a whole."""
    reads: tuple[str, ...] = ()
    """What it reads besides records, tables, facts and code."""
    of_ladders: bool = False
    """True if it is about links that are measured with several numbers of processes."""


PAGES = {
    "summary": PageKind("Summary: every verdict, ratio and interval", None),
    "throughput": PageKind("Throughput: where the step's time goes", "training"),
    "scaling": PageKind("Scaling: what more GPUs on one link bring", "training", of_ladders=True),
    "breakeven": PageKind("Break-even: when the faster link pays, for your model too", "training"),
    "prediction": PageKind("Prediction: steps on a link that was not trained on", "training"),
    "energy": PageKind("Energy: samples per watt-hour, power, utilisation", "training"),
    "money": PageKind(
        "Money: is the faster link worth its price, and what turns that",
        "training",
        reads=("config/economics.yaml",),
    ),
    "collectives": PageKind("Collectives: bus bandwidth over message size", "collectives"),
    "memory": PageKind("Memory bandwidth: on the device, to the host, between devices", "memory"),
    "strategies": PageKind("Parallel strategies: step time, bytes against formulas", "strategies"),
    "inference": PageKind("Inference: tokens per second, share of the memory bound", "inference"),
    "mitigations": PageKind("Mitigations: what software wins back, and its price", "mitigations"),
    "platforms": PageKind("Platforms: machine, links, software, treatments", None),
    "method": PageKind("Method: how these numbers were made, and which were refused", None),
}
"""Notebook -> what it is, in reading order."""

GENERAL_PAGES = {
    "claims": PageKind("Published claims: what articles say, judged by rules", None),
    "trends": PageKind("Trends: what several campaigns measured, over dates and versions", None),
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

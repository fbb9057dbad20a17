"""How steps are predicted, in words, and what predictions do not cover.

Layer: report. Reads and writes no file.
"""

from commwall.language.translate import tr, tr_later
from commwall.report.html import Html, bullets
from commwall.report.page import Page

RULE = (
    tr_later(
        "A step has two streams. Compute goes on as it does without exchange (leg packed); each "
        "gradient bucket is exchanged once it is ready and the one before is through; the "
        "optimiser waits for both."
    ),
    tr_later(
        "An exchange takes what the link's sweep says for its size, each time read between the "
        "sizes that were measured."
    ),
    tr_later(
        "While both streams work, each slows the other: as much as exchange and matrix products "
        "slow each other on that link, times the sensitivity of the workload. Its drag is the "
        "share by which the exchange takes longer beyond that."
    ),
    tr_later(
        "Sensitivity and drag are estimated together on the source, where the whole step was "
        "measured. Each leaves what is usual as far as that step depends on it: one that waits for "
        "its exchange tells drag, one that hides it both alike, one whose exchange is short "
        "little. What of the source's step is then left is carried over in seconds."
    ),
    tr_later(
        "Of the target only sweeps of the all-reduce are used. The interval comes from the "
        "source's rounds and from how far off the predictions of other cases were; the step itself "
        "stays out."
    ),
)
NOT_SHOWN = (
    tr_later("Another number of GPUs, other GPUs, another machine: compute is the source's own."),
    tr_later(
        "Another batch without its compute legs: they have to be measured. What one batch tells of "
        "another is what exchange and compute cost each other."
    ),
    tr_later("Smaller buckets: when a part of a bucket was ready was not measured."),
    tr_later(
        "Published rows of several GPUs: they tell samples per second, not when gradients are "
        "ready, what packing costs, or what exchange and compute take from each other."
    ),
    tr_later(
        "A power limit: a step is predicted at the clocks of the source's short legs. Where a GPU "
        "lowers them in leg full, nothing is predicted from that step, and what is predicted there "
        "is shorter than what is measured."
    ),
    tr_later("How an interval holds for a platform that no prediction was held against."),
)


def rule(page: Page) -> Html:
    """How a step is predicted; nothing where no case has what that needs."""
    return bullets(map(tr, RULE)) if (page.tables.step_models["n"] > 0).any() else Html("")


def not_shown() -> Html:
    """What predictions here do not cover."""
    return bullets(map(tr, NOT_SHOWN))

"""The golden campaign, published, and two of its rounds measured again."""

from collections.abc import Callable
from pathlib import Path

from commwall.analysis.replication.predicting import predict
from commwall.analysis.result import Analysis, analyse
from commwall.records.evidence import look_at
from commwall.records.files import write_atomically
from commwall.records.layout import Layout
from commwall.records.predictions import read_predictions, write_predictions
from commwall.records.store import write_record
from commwall.records.texts import model_text
from commwall.schema.plan import Replicated
from commwall.schema.record import Record
from tests.golden.build import CAMPAIGN, CASE, FAST, SLOW, plan, record, write_campaign
from tests.samples import write_index

OWN = "golden-replica"
Change = Callable[[Record], Record]


def looked_at(layout: Layout, campaign: str) -> Analysis:
    """What is there of a campaign now."""
    return analyse(look_at(layout, campaign), 0.95)


def publish(root: Path) -> Layout:
    """The golden campaign with its predictions."""
    layout = write_campaign(root)
    write_predictions(layout, predict(looked_at(layout, CAMPAIGN)))
    return layout


def replicate(layout: Layout, change: Change = lambda r: r, digest: str | None = None) -> None:
    """Two rounds of fast and slow under a name of their own."""
    asked = digest or read_predictions(layout, CAMPAIGN).digest
    base = plan(2)
    suite = base.suites[0].model_copy(
        update={
            "platforms": dict.fromkeys((FAST, SLOW), (CASE,)),
            "orders": ((FAST, SLOW), (SLOW, FAST)),
        }
    )
    own = base.model_copy(
        update={
            "id": OWN,
            "suites": (suite,),
            "comparisons": base.comparisons[:1],
            "replicates": Replicated(campaign=CAMPAIGN, predictions=asked),
        }
    )
    write_atomically(layout.plan_path(OWN), model_text(own))
    for name in (FAST, SLOW):
        for round_ in (1, 2):
            made = record(name, round_)
            moved = made.model_copy(update={"id": made.id.model_copy(update={"campaign": OWN})})
            write_record(layout, change(moved))
    write_index(layout, OWN)

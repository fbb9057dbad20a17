"""All readable records of a campaign, as its index lists them.

Layer: records. Reads `index.json`, `plan.json` and the record files the index names.
"""

from dataclasses import dataclass

from commwall.records.index import Index, build_index, read_index
from commwall.records.layout import Layout
from commwall.records.store import read_plan, read_record
from commwall.records.todo import READABLE
from commwall.schema.errors import PlanError
from commwall.schema.plan import Plan
from commwall.schema.record import Record


@dataclass(frozen=True)
class Evidence:
    """What a report is made from."""

    index: Index
    plan: Plan | None
    """None where the plan cannot be read; `index.problems` says why."""
    records: tuple[Record, ...]


def load_evidence(layout: Layout, campaign: str) -> Evidence:
    """Load what the index of a campaign lists as readable.

    Raises:
        PlanError: if there is no such campaign or no index of it.
        ConfigError: if the index is malformed.
        RecordError: if a record changed since the index was made.
    """
    return _evidence(layout, read_index(layout, campaign))


def look_at(layout: Layout, campaign: str) -> Evidence:
    """Load what is there now, whatever an index of an earlier moment lists.

    Raises:
        PlanError: if there is no such campaign.
    """
    return _evidence(layout, build_index(layout, campaign))


def _evidence(layout: Layout, index: Index) -> Evidence:
    campaign = index.campaign
    try:
        plan = read_plan(layout.plan_path(campaign))
    except PlanError:
        return Evidence(index, None, ())
    readable = [finding for finding in index.findings if finding.standing in READABLE]
    records = tuple(read_record(layout.root / finding.path) for finding in readable)
    return Evidence(index, plan, records)

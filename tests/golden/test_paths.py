"""Shares of nominal rates and what devices share: all expectations can be done in the head."""

import re

import pytest

from commwall.analysis.quantities import MEMORY_BANDWIDTH
from commwall.analysis.result import Analysis
from commwall.analysis.tables.breakeven import break_even
from commwall.analysis.tables.census import census_tables
from commwall.analysis.tables.paths import rank_rates, reached, sharing_rows
from commwall.analysis.tables.tidy import Tables
from commwall.analysis.values.cells import Cell
from commwall.analysis.values.derive import derive
from commwall.records.evidence import Evidence
from commwall.records.index import Index
from commwall.report.html import Html
from commwall.report.operations.memory import paths, sharing
from commwall.report.page import Page
from commwall.schema.case import MemoryCase
from commwall.schema.plan import Plan
from commwall.schema.record import Record
from commwall.schema.result import Series
from tests.golden.build import FAST
from tests.golden.operations import operation, plan, record
from tests.unit.test_records_paths import FACTS, gpu

SIZE = 2**30


def copied(case: MemoryCase, name: str, *times_s: float) -> Record:
    """A record of the golden launch on two GPUs, each rank with its time of one copy [s]."""
    golden = record(FAST, "copy", 1)
    series: tuple[Series, ...] = tuple(
        operation("operation_time_s", "s", [t, t, t], SIZE, rank) for rank, t in enumerate(times_s)
    )
    return golden.model_copy(
        update={
            "id": golden.id.model_copy(update={"case": name}),
            "case": case,
            "series": series,
            "platform": golden.platform.model_copy(update={"device": "cuda"}),
            "machine": golden.machine.model_copy(update={"gpus": (gpu(), gpu())}),
        }
    )


def to_device(**fields: object) -> MemoryCase:
    words = {"operation": "host_to_device_pinned", "buffer_bytes": (SIZE,)}
    return MemoryCase.model_validate(words | fields)


TOGETHER = copied(to_device(), "together", SIZE / 16e9, SIZE / 32e9)
ALONE = copied(to_device(ranks="one_at_a_time"), "alone", SIZE / 32e9, SIZE / 32e9)


def test_the_share_of_pcie() -> None:
    # 16 lanes of 4 GB/s; together the slower rank decides
    (slowest,) = reached(TOGETHER, FACTS)
    assert slowest.path.words == "PCIe 5.0 x16"
    assert slowest.nominal_share == pytest.approx(0.25)
    assert [one.nominal_share for one in reached(ALONE, FACTS)] == pytest.approx([0.5, 0.5])


def test_the_share_of_device_memory() -> None:
    case = MemoryCase(operation="copy", buffer_bytes=(SIZE,))
    (found,) = reached(copied(case, "copy", 2 * SIZE / 0.8e12, 2 * SIZE / 0.9e12), FACTS)
    assert found.nominal_share == pytest.approx(0.8)


def test_ranks_that_take_turns_are_told_one_by_one_and_judged_by_the_slowest() -> None:
    uneven = copied(to_device(ranks="one_at_a_time"), "alone", SIZE / 32e9, SIZE / 8e9)
    assert [(one.rank, one.peer) for one in reached(uneven, FACTS)] == [(0, None), (1, None)]
    assert derive(uneven).values[MEMORY_BANDWIDTH] == pytest.approx(8e9)


def test_what_devices_share() -> None:
    rows = list(sharing_rows(analysis_of(TOGETHER, ALONE)))
    assert [(row["rank"], row["case"], row["case_alone"]) for row in rows] == [
        (0, "together", "alone"),
        (1, "together", "alone"),
    ]
    assert [row["together_share"] for row in rows] == pytest.approx([0.5, 1.0])
    assert rank_rates(TOGETHER) == pytest.approx({(0, SIZE): 16e9, (1, SIZE): 32e9})


@pytest.mark.parametrize(
    "other",
    [
        copied(to_device(), "alone", 1.0, 1.0),
        copied(to_device(ranks="one_at_a_time", window_s=9), "alone", 1.0, 1.0),
        copied(to_device(ranks="one_at_a_time", operation="copy"), "alone", 1.0, 1.0),
        ALONE.model_copy(update={"id": ALONE.id.model_copy(update={"round_id": "another"})}),
    ],
)
def test_only_cases_of_one_launch_that_differ_in_turns_are_set_side_by_side(other: Record) -> None:
    assert list(sharing_rows(analysis_of(TOGETHER, other))) == []


def test_the_page_shows_shares_and_what_is_shared() -> None:
    analysis = analysis_of(TOGETHER, ALONE)
    page = Page(analysis, Tables(analysis), census_tables(analysis), break_even(analysis), {})
    shares = text_of(paths(page))
    assert "together, 1 GiB|PCIe 5.0 x16|64.0 GB/s|25.0 %" in shares
    assert "alone, 1 GiB, device 1|PCIe 5.0 x16|64.0 GB/s|50.0 %" in shares
    shared = text_of(sharing(page))
    assert f"together, 1 GiB, device 0|{FAST}|16.0 GB/s|32.0 GB/s|0.500" in shared
    assert f"together, 1 GiB, device 1|{FAST}|32.0 GB/s|32.0 GB/s|1.00" in shared


def text_of(html: Html) -> str:
    """Cells with | between them."""
    return re.sub(r"\|+", "|", re.sub(r"<[^>]+>", "|", html.markup))


def analysis_of(*records: Record) -> Analysis:
    """An analysis that holds these records."""
    cells = tuple(Cell(one, derive(one), ()) for one in records)
    index = Index(campaign="golden-operations", title="t", mine=False)
    evidence = Evidence(index=index, plan=plan_with(records), records=records)
    return Analysis(evidence, 0.95, {}, cells, (), (), (), (), FACTS)


def plan_with(records: tuple[Record, ...]) -> Plan:
    """The golden plan, whose suite memory has the cases of these records as well."""
    cases = {record.id.case: record.case for record in records}
    suites = (
        suite.model_copy(update={"cases": {**suite.cases, **cases}})
        if suite.suite == "memory"
        else suite
        for suite in plan().suites
    )
    return plan().model_copy(update={"suites": tuple(suites)})

"""Latency and rate of links, and what NCCL chose: from golden records."""

import json
from pathlib import Path

import pytest

from commwall.analysis.quantities import EAGER_TIME
from commwall.analysis.result import analyse_campaign
from commwall.analysis.tables.tidy import Tables
from commwall.analysis.values.link_fits import LinkFit, fit_link
from commwall.analysis.values.operations import points
from commwall.records.store import read_record, write_record
from commwall.schema.base import digest
from commwall.schema.case import CollectivesCase
from commwall.schema.record import Record
from commwall.schema.result import NcclChoice
from tests.golden.build import AGAIN, FAST, SLOW
from tests.golden.operations import CAMPAIGN, operation, record, times, write_campaign
from tests.samples import write_index

SIZES = (8, 32, 128)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    layout = write_campaign(tmp_path_factory.mktemp("links"))
    return Tables(analyse_campaign(layout, CAMPAIGN, 0.95))


def on_a_line(latency_s: float, rate: float) -> Record:
    """An all-gather of two ranks, half of whose buffer is on the wire, on a perfect link."""
    golden = record(FAST, "all-gather", 1)
    series = [s for size in SIZES for s in times(latency_s + size / 2 / rate, size)]
    return golden.model_copy(update={"series": tuple(series)})


def test_a_perfect_link_gives_its_latency_and_rate_back() -> None:
    fit = fit_link(on_a_line(0.001, 64_000))
    assert isinstance(fit, LinkFit)
    assert fit.latency_s == pytest.approx(0.001)
    assert fit.bytes_per_s == pytest.approx(64_000)
    assert fit.sizes == SIZES
    assert abs(fit.worst[0]) < 1e-9


def test_a_golden_link_of_1_1_and_4_ms() -> None:
    """Weights 1, 1, 1/16 on 4, 16, 64 byte: slope 9.818 / 248.7 ms/byte, by hand."""
    fit = fit_link(record(FAST, "all-gather", 1))
    assert isinstance(fit, LinkFit)
    assert fit.bytes_per_s == pytest.approx(1000 / 0.039472, rel=1e-3)
    assert fit.latency_s == pytest.approx(0.63159e-3, rel=1e-3)
    assert fit.worst == (pytest.approx(0.2631, abs=1e-3), 32)


def test_sizes_that_the_link_does_not_set_are_left_out() -> None:
    assert fit_link(record(FAST, "all-reduce", 1)) == "fewer than 3 sizes whose time the link sets"


def test_a_table_has_a_row_for_each_platform_and_collective(tables: Tables) -> None:
    links = tables.links.set_index(["case", "platform"])
    assert set(links.index) == {
        (case, name) for case in ("all-reduce", "all-gather") for name in (FAST, AGAIN, SLOW)
    }
    fast, slow = (links.loc[("all-gather", name)] for name in (FAST, SLOW))
    assert (fast["n"], fast["smallest_bytes"], fast["largest_bytes"]) == (3, 8, 128)
    assert fast["link_rate_low_bytes_per_s"] is not None
    assert slow["link_rate_low_bytes_per_s"] < slow["link_rate_bytes_per_s"]
    assert slow["link_rate_bytes_per_s"] < slow["link_rate_high_bytes_per_s"]
    assert slow["link_rate_high_bytes_per_s"] < fast["link_rate_bytes_per_s"]
    # 0.63159 + 64 x 0.039472 = 3.1578 ms for 4 ms
    assert fast["misfit_at_largest_percent"] == pytest.approx(-21.05, abs=0.05)
    refused = links.loc[("all-reduce", FAST)]
    assert refused["n"] == 0 and refused["reason"].startswith("fewer than 3 sizes")
    assert tables.links["link_latency_s"].isna().sum() == 3


def test_equal_rounds_have_no_interval(tables: Tables) -> None:
    fast = tables.links.query("case == 'all-gather' and platform == @FAST").iloc[0]
    assert fast["link_latency_s"] == pytest.approx(0.63159e-3, rel=1e-3)
    assert fast[["link_latency_low_s", "link_rate_high_bytes_per_s"]].isna().all()


def test_what_nccl_chose_stands_in_a_table(tmp_path: Path) -> None:
    layout = write_campaign(tmp_path)
    own = record(FAST, "all-gather", 1)
    choice = NcclChoice(message_bytes=8, algorithm="RING", protocol="LL", channels=2)
    write_record(layout, own.model_copy(update={"nccl_choices": (choice,)}).sealed())
    write_index(layout, CAMPAIGN)
    choices = Tables(analyse_campaign(layout, CAMPAIGN, 0.95)).choices
    assert choices[["platform", "case", "round", "message_bytes"]].values.tolist() == [
        [FAST, "all-gather", 1, 8]
    ]
    assert choices[["algorithm", "protocol", "channels"]].values.tolist() == [["RING", "LL", 2]]


def test_a_record_of_before_has_no_choices(tmp_path: Path) -> None:
    stored = record(FAST, "all-gather", 1).model_dump(mode="json", exclude={"digest"})
    del stored["nccl_choices"], stored["case"]["in_place"]
    path = write_campaign(tmp_path).record_path(CAMPAIGN, FAST, "collectives", "all-gather", 1)
    path.write_text(json.dumps({**stored, "digest": digest(stored)}), encoding="utf-8")
    found = read_record(path)
    assert found.nccl_choices == ()
    assert isinstance(found.case, CollectivesCase) and found.case.in_place is False


def test_the_time_that_the_host_needs_stands_beside_the_devices() -> None:
    golden = record(FAST, "all-gather", 1)
    eager = [
        operation("eager_time_s", "s", [taken, 0.003, taken], 8, rank)
        for rank, taken in ((0, 0.002), (1, 0.004))
    ]
    changed = golden.model_copy(update={"series": (*golden.series, *eager)})
    found = {point.message_bytes: point.values.get(EAGER_TIME) for point in points(changed)}
    assert found == {8: pytest.approx(0.004), 32: None, 128: None}

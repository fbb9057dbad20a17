"""What evidence pages say beside their numbers: rest, PCIe, the switch, whose records count."""

from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from commwall.analysis.result import analyse_campaign
from commwall.analysis.tables.tidy import Tables
from commwall.report.energy.gpu_use import use_table
from commwall.report.energy.page import energy_table
from commwall.report.exposed import exposed_table
from commwall.report.html import Html
from commwall.report.limits import limit_table
from commwall.report.narrative import provenance_rows
from commwall.report.page import Page, open_page
from commwall.report.switch import switched_off_lines
from commwall.schema.record import Record
from tests.golden import build, operations
from tests.golden.gpus import CAMPAIGN, DIRECT, STAGED, write_campaign


def times(metric: str, factor: float, platform: str) -> Callable[[Record], Record]:
    """A change that multiplies one metric on one platform."""

    def change(golden: Record) -> Record:
        series = tuple(
            own.model_copy(update={"values": tuple(factor * value for value in own.values)})
            if own.metric == metric and golden.id.platform == platform
            else own
            for own in golden.series
        )
        return golden.model_copy(update={"series": series}).sealed()

    return change


@pytest.mark.parametrize(
    ("table", "metric", "factor", "platform", "words"),
    [
        (energy_table, "idle_power_w", 1.2, STAGED, "one GPU before them was 100 W to 120 W. The"),
        (use_table, "pcie_received_bytes_per_s", 5000, DIRECT, "5.00 GB/s received over PCIe is"),
    ],
)
def test_what_readers_would_take_wrongly_is_flagged_where_it_occurs(
    tmp_path: Path,
    table: Callable[[Page], Html],
    metric: str,
    factor: float,
    platform: str,
    words: str,
) -> None:
    write_campaign(tmp_path / "plain", lambda golden: golden)
    assert words not in table(open_page(tmp_path / "plain", CAMPAIGN, 0.95)).markup
    write_campaign(tmp_path / "changed", times(metric, factor, platform))
    assert words in table(open_page(tmp_path / "changed", CAMPAIGN, 0.95)).markup


def test_the_deciding_share_of_a_bound_stands_beside_that_of_the_step(tmp_path: Path) -> None:
    write_campaign(tmp_path, lambda golden: golden)
    page = open_page(tmp_path, CAMPAIGN, 0.95)
    limits = page.tables.limits.assign(own_work_share=0.5, memory_share=0.3)
    tables = Tables(**{**vars(page.tables), "limits": limits})
    shown = limit_table(replace(page, tables=tables)).markup
    assert "30.0 % (60.0 %)" in shown


def test_exposed_communication_is_divided_into_packing_and_exchange(tmp_path: Path) -> None:
    """Fast link: 10.4 ms exposed on average, of it 2 ms packing; the exchange alone takes 40."""
    build.write_campaign(tmp_path)
    shown = unescape(exposed_table(open_page(tmp_path, build.CAMPAIGN, 0.95)).markup)
    assert (
        "<td>10.4 ms</td><td>2.00 ms</td><td>8.40 ms</td><td>40.0 ms</td><td>79.0 %</td>" in shown
    )


def test_a_switch_that_is_off_is_named_with_its_variables(tmp_path: Path) -> None:
    variables = {"NCCL_NVLS_ENABLE": "0", "NVSHMEM_DISABLE_NVLS": "1"}

    def off(golden: Record) -> Record:
        software = golden.software.model_copy(update={"variables": variables})
        return golden.model_copy(update={"software": software}).sealed()

    assert not list(switched_off_lines(analyse_campaign(write_campaign(tmp_path), CAMPAIGN, 0.95)))
    (line,) = switched_off_lines(analyse_campaign(write_campaign(tmp_path, off), CAMPAIGN, 0.95))
    assert "off by NCCL_NVLS_ENABLE=0, NVSHMEM_DISABLE_NVLS=1 in the environment of 9 of 9" in line


def test_provenance_is_that_of_the_suites_shown(tmp_path: Path) -> None:
    layout = operations.write_campaign(tmp_path)
    analysis = analyse_campaign(layout, layout.campaigns()[0], 0.95)
    every, memory = dict(provenance_rows(analysis)), dict(provenance_rows(analysis, ["memory"]))
    assert every["protocol"] == "memory 1; collectives 1" and memory["protocol"] == "memory 1"
    assert int(memory["records"].split()[0]) < int(every["records"].split()[0])

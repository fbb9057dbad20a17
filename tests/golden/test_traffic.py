"""Which way traffic took: launches counted once, failed checks and gaps told."""

from pathlib import Path
from typing import get_args

import pytest

from commwall.analysis.result import analyse_campaign
from commwall.analysis.tables.tidy import Tables
from commwall.report.page import Page, open_page
from commwall.report.platforms.path import PATHS, path_lines, traffic_table
from commwall.schema.record import Record
from commwall.schema.result import Check, Gap
from commwall.schema.treatment import LinkPath
from tests.golden.gpus import AGAIN, CAMPAIGN, DIRECT, STAGED, WIRE_BYTES, traffic, write_campaign

FAILED = Check(name="path_taken", passed=False, found="all on NVLink", expected="none on NVLink")
UNPROVEN = "NCCL's log says P2P alone"


def page_of(root: Path, change: object = None) -> Page:
    write_campaign(root, change) if callable(change) else write_campaign(root)
    return open_page(root, CAMPAIGN, 0.95)


def spoilt(golden: Record) -> Record:
    """Staged traffic went over NVLink in round 3; of the repeated platform nothing is proven."""
    if golden.id.platform == STAGED and golden.id.round == 3:
        checks = (FAILED, golden.checks[1])
        return golden.model_copy(update={"checks": checks, "traffic": traffic(DIRECT)})
    if golden.id.platform == AGAIN:
        gaps = (
            Gap(what="path_taken", reason=UNPROVEN),
            Gap(what="traffic.nvlink", reason="no permission"),
            Gap(what="traffic", reason="NVML is not there"),
        )
        uncounted = golden.traffic and golden.traffic.model_copy(
            update={"nvlink_sent_bytes": None, "nvlink_received_bytes": None}
        )
        update = {"checks": golden.checks[1:], "gaps": gaps, "traffic": uncounted}
        return golden.model_copy(update=update)
    return golden


def test_a_launch_stands_once_for_each_rank(tmp_path: Path) -> None:
    tables = Tables(analyse_campaign(write_campaign(tmp_path), CAMPAIGN, 0.95))
    own = tables.traffic[tables.traffic["platform"] == DIRECT]
    assert own["rank"].tolist() == [0, 1] * 3
    assert set(own["nvlink_sent_bytes"]) == {WIRE_BYTES}
    assert own["nvlink_sent_percent"].tolist() == pytest.approx([100] * 6)
    staged = tables.traffic[tables.traffic["platform"] == STAGED]
    assert set(staged["nvlink_sent_percent"]) == {0} and set(staged["path"]) == {"host_staged"}


def test_the_page_says_that_every_way_is_the_claimed_one(tmp_path: Path) -> None:
    page = page_of(tmp_path)
    assert list(path_lines(page)) == ["The known transfer took the claimed way in all 9 launches."]
    shown = traffic_table(page).markup
    assert shown.count("took the way, treatment took effect") == 3
    assert "20 all-reduces of 256 MiB: 5 GiB" in shown and "another way" not in shown


def longer_in_round_2(golden: Record) -> Record:
    """Its launches repeat the transfer twice as often as the others."""
    if golden.id.round != 2 or golden.traffic is None:
        return golden
    sent = (2 * WIRE_BYTES,) * 2 if golden.id.platform != STAGED else (0, 0)
    changes = {"what": "40 all-reduces of 256 MiB", "expected_bytes": 2 * WIRE_BYTES}
    counted = {"nvlink_sent_bytes": sent, "nvlink_received_bytes": sent}
    longer = golden.traffic.model_copy(update=changes | counted)
    return golden.model_copy(update={"traffic": longer})


def test_launches_that_repeat_the_transfer_more_often_share_a_row(tmp_path: Path) -> None:
    shown = traffic_table(page_of(tmp_path, longer_in_round_2)).markup
    assert shown.count("took the way, treatment took effect") == 3
    assert shown.count("20 (20 to 40) all-reduces of 256 MiB: 5 GiB (5 to 10)") == 3


def test_another_way_and_an_unproven_one_are_told(tmp_path: Path) -> None:
    page = page_of(tmp_path, spoilt)
    (line,) = path_lines(page)
    assert line.startswith("The known transfer took the claimed way in 5 of 9 launches; another ")
    assert "one in 1 (host-staged); the way is not proven in 3 (NVLink [golden" in line
    shown = traffic_table(page).markup
    assert "another way than claimed, treatment took effect" in shown
    assert "way not proven, treatment took effect" in shown
    assert "round 3, way: found all on NVLink; expected none on NVLink. Kept out" in shown
    assert f"rounds 1 to 3, way not proven: {UNPROVEN.replace(chr(39), '&#x27;')}." in shown
    assert "not read, nvlink: no permission." in shown
    assert "not read, counters of the links: NVML is not there." in shown
    (refused,) = (cell for cell in page.analysis.cells if cell.refusals)
    assert (refused.record.id.platform, refused.record.id.round) == (STAGED, 3)


def test_without_any_transfer_the_reason_is_all(tmp_path: Path) -> None:
    gap = Gap(what="traffic", reason="NVML is not there")

    def bare(golden: Record) -> Record:
        return golden.model_copy(update={"traffic": None, "checks": (), "gaps": (gap,)})

    page = page_of(tmp_path, bare)
    assert list(path_lines(page)) == []
    shown = traffic_table(page).markup
    assert shown == '<p class="missing">Evidence of path: none, NVML is not there.</p>'


def test_a_checked_launch_without_a_transfer_has_its_row(tmp_path: Path) -> None:
    page = page_of(tmp_path, lambda own: own.model_copy(update={"traffic": None}))
    shown = traffic_table(page).markup
    assert shown.count("took the way, treatment took effect") == 3
    assert "all-reduces" not in shown and "not counted" in shown


def test_a_transfer_in_other_words_is_told_in_them(tmp_path: Path) -> None:
    def renamed(golden: Record) -> Record:
        own = golden.traffic and golden.traffic.model_copy(update={"what": "1,000 broadcasts"})
        return golden.model_copy(update={"traffic": own})

    assert "<td>1,000 broadcasts: 5 GiB</td>" in traffic_table(page_of(tmp_path, renamed)).markup


def test_every_way_has_words() -> None:
    assert set(PATHS) == set(get_args(LinkPath))

"""A page names every record that it rests on, and one digest of them all."""

import re
from pathlib import Path

from commwall.records.store import read_record
from commwall.report.page import Page, open_page
from commwall.report.provenance import campaigns, digest_of, records_of, rests_on
from tests.golden import operations
from tests.golden.build import CAMPAIGN, CASE, FAST, SLOW, write_campaign
from tests.samples import write_index

DIGEST = re.compile(r"<td>([0-9a-f]{12})</td>")
WHOLE = re.compile(r"\b[0-9a-f]{64}\b")


def _digests(root: Path) -> list[str]:
    return [read_record(path).digest for path in sorted(root.glob("results/*/records/**/r*.json"))]


def _page(root: Path, campaign: str = CAMPAIGN) -> Page:
    return open_page(root, campaign, 0.95)


def test_each_record_stands_there_and_so_does_the_digest_of_all(tmp_path: Path) -> None:
    write_campaign(tmp_path)
    page, digests = _page(tmp_path), _digests(tmp_path)
    markup = rests_on(page.analysis).markup
    assert len(digests) == 15
    assert "Rests on 15 records" in markup
    assert WHOLE.findall(markup) == [digest_of(digests)]
    assert sorted(DIGEST.findall(markup)) == sorted(digest[:12] for digest in digests)
    (row,) = [row for row in markup.split("<tr>") if f"{CASE}</th><td>{SLOW}</td>" in row]
    own = tmp_path.glob(f"results/*/records/{SLOW}/**/r*.json")
    assert DIGEST.findall(row) == [read_record(path).digest[:12] for path in sorted(own)]


def test_the_digest_is_that_of_the_records_whatever_their_order(tmp_path: Path) -> None:
    write_campaign(tmp_path)
    digests = _digests(tmp_path)
    assert digest_of(digests) == digest_of(reversed(digests))
    assert digest_of(digests) != digest_of(digests[1:])


def test_a_record_that_is_not_there_says_why(tmp_path: Path) -> None:
    layout = write_campaign(
        tmp_path, lambda r: None if (r.id.platform, r.id.round) == (SLOW, 2) else r
    )
    layout.record_path(CAMPAIGN, FAST, "training", CASE, 3).write_text("{}")
    write_index(layout, CAMPAIGN)
    markup = rests_on(_page(tmp_path).analysis).markup
    assert "Rests on 13 records" in markup
    assert markup.count("<td>missing</td>") == 1
    assert markup.count("<td>invalid</td>") == 1


def test_a_page_about_one_suite_rests_on_its_records_only(tmp_path: Path) -> None:
    layout = operations.write_campaign(tmp_path)
    (name,) = layout.campaigns()
    analysis = _page(tmp_path, name).analysis
    both, memory = rests_on(analysis).markup, rests_on(analysis, ("memory",)).markup
    assert "Records of suite memory" in memory
    assert "Records of suite collectives" not in memory
    assert set(DIGEST.findall(memory)) < set(DIGEST.findall(both))
    assert "This page rests on no record." in rests_on(analysis, ("inference",)).markup


def test_a_page_about_campaigns_has_a_digest_of_each(tmp_path: Path) -> None:
    write_campaign(tmp_path)
    told = records_of(_page(tmp_path).analysis)
    assert (told.campaign, told.count) == (CAMPAIGN, 15)
    assert told.digest == digest_of(_digests(tmp_path))
    assert told.digest in campaigns([told]).markup
    assert "This page rests on no record." in campaigns([]).markup

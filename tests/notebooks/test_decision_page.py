"""The decision report as it is read: page and sheet say the same, in both languages."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import typst
from matplotlib.ft2font import FT2Font

from commwall.language.translate import speaking
from commwall.records.layout import Layout
from commwall.report.decision.content import Decision, decide
from commwall.report.decision.page import open_decision
from commwall.report.decision.sheet import TEMPLATE, sheet, sheet_data, write_sheet
from commwall.report.money.page import open_money
from commwall.report.style import chinese_typeface
from tests.golden import gpus, many
from tests.golden.hostile import TEXT, poison
from tests.golden.test_money import assume
from tests.notebooks.inline import page

APART = {"language", "svg", "heads", "provenance", "campaign", "axis", "figure"}
"""Of the sheet's data, what is no text of the page or stands there in a table."""


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    layout = gpus.write_campaign(tmp_path_factory.mktemp("checkout"))
    assume(layout.root)
    yield layout


@pytest.fixture(scope="module")
def decision(layout: Layout) -> Decision:
    return open_decision(layout.root, gpus.CAMPAIGN, 0.95).decision


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)


def picture(decision: Decision, dots_per_inch: float) -> bytes:
    """The sheet as a PNG; as a list of them if it takes several pages."""
    made: bytes = typst.compile(
        str(TEMPLATE),
        sys_inputs={"decision": json.dumps(sheet_data(decision), ensure_ascii=False)},
        font_paths=[str(chinese_typeface().parent)],
        ignore_system_fonts=True,
        format="png",
        ppi=dots_per_inch,
    )
    return made


def test_the_sheet_has_the_text_of_the_page(layout: Layout, decision: Decision) -> None:
    markup = unescape(page("decision", layout.root, gpus.CAMPAIGN))
    data = sheet_data(decision)
    shown = list(texts({key: value for key, value in data.items() if key not in APART}))
    assert len(shown) > 25
    assert [text for text in shown if text and text not in markup] == []
    heads = re.findall(r"<h[12][^>]*>([^<]+)", markup)
    assert [head for head in data["heads"].values() if head not in heads] == []


def test_it_is_one_sheet_and_the_same_bytes_each_time(decision: Decision) -> None:
    made = sheet(decision)
    assert made == sheet(decision)
    assert (
        made.startswith(b"%PDF") and made.count(b"/Type/Page\n") + made.count(b"/Type/Page/") == 1
    )
    assert b"CreationDate" not in made


def test_long_words_of_strangers_stay_words_on_one_sheet(tmp_path: Path) -> None:
    layout = many.write_campaign(tmp_path)
    poison(layout, many.CAMPAIGN)
    told = open_decision(layout.root, many.CAMPAIGN, 0.95).decision
    assert TEXT in told.title
    assert isinstance(picture(told, 20), bytes), "several pages are a list"
    data = sheet_data(told)
    assert all(c.isprintable() for text in texts({**data, "svg": ""}) for c in text)


def test_typst_takes_no_markup_from_a_campaign(decision: Decision) -> None:
    """Code in a title would be run, and fail: there is no such file."""
    told = replace(
        decision,
        title='#read("secret") $x$ *b* <label> \\u{41} // gone /* so',
        energy=("#panic()",),
    )
    assert sheet(told).startswith(b"%PDF")
    assert picture(told, 40) != picture(replace(told, title="gone"), 40)


def test_chinese_has_no_box(layout: Layout) -> None:
    with speaking("zh"):
        told = decide(
            open_money(layout.root, gpus.CAMPAIGN, 0.95, "zh"), replicable=False, file=None
        )
        data = sheet_data(told)
    known = FT2Font(str(chinese_typeface())).get_charmap()
    used = {c for text in texts({**data, "svg": ""}) for c in text}
    assert len(used & {chr(code) for code in range(0x4E00, 0x9FFF)}) > 100
    assert {c for c in used if ord(c) not in known} == set()
    assert "DejaVu" not in data["svg"] and data["language"] == "zh"


def test_the_sheet_stands_beside_the_page(layout: Layout, decision: Decision) -> None:
    written = write_sheet(layout, gpus.CAMPAIGN, 0.95, "en")
    assert written == layout.notebooks_dir(gpus.CAMPAIGN) / "decision.pdf"
    assert written.read_bytes() == sheet(decision)
    assert [path.name for path in written.parent.iterdir()] == [written.name], (
        "nothing is left over"
    )

"""Lines of figure labels: English as words allow, Chinese by the width of its characters."""

import textwrap

import pytest

from commwall.report.wrapping import columns_of, wrapped


def test_a_chinese_character_takes_two_columns() -> None:
    assert columns_of("NVLink") == 6
    assert columns_of("互连 A") == 6


@pytest.mark.parametrize("text", ["short", "NVLink of both, host-staged by a variable", ""])
def test_english_breaks_between_words(text: str) -> None:
    assert wrapped(text, 22) == textwrap.wrap(text, 22)


def test_chinese_breaks_between_characters_and_before_whole_names() -> None:
    assert wrapped("吞吐量比值，fast link / slow link", 16) == [
        "吞吐量比值，fast",
        "link / slow link",
    ]
    assert wrapped("各平台的每瓦时样本数", 8) == ["各平台的", "每瓦时样", "本数"]


@pytest.mark.parametrize("text", ["一二三四，五", "NVLink三，四", "一二 link，五（六）七（八）"])
def test_no_line_begins_with_a_sign_that_ends_a_word(text: str) -> None:
    for columns in (6, 7, 8, 9, 10):
        lines = wrapped(text, columns)
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
        assert not [line for line in lines if line[0] in "，）" or line[-1] == "（"]

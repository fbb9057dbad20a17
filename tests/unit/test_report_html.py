"""Pieces of HTML: all text is escaped, code is shown as such."""

from commwall.report.html import bullets, paragraph, table


def test_what_stands_between_backticks_is_code() -> None:
    text = "`commwall whatif` prints <all> of leg `full`"
    shown = "<code>commwall whatif</code> prints &lt;all&gt; of leg <code>full</code>"
    assert paragraph(text).markup == f'<p class="">{shown}</p>'
    assert bullets([text]).markup == f"<ul><li>{shown}</li></ul>"
    assert f"<td>{shown}</td>" in table(("a", "b"), [("x", text)], "").markup


def test_a_lone_backtick_and_tags_between_two_stay_text() -> None:
    assert paragraph("a ` b").markup == '<p class="">a ` b</p>'
    assert "<code>&lt;b&gt;</code>" in paragraph("`<b>`").markup


def test_no_text_turns_or_hides_what_stands_beside_it() -> None:
    markup = paragraph("A is \u202erewols\u202c, \x1b[2Jb\x85\u2028, 双　卡\n").markup
    assert markup == '<p class="">A is \ufffdrewols\ufffd, \ufffd[2Jb\ufffd\ufffd, 双　卡\n</p>'

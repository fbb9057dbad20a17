"""Pieces of HTML: all text is escaped, code is shown as such."""

from commwall.analysis.gaps import GapLine
from commwall.report.gap_lists import gap_lists
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


def test_what_was_not_measured_is_folded_by_suite_below_what_was_refused() -> None:
    refused = GapLine("record", "x, case", "not used, marked host bound", "training")
    missing = [
        GapLine("missing", f"x, case-{n}", "missing: no record", "training", 4) for n in range(5)
    ]
    shown = "".join(part.markup for part in gap_lists([refused, *missing]))
    head, _, folded = shown.partition("<details><summary>Suite training: 20 records</summary>")
    assert "marked host bound" in head and "no record" not in head
    assert folded.count("missing: no record") == 5
    few = "".join(part.markup for part in gap_lists(missing[:2]))
    assert "<details>" not in few and few.count("missing: no record") == 2


def test_no_text_turns_or_hides_what_stands_beside_it() -> None:
    markup = paragraph("A is \u202erewols\u202c, \x1b[2Jb\x85\u2028, 双　卡\n").markup
    assert markup == '<p class="">A is \ufffdrewols\ufffd, \ufffd[2Jb\ufffd\ufffd, 双　卡\n</p>'

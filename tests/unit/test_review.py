"""What changed between two reports: numbers and words, and nothing else; in bounded time."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from commwall.cli.main import main
from commwall.report.html import Group, bullets, grouped_table, joined, paragraph, table
from commwall.report.review import content
from commwall.report.review.change import Change, changed_digests
from commwall.report.review.comparing import page_changes
from commwall.report.review.content import TooMuch, content_of_page
from commwall.report.review.numbers import number_changes, quantities, template
from commwall.report.review.reports import ReviewError, review
from commwall.report.review.words import headline, review_lines
from tests.clock import cpu_seconds

A, B = "0" * 11 + "a", "0" * 11 + "b"
VERDICT = "A is faster by 25.1 % (24.6 to 25.6, n = 5) than B."
PAGE = "<h1>Summary</h1><h2>Verdict</h2>{verdict}<h2>Evidence</h2>{evidence}"


def page(verdict: str = VERDICT, evidence: str = "") -> str:
    return PAGE.format(verdict=paragraph(verdict).markup, evidence=evidence)


def found(old: str, new: str) -> tuple[Change, ...]:
    return page_changes(content_of_page(old), content_of_page(new))


# Numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("2,247 sample/s on h200x2-nvlink, bert-large-s128-b32, 3/4", [2247]),
        ("from 2026-01-01 12:03 with torch 2.13.0 and 1.5e-3", [0.0015]),
        ("−6.1 % to 48.0 %", [-6.1, 48]),
        ("2.1 ms (1.9 to 2.4)", [0.0021, 0.0019, 0.0024]),
        ("850 µs", [0.00085]),
        ("25 MiB, 3 GB, 450 GB/s, 1.98 GHz", [25 * 2**20, 3e9, 450e9, 1.98e9]),
        ("3.33 min, 2 h", [199.8, 7200]),
        ("共 5 轮，24.6 至 25.6", [5, 24.6, 25.6]),
    ],
)
def test_numbers_are_read_in_base_units_and_names_hold_none(
    text: str, numbers: list[float]
) -> None:
    assert [quantity.value for quantity in quantities(text)] == pytest.approx(numbers)


def test_a_number_is_held_against_the_range_behind_it() -> None:
    changes = number_changes(VERDICT, "A is faster by 26.1 % (25.0 to 27.2, n = 5) than B.")
    assert [(c.old.text, c.new.text) for c in changes] == [
        ("25.1 %", "26.1 %"), ("24.6", "25.0"), ("25.6", "27.2"),
    ]  # fmt: skip
    assert [(c.inside, c.old_range) for c in changes] == [
        (False, "24.6 to 25.6"), (None, None), (None, None),
    ]  # fmt: skip
    assert changes[0].points == pytest.approx(1)
    assert changes[0].relative is None


def test_a_number_that_is_shown_in_another_unit_is_still_a_number() -> None:
    old, new = "step 850 µs (840 to 1,100)", "step 1.02 ms (1.01 to 1.03)"
    assert template(old) == template(new)
    change, *_ = number_changes(old, new)
    assert change.relative == pytest.approx(0.2)
    assert change.inside is True


def test_a_change_from_nothing_has_no_share() -> None:
    (change,) = number_changes("0 records", "3 records")
    assert change.relative is None


# Pages -------------------------------------------------------------------------------------


def test_a_page_has_not_changed_against_itself() -> None:
    both = page(evidence=table(("case", "value"), [("x", "1")], "Caption.").markup)
    assert found(both, both.replace("<p ", '<p id="anchor" ')) == ()


def test_sentences_with_other_numbers_other_words_new_and_gone() -> None:
    old = [VERDICT, "The link limits: half of the step.", "Gone for good."]
    new = ["A is faster by 30.0 % (29 to 31, n = 5) than B.", "The host limits: half of the step.",
           "Nothing of this was there."]  # fmt: skip
    changes = found(page(evidence=bullets(old).markup), page(evidence=bullets(new).markup))
    assert sorted((c.kind, c.old, c.new) for c in changes) == [
        ("appeared", "", new[2]),
        ("number", old[0], new[0]),
        ("vanished", old[2], ""),
        ("words", old[1], new[1]),
    ]
    assert {change.spot.section for change in changes} == {"Evidence"}


def test_a_sentence_of_another_section_has_moved() -> None:
    other = "A sentence about something else."
    (moved,) = found(
        page(VERDICT, paragraph(other).markup), page(VERDICT).replace("<h2>Ev", f"<p>{other}<h2>Ev")
    )
    assert (moved.kind, moved.old, moved.spot.section) == ("moved", "Evidence", "Verdict")


def test_another_order_is_told() -> None:
    lines = ("One thing.", "Another matter.")
    changes = found(bullets(lines).markup, bullets(lines[::-1]).markup)
    assert [change.kind for change in changes] == ["moved"]


def grouped(rows: list[tuple[str, tuple[str, ...]]], *heads: str) -> str:
    return grouped_table(("case", *heads), [Group("Throughput", rows)], "Ratios.").markup


def test_cells_are_found_by_row_and_column_wherever_they_stand() -> None:
    old = grouped([("", ("x", "2.0", "ok")), ("", ("y", "3.0", "ok"))], "ratio", "note")
    new = grouped([("", ("z", "ok", "1")), ("", ("x", "ok", "2.2"))], "note", "ratio")
    kinds = {(c.kind, c.spot.place, c.old, c.new) for c in found(old, new)}
    assert kinds == {
        ("number", ("Ratios.", "Throughput, x", "ratio"), "2.0", "2.2"),
        ("vanished", ("Ratios.",), "y | 3.0 | ok", ""),
        ("appeared", ("Ratios.",), "", "z | ok | 1"),
    }


def test_a_row_that_lost_its_values_is_told_whole() -> None:
    old = grouped([("", ("x", "2.0", "ok"))], "ratio", "note")
    new = grouped([("refused", ("x", "none: marked host bound"))], "ratio", "note")
    (change,) = found(old, new)
    assert (change.kind, change.old, change.new) == ("words", "2.0 | ok", "none: marked host bound")


def test_rows_of_one_name_are_told_apart_by_what_follows() -> None:
    def records(*digests: str) -> str:
        rows = [("bert", f"p{n}", text) for n, text in enumerate(digests)]
        return table(("case", "platform", "round 1"), rows, "Records.").markup

    (change,) = found(records(A, A), records(A, B))
    assert (change.kind, change.spot.place[1:]) == ("digest", ("bert, p1", "round 1"))
    assert (change.old, change.new) == (A, B)


def test_of_several_digests_those_that_differ_are_told() -> None:
    old, new = f"Code {A}; {A}, torch 2.", f"Code {A}; {B}, torch 2."
    assert [change.kind for change in found(page(old), page(new))] == ["digest"]
    assert changed_digests(old, new) == [(A, B)]


def test_pictures_are_compared_by_what_they_show() -> None:
    def picture(data: str, words: str = "Throughput.") -> str:
        return f'<figure><img alt="{words}" src="data:{data}"></figure>'

    assert found(picture("a"), picture("a")) == ()
    (change,) = found(picture("a"), picture("b"))
    assert (change.kind, change.new) == ("picture", "Throughput.")
    gone, come = found(picture("a"), picture("a", "Quite another."))
    assert {gone.kind, come.kind} == {"vanished", "appeared"}


def coded(*cells: str) -> str:
    return f'<details class="code">{"".join(f"<pre>{cell}</pre>" for cell in cells)}</details>'


def test_parameters_and_lines_of_code() -> None:
    old = coded("# Parameters\nconfidence = 0.95\nlanguage = 1", "import a\nshow(page)")
    new = coded("# Parameters\nconfidence = 0.9", "import a\nshow(page, 2)")
    assert [(c.kind, c.spot.place, c.old, c.new) for c in found(old, new)] == [
        ("parameter", ("confidence",), "0.95", "0.9"),
        ("parameter", ("language",), "1", ""),
        ("code", (), "show(page)", ""),
        ("code", (), "", "show(page, 2)"),
    ]


def test_words_are_taken_as_a_browser_shows_them() -> None:
    shown = content_of_page("<!DOCTYPE html><title>no</title><!-- <p>no</p> --><style>p>a{}</style>"
                            "<p>1 &lt; 2 &amp; <em>so</em>\n on</p>")  # fmt: skip
    assert [sentence.text for sentence in shown.sentences] == ["1 < 2 & so on"]


# Hostile pages -----------------------------------------------------------------------------

PIECES = ("<a ", "<aaaa", "<!--", "<!x", "<?", "</a ", "<a b='", "&#", "&amp", "<style>", "<svg>",
          "9", "1,", "1 to 2 (", 'b="')  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_no_page_takes_more_than_time_in_proportion_to_its_length(piece: str) -> None:
    hostile = f"<p>{piece * (2**20 // len(piece))}"
    assert cpu_seconds(lambda: found(hostile, hostile.replace("1", "3"))) < 2


def test_more_tags_than_any_page_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "MOST_TAGS", 10)
    content_of_page("<li>" * 10)
    with pytest.raises(TooMuch):
        content_of_page("<li>" * 12)


def test_the_largest_page_is_taken_and_a_byte_more_is_not(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(b" " * (16 * 2**20))
    assert review(path, path).same
    with path.open("ab") as file:
        file.write(b" ")
    with pytest.raises(ReviewError, match="more than 16,777,216 byte"):
        review(path, path)


def test_as_many_pages_as_a_report_may_have_are_taken_and_one_more_is_not(tmp_path: Path) -> None:
    for number in range(2000):
        (tmp_path / f"{number}.html").touch()
    assert len(review(tmp_path, tmp_path).pages) == 2000
    (tmp_path / "more.html").touch()
    with pytest.raises(ReviewError, match="2,001 pages"):
        review(tmp_path, tmp_path)


def test_a_reference_to_no_character_is_none() -> None:
    assert content_of_page(f"<p>&#{'9' * 5000};</p>").sentences[0].text == "\ufffd;"


# Files and the verb ------------------------------------------------------------------------


@pytest.fixture
def reports(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders of reports whose page `x/summary` differs in its verdict."""
    for name, text in (("old", VERDICT), ("new", VERDICT.replace("25.1", "26.1"))):
        folder = tmp_path / name / "x"
        folder.mkdir(parents=True)
        (folder / "summary.html").write_text(page(text), encoding="utf-8")
        (folder / "same.html").write_text(page(), encoding="utf-8")
    return tmp_path / "old", tmp_path / "new"


def test_exit_codes_and_words(
    reports: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = map(str, reports)
    assert main(["review", old, old]) == 0
    assert capsys.readouterr().out == "pages compared: 2, different: 0\n"
    assert main(["review", old, new]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "pages compared: 2, different: 1; 1 text with other numbers (1 outside their old range)",
        "",
        "x/summary: 1 text with other numbers (1 outside their old range)",
        "  Verdict",
        "    A is faster by 26.1 % (24.6 to 25.6, n = 5) than B.",
        "      25.1 % → 26.1 % (+1.0 points, outside the old 24.6 to 25.6)",
    ]
    assert main(["review", old, f"{old}/x/same.html"]) == 2
    assert "a page and a folder of pages cannot be compared" in capsys.readouterr().err


def test_pages_of_one_side_only_are_named(reports: tuple[Path, Path]) -> None:
    old, new = reports
    (old / "x" / "same.html").unlink()
    told = review(old, new)
    assert (told.only_old, told.only_new, told.same) == ((), ("x/same",), False)
    assert "without a partner: 1" in headline(told)
    assert "\nx/same: only in the second" in list(review_lines(told))


def notebook(tmp_path: Path, **of_output: object) -> Path:
    cells = [
        {"cell_type": "markdown", "source": ["# Summary\n", "\n", "## Verdict\n"]},
        {"cell_type": "code", "source": "show()", "outputs": [of_output]},
    ]
    path = tmp_path / "summary.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    return path


def test_an_executed_notebook_is_compared_with_its_page(tmp_path: Path) -> None:
    made_of = notebook(tmp_path, data={"text/html": paragraph(VERDICT).markup})
    own = tmp_path / "page.html"
    own.write_text(page() + coded("show()"), encoding="utf-8")
    changes = review(made_of, own).pages["page"]
    assert [(c.kind, c.new) for c in changes] == [("appeared", "Evidence")]


BAD: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: None,
    "empty": lambda path: path.mkdir(),
    "no JSON": lambda path: path.with_suffix(".ipynb").write_text("{"),
    "no notebook": lambda path: path.with_suffix(".ipynb").write_text('{"cells": 3}'),
}


@pytest.mark.parametrize("make", BAD.values(), ids=BAD.keys())
def test_what_is_no_report_is_refused(tmp_path: Path, make: Callable[[Path], object]) -> None:
    path = tmp_path / "bad"
    make(path)
    asked = path if path.is_dir() or not list(tmp_path.iterdir()) else path.with_suffix(".ipynb")
    with pytest.raises(ReviewError) as caught:
        review(asked, asked)
    assert str(asked) in str(caught.value.parts["where"])
    assert all(caught.value.parts[key] for key in ("found", "expected", "next"))


def test_a_report_that_is_not_there_is_not_told_as_vanished_pages(tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    (tmp_path / "before/a.html").write_text(page(), encoding="utf-8")
    for asked in (("before", "nosuch"), ("nosuch", "before"), ("before/a.html", "nosuch")):
        with pytest.raises(ReviewError) as caught:
            review(*(tmp_path / name for name in asked))
        assert caught.value.parts["where"] == str(tmp_path / "nosuch")
        assert caught.value.parts["found"] == "no such file or folder"


def test_long_lists_are_cut_unless_all_is_asked_for(tmp_path: Path) -> None:
    for name, factor in (("a", 1), ("b", 2)):
        rows = [(f"case-{n}", str(factor * (n + 1))) for n in range(30)]
        markup = joined([table(("case", "value"), rows, "Many.")]).markup
        (tmp_path / f"{name}.html").write_text(markup, encoding="utf-8")
    told = review(tmp_path / "a.html", tmp_path / "b.html")
    short, every = list(review_lines(told)), list(review_lines(told, every=True))
    assert len(every) == len(short) + 17
    assert short[-1].strip() == "… and 18 texts with other numbers: --all tells them"
    assert "case-29, value: 30 → 60 (+100 %)" in every[-1]

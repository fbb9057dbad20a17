"""What changed between two reports, in lines for a terminal.

Layer: report. Reads and writes no file.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from commwall.report.review.change import Change, Kind, changed_digests
from commwall.report.review.numbers import NumberChange
from commwall.report.review.reports import Review
from commwall.schema.units import significant

MOST_LINES = 12
"""Changes of one table or section that are told without being asked for all."""
_LONGEST = 160
"""Characters of a sentence that are shown unless all is asked for."""
_COUNTED: dict[Kind, tuple[str, str]] = {
    "number": ("text with other numbers", "texts with other numbers"),
    "words": ("text with other words", "texts with other words"),
    "appeared": ("appeared", "appeared"),
    "vanished": ("vanished", "vanished"),
    "moved": ("moved", "moved"),
    "picture": ("picture", "pictures"),
    "digest": ("digest", "digests"),
    "parameter": ("parameter", "parameters"),
    "code": ("line of code", "lines of code"),
}


def review_lines(found: Review, *, every: bool = False) -> Iterator[str]:
    """A line for all pages together, then what changed, page by page.

    Args:
        found: what changed.
        every: tell all of it, and no sentence shortened.
    """
    yield headline(found)
    for name in found.only_old:
        yield f"\n{name}: only in the first"
    for name in found.only_new:
        yield f"\n{name}: only in the second"
    for name, changes in found.pages.items():
        if changes:
            yield f"\n{name}: {counted(changes)}"
            yield from _page_lines(changes, every)


def headline(found: Review) -> str:
    """How many pages there are and differ, and what of all changed."""
    differ = [changes for changes in found.pages.values() if changes]
    alone = len(found.only_old) + len(found.only_new)
    every = [change for changes in differ for change in changes]
    said = [f"pages compared: {len(found.pages)}", f"different: {len(differ)}"]
    said += [f"without a partner: {alone}"] if alone else []
    return ", ".join(said) + (f"; {counted(every)}" if every else "")


def counted(changes: Iterable[Change]) -> str:
    """Changes counted by kind; of numbers also how many left their old range."""
    every = list(changes)
    counts = Counter(change.kind for change in every)
    parts = [
        f"{n} {many if n > 1 else one}"
        for kind, (one, many) in _COUNTED.items()
        if (n := counts[kind])
    ]
    outside = sum(number.inside is False for change in every for number in change.numbers)
    return ", ".join(parts) + (f" ({outside} outside their old range)" if outside else "")


def _page_lines(changes: Iterable[Change], every: bool) -> Iterator[str]:
    sections: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        sections[_section(change)].append(change)
    for section, own in sections.items():
        yield f"  {section}"
        for caption, of_one in groupby(own, _caption):
            indent = "      " if caption else "    "
            if caption:
                yield f"    {_short(caption, every)}"
            yield from (f"{indent}{line}" for line in _block_lines(list(of_one), every))


def _block_lines(changes: Sequence[Change], every: bool) -> Iterator[str]:
    """Lines for what changed in one table, or in sentences that follow each other."""
    shown = changes if every else changes[:MOST_LINES]
    for change in shown:
        yield from _lines(change, every)
    if len(shown) < len(changes):
        yield f"… and {counted(changes[len(shown) :])}: --all tells them"


def _section(change: Change) -> str:
    if change.kind in ("parameter", "code"):
        return "code of the page"
    return change.spot.section or "head of the page"


def _caption(change: Change) -> str:
    """Caption of the table that a change belongs to."""
    return change.spot.place[0] if change.spot.place and change.kind != "parameter" else ""


def _lines(change: Change, every: bool) -> Iterator[str]:
    if change.kind in ("appeared", "vanished", "code"):
        sign, text = ("+", change.new) if change.new else ("−", change.old)
        yield f"{sign} {_short(text, every)}"
    elif change.kind == "moved":
        yield f"moved from {change.old or 'elsewhere'}: {_short(change.new, every)}"
    elif change.kind == "picture":
        yield f"picture looks otherwise: {_short(change.new, every)}"
    elif change.spot.place:
        yield f"{', '.join(change.spot.place[1:] or change.spot.place)}: {_both(change)}"
    elif change.kind == "digest":
        yield f"{_short(change.new, every)}"
        yield f"  {_both(change)}"
    elif change.kind == "number":
        yield _short(change.new, every)
        yield f"  {', '.join(map(_number_text, change.numbers))}"
    else:
        yield f"− {_short(change.old, every)}"
        yield f"+ {_short(change.new, every)}"


def _both(change: Change) -> str:
    """Old and new text of a cell, and by how much its first number changed."""
    if change.kind == "digest":
        pairs = changed_digests(change.old, change.new)
        return ", ".join(f"{was} → {now}" for was, now in pairs)
    told = _effect_text(change.numbers[0], "range") if change.numbers else ""
    return f"{change.old or 'nothing'} → {change.new or 'nothing'}{told}"


def _number_text(number: NumberChange) -> str:
    return f"{number.old.text} → {number.new.text}{_effect_text(number, number.old_range)}"


def _effect_text(number: NumberChange, old_range: str | None) -> str:
    """By how much a number changed, and whether it left its old range, in brackets."""
    parts = []
    if number.relative is not None:
        parts.append(f"{_signed(100 * number.relative)} %")
    if number.points is not None:
        parts.append(f"{_signed(number.points)} points")
    if number.inside is not None:
        parts.append(f"{'inside' if number.inside else 'outside'} the old {old_range}")
    return f" ({', '.join(parts)})" if parts else ""


def _signed(value: float) -> str:
    """Two digits of a number, with its sign."""
    return f"{'−' if value < 0 else '+'}{significant(abs(value), 2)}"


def _short(text: str, every: bool) -> str:
    return text if every or len(text) <= _LONGEST else f"{text[:_LONGEST]} …"

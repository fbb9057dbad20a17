"""Tags and texts of an HTML page, in one pass over it.

Layer: report. Pure. Pages may come from strangers, and the standard library's parser takes time
with the square of the length of a page that leaves tags open. Here each character is looked at a
few times at most: a tag ends at the first ">", which no attribute of our pages holds unescaped.
"""

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import NamedTuple

_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*+)([^<>]*+)>")
_ATTRIBUTE = re.compile(r"""(?<![^\s"'])([A-Za-z-]++)=(?:"([^"]*+)"|'([^']*+)')""")
_UNSHOWN = frozenset({"script", "style", "svg", "title", "template", "nav"})
"""Elements whose content is no text of the page: code, drawings, ways to other pages."""
_DECLARATION = re.compile(r"<[!?][^<>]*+>")
_LONG_REFERENCE = re.compile(r"&#[xX]?[0-9A-Fa-f]{9,}+")
"""Beyond every character there is; Python refuses to read thousands of digits."""


class Tag(NamedTuple):
    """One tag."""

    name: str
    closes: bool
    attributes: Mapping[str, str]
    content: str = ""
    """Of an element whose content is no text: that content, as it stands."""


def tokens(page: str) -> Iterator[Tag | str]:
    """Tags and the texts between them, in order; texts with their references resolved."""
    markup = _DECLARATION.sub("", _without_comments(page))
    place = 0
    while found := _TAG.search(markup, place):
        yield _text(markup[place : found.start()])
        name, place = found[2].lower(), found.end()
        content = ""
        if name in _UNSHOWN and not found[1]:
            content, place = _unshown(markup, place, name)
        yield Tag(name, bool(found[1]), _attributes(found[3]), content)
    yield _text(markup[place:])


def _unshown(markup: str, start: int, name: str) -> tuple[str, int]:
    """Content of an element up to the tag that closes it, or to the end, and where that is."""
    end = markup.find(f"</{name}", start)
    end = len(markup) if end < 0 else end
    return markup[start:end], end


def _without_comments(page: str) -> str:
    first, *others = page.split("<!--")
    return first + "".join(part.partition("-->")[2] for part in others)


def _attributes(text: str) -> dict[str, str]:
    return {
        name.lower(): unescape(_LONG_REFERENCE.sub("\ufffd", double or single))
        for name, double, single in _ATTRIBUTE.findall(text)
    }


def _text(markup: str) -> str:
    return unescape(_LONG_REFERENCE.sub("\ufffd", markup))

"""What stands around every page of the site: the way to all others, and its own contents.

Layer: report. Reads `templates/site/`. A page, be it the site's own or a rendered notebook, comes
with slots (HTML comments) that are filled here; so a notebook's page is also whole without a site.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jinja2 import Environment

from commwall.language.translate import LANGUAGES, tr
from commwall.report.site.contents import Chapter, Contents
from commwall.report.site.places import COMPARE, DOWNLOADS, LANDING, PROVENANCE, Place

SLOTS = ("head", "navigation", "end")
_HEADING = re.compile(r'<h([23]) id="([^"]+)">(.*?)<a [^>]*class="anchor"', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")


@dataclass(frozen=True)
class Link:
    """A way to another page."""

    text: str
    address: str
    current: bool = False
    """Whether it is the page itself."""
    language: str | None = None
    """Language of the page, where it is another."""


@dataclass(frozen=True)
class Heading:
    """A line of a page's own contents."""

    level: int
    anchor: str
    markup: str
    """Its text, as HTML without tags."""


@dataclass(frozen=True)
class Frame:
    """The frame of all pages of one language."""

    templates: Environment
    shelf: Mapping[str, Contents]
    """Language -> contents, of all languages."""
    language: str
    origin: str
    """The program that published, in a few words."""

    @property
    def contents(self) -> Contents:
        """The contents of the language."""
        return self.shelf[self.language]

    def around(
        self,
        markup: str,
        path: str,
        title: str = "",
        chapter: Chapter | None = None,
        above: Sequence[tuple[str, str]] = (),
    ) -> str:
        """A page with its frame.

        Args:
            markup: the page, with slots.
            path: of the page below the folder of its language.
            title: what it is called in the way that leads to it; nothing for the landing page.
            chapter: the campaign it belongs to.
            above: title and path of the pages between landing page and this one.
        """
        place = Place(self.contents.folder, path)
        known = {
            "place": place,
            "links": list(self._site_links(place)),
            "languages": list(self._languages(place, chapter)),
            "crumbs": [Link(text, place.page(to)) for text, to in above] if title else [],
            "title": title,
            "pages": list(_chapter_links(place, chapter)) if chapter else [],
            "headings": list(_headings(markup)),
            "origin": self.origin,
        }
        for slot in SLOTS:
            filled = self.templates.get_template(f"site/{slot}.html.j2").render(known)
            markup = markup.replace(f"<!-- site: {slot} -->", filled, 1)
        return markup

    def _site_links(self, place: Place) -> Iterator[Link]:
        ways = [
            (tr("All verdicts"), LANDING),
            (tr("Compare"), COMPARE),
            *((page.title, page.path) for page in self.contents.general),
            (tr("Provenance"), PROVENANCE),
        ]
        return _links(place, ways)

    def _languages(self, place: Place, chapter: Chapter | None) -> Iterator[Link]:
        """The same page in each language, or the nearest that was rendered in it."""
        rendered = place.path in self.contents.rendered
        for language, contents in self.shelf.items():
            path = place.path
            if rendered and path not in contents.rendered:
                path = chapter.path if chapter else LANDING
            address = place.file(contents.folder + path)
            yield Link(LANGUAGES[language], address, language == self.language, language)


def _chapter_links(place: Place, chapter: Chapter) -> Iterator[Link]:
    """Every page of a campaign."""
    ways = [
        (tr("Overview"), chapter.path),
        *((page.title, page.path) for page in chapter.pages),
        (tr("Downloads"), f"{chapter.campaign}/{DOWNLOADS}"),
        (tr("Provenance"), f"{chapter.campaign}/{PROVENANCE}"),
    ]
    return _links(place, ways)


def _links(place: Place, ways: Sequence[tuple[str, str]]) -> Iterator[Link]:
    for text, path in ways:
        yield Link(text, place.page(path), path == place.path)


def _headings(markup: str) -> Iterator[Heading]:
    for level, anchor, inner in _HEADING.findall(markup):
        yield Heading(int(level), anchor, _TAG.sub("", inner))

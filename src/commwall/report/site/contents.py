"""Which pages the site has in one language, known before any of them is written.

Layer: report. Looks which pages were rendered; reads plans.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from commwall.language.translate import tr
from commwall.records.layout import Layout
from commwall.records.store import read_plan
from commwall.report.pages import GENERAL_PAGES, PAGES, PageKind
from commwall.report.site.places import GENERAL, LANDING
from commwall.schema.errors import CommwallError


@dataclass(frozen=True)
class Rendered:
    """A page that a notebook or another verb has made."""

    name: str
    kind: PageKind | None
    """None for a page of a notebook that is the user's own."""
    source: Path
    """Its file, as rendered."""
    path: str
    """Its path in the site, below the folder of its language."""

    @property
    def title(self) -> str:
        """What it is called where pages are listed."""
        return self._words[0]

    @property
    def about(self) -> str:
        """What it tells, or nothing."""
        return self._words[1]

    @property
    def _words(self) -> tuple[str, str]:
        words = tr(self.kind.title) if self.kind else self.name
        title, *about = re.split(r": |：", words, maxsplit=1)
        return title, "".join(about)


@dataclass(frozen=True)
class Chapter:
    """A campaign in the site."""

    campaign: str
    title: str
    pages: tuple[Rendered, ...]
    """In reading order."""

    @property
    def path(self) -> str:
        """Path of its first page, below the folder of its language."""
        return f"{self.campaign}/{LANDING}"


@dataclass(frozen=True)
class Contents:
    """The pages of one language."""

    language: str
    folder: str
    """Its folder, as in `Place`."""
    chapters: tuple[Chapter, ...]
    general: tuple[Rendered, ...]
    """Pages that are of no campaign."""

    @property
    def rendered(self) -> frozenset[str]:
        """Paths of all rendered pages."""
        of_chapters = (page for chapter in self.chapters for page in chapter.pages)
        return frozenset(page.path for page in (*of_chapters, *self.general))


def contents_of(layout: Layout, campaigns: tuple[str, ...], language: str, folder: str) -> Contents:
    """What there is to publish in a language."""
    return Contents(
        language=language,
        folder=folder,
        chapters=tuple(_chapter(layout, campaign, language) for campaign in campaigns),
        general=tuple(_rendered(layout.general_dir(language), GENERAL, GENERAL_PAGES)),
    )


def _chapter(layout: Layout, campaign: str, language: str) -> Chapter:
    pages = _rendered(layout.notebooks_dir(campaign, language), campaign, PAGES)
    return Chapter(campaign, _title(layout, campaign), tuple(pages))


def _title(layout: Layout, campaign: str) -> str:
    try:
        return read_plan(layout.plan_path(campaign)).title
    except (CommwallError, OSError):
        return campaign  # its page says what is wrong with the plan


def _rendered(folder: Path, below: str, kinds: dict[str, PageKind]) -> list[Rendered]:
    """Rendered pages of a folder; known ones first, in reading order."""
    found = {path.stem: path for path in folder.glob("*.html")}
    names = [*(name for name in kinds if name in found), *sorted(found.keys() - kinds.keys())]
    return [Rendered(name, kinds.get(name), found[name], f"{below}/{name}.html") for name in names]

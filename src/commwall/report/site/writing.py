"""Write one page of the site: from its template, or around a page that was rendered before.

Layer: report. Reads `templates/`; writes below `results/site/`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from commwall.language.translate import tr
from commwall.records.files import write_atomically
from commwall.records.layout import Layout
from commwall.report.html import Html
from commwall.report.rendering.anchors import Anchors, permalink
from commwall.report.rendering.render import TEMPLATES
from commwall.report.site.contents import Chapter, Contents, Rendered
from commwall.report.site.downloads import copy
from commwall.report.site.frame import Frame
from commwall.report.site.places import LANDING, Place
from commwall.schema.printable import LINES, printable
from commwall.schema.units import size_text

STYLES = {"page": "page.css", "site": "site/site.css"}
"""Style of every page, and of what the site puts around it."""


@dataclass(frozen=True)
class Writer:
    """Writes the pages of one language, each in its frame."""

    layout: Layout
    frame: Frame

    @property
    def contents(self) -> Contents:
        """What there is to write."""
        return self.frame.contents

    def own(
        self,
        template: str,
        path: str,
        title: str = "",
        chapter: Chapter | None = None,
        above: Sequence[tuple[str, str]] = (),
        **known: object,
    ) -> None:
        """Write a page of the site's own.

        Args:
            template: which, without its suffixes.
            path: where it belongs, below the folder of its language.
            title: what it is called in the way that leads to it.
            chapter: the campaign it belongs to.
            above: title and path of pages between the landing page and this one.
            known: what the template shows.
        """
        place = Place(self.contents.folder, path)
        told = {**known, "place": place, "chapter": chapter, "language": self.contents.language}
        markup = self.frame.templates.get_template(f"site/{template}.html.j2").render(told)
        self._write(markup, path, title, chapter, above)

    def rendered(self, page: Rendered, chapter: Chapter | None) -> None:
        """Write a page that was rendered before, and beside it its sheet to print if it has one."""
        sheet = page.source.with_suffix(".pdf")
        if sheet.exists():
            path = page.path.removesuffix(".html") + sheet.suffix
            copy(self.layout, sheet, self.contents.folder + path)
        markup = page.source.read_text(encoding="utf-8")
        above = [(chapter.title, chapter.path)] if chapter else []
        self._write(markup, page.path, page.title, chapter, above)

    def _write(
        self,
        markup: str,
        path: str,
        title: str,
        chapter: Chapter | None,
        above: Sequence[tuple[str, str]],
    ) -> None:
        ways = [(tr("All verdicts"), LANDING), *above]
        framed = self.frame.around(markup, path, title, chapter, ways)
        write_atomically(self.layout.site_dir() / self.contents.folder / path, framed)


def templates() -> Environment:
    """The templates of the site, with what all of them use."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    styles = {name: (TEMPLATES / path).read_text("utf-8") for name, path in STYLES.items()}
    environment.globals.update(
        tr=tr,
        permalink=lambda name: Markup(permalink(name)),
        anchored=_anchored,
        size_text=size_text,
        styles={name: Markup(css) for name, css in styles.items()},
    )
    return environment


def _shown(value: object) -> object:
    """What a template puts into a page; it escapes what is no markup yet."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value, kept=LINES)
    return value


def _anchored(content: Html, name: str) -> Markup:
    """A piece of HTML as it is, its tables and figures with anchors."""
    return Markup(Anchors().put(content.markup, [name]))

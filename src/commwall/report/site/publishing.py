"""Write the site: every page of every campaign, in every language, and what can be taken away.

Layer: report. Reads what the verbs `index`, `tables` and `render` have written; writes
`results/site/`, in place of what stood there. The folder can be published as it is, and opened as
files. A campaign that cannot be read is named with its problem and stops nothing.
"""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from commwall.analysis.result import Analysis, analyse_campaign
from commwall.language.translate import ENGLISH, speaking, tr
from commwall.records.layout import Layout
from commwall.records.store import read_plan
from commwall.report.site.comparing import MOST_CHANGES, alike, changes
from commwall.report.site.contents import Chapter, contents_of
from commwall.report.site.downloads import (
    DESCRIPTIONS,
    Downloads,
    collect_downloads,
    copy_notebook,
)
from commwall.report.site.entries import Entry, entry_of, unreadable
from commwall.report.site.frame import Frame
from commwall.report.site.origin import Origin
from commwall.report.site.places import (
    COMPARE,
    DOWNLOADS,
    GENERAL,
    LANDING,
    PROVENANCE,
    folders_of,
)
from commwall.report.site.writing import Writer, templates
from commwall.schema.errors import CommwallError
from commwall.schema.plan import Plan


def publish(
    layout: Layout,
    campaigns: Sequence[str],
    confidence: float,
    origin: Origin,
    languages: Sequence[str] = (ENGLISH,),
) -> Path:
    """Write the site of these campaigns.

    Args:
        layout: the checkout.
        campaigns: their names.
        confidence: level of all intervals.
        origin: what the provenance page says of the program.
        languages: at least one; the site opens in the first.

    Returns:
        Path of the landing page.

    Raises:
        OSError: if the file system refuses.
    """
    shutil.rmtree(layout.site_dir(), ignore_errors=True)
    downloads = {campaign: collect_downloads(layout, campaign) for campaign in campaigns}
    pairs = alike(_plans(layout, campaigns))
    shelf = {
        language: contents_of(layout, tuple(campaigns), language, folder)
        for language, folder in folders_of(languages).items()
    }
    made = templates()
    for language in shelf:
        writer = Writer(layout, Frame(made, shelf, language, f"commwall {origin.version}"))
        with speaking(language):
            Edition(writer, confidence, origin, downloads, pairs).write()
    return layout.landing_path()


def _plans(layout: Layout, campaigns: Sequence[str]) -> dict[str, Plan]:
    """Plans that can be read; its own page says what is wrong with another."""
    plans = {}
    for campaign in campaigns:
        with suppress(CommwallError, OSError):
            plans[campaign] = read_plan(layout.plan_path(campaign))
    return plans


@dataclass(frozen=True)
class Edition:
    """The site in one language; all text is made while that language is spoken."""

    writer: Writer
    confidence: float
    origin: Origin
    downloads: Mapping[str, Downloads]
    """Of each campaign."""
    pairs: Sequence[tuple[str, str]]
    """Campaigns that may have measured the same."""

    @property
    def _shown(self) -> Sequence[tuple[str, str]]:
        """Those of the pairs that get a page."""
        return self.pairs[:MOST_CHANGES]

    def write(self) -> None:
        """Write every page."""
        entries, compared = self._entries()
        self.writer.own("landing", LANDING, entries=entries)
        self.writer.own(
            "provenance", PROVENANCE, tr("Provenance"), entries=entries, rows=self.origin.rows()
        )
        for entry in entries:
            self._write_chapter(entry)
        for page in self.writer.contents.general:
            self.writer.rendered(page, None)
            copy_notebook(self.writer.layout, page.source, self.writer.contents.folder, GENERAL)
        self._write_changes(compared)

    def _entries(self) -> tuple[list[Entry], dict[str, Analysis]]:
        """Every campaign, the most telling first; and the analyses of those that are compared, so
        that of others one at a time is in memory.
        """
        entries, compared = [], {}
        wanted = {name for pair in self._shown for name in pair}
        for chapter in self.writer.contents.chapters:
            try:
                analysis = analyse_campaign(self.writer.layout, chapter.campaign, self.confidence)
            except CommwallError as error:
                entries.append(unreadable(chapter, str(error)))
                continue
            entries.append(entry_of(chapter, analysis))
            if chapter.campaign in wanted:
                compared[chapter.campaign] = analysis
        entries.sort(key=lambda entry: entry.weight, reverse=True)
        return entries, compared

    def _write_chapter(self, entry: Entry) -> None:
        chapter = entry.chapter
        self.writer.own("campaign", chapter.path, chapter.title, chapter, entry=entry)
        for page in chapter.pages:
            self.writer.rendered(page, chapter)
        self._write_downloads(chapter)
        self._below(chapter, "records", PROVENANCE, tr("Provenance"), entry=entry)

    def _write_downloads(self, chapter: Chapter) -> None:
        layout, folder = self.writer.layout, self.writer.contents.folder
        notebooks = {
            page: copied
            for page in chapter.pages
            if (copied := copy_notebook(layout, page.source, folder, chapter.campaign))
        }
        self._below(
            chapter, "downloads", DOWNLOADS, tr("Downloads"), notebooks=notebooks,
            downloads=self.downloads[chapter.campaign], descriptions=DESCRIPTIONS,
        )  # fmt: skip

    def _below(
        self, chapter: Chapter, template: str, name: str, title: str, **known: object
    ) -> None:
        """Write a page that stands below a campaign's own."""
        above = [(chapter.title, chapter.path)]
        path = f"{chapter.campaign}/{name}"
        self.writer.own(template, path, title, chapter, above, **known)

    def _write_changes(self, compared: Mapping[str, Analysis]) -> None:
        found = changes(compared, self._shown)
        campaigns = len(self.writer.contents.chapters)
        self.writer.own(
            "compare", COMPARE, tr("Compare"), changes=found, campaigns=campaigns,
            pairs=len(self.pairs),
        )  # fmt: skip
        for change in found:
            above = [(tr("Compare"), COMPARE)]
            self.writer.own("change", change.path, change.title, above=above, change=change)

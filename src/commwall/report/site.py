"""The landing page, and a copy of every page and table beside it.

Layer: report. Writes `results/site/index.html`, and `results/site/<campaign>/` and
`results/site/pages/` beside it, which can be published as they are. A campaign that cannot be
read is named with its problem and stops nothing.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from commwall.analysis import breakeven, census, columns
from commwall.analysis.mitigations import table as mitigations
from commwall.analysis.names import QUANTITIES_OF
from commwall.analysis.result import analyse_campaign
from commwall.analysis.scaling import tables as scaling
from commwall.records.ladders import ladders
from commwall.records.layout import Layout
from commwall.records.store import write_atomically
from commwall.report.narrative import not_covered_lines
from commwall.report.overview import Answer, answers, why_no_verdict
from commwall.report.pages import GENERAL_PAGES, PAGES, pages_for
from commwall.report.render import TEMPLATES
from commwall.schema.errors import CommwallError

DESCRIPTIONS = {
    **columns.DESCRIPTIONS,
    **breakeven.DESCRIPTIONS,
    **scaling.DESCRIPTIONS,
    **census.DESCRIPTIONS,
    **mitigations.DESCRIPTIONS,
}
TABLE_KINDS = (".csv", ".parquet")


@dataclass(frozen=True)
class PageLink:
    """One rendered notebook."""

    title: str
    html: str
    notebook: str | None


@dataclass(frozen=True)
class TableLink:
    """One table in all its formats."""

    name: str
    holds: str
    links: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """One campaign on the landing page."""

    campaign: str
    title: str
    state: str = ""
    cards: tuple[Answer, ...] = ()
    problems: tuple[str, ...] = ()
    pages: tuple[PageLink, ...] = ()
    tables: tuple[TableLink, ...] = ()
    not_covered: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


def publish(layout: Layout, campaigns: tuple[str, ...], confidence: float) -> Path:
    """Write the landing page of these campaigns; what stood in its folder before is replaced.

    Returns:
        Path of the page.

    Raises:
        OSError: if the file system refuses.
    """
    folder = layout.site_dir()
    shutil.rmtree(folder, ignore_errors=True)
    entries = tuple(_entry(layout, campaign, confidence) for campaign in campaigns)
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    css = (TEMPLATES / "page.css").read_text(encoding="utf-8")
    page = environment.get_template("site.html.j2").render(
        entries=entries, general=_copy_general(layout), css=css
    )
    write_atomically(layout.landing_path(), page)
    return layout.landing_path()


def _entry(layout: Layout, campaign: str, confidence: float) -> Entry:
    try:
        analysis = analyse_campaign(layout, campaign, confidence)
    except CommwallError as error:
        return Entry(campaign, campaign, problems=(str(error),))
    pages, copied = _copy_pages(layout, campaign), _copy_tables(layout, campaign)
    plan, index = analysis.evidence.plan, analysis.evidence.index
    suites = {suite.suite for suite in plan.suites} if plan else set(QUANTITIES_OF)
    wanted = pages_for(suites, several_sizes=bool(plan and ladders(plan)))
    missing = [f"page {name}: not rendered" for name in wanted if name not in pages]
    return Entry(
        campaign=campaign,
        title=index.title,
        state=f"{len(analysis.evidence.records)} of {len(index.findings)} records",
        cards=answers(analysis),
        problems=() if analysis.verdicts else why_no_verdict(analysis),
        pages=tuple(pages.values()),
        tables=copied,
        not_covered=not_covered_lines(analysis),
        gaps=(*missing, *(str(gap) for gap in analysis.gaps)),
    )


def _copy_general(layout: Layout) -> tuple[PageLink, ...]:
    """Copy the rendered notebooks that are of no campaign."""
    found = [(name, layout.general_dir() / f"{name}.html") for name in GENERAL_PAGES]
    return tuple(
        PageLink(
            GENERAL_PAGES[name].title,
            _copy(layout, "pages", html),
            _copy(layout, "pages", html.with_suffix(".ipynb")),
        )
        for name, html in found
        if html.exists() and html.with_suffix(".ipynb").exists()
    )


def _copy_pages(layout: Layout, campaign: str) -> dict[str, PageLink]:
    """Copy the rendered notebooks; known ones first, in reading order."""
    found = {path.stem: path for path in layout.notebooks_dir(campaign).glob("*.html")}
    names = [*(name for name in PAGES if name in found), *sorted(found.keys() - PAGES.keys())]
    links = {}
    for name in names:
        notebook = found[name].with_suffix(".ipynb")
        html = _copy(layout, campaign, found[name])
        executed = _copy(layout, campaign, notebook) if notebook.exists() else None
        links[name] = PageLink(PAGES[name].title if name in PAGES else name, html, executed)
    return links


def _copy_tables(layout: Layout, campaign: str) -> tuple[TableLink, ...]:
    folder = layout.tables_dir(campaign)
    paths = {n: [p for k in TABLE_KINDS if (p := folder / (n + k)).exists()] for n in DESCRIPTIONS}
    return tuple(
        TableLink(name, DESCRIPTIONS[name], tuple(_copy(layout, campaign, path) for path in found))
        for name, found in paths.items()
        if found
    )


def _copy(layout: Layout, folder: str, path: Path) -> str:
    """Copy a file into the site; returns its address relative to the landing page."""
    target = layout.site_dir() / folder / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)
    return f"{folder}/{path.name}"

"""What a reader can take away: tables, records and executed notebooks, each file once.

Layer: report. Copies what verbs have written into `results/site/downloads/`, and writes a bundle
of each campaign there.
"""

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from commwall.analysis.mitigations import table as mitigations
from commwall.analysis.scaling import tables as scaling
from commwall.analysis.tables import breakeven, census, columns
from commwall.records.bundle import collect, write_bundle
from commwall.records.layout import Layout
from commwall.report.site.places import FILES
from commwall.schema.errors import CommwallError

DESCRIPTIONS = {
    **columns.DESCRIPTIONS,
    **breakeven.DESCRIPTIONS,
    **scaling.DESCRIPTIONS,
    **census.DESCRIPTIONS,
    **mitigations.DESCRIPTIONS,
}
"""Table -> what it holds, in the order a reader wants them."""
TABLE_KINDS = {".csv": "CSV", ".parquet": "Parquet"}


@dataclass(frozen=True)
class Download:
    """A file to take away."""

    path: str
    """Its path below the site."""
    size_bytes: int


@dataclass(frozen=True)
class Bundle:
    """All records of a campaign in one file."""

    file: Download
    records: int
    left_out: tuple[str, ...]
    """Records that cannot be read, each with its reason."""


@dataclass(frozen=True)
class Downloads:
    """What there is of one campaign."""

    tables: Mapping[str, Mapping[str, Download]]
    """Table -> format -> file."""
    bundle: Bundle | None
    problem: str = ""
    """Why there is no bundle."""


def collect_downloads(layout: Layout, campaign: str) -> Downloads:
    """Copy the tables of a campaign and bundle its records."""
    tables = _copy_tables(layout, campaign)
    try:
        return Downloads(tables, _bundle(layout, campaign))
    except (CommwallError, OSError) as error:
        return Downloads(tables, None, str(error))


def copy(layout: Layout, source: Path, path: str) -> Download:
    """Copy a file into the site.

    Args:
        layout: the checkout.
        source: the file.
        path: where it belongs, below the site.
    """
    target = layout.site_dir() / path
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    return Download(path, target.stat().st_size)


def copy_notebook(layout: Layout, page: Path, folder: str, below: str) -> Download | None:
    """Copy the executed notebook behind a rendered page; None where no notebook is.

    Args:
        layout: the checkout.
        page: the rendered page, beside which the notebook lies.
        folder: of its language, as in `Place`.
        below: the campaign, or the folder of pages that are of none.
    """
    notebook = page.with_suffix(".ipynb")
    if not notebook.exists():
        return None
    return copy(layout, notebook, f"{FILES}/{below}/notebooks/{folder}{notebook.name}")


def _copy_tables(layout: Layout, campaign: str) -> dict[str, dict[str, Download]]:
    folder = layout.tables_dir(campaign)
    found = {name: _formats(folder / name) for name in DESCRIPTIONS}
    return {
        name: {
            kind: copy(layout, path, f"{FILES}/{campaign}/tables/{path.name}")
            for kind, path in formats
        }
        for name, formats in found.items()
        if formats
    }


def _formats(table: Path) -> list[tuple[str, Path]]:
    paths: Iterable[tuple[str, Path]] = (
        (kind, table.with_name(table.name + suffix)) for suffix, kind in TABLE_KINDS.items()
    )
    return [(kind, path) for kind, path in paths if path.exists()]


def _bundle(layout: Layout, campaign: str) -> Bundle:
    files, left_out = collect(layout, campaign)
    path = f"{FILES}/{campaign}/{campaign}.tar.gz"
    target = layout.site_dir() / path
    write_bundle(target, campaign, files)
    records = sum(name.startswith("records/") for name in files)
    return Bundle(Download(path, target.stat().st_size), records, left_out)

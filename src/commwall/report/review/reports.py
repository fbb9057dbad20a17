"""The pages of two reports, paired by name.

Layer: report. Reads executed notebooks (`.ipynb`) and pages (`.html`), or folders of them.
"""

from dataclasses import dataclass
from pathlib import Path

from commwall.records.files import content_of
from commwall.report.review.change import Change
from commwall.report.review.comparing import page_changes
from commwall.report.review.content import Content, TooMuch, content_of_page
from commwall.report.review.notebook import page_of
from commwall.schema.errors import CommwallError, ConfigError

PAGE, NOTEBOOK = ".html", ".ipynb"
MOST_PAGES = 2_000
LARGEST_PAGE_BYTES = 16 * 2**20


class ReviewError(CommwallError):
    """Something that is no report, or cannot be read."""


@dataclass(frozen=True)
class Review:
    """What changed between two reports."""

    pages: dict[str, tuple[Change, ...]]
    """Page that both have -> what differs; in order of their names."""
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs in numbers, words, pictures or code."""
        return not (self.only_old or self.only_new or any(self.pages.values()))


def review(old: Path, new: Path) -> Review:
    """Compare two pages, or all pages of two folders that have one name.

    Args:
        old: an executed notebook, its page, or a folder of them.
        new: the same of the other report.

    Raises:
        ReviewError: if one of them is not there, holds no report, is too large or cannot be read,
            or if one is a folder and the other is not.
    """
    if absent := [str(place) for place in (old, new) if not place.exists()]:
        raise ReviewError(
            "there is nothing to compare",
            where=" and ".join(absent),
            found="no such file or folder",
            expected="a page, an executed notebook, or a folder of them",
            next_step="look at the name, or render it first: make report",
        )
    if old.is_dir() != new.is_dir():
        raise ReviewError(
            "a page and a folder of pages cannot be compared",
            where=f"{old} and {new}",
            found=f"{new if new.is_dir() else old} is a folder",
            expected="two pages, or two folders",
            next_step="name the page within the folder",
        )
    before, after = _pages(old), _pages(new)
    if not old.is_dir():
        before, after = {new.stem: old}, {new.stem: new}
    return Review(
        {
            name: page_changes(_content(before[name]), _content(after[name]))
            for name in sorted(before.keys() & after.keys())
        },
        only_old=tuple(sorted(before.keys() - after.keys())),
        only_new=tuple(sorted(after.keys() - before.keys())),
    )


def _pages(place: Path) -> dict[str, Path]:
    """Name of a page -> its file; in a folder notebooks count only where there are no pages."""
    if not place.is_dir():
        return {place.stem: place}
    found = [path for path in place.rglob("*") if not path.is_dir()]
    kinds = ([path for path in found if path.suffix == kind] for kind in (PAGE, NOTEBOOK))
    files = next(filter(None, kinds), [])
    if not files or len(files) > MOST_PAGES:
        raise ReviewError(
            "a folder is no report",
            where=str(place),
            found=f"{len(files):,} pages",
            expected=f"1 to {MOST_PAGES:,} files that end with {PAGE} or {NOTEBOOK}",
            next_step="render it first: commwall render CAMPAIGN summary, or make report",
        )
    return {path.relative_to(place).with_suffix("").as_posix(): path for path in files}


def _content(path: Path) -> Content:
    try:
        content = content_of(path)
    except OSError as error:
        raise _unfit(path, error.strerror or str(error)) from error
    if len(content) > LARGEST_PAGE_BYTES:
        raise _unfit(path, f"more than {LARGEST_PAGE_BYTES:,} byte")
    text = content.decode("utf-8", errors="replace")
    try:
        return content_of_page(page_of(text, path.name) if path.suffix == NOTEBOOK else text)
    except (TooMuch, ConfigError) as error:
        raise _unfit(path, str(error)) from error


def _unfit(path: Path, found: str) -> ReviewError:
    return ReviewError(
        "a page cannot be compared",
        where=str(path),
        found=found,
        expected=f"a page ({PAGE}) or an executed notebook ({NOTEBOOK})",
        next_step="look at the name, or render it anew",
    )

"""Where a page stands in the site, and how it leads to others.

Layer: report. Reads and writes no file. All addresses are relative, so that the folder works
wherever it lies, opened as files too.
"""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass

LANDING = "index.html"
COMPARE = "compare.html"
PROVENANCE = "provenance.html"
DOWNLOADS = "downloads.html"
GENERAL = "pages"
"""Folder of pages that are of no campaign."""
FILES = "downloads"
"""Folder of what all languages share."""


@dataclass(frozen=True)
class Place:
    """A page of the site."""

    folder: str
    """Folder of its language with a slash, or nothing for the first language."""
    path: str
    """Its path below that folder."""

    def page(self, path: str) -> str:
        """Address of another page of the same language."""
        return self.file(self.folder + path)

    def file(self, path: str) -> str:
        """Address of a file, by its path below the site."""
        return posixpath.relpath(path, posixpath.dirname(self.folder + self.path) or ".")


def folders_of(languages: Sequence[str]) -> dict[str, str]:
    """Language -> folder of its pages: none for the first, in which the site opens."""
    first, *others = languages
    return {first: "", **{language: f"{language}/" for language in others}}

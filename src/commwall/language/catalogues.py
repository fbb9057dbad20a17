"""Catalogues of translations, one file for each part of the package, in gettext's format.

Layer: language. Reads and writes `<language>/*.po`.
"""

from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

NOT_DONE = ""
"""Translation of a message that nobody has translated yet."""


def translations(folder: Path) -> dict[str, str]:
    """English message -> translation, of all catalogues in a folder; those without are left out."""
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.po")):
        found |= {key: text for key, text in read(path).items() if text != NOT_DONE}
    return found


def read(path: Path) -> dict[str, str]:
    """English message -> translation of one catalogue; empty if there is no such file."""
    if not path.exists():
        return {}
    with path.open("rb") as file:
        catalogue = read_po(file)
    return {str(entry.id): str(entry.string) for entry in catalogue if entry.id}


def write(path: Path, texts: dict[str, str], language: str) -> None:
    """Write a catalogue: messages sorted, no date and no line numbers, so that it merges."""
    catalogue = Catalog(locale=language, fuzzy=False)
    for message in sorted(texts):
        catalogue.add(message, texts[message])
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(file, catalogue, omit_header=True, width=100)

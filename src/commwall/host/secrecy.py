"""Digests and words that stand for what must not be stored: uuids, boot ids, names, places.

Layer: host. Reads and writes no file.
"""

import hashlib
import platform
import re
import sys
from importlib.metadata import distributions
from pathlib import Path

DIGITS = 12
PACKAGES = re.compile(r"(?:/[^/\s'\":]+)+/(?:site|dist)-packages(?=/|\b)")
"""Any folder of packages: those of an adopted interpreter lie outside this environment."""
SYSTEM = (Path("/"), Path("/usr"), Path("/usr/local"))


def short_digest(text: str) -> str:
    """SHA-256 of a text that must not be stored itself, 12 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def without_places(text: str, root: Path) -> str:
    """A message of another program without the host's name and without where things lie.

    Args:
        text: what it said.
        root: the checkout; paths below it become relative.
    """
    text = PACKAGES.sub("(packages)", text)
    places = {
        f"{root.resolve()}/": "",
        str(root.resolve()): "the checkout",
        sys.prefix: "(environment)",
        sys.base_prefix: "(python)",
        **{str(prefix): "(environment)" for prefix in _adopted()},
        str(Path.home()): "~",
    }
    for place, shown in sorted(places.items(), key=lambda pair: -len(pair[0])):
        text = text.replace(place, shown) if len(place) > 1 else text
    return re.sub(rf"\b{re.escape(platform.node())}\b", "(host)", text) if platform.node() else text


def _adopted() -> set[Path]:
    """Prefixes of the interpreters whose packages are used here."""
    folders = {Path(str(found.locate_file(""))).absolute() for found in distributions()}
    kept = {folder for folder in folders if folder.name in ("site-packages", "dist-packages")}
    return {folder.parents[2] for folder in kept if len(folder.parents) > 2} - set(SYSTEM)

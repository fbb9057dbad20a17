"""Which version of commwall this is.

Layer: cli. Reads the metadata of the installed package, or the checkout's `pyproject.toml`.
"""

import tomllib
from importlib import metadata
from pathlib import Path


def version() -> str:
    """Version of commwall: as it was installed, or as the checkout says that holds this file."""
    try:
        return metadata.version("commwall")
    except metadata.PackageNotFoundError:
        project = Path(__file__).parents[3] / "pyproject.toml"
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])

"""What all tests share: their order, and the marks their folders give them."""

from pathlib import Path

import pytest

SLOW_LAST = (
    *("unit", "contracts", "golden", "notebooks", "site", "torch", "workflow", "slurm", "e2e"),
    "gpu",
)
"""Folders in the order in which a failure is cheapest to learn."""
MARKED = ("torch", "workflow", "slurm", "e2e", "gpu")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their folder, and run cheap folders before expensive ones."""
    for item in items:
        if _folder(item) in MARKED:
            item.add_marker(_folder(item))
    items.sort(key=lambda item: SLOW_LAST.index(_folder(item)) if _known(item) else 0)


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(Path(__file__).parent).parts[0]


def _known(item: pytest.Item) -> bool:
    return _folder(item) in SLOW_LAST

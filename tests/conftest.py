"""What all tests share: their order, the marks their folders give them, and their processes."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sharing import Sharing

SLOW_LAST = (
    *("unit", "slurm", "contracts", "golden", "notebooks", "site", "workflow", "torch", "e2e"),
    "gpu",
)
"""Folders in the order in which a failure is cheapest to learn; those behind Slurm mostly wait, and
do so while there is enough else to do."""
MARKED = ("torch", "workflow", "slurm", "e2e", "gpu")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their folder, and run cheap folders before expensive ones."""
    for item in items:
        if _folder(item) in MARKED:
            item.add_marker(_folder(item))
    items.sort(key=lambda item: SLOW_LAST.index(_folder(item)) if _known(item) else 0)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> "Sharing":
    """Share tests out between several processes of tests."""
    from tests.sharing import Sharing  # asked only where pytest-xdist is installed

    return Sharing(config, log)


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(Path(__file__).parent).parts[0]


def _known(item: pytest.Item) -> bool:
    return _folder(item) in SLOW_LAST

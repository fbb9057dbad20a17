"""A process group for tests that need one within their own process."""

from collections.abc import Iterator
from typing import Any

import pytest

KEPT: list[Any] = []
"""Groups that were ended. A thread of the group may free a hook of DDP, and with it the last
mention of the group; it would then wait for its own end, and abort the process."""


@pytest.fixture(scope="module")
def lone_group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """This process is the only rank, as long as the module's tests run."""
    from torch import distributed

    store = distributed.FileStore(str(tmp_path_factory.mktemp("group") / "store"), 1)
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    KEPT.append(distributed.group.WORLD)
    yield
    distributed.destroy_process_group()

"""The known transfer: the ranks agree on it, and it carries what it says."""

import json
from typing import Any

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

torch = pytest.importorskip("torch")

from launching import run_ranks

from commwall.schema.case import SuiteName
from commwall.workers.known_transfer import launch_transfer, wire_bytes

BUFFER_BYTES = 2**22


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    folder = tmp_path_factory.mktemp("known")
    assert run_ranks("known", folder) == [0, 0]
    first, second = (json.loads((folder / f"{rank}.json").read_text()) for rank in range(2))
    return first, second


def test_ranks_that_see_different_times_agree_on_the_number(
    ranks: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    first, second = ranks
    assert first["what"] == second["what"]
    count = int(first["what"].removesuffix(" all-reduces of 4 MiB"))
    assert count > 1
    assert first["sent_bytes"] == second["sent_bytes"] == count * BUFFER_BYTES


def test_it_lasts_about_as_long_as_wanted_with_quiet_around_it(
    ranks: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    for found in ranks:
        lasted_s = (found["end_ns"] - found["start_ns"]) / 1e9
        assert 0.02 < lasted_s < 1, "rank 1 tells twice the time, and the machine is shared"
        assert found["seconds"] > lasted_s + 2 * 0.1


def test_the_loopback_carries_what_the_ranks_send(
    ranks: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    """gloo's own all-reduce of two ranks sends as much as a ring's; other programs may add."""
    for found in ranks:
        assert isinstance(found["carried"], int), found["carried"]
        assert found["carried"] >= 2 * found["sent_bytes"]


@pytest.mark.parametrize(("ranks_", "sent"), [(2, 1000), (4, 1500), (8, 1750)])
def test_each_rank_sends_what_the_formula_says(ranks_: int, sent: int) -> None:
    assert wire_bytes(1000, ranks_) == sent


class Place:
    """Where ranks are, without any."""

    def __init__(self, device: str, size: int) -> None:
        self.device, self.size = torch.device(device), size


@pytest.mark.parametrize(
    ("device", "size", "suite"),
    [("cpu", 2, "training"), ("cuda", 1, "training"), ("cuda", 2, "memory")],
)
def test_where_no_way_is_to_be_proven_nothing_is_sent(
    device: str, size: int, suite: SuiteName
) -> None:
    assert launch_transfer(Place(device, size), suite) is None  # type: ignore[arg-type]

"""Checkouts to start from: made once, copied for each test."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.workflow.checkout import Checkout

TINY = Path(__file__).with_name("tiny.yaml")
SIDE_BY_SIDE = 2
Start = Callable[[Callable[[Checkout, Any], None], tuple[Any, ...]], dict[Any, Future[None]]]


@pytest.fixture(scope="session")
def fresh_base(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A clone in which nothing has run."""
    return Checkout.fresh(tmp_path_factory.mktemp("fresh") / "checkout", TINY)


@pytest.fixture(scope="session")
def warm_base(fresh_base: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The same after `snakemake measure`."""
    checkout = fresh_base.copy(tmp_path_factory.mktemp("warm") / "checkout")
    run = checkout.measure()
    assert run.code == 0, run.output
    return checkout


@pytest.fixture(scope="session")
def rendered_base(warm_base: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The same after `snakemake`: all pages are there."""
    checkout = warm_base.copy(tmp_path_factory.mktemp("rendered") / "checkout")
    run = checkout.snakemake("--cores", "2")
    assert run.code == 0, run.output
    return checkout


@pytest.fixture
def fresh(fresh_base: Checkout, tmp_path: Path) -> Checkout:
    """A copy of the clone in which nothing has run."""
    return fresh_base.copy(tmp_path / "checkout")


@pytest.fixture
def warm(warm_base: Checkout, tmp_path: Path) -> Checkout:
    """A copy of the measured checkout."""
    return warm_base.copy(tmp_path / "checkout")


@pytest.fixture
def rendered(rendered_base: Checkout, tmp_path: Path) -> Checkout:
    """A copy of the checkout with all pages."""
    return rendered_base.copy(tmp_path / "checkout")


@pytest.fixture(scope="module")
def scenarios(warm_base: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts a scenario for each of several keys, two at a time, each in a measured checkout.

    Runs mostly wait for one another's start, so that two at a time halve the time. A test asks
    for the result of its own key; what no selected test asked for is not begun any more.
    """
    futures: list[Future[None]] = []
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:

        def start(scenario: Callable[[Checkout, Any], None], keys: tuple[Any, ...]):
            def run(key: Any) -> None:
                scenario(warm_base.copy(tmp_path_factory.mktemp("side") / "checkout"), key)

            started = {key: pool.submit(run, key) for key in keys}
            futures.extend(started.values())
            return started

        yield start
        for future in futures:
            future.cancel()

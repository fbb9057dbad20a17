"""Checkouts to start from: made once, copied for each test; and tests that run side by side.

Runs of Snakemake mostly wait: for an interpreter to start, for a lock, for a process to end. Of
a module marked `beside` all tests begin with its first one, three at a time, each in a checkout of
its own; each test then takes its own outcome. One marked `alone`, whose time limits allow no
other run beside it, begins when all others of its module have ended.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.workflow.checkout import Checkout

BASES = ("fresh", "warm", "rendered")
"""Fixtures that a test which runs beside others may ask for, each a copy of `<name>_base`."""
Outcomes = dict[str, Future[None]]
"""Node identifier of a test that runs beside others -> its outcome."""
TINY = Path(__file__).with_name("tiny.yaml")
SIDE_BY_SIDE = 3
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
def fresh(request: pytest.FixtureRequest, fresh_base: Checkout, tmp_path: Path) -> Checkout | None:
    """A copy of the clone in which nothing has run."""
    return None if _is_beside(request.node) else fresh_base.copy(tmp_path / "checkout")


@pytest.fixture
def warm(request: pytest.FixtureRequest, warm_base: Checkout, tmp_path: Path) -> Checkout | None:
    """A copy of the measured checkout."""
    return None if _is_beside(request.node) else warm_base.copy(tmp_path / "checkout")


@pytest.fixture
def rendered(
    request: pytest.FixtureRequest, rendered_base: Checkout, tmp_path: Path
) -> Checkout | None:
    """A copy of the checkout with all pages."""
    return None if _is_beside(request.node) else rendered_base.copy(tmp_path / "checkout")


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    """What runs side by side; what no test asks for any more is not begun."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        yield pool
        pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module", autouse=True)
def outcomes(
    request: pytest.FixtureRequest,
    pool: ThreadPoolExecutor,
    tmp_path_factory: pytest.TempPathFactory,
) -> Outcomes:
    """Begins the module's selected tests that run beside others."""
    own = [i for i in request.session.items if i.module is request.module and _is_beside(i)]
    wanted = dict.fromkeys(name for item in own for name in _arguments(item) if name in BASES)
    bases = {name: request.getfixturevalue(f"{name}_base") for name in wanted}
    folder = partial(tmp_path_factory.mktemp, "side")
    return {item.nodeid: pool.submit(_run_beside, item, bases, folder) for item in own}


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Take the outcome of a test that ran beside others; before one alone let those end."""
    outcomes: Outcomes = pyfuncitem.funcargs.get("outcomes", {})
    if pyfuncitem.nodeid in outcomes:
        outcomes[pyfuncitem.nodeid].result()
        return True
    wait(outcomes.values())
    return None


def _is_beside(item: pytest.Item) -> bool:
    marked = item.get_closest_marker("beside") and not item.get_closest_marker("alone")
    return bool(marked) and _arguments(item) <= {*BASES, "tmp_path", *_parameters(item)}


def _arguments(item: pytest.Item) -> set[str]:
    """What the test's function asks for."""
    assert isinstance(item, pytest.Function)
    return set(item._fixtureinfo.argnames)


def _parameters(item: pytest.Item) -> dict[str, Any]:
    callspec = getattr(item, "callspec", None)
    return dict(callspec.params) if callspec else {}


def _run_beside(
    item: pytest.Function, bases: dict[str, Checkout], make_folder: Callable[[], Path]
) -> None:
    """Run a test's function in this thread, with what its fixtures would have given it."""
    folder, wanted = make_folder(), _arguments(item)
    given = {**_parameters(item), "tmp_path": folder}
    given |= {name: bases[name].copy(folder / "checkout") for name in wanted & bases.keys()}
    item.obj(**{name: given[name] for name in wanted})


@pytest.fixture(scope="module")
def scenarios(
    warm_base: Checkout, pool: ThreadPoolExecutor, tmp_path_factory: pytest.TempPathFactory
) -> Start:
    """Starts a scenario for each of several keys, three at a time, each in a measured checkout.

    A test asks for the result of its own key; what no selected test asked for is not begun any
    more.
    """

    def start(
        scenario: Callable[[Checkout, Any], None], keys: tuple[Any, ...]
    ) -> dict[Any, Future[None]]:
        def run(key: Any) -> None:
            scenario(warm_base.copy(tmp_path_factory.mktemp("side") / "checkout"), key)

        return {key: pool.submit(run, key) for key in keys}

    return start

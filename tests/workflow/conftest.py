"""Checkouts to start from: made once, copied for each test."""

from pathlib import Path

import pytest

from tests.workflow.checkout import Checkout

TINY = Path(__file__).with_name("tiny.yaml")


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

"""A collective beside a load: a simulated device whose arithmetic one can do in the head."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

torch = pytest.importorskip("torch")

from pathlib import Path

from launching import emulated, launched, request

from commwall.schema.case import CollectivesCase
from commwall.schema.result import CaseResult, NamedCase
from commwall.workers.beside import FILLED, GROUPS, Disturbed, MatrixProducts, time_beside
from commwall.workers.timing import Alone

CPU = torch.device("cpu")
PRODUCT_S, OPERATION_S = 1e-3, 2e-3


class Device:
    """Simulated time: a product takes 1 ms, an operation 2 ms, `stretch` times as long beside
    products, which lose `lost` of the time that an operation is beside them."""

    def __init__(self, stretch: float = 1.0, lost: float = 0.0) -> None:
        self.now_s, self._beside = 0.0, False
        self._stretch, self._lost = stretch, lost

    def operation(self) -> None:
        self.now_s += OPERATION_S * (self._stretch if self._beside else 1)

    def run(self, count: int) -> None:
        self.now_s += count * PRODUCT_S

    @contextmanager
    def beside(self, count: int) -> Iterator[None]:
        began_s, self._beside = self.now_s, True
        yield
        taken_s, self._beside = self.now_s - began_s, False
        self.now_s = began_s + max(taken_s, count * PRODUCT_S + self._lost * taken_s)


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Device, float], Disturbed | None]:
    """What the timing gives on a device, in whose time everything is timed."""

    def found(device: Device, window_s: float) -> Disturbed | None:
        monkeypatch.setattr("commwall.workers.timing.time.perf_counter", lambda: device.now_s)
        return time_beside(device.operation, device, window_s, CPU, Alone())  # type: ignore[arg-type]

    return found


Timing = Callable[[Device, float], Disturbed | None]


def test_what_exchange_and_compute_cost_each_other(timed: Timing) -> None:
    found = timed(Device(stretch=1.25, lost=0.2), 0.5)
    assert found is not None
    # A run of 0.5 s / 5 / 2 = 50 ms has 50 products and room for 40 % of it, 10 operations.
    assert found.repetitions == round(FILLED * 0.05 / OPERATION_S) == 10
    assert found.load_s == pytest.approx([0.05] * GROUPS)
    assert found.operation_s == pytest.approx([1.25 * OPERATION_S] * GROUPS)
    assert found.load_beside_s == pytest.approx([0.05 + 0.2 * 10 * 1.25 * OPERATION_S] * GROUPS)
    assert not found.host_bound


def test_a_long_operation_has_a_run_of_its_own_length(timed: Timing) -> None:
    found = timed(Device(), 0.005)
    assert found is not None and found.repetitions == 1
    assert found.load_s == pytest.approx([OPERATION_S / FILLED] * GROUPS)


def test_a_run_is_made_longer_until_it_outlasts_the_operation(timed: Timing) -> None:
    found = timed(Device(stretch=4), 0.5)
    assert found is not None
    assert found.load_s == pytest.approx([0.15] * GROUPS)  # three times as long
    assert found.operation_s == pytest.approx([4 * OPERATION_S] * GROUPS)


def test_an_operation_that_no_run_outlasts_has_no_times(timed: Timing) -> None:
    assert timed(Device(stretch=100), 0.5) is None


def test_products_are_over_when_the_body_and_they_are() -> None:
    load = MatrixProducts(CPU)
    with load.beside(3):
        pass
    assert bool((load._product == 256).all())


def test_a_launch_tells_every_size_or_why_not(tmp_path: Path) -> None:
    case = CollectivesCase(collective="all_reduce", beside="matmul", max_bytes=65536, window_s=0.02)
    changes = {"suite": "collectives", "cases": (NamedCase(name="case", case=case),)}
    wanted = request(tmp_path, emulated(20e6, 20e-6)).model_copy(update=changes)
    with launched(wanted) as (launch, log):
        assert launch.wait(timeout=90) == 0, log.read_text()
    result = CaseResult.model_validate_json((tmp_path / "case.json").read_text())
    assert result.status == "ok", result.detail
    told = {s.message_bytes for s in result.series if s.metric == "load_beside_time_s"}
    gaps = {gap.what for gap in result.gaps}
    for size in (8, 32, 128, 512, 2048, 8192, 32768, 65536):
        assert (size in told) != (f"load_beside_time_s at {size} byte" in gaps)
    for series in result.series:
        if series.metric == "operation_time_s" and series.message_bytes == 65536:
            assert min(series.values) >= 65536 / 20e6

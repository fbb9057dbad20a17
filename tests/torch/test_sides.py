"""The plain step that cases of suite `mitigations` share: when it is kept, how it begins anew."""

import weakref
from typing import Any

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

torch = pytest.importorskip("torch")

from torch import nn

from commwall.schema.case import Windows
from commwall.schema.mitigation import Mitigation, StepCase
from commwall.workers import sides
from commwall.workers.mitigated import _ExchangedStep
from commwall.workers.sides import KeptPlain, Renewable, same_losses

CASE = StepCase(
    model="transformer_xl", preset="demo", batch_per_gpu=1, sequence_length=16, dataset_samples=1,
    windows=Windows(full_s=1, other_s=1, min_steps=3, warmup_max_s=1),
    mitigation=Mitigation(static_graph=True),
)  # fmt: skip


class FakeSide:
    """Stands for a plain step; knows how often it began."""

    def __init__(self, case: StepCase, group: object) -> None:
        assert not any(each() for each in BUILT), "two plain steps at once"
        BUILT.append(weakref.ref(self))
        self.begun, self.step, self.run = 1, "step", "recorded"

    def begin_anew(self) -> None:
        self.begun += 1


BUILT: list[weakref.ref[FakeSide]] = []


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> KeptPlain:
    BUILT.clear()
    monkeypatch.setattr(sides, "PlainSide", FakeSide)
    return KeptPlain()


@pytest.fixture(scope="module")
def group() -> Any:
    return object()


def test_a_case_with_another_mitigation_and_windows_has_the_same_plain_step(
    kept: KeptPlain, group: Any
) -> None:
    longer = CASE.windows.model_copy(update={"full_s": 5})
    other = CASE.model_copy(update={"mitigation": Mitigation(accumulate=2), "windows": longer})
    first: Any = kept.side(CASE, group)
    kept.end_case()
    assert first.run == "step", "a recording outlives its case"
    assert kept.side(other, group) is first and first.begun == 2


@pytest.mark.parametrize("change", [{"batch_per_gpu": 2}, {"seed": 1}, {"bucket_bytes": 2**20}])
def test_what_differs_is_built_after_the_one_before_is_gone(
    kept: KeptPlain, group: Any, change: dict[str, int]
) -> None:
    kept.side(CASE, group)
    kept.side(CASE.model_copy(update=change), group)
    assert len(BUILT) == 2 and BUILT[0]() is None


def test_another_launch_and_a_dropped_one_start_afresh(kept: KeptPlain, group: Any) -> None:
    kept.side(CASE, group)
    kept.side(CASE, object())  # type: ignore[arg-type]
    kept.drop()
    assert [each() for each in BUILT] == [None, None]


def test_a_workload_begins_anew_where_it_was_built() -> None:
    own = Renewable(CASE, torch.device("cpu"), 0)
    runs = []
    for _ in range(2):
        losses = []
        for _ in range(4):
            own.step(own.module)
            losses.append(float(own.loss))
        runs.append(losses)
        own.begin_anew()
    assert runs[0] == runs[1] and len(set(runs[0])) == 4


class Line:
    """Something that trains in no time."""

    def __init__(self) -> None:
        self.module = nn.Linear(1, 1)

    def forget_gradients(self) -> None:
        self.module.zero_grad()

    def add_gradients(self, model: nn.Module, share: float) -> torch.Tensor:
        loss = model(torch.ones(1)).sum()
        loss.backward()
        return loss.detach()

    def update(self, loss: torch.Tensor) -> None: ...


@pytest.mark.usefixtures("lone_group")
def test_no_step_after_the_first_ten_is_one_that_ddp_times() -> None:
    trainee: Any = Line()
    exchanged = _ExchangedStep(trainee, Mitigation.model_construct(), 2**20, None)
    for _ in range(102):
        exchanged.step()
    assert int(exchanged._ddp._get_ddp_logging_data()["iteration"]) <= 10


def test_losses_of_another_step_are_told_apart() -> None:
    assert same_losses("name", [2.0, 1.01], [2.0, 1.0]).passed
    assert not same_losses("name", [2.0, 1.03], [2.0, 1.0]).passed

"""Step modes without a GPU: what the compiler is given, and who decides a step's length."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

# ruff: noqa: E402 - without torch this module is skipped before it imports it
import pytest

torch = pytest.importorskip("torch")

from launching import request
from torch import nn

from commwall.analysis.values.training import host_gap
from commwall.schema.case import MODELS, TrainingCase
from commwall.schema.inference import InferenceCase
from commwall.workers import legs
from commwall.workers.compilation import Region, cache_use, compile_regions, named_refusals
from commwall.workers.hosting import MOST_HOST_GAP, QUEUED_STEPS, gap_mark, queued_steps
from commwall.workers.llama import WHOLE, Llama
from commwall.workers.models import FAMILIES
from commwall.workers.outcomes import Unsupported
from commwall.workers.timing import Alone
from tests import samples
from tests.golden.build import FAST, record

CPU = torch.device("cpu")


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[torch.fx.GraphModule]:
    """Blocks are traced as they are for a GPU, and run without a compiler; the graphs traced."""
    graphs: list[torch.fx.GraphModule] = []

    def keep(graph: torch.fx.GraphModule, _: list[torch.Tensor]) -> Callable[..., object]:
        graphs.append(graph)
        return graph.forward

    torch.compiler.reset()
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=keep))
    return graphs


def case_of(folder: Path, model: str, **changes: object) -> TrainingCase:
    length = {} if MODELS[model].samples == "sequence" else {"sequence_length": None}  # type: ignore[index]
    case = request(folder, model=model, **length, **changes).cases[0].case
    assert isinstance(case, TrainingCase)
    return case


@pytest.mark.parametrize(
    ("model", "blocks"),
    [
        ("bert", 3),
        ("gpt", 3),
        ("resnet", 6),
        ("swin", 8),
        ("transformer_xl", 3),
        ("unet3d", 3),
        ("vit", 3),
    ],
)
def test_blocks_are_compiled_whole_once_a_kind_and_compute_the_same(
    tmp_path: Path, model: str, blocks: int, traced: list[torch.fx.GraphModule]
) -> None:
    plain = legs.Workload(case_of(tmp_path, model), CPU, rank=0)
    compiled = legs.Workload(case_of(tmp_path, model, step_mode="compile"), CPU, rank=0)
    for _ in range(3):
        plain.step(plain.module)
        compiled.step(compiled.module)
        assert float(compiled.loss) == pytest.approx(float(plain.loss), rel=1e-6)
    assert len(traced) == blocks
    assert compiled.gradient_norm() == pytest.approx(plain.gradient_norm(), rel=1e-5)


def test_halves_of_a_decoder_are_compiled_whole_and_answer_the_same(
    traced: list[torch.fx.GraphModule],
) -> None:
    case = InferenceCase(preset="demo", batch=2, prompt_tokens=6, generated_tokens=8)
    plain = Llama(case, WHOLE, CPU)
    compiled = Llama(case.model_copy(update={"step_mode": "compile"}), WHOLE, CPU)
    for run in (Llama.read_prompts, Llama.next_tokens, Llama.next_tokens):
        run(plain)
        run(compiled)
        assert torch.equal(compiled.scores, plain.scores)
    assert len(traced) == 4  # both halves, of a prompt and of a token


@pytest.mark.parametrize("model", MODELS)
def test_most_parameters_lie_in_blocks(model: str) -> None:
    module = FAMILIES[model].build("demo")
    owners = [owner for owner, _ in FAMILIES[model].regions(module) if owner is not module]
    inside = {id(p): p.numel() for owner in owners for p in owner.parameters()}
    total = sum(p.numel() for p in module.parameters())
    assert sum(inside.values()) > 0.6 * total


def test_data_dependent_control_flow_is_refused_by_name(
    traced: list[torch.fx.GraphModule],
) -> None:
    class Fickle(nn.Module):  # type: ignore[misc]
        def forward(self, values: torch.Tensor) -> torch.Tensor:
            return values + 1 if values.sum() > 0 else values

    block = Fickle()
    compile_regions([Region(block)])
    with pytest.raises(Unsupported, match="cannot be compiled in one piece"), named_refusals():
        block(torch.ones(3))


def test_cache_use_counts_graphs(traced: list[torch.fx.GraphModule]) -> None:
    from torch._dynamo.utils import counters

    before = cache_use()
    counters["inductor"]["fxgraph_cache_miss"] += 2
    counters["aot_autograd"]["autograd_cache_hit"] += 3
    after = cache_use()
    assert (after.hits - before.hits, after.misses - before.misses) == (3, 2)


class Device:
    """A device and its host in simulated time; also the clock of the steps."""

    def __init__(self, work_s: float, host_s: float, blocks_after: int = 10**9) -> None:
        self.work_s, self.host_s, self.blocks_after = work_s, host_s, blocks_after
        self.now_s = self.free_s = 0.0
        self.ends: list[float] = []
        self.queued = 0

    def step(self) -> None:
        """The host needs its time, then the device does its work when it is free."""
        self.now_s += self.host_s
        self.queued += 1
        if self.queued > self.blocks_after:
            self.now_s = max(self.now_s, self.free_s)
        self.free_s = max(self.free_s, self.now_s) + self.work_s

    def mark(self) -> None:
        self.ends.append(max(self.free_s, self.now_s) if not self.ends else self.free_s)

    def intervals_s(self) -> list[float]:
        ends, self.ends, self.queued = self.ends, [], 0
        self.now_s = self.free_s = max(self.now_s, self.free_s)
        return [b - a for a, b in zip(ends, ends[1:], strict=False)]

    def hold(self, delay_s: float) -> Callable[[], bool]:
        self.free_s = max(self.now_s, self.free_s) + delay_s
        until_s = self.free_s
        return lambda: self.now_s < until_s


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Callable[[Device], Device]:
    def simulate(device: Device) -> Device:
        monkeypatch.setattr("commwall.workers.hosting.time.perf_counter", lambda: device.now_s)
        return device

    return simulate


def test_a_slow_host_is_seen(simulated: Callable[[Device], Device]) -> None:
    device = simulated(Device(work_s=0.010, host_s=0.015))
    queued = queued_steps(device.step, device, Alone(), device.hold)
    assert queued == pytest.approx([0.010] * QUEUED_STEPS)
    mark = gap_mark("full", queued, (0.015, 0.015, 0.015))
    assert mark is not None and (mark.name, mark.leg) == ("host_bound", "full")
    assert "waits for the host 33.3% of the time" in mark.detail


def test_a_slow_device_is_not_blamed_on_the_host(simulated: Callable[[Device], Device]) -> None:
    device = simulated(Device(work_s=0.040, host_s=0.001))
    queued = queued_steps(device.step, device, Alone(), device.hold)
    assert queued == pytest.approx([0.040] * QUEUED_STEPS)
    assert gap_mark("full", queued, (0.0401, 0.0402, 0.0401)) is None


def test_the_gap_counts_above_its_limit() -> None:
    step_s = 0.1
    just_below = [step_s * (1 - MOST_HOST_GAP + 1e-6)]
    just_above = [step_s * (1 - MOST_HOST_GAP - 1e-6)]
    assert gap_mark("nosync", just_below, (step_s,)) is None
    assert gap_mark("nosync", just_above, (step_s,)) is not None


@pytest.mark.parametrize(
    "queued_s",
    [(0.0979, 0.0979), (0.0981, 0.0979), (0.09, 0.0981), (0.09, 0.0979), (0.1, 0.11)],
    ids=["waits", "once not", "noise", "waits, noise", "never"],
)
def test_mark_and_table_have_one_rule(queued_s: tuple[float, ...]) -> None:
    """A share above the limit in the table is marked, and none below it."""
    golden = record(FAST, 1)
    series = (
        samples.series("step_time_s", "s", (0.1, 0.1, 0.1), "full"),
        samples.series("queued_step_time_s", "s", queued_s, "full"),
    )
    gap = host_gap(golden.model_copy(update={"series": series}), "full")
    marked = gap_mark("full", list(queued_s), (0.1, 0.1, 0.1)) is not None
    assert gap is not None and (gap > MOST_HOST_GAP) is marked


def test_launches_that_wait_for_the_one_before_do_no_harm(
    simulated: Callable[[Device], Device],
) -> None:
    device = simulated(Device(work_s=0.010, host_s=0.001, blocks_after=1))
    queued = queued_steps(device.step, device, Alone(), device.hold)
    assert queued == pytest.approx([0.010] * QUEUED_STEPS)


def test_a_host_that_never_gets_ahead_is_doubted(simulated: Callable[[Device], Device]) -> None:
    device = simulated(Device(work_s=0.010, host_s=0.001, blocks_after=0))
    assert queued_steps(device.step, device, Alone(), device.hold) is None
    mark = gap_mark("full", None, (0.01,))
    assert mark is not None and mark.name == "host_bound"


def test_ranks_that_are_ahead_wait_for_the_one_that_is_not(
    simulated: Callable[[Device], Device],
) -> None:
    class OtherIsLate(Alone):
        asked = 0

        def least(self, value: float) -> float:
            self.asked += 1
            return 0.0 if self.asked == 1 else value

    device, crew = simulated(Device(work_s=0.010, host_s=0.001)), OtherIsLate()
    assert queued_steps(device.step, device, crew, device.hold) is not None
    assert crew.asked == 2


def test_devices_meet_behind_the_delay_of_every_step(
    simulated: Callable[[Device], Device],
) -> None:
    device = simulated(Device(work_s=0.010, host_s=0.001))

    class SlowToMeet(Alone):
        met = 0

        def meet(self) -> None:
            self.met += 1
            device.free_s += 0.5  # waits for another rank's device

    crew = SlowToMeet()
    queued = queued_steps(device.step, device, crew, device.hold)
    assert queued == pytest.approx([0.010] * QUEUED_STEPS)
    assert crew.met == 1 + QUEUED_STEPS


def test_a_recorded_step_that_computes_otherwise_is_seen(tmp_path: Path) -> None:
    workload = legs.Workload(case_of(tmp_path, "bert"), CPU, rank=0)
    step = partial(workload.step, workload.module)
    check = legs.recorded_check(workload, step, step)
    assert check.passed and check.name == "recorded_step_equals_plain"

    def forgets_the_loss() -> None:
        workload.forward_backward(workload.module)

    assert not legs.recorded_check(workload, forgets_the_loss, step).passed

    def learns_something_else() -> None:
        workload.step(workload.module)
        workload.gradients()[0].mul_(2.0)

    assert not legs.recorded_check(workload, learns_something_else, step).passed

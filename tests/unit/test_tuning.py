"""The tuner on simulated launches whose best combination is known."""

import json
import random
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from commwall.host.energy import EnergySampler
from commwall.judge.facts import read_variables
from commwall.measure.supervisor import Launch, LaunchOutcome
from commwall.measure.tuning import tuner as tuning
from commwall.measure.tuning.candidates import Candidate, Place, choose, read_settings
from commwall.measure.tuning.halving import Costs
from commwall.measure.tuning.outcome import CODE, Evidence, Found, write_found
from commwall.measure.tuning.tuner import FILLER, Tuner, with_variables
from commwall.schema.case import Windows
from commwall.schema.config import Timeouts
from commwall.schema.errors import PlanError
from commwall.schema.mitigation import Mitigation, StepCase
from commwall.schema.plan import PlannedPlatform
from commwall.schema.result import CaseResult, LaunchRequest, Series
from commwall.schema.treatment import Label, NativeLink, NcclVariables
from tests.samples import platform

ROOT = Path(__file__).parents[2]
LABEL = Label(title="host-staged", stands_for="a bound", does_not_cover="anything else")
GPUS = PlannedPlatform(
    name="gpus",
    device="cuda",
    world_size=2,
    treatment=NcclVariables(label=LABEL, variables={"NCCL_P2P_DISABLE": "1"}),
    path="host_staged",
)
WORKLOAD = StepCase(
    model="bert", preset="demo", batch_per_gpu=4, sequence_length=64, dataset_samples=1,
    windows=Windows(full_s=1, other_s=1, min_steps=3, warmup_max_s=0.1), mitigation=FILLER,
)  # fmt: skip
PLAIN_S = 0.1
WANTED = {"exchange": "bfloat16", "overlap_optimizer": True}


class Machine:
    """Stands for launches: a step takes what its options say, with noise of 3 % at 0.5 s.

    A setting of NCCL's makes every step of its launch faster, the plain one too.
    """

    def __init__(self, seed: int) -> None:
        self._random, self.launches = random.Random(seed), 0

    def run_launch(self, request: LaunchRequest, launch: Launch) -> LaunchOutcome:
        treatment = request.platform.treatment
        chosen = treatment.variables if isinstance(treatment, NcclVariables) else {}
        faster = 0.9 if "NCCL_MIN_CTAS" in chosen else 1.0
        self.launches += 1
        results = tuple(
            self._result(named.name, named.case, faster)  # type: ignore[arg-type]
            for named in request.cases
        )
        return LaunchOutcome(
            results=results, remaining=(), lost=(), cause=None, detail="",
            ended_at=datetime(2026, 1, 1, tzinfo=UTC), energy=EnergySampler(), variables={},
        )  # fmt: skip

    def _result(self, name: str, case: StepCase, faster: float) -> CaseResult:
        own = case.mitigation
        gain = 0.75 if own.exchange == "bfloat16" else 0.5 if own.exchange == "int8" else 1.0
        gain *= 0.93 if own.overlap_optimizer else 1.0
        gain *= 1.05 if own.bucket_bytes else 1.0
        deviation = 0.03 * (0.5 / case.windows.full_s) ** 0.5
        times = {
            "full": PLAIN_S * faster * self._random.gauss(1, deviation),
            "mitigated": PLAIN_S * faster * gain * own.batches * self._random.gauss(1, deviation),
        }
        series = tuple(
            Series(metric="step_time_s", unit="s", leg=leg, rank=rank, values=(t, t, t))  # type: ignore[arg-type]
            for leg, t in times.items()
            for rank in (0, 1)
        )
        return CaseResult(case=name, status="ok", series=series)


def tuner(where: PlannedPlatform, folder: Path) -> Tuner:
    def request(own: PlannedPlatform, cases: Any, output: Path) -> LaunchRequest:
        return LaunchRequest(
            campaign="tune", platform=own, suite="mitigations", round=1, round_id="tune",
            cases=cases, output_dir=str(output), cache_dir=str(output), threads_per_rank=1,
            collective_timeout_s=1,
        )  # fmt: skip

    def launch(name: str) -> Launch:
        return Launch(folder / name, folder / f"{name}.log", Timeouts())

    return Tuner(WORKLOAD, where, request, launch, lambda line: None, lambda own: f"of {own.words}")


def searched(
    patch: pytest.MonkeyPatch, folder: Path, where: PlannedPlatform, *, seed: int = 1,
    price: Any = "rounding", variables: bool = False, within_s: float = 300,
) -> tuple[Found, Machine]:  # fmt: skip
    machine = Machine(seed)
    patch.setattr(tuning, "run_launch", machine.run_launch)
    settings = read_settings(ROOT).settings if variables else {}
    choice = choose(WORKLOAD, Place(where), price, settings, read_variables(ROOT))
    return tuner(where, folder).tune(choice, within_s), machine


def test_the_best_combination_is_found_in_19_of_20_searches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cpu = platform("slow", 2e7)
    found = [searched(monkeypatch, tmp_path, cpu, seed=seed)[0].best for seed in range(40)]
    right = [
        best for best in found if best and best.mitigation and best.mitigation.chosen == WANTED
    ]
    assert len(right) > 0.95 * len(found)


def test_a_price_of_none_keeps_the_arithmetic(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found, _ = searched(monkeypatch, tmp_path, platform("slow", 2e7), price="none")
    assert found.best == Candidate(Mitigation(overlap_optimizer=True))
    assert all(not tried.mitigation.numerical for tried in found.evidence.tried)
    lossy, _ = searched(monkeypatch, tmp_path, platform("slow", 2e7), price="any", within_s=600)
    assert lossy.best == Candidate(Mitigation(exchange="int8"))


def test_a_setting_counts_against_the_plain_step_without_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found, machine = searched(monkeypatch, tmp_path, GPUS, variables=True, within_s=3600)
    assert found.best is not None and dict(found.best.variables) == {"NCCL_MIN_CTAS": "16"}
    # 0.9 x 0.75 of the plain time; beside its own plain step it would be 0.75.
    assert found.evidence.gain == pytest.approx(1 / (0.9 * 0.75), rel=0.05)
    assert machine.launches > 8  # each set of variables has launches of its own


def test_settings_that_the_linter_knows_to_be_void_are_left_out_and_named() -> None:
    facts, settings = read_variables(ROOT), read_settings(ROOT).settings
    nvlink = GPUS.model_copy(update={"treatment": NativeLink(label=LABEL), "path": "nvlink"})
    choice = choose(WORKLOAD, Place(nvlink), "rounding", settings, facts)
    (line,) = [line for line in choice.left_out if line.startswith("host-buffers")]
    assert "has no effect on this way (nvlink)" in line
    emulated = choose(WORKLOAD, Place(platform("slow", 2e7)), "rounding", settings, facts)
    assert {*settings} <= {line.partition(":")[0] for line in emulated.left_out}
    own = choose(WORKLOAD, Place(GPUS), "rounding", {"again": {"NCCL_P2P_DISABLE": "1"}}, facts)
    assert own.left_out == ("again: the platform's treatment sets NCCL_P2P_DISABLE itself",)


@pytest.mark.parametrize(("release", "tried"), [(None, False), ("2.28.9", True), ("2.30.7", False)])
def test_a_variable_is_tried_where_the_release_reads_it(release: str | None, tried: bool) -> None:
    facts, settings = read_variables(ROOT), {"engines": {"NCCL_SHM_USE_CUDA_MEMCPY": "1"}}
    found = choose(WORKLOAD, Place(GPUS, nccl=release), "none", settings, facts)
    assert any(candidate.variables for candidate in found.candidates) is tried
    assert any("up to release 2.29" in line for line in found.left_out) is not tried


def test_combinations_that_the_place_cannot_have_are_left_out_and_named() -> None:
    facts = read_variables(ROOT)
    recorded = WORKLOAD.model_copy(update={"step_mode": "compiled_captured"})
    one_node, cpu = Place(GPUS, nodes=1), Place(platform("slow", 2e7), nodes=2)
    for place, case, there in (
        (one_node, recorded, ({"powersgd"}, {"compile", "captured"}, set())),
        (cpu, WORKLOAD, (set(), set(), {"near"})),
    ):
        found = choose(case, place, "any", {}, facts)
        options = [c.mitigation for c in found.candidates if c.mitigation]
        exchanges, modes, nodes = (
            {getattr(own, name) for own in options} for name in ("exchange", "step_mode", "numa")
        )
        assert (exchanges & {"powersgd"}, modes - {None}, nodes - {None}) == there
    told = choose(recorded, one_node, "any", {}, facts).left_out
    assert "bound to the near node: the machine has one NUMA node" in told


def test_a_time_that_does_not_suffice_is_refused_with_the_time_that_would(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(PlanError) as error:
        searched(monkeypatch, tmp_path, platform("slow", 2e7), within_s=10)
    assert "--within" in str(error.value) and "or more" in str(error.value)


def test_what_there_is_no_time_for_is_named_and_the_likeliest_is_tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found, _ = searched(monkeypatch, tmp_path, platform("slow", 2e7), within_s=60)
    told = [line for line in found.evidence.left_out if "no time" in line]
    assert told and "bfloat16 exchange" in {each.words for each in found.evidence.candidates}
    assert not {line.partition(": no")[0] for line in told} & {
        each.words for each in found.evidence.candidates
    }


def test_the_files_say_what_was_found_and_from_what(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found, _ = searched(monkeypatch, tmp_path, GPUS, variables=True, within_s=3600)
    settings, evidence = write_found(found, tmp_path / "out", "name")
    shown = subprocess.run(
        ["bash", "-c", f"set -eu; source {settings}; env"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert "NCCL_MIN_CTAS=16" in shown
    assert not any(line.startswith("NCCL_P2P_DISABLE") for line in shown)  # the platform's own
    text = settings.read_text()
    assert "# price in loss: of bfloat16 exchange" in text and "COMMWALL_" not in text
    code = [line.removeprefix(CODE) for line in text.splitlines() if line.startswith(CODE)]
    world = "torch.distributed.group.WORLD"
    assert f"ddp.register_comm_hook({world}, default_hooks.bf16_compress_hook)" in code
    kept = Evidence.model_validate(json.loads(evidence.read_text()))
    assert kept == found.evidence and kept.confirmed
    prices = {offered.words: offered.price for offered in kept.candidates}
    assert prices["float16 exchange"] == "of float16 exchange"
    assert prices["NCCL_MIN_CTAS=16"] == prices["static graph"] == "none: same arithmetic"
    assert {tried.rung for tried in kept.tried} == set(
        range(1, max(t.rung for t in kept.tried) + 1)
    )


def test_variables_stand_beside_those_of_the_platform() -> None:
    found = with_variables(GPUS, (("NCCL_MIN_CTAS", "16"),)).treatment
    assert isinstance(found, NcclVariables)
    assert found.variables == {"NCCL_P2P_DISABLE": "1", "NCCL_MIN_CTAS": "16"}
    assert with_variables(GPUS, ()) is GPUS


def test_a_machine_that_is_slower_than_expected_ends_the_search_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = 0.0
    monkeypatch.setattr(tuning.time, "monotonic", lambda: now_s)
    costs = Costs(rung_s=10, candidate_s=0, windows=0)
    clock = tuning._Clock(costs, 10.0, 40.0)
    now_s = 10.0  # as expected: 30 s are left for 10
    assert clock.may_begin(4, 1.0)
    now_s = 30.0  # that one took twice as long: rungs take 15 s, and 10 are left
    assert not clock.may_begin(2, 2.0)

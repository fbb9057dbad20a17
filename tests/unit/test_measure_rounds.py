"""The measuring verb with stand-ins for the workers: what it measures, keeps and tells."""

import errno
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from commwall.host.environments import Manifest, manifest_path
from commwall.host.lockfiles import lock_digest
from commwall.host.locks import device_locks
from commwall.host.machine import probe_machine
from commwall.host.processes import is_running
from commwall.host.software import packages_digest, this_interpreter
from commwall.measure import session
from commwall.measure.rounds import devices, measure_suite, visits
from commwall.measure.tally import Order, Tally
from commwall.records.files import write_atomically, write_if_different
from commwall.records.layout import Layout
from commwall.records.state import Attempt, read_attempt, read_state
from commwall.records.store import read_record
from commwall.records.texts import model_text
from commwall.records.todo import Due
from commwall.schema.case import MemoryCase
from commwall.schema.errors import PlanError
from commwall.schema.plan import Plan
from commwall.schema.record import GpuFacts
from tests.samples import CASE, plan

HERE = Path(__file__).parent
LOCK = "torch==2.13.0\n"


@pytest.fixture(autouse=True)
def _stand_in_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HERE))


def planned(*cases: str, rounds: int = 1) -> Plan:
    """A plan of this machine over two platforms."""
    base = plan("demo", rounds)
    suite = base.suites[0]
    names = ("fast", "slow")
    own = suite.model_copy(
        update={
            "cases": dict.fromkeys(cases, CASE),
            "platforms": dict.fromkeys(names, cases),
            "orders": tuple(names if i % 2 == 0 else names[::-1] for i in range(rounds)),
        }
    )
    return base.model_copy(
        update={
            "fingerprint": probe_machine().facts.fingerprint,
            "platforms": base.platforms[:2],
            "comparisons": base.comparisons[:1],
            "suites": (own,),
        }
    )


def checkout(root: Path, asked: Plan) -> Order:
    """A checkout with this plan whose bench environment is this interpreter."""
    write_atomically(Layout(root).plan_path(asked.id), model_text(asked))
    write_if_different(root / "envs/bench.lock", LOCK)
    write_if_different(root / "config/config.yaml", "timeouts: {startup_s: 20, case_s: 20}\n")
    interpreter = this_interpreter()
    manifest = Manifest(
        name="bench",
        mode="installed",
        python=interpreter.python,
        lock_digest=lock_digest([LOCK.strip()]),
        packages=interpreter.packages,
        packages_digest=packages_digest(interpreter.packages),
        differences=(),
    )
    write_atomically(manifest_path(root, "bench"), model_text(manifest))
    layout = Layout(root)
    return Order(
        root=root,
        campaign=asked.id,
        suite="training",
        attempt=layout.attempt_path(asked.id, "training"),
        logs=layout.logs_dir(asked.id, "training"),
        say=lambda line: None,
        module="worker_stand_in",
        lock_folder=root / "locks",
        lock_wait_s=0.2,
        grace_s=0.3,
    )


def records(root: Path) -> list[str]:
    found = sorted(Layout(root).records_dir("demo").rglob("r*.json"))
    return [str(path.relative_to(Layout(root).records_dir("demo"))) for path in found]


def causes(attempt: Attempt) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(a.platform, a.cause, a.cases) for a in attempt.accidents]


def test_all_that_is_due_is_measured_and_then_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    order = replace(checkout(tmp_path, planned("ok-1", rounds=2)), say=said.append)
    attempt = measure_suite(order)
    assert (attempt.measured, attempt.accidents, attempt.refused) == (4, (), None)
    assert read_attempt(order.attempt) == attempt
    state = read_state(Layout(tmp_path).state_path("demo", "training"))
    assert (state.due, state.looked_at) == ((), None)
    assert {f.standing for f in state.findings} == {"fresh"}
    assert re.fullmatch(
        r"case 1 of 4 \(round 1 of 2, fast\): ok-1, \d+ s of this suite left", said[0]
    )
    assert len(said) == 4, "one line a case"
    assert measure_suite(order).measured == 0


def test_a_run_with_little_time_begins_no_round_that_would_be_cut_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    order = replace(checkout(tmp_path, planned("ok-1", rounds=2)), say=said.append)
    with monkeypatch.context() as patched:
        # Time for a round of two launches of 10 s until one record is there, then for no more.
        left = property(lambda tally: 25.0 if tally.measured == 0 else 5.0)
        patched.setattr(Tally, "left_s", left)
        attempt = measure_suite(order)
    assert (attempt.measured, attempt.left) == (2, (2,)) and read_attempt(order.attempt) == attempt
    assert {name.rpartition("/")[2] for name in records(tmp_path)} == {"r01.json"}
    assert "still due: round 2" in said[-1]
    assert measure_suite(replace(order, within_s=0.5)).left == (2,)
    assert measure_suite(order).measured == 2


def test_a_run_measures_only_the_cases_that_it_is_asked_for(tmp_path: Path) -> None:
    order = checkout(tmp_path, planned("ok-1", "ok-2"))
    attempt = measure_suite(replace(order, cases=("ok-2",)))
    assert (attempt.measured, attempt.left) == (2, ())
    assert {name.split("/")[2] for name in records(tmp_path)} == {"ok-2"}
    state = read_state(Layout(tmp_path).state_path("demo", "training"))
    assert [due.cases for due in state.due] == [("ok-1",)]
    assert measure_suite(order).measured == 2
    assert measure_suite(order).measured == 0
    with pytest.raises(PlanError, match="does not measure these cases"):
        measure_suite(replace(order, cases=("ok-3",)))


def test_a_record_holds_what_is_needed_to_judge_it(tmp_path: Path) -> None:
    measure_suite(checkout(tmp_path, planned("ok-1")))
    pair = [
        read_record(Layout(tmp_path).record_path("demo", name, "training", "ok-1", 1))
        for name in ("fast", "slow")
    ]
    assert pair[0].id.round_id == pair[1].id.round_id
    assert pair[0].software == pair[1].software
    record = pair[0]
    assert record.software.argv == ("commwall", "measure", "demo", "training")
    assert record.software.lock_digest == lock_digest([LOCK.strip()])
    assert {gap.what for gap in record.gaps} >= {"software.git_commit"}
    measured = [s for s in record.series if s.metric == "energy_j"]
    assert measured or any(gap.what == "energy_j" for gap in record.gaps)
    text = record.model_dump_json()
    assert str(tmp_path) not in text and os.uname().nodename not in text


def test_energy_is_asked_of_training_alone(tmp_path: Path) -> None:
    asked = planned("ok-1")
    case = MemoryCase(operation="copy", buffer_bytes=(4096,))
    changes = {"suite": "memory", "cases": {"ok-1": case}}
    suite = asked.suites[0].model_copy(update=changes)
    order = checkout(tmp_path, asked.model_copy(update={"suites": (suite,)}))
    assert measure_suite(replace(order, suite="memory")).measured == 2
    record = read_record(Layout(tmp_path).record_path("demo", "fast", "memory", "ok-1", 1))
    assert record.case == case
    assert "energy_j" not in {gap.what for gap in record.gaps} | {s.metric for s in record.series}


def test_one_missing_record_is_measured_again_on_all_platforms(tmp_path: Path) -> None:
    said: list[str] = []
    order = checkout(tmp_path, planned("ok-1", rounds=2))
    measure_suite(order)
    layout = Layout(tmp_path)
    kept = layout.record_path("demo", "fast", "training", "ok-1", 1).read_bytes()
    layout.record_path("demo", "slow", "training", "ok-1", 2).unlink()
    assert measure_suite(replace(order, say=said.append)).measured == 2
    assert layout.record_path("demo", "fast", "training", "ok-1", 1).read_bytes() == kept
    told = [line for line in said if not line.startswith("case ")]
    assert told[0].startswith("1 intact record is measured anew"), "not without a word"
    assert told[1:] == ["  ok-1 on fast: round 2"]


def test_a_failed_case_is_recorded_and_the_rest_goes_on_in_a_new_launch(tmp_path: Path) -> None:
    order = checkout(tmp_path, planned("fails", "ok-1"))
    attempt = measure_suite(order)
    assert (attempt.measured, attempt.accidents) == (4, ())
    failed = read_record(Layout(tmp_path).record_path("demo", "fast", "training", "fails", 1))
    assert (failed.status.state, failed.status.cause) == ("failed", "out_of_memory")
    logs = sorted(path.name for path in order.logs.iterdir())
    assert logs == ["r01-fast-1.log", "r01-fast-2.log", "r01-slow-1.log", "r01-slow-2.log"]
    assert measure_suite(order).measured == 0, "an outcome would come again"


def compiled(asked: Plan) -> Plan:
    """The same plan with steps that are compiled, none with the kernels of another."""
    (suite,) = asked.suites
    cases = {
        name: CASE.model_copy(update={"step_mode": "compile", "batch_per_gpu": samples})
        for samples, name in enumerate(suite.cases, 1)
    }
    return asked.model_copy(update={"suites": (suite.model_copy(update={"cases": cases}),)})


def test_compiled_steps_are_compiled_once_before_anything_is_timed(tmp_path: Path) -> None:
    said: list[str] = []
    order = replace(checkout(tmp_path, compiled(planned("ok-1", "ok-2"))), say=said.append)
    assert measure_suite(order).measured == 4
    logs = sorted(path.name for path in order.logs.iterdir())
    assert logs == ["compile-r01-fast-1.log", "r01-fast-1.log", "r01-slow-1.log"]
    assert said[0] == "compiling ok-1, ok-2: up to a minute each"
    Layout(tmp_path).record_path("demo", "slow", "training", "ok-1", 1).unlink()
    (order.logs / "compile-r01-fast-1.log").unlink()
    assert measure_suite(order).measured == 2
    assert not list(order.logs.glob("compile*")), "they are kept from run to run"


def test_what_does_not_compile_is_told_by_its_record_and_tried_once(tmp_path: Path) -> None:
    order = checkout(tmp_path, compiled(planned("fails", "killed", "ok-1", rounds=2)))
    attempt = measure_suite(order)
    assert attempt.measured == 8 and {cause for _, cause, _ in causes(attempt)} == {"killed"}
    logs = [path.name for path in sorted(order.logs.glob("compile*"))]
    assert logs == [f"compile-r01-fast-{number}.log" for number in (1, 2, 3)]
    assert len(list((Layout(tmp_path).kernels_dir() / "ready").iterdir())) == 1


def test_an_accident_leaves_no_record_and_is_measured_again(tmp_path: Path) -> None:
    order = checkout(tmp_path, planned("killed", "ok-1"))
    attempt = measure_suite(order)
    assert causes(attempt) == [("fast", "killed", ("killed",)), ("slow", "killed", ("killed",))]
    assert attempt.accidents[0].log == "logs/measure_suite/demo/training/r01-fast-1.log"
    assert (tmp_path / attempt.accidents[0].log).exists()
    assert records(tmp_path) == ["fast/training/ok-1/r01.json", "slow/training/ok-1/r01.json"]
    state = read_state(Layout(tmp_path).state_path("demo", "training"))
    assert state.due == (Due(round=1, cases=("killed",)),)


def test_a_held_device_is_an_accident_that_names_the_holder(tmp_path: Path) -> None:
    order, said = checkout(tmp_path, planned("ok-1", rounds=2)), list[str]()
    with device_locks(["cpu"], 0, order.lock_folder):
        attempt = measure_suite(replace(order, say=said.append))
    assert "stop it (Ctrl-C)" in said[-1]
    assert causes(attempt) == [("fast", "contended", ("ok-1",))]
    assert f"process {os.getpid()}" in attempt.accidents[0].detail
    assert measure_suite(order).measured == 4


def test_another_machines_plan_is_never_measured(tmp_path: Path) -> None:
    foreign = planned("ok-1").model_copy(update={"fingerprint": "0" * 64})
    attempt = measure_suite(checkout(tmp_path, foreign))
    assert attempt.measured == 0
    assert "another kind of machine" in (attempt.refused or "")
    assert records(tmp_path) == []


def test_an_environment_that_is_not_the_one_made_is_refused(tmp_path: Path) -> None:
    order = checkout(tmp_path, planned("ok-1"))
    (tmp_path / "envs/bench.lock").write_text("torch==2.14.0\n", encoding="utf-8")
    assert "envs/bench.lock has changed" in (measure_suite(order).refused or "")
    path = manifest_path(tmp_path, "bench")
    made = Manifest.model_validate_json(path.read_bytes())
    other = {"packages": {}, "packages_digest": packages_digest({})}
    write_atomically(path, model_text(made.model_copy(update=other)))
    assert "packages of this interpreter" in (measure_suite(order).refused or "")
    path.unlink()
    assert "not made yet" in (measure_suite(order).refused or "")


def test_no_plan_is_an_error(tmp_path: Path) -> None:
    order = checkout(tmp_path, planned("ok-1"))
    Layout(tmp_path).plan_path("demo").unlink()
    with pytest.raises(PlanError, match="results/demo/plan.json"):
        measure_suite(order)


def test_a_suite_the_plan_lacks_is_an_error(tmp_path: Path) -> None:
    order = replace(checkout(tmp_path, planned("ok-1")), suite="memory")
    with pytest.raises(PlanError, match="training"):
        measure_suite(order)


@pytest.mark.parametrize(
    ("case", "words", "code"),
    [("ok-1", (), 0), ("hangs", (), 1), ("hangs", ("--attempt", "attempt.json"), 0)],
)
def test_owed_work_fails_the_verb_unless_a_workflow_takes_it_down(
    tmp_path: Path, case: str, words: tuple[str, ...], code: int
) -> None:
    order = checkout(tmp_path, planned(case))
    with device_locks(["cpu"] if case == "hangs" else [], 0, order.lock_folder):
        done = subprocess.run(
            [sys.executable, "-c", VERB, *words], cwd=tmp_path, capture_output=True, text=True
        )
    assert done.returncode == code, done.stderr


def test_a_full_disk_ends_the_run_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = checkout(tmp_path, planned("ok-1", rounds=2))
    write, written = session.write_record, []

    def fill_up(layout: Layout, record: object) -> Path:
        if len(written) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(record)
        return write(layout, record)  # type: ignore[arg-type]

    monkeypatch.setattr(session, "write_record", fill_up)
    attempt = measure_suite(order)
    assert attempt.measured == 3
    assert causes(attempt) == [("fast", "disk_full", ("ok-1",))]
    assert len(records(tmp_path)) == 3
    monkeypatch.undo()
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    assert measure_suite(order).measured == 2


def test_left_over_parts_are_cleared(tmp_path: Path) -> None:
    order = checkout(tmp_path, planned("ok-1"))
    part = Layout(tmp_path).records_dir("demo") / "fast/r01.json.part"
    part.parent.mkdir(parents=True)
    part.touch()
    measure_suite(order)
    assert not part.exists()


VERB = """
import sys
from dataclasses import replace
from pathlib import Path
from commwall.cli import measure
stand_in = lambda order: replace(order, module="worker_stand_in", lock_folder=Path("locks"))
real = measure.measure_suite
measure.measure_suite = lambda order: real(stand_in(order))
from commwall.cli.main import main
sys.exit(main(["measure", "demo", "training", *sys.argv[1:]]))
"""


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_stopped_verb_leaves_no_worker(tmp_path: Path, signal_number: signal.Signals) -> None:
    checkout(tmp_path, planned("hangs"))
    verb = subprocess.Popen(
        [sys.executable, "-c", VERB], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    told = tmp_path / ".cw/launch/demo/training/r01-fast-1/pid"
    worker = int(_wait_for(told))
    verb.send_signal(signal_number)
    said = verb.communicate(timeout=20)[1]
    killed = signal_number == signal.SIGKILL
    assert verb.returncode == (-signal_number if killed else 128 + signal_number), said
    deadline = time.monotonic() + 5
    while is_running(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(worker)
    assert not Layout(tmp_path).attempt_path("demo", "training").exists()


def test_the_verb_ends_with_its_parent(tmp_path: Path) -> None:
    checkout(tmp_path, planned("hangs"))
    shell = subprocess.Popen(
        ["/bin/sh", "-c", '"$0" -c "$1" --parent $$; true', sys.executable, VERB], cwd=tmp_path
    )
    worker = int(_wait_for(tmp_path / ".cw/launch/demo/training/r01-fast-1/pid"))
    shell.kill()
    shell.wait()
    deadline = time.monotonic() + 20
    while is_running(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(worker)


def _wait_for(path: Path, patience_s: float = 20) -> str:
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if path.exists() and path.read_text(encoding="utf-8"):
            return path.read_text(encoding="utf-8")
        time.sleep(0.05)
    raise AssertionError(f"{path.name} was not written within {patience_s} s")


def test_visits_follow_the_plan_and_share_an_id_within_a_round() -> None:
    asked = planned("ok-1", "ok-2", rounds=2)
    found = visits(
        asked, "training", (Due(round=2, cases=("ok-2",)), Due(round=1, cases=("ok-1",)))
    )
    assert [(v.round, v.platform, v.cases) for v in found] == [
        (2, "slow", ("ok-2",)),
        (2, "fast", ("ok-2",)),
        (1, "fast", ("ok-1",)),
        (1, "slow", ("ok-1",)),
    ]
    ids = [v.round_id for v in found]
    assert ids[0] == ids[1] != ids[2] == ids[3]


def test_gpus_are_held_by_their_digests() -> None:
    machine = probe_machine()
    gpus = tuple(GpuFacts(name="H200", uuid_digest=f"d{i}", memory_bytes=1) for i in range(4))
    many = machine.model_copy(update={"facts": machine.facts.model_copy(update={"gpus": gpus})})
    base = planned("ok-1")
    on_gpu = base.platforms[1].model_copy(update={"device": "cuda"})
    mixed = base.model_copy(update={"platforms": (base.platforms[0], on_gpu)})
    assert devices(mixed, ["fast", "slow"], many) == ("cpu", "d0", "d1")

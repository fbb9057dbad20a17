"""nccl-tests beside the own measurement, with programs that only print."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from commwall.host.processes import running_with_mark
from commwall.measure import rounds
from commwall.measure.proof.nccl_log import LOG_VARIABLES
from commwall.measure.rounds import measure_suite
from commwall.measure.yardstick import PROGRAMS, Yardstick, YardstickFound, arguments, sweeps
from commwall.records.layout import Layout
from commwall.records.store import read_record
from commwall.schema.case import CollectivesCase
from commwall.schema.collective import COLLECTIVES
from commwall.schema.plan import Plan, PlannedSuite
from tests.unit.test_measure_rounds import checkout, planned
from tests.unit.test_nccl_choices import on_gpus, request

TABLE = """\
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    17.03    0.00    0.00       0    13.23    0.00    0.00       0
          32             8     float     sum      -1    14.27    0.00    0.00       0    13.58    0.00    0.00       {wrong}
         128            32     float     sum      -1    13.88    0.01    0.01       0    14.29    0.01    0.01       0
# Out of bounds values : {wrong} {word}
"""  # noqa: E501 - as it is printed
RIGHT = TABLE.format(wrong=0, word="OK")
CASE = CollectivesCase(collective="all_reduce", max_bytes=128)


def program(folder: Path, script: str) -> Path:
    path = folder / "build/all_reduce_perf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path.parent


def printing(text: str) -> str:
    return f"cat <<'END'\n{text}END"


def measured(folder: Path, script: str, timeout_s: float = 20.0) -> YardstickFound:
    yardstick = Yardstick(program(folder, script), timeout_s)
    environment = {"PATH": "/usr/bin:/bin", "NCCL_P2P_DISABLE": "1", "NCCL_DEBUG": "INFO"}
    return yardstick.measure(CASE, request(folder, on_gpus()), environment, folder)


def test_times_in_place_stand_beside_a_case_in_place(tmp_path: Path) -> None:
    found = measured(tmp_path, printing(RIGHT))
    assert found.gaps == ()
    assert [(s.metric, s.unit, s.message_bytes, s.rank) for s in found.series] == [
        ("nccl_tests_time_s", "s", size, None) for size in (8, 32, 128)
    ]
    assert [s.values[0] for s in found.series] == pytest.approx([13.23e-6, 13.58e-6, 14.29e-6])


def test_it_runs_as_the_platform_does_and_logs_nothing(tmp_path: Path) -> None:
    script = f'echo "$@" > {tmp_path}/words; env > {tmp_path}/env; {printing(RIGHT)}'
    measured(tmp_path, script)
    words = (tmp_path / "words").read_text().split()
    assert words == arguments(CASE, 8, 128, 2)
    assert words[:8] == ["-b", "8", "-e", "128", "-f", "4", "-g", "2"]
    environment = dict(
        line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines() if "=" in line
    )
    assert environment["NCCL_P2P_DISABLE"] == "1" and environment["NCCL_SOCKET_IFNAME"] == "lo"
    assert not set(LOG_VARIABLES) & set(environment)


@pytest.mark.parametrize(
    ("sizes", "runs"),
    [((8, 32, 128), ((8, 128),)), ((8, 32, 100), ((8, 32), (100, 100))), ((8,), ((8, 8),))],
)
def test_a_largest_size_off_the_steps_takes_its_own_run(
    sizes: tuple[int, ...], runs: tuple[tuple[int, int], ...]
) -> None:
    assert sweeps(sizes) == runs


def test_four_gibibyte_is_reached() -> None:
    sizes = CollectivesCase(collective="all_reduce", max_bytes=2**32).message_sizes(2)
    assert sweeps(sizes) == ((8, 2**31), (2**32, 2**32))


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (printing(TABLE.format(wrong=7, word="FAILED")), "Out of bounds values : 7 FAILED"),
        ("echo 'node: Test NCCL failure common.cu:7 internal'; exit 3", "Test NCCL failure"),
        ("exit 3", "exit code 3"),
        ("echo nothing", "its output holds no table"),
    ],
)
def test_what_goes_wrong_is_a_gap(tmp_path: Path, script: str, reason: str) -> None:
    found = measured(tmp_path, script)
    assert found.series == ()
    (gap,) = found.gaps
    assert gap.what == "nccl_tests_time_s" and reason in gap.reason


def test_a_size_with_wrong_results_or_without_a_row_is_a_gap(tmp_path: Path) -> None:
    few = "\n".join(line for line in TABLE.splitlines() if " 128 " not in line)
    text = few.format(wrong=2, word="OK") + "\n"
    found = measured(tmp_path, printing(text))
    assert [s.message_bytes for s in found.series] == [8]
    assert found.gaps[0].reason == "nccl-tests has no right result of 32 B, 128 B"


def test_a_program_that_is_not_there_is_a_gap(tmp_path: Path) -> None:
    found = Yardstick(tmp_path / "none", 5.0).measure(
        CASE, request(tmp_path, on_gpus()), {}, tmp_path
    )
    assert found.gaps[0].reason == "all_reduce_perf: No such file or directory"


def test_a_program_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    before = time.monotonic()
    script = f'echo "$COMMWALL_LAUNCH" > {tmp_path}/mark; sleep 60 & sleep 60'
    found = measured(tmp_path, script, timeout_s=0.5)
    assert found.gaps[0].reason.endswith("it took longer than 0.5 s (timeouts.case_s)")
    assert time.monotonic() - before < 15
    assert running_with_mark((tmp_path / "mark").read_text().strip()) == ()


def test_every_collective_has_its_program() -> None:
    assert set(PROGRAMS) == set(COLLECTIVES)
    assert all(name.endswith("_perf") for name in PROGRAMS.values())


def on_imagined_gpus() -> Plan:
    """A plan of this machine with one collectives case on one platform of two GPUs."""
    platform = on_gpus().model_copy(update={"name": "fast"})
    suite = PlannedSuite(
        suite="collectives",
        cases={"logs-1": CASE},
        platforms={"fast": ("logs-1",)},
        orders=(("fast",),),
    )
    changes = {"platforms": (platform,), "comparisons": (), "suites": (suite,)}
    return planned("ok-1").model_copy(update=changes)


def test_a_record_holds_nccls_choices_and_the_yardsticks_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "refusal", lambda *_: None)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    for name in LOG_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    base = checkout(tmp_path, on_imagined_gpus())
    build = program(tmp_path, printing(RIGHT))
    (tmp_path / "config/config.yaml").write_text(f"yardsticks: {{nccl_tests: {build}}}\n")
    layout = Layout(tmp_path)
    order = replace(
        base,
        suite="collectives",
        attempt=layout.attempt_path("demo", "collectives"),
        logs=layout.logs_dir("demo", "collectives"),
    )
    attempt = measure_suite(order)
    assert (attempt.measured, attempt.accidents) == (1, ())
    record = read_record(layout.record_path("demo", "fast", "collectives", "logs-1", 1))
    assert [(c.message_bytes, c.algorithm, c.protocol) for c in record.nccl_choices] == [
        (8, "RING", "LL")
    ]
    assert "NCCL's log names no choice of 32 B, 128 B" in [gap.reason for gap in record.gaps]
    beside = [s for s in record.series if s.metric == "nccl_tests_time_s"]
    assert [s.message_bytes for s in beside] == [8, 32, 128]
    assert str(tmp_path) not in record.model_dump_json()

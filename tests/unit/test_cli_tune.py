"""`commwall tune`: what it refuses before it starts anything."""

from pathlib import Path
from typing import Any

import pytest

from commwall.cli import tune
from commwall.cli.main import main

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(tune, "find_spec", lambda name: object())

    def no_lock(*_: Any) -> None:
        raise AssertionError("a device was taken")

    monkeypatch.setattr(tune, "device_locks", no_lock)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["mitigations"], "which workload?"),
        (["cpu-mitigations", "--case", "bert-bfloat61"], "'bert-bfloat16'?"),
        (["cpu-mitigations", "--case", "price-int8"], "has no such workload"),
        (["cpu-mitigations", "--platform", "nvlink"], "one of: cpux2-fastlink, cpux2-slowlink"),
        (["cpu-nothing"], "there is no file config/campaigns/cpu-nothing.yaml"),
    ],
)
def test_what_is_not_there_is_named(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", *words, "--within", "60"]) == 2
    assert told in capsys.readouterr().err


def test_a_python_that_cannot_measure_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tune, "find_spec", lambda name: None)
    assert main(["tune", "cpu-mitigations", "--within", "60"]) == 2
    assert ".envs/bench/bin/python" in capsys.readouterr().err


@pytest.mark.parametrize("time", ["0", "-1", "soon"])
def test_a_time_that_is_none_is_refused(time: str) -> None:
    with pytest.raises(SystemExit):
        main(["tune", "cpu-mitigations", "--within", time])

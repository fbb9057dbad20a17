"""`commwall tune`: what it refuses before it starts anything."""

from pathlib import Path
from typing import Any

import pytest

from commwall.cli import tune
from commwall.cli.main import main
from commwall.records.layout import Layout
from commwall.schema.mitigation import Mitigation
from tests.golden.mitigations import CAMPAIGN, write_campaign

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


def test_prices_are_those_of_the_campaigns_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = tune._prices(write_campaign(tmp_path), CAMPAIGN, 0.95)
    told = {
        exchange: tune._price_text(prices.of(Mitigation(exchange=exchange, bucket_bytes=2**20)))
        for exchange in ("int8", "onebit")
    }
    assert told == {
        "int8": "+0.030 nat (+0.005 to +0.055, 3 seeds, loss)",
        "onebit": "not priced",
    }
    nothing = tune._prices(Layout(tmp_path), "other", 0.95)
    assert tune._price_text(nothing.of(Mitigation(exchange="int8"))) == "not priced"
    assert "no prices" in capsys.readouterr().out

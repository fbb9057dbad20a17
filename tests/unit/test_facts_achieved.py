"""Achieved rates: what is looked up, and that nothing stands in for what is not known."""

from pathlib import Path

import pytest

from commwall.records.hardware import read_achieved
from commwall.schema.achieved import AchievedFile
from commwall.schema.errors import ConfigError

ROOT = Path(__file__).parents[2]
MIB = 2**20


@pytest.fixture(scope="module")
def shipped() -> AchievedFile:
    return read_achieved(ROOT)


def test_a_size_between_two_listed_ones_takes_the_lower(shipped: AchievedFile) -> None:
    found = shipped.of("h200-sxm", "all_reduce", 8, ["nvswitch"])
    nvls = found["h200-nvswitch-8"]
    assert nvls.reached(64 * MIB) == pytest.approx(368.11e9)
    assert nvls.reached(100 * MIB) == pytest.approx(368.11e9)
    assert nvls.reached(1024) is None
    assert nvls.largest == pytest.approx(479.98e9)


def test_no_gpu_number_or_path_stands_in_for_another(shipped: AchievedFile) -> None:
    assert shipped.of("made-up", "all_reduce", 8) == {}
    assert shipped.of("h100-sxm", "all_reduce", 16) == {}
    assert shipped.of("h100-sxm", "all_reduce", 8, ["pcie"]) == {}
    assert set(shipped.of("a100-pcie-80gb", "all_reduce", 3)) == {"a100-beyond-bridge-3"}


def test_rates_grow_with_the_size(shipped: AchievedFile) -> None:
    for name, each in shipped.root.items():
        rates = [rate for _, rate in sorted(each.busbw_bytes_per_s.items())]
        assert rates == sorted(rates), name


def test_a_malformed_file_is_told(tmp_path: Path) -> None:
    assert read_achieved(tmp_path).root == {}
    (tmp_path / "config/facts").mkdir(parents=True)
    (tmp_path / "config/facts/busbw.yaml").write_text("a100: {gpus: [a], path: string}")
    with pytest.raises(ConfigError, match=r"busbw\.yaml"):
        read_achieved(tmp_path)

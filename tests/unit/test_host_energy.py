"""Energy from made-up counters, with arithmetic one can do in one's head."""

import time
from pathlib import Path

import pytest

from commwall.host import energy
from commwall.host.energy import Domain, EnergySampler, Sample, find_domains, integrate
from commwall.schema.result import Gap

SECOND = 10**9
PACKAGE = Domain(name="package-0", path=Path("unused"), range_uj=1_000_000)


def counter(root: Path, folder: str, name: str, energy_uj: int = 0) -> Path:
    place = root / folder
    place.mkdir(parents=True)
    (place / "name").write_text(f"{name}\n", encoding="ascii")
    (place / "max_energy_range_uj").write_text("1000000\n", encoding="ascii")
    (place / "energy_uj").write_text(f"{energy_uj}\n", encoding="ascii")
    return place / "energy_uj"


def samples(*pairs: tuple[float, int]) -> list[Sample]:
    return [Sample(int(time_s * SECOND), (counter_uj,)) for time_s, counter_uj in pairs]


def test_a_window_between_readings_gets_its_share() -> None:
    readings = samples((0, 0), (1, 200_000), (2, 600_000))
    found = integrate([PACKAGE], readings, SECOND // 2, 3 * SECOND // 2)
    assert found == pytest.approx(0.1 + 0.2)


def test_a_counter_that_starts_again_has_gone_through_its_range() -> None:
    found = integrate([PACKAGE], samples((0, 900_000), (1, 100_000)), 0, SECOND)
    assert found == pytest.approx(0.2)


def test_several_domains_add_up() -> None:
    readings = [Sample(0, (0, 50)), Sample(SECOND, (1000, 1050))]
    found = integrate([PACKAGE, PACKAGE], readings, 0, SECOND)
    assert found == pytest.approx(2000e-6)


def test_a_window_that_was_not_sampled_is_a_gap_and_not_zero() -> None:
    found = integrate([PACKAGE], samples((1, 0), (2, 10)), 0, SECOND)
    assert isinstance(found, Gap)
    assert "not sampled" in found.reason


def test_parts_and_wholes_are_not_counted_twice(tmp_path: Path) -> None:
    counter(tmp_path, "intel-rapl:0", "package-0")
    counter(tmp_path, "intel-rapl:0:0", "core")
    counter(tmp_path, "intel-rapl:0:1", "dram")
    counter(tmp_path, "intel-rapl:1", "psys")
    domains, gap = find_domains(tmp_path)
    assert [domain.name for domain in domains] == ["package-0", "dram"]
    assert gap is None


def test_no_counter_and_a_forbidden_counter_have_different_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, absent = find_domains(tmp_path / "nothing")
    counter(tmp_path, "intel-rapl:0", "package-0")

    def forbid(domains: object) -> Sample:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(energy, "read_counters", forbid)
    _, forbidden = find_domains(tmp_path)
    assert absent is not None and "no energy counter" in absent.reason
    assert forbidden is not None and "only root" in forbidden.reason


def test_the_sampler_measures_what_rises_while_it_is_entered(tmp_path: Path) -> None:
    path = counter(tmp_path, "intel-rapl:0", "package-0", energy_uj=100)
    with EnergySampler(tmp_path, period_s=0.01) as sampler:
        start_ns = time.monotonic_ns()
        path.write_text("500100", encoding="ascii")
        time.sleep(0.1)
        end_ns = time.monotonic_ns()
        time.sleep(0.05)
    found = sampler.energy(start_ns, end_ns)
    assert isinstance(found, float)
    assert 0 < found <= 0.5


def test_a_counter_that_vanishes_is_a_gap(tmp_path: Path) -> None:
    path = counter(tmp_path, "intel-rapl:0", "package-0")
    with EnergySampler(tmp_path, period_s=0.01) as sampler:
        path.unlink()
        time.sleep(0.1)
    found = sampler.energy(0, 1)
    assert isinstance(found, Gap)
    assert "stopped answering" in found.reason

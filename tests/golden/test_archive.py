"""Many results: what looking at them costs, a tenth of what `tests.scale` measures by hand."""

from collections.abc import Callable
from pathlib import Path

import pytest

from commwall.records.index import read_index
from commwall.records.layout import Layout
from tests.golden.archive import RECORDS, campaign_name, write_archive
from tests.scale import cost, index, look

CAMPAIGNS = 10
SLOWER = 1.5
"""The processor time may be this much longer than asked for: neighbours disturb caches, too."""
START_S = 0.2
"""Part of each step that does not grow with the records: modules and models."""
COLD_S, WARM_S = (SLOWER * (START_S + full_s * CAMPAIGNS / 100) for full_s in (10, 1))
MOST_BYTES = 256 * 2**20
"""An index holds one campaign at a time: far below the 1 GiB that is asked for."""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return write_archive(tmp_path_factory.mktemp("archive"), CAMPAIGNS, processes=2)


def test_a_thousand_records_are_looked_at_and_indexed_in_time(
    archive: Layout, record_testsuite_property: Callable[[str, object], None]
) -> None:
    # The second look reads what was younger than two seconds at the first one.
    cold, _, warm, indexed = (cost(step, archive) for step in (look, look, look, index))
    for name, step in {"cold look": cold, "warm look": warm, "index": indexed}.items():
        told = f"{step.duration_s:.2f} s, {step.cpu_s:.2f} s of it of the processor"
        record_testsuite_property(f"1,000 records, {name}", told)
    assert cold.cpu_s < COLD_S
    assert warm.cpu_s < WARM_S
    assert indexed.cpu_s < WARM_S
    assert max(step.peak_bytes for step in (cold, warm, indexed)) < MOST_BYTES
    found = [read_index(archive, campaign_name(number)) for number in range(CAMPAIGNS)]
    assert sum(len(each.findings) - len(each.gaps) for each in found) == CAMPAIGNS * RECORDS


def test_records_are_as_large_as_those_of_gpus(archive: Layout) -> None:
    sizes = [path.stat().st_size for path in Path(archive.root).rglob("r01.json")]
    assert 30_000 < sum(sizes) / len(sizes) < 80_000

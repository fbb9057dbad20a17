"""Bytes of a step from NVLink's counters, or the reason why there are none."""

from typing import cast

import pytest

from commwall.host.link_counters import LinkTraffic
from commwall.host.meter import Meter, Metered
from commwall.measure.step_bytes import step_bytes
from commwall.schema.result import CaseResult, CountedSteps, Gap

COUNTED = CaseResult(case="x", status="ok", counted=CountedSteps(steps=4, start_ns=100, end_ns=200))


class FakeMeter:
    """Counters that moved as told, in the window of the steps."""

    def __init__(self, links: LinkTraffic | Gap) -> None:
        self.links = links

    def traffic(self, start_ns: int, end_ns: int) -> LinkTraffic | Gap:
        assert (start_ns, end_ns) == (100, 200)
        return self.links


def meter(links: LinkTraffic | Gap) -> Meter:
    return cast(Meter, FakeMeter(links))


def test_bytes_are_divided_by_the_steps_on_each_rank() -> None:
    found = step_bytes(COUNTED, meter(LinkTraffic(nvlink_sent_bytes=(4000, 8000))))
    assert [(series.rank, series.values) for series in found.series] == [
        (0, (1000.0,)),
        (1, (2000.0,)),
    ]
    assert not found.gaps


@pytest.mark.parametrize(
    ("links", "reason"),
    [
        (Gap(what="traffic", reason="no NVML"), "no NVML"),
        (LinkTraffic(nvlink_sent_bytes=(0, 0)), "stood still"),
        (
            LinkTraffic(gaps=(Gap(what="traffic.nvlink_sent_bytes", reason="no link is up"),)),
            "no link is up",
        ),
    ],
)
def test_without_counters_there_is_a_gap(links: LinkTraffic | Gap, reason: str) -> None:
    found = step_bytes(COUNTED, meter(links))
    assert not found.series
    assert [gap.what for gap in found.gaps] == ["step_sent_bytes"]
    assert reason in found.gaps[0].reason


def test_nothing_is_said_of_a_case_that_asked_for_no_count() -> None:
    result = CaseResult(case="x", status="ok")
    assert step_bytes(result, meter(Gap(what="traffic", reason="x"))) == Metered()

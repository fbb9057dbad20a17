"""The loopback's counter: what a transfer through the network stack leaves in it."""

from pathlib import Path

from commwall.host.loopback import LoopbackSampler, Sample, read_counter, rise
from commwall.schema.result import Gap

COUNTERS = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop
    lo: 1000 10 0 0 0 0 0 0 {sent} 10 0 0 0 0 0 0
  eth0: 7777 10 0 0 0 0 0 0 8888 10 0 0 0 0 0 0
"""


def test_the_loopbacks_counter_is_what_it_sent(tmp_path: Path) -> None:
    counters = tmp_path / "dev"
    counters.write_text(COUNTERS.format(sent=12345), encoding="ascii")
    assert read_counter(counters).sent_bytes == 12345
    with LoopbackSampler(counters, period_s=60) as sampler:
        pass
    assert isinstance(sampler.carried(0, 1), Gap)
    counters.write_text("eth0: 1 2 3\n", encoding="ascii")
    with LoopbackSampler(counters, period_s=60) as sampler:
        pass
    found = sampler.carried(0, 1)
    assert isinstance(found, Gap) and "no line of interface lo" in found.reason


def test_the_loopback_is_read_next_to_the_window() -> None:
    ms = 10**6
    samples_ = [Sample(n * 100 * ms, value) for n, value in enumerate((0, 5, 9, 100, 180, 200))]
    assert rise(samples_, 250 * ms, 360 * ms) == 180 - 9
    assert isinstance(rise(samples_, 250 * ms, 560 * ms), Gap)
    assert isinstance(rise(samples_[3:], 250 * ms, 360 * ms), Gap)
    assert isinstance(rise([samples_[0], *samples_[5:]], 450 * ms, 460 * ms), Gap), "too long ago"

"""The bytes that a rank sends in a step: who can count them, and when.

Layer: workers. Reads and writes no file. An emulated link counts by itself. On GPUs the supervisor
reads counters a few times a second, so that it is given steps with quiet before and after them.
"""

import time
from collections.abc import Callable

import torch

from commwall.schema.result import QUIET_S, CountedSteps, Gap
from commwall.workers.findings import Findings
from commwall.workers.group import Group
from commwall.workers.lanes import LinkCounters

METRIC = "step_sent_bytes"
LASTS_S = 0.7
"""About how long the steps last that are counted from outside [s]."""
LINK_STEPS = 2
"""Steps that are counted where the link itself counts."""
_UNCOUNTED = "gloo counts nothing, and the loopback carries more than the steps' messages"


def count_bytes(
    step: Callable[[], object], typical_s: float, group: Group, findings: Findings
) -> None:
    """Have the bytes of a step counted, or say why nobody can; all ranks must ask.

    Args:
        step: one step.
        typical_s: its time on this rank [s].
        group: the ranks.
        findings: where the bytes, or the gap, are kept.
    """
    if group.link:
        findings.values(METRIC, (_by_link(step, group, group.link),))
    elif group.device.type == "cuda":
        steps = max(1, round(LASTS_S / group.most(typical_s)))
        findings.counted = _quiet_around(step, steps, group)
    else:
        findings.gap(Gap(what=METRIC, reason=_UNCOUNTED))


def _by_link(step: Callable[[], object], group: Group, link: LinkCounters) -> float:
    """What this rank puts on the link in a step [byte]."""
    link.reset()
    for _ in range(LINK_STEPS):
        step()
    group.most(0.0)  # what others still wait for has been carried as well
    return link.sent_bytes / LINK_STEPS


def _quiet_around(step: Callable[[], object], steps: int, group: Group) -> CountedSteps:
    _rest(group)
    start_ns = time.monotonic_ns()
    for _ in range(steps):
        step()
    torch.cuda.synchronize(group.device)
    end_ns = time.monotonic_ns()
    _rest(group)
    return CountedSteps(steps=steps, start_ns=start_ns, end_ns=end_ns)


def _rest(group: Group) -> None:
    torch.cuda.synchronize(group.device)
    group.most(0.0)
    time.sleep(QUIET_S)

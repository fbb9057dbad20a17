"""Marks of records: what each means.

Layer: report. Reads and writes no file.
"""

from collections.abc import Mapping

from commwall.language.translate import tr, tr_later
from commwall.schema.result import LEAST_BOUND_SHARE, MarkName

MARK_WORDS: Mapping[MarkName, str] = {
    "host_bound": tr_later("the host, not the devices, set the step time"),
    "throttled": tr_later("a device lowered its clocks"),
    "contended": tr_later("other processes used a device"),
    "emulation_not_binding": tr_later(
        "the CPU underneath, not the emulated link, set the time: below {least_percent} % of it is "
        "the link's"
    ),
    "warmup_not_settled": tr_later("the step time still moved when the warm-up was given up"),
    "energy_doubtful": tr_later("two ways to read the energy disagree"),
    "link_degraded": tr_later("a device's link to the host ran below what it can"),
    "compiled_anew": tr_later(
        "kernels were compiled in this very launch, and may differ from another's"
    ),
}


def meaning(name: MarkName) -> str:
    """What a mark means."""
    return tr(MARK_WORDS[name], least_percent=f"{100 * LEAST_BOUND_SHARE:g}")

"""Marks of records in words: what each is called, and what it means.

Layer: report. Reads and writes no file.
"""

from collections.abc import Mapping

from commwall.language.translate import tr, tr_later
from commwall.schema.result import LEAST_BOUND_SHARE, MarkName

MARK_NAMES: Mapping[MarkName, str] = {
    "host_bound": tr_later("host bound"),
    "throttled": tr_later("throttled"),
    "contended": tr_later("contended"),
    "emulation_not_binding": tr_later("emulation not binding"),
    "warmup_not_settled": tr_later("warmup not settled"),
    "energy_doubtful": tr_later("energy doubtful"),
    "link_degraded": tr_later("link degraded"),
    "compiled_anew": tr_later("compiled anew"),
}
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


def mark_text(name: MarkName) -> str:
    """What a mark is called."""
    return tr(MARK_NAMES[name])


def meaning(name: MarkName) -> str:
    """What a mark means."""
    return tr(MARK_WORDS[name], least_percent=f"{100 * LEAST_BOUND_SHARE:g}")

"""Marks and checks of records in words.

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
    "energy_doubtful": tr_later("two ways to read the energy disagree, so that neither counts"),
    "link_degraded": tr_later("a device's link to the host ran below what it can"),
    "compiled_anew": tr_later(
        "kernels were compiled in this very launch, and may differ from another's"
    ),
    "power_capped": tr_later("a device kept to its power limit, at lower clocks than it could"),
}
CHECK_NAMES = (
    tr_later("received values"),
    tr_later("received values after timing"),
    tr_later("copied values"),
    tr_later("copied values after timing"),
    tr_later("exchanged values"),
    tr_later("exchanged values after timing"),
    tr_later("path taken"),
    tr_later("treatment taken"),
    tr_later("path rate bound"),
    tr_later("link rate bound"),
    tr_later("parameter count"),
    tr_later("finite loss and gradients"),
    tr_later("finite losses"),
    tr_later("finite after timing"),
    tr_later("gradients equal on all ranks"),
    tr_later("gradients equal after timing"),
    tr_later("recorded step equals plain"),
    tr_later("recorded step equals one process"),
    tr_later("recorded prompts equal plain"),
    tr_later("recorded tokens equal plain"),
    tr_later("steps equal one process"),
    tr_later("scores equal one process"),
    tr_later("buckets packed as exchanged"),
    tr_later("losses as unmitigated"),
    tr_later("plain step sound"),
    tr_later("plain step begun anew"),
    tr_later("mitigated step sound"),
    tr_later("full sound after timing"),
    tr_later("mitigated sound after timing"),
)
"""Names of checks as `commwall.records.names.plain` words them, for the catalogues."""


def meaning(name: MarkName) -> str:
    """What a mark means."""
    return tr(MARK_WORDS[name], least_percent=f"{100 * LEAST_BOUND_SHARE:g}")

"""Names that records and attempts keep, in words of the language spoken.

Layer: records. Reads no file.
"""

from commwall.language.translate import tr, tr_later

KEPT = (
    tr_later("host bound"),
    tr_later("throttled"),
    tr_later("contended"),
    tr_later("emulation not binding"),
    tr_later("warmup not settled"),
    tr_later("energy doubtful"),
    tr_later("link degraded"),
    tr_later("compiled anew"),
    tr_later("power capped"),
    tr_later("out of memory"),
    tr_later("unsupported"),
    tr_later("check failed"),
    tr_later("error"),
    tr_later("timeout"),
    tr_later("killed"),
    tr_later("gpu lost"),
    tr_later("node lost"),
    tr_later("disk full"),
    tr_later("launch failed"),
    tr_later("fresh"),
    tr_later("valid"),
    tr_later("stale"),
    tr_later("invalid"),
    tr_later("withdrawn"),
    tr_later("missing"),
)
"""Marks, causes of failures and accidents, and standings, for the catalogues."""


def plain(name: str) -> str:
    """A name that is kept with underscores, in words: "host bound"."""
    return tr(name.replace("_", " "))

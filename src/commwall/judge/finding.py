"""One verdict: what is so, by which lines, what it means for training, what to do next.

Layer: judge. Reads no file.
"""

from typing import Literal

from commwall.language.translate import tr_later
from commwall.schema.base import Model

Level = Literal["fault", "warning", "unknown", "note", "good"]
"""fault: it must be repaired. warning: it costs something. unknown: these files do not tell.
note: it is so, and normal. good: it is as it should be."""
LEVELS: tuple[Level, ...] = ("fault", "warning", "unknown", "note", "good")
"""In the order in which a reader needs them."""
WORDS: dict[Level, str] = {
    "fault": tr_later("fault"),
    "warning": tr_later("warning"),
    "unknown": tr_later("unknown"),
    "note": tr_later("note"),
    "good": tr_later("good"),
}
"""Level -> its word, for `tr`."""


class Evidence(Model):
    """A line of a file."""

    file: str
    line: int | None
    """From 1; None where the whole file says it."""
    text: str
    """The line, shortened."""


class Finding(Model):
    """A verdict."""

    rule: str
    """Which rule found it."""
    level: Level
    verdict: str
    """What is so, one sentence."""
    means: str
    """What it means for training."""
    next_step: str | None = None
    """The command to run next, or what to change; None if nothing need be done."""
    evidence: tuple[Evidence, ...] = ()
    sources: tuple[str, ...] = ()
    """Of the figures that the verdict uses."""

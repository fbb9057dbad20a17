"""What every reading says, whichever tool the text is of.

Layer: readers. Reads no file.
"""

from typing import Literal

from commwall.schema.base import Model

Unavailable = Literal["unavailable"]
"""The text says that the value cannot be had. It is not None, which says nothing, and not 0."""
UNAVAILABLE: Unavailable = "unavailable"


class Reading(Model):
    """What is certain in a text; None where it does not say."""

    kind: str
    """Kind of the text."""
    tool: str | None = None
    """Program that wrote it, with the option that makes this output."""
    readable: bool = True
    """False where the tool failed, or where the text ends before all was said."""
    partial: bool = False
    """The text is cut off: what stands here is certain and not all."""
    error: str | None = None
    """What the tool says went wrong, in one word."""
    reason: str | None = None
    """Why the text is not read, in one word."""

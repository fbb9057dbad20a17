"""What a link with different numbers of processes is called.

Layer: analysis. Reads no file.
"""

import os

from commwall.analysis.names import EMULATED, is_emulated
from commwall.language.translate import tr
from commwall.records.ladders import Ladder

_ENDS = " ,;:([0123456789"
"""What is left over between words that titles share and those in which they differ."""


def link_name(ladder: Ladder) -> str:
    """The words that the platforms' titles share; an emulated link is called emulated."""
    titles = [platform.treatment.label.title for platform in ladder.platforms]
    shared = os.path.commonprefix(titles).rstrip(_ENDS) or " / ".join(titles)
    forgotten = is_emulated(ladder.platforms[0]) and EMULATED not in shared.lower()
    return f"{tr(shared)} ({tr(EMULATED)})" if forgotten else tr(shared)

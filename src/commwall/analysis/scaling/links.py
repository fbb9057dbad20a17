"""What links with different numbers of processes are called.

Layer: analysis. Reads no file.
"""

import os
from collections import Counter

from commwall.analysis.platforms import EMULATED, is_emulated
from commwall.language.translate import tr
from commwall.records.ladders import Ladder, ladders
from commwall.schema.plan import Plan

_ENDS = " ,;:([0123456789"
"""What is left over between words that titles share and those in which they differ."""


def named_ladders(plan: Plan) -> dict[str, Ladder]:
    """Every link of several sizes under its name; two of one name are told apart by a platform."""
    found = ladders(plan)
    names = [_shared_title(ladder) for ladder in found]
    counts = Counter(names)
    return {
        name if counts[name] == 1 else f"{name} [{ladder.platforms[-1].name}]": ladder
        for name, ladder in zip(names, found, strict=True)
    }


def _shared_title(ladder: Ladder) -> str:
    """The words that the platforms' titles share; an emulated link is called emulated."""
    titles = [platform.treatment.label.title for platform in ladder.platforms]
    shared = os.path.commonprefix(titles).rstrip(_ENDS) or " / ".join(titles)
    forgotten = is_emulated(ladder.platforms[0]) and EMULATED not in shared.lower()
    return f"{tr(shared)} ({tr(EMULATED)})" if forgotten else tr(shared)

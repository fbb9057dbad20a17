"""What a plan says of its machine, for readers.

Layer: report. Reads and writes no file.
"""

import re

from commwall.language.translate import tr, tr_later

NO_GPU = tr_later("no GPU")
_MACHINE = re.compile(r"(\d+) CPUs \((.+)\), (.+)")
"""As `commwall.host.machine` words it in English, which plans keep."""


def machine_text(recorded: str) -> str:
    """The machine of a plan in the language spoken; what is worded otherwise as it is."""
    found = _MACHINE.fullmatch(recorded)
    if not found:
        return recorded
    count, what, gpus = found.groups()
    shown = tr(NO_GPU) if gpus == NO_GPU else gpus
    return tr("{n} CPUs ({what}), {gpus}", n=count, what=what, gpus=shown)

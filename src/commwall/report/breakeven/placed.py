"""Models that were not measured, on the figure of the break-even curves.

Layer: report. Reads and writes no file.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from commwall.analysis.whatif.curve import Reading
from commwall.language.translate import tr
from commwall.report.style import INK

_ROOM_BELOW = 0.1
"""Chosen: the name of a box that begins at a higher gain hangs below it."""


@dataclass(frozen=True)
class Placed:
    """A model on the curve of one comparison."""

    title: str
    reading: Reading


def draw_models(axes: Axes, models: Sequence[Placed]) -> None:
    """Models between the ends of their compute and of their gain, named where there is room."""
    for each in models:
        x, gain = each.reading.s_per_byte, each.reading.gain
        corner = (x.low * 1e12, 100 * gain.low)
        size = (1e12 * (x.high - x.low), 100 * (gain.high - gain.low))
        axes.add_patch(Rectangle(corner, *size, fill=False, edgecolor=INK, linewidth=1))
        axes.annotate(
            each.title,
            (1e12 * math.sqrt(x.low * x.high), 100 * gain.low),
            (0, -5) if gain.low > _ROOM_BELOW else (0, 5),
            textcoords="offset points",
            fontsize=8,
            rotation=90,
            ha="center",
            va="top" if gain.low > _ROOM_BELOW else "bottom",
        )
    if models:
        axes.add_patch(
            Rectangle((0, 0), 0, 0, fill=False, edgecolor=INK, label=tr("other models, modelled"))
        )

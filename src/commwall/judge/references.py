"""Which published value a result may be set against.

Layer: judge. Reads no file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from commwall.judge.bounds import Bound
from commwall.judge.rows import operation_of
from commwall.judge.scene import Pasted, Scene, names_in
from commwall.language.translate import between_text, tr
from commwall.readers.nccl_tests import NcclTest
from commwall.schema.achieved import LinkPath
from commwall.schema.collective import Collective
from commwall.schema.facts import Figure
from commwall.schema.units import rate_text

_NVLINK: tuple[LinkPath, ...] = ("nvswitch", "nvlink_mesh", "nvlink_bridge")
_OTHERS: tuple[LinkPath, ...] = ("pcie", "host_staged")


@dataclass(frozen=True)
class Reference:
    """What others reach."""

    least_bytes_per_s: float
    """At this size of message, or the next smaller one on file [byte/s]."""
    most_bytes_per_s: float
    algorithm: Literal["ring", "tree", "nvls"] | None
    source: str
    floor: bool = False
    """Of smaller messages than those from which on rates hardly grow, for such a one: whoever stays
    below it is slow, whoever reaches it may be."""


def references_for(
    scene: Scene, paste: Pasted, test: NcclTest, size_bytes: int, bound: Bound
) -> tuple[Reference, ...]:
    """References of the same GPUs, operation, number of GPUs and way, the lowest first.

    Args:
        scene: facts and files.
        paste: the run's file.
        test: the run: its operation and GPUs.
        size_bytes: of the message.
        bound: of the way that was taken.
    """
    level = scene.facts.thresholds.saturating_message_bytes.value
    names = tuple(names_in(paste)) or scene.gpu_names
    kinds = {scene.facts.kind_of(name) for name in names}
    kind = kinds.pop() if len(kinds) == 1 else None
    paths = _NVLINK if bound.path in ("nvlink", "not nvlink") else _OTHERS
    collective = cast(Collective, operation_of(test))  # of another one nothing is on file
    entries = scene.facts.achieved.of(kind or "", collective, test.nranks or 0, paths).values()
    found = [
        Reference(
            rate,
            one.most_bytes_per_s or rate,
            one.algorithm,
            one.source,
            floor=max(one.busbw_bytes_per_s) < level <= size_bytes,
        )
        for one in entries
        if (rate := one.reached(size_bytes)) is not None
    ]
    return tuple(sorted(found, key=lambda one: one.least_bytes_per_s))


def of_copies(figure: Figure | None) -> Reference | None:
    """A figure of copies as a reference."""
    if figure is None:
        return None
    return Reference(figure.value, figure.most or figure.value, None, figure.source)


def nearest_of(fitting: Sequence[Reference], rate: float, scene: Scene) -> Reference | None:
    """The highest reference that a rate has reached, else the lowest; None without one.

    Of smaller messages only one that the rate has not reached, where none is of such messages.

    Args:
        fitting: references, the lowest first.
        rate: what was reached [byte/s].
        scene: has the share that still counts as reached.
    """
    share = scene.facts.thresholds.tolerated_share_of_achieved.value
    own = [one for one in fitting if not one.floor]
    reached = [one for one in own if rate >= share * one.least_bytes_per_s]
    missed = [one for one in fitting if rate < share * one.least_bytes_per_s]
    return reached[-1] if reached else next(iter([*own, *missed]), None)


def words_of(reference: Reference) -> str:
    """What others reach, in words."""
    rates = (reference.least_bytes_per_s, reference.most_bytes_per_s)
    span = rates_text(*rates)
    if reference.algorithm == "ring":
        return tr("others reach {rates} by rings", rates=span)
    if reference.algorithm == "nvls":
        return tr("others reach {rates} with reduction in the switch (NVLS)", rates=span)
    return tr("others reach {rates}", rates=span)


def rates_text(least_bytes_per_s: float, most_bytes_per_s: float) -> str:
    """Two rates in words; once where the words are the same."""
    least, most = rate_text(least_bytes_per_s), rate_text(most_bytes_per_s)
    return least if least == most else between_text(least, most)

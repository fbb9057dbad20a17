"""Which platforms of a campaign are one link with different numbers of processes.

Layer: records. Reads no file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from commwall.schema.plan import Plan, PlannedPlatform

_LEAST_RANKS = 2
"""One process has no link; its speed is known from leg `single` of the others' launches."""


@dataclass(frozen=True)
class Ladder:
    """Platforms of one link, by growing number of processes."""

    platforms: tuple[PlannedPlatform, ...]
    """At least two, each with more processes than the one before."""

    @property
    def steps(self) -> Iterator[tuple[PlannedPlatform, PlannedPlatform]]:
        """Every platform with each that has more processes."""
        return combinations(self.platforms, 2)


def ladders(plan: Plan) -> tuple[Ladder, ...]:
    """Every link that a campaign measures with several numbers of processes, in plan order.

    Of platforms with one link and as many processes (A/A) the first counts.
    """
    found: dict[str, dict[int, PlannedPlatform]] = {}
    for platform in plan.platforms:
        if platform.world_size >= _LEAST_RANKS:
            sizes = found.setdefault(_link(platform), {})
            sizes.setdefault(platform.world_size, platform)
    return tuple(
        Ladder(tuple(sizes[ranks] for ranks in sorted(sizes)))
        for sizes in found.values()
        if len(sizes) > 1
    )


def _link(platform: PlannedPlatform) -> str:
    """All that platforms of one link have in common, as text.

    Between machines the processes of each count too: with more of them, more share its network.
    """
    spread = platform.per_node if platform.nodes > 1 else 0
    treatment = platform.treatment.model_dump_json(exclude={"label"})
    return f"{platform.device} {platform.path} {spread} {treatment}"

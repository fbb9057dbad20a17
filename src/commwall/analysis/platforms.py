"""Platforms of a plan in front of readers: their names, which of them are compared or emulated.

Layer: analysis. Reads and writes no file.
"""

from collections.abc import Iterable

from commwall.language.translate import tr, tr_later
from commwall.schema.plan import Comparison, Plan, PlannedPlatform

EMULATED = tr_later("emulated")


def is_emulated(platform: PlannedPlatform) -> bool:
    """True if the platform's link is emulated, which every title and verdict must say."""
    return platform.treatment.kind == EMULATED


def any_emulated(plan: Plan | None, platforms: Iterable[str]) -> bool:
    """Whether one of these platforms of a plan has an emulated link; not known without a plan."""
    return plan is not None and any(is_emulated(plan.platform(name)) for name in platforms)


def treatments_compared(plan: Plan | None) -> tuple[Comparison, ...]:
    """Comparisons of a plan that are no A/A controls; none without a plan."""
    return tuple(each for each in (plan.comparisons if plan else ()) if not each.control)


def compared_platforms(plan: Plan) -> frozenset[str]:
    """Platforms whose treatments are compared; all of a plan that compares none."""
    asked = {side for each in treatments_compared(plan) for side in (each.a, each.b)}
    return frozenset(asked or {platform.name for platform in plan.platforms})


def display_names(plan: Plan) -> dict[str, str]:
    """Name of each platform in verdicts and figures: its label, made unique.

    An emulated link is called emulated even where its label forgets to; two platforms with one
    label (an A/A pair) are told apart by their own names.
    """
    titles = {platform.name: _title(platform) for platform in plan.platforms}
    return {
        name: f"{title} [{name}]" if list(titles.values()).count(title) > 1 else title
        for name, title in titles.items()
    }


def _title(platform: PlannedPlatform) -> str:
    title = platform.treatment.label.title
    forgotten = is_emulated(platform) and EMULATED not in title.lower()
    return f"{tr(title)} ({tr(EMULATED)})" if forgotten else tr(title)

"""Which published value a result may be set against.

Layer: judge. Reads no file.
"""

from collections.abc import Sequence

from commwall.judge.bounds import Bound
from commwall.judge.facts import Achieved
from commwall.judge.scene import Pasted, Scene, names_in
from commwall.schema.units import rate_text


def references_for(
    scene: Scene, paste: Pasted, operation: str, ranks: int | None, size_bytes: int, bound: Bound
) -> tuple[Achieved, ...]:
    """References of the same GPUs, operation, number of GPUs, size and way, the lowest first.

    Args:
        scene: facts and files.
        paste: the run's file.
        operation: of nccl-tests, or what its ratio says.
        ranks: GPUs.
        size_bytes: of the message.
        bound: of the way that was taken.
    """
    names = tuple(names_in(paste)) or scene.gpu_names
    kinds = {scene.facts.kind_of(name) for name in names}
    path = "nvlink" if bound.path in ("nvlink", "not nvlink") else "pcie"
    fitting = (
        one
        for one in scene.facts.achieved
        if kinds <= {*one.gpus}
        and one.operation == operation
        and (ranks in one.ranks or not one.ranks)
        and one.path == path
        and one.from_bytes <= size_bytes <= (one.to_bytes or size_bytes)
    )
    return tuple(sorted(fitting, key=lambda one: one.least_bytes_per_s))


def nearest_of(fitting: Sequence[Achieved], rate: float, scene: Scene) -> Achieved | None:
    """The highest reference that a rate has reached, else the lowest; None without one.

    Args:
        fitting: references, the lowest first.
        rate: what was reached [byte/s].
        scene: has the share that still counts as reached.
    """
    share = scene.facts.thresholds.tolerated_share_of_achieved.value
    reached = [one for one in fitting if rate >= share * one.least_bytes_per_s]
    return reached[-1] if reached else next(iter(fitting), None)


def words_of(reference: Achieved) -> str:
    """What others reach, in words."""
    least, most = reference.least_bytes_per_s, reference.most_bytes_per_s
    span = rate_text(least) if least == most else f"{rate_text(least)} to {rate_text(most)}"
    algorithm = {"ring": " by rings", "nvls": " with reduction in the switch (NVLS)"}
    return f"others reach {span}{algorithm.get(reference.algorithm or '', '')}"

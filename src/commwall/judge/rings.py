"""Whether a ring over all GPUs can stay on some pairs.

Layer: judge. Reads no file.
"""

from collections.abc import Iterable, Sequence

_MOST_STEPS = 200_000
"""Of the search; boards have 16 GPUs at most, and dense ones end it at once."""


def ring_exists(gpus: Sequence[str], pairs: Iterable[str]) -> bool:
    """Whether a ring through every GPU uses these pairs only; no if the search takes too long.

    Args:
        gpus: all of them.
        pairs: `GPU0-GPU1`, in either order of the two.
    """
    beside: dict[str, set[str]] = {gpu: set() for gpu in gpus}
    for pair in pairs:
        one, _, other = pair.partition("-")
        beside[one].add(other)
        beside[other].add(one)
    if len(gpus) == 2:
        return bool(beside[gpus[0]])
    if not gpus or any(len(near) < 2 for near in beside.values()):
        return False
    return _closes(beside, gpus[0])


def _closes(beside: dict[str, set[str]], start: str) -> bool:
    stack = [(start, frozenset([start]))]
    for _ in range(_MOST_STEPS):
        if not stack:
            return False
        last, seen = stack.pop()
        if len(seen) == len(beside) and start in beside[last]:
            return True
        stack += [(near, seen | {near}) for near in sorted(beside[last]) if near not in seen]
    return False

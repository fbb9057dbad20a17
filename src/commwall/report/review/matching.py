"""Which of the old things is which of the new ones.

Layer: report. Pure. Takes time in proportion to how many there are, but for likeness, which is
sought among few.
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")
LIKE = 0.5
"""Share of words that two texts have in common if one became the other."""
MOST_LIKENED = 200
"""Texts of one group, and words of one text, beyond which no likeness is sought: it takes time
with the square of them."""
_WORD = re.compile(r"[A-Za-z]++|[\u4e00-\u9fff]")


class Pairing(Generic[T]):
    """Pairs of old and new things, found in turns from the surest likeness to the least."""

    def __init__(self, old: Iterable[T], new: Iterable[T]) -> None:
        self.pairs: list[tuple[T, T]] = []
        self.old = list(old)
        """What has no partner yet."""
        self.new = list(new)
        """What is no partner yet."""

    def by(self, key: Callable[[T], Hashable]) -> list[tuple[T, T]]:
        """Pair what is left and has one key; of several with one key the first with the first.

        Returns:
            The pairs found in this turn.
        """
        waiting: dict[Hashable, deque[int]] = defaultdict(deque)
        for place, thing in enumerate(self.new):
            waiting[key(thing)].append(place)
        found, alone, taken = [], [], set()
        for thing in self.old:
            if places := waiting[key(thing)]:
                taken.add(places[0])
                found.append((thing, self.new[places.popleft()]))
            else:
                alone.append(thing)
        self.old = alone
        self.new = [thing for place, thing in enumerate(self.new) if place not in taken]
        self.pairs += found
        return found

    def by_likeness(
        self, group: Callable[[T], Hashable], text: Callable[[T], str]
    ) -> list[tuple[T, T]]:
        """Pair what is left of one group and has most words in common.

        Returns:
            The pairs found in this turn.
        """
        olds, news = _grouped(self.old, group), _grouped(self.new, group)
        partners: dict[int, int] = {}
        for name in olds.keys() & news.keys():
            partners |= _likest(olds[name], news[name], text)
        found = [(self.old[was], self.new[now]) for was, now in sorted(partners.items())]
        taken = set(partners.values())
        self.old = [thing for place, thing in enumerate(self.old) if place not in partners]
        self.new = [thing for place, thing in enumerate(self.new) if place not in taken]
        self.pairs += found
        return found


def _grouped(
    things: list[T], group: Callable[[T], Hashable]
) -> dict[Hashable, list[tuple[int, T]]]:
    found: dict[Hashable, list[tuple[int, T]]] = defaultdict(list)
    for place, thing in enumerate(things):
        found[group(thing)].append((place, thing))
    return found


def _likest(
    old: list[tuple[int, T]], new: list[tuple[int, T]], text: Callable[[T], str]
) -> dict[int, int]:
    """Place of an old thing -> place of the new one that is most like it, if any is like it."""
    if max(len(old), len(new)) > MOST_LIKENED:
        return {}
    free = {place: _words(text(thing)) for place, thing in new}
    found: dict[int, int] = {}
    for place, thing in old:
        own = _words(text(thing))
        if not free:
            break
        best = max(free, key=lambda other: _likeness(own, free[other]))
        if _likeness(own, free[best]) >= LIKE:
            found[place] = best
            del free[best]
    return found


def _words(text: str) -> frozenset[str]:
    """Words of a text; each character of Chinese, which sets no blanks, is one."""
    return frozenset(_WORD.findall(text[: 10 * MOST_LIKENED])[:MOST_LIKENED])


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 1.0

"""Outputs of tools with what a correct reading says, and what it means that two readings agree.

The files are in tests/data/corpus: `<id>.expected.json` names its input.
"""

import functools
import json
import math
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "data/corpus"
JUDGED = {
    "readable",
    "partial",
    "tool",
    "error",
    "reason",
    "anomalies",
    "state",
    "legend_present",
    "rows_complete",
    "rows_incomplete",
    "rows_missing",
    "links_unknown",
}
"""Fields that say how much of a text is certain: they may differ for a part of it."""
REFUSED = {None, "incomplete", "no_topology"}
"""Verdicts that decide nothing."""


def expected(kind: str) -> list[dict[str, Any]]:
    """The expected readings of a kind, in the order of their ids."""
    found = (json.loads(path.read_text()) for path in sorted(CORPUS.glob("*.expected.json")))
    return [item for item in found if item["kind"] == kind]


@functools.cache
def text_of(name: str) -> str:
    """An input as it is, carriage returns too."""
    return (CORPUS / name).read_bytes().decode()


def same(want: Any, got: Any) -> bool:
    """Whether a reading has all that is expected, numbers within a millionth."""
    if isinstance(want, dict) and isinstance(got, dict):
        return all(key in got and same(item, got[key]) for key, item in want.items())
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(map(same, want, got))
    if isinstance(want, bool) or isinstance(got, bool) or want is None or got is None:
        return want is got
    if isinstance(want, int | float) and isinstance(got, int | float):
        return math.isclose(want, got, rel_tol=1e-6)
    return bool(want == got)


def contradictions(whole: Any, part: Any, at: str = "") -> Iterator[str]:
    """What a reading of a part of a text says that the reading of the whole denies.

    Nothing is denied by silence; a count of a part may be smaller.
    """
    key = at.rpartition(".")[2]
    if part is None or key in JUDGED or (key == "verdict" and part in REFUSED):
        return
    if isinstance(part, dict) and isinstance(whole, dict):
        for name, item in part.items():
            if name in whole or item is not None:
                yield from contradictions(whole.get(name, "nothing"), item, f"{at}.{name}")
    elif isinstance(part, list) and isinstance(whole, list):
        yield from _not_among(whole, part, at)
    elif key.endswith(("count", "mig_instances")) and isinstance(whole, int):
        if part > whole:
            yield f"{at}: {part} of {whole}"
    elif not same(whole, part):
        yield f"{at}: {part!r}, not {whole!r}"


def _not_among(whole: Sequence[Any], part: Sequence[Any], at: str) -> Iterator[str]:
    """Items that are not, in this order, items of the whole."""
    rest = iter(whole)
    for number, item in enumerate(part):
        if not any(not list(contradictions(other, item, at)) for other in rest):
            yield f"{at}[{number}]: {item!r} is none of the whole's"
            return


# Mutations ---------------------------------------------------------------------------------


def spaced(text: str, _: random.Random) -> str:
    """Tabs expanded, as a terminal copies them."""
    return text.expandtabs(8)


def single_spaced(text: str, _: random.Random) -> str:
    """Each tab a blank, as web forms make it."""
    return text.replace("\t", " ")


def with_returns(text: str, _: random.Random) -> str:
    return text.replace("\r", "").replace("\n", "\r\n")


def coloured(text: str, dice: random.Random) -> str:
    """Codes of a terminal around some lines and words."""
    lines = text.split("\n")
    for number in dice.sample(range(len(lines)), k=max(1, len(lines) // 2)):
        lines[number] = f"\x1b[1;3{dice.randrange(8)}m{lines[number]}\x1b[0m\x1b[K"
    return "\n".join(lines)


def prefixed(mark: str) -> Any:
    """Each line behind a prefix."""

    def mutate(text: str, _: random.Random) -> str:
        body = text.removesuffix("\n")
        return "\n".join(mark + line for line in body.split("\n")) + "\n"

    return mutate


def stamped(text: str, dice: random.Random) -> str:
    """Each line behind the time at which a container wrote it."""

    def mark() -> str:
        minute, second = dice.randrange(60), dice.randrange(60)
        return f"2025-03-12T10:{minute:02}:{second:02}.{dice.randrange(10**9):09}Z "

    return "\n".join(mark() + line for line in text.removesuffix("\n").split("\n")) + "\n"


def in_a_session(text: str, _: random.Random) -> str:
    """Between a command and the next prompt of a shell."""
    return f"(base) user@node-1:~/run$ nvidia-smi\n{text}\nuser@node-1:~/run$ \n"


LOSSLESS = {
    "spaced": spaced,
    "single_spaced": single_spaced,
    "returns": with_returns,
    "coloured": coloured,
    "mpirun": prefixed("[1,0]<stdout>:"),
    "torchrun": prefixed("[default0]:"),
    "srun": prefixed("0: "),
    "compose": prefixed("worker-1  | "),
    "quoted": prefixed("> "),
    "stamped": stamped,
    "session": in_a_session,
}


def cut_anywhere(text: str, dice: random.Random) -> str:
    return text[: dice.randrange(len(text))]


def cut_between_lines(text: str, dice: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(lines[: dice.randrange(len(lines) + 1)])


def without_a_line(text: str, dice: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    del lines[dice.randrange(len(lines))]
    return "".join(lines)


def without_a_character(text: str, dice: random.Random) -> str:
    """A tab is lost, or a blank beside another; a lost digit would be another number."""
    places = [match.start() for match in re.finditer(r"\t|(?<= ) ", text)] or [0]
    place = dice.choice(places)
    return text[:place] + text[place + 1 :]


def narrow(text: str, dice: random.Random) -> str:
    """Each line cut at the width of a screen."""
    width = dice.randrange(20, 120)
    return "\n".join(line[:width] for line in text.expandtabs(8).split("\n"))


def wrapped(text: str, dice: random.Random) -> str:
    """Each line broken at the width of a screen."""
    width = dice.randrange(40, 120)
    lines = text.expandtabs(8).split("\n")
    pieces = (line[at : at + width] for line in lines for at in range(0, max(1, len(line)), width))
    return "\n".join(pieces)


LOSSY = {
    function.__name__: function
    for function in (
        cut_anywhere,
        cut_between_lines,
        without_a_line,
        without_a_character,
        narrow,
        wrapped,
    )
}

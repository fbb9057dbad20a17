"""Broken texts against all readers and the judge: `python -m tests.fuzz --seconds 3600`.

No text may crash them, stall them for longer than its size allows, or take memory without bound.
The suite runs the same for a moment; a longer run with other seeds is for whoever changes a reader.
"""

import argparse
import contextlib
import random
import resource
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from commwall.judge.facts import read_facts
from commwall.judge.handover import Expectations
from commwall.judge.scene import Scene, paste
from commwall.readers.detection import MODULES, read_text
from commwall.readers.refusal import Unreadable
from commwall.report.acceptance import hand_over, page_of
from tests.clock import cpu_seconds
from tests.corpus import LOSSLESS, LOSSY, expected, text_of

INPUTS = [text_of(item["input"]) for kind in MODULES for item in expected(kind)]
FACTS = read_facts(Path(__file__).parents[1])
MEGABYTE = 10**6
SECONDS_PER_MEGABYTE = 1.0
LEAST_SECONDS = 0.25
"""A short text may take as long as a pause of the interpreter."""
MEMORY_BYTES = 2 * 2**30
"""Address space of a run: texts are a megabyte at most."""
LARGEST = MEGABYTE
PIECES = (
    *"\t\n\r |,:[]<>#=-%.@$\x1b\x00\u3000\ufffd",
    "GPU0",
    "GPU 1: ",
    " X ",
    "NV18",
    "Link 0: ",
    "N/A",
    "[1,0]<stdout>:",
    "\x1b[4m",
    "CPU Affinity",
    "power.draw [W]",
    "9" * 40,
    "1e999",
    "-1",
)


def mangled(text: str, dice: random.Random) -> str:
    """A text with pieces put in, taken out and repeated."""
    for _ in range(dice.randrange(1, 12)):
        start = dice.randrange(len(text) + 1)
        end = min(len(text), start + dice.choice((0, 1, 5, 80)))
        middle = dice.choice((dice.choice(PIECES), text[start:end] * 2, ""))
        text = text[:start] + middle + text[end:]
    return text


def joined(text: str, dice: random.Random) -> str:
    """Two outputs in one paste, or a line of the one in the other."""
    other = dice.choice(INPUTS)
    if dice.random() < 0.5:
        return text + other
    lines = text.split("\n")
    lines.insert(dice.randrange(len(lines)), dice.choice(other.split("\n")))
    return "\n".join(lines)


def repeated(text: str, dice: random.Random) -> str:
    """A text, a line or a piece of it many times over."""
    start = dice.randrange(len(text) + 1)
    piece = dice.choice((text, dice.choice(text.split("\n")) + "\n", text[start : start + 40]))
    return piece * dice.randrange(1, 1 + LARGEST // max(1, len(piece)))


def shuffled(text: str, dice: random.Random) -> str:
    """The lines in another order."""
    lines = text.split("\n")
    dice.shuffle(lines)
    return "\n".join(lines)


def flipped(text: str, dice: random.Random) -> str:
    """Some characters are others."""
    characters = list(text)
    for _ in range(1 + len(characters) // 200):
        if characters:
            characters[dice.randrange(len(characters))] = chr(dice.randrange(256))
    return "".join(characters)


CHANGES = (*LOSSLESS.values(), *LOSSY.values(), mangled, mangled, joined, shuffled, flipped)


def broken_text(dice: random.Random) -> str:
    """Some input after a few changes."""
    text = dice.choice(INPUTS)
    for _ in range(dice.randrange(1, 4)):
        text = dice.choice(CHANGES)(text or "\n", dice)
    return repeated(text, dice)[:LARGEST] if dice.random() < 0.03 else text[:LARGEST]


def _take(text: str, kind: str | None) -> None:
    """Read a text as a kind, or judge it; a refusal is as good as a reading."""
    if kind:
        with contextlib.suppress(Unreadable):
            read_text(text, kind).model_dump_json()
        return
    found = hand_over(Scene((paste("text", text),), FACTS), Expectations())
    for finding in found.findings:
        finding.model_dump_json()
    page_of(found)


def problem_of(text: str, kind: str | None) -> str | None:
    """What is wrong with how a text is read, or judged if no kind is told; None if nothing is."""
    try:
        taken_s = cpu_seconds(lambda: _take(text, kind))
    except Exception:  # noqa: BLE001 (whatever it is, it is what is looked for)
        return traceback.format_exc()
    allowed_s = max(LEAST_SECONDS, SECONDS_PER_MEGABYTE * len(text) / MEGABYTE)
    return f"{taken_s:.2f} s for {len(text)} characters" if taken_s > allowed_s else None


def problems(seed: int, seconds: float) -> Iterator[tuple[str, str | None, str]]:
    """Text, kind and problem of what goes wrong, until the time is over."""
    dice = random.Random(seed)
    end = time.monotonic() + seconds
    count = 0
    while time.monotonic() < end:
        text = broken_text(dice)
        for kind in (None, dice.choice(list(MODULES))):
            count += 1
            found = problem_of(text, kind)
            if found:
                yield text, kind, found
    print(f"seed {seed}: {count} texts read", file=sys.stderr)


def main() -> int:
    """Fuzz, keep what goes wrong, and say how much there was."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"))
    wanted = parser.parse_args()
    with contextlib.suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    wanted.keep.mkdir(parents=True, exist_ok=True)
    found = 0
    for text, kind, problem in problems(wanted.seed, wanted.seconds):
        found += 1
        path = wanted.keep / f"{wanted.seed}-{found}.txt"
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        print(f"{path} (--kind {kind}): {problem}", file=sys.stderr, flush=True)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())

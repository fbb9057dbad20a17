"""What A/A controls say: how far the same link, measured twice, lies from itself.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterator, Sequence

from commwall.analysis.verdicts.judging import Verdict
from commwall.analysis.verdicts.overall import count_text, range_text
from commwall.analysis.verdicts.wording import share_text
from commwall.language.translate import clauses, listed, tr, tr_later

NO_FLOOR = tr_later("Noise floor: not measured, no treatment is run twice (A/A) here.")

DOUBT = tr_later("do not rely on verdicts of this size")
DOUBT_OF_EACH = tr_later("rely on a verdict only where it is above the floor of its own case")
CONTROL = tr_later("The same link measured twice, to see what is mere noise (A/A control): {found}")
CONTROL_ELSEWHERE = tr_later(
    "Another link than these two measured twice, to see what is mere noise there (A/A control): "
    "{found}"
)


def control_text(verdicts: Sequence[Verdict], noun: str = "case") -> str:
    """What the A/A control says of one topic, to follow a colon: whether it finds no difference,
    and how large a one it could have missed."""
    known = [(v, floor) for v in verdicts if (floor := v.open_difference) is not None]
    every = count_text(len(verdicts), noun) if len(verdicts) > 1 else ""
    if not known:
        return tr("{clauses}.", clauses=clauses(_unknown_floor(verdicts, every)))
    wrong = [v.case for v, _ in known if v.ratio and v.ratio.excludes_one]
    held = _held_text(len(known) - len(wrong), every, wrong)
    floors = range_text((floor, share_text(floor)) for _, floor in known)
    told = tr("{held}; noise floor {floors}", held=held, floors=floors)
    if not wrong:
        return tr("{clauses}.", clauses=told)
    doubt = DOUBT_OF_EACH if len(known) > 1 else DOUBT
    return tr("{clauses}.", clauses=clauses((told, tr(doubt))))


def _unknown_floor(verdicts: Sequence[Verdict], every: str) -> Iterator[str]:
    """That there is no noise floor, and how far apart the same link lay all the same."""
    if every:
        yield tr("noise floor unknown, none of {every} has an interval", every=every)
    else:
        yield tr("noise floor unknown, no interval")
    if apart := [abs(verdict.ratio.centre - 1) for verdict in verdicts if verdict.ratio]:
        yield tr("as far as seen, it lay at most {share} from itself", share=share_text(max(apart)))


def floor_text(verdicts: Sequence[Verdict], noun: str = "case") -> str:
    """What the A/A control of some verdicts says, or that there is none."""
    found = [(verdict.comparison, verdict.control) for verdict in verdicts if verdict.control]
    if not found:
        return tr(NO_FLOOR)
    own = any(control.comparison.a in (asked.a, asked.b) for asked, control in found)
    told = control_text([control for _, control in found], noun)
    return tr(CONTROL if own else CONTROL_ELSEWHERE, found=told)


def _held_text(n: int, every: str, wrong: Sequence[str]) -> str:
    """In how many cases of a control the interval contains 1, as it should.

    Args:
        n: how many.
        every: all cases, counted; empty if there is one.
        wrong: cases where it does not.
    """
    if not every:
        return tr("the interval excludes 1") if wrong else tr("the interval contains 1")
    held = tr("the interval contains 1 in {n} of {every}", n=n, every=every)
    return tr("{held}, not in {cases}", held=held, cases=listed(wrong)) if wrong else held

"""How far the rounds of a campaign have got, and which of them a comparison could not use.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterable, Iterator

from commwall.analysis.gaps import rounds_text
from commwall.analysis.result import Analysis
from commwall.analysis.verdicts.judging import Verdict
from commwall.language.translate import listed, tr
from commwall.schema.case import SuiteName
from commwall.schema.plan import Comparison


def rounds_so_far(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """How many rounds of each suite were measured, where that are not all."""
    known: dict[SuiteName, tuple[int, int]] = {}
    for verdict in verdicts:
        planned = verdict.n + verdict.refused_rounds
        own = (planned - verdict.unmeasured_rounds, planned)
        known[verdict.suite] = max(known.get(verdict.suite, own), own)
    if all(measured == planned for measured, planned in known.values()):
        return
    parts = {suite: tr("{k} of {n}", k=k, n=n) for suite, (k, n) in known.items()}
    if len(set(parts.values())) == 1:
        rounds = next(iter(parts.values()))
    else:
        rounds = listed(f"{suite} {part}" for suite, part in parts.items())
    yield tr("Rounds measured so far: {rounds}.", rounds=rounds)


def rounds_not_used(
    analysis: Analysis, comparison: Comparison, suites: set[SuiteName]
) -> Iterator[str]:
    """Rounds that cases with other usable rounds had to leave out."""
    places = [
        tr(
            "{rounds} of {case}",
            rounds=rounds_text(refused),
            case=pairing.case,
        )
        for pairing in analysis.pairings
        if pairing.comparison == comparison and pairing.suite in suites
        if pairing.pairs
        if (refused := [r.round for r in pairing.refusals if not r.unmeasured])
    ]
    if places:
        yield tr(
            "Not used: {places}; the reasons stand among the gaps.",
            places=listed(places),
        )

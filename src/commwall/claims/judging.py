"""From a claim to its verdict: every rule is applied, the gravest finding decides.

Layer: claims. Reads and writes no file.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

from commwall.claims import rules
from commwall.claims.expressions import parse_relation
from commwall.claims.factbook import FactBook
from commwall.claims.rules import Finding, Outcome, Value
from commwall.claims.scene import Scene, scene_of
from commwall.language.translate import tr, tr_later
from commwall.schema.claims import Claim

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
"""From the gravest to none."""
WORDS: dict[Outcome, str] = {
    "wrong": tr_later("wrong"),
    "inconsistent": tr_later("contradicts itself"),
    "unit": tr_later("unit or direction"),
    "unsupported": tr_later("cannot be checked"),
    "conditional": tr_later("true on a condition"),
    "holds": tr_later("holds"),
}
"""Outcome -> its words, for `tr`."""


@dataclass(frozen=True)
class Judged:
    """A claim, what the rules found, and values for comparison."""

    claim: Claim
    findings: tuple[Finding, ...]
    values: tuple[Value, ...]
    """For comparison."""

    @property
    def verdict(self) -> Outcome:
        """The gravest finding's outcome."""
        found = {finding.outcome for finding in self.findings}
        return next(outcome for outcome in OUTCOMES if outcome in found)

    @property
    def deciding(self) -> tuple[Finding, ...]:
        """Findings that made the verdict."""
        return tuple(each for each in self.findings if each.outcome == self.verdict)

    @property
    def sources(self) -> tuple[str, ...]:
        """Of all constants that were used."""
        used: list[Finding | Value] = [*self.findings, *self.values]
        return tuple(dict.fromkeys(source for each in used for source in each.sources))


def judge(claim: Claim, book: FactBook) -> Judged:
    """Apply every rule to a claim that `commwall.claims.files` has found to be sound."""
    scene = scene_of(claim, book)
    told = [*rules.solved(claim, scene), *rules.shown(claim, scene)]
    findings = [each for each in told if isinstance(each, Finding)]
    findings += [rules.relation(text, scene) for text in claim.relations if _known(text, scene)]
    findings += [rules.formula(own) for own in claim.formulas]
    findings += [rules.word(text, name, book) for text, name in claim.words.items()]
    findings += rules.context(claim)
    nothing = Finding("unsupported", tr("no number and no name that could be checked"))
    values = tuple(each for each in told if isinstance(each, Value))
    return Judged(claim, tuple(findings) or (nothing,), values)


def _known(text: str, scene: Scene) -> bool:
    """Whether all of a relation is known: an unknown without a solution is not."""
    return parse_relation(text).names <= scene.keys()


def count(judged: Iterable[Judged]) -> dict[Outcome, int]:
    """Outcome -> number of claims, the gravest first."""
    found = Counter(each.verdict for each in judged)
    return {outcome: found[outcome] for outcome in OUTCOMES}

"""Measuring code does not change unnoticed: each suite's digest is acknowledged."""

import json
import typing

import pytest

from commwall.records import freshness
from commwall.schema.case import SuiteName

SUITES = typing.get_args(SuiteName)

INSTRUCTIONS = """
The code that measures suite {suite} has changed; nobody has said what that means for its numbers.
Add to "{suite}" in src/commwall/records/protocols.json:
  "{code}": "<version>"
with a NEW version if numbers may change (records then count as stale and are measured anew),
or with the CURRENT version if they cannot (say why in the commit message).
"""


def unacknowledged(suite: str, code: str, acknowledged: dict[str, str]) -> str:
    """What to do about a digest that is not listed; empty if it is."""
    return "" if code in acknowledged else INSTRUCTIONS.format(suite=suite, code=code)


@pytest.mark.parametrize("suite", SUITES)
def test_measuring_code_is_acknowledged(suite: str) -> None:
    code = freshness.code_digest(*freshness.suite_modules(suite))
    problem = unacknowledged(suite, code, freshness.acknowledged(suite))
    assert not problem, problem


def test_an_unknown_digest_is_caught() -> None:
    problem = unacknowledged("training", "ab12", {"cd34": "1"})
    assert '"ab12": "<version>"' in problem
    assert unacknowledged("training", "cd34", {"cd34": "1"}) == ""


def test_protocols_name_only_suites() -> None:
    named = json.loads(freshness.PROTOCOLS_PATH.read_text(encoding="utf-8"))
    assert set(named) == set(SUITES)

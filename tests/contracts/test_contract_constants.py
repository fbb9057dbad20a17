"""Constants have sources: in the code, in config/facts, and in the claims that use them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from commwall.claims.factbook import read_factbook
from commwall.records.hardware import read_achieved, read_hardware
from tests.contracts import constant_rules as rules
from tests.contracts.tree import ROOT, gather, sources

FACTS = sorted((ROOT / "config" / "facts").glob("*.yaml"))
WITHOUT_FACTS = {"nccl-variables.yaml"}
"""Lists of words whose source stands in their head."""


def test_code_holds_no_unsourced_constant() -> None:
    assert gather(sources(), rules.unsourced_numbers) == []


def test_code_knows_no_gpu_by_name() -> None:
    assert gather(sources(), rules.gpu_names) == []


@pytest.mark.parametrize(
    "source",
    [
        "PEAK = 989e12",
        "PEAKS = {'a': 312e12}",
        'RATE = 450e9\n"""Of a link in one direction [byte/s]."""',
        "def f() -> float:\n    return 3.35e12 / 2",
        "class A:\n    nominal = 2_039_000_000_000",
        "LINK_BANDWIDTH = 25",
        "HOUR_PRICE = 3.99",
        "BOARD_W = 700",
        "BUS_EFFICIENCY: float = 0.8",
    ],
)
def test_an_unsourced_number_is_caught(source: str) -> None:
    assert rules.unsourced_numbers(ast.parse(source)) != []


@pytest.mark.parametrize(
    "source",
    [
        "GB = 10**9\nMEGA = 1e6\nLIMIT = 2**30\nALL = 0xFFFFFFFF",
        'PARAMETERS = 25_557_032\n"""Source: He et al. 2015, table 1."""',
        'CYCLES_PER_S = 2e9\n"""Chosen: above the clock of any GPU."""',
        "WARMUP = 11\nNEAR_SHARE = 0.05",
        "def f(rate: float) -> float:\n    return rate / 1e9",
    ],
)
def test_units_and_sourced_numbers_pass(source: str) -> None:
    assert rules.unsourced_numbers(ast.parse(source)) == []


@pytest.mark.parametrize(
    "source",
    ["{'NVIDIA H200': 1}", "x == 'NVIDIA A100-SXM4-80GB'", "'RTX' in name",
     "match x:\n    case 'H100': pass"],
)  # fmt: skip
def test_a_gpu_in_the_code_is_caught(source: str) -> None:
    assert rules.gpu_names(ast.parse(source)) != []


def test_a_gpu_in_a_sentence_passes() -> None:
    assert rules.gpu_names(ast.parse("reason = 'an H200 took longer'")) == []


@pytest.mark.parametrize("path", FACTS, ids=lambda path: path.name)
def test_every_fact_has_source_date_and_grade(path: Path) -> None:
    """Whatever has a value states where it is from; so does every list of words or rates."""
    if path.name in WITHOUT_FACTS:
        assert "Source:" in path.read_text(encoding="utf-8")
        return
    facts = list(_facts(yaml.safe_load(path.read_text(encoding="utf-8"))))
    assert facts
    lacking = [fact for fact in facts if not {"source", "date", "grade"} <= fact.keys()]
    assert lacking == []
    assert [fact for fact in facts if len(str(fact["source"])) < 10] == []


def _facts(node: object) -> Iterator[dict[str, object]]:
    """Everything in a file that states a value, or a source."""
    stating = {"value", "words", "busbw_bytes_per_s", "source"}
    if isinstance(node, dict) and stating & node.keys():
        yield node
    below = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for each in below:
        yield from _facts(each)


def test_facts_have_known_units_and_rates_of_links_a_direction() -> None:
    """Reading all of them checks units; a rate of a link without direction would be ambiguous."""
    book = read_factbook(ROOT)
    assert len(book.values) > 100
    links = read_hardware(ROOT).links
    kinds = (links.nvlink, links.pcie, links.pcie_signalling, links.infiniband)
    assert {fact.direction for kind in kinds for fact in kind.values()} == {"one"}


def test_measured_rates_are_of_gpus_on_file() -> None:
    known = read_hardware(ROOT).gpus.root
    named = {gpu for each in read_achieved(ROOT).root.values() for gpu in each.gpus}
    assert named <= known.keys()


def test_an_unknown_gpu_has_no_values() -> None:
    facts = read_hardware(ROOT)
    for name in ("NVIDIA H200 NVL", "NVIDIA GeForce RTX 4080", "NVIDIA A100", ""):
        assert facts.gpus.of(name) is None

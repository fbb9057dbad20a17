"""Shipped claims and their verdicts, ten claims of public pages, and files that are refused."""

from functools import cache
from pathlib import Path

import pytest

from commwall.claims.factbook import FIGURES, NCCL_NAMES, VOCABULARIES, FactBook, read_factbook
from commwall.claims.files import loaded, read_claims, shipped
from commwall.claims.formulas import FORMULAS
from commwall.claims.judging import WORDS, Judged, judge
from commwall.cli.main import main
from commwall.schema.claims import Claim, Formula, Measured, Number, Shown, Unknown
from commwall.schema.errors import ConfigError

ROOT = Path(__file__).parents[2]
PUBLIC = ROOT / "tests/data/claims/public-pages.yaml"


@cache
def book() -> FactBook:
    return read_factbook(ROOT)


@cache
def verdicts(path: Path) -> dict[str, Judged]:
    return {claim.id: judge(claim, book()) for claim in read_claims(path, book()).claims}


def test_no_verdict_is_typed_in() -> None:
    """The words of verdicts are keys of no claim; `holds` and the like would be refused."""
    for path in shipped(ROOT):
        text = path.read_text(encoding="utf-8")
        assert "verdict" not in text.partition("claims:")[2], path.name


REFERENCE = {
    "a100-nvlink-or-pcie": "C I H W U C I W W U U W H C C W W W C H X C U H",
    "selection-questions": "H H H W H H X",
    "communication-wall": "W W U U H U X C C X W H W I X",
    "rental-nvswitch": "U W H C H U H C C H C C U",
}
"""Verdicts that people reached on the same claims, in the files' order."""
LETTERS = {"wrong": "W", "inconsistent": "I", "unit": "U", "unsupported": "X",
           "conditional": "C", "holds": "H"}  # fmt: skip
DIFFERENT = {
    "larger-model-gains-more": "C",  # possible if its batch is a quarter to a third of the other's
    "resnet-rate-of-eight": "U",  # right if the rates are of each GPU
    "samples-per-watt-hour": "H",  # a rate over a power is samples per energy
    "pipeline-bubble": "W",  # 30 % needs 16 micro-batches; growing in proportion is wrong
    "eight-4090-or-four-a100": "W",  # the data sheets say 6 % less compute, not 20
    "nvswitch-2018": "U",  # 300 GB/s are both directions of six links
}


def test_verdicts_are_those_that_people_reached_but_for_six() -> None:
    found, expected = {}, {}
    for path in shipped(ROOT):
        own = verdicts(path)
        found |= {name: LETTERS[judged.verdict] for name, judged in own.items()}
        expected |= dict(zip(own, REFERENCE[path.stem].split(), strict=True))
    assert len(found) == 59
    assert {name: each for name, each in found.items() if each != expected[name]} == DIFFERENT


@pytest.mark.parametrize(
    ("file", "claim", "words"),
    [
        ("a100-nvlink-or-pcie", "epoch-time-shorter", "46.9 to 52.0 ms"),
        ("a100-nvlink-or-pcie", "epoch-time-shorter", "169 to 187 ms"),
        ("a100-nvlink-or-pcie", "larger-model-gains-more", "1.19"),
        ("a100-nvlink-or-pcie", "samples-per-watt-hour", "300 W"),
        ("a100-nvlink-or-pcie", "all-reduce-28-and-9", "74.4 GB/s"),
        ("a100-nvlink-or-pcie", "batches-of-the-table", "64.3 to 71.4 img"),
        ("a100-nvlink-or-pcie", "batches-of-the-table", "8.04 to 8.93 img"),
        ("a100-nvlink-or-pcie", "payback", "2.63 h"),
        ("a100-nvlink-or-pcie", "payback", "8.78 h"),
        ("a100-nvlink-or-pcie", "payback", "5.62 months"),
        ("a100-nvlink-or-pcie", "share-above-half-a-billion", "371 to 408 ms"),
        ("a100-nvlink-or-pcie", "memory-by-dmon", "99.8 %"),
        ("communication-wall", "tensor-parallel-traffic", "172 GB"),
        ("communication-wall", "megabytes-per-millisecond", "900 MB"),
        ("communication-wall", "seconds-for-28-gb", "2.23 to 2.45 s"),
        ("communication-wall", "pipeline-bubble", "16.3"),
        ("communication-wall", "number-of-gpus", "14 to 15.8"),
        ("communication-wall", "eight-4090-or-four-a100", "51.9 %"),
        ("communication-wall", "eight-4090-or-four-a100", "104 %"),
        ("rental-nvswitch", "twenty-gb-over-a-pair", "44.4 ms"),
        ("rental-nvswitch", "exaflops", "0.288 EFLOPS"),
    ],
)
def test_computed_values_are_those_done_by_hand(file: str, claim: str, words: str) -> None:
    """By hand, for instance: 59,000 $ / (14 · 20 · 80 $/h) = 2.634 h; / 0.30 = 8.78 h.

    RN50: 4 B · 25.557 M · 1.75 = 178.9 MB; / 22 GB/s = 8.132 ms, / 231.58 = 0.773 ms; the
    difference / (1/1520 - 1/1840 s) = 64.3 images. 4 · 32,768 · 8,192 · 80 · 2 B = 171.8 GB.
    """
    judged = verdicts(ROOT / "config/facts/claims" / f"{file}.yaml")[claim]
    told = [*(f.words for f in judged.findings), *(value.text for value in judged.values)]
    assert [text for text in told if words in text] != []


def test_ten_claims_of_public_pages() -> None:
    """By hand: 1 GB / 1.8 TB/s = 0.56 ms, but 1.8 TB/s are both directions; 1 GB / 12.5 GB/s
    = 80 ms; 16 · 7.5625 = 121, not 128; 450 / 64 = 7.03; 300 / 32 = 9.4 in one direction; GA102 has
    four links of NVLink 3; 58 / 54 = 1.074; 480 / 900 = 0.533, of one direction 1.07."""
    assert {name: judged.verdict for name, judged in verdicts(PUBLIC).items()} == {
        "one-gb-over-nvlink": "unit",
        "one-gb-over-ethernet": "holds",
        "pcie-6-of-128": "wrong",
        "seven-times": "holds",
        "ten-times-of-32": "holds",
        "six-links-of-a-3090": "wrong",
        "a6000-fourth-generation": "wrong",
        "seven-percent": "conditional",
        "thousand-exaflops": "unit",
        "half-of-900": "unit",
    }


GOOD = """\
title: "A text"
source: "a page"
claims:
  - id: one
    says: "900 GB/s are 450."
    numbers:
      rate: {value: 900, unit: GB/s, direction: both}
    facts:
      link: links/nvlink/4
    relations:
      - "rate == 18 * link"
"""

FORMULA = """\
    formulas:
      - {text: "%s", documented: "%s", unit: x, at: {y: [1, x]}, reads: {%s}}
    facts:"""

MEASURED = """\
    measured:
      - {number: rate, metric: busbw_bytes_per_s, case: {%s}, gpu: h200-sxm, links: [%s]}
    facts:"""


def refused(tmp_path: Path, old: str, new: str) -> str:
    path = tmp_path / "mine.yaml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        read_claims(path, book())
    return str(error.value)


def test_the_example_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD, encoding="utf-8")
    assert judge(read_claims(path, book()).claims[0], book()).verdict == "holds"


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("unit: GB/s", "unit: GBps", 7, "unknown unit 'GBps'"),
        ("unit: GB/s, ", "", 7, "Field required"),
        ("direction: both", "direction: twoway", 7, "'one', 'both' or 'unstated'"),
        ("says:", "verdict: holds\n    says:", 5, "unknown key"),
        ("links/nvlink/4", "links/nvlink/44", 9, "there is no fact 'links/nvlink/44'"),
        ("18 * link", "18 * lnk", 11, "'lnk' is not known here"),
        ("rate == 18 * link", "rate 18", 11, "is no expression"),
        ("rate == 18 * link", "rate * link", 11, "is no relation"),
        ("rate == 18 * link", "rate == 18", 11, "compares two kinds"),
        ("rate == 18 * link", "open(link) == rate", 11, "there is no formula 'open'"),
        ("      link:", "      rate:", 9, "stands for two things"),
        ("value: 900", "value: 900, value: 1", 7, "stands twice"),
        ("claims:", "claims: [", 4, "cannot read a YAML file"),
        ("value: 900", "value: 900, most: 100", 7, "`most` is 100, below `value`, which is 900"),
        ("value: 900", "value: yes", 7, "must be a number"),
        ("18 * link", "True * link", 11, "True is no number"),
        ("    facts:", FORMULA % ("y - y", "y", ""), 9, "is 0 or beyond all bounds"),
        ("    facts:", FORMULA % ("y", "y - 2", ""), 9, "is 0 or beyond all bounds"),
        ("    facts:", FORMULA % ("y", "x", "q: x"), 9, "`reads` names q"),
        ("    facts:", MEASURED % ("collectve: all_reduce", ""), 9, "no case has collectve"),
        ("    facts:", MEASURED % ("dtype: float32", "nvlink, socket"), 9, "has another unit"),
    ],
)
def test_a_wrong_file_is_refused_with_line_and_reason(
    tmp_path: Path, old: str, new: str, line: int, reason: str
) -> None:
    told = refused(tmp_path, old, new)
    assert f"line {line}" in told, told
    assert reason in told, told


def test_a_relation_of_too_many_uncertain_numbers_is_refused_at_once(tmp_path: Path) -> None:
    names = [f"n{place}" for place in range(13)]
    numbers = "".join(f"\n      {name}: {{value: 1, unit: s}}" for name in names)
    text = GOOD.replace("numbers:", f"numbers:{numbers}")
    path = tmp_path / "mine.yaml"
    path.write_text(f"{text}      - '13 * n0 == {' + '.join(names)}'\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="names 13 quantities that are not exact; 12 at most"):
        read_claims(path, book())


def test_everything_wrong_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    text = GOOD.replace("unit: GB/s", "unit: GBps").replace("id: one", "id: One!")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="claims cannot be judged") as error:
        loaded((path, tmp_path / "absent.yaml"), book())
    told = str(error.value)
    assert "must not be empty" not in told  # they are refused, which is no lack of them
    assert "line 4" in told
    assert "line 7" in told
    assert "absent.yaml" in told


def test_the_facts_are_found_from_every_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["claims", "mine.yaml"]) == 0
    assert "1 holds" in capsys.readouterr().out


DOCUMENT = (ROOT / "docs/claims.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("first", [1, 5])
def test_the_documents_examples_give_what_they_say(tmp_path: Path, first: int) -> None:
    example, printed = DOCUMENT.split("```")[first], DOCUMENT.split("```")[first + 2]
    path = tmp_path / "mine.yaml"
    path.write_text(example, encoding="utf-8")
    (judged,) = verdicts(path).values()
    assert f"{WORDS[judged.verdict]} " in printed
    for finding in judged.findings:
        assert finding.words in " ".join(printed.split())


def test_the_document_names_every_key_and_formula() -> None:
    keys = {*Claim.model_fields, *Number.model_fields, *Unknown.model_fields}
    keys |= {*Shown.model_fields, *Formula.model_fields, *Measured.model_fields, *FORMULAS}
    assert {key for key in keys if f"`{key}" not in DOCUMENT} == set()


def test_the_document_names_every_file_that_claims_may_refer_to() -> None:
    names = {*FIGURES, VOCABULARIES, NCCL_NAMES, "gpus", "links", "busbw"}
    assert {name for name in names if f"`{name}.yaml`" not in DOCUMENT} == set()


@pytest.mark.parametrize(
    "text", ["path:\n  - NCCL_A\n  - NCCL_B2\n", "variables:\n  path:\n    NCCL_A: {since: a}\n"
             "    NCCL_B2: {instead: NCCL_GONE, words: [LOC]}\n"],
)  # fmt: skip
def test_names_of_variables_are_read_in_every_form(tmp_path: Path, text: str) -> None:
    (tmp_path / "config/facts").mkdir(parents=True)
    (tmp_path / "config/facts/nccl-variables.yaml").write_text(text, encoding="utf-8")
    known = read_factbook(tmp_path).vocabulary("nccl-variables")
    assert (known.words, known.complete) == (("NCCL_A", "NCCL_B2"), True)

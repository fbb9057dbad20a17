"""Sentences over several cases, and the tables about the campaign, on golden records."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from commwall.analysis.quantities import PRIMARY
from commwall.analysis.result import Analysis, analyse_campaign
from commwall.analysis.tables.breakeven import break_even
from commwall.analysis.tables.census import ALL, Census, census_tables
from commwall.analysis.tables.tidy import Tables
from commwall.analysis.values.facts import Fact, facts_of, matrix_of, matrix_text
from commwall.analysis.verdicts.judging import Verdict
from commwall.analysis.verdicts.overall import (
    COLLECTIVES,
    ENERGY,
    MEMORY,
    TOPICS,
    TRAINING,
    comparisons,
    overall_text,
    topic_verdicts,
    why_unused,
)
from commwall.report.controls import control_text, floor_text
from commwall.report.method import steps
from commwall.report.page import Page
from commwall.schema.case import LEGS, CollectivesCase
from commwall.schema.record import GpuFacts
from commwall.schema.result import Gap
from commwall.stats.paired import paired_ratio
from tests.golden.build import SLOW, record
from tests.golden.many import CAMPAIGN, HOST_BOUND, write_campaign

BUSBW, LATENCY = COLLECTIVES
A, B = "fast link, emulated [golden-fast]", "slow link, emulated"
LEFT_OUT = "transformer-xl-demo not used: marked host bound"


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    root: Path = tmp_path_factory.mktemp("many")
    return analyse_campaign(write_campaign(root), CAMPAIGN, 0.95)


@pytest.fixture(scope="module")
def census(analysis: Analysis) -> Census:
    return census_tables(analysis)


@pytest.fixture
def training(analysis: Analysis) -> list[Verdict]:
    (comparison,) = comparisons(analysis)
    return topic_verdicts(analysis, comparison, TRAINING)


def test_training_over_four_cases(analysis: Analysis, training: list[Verdict]) -> None:
    assert overall_text(analysis, training) == (
        f"{A} trains faster than {B} in 2 of 4 cases, by 50 % (resnet-demo) to "
        "100 % (bert-demo); "
        f"cannot tell, ratio 1.00 in swin-demo; {LEFT_OUT}."
    )


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        (ENERGY, f"{A} has higher samples per watt-hour than {B} in 2 of 4 cases, by 50 % ("),
        (BUSBW, f"{A} has higher bus bandwidth than {B} in 2 of 2 operations, by 900 %."),
        (
            LATENCY,
            "cannot tell in any of 2 operations; ratio 0.500, without interval; all-reduce not",
        ),
        (MEMORY, "cannot tell in any of 2 operations; ratio 1.00, without interval; to-device not"),
    ],
)
def test_other_topics(analysis: Analysis, topic: object, text: str) -> None:
    assert topic in TOPICS
    (comparison,) = comparisons(analysis)
    own = topic_verdicts(analysis, comparison, topic)
    assert overall_text(analysis, own, topic.noun).startswith(text)


def test_both_sides_may_win(analysis: Analysis, training: list[Verdict]) -> None:
    turned = _with_ratios(training[1], training[1].values_b, training[1].values_a)
    assert overall_text(analysis, [training[0], turned]) == (
        f"{A} trains faster than {B} in 1 of 2 cases, by 100 %; "
        f"{B} trains faster than {A} in 1 of 2 cases, by 50 %."
    )


def test_an_effect_within_the_noise_is_named(analysis: Analysis, training: list[Verdict]) -> None:
    near = _with_ratios(training[0], (1.02, 1.021, 1.022), (1, 1, 1))
    assert near.winner and near.above_noise is False
    text = overall_text(analysis, [near, training[1]])
    assert "in 2 of 2 cases" in text and "(bert-demo not above the noise floor)" in text


def test_one_round_decides_nothing(analysis: Analysis, training: list[Verdict]) -> None:
    once = [
        replace(_with_ratios(v, v.values_a[:1], v.values_b[:1]), rounds=(1,)) for v in training[:2]
    ]
    assert overall_text(analysis, once) == (
        "cannot tell in any of 2 cases, one round has no interval; "
        "ratio 1.50 (resnet-demo) to 2.00 (bert-demo)."
    )


def test_what_no_case_has_is_not_measured(analysis: Analysis) -> None:
    (comparison,) = comparisons(analysis)
    own = topic_verdicts(analysis, comparison, LATENCY)
    why = "the CPU under the emulated link, not the link, sets the time of 8 B"
    assert own[0].why_none == why
    both = [own[0], replace(own[0], case=own[1].case)]
    assert overall_text(analysis, both) == f"not measured, because {why}."
    assert f"all-reduce not measured: {why}." in overall_text(analysis, own, "operation")


def test_a_refused_round_is_no_reason_for_what_good_ones_lack(analysis: Analysis) -> None:
    (comparison,) = comparisons(analysis)
    reduce = topic_verdicts(analysis, comparison, LATENCY)[0]
    cells = tuple(
        replace(cell, refusals=("marked contended: others were at work",))
        if cell.record.id.case == reduce.case and cell.record.id.round == 1
        else cell
        for cell in analysis.cells
    )
    assert why_unused(replace(analysis, cells=cells), reduce) == reduce.why_none


def test_several_left_out_for_one_mark_are_counted_whatever_the_leg(
    analysis: Analysis, training: list[Verdict]
) -> None:
    cells = tuple(
        replace(cell, refusals=(*cell.refusals, "marked host bound, leg full: more"))
        for cell in analysis.cells
    )
    marked = replace(analysis, cells=cells)
    text = overall_text(marked, [*training[:3], *training[3:] * 2])
    assert text.endswith("; 2 cases not used: marked host bound.")


def test_what_was_kept_out_is_no_verdict(analysis: Analysis, training: list[Verdict]) -> None:
    assert overall_text(analysis, training[3:] * 2) == (
        "no verdict in any of 2 cases: marked host bound, leg single."
    )


def test_one_case_keeps_its_own_sentence(analysis: Analysis, training: list[Verdict]) -> None:
    assert "is faster by 100 % (90 to 110, n = 3)" in overall_text(analysis, training[:1])
    alone = overall_text(analysis, training[3:])
    assert alone == f"{A} against {B}: no verdict, marked host bound, leg single."
    assert why_unused(analysis, training[0]) == "None"  # it has a ratio


def test_control_over_four_cases(analysis: Analysis) -> None:
    (control,) = comparisons(analysis, control=True)
    own = topic_verdicts(analysis, control, TRAINING)
    assert control_text(own) == "the interval contains 1 in 4 of 4 cases; noise floor 5.0 %."
    assert control_text(own[:1]) == "the interval contains 1; noise floor 5.0 %."
    wrong = _with_ratios(own[0], (1.1, 1.11, 1.12), (1, 1, 1))
    text = control_text([wrong, own[1]])
    assert (
        "contains 1 in 1 of 2 cases, not in bert-demo" in text and "only where it is above" in text
    )
    latency = topic_verdicts(analysis, control, LATENCY)
    assert control_text(latency, "operation") == (
        "noise floor unknown, none of 2 operations has an interval; as far as seen, it lay at most "
        "0.0 % from itself."
    )


def test_outcomes_are_counted_by_suite_and_over_all(census: Census) -> None:
    counted = census.outcomes.set_index(["suite", "kind", "name", "outcome"])["records"]
    assert counted[ALL, "record", ALL, "planned"] == 72
    assert counted["training", "record", "marked host bound, leg single", "kept out"] == 3
    assert (
        counted["memory", "record", "skipped: on device cpu there is one memory", "kept out"] == 9
    )
    assert counted[ALL, "record", ALL, "admitted"] == 72 - 3 - 9
    assert counted["training", "check", "exchanged_values", "passed"] == 36
    assert counted["training", "mark", "host_bound", "kept out"] == 3
    assert HOST_BOUND not in str(census.outcomes)


def test_efforts_count_what_was_timed(census: Census) -> None:
    own = census.efforts.query("case == 'bert-demo' and platform == @SLOW").set_index("leg")
    assert own["timed_min"].tolist() == own["timed_max"].tolist() == [5] * 5
    assert own["warmup_max"].tolist() == [1] * 5
    reduce = census.efforts.query("case == 'all-reduce' and platform == @SLOW").iloc[0]
    assert (reduce["sizes"], reduce["timed_min"], reduce["repetitions_max"]) == (3, 3, 5)
    assert own["records"].tolist() == [3] * 5


def test_legs_that_did_not_settle_have_a_row_a_case_and_platform(
    analysis: Analysis, census: Census
) -> None:
    late = (census.efforts["case"] == "bert-demo") & (census.efforts["platform"] == SLOW)
    late &= census.efforts["leg"].isin(("full", "comm"))
    efforts = census.efforts.assign(unsettled=census.efforts["unsettled"].where(~late, 2))
    known = replace(census, efforts=efforts)
    page = Page(analysis, Tables(analysis), known, break_even(analysis), {})
    row = steps(page).markup.partition("had not settled")[2].partition("<tbody>")[2]
    cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)
    late_legs = {"full": "2 of 3", "comm": "2 of 3"}
    assert cells == ["bert-demo", SLOW, *(late_legs.get(leg, "none") for leg in LEGS)]


def test_facts_have_a_row_for_each_value_with_its_rounds(census: Census) -> None:
    boots = census.facts.query("fact == 'machine.boot_digest'").set_index("text")
    assert boots["rounds"].to_dict() == {"a" * 12: "rounds 1, 2", "b" * 12: "round 3"}
    assert boots["records"].to_dict() == {"a" * 12: 48, "b" * 12: 24}
    cpus = census.facts.query("fact == 'machine.cpu_count'").iloc[0]
    assert (cpus["number"], cpus["unit"]) == (2, "CPU")
    driver = census.facts.query("fact == 'machine.driver'").iloc[0]
    assert (driver["why_absent"], str(driver["text"])) == ("no GPU was measured", "<NA>")


def test_facts_of_gpus_name_what_could_not_be_read() -> None:
    golden = record(SLOW, 1)
    gpus = (GpuFacts(name="Made-up 1", uuid_digest="a", memory_bytes=2**30, pcie_width=16),)
    machine = golden.machine.model_copy(update={"gpus": gpus, "link_matrix": (("X", "NV4"),)})
    gap = Gap(what="machine.gpus.0.power_limit_w", reason="NVML: not supported")
    found = set(facts_of(golden.model_copy(update={"machine": machine, "gaps": (gap,)})))
    assert Fact("machine.gpus.pcie_width", 0, "lane", 16.0) in found
    assert Fact("machine.gpus.power_limit_w", 0, "W", None, gap.reason) in found
    assert Fact("machine.gpus.partitioned", 0, None, None, "it cannot be divided") in found
    assert Fact("machine.link_matrix", None, None, "X NV4") in found
    matrix = (("X", "SYS"), ("SYS", "X"))
    assert [tuple(row) for row in matrix_of(matrix_text(matrix))] == list(matrix)


def test_the_first_topic_is_what_training_is_judged_by() -> None:
    assert TRAINING.quantity == PRIMARY


def _with_ratios(verdict: Verdict, a: tuple[float, ...], b: tuple[float, ...]) -> Verdict:
    ratio = paired_ratio(a, b, confidence=0.95)
    return replace(verdict, values_a=tuple(a), values_b=tuple(b), ratio=ratio)


def test_each_collective_counts_once(analysis: Analysis) -> None:
    """A sweep beside a load stands in the table only, whatever its size."""
    (comparison,) = comparisons(analysis)
    own = topic_verdicts(analysis, comparison, BUSBW)
    plan = analysis.plan
    assert plan is not None
    suites = [
        suite.model_copy(update={"cases": {**suite.cases, "beside": beside}})
        for suite in plan.suites
        if isinstance(case := suite.cases.get(own[0].case), CollectivesCase)
        for beside in [case.model_copy(update={"beside": "matmul", "max_bytes": 2**40})]
    ]
    wider = replace(analysis.evidence, plan=plan.model_copy(update={"suites": tuple(suites)}))
    more = [*own, replace(own[0], case="beside", refused_rounds=1)]
    found = replace(analysis, evidence=wider)
    assert overall_text(found, more, "operation") == overall_text(found, own, "operation")


def test_a_control_of_another_link_is_said_to_be_one(training: list[Verdict]) -> None:
    assert floor_text(training).startswith("The same link measured twice")
    elsewhere = training[0].comparison.model_copy(update={"a": "x", "b": "y"})
    moved = [replace(verdict, comparison=elsewhere) for verdict in training]
    assert floor_text(moved).startswith("Another link than these two measured twice")

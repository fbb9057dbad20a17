"""Plans: the same every time, in orders that balance drift, with their time told beforehand."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from commwall.measure.duration import (
    expected_launch_s,
    expected_plan_s,
    expected_platform_s,
    expected_suite_s,
    timed_share,
)
from commwall.measure.planning.configuration import Campaign, load_campaigns
from commwall.measure.planning.doubts import doubts
from commwall.measure.planning.freezing import build_plan, plan_text, visiting_orders
from commwall.schema.case import LEGS
from commwall.schema.errors import ConfigError
from commwall.schema.record import MachineFacts
from commwall.schema.strategies import Strategy
from tests.golden.wide import MACHINE as H200X2
from tests.samples import CASE

MAIN_MODELS = {"bert", "resnet", "swin", "transformer_xl"}
ROOT = Path(__file__).parents[2]
MACHINE = MachineFacts(fingerprint="abcdef0123", cpu_model="Made-up 3000", cpu_count=2)
PLATFORMS = ("a", "b", "c")


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return load_campaigns(ROOT, ["cpu-demo"])[0]


def test_the_same_input_gives_the_same_plan(campaign: Campaign) -> None:
    assert build_plan(campaign, MACHINE, "words") == build_plan(campaign, MACHINE, "words")


def test_the_id_names_the_file_and_the_kind_of_machine(campaign: Campaign) -> None:
    plan = build_plan(campaign, MACHINE, "words")
    assert plan.id == "cpu-demo-abcdef01"
    other = MACHINE.model_copy(update={"fingerprint": "1234567890"})
    assert build_plan(campaign, other, "words").id == "cpu-demo-12345678"


def test_every_round_visits_every_platform_and_every_second_goes_backwards() -> None:
    orders = visiting_orders(PLATFORMS, 6, 7, "training")
    assert all(sorted(order) == list(PLATFORMS) for order in orders)
    for there, back in zip(orders[::2], orders[1::2], strict=True):
        assert there == back[::-1]


def test_over_a_pair_of_rounds_no_platform_is_earlier_on_average() -> None:
    orders = visiting_orders(PLATFORMS, 2, 7, "training")
    places = Counter({p: sum(order.index(p) for order in orders) for p in PLATFORMS})
    assert set(places.values()) == {2}


def test_more_rounds_leave_the_first_ones_as_they_were() -> None:
    few, many = (visiting_orders(PLATFORMS, n, 7, "training") for n in (5, 9))
    assert many[:5] == few
    assert visiting_orders(PLATFORMS, 9, 8, "training") != many


def test_slips_of_units_and_counts_are_told_and_the_demo_has_none(campaign: Campaign) -> None:
    plan = build_plan(campaign, MACHINE, "words")
    assert doubts(plan, MACHINE.cpu_count) == ()
    assert len(doubts(plan, 1)) == len(plan.platforms) and not doubts(plan, None)
    (slow,) = (each for each in plan.platforms if each.name.endswith("slowlink"))
    late = slow.treatment.model_copy(update={"latency_s": 20})
    told = doubts(
        plan.model_copy(update={"platforms": (slow.model_copy(update={"treatment": late}),)}), 2
    )
    assert "waits 20.0 s" in told[0] and len(told) == 1
    suite = plan.suite("training")
    huge = {"huge": CASE.model_copy(update={"batch_per_gpu": 1_000_000})}
    suites = (suite.model_copy(update={"cases": huge}),)
    assert "1000000 samples" in doubts(plan.model_copy(update={"suites": suites}), 2)[0]


def test_operations_state_their_sizes_and_time(campaign: Campaign) -> None:
    plan = build_plan(campaign, MACHINE, "words")
    text = plan_text(plan)
    assert "case all-gather: all_gather of float32, 11 sizes up to 8 MiB, 0.0500 s each" in text
    assert "case ram-triad: triad, buffers of 256 KiB, 64 MiB, 0.150 s each" in text
    (case, *_) = plan.suite("collectives").cases.values()
    one, two = (expected_launch_s([case] * number, "cpu") for number in (1, 2))
    assert two - one == pytest.approx(10 * 2 * 0.05)  # sizes, windows and as long besides


def test_expected_time_grows_with_windows_rounds_and_platforms(campaign: Campaign) -> None:
    plan = build_plan(campaign, MACHINE, "words")
    suite = plan.suite("training")
    one_launch_s = expected_launch_s(list(suite.cases.values()), "cpu")
    assert expected_suite_s(plan, suite) == pytest.approx(5 * 3 * one_launch_s)
    longer = CASE.model_copy(update={"windows": CASE.windows.model_copy(update={"full_s": 2.0})})
    for device in ("cpu", "cuda"):
        before_s, after_s = (expected_launch_s([case], device) for case in (CASE, longer))
        assert after_s - before_s == pytest.approx(1.05)


def test_the_demo_leaves_a_minute_of_eight_for_tables_and_pages(campaign: Campaign) -> None:
    plan = build_plan(campaign, MACHINE, "words")
    assert [suite.suite for suite in plan.suites] == ["training", "memory", "collectives"]
    assert expected_plan_s(plan) < 7 * 60


def test_the_demo_has_every_model_with_every_leg(campaign: Campaign) -> None:
    cases = build_plan(campaign, MACHINE, "words").suite("training").cases.values()
    assert {case.model for case in cases} == MAIN_MODELS
    assert {case.legs for case in cases} == {LEGS}


def test_the_text_tells_what_is_planned(campaign: Campaign) -> None:
    text = plan_text(build_plan(campaign, MACHINE, "a made-up machine"))
    for word in (
        "a made-up machine",
        "round 5: ",
        "15 launches",
        "expected time",
        "does not cover",
    ):
        assert word in text
    for platform in campaign.config.platforms.values():
        assert platform.treatment.label.title in text


def test_platforms_run_only_the_cases_they_name(campaign: Campaign) -> None:
    config = campaign.config
    none = config.platforms["cpux2-slowlink"].model_copy(update={"cases": ()})
    fewer = {**config.platforms, "cpux2-slowlink": none}
    changed = Campaign("x", config.model_copy(update={"platforms": fewer}), campaign.cases)
    suite = build_plan(changed, MACHINE, "words").suite("training")
    assert "cpux2-slowlink" not in suite.platforms
    assert "cpux2-slowlink" not in suite.orders[0]


def test_a_campaign_that_measures_nothing_here_is_refused_with_the_reasons() -> None:
    (asked,) = load_campaigns(ROOT, ["gpu"])
    with pytest.raises(ConfigError) as told:
        build_plan(asked, MACHINE, "words")
    assert "campaign gpu measures nothing on this machine" in str(told.value)
    assert "platform hoststaged: it needs two GPUs, here are 0" in str(told.value)


def test_gpus_that_are_not_there_are_a_reason() -> None:
    (asked,) = load_campaigns(ROOT, ["gpu"])
    everywhere = {
        name: platform.model_copy(update={"where": None, "world_size": size})
        for (name, platform), size in zip(asked.config.platforms.items(), [2] * 9, strict=False)
    }
    config = asked.config.model_copy(update={"platforms": everywhere})
    with pytest.raises(ConfigError, match="platform nvlink: it needs 2 GPUs, here are 0"):
        build_plan(Campaign("gpu", config, asked.cases), MACHINE, "words")


def test_a_campaign_of_one_kind_of_machine_has_its_own_name_and_refuses_others() -> None:
    (asked,) = load_campaigns(ROOT, ["h200x2"])
    plan = build_plan(asked, H200X2, "two H200")
    assert plan.id == "h200x2"
    other = H200X2.model_copy(update={"fingerprint": "0" * 64})
    with pytest.raises(ConfigError) as told:
        build_plan(asked, other, "another machine")
    text = str(told.value)
    assert "campaign h200x2 is measured on one kind of machine only" in text
    assert "00000000: another machine" in text and "expected  655c9664" in text
    assert "where its records are published (results/h200x2)" in text
    assert "commwall replicate h200x2" in text


def test_the_reference_campaign_has_what_it_promises() -> None:
    (asked,) = load_campaigns(ROOT, ["h200x2"])
    plan = build_plan(asked, H200X2, "two H200")
    training = plan.suite("training")
    assert (training.rounds, len(training.cases), plan.left_out) == (5, 8, ())
    assert {case.legs for case in training.cases.values()} == {LEGS}
    again = training.platforms["h200x2-nvlink-again"]
    assert {training.cases[case].model for case in again} == MAIN_MODELS
    main = ("h200x2-nvlink", "h200x2-hoststaged")
    assert all(len(training.platforms[name]) == 8 for name in main)


def test_a_round_of_the_reference_campaign_fits_into_ten_minutes() -> None:
    (asked,) = load_campaigns(ROOT, ["h200x2"])
    plan = build_plan(asked, H200X2, "two H200")
    suite = plan.suite("training")
    assert expected_suite_s(plan, suite) / suite.rounds < 530
    main_s = sum(
        expected_platform_s(plan, suite, name) for name in ("h200x2-nvlink", "h200x2-hoststaged")
    )
    # 2 platforms x 5 rounds x (17 + 2 + 8 x (7 + 5 x 0.9 + 1.05 x 6.6)) s
    assert main_s == pytest.approx(10 * (19 + 8 * 18.43))
    assert timed_share(plan, suite, "h200x2-nvlink") == pytest.approx(55.44 / 166.44)


def test_a_round_of_more_workloads_fits_into_ten_minutes() -> None:
    (asked,) = load_campaigns(ROOT, ["h200x2-wide"])
    plan = build_plan(asked, H200X2, "two H200")
    suite = plan.suite("training")
    assert (len(suite.cases), len(suite.platforms), suite.rounds) == (11, 2, 3)
    # 2 platforms x (17 + 2 + 11 x (7 + 5 x 0.9 + 1.05 x 6.6)) s
    assert expected_suite_s(plan, suite) / 3 == pytest.approx(2 * (19 + 11 * 18.43))
    # 2 platforms x (10 + 2 + 2 x 14 x (0.06 + 2 x 0.06)) s
    sweeps = plan.suite("collectives")
    assert expected_suite_s(plan, sweeps) / 3 == pytest.approx(2 * (12 + 28 * 0.18))


def test_the_campaign_of_more_workloads_splits_and_answers_in_twenty_minutes() -> None:
    (asked,) = load_campaigns(ROOT, ["h200x2-wide"])
    plan = build_plan(asked, H200X2, "two H200")
    strategies, inference = plan.suite("strategies"), plan.suite("inference")
    assert (len(strategies.cases), len(inference.cases)) == (7, 5)
    # 12 + 2 s a launch; 8 s a case and 2 x 2 s; 2 x (6 + 2 x 1) s a decoder.
    assert expected_suite_s(plan, strategies) == pytest.approx(3 * 2 * (14 + 7 * 12))
    assert expected_suite_s(plan, inference) == pytest.approx(3 * 2 * (14 + 5 * 16))
    text = plan_text(plan)
    assert "pipeline (gpipe), gpt3-2.7b, 8 micro-batches of 1 x 2048 tokens, bfloat16" in text
    assert "Llama, 70b, 32 x 512 + 512 tokens, bfloat16, compiled_captured" in text


def test_two_cpus_show_every_strategy_and_inference_in_minutes() -> None:
    (asked,) = load_campaigns(ROOT, ["cpu-wide"])
    plan = build_plan(asked, MACHINE, "two CPUs")
    shown = {getattr(case, "strategy", "") for case in plan.suite("strategies").cases.values()}
    assert shown == set(get_args(Strategy))
    assert len(plan.suite("inference").platforms) == 2
    assert expected_plan_s(plan) < 300


def test_the_quick_look_takes_three_rounds_of_two_platforms() -> None:
    (asked,) = load_campaigns(ROOT, ["quick"])
    plan = build_plan(asked, H200X2, "two H200")
    (suite,) = plan.suites
    assert (suite.rounds, len(suite.platforms)) == (3, 2)
    assert {case.model for case in suite.cases.values()} == MAIN_MODELS
    assert {case.legs for case in suite.cases.values()} == {("full",)}
    assert expected_plan_s(plan) < 330
    assert "h200x2-nvlink: 2.70 min for 4 cases, 6% of it in timed windows" in plan_text(plan)


def test_a_campaign_may_not_lie_where_pages_are_made_anew() -> None:
    (asked,) = load_campaigns(ROOT, ["h200x2"])
    with pytest.raises(ConfigError, match="no campaign may be called site"):
        build_plan(replace(asked, name="site"), H200X2, "two H200")

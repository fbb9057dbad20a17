"""Campaigns on 4 and 8 GPUs of one host, planned for machines that are made up."""

from pathlib import Path

import pytest

from commwall.measure.duration import expected_launch_s, expected_suite_s
from commwall.measure.planning.configuration import load_campaigns
from commwall.measure.planning.freezing import build_plan
from commwall.records.ladders import ladders
from commwall.schema.case import CollectivesCase, MemoryCase, TrainingCase
from commwall.schema.errors import ConfigError
from commwall.schema.plan import Plan, PlannedSuite
from commwall.schema.record import GpuFacts, MachineFacts

ROOT = Path(__file__).parents[2]
CALL_S = 580
"""What a call of ten minutes leaves for whole rounds."""
FIRST = "bert-large-s128-b32"


def machine(count: int) -> MachineFacts:
    """GPUs of which NVLink joins every two."""
    return MachineFacts(
        fingerprint="0" * 64,
        cpu_model="Made-up 3000",
        cpu_count=32,
        gpus=(GpuFacts(name="NVIDIA H200", uuid_digest="0" * 12, memory_bytes=2**37),) * count,
        link_matrix=tuple(
            tuple("X" if i == j else "NV18" for j in range(count)) for i in range(count)
        ),
        peer_access=True,
    )


def planned(name: str, gpus: int) -> Plan:
    (asked,) = load_campaigns(ROOT, [name])
    return build_plan(asked, machine(gpus), "made up")


def round_s(plan: Plan, *cases: str) -> float:
    """Expected time of one round of some training cases, of all if none is named [s]."""
    suite = plan.suite("training")
    own = {
        name: tuple(case for case in run if case in (cases or suite.cases))
        for name, run in suite.platforms.items()
    }
    kept = PlannedSuite(
        suite="training",
        cases=suite.cases,
        platforms={name: run for name, run in own.items() if run},
        orders=suite.orders,
    )
    return expected_suite_s(plan, kept) / suite.rounds


@pytest.mark.parametrize(
    ("name", "gpus", "sizes"), [("h200x4", 4, (2, 4)), ("h200x8", 8, (2, 4, 8))]
)
def test_both_links_are_measured_at_every_number(
    name: str, gpus: int, sizes: tuple[int, ...]
) -> None:
    plan = planned(name, gpus)
    assert plan.left_out == () and plan.id == f"{name}-00000000"
    assert [[p.world_size for p in ladder.platforms] for ladder in ladders(plan)] == [
        list(sizes),
        list(sizes),
    ]
    pairs = [(pair.a.split("-")[1], pair.b.split("-")[1]) for pair in plan.comparisons]
    assert pairs[: len(sizes)] == [(f"nvlink{n}", f"hoststaged{n}") for n in sizes[::-1]]
    assert [pair.control for pair in plan.comparisons] == [False] * len(sizes) + [True]
    assert {p.path for p in plan.platforms} == {"nvlink", "host_staged"}


@pytest.mark.parametrize(("name", "gpus"), [("h200x4", 4), ("h200x8", 8)])
def test_all_gpus_train_the_cases_of_the_reference_and_few_a_case_of_each_model(
    name: str, gpus: int
) -> None:
    suite = planned(name, gpus).suite("training")
    (reference,) = load_campaigns(ROOT, ["h200x2"])
    theirs = {n: c for n, c in reference.cases.items() if isinstance(c, TrainingCase)}
    assert suite.rounds >= 5 and set(suite.cases) == set(theirs)
    for case, own in suite.cases.items():
        same = theirs[case].model_dump(exclude={"windows"})
        assert own.model_dump(exclude={"windows"}) == same
    for platform, cases in suite.platforms.items():
        few = not platform.startswith(f"h200x{gpus}")
        models = {suite.cases[case].model for case in cases}  # type: ignore[union-attr]
        if platform.endswith("-again"):
            assert cases == (FIRST,)
        else:
            assert (len(cases), len(models)) == ((4, 4) if few else (8, 4))


@pytest.mark.parametrize(("name", "gpus"), [("h200x4", 4), ("h200x8", 8)])
def test_rounds_fit_into_calls_and_the_most_telling_case_comes_first(name: str, gpus: int) -> None:
    plan = planned(name, gpus)
    suite = plan.suite("training")
    first, *others = suite.cases
    assert first == FIRST and all(cases[0] == first for cases in suite.platforms.values())
    assert 2 * round_s(plan, first) < CALL_S
    assert round_s(plan, first, *others[:3]) < CALL_S
    assert round_s(plan, *others[3:]) < CALL_S
    for own in ("collectives", "memory"):
        suite_s = expected_suite_s(plan, plan.suite(own))
        assert suite_s / plan.suite(own).rounds < CALL_S


def test_steps_of_more_gpus_have_what_they_are_predicted_from() -> None:
    suite = planned("h200x8", 8).suite("collectives")
    for platform, names in suite.platforms.items():
        sweeps = [case for name in names if isinstance(case := suite.cases[name], CollectivesCase)]
        assert {(c.dtype, c.beside) for c in sweeps} >= {("float32", None)}
        if not platform.endswith("-again"):
            assert {c.beside for c in sweeps} == {None, "matmul"}


def test_a_smaller_machine_measures_what_it_can_and_none_pretends() -> None:
    plan = planned("h200x8", 4)
    assert {p.world_size for p in plan.platforms} == {4, 2}
    told = {item.what: item.reason for item in plan.left_out}
    assert told["platform hoststaged8"] == "it needs 8 GPUs, here are 4"
    assert "comparison nvlink8 against hoststaged8" in told
    with pytest.raises(ConfigError, match="it needs 8 GPUs, here are 0"):
        planned("h200x8", 0)


def test_copies_between_more_gpus_take_longer_pair_after_pair() -> None:
    start_s = expected_launch_s([], "cuda")
    launch_s = expected_launch_s([MemoryCase(operation="copy", buffer_bytes=(4,))], "cuda", 8)

    def case_s(operation: str, ranks: int, turns: str = "together") -> float:
        asked = {"operation": operation, "buffer_bytes": (4,), "ranks": turns}
        whole_s = expected_launch_s([MemoryCase.model_validate(asked)], "cuda", ranks)
        return whole_s - start_s - 10  # a launch with a case of memory takes 10 s to start

    assert launch_s - start_s - 10 == pytest.approx(case_s("copy", 2))
    assert case_s("peer", 8) == pytest.approx(28 * case_s("peer", 2))
    assert case_s("peer_bidirectional", 4) == pytest.approx(6 * case_s("peer_bidirectional", 2))
    assert case_s("copy", 8, "one_at_a_time") == pytest.approx(4 * case_s("copy", 2))

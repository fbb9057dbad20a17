"""Only like is compared with like, and the message names what differs."""

import pytest

from commwall.records.admit import refusals
from commwall.records.comparable import (
    ACROSS_ROUNDS,
    NEVER,
    WITHIN_ROUND,
    check_round,
    differences,
    not_as_planned,
)
from commwall.schema.errors import IncomparableRecords
from commwall.schema.record import Record, Status
from commwall.schema.result import Check, Mark
from tests import samples

PLAN = samples.plan()


def with_loss(platform: str, *values: float, **options: str) -> Record:
    loss = samples.series("loss", "1", values)
    return samples.record(PLAN, platform, 1, measured=(loss,), **options)


def test_two_treatments_of_one_round_compare() -> None:
    check_round(with_loss("fast", 8.0, 7.5), with_loss("slow", 8.0, 7.5))


def test_another_torch_is_named_with_both_values() -> None:
    with pytest.raises(IncomparableRecords, match=r"2\.13\.0 and 2\.12\.0") as caught:
        check_round(with_loss("fast", 8.0), with_loss("slow", 8.0, torch="2.12.0"))
    assert caught.value.parts["where"] == "software.runtime.torch"


def test_another_round_is_refused() -> None:
    with pytest.raises(IncomparableRecords, match="id.round_id"):
        check_round(with_loss("fast", 8.0), with_loss("slow", 8.0, round_id="other"))


@pytest.mark.parametrize(("left", "right"), [((8.0,), (8.1,)), ((8.0, 7.0), (8.0,))])
def test_losses_that_differ_are_refused(left: tuple[float], right: tuple[float]) -> None:
    with pytest.raises(IncomparableRecords, match="loss"):
        check_round(with_loss("fast", *left), with_loss("slow", *right))


def test_losses_that_differ_by_rounding_compare() -> None:
    check_round(with_loss("fast", 8.0), with_loss("slow", 8.0 * (1 + 1e-6)))


@pytest.mark.parametrize(
    ("precision", "apart", "compares"),
    [("float32", 4e-4, False), ("bfloat16", 4e-4, True), ("bfloat16", 4e-3, False)],
)
def test_losses_may_differ_by_the_rounding_of_the_precision(
    precision: str, apart: float, compares: bool
) -> None:
    sides = [with_loss("fast", 8.0, 7.0), with_loss("slow", 8.0, 7.0 * (1 + apart))]
    a, b = (
        side.model_copy(update={"case": side.case.model_copy(update={"precision": precision})})
        for side in sides
    )
    found = differences(a, b, "round")
    assert [difference.field for difference in found] == ([] if compares else ["loss"])
    assert all(difference.left == "7" for difference in found), "the values farthest apart"


def test_rounds_pool_over_boots_but_not_over_keys() -> None:
    one, two = samples.record(PLAN, "fast", 1), samples.record(PLAN, "fast", 2)
    with pytest.raises(IncomparableRecords, match="id.round"):
        check_round(one, two)
    booted = two.model_copy(update={"machine": two.machine.model_copy(update={"boot_digest": "b"})})
    assert differences(one, booted, "across") == ()
    keyed = samples.record(PLAN, "fast", 2, key="training-2-0123")
    assert [each.field for each in differences(one, keyed, "across")] == ["protocol.freshness_key"]


def test_a_record_is_held_against_its_plan() -> None:
    record = samples.record(PLAN, "fast", 1)
    assert not_as_planned(record, PLAN) is None
    case = record.case.model_copy(update={"batch_per_gpu": 8})
    edited = not_as_planned(record.model_copy(update={"case": case}), PLAN)
    assert edited == "measured otherwise than the plan says: case.batch_per_gpu: 8 and 4"
    other = record.model_copy(update={"platform": samples.platform("fast", 1e9)})
    found = not_as_planned(other, PLAN)
    assert found and "platform.treatment.bandwidth_bytes_per_s: 1000000000.0 and 6" in found


def test_every_field_of_a_record_stands_in_one_list() -> None:
    listed = {field.split(".")[0] for field in (*WITHIN_ROUND, *NEVER)}
    assert listed == set(Record.model_fields)
    for field in ("id", "protocol", "platform", "software"):
        model = Record.model_fields[field].annotation
        parts = {f"{field}.{name}" for name in model.model_fields}
        assert parts == {name for name in (*WITHIN_ROUND, *NEVER) if name.startswith(f"{field}.")}
    assert not set(NEVER) & {*WITHIN_ROUND, *ACROSS_ROUNDS}


def test_an_ok_record_is_admitted() -> None:
    assert refusals(samples.record(PLAN, "fast", 1)) == ()


def test_every_doubt_is_a_reason() -> None:
    failed = Status(state="failed", cause="out_of_memory", detail="rank 1")
    check = Check(name="gradients_equal", passed=False, found="1e-2", expected="0")
    mark = Mark(name="host_bound", detail="12 % host gap")
    harmless = Mark(name="warmup_not_settled", detail="3 % spread")
    record = samples.record(PLAN, "fast", 1, status=failed, checks=(check,), marks=(mark, harmless))
    assert refusals(record) == (
        "failed (out of memory): rank 1",
        "check gradients_equal failed: found 1e-2, expected 0",
        "marked host bound: 12 % host gap",
    )

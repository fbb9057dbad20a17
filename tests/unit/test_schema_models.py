"""Cases, plans and records refuse what cannot be; digests stay what they are."""

from typing import Any

import pytest
from pydantic import ValidationError

from commwall.schema.base import canonical_json, digest
from commwall.schema.case import LEGS, TrainingCase
from commwall.schema.plan import Plan
from commwall.schema.record import Record, Status
from commwall.schema.result import EXCLUDING_MARKS, Mark
from tests import samples

PLAN = samples.plan()


def changed_case(**changes: Any) -> TrainingCase:
    return TrainingCase.model_validate({**samples.CASE.model_dump(), **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"preset": "huge"}, "preset 'huge' of bert is unknown; known: large, demo"),
        ({"legs": ("nosync", "comm")}, "must contain 'full'"),
        ({"legs": ("full", "full")}, "name each leg once"),
        ({"batch_per_gpu": 0}, "greater than 0"),
        ({"precision": "float64"}, "float32"),
        ({"colour": "red"}, "Extra inputs"),
        ({"sequence_length": None}, "sequence_length is missing; bert takes sequences"),
        ({"model": "resnet"}, "sequence_length must be left out; resnet takes images"),
        ({"model": "swin", "preset": "50"}, "preset '50' of swin is unknown; known: tiny, demo"),
    ],
)
def test_a_case_that_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        changed_case(**changes)


def test_a_batch_has_the_shape_of_its_samples() -> None:
    images = changed_case(model="resnet", sequence_length=None)
    assert images.batch_shape == (4,)
    assert samples.CASE.batch_shape == (4, 64)
    words = [str(case.sample_text) for case in (images, samples.CASE)]
    assert words == ["image", "sequence of 64 tokens"]


def test_a_case_has_all_legs_unless_told() -> None:
    assert samples.CASE.legs == LEGS == ("full", "nosync", "packed", "comm", "single")


def test_models_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        samples.CASE.seed = 3


def changed_plan(**changes: Any) -> Plan:
    return Plan.model_validate({**PLAN.model_dump(), **changes})


def changed_suite(**changes: Any) -> Plan:
    return changed_plan(suites=[{**PLAN.suites[0].model_dump(), **changes}])


def test_platform_names_of_a_plan_differ() -> None:
    with pytest.raises(ValidationError, match="platform names must differ"):
        changed_plan(platforms=[PLAN.platforms[0]] * 2)


def test_a_comparison_names_known_platforms() -> None:
    with pytest.raises(ValidationError, match="names platform 'gone'"):
        changed_plan(comparisons=[{"a": "fast", "b": "gone"}])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"platforms": {"gone": ()}}, "'gone' or one of its cases is not in the plan"),
        ({"cases": {}}, "or one of its cases is not in the plan"),
        ({"orders": [["fast", "slow"]]}, "a round must visit each platform once"),
        ({"orders": [["fast", "slow", "slow"]]}, "a round must visit each platform once"),
    ],
)
def test_a_suite_agrees_with_its_plan(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        changed_suite(**changes)


def test_a_plan_of_another_version_is_refused() -> None:
    with pytest.raises(ValidationError, match="schema_version"):
        changed_plan(schema_version=2)


@pytest.mark.parametrize("name", ["../x", "a/b", "A", "", "a b", "-a", "a" * 61])
def test_a_name_that_is_no_folder_name_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        changed_plan(id=name)


def test_a_plan_finds_its_parts() -> None:
    suite = PLAN.suite("training")
    assert suite.rounds == 2
    assert suite.platforms_of(next(iter(suite.cases))) == ("fast", "slow", "fast-again")
    assert PLAN.platform("slow").name == "slow"
    with pytest.raises(KeyError):
        PLAN.platform("gone")


@pytest.mark.parametrize(
    ("state", "message"), [("failed", "needs a cause"), ("skipped", "needs a reason")]
)
def test_an_outcome_has_its_reason(state: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Status.model_validate({"state": state})


def test_a_record_agrees_with_its_id() -> None:
    data = samples.record(PLAN, "fast", 1).model_dump()
    data["id"]["platform"] = "slow"
    with pytest.raises(ValidationError, match="id disagrees"):
        Record.model_validate(data)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_record_holds_no_value_that_is_not_finite(value: float) -> None:
    data = samples.record(PLAN, "fast", 1).model_dump()
    data["series"] = [{"metric": "loss", "unit": "1", "values": [value]}]
    with pytest.raises(ValidationError, match="finite"):
        Record.model_validate(data)


def test_a_seal_covers_everything_but_itself() -> None:
    record = samples.record(PLAN, "fast", 1).sealed()
    assert record.digest == record.content_digest()
    assert record.model_copy(update={"digest": "other"}).content_digest() == record.digest
    content = record.model_dump(mode="json", exclude={"digest"})
    assert set(content) == set(Record.model_fields) - {"digest"}
    assert record.digest == digest(content)


def test_a_digest_survives_a_file() -> None:
    record = samples.record(PLAN, "fast", 1).sealed()
    again = Record.model_validate_json(record.model_dump_json(indent=4))
    assert again.content_digest() == record.digest


def test_canonical_text_is_one_text() -> None:
    assert canonical_json({"b": 1, "a": [0.1, "µ"]}) == '{"a":[0.1,"\\u00b5"],"b":1}'
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical_json(float("nan"))


def test_a_slow_warm_up_doubtful_energy_narrow_link_or_new_kernels_exclude_nothing() -> None:
    names = set(Mark.model_fields["name"].annotation.__args__)
    assert names - EXCLUDING_MARKS == {
        "warmup_not_settled", "energy_doubtful", "link_degraded", "compiled_anew", "power_capped"
    }  # fmt: skip

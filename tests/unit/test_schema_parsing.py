"""Wrong input is named whole: every problem at once, with file, key and nearest known key."""

import pytest

from commwall.schema.config import CampaignConfig, Config
from commwall.schema.errors import CommwallError, ConfigError
from commwall.schema.parsing import nearest, parse_json_model, parse_model, parse_yaml


def problems(data: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_model(Config, data, "config.yaml")
    assert caught.value.parts["where"] == "config.yaml"
    return str(caught.value.parts["found"]).splitlines()


def test_an_unknown_key_gets_its_nearest() -> None:
    assert problems({"confidense": 0.9}) == ["confidense: unknown key; did you mean 'confidence'?"]


def test_an_unknown_key_inside_gets_its_nearest() -> None:
    assert problems({"environments": {"bench": {"adapt": None}}}) == [
        "environments.bench.adapt: unknown key; did you mean 'adopt'?"
    ]


def test_a_key_unlike_any_other_lists_those_known() -> None:
    assert problems({"timeouts": {"zzz": 1}}) == [
        "timeouts.zzz: unknown key; known keys: case_s, collective_s, startup_s"
    ]


def test_all_problems_come_at_once() -> None:
    found = problems({"campain": 1, "confidence": 2, "timeouts": {"case_s": -1}})
    assert len(found) == 3
    assert {line.split(":")[0] for line in found} == {"campain", "confidence", "timeouts.case_s"}
    assert any("(found 2)" in line for line in found)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_must_be_finite(value: float) -> None:
    assert len(problems({"timeouts": {"case_s": value}})) == 1


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: 1\nb: 2\na: 3\n", "line 3, column 1"),
        ("a:\n  b: 1\n  b: 2\n", "line 3, column 3"),
        ("a: [1, 2\nb: 3\n", "line 2"),
        ("a: 1\n\tb: 2\n", "line 2"),
        ("a: 1\n? [b, c]\n: 2\n", "line 2"),
        ("a: 1\n? {b: c}\n: 2\n", "line 2"),
        ("a: 1\ntitle: 2024-13-45\n", "line 2, column 8"),
        ("a: !!timestamp soon\n", "line 1, column 4"),
        ("a: !!bool perhaps\n", "line 1, column 4"),
        ("a: 1\nb: " + "[" * 20_000, "line 2"),
    ],
)
def test_yaml_problems_have_a_line(text: str, place: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, "x.yaml")
    assert str(caught.value.parts["where"]).startswith(f"x.yaml, {place}")


def test_a_repeated_key_is_named() -> None:
    with pytest.raises(ConfigError, match="'rounds' stands twice"):
        parse_yaml("rounds: 1\nrounds: 2\n", "x.yaml")


def test_a_mapping_may_take_over_keys_and_override_them() -> None:
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n"
    assert parse_yaml(text, "x.yaml")["b"] == {"x": 1, "y": 3}


def test_yaml_makes_no_objects() -> None:
    with pytest.raises(ConfigError):
        parse_yaml("a: !!python/object/apply:os.getcwd []\n", "x.yaml")


@pytest.mark.parametrize("text", ["", "{", '{"campaigns": ["auto"]', "\x00"])
def test_a_truncated_json_text_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="cannot read a JSON file"):
        parse_json_model(Config, text, "plan.json")


def test_a_json_text_of_the_wrong_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="problem"):
        parse_json_model(Config, "[1]", "plan.json")


def test_nearest_gives_none_where_nothing_is_near() -> None:
    assert nearest("rouns", ["rounds", "seed"]) == "rounds"
    assert nearest("qqq", ["rounds", "seed"]) is None


CAMPAIGN = """
title: t
seed: 1
rounds: {training: 2}
windows: {full_s: 1, other_s: 1, min_steps: 3, warmup_max_s: 1}
platforms:
  fast:
    device: cpu
    world_size: 2
    treatment:
      kind: emulated
      bandwidth_bytes_per_s: 1.0e+9
      latency_s: 0
      label: {title: a, stands_for: b, does_not_cover: c}
comparisons: []
cases:
  small: {suite: training, model: bert, preset: demo, batch_per_gpu: 4, sequence_length: 8}
"""


def campaign_problem(old: str, new: str) -> str:
    assert old in CAMPAIGN
    with pytest.raises(ConfigError) as caught:
        parse_model(CampaignConfig, parse_yaml(CAMPAIGN.replace(old, new), "c.yaml"), "c.yaml")
    return str(caught.value.parts["found"])


def test_a_campaign_file_is_understood() -> None:
    campaign = parse_model(CampaignConfig, parse_yaml(CAMPAIGN, "c.yaml"), "c.yaml")
    assert campaign.platforms["fast"].treatment.kind == "emulated"
    assert campaign.cases["small"].windows is None


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("comparisons: []", "comparisons: [{a: fast, b: slow}]", "'slow' is no platform"),
        ("world_size: 2", "world_size: 2\n    cases: [big]", "'big'"),
        ("{training: 2}", "{}", "rounds of suite 'training' are not given"),
        ("latency_s: 0", "latency: 0", "treatment.latency: unknown key; did you mean"),
        ("preset: demo, ", "", "cases.small.preset: Field required"),
        ("model: bert", "model: brt", "cases.small.model"),
        ("  fast:", "  Fast/../x:", "platforms"),
        ("1.0e+9", "0", "bandwidth_bytes_per_s"),
        ("kind: emulated", "kind: imagined", "imagined"),
        ("{training: 2}", "{training: 1001}", "rounds.training"),
        ("{training: 2}", "{training: true}", "rounds.training"),
        ("world_size: 2", "world_size: 1025", "platforms.fast.world_size"),
        ("world_size: 2", "world_size: true", "platforms.fast.world_size"),
        ("seed: 1", "seed: 9007199254740992", "seed"),
        ("cases:\n", "cases: {}\nother:\n", "cases: must not be empty"),
        ("kind: emulated", "kind: nccl", "bandwidth_bytes_per_s: unknown key; known keys: kind,"),
        ("kind: emulated", "kin: emulated", "treatment.kin: unknown key; did you mean 'kind'?"),
        ("kind: emulated", "kin: emulated", "platforms.fast.treatment: key 'kind' is missing"),
    ],
)
def test_a_campaign_problem_is_named(old: str, new: str, found: str) -> None:
    assert found in campaign_problem(old, new)


def test_an_error_tells_cause_and_next_step() -> None:
    error = CommwallError(
        "cannot do it", where="a.yaml", found="1\n2", expected=None, next_step="do that"
    )
    assert str(error) == (
        "CommwallError: cannot do it\n"
        "  where     a.yaml\n"
        "  found     1\n"
        "            2\n"
        "  next      do that"
    )


def test_a_list_that_must_not_be_empty_is_told_so() -> None:
    assert problems({"campaigns": []}) == ["campaigns: must not be empty"]

"""The configuration: what is accepted, and how everything wrong is told at once."""

import re
import shutil
from pathlib import Path

import pytest

from commwall.measure.planning.configuration import (
    RESOLVED_NAME,
    auto_name,
    load,
    load_campaigns,
    load_config,
    resolved_config,
    resolved_text,
)
from commwall.schema.case import TrainingCase
from commwall.schema.config import CampaignConfig, Config
from commwall.schema.errors import ConfigError

ROOT = Path(__file__).parents[2]
DEMO = "config/campaigns/cpu-demo.yaml"
GPU = "config/campaigns/gpu.yaml"
MITIGATIONS = "config/campaigns/cpu-mitigations.yaml"
WIDE = "config/campaigns/h200x2-wide.yaml"
MAIN = "config/config.yaml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    return tmp_path


def edit(root: Path, name: str, old: str, new: str) -> None:
    path = root / name
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{old!r} is not in {name}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def refused(root: Path, **overrides: object) -> str:
    with pytest.raises(ConfigError) as error:
        load(root, overrides)
    return str(error.value)


def test_the_shipped_files_are_valid_and_hold_the_defaults(root: Path) -> None:
    loaded = load(root)
    assert loaded.config == Config()
    assert [campaign.name for campaign in loaded.campaigns] == ["cpu-demo"]
    names = [path.stem for path in (root / "config/campaigns").glob("*.yaml")]
    assert len(load_campaigns(root, names)) == len(names)


def test_every_key_of_the_main_file_stands_there_with_a_comment() -> None:
    text = (ROOT / MAIN).read_text(encoding="utf-8")
    for key in _keys(Config):
        assert re.search(rf"#[^\n]*\n *{key}:", text), f"{key} has no comment above it"


def test_every_key_of_a_campaign_is_explained() -> None:
    files = (DEMO, GPU, WIDE, MITIGATIONS)
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in files)
    for key in _keys(CampaignConfig) - {"suite", "kind", "variables"}:
        assert re.search(rf"\b{key}\b", text), f"{key} is not mentioned"


def _keys(model: type) -> set[str]:
    schema = model.model_json_schema()  # type: ignore[attr-defined]
    parts = [schema, *schema.get("$defs", {}).values()]
    return {key for part in parts for key in part.get("properties", {})}


def test_a_misspelt_key_is_told_with_file_key_and_the_nearest(root: Path) -> None:
    edit(root, MAIN, "confidence: 0.95", "confidense: 0.95")
    text = refused(root)
    assert f"{MAIN}: confidense: unknown key; did you mean 'confidence'?" in text


def test_an_unknown_model_is_told_with_its_key(root: Path) -> None:
    edit(root, DEMO, "model: bert", "model: bertt")
    text = refused(root)
    assert "cases.bert-demo-b4.model" in text
    assert "'bert'" in text and "'bertt'" in text


def test_a_collective_that_does_not_exist_is_told_with_the_key_of_the_file(root: Path) -> None:
    edit(root, DEMO, "collective: broadcast", "collective: brodcast")
    edit(root, DEMO, "buffer_bytes: [262144", "buffer_bytes: [262145")
    text = refused(root)
    assert "cases.broadcast.collective: Input should be 'all_reduce'" in text
    assert "cases.ram-copy.buffer_bytes.0: Input should be a multiple of 4" in text


def test_malformed_yaml_is_told_with_its_line(root: Path) -> None:
    edit(root, DEMO, "rounds:\n  training: 5", "rounds: [5")
    assert re.search(rf"{DEMO}, line \d+", refused(root))


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "a word"])
def test_a_file_that_is_no_mapping_is_refused(root: Path, text: str) -> None:
    (root / DEMO).write_text(text, encoding="utf-8")
    assert DEMO in refused(root)


def test_all_problems_of_all_files_come_at_once(root: Path) -> None:
    edit(root, MAIN, "startup_s: 180", "startup_s: -1")
    edit(root, MAIN, "confidence: 0.95", "confidense: 0.95")
    edit(root, DEMO, "preset: demo", "preset: demmo")
    edit(root, DEMO, "seed: 20240611", "seeds: 20240611")
    edit(root, "config/facts/datasets.yaml", "value: 87599", "value: many")
    text = refused(root)
    for key in ("timeouts.startup_s", "confidense", "seeds", "seed", "squad-1.1-train"):
        assert key in text
    assert "3 place(s)" in text


def test_a_preset_and_a_data_set_that_do_not_exist_are_told(root: Path) -> None:
    edit(root, DEMO, "preset: demo", "preset: demmo\n    dataset: squad-1.1-trian")
    assert "did you mean 'squad-1.1-train'?" in refused(root)
    edit(root, DEMO, "    dataset: squad-1.1-trian\n", "")
    assert "cases.bert-demo-b4: preset 'demmo' of bert is unknown" in refused(root)


@pytest.mark.parametrize(
    ("change", "dataset", "samples"),
    [
        ("model: bert", "squad-1.1-train", 87_599),
        ("model: transformer_xl", "wikitext-103-train", 103_227_021 // 64),
        ("model: resnet", "imagenet-1k-train", 1_281_167),
        ("model: bert\n    dataset: wikitext-103-train", "wikitext-103-train", 103_227_021 // 64),
    ],
)
def test_an_epoch_is_that_of_the_familys_data_set(
    root: Path, change: str, dataset: str, samples: int
) -> None:
    edit(root, DEMO, "model: bert", change)
    if "resnet" in change:
        own = "sequence_length: {}\n    # Gradients"  # of the first case, not of the others
        edit(root, DEMO, own.format(64), own.format("null"))
    case = load(root).campaigns[0].cases["bert-demo-b4"]
    assert isinstance(case, TrainingCase)
    assert (case.dataset, case.dataset_samples) == (dataset, samples)


def test_a_list_of_batches_makes_a_case_of_each(root: Path) -> None:
    edit(root, DEMO, "bert-demo-b4:", "bert-demo:")
    edit(root, DEMO, "cases: [bert-demo-b4,", "cases: [bert-demo,")
    edit(
        root,
        DEMO,
        "batch_per_gpu: 4\n    sequence_length: 64\n    # Grad",
        "batch_per_gpu: [4, 16]\n    sequence_length: 64\n    # Grad",
    )
    (campaign,) = load(root).campaigns
    batches = {name: case.batch_per_gpu for name, case in campaign.cases.items() if "bert" in name}  # type: ignore[union-attr]
    assert batches == {"bert-demo-b4": 4, "bert-demo-b16": 16}
    again = campaign.config.platforms["cpux2-fastlink-again"].cases
    assert again is not None and again[:2] == ("bert-demo-b4", "bert-demo-b16")


def test_a_batch_of_a_sweep_that_is_another_case_is_refused(root: Path) -> None:
    edit(root, DEMO, "  resnet-demo-b16:", "  resnet-demo:")
    edit(root, DEMO, "batch_per_gpu: 16", "batch_per_gpu: [16, 32]")
    edit(root, DEMO, "  swin-demo-b4:", "  resnet-demo-b32:")
    assert "cases.resnet-demo-b32: 'resnet-demo-b32', one of its batches, is a case too" in refused(
        root
    )


def test_a_batch_that_is_no_number_is_told_with_its_case(root: Path) -> None:
    edit(root, DEMO, "batch_per_gpu: 16", "batch_per_gpu: [16, many]")
    assert "cases.resnet-demo-b16-bmany.batch_per_gpu: Input should be a valid integer" in refused(
        root
    )


def test_an_unknown_campaign_is_told_with_the_nearest(root: Path) -> None:
    assert "did you mean 'cpu-demo'?" in refused(root, campaigns=["cpu-dmo"])


def test_an_nccl_variable_that_does_not_exist_is_refused_with_the_nearest(root: Path) -> None:
    _nccl_platform(root, "cuda", "NCCL_NSOCKS_PERTRANSPORT")
    text = refused(root)
    assert "platforms.cpux2-fastlink.treatment.variables.NCCL_NSOCKS_PERTRANSPORT" in text
    assert "did you mean 'NCCL_NSOCKS_PERTHREAD'?" in text


def test_a_value_that_a_variable_does_not_take_is_told(root: Path) -> None:
    _nccl_platform(root, "cuda", "NCCL_ALGO")
    assert "treatment.variables.NCCL_ALGO: it knows Ring, Tree" in refused(root)


def test_a_treatment_must_suit_its_device(root: Path) -> None:
    _nccl_platform(root, "cpu", "NCCL_P2P_DISABLE")
    assert "act on device cuda only" in refused(root)


def test_a_way_is_proven_on_gpus_only(root: Path) -> None:
    edit(root, DEMO, "device: cpu\n    # Proc", "device: cpu\n    path: nvlink\n    # Proc")
    assert "cpux2-fastlink.path: the way of traffic is proven on device cuda only" in refused(root)
    edit(root, DEMO, "path: nvlink", "path: nvlinc")
    assert "cpux2-fastlink.path: Input should be 'nvlink'" in refused(root)


def test_an_emulated_link_needs_the_cpu(root: Path) -> None:
    edit(root, DEMO, "device: cpu", "device: cuda")
    assert "emulated on device cpu only" in refused(root)


def _nccl_platform(root: Path, device: str, variable: str) -> None:
    old = "    treatment:\n      # native"
    edit(root, DEMO, "device: cpu\n    # Processes", f"device: {device}\n    # Processes")
    edit(root, DEMO, old, f"    treatment:\n      variables: {{{variable}: '1'}}\n      # native")
    path = root / DEMO
    head, tail = path.read_text(encoding="utf-8").split("  cpux2-slowlink:", 1)
    head = head.replace("kind: emulated", "kind: nccl")
    head = re.sub(r"      (bandwidth_bytes_per_s|latency_s): .*\n", "", head)
    path.write_text(head + "  cpux2-slowlink:" + tail, encoding="utf-8")


def test_a_control_must_compare_equal_treatments(root: Path) -> None:
    edit(root, DEMO, "b: cpux2-slowlink}", "b: cpux2-slowlink, control: true}")
    assert "are a control but differ in treatment" in refused(root)


def test_overrides_go_above_the_file_and_are_checked_too(root: Path) -> None:
    loaded = load(root, {"timeouts": {"case_s": 5}})
    assert loaded.config.timeouts.case_s == 5
    assert loaded.config.timeouts.startup_s == 180
    assert "did you mean 'timeouts'?" in refused(root, timeoutz={"case_s": 5})


def test_auto_is_the_demo_where_there_is_no_gpu_or_no_campaign_for_it(root: Path) -> None:
    assert auto_name(root, has_gpu=True) == "gpu"
    assert auto_name(root, has_gpu=False) == "cpu-demo"
    (root / "config/campaigns/gpu.yaml").unlink()
    assert auto_name(root, has_gpu=True) == "cpu-demo"


def test_a_job_sees_the_overrides_of_its_workflow_until_the_file_is_edited(root: Path) -> None:
    told = load_config(root, {"timeouts": {"case_s": 5}})
    (root / RESOLVED_NAME).parent.mkdir()
    (root / RESOLVED_NAME).write_text(resolved_text(root, told), encoding="utf-8")
    assert resolved_config(root).timeouts.case_s == 5
    edit(root, MAIN, "case_s: 900", "case_s: 7")
    assert resolved_config(root).timeouts.case_s == 7


@pytest.mark.parametrize(("old", "new"), [("device: cpu", "device: cuda"), (": 2\n", ": 3\n")])
def test_a_control_has_one_device_and_one_size(root: Path, old: str, new: str) -> None:
    path = root / DEMO
    head, mark, tail = path.read_text(encoding="utf-8").partition("  cpux2-fastlink-again:")
    path.write_text(head + mark + tail.replace(old, new, 1), encoding="utf-8")
    key = "device" if "device" in new else "world_size"
    assert f"are a control but differ in {key}" in refused(root)


def test_a_platform_is_not_compared_with_itself(root: Path) -> None:
    edit(root, DEMO, "b: cpux2-slowlink}", "b: cpux2-fastlink}")
    assert "cpux2-fastlink is compared with itself" in refused(root)


def test_a_sequence_is_no_longer_than_the_model_takes(root: Path) -> None:
    edit(root, DEMO, "sequence_length: 64", "sequence_length: 513")
    text = refused(root)
    assert "cases.bert-demo-b4: sequence_length 513 is too long; bert takes up to 512" in text


def test_null_on_the_command_line_is_no_word(root: Path) -> None:
    told = {"environments": {"bench": {"adopt": "null"}, "report": {"adopt": "/x/python"}}}
    environments = load(root, told).config.environments
    assert environments.bench.adopt is None
    assert environments.report.adopt == "/x/python"


@pytest.mark.parametrize("kept", [b"\xff\xfe", b"[]", b"{", b'{"source": 1, "config": {}}'])
def test_what_the_last_start_left_and_cannot_be_used_counts_as_absent(
    root: Path, kept: bytes
) -> None:
    (root / RESOLVED_NAME).parent.mkdir()
    (root / RESOLVED_NAME).write_bytes(kept)
    assert resolved_config(root) == load_config(root)


def test_a_recorded_step_needs_gpus(root: Path) -> None:
    edit(root, DEMO, "    preset: demo\n", "    preset: demo\n    step_mode: captured\n")
    message = refused(root)
    assert "step_mode: captured needs device cuda, cpux2-fastlink is on device cpu" in message


def test_steps_are_recorded_by_default_on_gpus_only(root: Path) -> None:
    modes = {
        name: {case.step_mode for case in campaign.cases.values() if case.suite == "training"}
        for name in ("cpu-demo", "gpu")
        for campaign in load_campaigns(root, [name])
    }
    assert modes == {"cpu-demo": {"eager"}, "gpu": {"compiled_captured"}}


def test_a_folder_without_the_yardsticks_programs_is_told(root: Path, tmp_path: Path) -> None:
    message = refused(root, yardsticks={"nccl_tests": str(tmp_path)})
    assert "yardsticks.nccl_tests" in message and "all_reduce_perf" in message
    (tmp_path / "all_reduce_perf").touch()
    assert load(root, {"yardsticks": {"nccl_tests": str(tmp_path)}}).config.yardsticks.nccl_tests


def test_a_collective_that_is_no_word_is_told(root: Path) -> None:
    edit(root, DEMO, "collective: all_gather,", "collective: [all_gather],")
    message = refused(root)
    assert "cases.all-gather" in message and "in_place" not in message


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("[262144, 67108864]", "[262144, 1000000000000000000]", "cases.ram-copy.buffer_bytes.1"),
        ("max_bytes: 2097152", "max_bytes: 1000000000000000000", "cases.all-reduce.max_bytes"),
        ("batch_per_gpu: 16", "batch_per_gpu: 1000000000000000000", "cases.resnet-demo-b16.batch"),
        ("bucket_bytes: 1310720", "bucket_bytes: 10000000000000000", "cases.bert-demo-b4.bucket_b"),
        ("full_s: 0.6", "full_s: 1.0e+300", "windows.full_s"),
        ("min_steps: 5", "min_steps: 5000000000", "windows.min_steps"),
        ("bandwidth_bytes_per_s: 0.06e+9", "bandwidth_bytes_per_s: 1.0e-300", "bandwidth_bytes"),
    ],
)
def test_sizes_beyond_all_machines_are_told_with_their_key(
    root: Path, old: str, new: str, key: str
) -> None:
    edit(root, DEMO, old, new)
    message = refused(root)
    assert DEMO in message and key in message
    assert re.search(r"should be (less|greater) than or equal to", message)

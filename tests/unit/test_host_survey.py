"""The doctor: what can be measured here, and for the rest why not and what to do."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from commwall.cli.main import main
from commwall.host import survey as surveyed
from commwall.host.environments import manifest_path
from commwall.host.gpus import GpuProbe
from commwall.host.software import packages_digest
from commwall.host.survey import Ability, survey
from commwall.measure.duration import expected_suite_s
from commwall.measure.outlook import look_ahead
from commwall.records.files import write_atomically
from commwall.records.texts import model_text
from commwall.schema.environment import Difference, Manifest

ROOT = Path(__file__).parents[2]


def by_name(root: Path) -> dict[str, Ability]:
    return {ability.name: ability for ability in survey(root)}


def test_whatever_is_missing_says_why_and_what_to_do(tmp_path: Path) -> None:
    for ability in survey(tmp_path):
        assert ability.found
        assert ability.available or ability.next_step


def test_an_environment_is_told_by_its_manifest(tmp_path: Path) -> None:
    assert not by_name(tmp_path)["environment bench"].available
    manifest = Manifest(
        name="bench",
        mode="adopted",
        adopted_from="/usr/bin/python3",
        python="3.12.1",
        lock_digest="0" * 64,
        packages={"torch": "2.13.0"},
        packages_digest=packages_digest({"torch": "2.13.0"}),
        differences=(Difference(name="numpy", locked="2.0", present=None),),
    )
    path = manifest_path(tmp_path, "bench")
    write_atomically(path, model_text(manifest))
    found = by_name(tmp_path)["environment bench"].found
    assert found == "adopted, Python 3.12.1, 1 packages, 1 depart from the lock, torch 2.13.0"
    edited = path.read_text(encoding="utf-8").replace("2.13.0", "2.14.0")
    path.write_text(edited, encoding="utf-8")
    found = by_name(tmp_path)["environment bench"]
    assert not found.available and "packages and packages_digest disagree" in str(found.found)
    path.write_text("{", encoding="utf-8")
    assert not by_name(tmp_path)["environment bench"].available


@pytest.mark.parametrize(("cpus", "available"), [(1, False), (2, True)])
def test_the_demo_needs_two_cpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpus: int, available: bool
) -> None:
    monkeypatch.setattr(surveyed, "usable_cpus", lambda: cpus)
    assert by_name(tmp_path)["CPU"].available is available


def test_the_verb_prints_text_or_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["doctor"]) == 0
    assert "energy counters" in capsys.readouterr().out
    assert main(["doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {ability["name"] for ability in told["abilities"]} >= {"CPU", "GPU", "disk"}
    assert len(told["machine"]["fingerprint"]) == 64


def test_help_tells_what_it_is_for_and_where_it_lies(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert ended.value.code == 0 and "module" not in told
    assert "what the link between the GPUs costs" in told and ".venv/bin/commwall" in told


def test_the_version_is_that_of_the_checkout(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (ended.value.code, capsys.readouterr().out) == (0, f"commwall {project['version']}\n")


def doctor(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["doctor"]) == 0
    return capsys.readouterr().out


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout's configuration and lock, with this machine as one that has no GPU."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / "envs").mkdir()
    shutil.copy(ROOT / "envs/bench.lock", tmp_path / "envs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(surveyed, "probe_gpus", lambda: GpuProbe(reason="no driver"))
    return tmp_path


def test_what_is_told_has_a_word_beside_its_sign(
    there: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(surveyed, "usable_cpus", lambda: 1)
    told = doctor(capsys)
    assert "  ✗ no       CPU: 1 usable\n             → give this process 2 CPUs" in told
    assert "  ✗ no       GPU: no driver\n" in told
    assert "  ✓ yes      disk: " in told
    assert "  – later    environment bench, environment report: not made yet\n" in told
    assert "or: .venv/bin/commwall provision bench" in told
    assert max(map(len, told.splitlines())) <= 100


def test_a_run_is_told_beforehand_with_its_time(
    there: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = there / "config/campaigns/cpu-demo.yaml"
    config = there / "config/config.yaml"
    config.write_text("campaigns: [cpu-demo]\nlanguages: [en]\n", encoding="utf-8")
    told = doctor(capsys)
    title = re.search("^title: (.+)$", campaign.read_text(encoding="utf-8"), re.MULTILINE)
    assert title and f"  measures   {title[1]} (campaign cpu-demo-" in told
    assert re.search(r"training \d+, memory \d+, collectives \d+ cases .*; about \S+ min\n", told)
    config.write_text("campaign: [cpu-demo]\n", encoding="utf-8")
    assert "nothing can be measured as it is configured" in doctor(capsys)
    config.unlink()
    assert "no checkout of commwall" in doctor(capsys)
    assert not (there / "results").exists()


def test_a_plan_without_a_name_is_of_every_configured_campaign(
    there: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = there / "config/config.yaml"
    config.write_text("campaigns: [cpu-scaling, auto]\n", encoding="utf-8")
    assert main(["plan"]) == 0
    told = re.findall("^campaign  (cpu-[a-z]+)-", capsys.readouterr().out, re.MULTILINE)
    assert told == ["cpu-scaling", "cpu-demo"]
    assert main(["plan", "cpu-demo"]) == 0
    assert capsys.readouterr().out.count("campaign  ") == 1


@pytest.mark.parametrize("text", ["campaigns: [", "campaignz: [auto]"])
@pytest.mark.parametrize("words", [["plan"], ["plan", "cpu-demo"]])
def test_nothing_is_planned_by_a_wrong_configuration(
    there: Path, words: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (there / "config/config.yaml").write_text(text, encoding="utf-8")
    assert main(words) == 2
    told = capsys.readouterr()
    assert "config/config.yaml" in told.err and not told.out


@pytest.mark.parametrize("name", ["quik", "Quick"])
def test_a_wrong_name_on_the_command_line_is_no_fault_of_the_configuration(
    there: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", name]) == 2
    told = capsys.readouterr().err
    assert "where     command line" in told and "config/config.yaml" not in told
    (there / "config/config.yaml").write_text(f"campaigns: [{name}]\n", encoding="utf-8")
    assert main(["plan"]) == 2
    assert "where     config/config.yaml" in capsys.readouterr().err


def test_what_is_measured_already_is_not_due(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (before,) = look_ahead(there)
    assert before.cases["memory"] == 2 * 2 * 2, "cases, platforms, rounds"
    everything = sum(expected_suite_s(before.plan, suite) for suite in before.plan.suites)
    assert before.expected_s == pytest.approx(everything)
    monkeypatch.setattr("commwall.measure.outlook.todo", lambda plan, suite, found: ())
    (after,) = look_ahead(there)
    assert (after.cases, after.expected_s) == ({}, 0.0)


@pytest.mark.parametrize("words", [["doctor"], ["plan"]])
def test_looking_loads_neither_torch_nor_pandas_and_writes_nothing(
    tmp_path: Path, words: list[str]
) -> None:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    code = (
        "import sys; from commwall.cli.main import main; main(sys.argv[1:]);"
        "sys.exit(bool({'torch', 'pandas', 'scipy', 'snakemake'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["config"]


def test_a_terminal_without_the_signs_still_gets_the_text() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "commwall", "doctor"], env=environment, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


def test_a_reader_who_leaves_early_ends_the_verb_quietly() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "commwall", "doctor"], stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")

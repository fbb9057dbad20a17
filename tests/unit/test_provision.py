"""Environments: adopted for real, and installed from locks that cannot be."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from commwall.cli.main import EXIT_REFUSED, main
from commwall.host.environments import (
    Manifest,
    environment_dir,
    manifest_path,
    provision,
    read_manifest,
)
from commwall.host.lockfiles import Difference, differences, lock_digest, read_lock
from commwall.host.processes import is_running
from commwall.host.software import normal_name
from commwall.schema.errors import ProvisionError

ROOT = Path(__file__).parents[2]
LOCKS = ("bench", "dev", "driver", "report", "slurm")
APART = "snakemake-executor-plugin-slurm"
"""Every start of Snakemake would import it, and the tests start Snakemake often."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    (root / "envs").mkdir(parents=True)
    (root / "src").symlink_to(ROOT / "src")
    (root / "envs/bench.lock").write_text("# a comment\nnot-a-package==1.0\n", encoding="utf-8")
    return root


def made(root: Path, adopt: str | None) -> tuple[Manifest, list[str]]:
    said: list[str] = []
    return provision(root, "bench", adopt, root / "logs/bench.log", said.append), said


def test_an_adopted_environment_runs_commwall_with_the_packages_of_the_other(
    checkout: Path,
) -> None:
    manifest, _ = made(checkout, sys.executable)
    python = environment_dir(checkout, "bench") / "bin/python"
    asked = "import commwall, pydantic, sys; print(commwall.__file__, sys.prefix)"
    done = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
    place, prefix = done.stdout.split()
    assert Path(place).resolve() == ROOT / "src/commwall/__init__.py"
    assert Path(prefix) == environment_dir(checkout, "bench")
    assert manifest.mode == "adopted"
    assert manifest.identity == f"adopted-{manifest.packages_digest}"
    assert Difference(name="not-a-package", locked="1.0", present=None) in manifest.differences
    assert read_manifest(checkout, "bench") == manifest


def test_the_command_works_and_survives_moving_the_checkout(checkout: Path) -> None:
    made(checkout, sys.executable)
    moved = checkout.rename(checkout.with_name("moved"))
    command = environment_dir(moved, "bench") / "bin/commwall"
    done = subprocess.run([command, "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "doctor" in done.stdout


def test_a_lock_that_cannot_be_installed_is_told_and_leaves_no_manifest(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(checkout, sys.executable)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(checkout / "nowhere"))
    with pytest.raises(ProvisionError) as refused:
        made(checkout, None)
    assert "not-a-package==1.0" in str(refused.value)
    assert "envs/bench.lock" in str(refused.value)
    assert not manifest_path(checkout, "bench").exists()
    log = (checkout / "logs/bench.log").read_text(encoding="utf-8")
    assert "No matching distribution" in log
    assert made(checkout, sys.executable)[0].mode == "adopted", "the next run starts anew"


INSTALLER = """
import sys
from pathlib import Path
from commwall.host import environments
code = "import os, time; print('Collecting', os.getpid(), flush=True); time.sleep(60)"
say = lambda line: print(line, flush=True)
environments._run_logged([sys.executable, "-c", code], "bench", Path(sys.argv[1]), say)
"""


def test_an_installer_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", INSTALLER, str(tmp_path / "log")]
    verb = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert verb.stdout is not None
    installer = int(verb.stdout.readline().split()[-1])
    assert is_running(installer)
    verb.kill()
    verb.wait()
    deadline = time.monotonic() + 10
    while is_running(installer) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(installer)
    verb.stdout.close()


def test_what_was_half_made_is_cleared(checkout: Path) -> None:
    rubbish = environment_dir(checkout, "bench") / "lib/rubbish"
    rubbish.mkdir(parents=True)
    made(checkout, sys.executable)
    assert not rubbish.exists()


def test_an_interpreter_that_is_none_is_refused_with_its_key(checkout: Path) -> None:
    with pytest.raises(ProvisionError, match=r"environments\.bench\.adopt"):
        made(checkout, str(checkout / "no-python"))
    assert not manifest_path(checkout, "bench").exists()


def test_an_interpreter_that_cannot_be_adopted_leaves_what_is_there(checkout: Path) -> None:
    manifest, _ = made(checkout, sys.executable)
    bare = checkout / "bare/bin/python"
    venv = [sys.executable, "-m", "venv", "--without-pip", str(checkout / "bare")]
    subprocess.run(venv, check=True)
    with pytest.raises(ProvisionError, match="pydantic"):
        made(checkout, str(bare))
    assert read_manifest(checkout, "bench") == manifest


@pytest.mark.parametrize("name", ["../bench", "envs/bench"])
def test_an_environment_is_named_without_its_folder(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["provision", name]) == EXIT_REFUSED
    assert "without its folder" in capsys.readouterr().err


def test_a_missing_lock_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ProvisionError, match="--resolve"):
        read_lock(tmp_path / "bench.lock")


def test_nothing_that_is_digested_holds_a_path(checkout: Path) -> None:
    manifest, _ = made(checkout, sys.executable)
    digested = manifest.model_copy(update={"adopted_from": None}).model_dump_json()
    assert str(checkout) not in digested
    assert sys.prefix not in digested


def test_comments_and_order_do_not_change_a_locks_digest(tmp_path: Path) -> None:
    for name, text in (("a", "x==1\ny==2\n"), ("b", "# made by hand\ny==2\n\nx==1\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert lock_digest(read_lock(tmp_path / "a")) == lock_digest(read_lock(tmp_path / "b"))
    assert lock_digest(["x==1"]) != lock_digest(["x==2"])


def test_a_build_suffix_is_no_departure_but_a_version_is() -> None:
    lines = ["torch==2.13.0", "numpy==2.0", "gone==1.0"]
    found = differences(lines, {"torch": "2.13.0+cpu", "numpy": "2.1", "extra": "1"})
    assert [(d.name, d.locked, d.present) for d in found] == [
        ("extra", None, "1"),
        ("gone", "1.0", None),
        ("numpy", "2.0", "2.1"),
    ]


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_is_plain_pins_and_part_of_the_tests_own(name: str) -> None:
    lines = read_lock(ROOT / f"envs/{name}.lock")
    assert all(line.count("==") == 1 and not set(line) & set(" +/@:") for line in lines), lines
    own = {line for line in lines if line.startswith(APART)}
    assert set(lines) - own <= set(read_lock(ROOT / "envs/dev.lock"))
    assert not own or name == "slurm"
    needs = (ROOT / f"envs/{name}.in").read_text(encoding="utf-8").splitlines()
    names = {line.partition("==")[0] for line in lines}
    direct = {normal_name(x.partition("==")[0]) for x in needs if x and x[0] not in "#-"}
    assert direct <= names

"""The main job as a new user does it: `make report` in a clean clone, then once more.

Real workers, real pages, a real driver environment from its lock; of the demo campaign all
suites, platforms and cases, but one round, short windows and small messages; the two large
environments are adopted from this one.
"""

import json
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from commwall.language.translate import LANGUAGES, folder_of
from commwall.report.pages import pages_for
from tests.workflow.checkout import SOURCE, plain_environment

REPORT_TIMEOUT_S = 600
NO_OP_WITHIN_S = 10
STARTS_WITHIN_S = 0.5
READS_WITHIN_S = 1.5
"""With all records of the campaign."""
WINDOWS = {"full_s": 0.4, "other_s": 0.1, "min_steps": 3, "warmup_max_s": 0.5}
ROUNDS = {"training": 1, "memory": 1, "collectives": 1}
SHORTER = {
    "memory": {"buffer_bytes": [262144], "window_s": 0.02},
    "collectives": {"max_bytes": 32768, "window_s": 0.02},
}
RECORDS = {"training": 4 * 3, "memory": 2 * 2, "collectives": 6 * 3 + 2}
"""Cases times platforms; memory, and the collective beside products, have no control."""
CLOSING_LINE = "The page to open: results/site/index.html"
ENVIRONMENTS = (".venv", ".envs/bench", ".envs/report")


@dataclass(frozen=True)
class Demo:
    """A clone after its first `make report`."""

    root: Path
    first: "subprocess.CompletedProcess[str]"

    @property
    def campaign(self) -> str:
        """The campaign that `auto` chose here."""
        (plan,) = self.root.glob("results/cpu-demo-*/plan.json")
        return plan.parent.name

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run a command in the clone."""
        return _run(self.root, *command)


def _run(root: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        cwd=root,
        env=plain_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=REPORT_TIMEOUT_S,
    )


def _clean_clone(root: Path) -> None:
    """A clone of this checkout as it stands: what git tracks or would track."""
    listed = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    names = [name for name in _run(SOURCE, *listed).stdout.split("\0") if name]
    assert names, "this checkout is not under git"
    origin = root.with_name("origin")
    for name in names:
        if (SOURCE / name).is_file():
            (origin / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(SOURCE / name, origin / name)
    author = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    for command in (("init", "--quiet"), ("add", "--all"), (*author, "commit", "-qm", "all")):
        done = _run(origin, "git", *command)
        assert done.returncode == 0, done.stderr
    assert _run(root.parent, "git", "clone", "--quiet", str(origin), str(root)).returncode == 0


def _shorten(root: Path) -> None:
    """One round, short windows, small messages, environments adopted from this one, and no other
    campaign, whose pages the notebooks' tests look at."""
    shutil.rmtree(root / "results", ignore_errors=True)
    path = root / "config/campaigns/cpu-demo.yaml"
    campaign = yaml.safe_load(path.read_text(encoding="utf-8"))
    campaign |= {"rounds": ROUNDS, "windows": WINDOWS}
    for case in campaign["cases"].values():
        case |= SHORTER.get(case["suite"], {})
    path.write_text(yaml.safe_dump(campaign), encoding="utf-8")
    path = root / "config/config.yaml"
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    adopted = {"adopt": sys.executable}
    config["environments"] = {"bench": adopted, "report": adopted}
    path.write_text(yaml.safe_dump(config), encoding="utf-8")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The clone after `make report`."""
    root = tmp_path_factory.mktemp("demo") / "clone"
    _clean_clone(root)
    _shorten(root)
    return Demo(root, _run(root, "make", "report", f"PYTHON={sys.executable}"))


def test_first_run_succeeds(demo: Demo) -> None:
    assert demo.first.returncode == 0, demo.first.stdout + demo.first.stderr
    assert demo.first.stdout.splitlines()[-1] == CLOSING_LINE
    folder = demo.root / "results" / demo.campaign / "records"
    assert {suite: len(list(folder.glob(f"*/{suite}/*/r*.json"))) for suite in RECORDS} == RECORDS


def test_every_case_of_the_demo_went_well(demo: Demo) -> None:
    records = (demo.root / "results" / demo.campaign / "records").rglob("r*.json")
    states = {path: json.loads(path.read_bytes())["status"]["state"] for path in records}
    assert {path.parent.name: state for path, state in states.items() if state != "ok"} == {}


def test_second_run_does_nothing(demo: Demo) -> None:
    started = time.monotonic()
    again = demo.run("make", "report", f"PYTHON={sys.executable}")
    assert time.monotonic() - started < NO_OP_WITHIN_S
    assert again.returncode == 0
    assert "Nothing to be done" in again.stdout + again.stderr
    assert again.stdout.splitlines()[-1] == CLOSING_LINE


@pytest.mark.parametrize("language", LANGUAGES)
def test_pages_tables_and_notebooks_are_published(demo: Demo, language: str) -> None:
    site, of_language = demo.root / "results/site", folder_of(language)
    downloads = site / "downloads" / demo.campaign
    assert (site / of_language / "index.html").stat().st_size > 0
    for name in pages_for({"training", "memory", "collectives"}):
        assert (site / of_language / demo.campaign / f"{name}.html").stat().st_size > 0
        assert (downloads / "notebooks" / of_language / f"{name}.ipynb").stat().st_size > 0
    assert (site / of_language / demo.campaign / "decision.pdf").stat().st_size > 0
    tables = downloads / "tables"
    assert list(tables.glob("*.csv")) and list(tables.glob("*.parquet"))


def test_snakemake_packs_its_own_report(demo: Demo) -> None:
    target = demo.root / "results/report.html"
    packed = demo.run(".venv/bin/python", "-m", "snakemake", "--report", str(target))
    assert packed.returncode == 0, packed.stdout + packed.stderr
    assert target.stat().st_size > 0


def test_pages_load_nothing_from_elsewhere(demo: Demo) -> None:
    loads = re.compile(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//")
    pages = list((demo.root / "results/site").rglob("*.html"))
    assert pages
    for page in pages:
        assert not loads.search(page.read_text(encoding="utf-8")), page.name


def test_links_of_the_landing_page_lead_somewhere(demo: Demo) -> None:
    site = demo.root / "results/site"
    text = (site / "index.html").read_text(encoding="utf-8")
    targets = list(re.findall(r'href="([^"#:]+)"', text))
    assert targets
    assert [link for link in targets if not (site / link).exists()] == []


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_verbs_work_in_each_environment(demo: Demo, environment: str) -> None:
    python = f"{environment}/bin/python"
    for words in (("--help",), ("doctor",), ("plan",), ("compare", demo.campaign)):
        done = demo.run(python, "-m", "commwall", *words)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        assert done.stdout


def test_driver_has_the_command(demo: Demo) -> None:
    assert demo.run(".venv/bin/commwall", "--help").returncode == 0


@pytest.mark.parametrize("verb", ["compare", "plan", "check", "index"])
def test_reading_verbs_start_at_once(demo: Demo, verb: str) -> None:
    words = (".venv/bin/python", "-m", "commwall", verb)
    assert _fastest_s(demo, *words, "--help") < STARTS_WITHIN_S
    assert _fastest_s(demo, *words, demo.campaign) < READS_WITHIN_S
    told = demo.run(".venv/bin/python", "-X", "importtime", *words[1:], demo.campaign).stderr
    assert not re.search(r"\| +(torch|pandas|matplotlib)$", told, re.MULTILINE)


def _fastest_s(demo: Demo, *words: str) -> float:
    """Duration of the fastest of some runs, which another process disturbs least [s]."""
    seconds = []
    for _ in range(4):
        started = time.monotonic()
        done = demo.run(*words)
        seconds.append(time.monotonic() - started)
        assert done.returncode == 0, done.stderr
    return min(seconds)

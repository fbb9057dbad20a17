"""A copy of this checkout in which a workflow test may do as it likes."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commwall.host.environments import provision

SOURCE = Path(__file__).parents[2]
STUB = Path(__file__).with_name("stub_workers")
TRACKED = (
    *("Snakefile", "workflow", "profiles", "config", "envs", "notebooks", "src"),
    *("pyproject.toml", "README.md", "LICENSE"),
)
MADE = (
    *(".cw", ".snakemake", "logs", ".envs/bench", ".envs/report", "stub.json", "stub-begun"),
    *("results/site", "results/*/attempts", "results/*/index.json"),
    *("results/*/tables", "results/*/notebooks", "results/pages"),
)
"""What a run makes and git does not keep."""
RUN_TIMEOUT_S = 300
DRIVER = ".envs/driver/bin/python"


@dataclass(frozen=True)
class Run:
    """How a Snakemake run ended."""

    code: int
    output: str

    @property
    def jobs(self) -> Counter[str]:
        """Rules that were started, with how often."""
        return Counter(re.findall(r"^(?:local)?rule (\w+):", self.output, re.MULTILINE))

    @property
    def started(self) -> set[str]:
        """Rules that were started, without targets."""
        return set(self.jobs) - {"all", "measure", "tables", "reports", "publish"}


@dataclass(frozen=True)
class Checkout:
    """A copy with stand-in workers, a tiny campaign and environments adopted from this one."""

    root: Path

    @classmethod
    def fresh(cls, root: Path, campaign: Path, workers: Path | None = STUB) -> "Checkout":
        """Copy what a clone would hold and swap the workers for the stand-in.

        Args:
            root: folder to be made.
            campaign: campaign file to be measured.
            workers: what takes the workers' place; None keeps them.
        """
        root.mkdir(parents=True)
        for name in TRACKED:
            source = SOURCE / name
            if source.is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
                shutil.copytree(source, root / name, ignore=ignored)
            else:
                shutil.copy2(source, root / name)
        if workers:
            place = root / "src/commwall/workers"
            shutil.rmtree(place)
            shutil.copytree(workers, place, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy2(campaign, root / "config/campaigns")
        checkout = cls(root)
        checkout.configure()
        provision(root, "driver", sys.executable, root / "logs/driver.log", lambda line: None)
        return checkout

    def configure(self, **changes: Any) -> None:
        """Write the main configuration: this interpreter adopted for both environments."""
        adopted = {"adopt": sys.executable}
        config = {
            "campaigns": ["tiny"],
            "environments": {"bench": adopted, "report": adopted},
            "timeouts": {"startup_s": 20, "case_s": 20, "collective_s": 10},
        }
        text = json.dumps(config | changes, indent=2)
        (self.root / "config/config.yaml").write_text(text, encoding="utf-8")

    def copy(self, root: Path) -> "Checkout":
        """The whole folder elsewhere, modification times kept."""
        subprocess.run(["cp", "-a", str(self.root), str(root)], check=True)
        return Checkout(root)

    def clone(self, root: Path) -> "Checkout":
        """What a clone of a checkout with committed plan and records holds, and no more.

        Only the driver environment comes along, as a user's own would be there.
        """
        shutil.copytree(self.root, root, symlinks=True, copy_function=shutil.copy)
        for pattern in MADE:
            for path in root.glob(pattern):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        return Checkout(root)

    # Running ---------------------------------------------------------------------------

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """Start Snakemake in a process group of its own."""
        return subprocess.Popen(
            [DRIVER, "-m", "snakemake", *words],
            cwd=self.root,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def snakemake(self, *words: str) -> Run:
        """Run Snakemake to its end."""
        return finish(self.start(*words))

    def measure(self, *words: str) -> Run:
        """Run the target `measure`."""
        return self.snakemake("--cores", "2", *words, "--", "measure")

    def commwall(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a verb in the driver environment."""
        return subprocess.run(
            [DRIVER, "-m", "commwall", *words],
            cwd=self.root,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_TIMEOUT_S,
        )

    def environment(self) -> dict[str, str]:
        """Variables of a run; the device's lock lies where no other test looks for it."""
        locks = self.root.parent / f"{self.root.name}-tmp"
        locks.mkdir(exist_ok=True)
        return plain_environment() | {"COMMWALL_LOCKS": str(locks)}

    def wish(self, *wishes: dict[str, Any]) -> None:
        """Tell the stand-in workers what to do; nothing means work as usual."""
        (self.root / "stub.json").write_text(json.dumps(wishes), encoding="utf-8")
        (self.root / "stub-begun").unlink(missing_ok=True)

    def wake(self) -> None:
        """Withdraw all wishes: who sleeps goes on. In place, so that a full disk stays full."""
        path = self.root / "stub.json"
        with path.open("r+", encoding="utf-8") as file:
            file.write("[]".ljust(path.stat().st_size))

    def begun(self) -> bool:
        """Whether a rank has begun a case since the last wish."""
        return (self.root / "stub-begun").exists()

    # Looking ---------------------------------------------------------------------------

    @property
    def campaign(self) -> str:
        """Identifier of this machine's tiny campaign."""
        (plan,) = self.root.glob("results/tiny-*/plan.json")
        return plan.parent.name

    def path(self, platform: str, round_: int, case: str = "bert-a") -> Path:
        """A record's file."""
        folder = self.root / "results" / self.campaign / "records" / platform / "training" / case
        return folder / f"r{round_:02d}.json"

    def records(self) -> dict[tuple[str, int], str]:
        """(platform, round) -> digest of every record file of the tiny campaign's own case."""
        return {cell: text["digest"] for cell, text in self._texts().items()}

    def round_ids(self) -> dict[tuple[str, int], str]:
        """(platform, round) -> round identifier."""
        return {cell: text["id"]["round_id"] for cell, text in self._texts().items()}

    def keys(self) -> set[str]:
        """Freshness keys of these records."""
        return {text["protocol"]["freshness_key"] for text in self._texts().values()}

    def _texts(self) -> dict[tuple[str, int], dict[str, Any]]:
        folder = self.root / "results" / self.campaign / "records"
        return {
            (path.parts[-4], int(path.stem[1:])): json.loads(path.read_text(encoding="utf-8"))
            for path in folder.glob("*/training/bert-a/r*.json")
        }

    def measured_since(self, before: dict[tuple[str, int], str]) -> set[tuple[str, int]]:
        """Cells whose record is new or another than before."""
        return {cell for cell, digest in self.records().items() if before.get(cell) != digest}

    @property
    def state(self) -> dict[str, Any]:
        """The state file of the training suite."""
        path = self.root / ".cw" / self.campaign / "training.state"
        return dict(json.loads(path.read_text(encoding="utf-8")))

    @property
    def attempt(self) -> dict[str, Any]:
        """The attempt file of the training suite."""
        path = self.root / "results" / self.campaign / "attempts/training.json"
        return dict(json.loads(path.read_text(encoding="utf-8")))

    def results(self) -> dict[str, bytes]:
        """Path -> content of all plan and record files."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in self.root.glob("results/*/**/*")
            if path.is_file() and ("records" in path.parts or path.name == "plan.json")
        }

    def alive(self) -> list[str]:
        """Processes that run in this checkout, as `pid state command`; zombies do not count."""
        return [text for pid in _pids() if (text := _describe(pid, self.root))]


def plain_environment() -> dict[str, str]:
    """This process's variables without what a make above it hands down to a make below."""
    handed_down = ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "FLAGS", "PYTHON")
    return {name: value for name, value in os.environ.items() if name not in handed_down}


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text that must be there."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path}: {old!r} not found"
    path.write_text(text.replace(old, new), encoding="utf-8")


def make_newer(checkout: Checkout, seconds: float) -> None:
    """Give what runs have made a later time, as if the clock had been set back since."""
    for path in (path for pattern in MADE for path in checkout.root.glob(pattern)):
        for own in [path, *path.rglob("*")] if path.is_dir() else [path]:
            if own.is_file() and not own.is_symlink():
                later = own.stat().st_mtime_ns + int(seconds * 1e9)
                os.utime(own, ns=(later, later))


def finish(process: "subprocess.Popen[str]") -> Run:
    """Wait for a run; one that hangs is killed and fails the test."""
    try:
        output, _ = process.communicate(timeout=RUN_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return Run(process.returncode, output)


def wait_until(holds: Callable[[], object], timeout_s: float = 30.0) -> None:
    """Wait for a condition.

    Raises:
        TimeoutError: if it does not hold in time.
    """
    end = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("the condition did not hold in time")
        time.sleep(0.02)


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _describe(pid: int, root: Path) -> str | None:
    try:
        folder = Path(f"/proc/{pid}/cwd").readlink()
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return None
    if state in "ZX" or not (folder == root or root in folder.parents):
        return None
    return f"{pid} {state} {command}"

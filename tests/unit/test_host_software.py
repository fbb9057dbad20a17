"""The software as probed."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from commwall.host.secrecy import without_places
from commwall.host.software import (
    allowed_variables,
    git_state,
    interpreter_at,
    normal_name,
    packages_digest,
    this_interpreter,
)

GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C")


def test_two_ways_of_asking_one_interpreter_agree() -> None:
    asked = interpreter_at(Path(sys.executable))
    assert asked == this_interpreter()
    assert "pydantic" in asked.packages
    assert not {"pip", "commwall"} & set(asked.packages)


def test_names_are_compared_in_one_form() -> None:
    assert normal_name("Nvidia_ML.py") == "nvidia-ml-py"


def test_another_version_is_another_digest() -> None:
    assert packages_digest({"torch": "1"}) != packages_digest({"torch": "2"})


def test_only_listed_variables_are_kept_and_no_device_by_its_uuid() -> None:
    found = allowed_variables(
        {"OMP_NUM_THREADS": "1", "HOME": "/home/somebody", "CUDA_VISIBLE_DEVICES": "GPU-8a2f,1"}
    )
    assert set(found) == {"OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES"}
    assert found["CUDA_VISIBLE_DEVICES"].startswith("digest-")
    assert found["CUDA_VISIBLE_DEVICES"].endswith(",1")
    assert "8a2f" not in found["CUDA_VISIBLE_DEVICES"].partition("digest-")[0]


def test_a_commit_and_a_change_are_seen(tmp_path: Path) -> None:
    tracked = tmp_path / "file"
    tracked.write_text("1", encoding="utf-8")
    for words in (["init", "-q"], ["add", "file"], ["commit", "-q", "-m", "one"]):
        subprocess.run([*GIT, str(tmp_path), *words], check=True)
    commit, dirty, gaps = git_state(tmp_path)
    assert len(commit or "") == 40
    assert (dirty, gaps) == (False, ())
    tracked.write_text("2", encoding="utf-8")
    assert git_state(tmp_path)[1] is True


def test_no_repository_is_a_gap_that_does_not_say_where(tmp_path: Path) -> None:
    commit, dirty, gaps = git_state(tmp_path)
    assert (commit, dirty) == (None, None)
    assert gaps[0].what == "software.git_commit"
    assert str(tmp_path) not in gaps[0].reason


def test_a_message_is_kept_without_host_and_places(tmp_path: Path) -> None:
    host = platform.node()
    said = f"{host}: cannot read {tmp_path}/results/x of {Path.home()}/y; not{host}ly"
    found = without_places(said, tmp_path)
    assert found == f"(host): cannot read results/x of ~/y; not{host}ly"


def test_a_message_does_not_say_where_packages_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    (own / "lib/python3.11/site-packages/a-1.dist-info").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(own / "lib/python3.11/site-packages")])
    said = f"{own}/lib/python3.11/site-packages/torch/a.py, line 3; {own}/bin/python"
    found = without_places(f"{said}; '/other/lib/python3/dist-packages/b.py'", tmp_path / "root")
    assert found == ("(packages)/torch/a.py, line 3; (environment)/bin/python; '(packages)/b.py'")

"""The workflow's start: plans, states and triggers, written only if they differ."""

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from commwall.analysis.result import analyse_campaigns
from commwall.host.clock import settle_future
from commwall.host.environments import manifest_path
from commwall.host.locks import RUN_LOCK_NAME, START_LOCK_NAME
from commwall.host.software import packages_digest
from commwall.measure import startup
from commwall.measure.outlook import look_ahead
from commwall.measure.startup import (
    NOT_MADE,
    Prepared,
    confirm,
    environment_identity,
    examine_only,
    prepare,
)
from commwall.records.files import write_atomically
from commwall.records.layout import Layout
from commwall.records.state import read_state
from commwall.records.texts import model_text
from commwall.schema.config import Config
from commwall.schema.environment import Manifest
from commwall.schema.errors import Busy, ConfigError, LaunchError
from tests.samples import plan

ROOT = Path(__file__).parents[2]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    shutil.copytree(ROOT / "envs", tmp_path / "envs")
    return tmp_path


def times(root: Path) -> dict[str, int]:
    found = [path for part in (".cw", "results") for path in (root / part).rglob("*")]
    return {str(p.relative_to(root)): p.stat().st_mtime_ns for p in found if p.is_file()}


def put_plan(root: Path, campaign: str) -> None:
    write_atomically(Layout(root).plan_path(campaign), model_text(plan(campaign)))


def test_the_demo_is_planned_and_all_of_it_is_due(root: Path) -> None:
    prepared = prepare(root)
    (mine,) = prepared.mine
    assert mine.id.startswith("cpu-demo-")
    assert Layout(root).plan_path(mine.id).exists()
    state = read_state(Layout(root).state_path(mine.id, "training"))
    assert [due.round for due in state.due] == [1, 2, 3, 4, 5]
    assert state.looked_at is not None
    assert {path.name for path in (root / ".cw/code").iterdir()} == {
        "analysis.digest",
        "report.digest",
    }


def test_a_second_start_writes_only_the_time_of_unfinished_work(root: Path) -> None:
    first = prepare(root)
    before = times(root)
    assert prepare(root) == first
    after = times(root)
    assert {name for name in after if after[name] != before.get(name)} == {
        f".cw/{first.mine[0].id}/{suite}.state" for suite in first.mine[0].suites
    }


def test_another_machines_campaign_is_evidence_and_settles(root: Path) -> None:
    put_plan(root, "foreign")
    prepared = prepare(root)
    foreign = prepared.campaigns[-1]
    assert (foreign.id, foreign.mine, foreign.suites) == ("foreign", False, ("training",))
    state = read_state(Layout(root).state_path("foreign", "training"))
    assert (state.key, state.due, state.looked_at) == (None, (), None)
    before = times(root)[".cw/foreign/training.state"]
    prepare(root)
    assert times(root)[".cw/foreign/training.state"] == before


def test_a_malformed_foreign_plan_is_a_problem_and_no_stop(root: Path) -> None:
    write_atomically(Layout(root).plan_path("foreign"), '{"schema_version": 1, "id"')
    foreign = prepare(root).campaigns[-1]
    assert (foreign.id, foreign.suites) == ("foreign", ())
    assert "results/foreign/plan.json" in foreign.problems[0]


def test_a_wrong_configuration_writes_nothing(root: Path) -> None:
    with pytest.raises(ConfigError):
        prepare(root, {"campaignz": ["auto"]})
    assert times(root).keys() == {START_LOCK_NAME}


def test_sub_jobs_see_what_was_prepared_and_write_nothing(root: Path) -> None:
    put_plan(root, "foreign")
    unprepared = examine_only(root)
    assert not (root / ".cw").exists()
    prepared = prepare(root)
    before = times(root)
    assert examine_only(root) == prepared == unprepared
    assert times(root) == before


def put_manifest(root: Path, adopted_from: str | None) -> Manifest:
    manifest = Manifest(
        name="bench",
        mode="adopted" if adopted_from else "installed",
        adopted_from=adopted_from,
        python="3.11.7",
        lock_digest="0" * 64,
        packages={},
        packages_digest=packages_digest({}),
        differences=(),
    )
    write_atomically(manifest_path(root, "bench"), model_text(manifest))
    return manifest


def test_an_environment_made_in_another_way_is_made_anew(root: Path) -> None:
    put_manifest(root, adopted_from=None)
    prepare(root)
    assert manifest_path(root, "bench").exists()
    adopted = {"environments": {"bench": {"adopt": "/usr/bin/python3"}}}
    prepare(root, adopted)
    assert not manifest_path(root, "bench").exists()


def test_adopted_packages_stand_in_the_freshness_key(root: Path) -> None:
    told = {"environments": {"bench": {"adopt": "/usr/bin/python3"}}}
    config = Config.model_validate(told)
    assert environment_identity(root, config) == NOT_MADE
    put_manifest(root, adopted_from="/usr/bin/python3")
    assert environment_identity(root, config) == f"adopted-{packages_digest({})}"
    assert not environment_identity(root, Config()).startswith("adopted")
    campaign = prepare(root, told).mine[0]
    key = read_state(Layout(root).state_path(campaign.id, "training")).key
    assert key is not None and f"adopted-{packages_digest({})[:8]}" in key


def test_a_campaign_of_this_machine_that_is_not_asked_for_is_evidence(root: Path) -> None:
    first = prepare(root).mine[0].id
    shutil.copy(root / "config/campaigns/cpu-demo.yaml", root / "config/campaigns/other.yaml")
    (other,) = prepare(root, {"campaigns": ["other"]}).campaigns
    assert other.mine, "of the first one there is only a plan, as a dry run leaves it"
    assert [*analyse_campaigns(Layout(root), 0.95)] == []
    write_atomically(Layout(root).records_dir(first) / "slow/training/a/r01.json", "{}")
    prepared = prepare(root, {"campaigns": ["other"]})
    assert [(c.id.rpartition("-")[0], c.mine) for c in prepared.campaigns] == [
        ("other", True),
        ("cpu-demo", False),
    ]
    assert prepared.campaigns[1].id == first


def test_a_campaign_that_was_taken_in_is_evidence_although_its_plan_fits(root: Path) -> None:
    (mine,) = prepare(root).mine
    origin = Layout(root).origin_path(mine.id)
    write_atomically(origin, "{}")
    before = Layout(root).plan_path(mine.id).stat().st_mtime_ns
    assert [(c.id, c.mine) for c in prepare(root).campaigns] == [(mine.id, False)]
    assert read_state(Layout(root).state_path(mine.id, "training")).due == ()
    assert Layout(root).plan_path(mine.id).stat().st_mtime_ns == before
    (root / ".cw/prepared.json").unlink()
    assert examine_only(root).mine == ()
    assert [outlook.cases for outlook in look_ahead(root)] == [{}]
    origin.unlink()
    assert prepare(root).mine == (mine,)


@pytest.fixture
def held(root: Path) -> Iterator[Path]:
    """A checkout that another run holds after its start."""
    prepare(root)
    with (root / RUN_LOCK_NAME).open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield root


def test_beside_a_run_nothing_is_written(held: Path) -> None:
    put_manifest(held, adopted_from=None)
    before = times(held)
    assert prepare(held) == examine_only(held)
    with pytest.raises(Busy, match="with another configuration"):
        prepare(held, {"environments": {"bench": {"adopt": "/usr/bin/python3"}}})
    assert times(held) == before
    assert manifest_path(held, "bench").exists()


@pytest.mark.parametrize("told", [{"campaigns": ["quik"]}, {"campaignz": ["quick"]}])
def test_beside_a_run_a_wrong_configuration_is_told(held: Path, told: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="did you mean"):
        prepare(held, told)


@pytest.mark.parametrize("garbage", [b"\xff\xfe", b"{"])
def test_derived_files_that_cannot_be_read_are_replaced(root: Path, garbage: bytes) -> None:
    campaign = prepare(root).mine[0].id
    state = Layout(root).state_path(campaign, "training")
    plan = Layout(root).plan_path(campaign)
    derived = [state, plan, root / ".cw/prepared.json", root / ".cw/config.json"]
    wanted = [path.read_bytes() for path in derived if path != state]
    for path in derived:
        path.write_bytes(garbage)
    prepare(root)
    assert [path.read_bytes() for path in derived if path != state] == wanted
    assert read_state(state).campaign == campaign


@pytest.mark.parametrize("name", ["results", ".cw", ".envs/bench/manifest.json/x"])
def test_what_lies_in_the_way_is_told(root: Path, name: str) -> None:
    if name.endswith("/x"):
        (root / name).mkdir(parents=True)
    else:
        (root / name).write_text("", encoding="utf-8")
    with pytest.raises(LaunchError) as refused:
        prepare(root)
    assert name.removesuffix("/x") in str(refused.value.parts["where"])
    assert all(refused.value.parts.values())


def test_a_folder_in_the_place_of_a_plan_is_told(root: Path) -> None:
    path = Layout(root).plan_path(prepare(root).mine[0].id)
    path.unlink()
    path.mkdir()
    with pytest.raises(LaunchError, match="results/cpu-demo-"):
        prepare(root)


def test_a_full_disk_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, text: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(startup, "write_if_different", full)
    with pytest.raises(LaunchError, match="No space left on device"):
        prepare(root)


# Two starts at once, and a clock that was set back ---------------------------------------------


def test_of_two_starts_one_prepares_after_the_other(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside: list[str] = []

    def slowly(root: Path, overrides: object) -> Prepared:
        inside.append("in")
        time.sleep(0.3)
        inside.append("out")
        return Prepared(config=Config(), campaigns=())

    monkeypatch.setattr(startup, "_prepare", slowly)
    with ThreadPoolExecutor(2) as pool:
        assert len(list(pool.map(prepare, (root, root)))) == 2
    assert inside == ["in", "out"] * 2


def test_a_start_that_another_has_overtaken_is_refused(root: Path) -> None:
    mine = prepare(root)
    confirm(root, mine)
    other = {"confidence": 0.9}
    prepare(root, other)
    with pytest.raises(Busy, match="another configuration"):
        confirm(root, mine)
    with pytest.raises(Busy, match="another configuration"):
        confirm(root, examine_only(root))
    confirm(root, examine_only(root), other)


def test_files_from_the_future_become_older_than_what_is_written_now(root: Path) -> None:
    (mine,) = prepare(root).mine
    layout = Layout(root)
    attempt, index = layout.attempt_path(mine.id, "training"), layout.index_path(mine.id)
    state = layout.state_path(mine.id, "training")
    day_ns = 86_400 * 10**9
    for place, path in enumerate((attempt, index)):
        write_atomically(path, "{}")
        os.utime(path, ns=(time.time_ns() + (place + 1) * day_ns,) * 2)
    prepare(root)
    newest = state.stat().st_mtime_ns
    assert attempt.stat().st_mtime_ns < index.stat().st_mtime_ns < newest <= time.time_ns()
    before = times(root)
    settle_future(root)
    assert times(root) == before, "what is not of the future stays"


def test_a_file_system_without_locks_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(LaunchError, match="offers no locks"):
        prepare(root)

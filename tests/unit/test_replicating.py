"""A published plan becomes a campaign file that plans the same under another name."""

import shutil
from pathlib import Path
from typing import get_args

import pytest

from commwall.measure.planning.configuration import load_campaigns
from commwall.measure.planning.freezing import build_plan
from commwall.measure.planning.replicating import check_own, replica_config, write_replica
from commwall.schema.case import SuiteName
from commwall.schema.config import CampaignConfig
from commwall.schema.errors import ConfigError, PlanError
from commwall.schema.plan import Plan
from commwall.schema.predictions import Predictions
from commwall.schema.treatment import NcclVariables
from tests.samples import plan, record
from tests.unit.test_plan_building import H200X2, ROOT

CONTROL = "h200x2-nvlink-again"
SUITES: tuple[SuiteName, ...] = get_args(SuiteName)
PREDICTIONS = Predictions(
    digest="d" * 64, campaign="h200x2", confidence=0.95, records={}, predicted=(), absent=()
)


@pytest.fixture(scope="module")
def published() -> Plan:
    (asked,) = load_campaigns(ROOT, ["h200x2"])
    return build_plan(asked, H200X2, "two H200")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    return tmp_path


def replica(
    published: Plan, rounds: int = 2, suites: tuple[SuiteName, ...] = SUITES
) -> CampaignConfig:
    return replica_config(published, PREDICTIONS, H200X2, rounds, suites)


def planned(root: Path, config: CampaignConfig) -> Plan:
    write_replica(root, "h200x2-replica", config)
    (asked,) = load_campaigns(root, ["h200x2-replica"])
    return build_plan(asked, H200X2, "another two H200")


def test_the_same_is_planned_under_another_name(published: Plan, root: Path) -> None:
    own = planned(root, replica(published))
    assert own.id == "h200x2-replica-655c9664"
    assert own.replicates is not None and own.replicates.predictions == "d" * 64
    compared = tuple(p for p in published.platforms if p.name != CONTROL)
    assert own.platforms == compared
    assert own.comparisons == tuple(c for c in published.comparisons if not c.control)
    for suite in published.suites:
        mine = own.suite(suite.suite)
        assert (mine.rounds, mine.cases) == (2, suite.cases)
        without = {name: set(cases) for name, cases in suite.platforms.items() if name != CONTROL}
        assert {name: set(cases) for name, cases in mine.platforms.items()} == without


def test_one_suite_alone(published: Plan, root: Path) -> None:
    own = planned(root, replica(published, suites=("collectives",)))
    assert [suite.suite for suite in own.suites] == ["collectives"]


def test_more_rounds_may_be_asked_for_later(published: Plan, root: Path) -> None:
    assert planned(root, replica(published, 1)).suite("training").rounds == 1
    assert planned(root, replica(published, 3)).suite("training").rounds == 3


def test_another_file_of_that_name_stays(published: Plan, root: Path) -> None:
    path = write_replica(root, "h200x2-replica", replica(published))
    changed = path.read_text(encoding="utf-8").replace("batch_per_gpu: 64", "batch_per_gpu: 65")
    path.write_text(changed, encoding="utf-8")
    with pytest.raises(ConfigError, match="another campaign file"):
        write_replica(root, "h200x2-replica", replica(published))
    assert path.read_text(encoding="utf-8") == changed


def test_another_kind_of_machine_is_refused_with_both_fingerprints(published: Plan) -> None:
    other = H200X2.model_copy(update={"fingerprint": "0" * 64})
    with pytest.raises(PlanError) as told:
        replica_config(published, PREDICTIONS, other, 2, SUITES)
    assert "0" * 64 in str(told.value) and published.fingerprint in str(told.value)


def test_a_suite_that_was_not_published_is_refused(published: Plan) -> None:
    only = published.model_copy(update={"suites": published.suites[:1]})
    with pytest.raises(PlanError, match="does not measure what is to be replicated"):
        replica_config(only, PREDICTIONS, H200X2, 2, ("memory",))


def test_what_another_machine_measured_under_that_name_stays_its_own() -> None:
    base = record(plan(), "fast", 1)
    gpus = tuple(gpu.model_copy(update={"uuid_digest": "e" * 12}) for gpu in H200X2.gpus)
    elsewhere, here = (
        base.model_copy(update={"machine": H200X2.model_copy(update={"gpus": own})})
        for own in (gpus, H200X2.gpus)
    )
    with pytest.raises(PlanError, match="another machine's replication has this name"):
        check_own("x-replica-655c9664", H200X2, [elsewhere])
    check_own("x-replica-655c9664", H200X2, [elsewhere, here])
    check_own("x-replica-655c9664", H200X2, [])


@pytest.mark.parametrize("name", ["NCCL_NET_PLUGIN", "NCCL_TOPO_FILE", "NCCL_DEBUG_FILE"])
def test_a_strangers_files_are_not_loaded(published: Plan, name: str) -> None:
    staged = next(p for p in published.platforms if isinstance(p.treatment, NcclVariables))
    treatment = staged.treatment.model_copy(update={"variables": {name: "/home/somebody/x.so"}})
    platforms = tuple(
        p.model_copy(update={"treatment": treatment}) if p is staged else p
        for p in published.platforms
    )
    with pytest.raises(PlanError, match=f"{name}=/home/somebody/x.so"):
        replica(published.model_copy(update={"platforms": platforms}))

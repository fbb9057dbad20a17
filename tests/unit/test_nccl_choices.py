"""NCCL's log: what a reader takes from it, and what becomes of it in a record."""

import random
from pathlib import Path

import pytest

from commwall.measure.proof.nccl_log import (
    LOG_VARIABLES,
    Logged,
    choices_of,
    log_variables,
    read_log,
)
from commwall.measure.supervisor import worker_environment
from commwall.readers.nccl_choices import read_choices
from commwall.schema.case import CollectivesCase
from commwall.schema.collective import Collective
from commwall.schema.plan import PlannedPlatform
from commwall.schema.result import LaunchRequest, NamedCase
from commwall.schema.treatment import Label, NativeLink, NcclVariables
from tests.unit.test_supervisor import request_for

TEXT = (Path(__file__).parents[1] / "data/nccl-2.28-tuning.log").read_text(encoding="utf-8")
LABEL = Label(title="link", stands_for="a link", does_not_cover="another")


def case(collective: Collective, max_bytes: int = 128) -> CollectivesCase:
    return CollectivesCase(collective=collective, max_bytes=max_bytes)


def on_gpus(**variables: str) -> PlannedPlatform:
    link = NcclVariables(label=LABEL, variables=variables) if variables else NativeLink(label=LABEL)
    return PlannedPlatform(name="h200x2-nvlink", device="cuda", world_size=2, treatment=link)


def request(folder: Path, where: PlannedPlatform) -> LaunchRequest:
    named = (NamedCase(name="all-reduce", case=case("all_reduce")),)
    changes = {"platform": where, "suite": "collectives", "cases": named}
    return request_for(folder, "unused").model_copy(update=changes)


def logged() -> Logged:
    return Logged(read_choices(TEXT.splitlines()), "NCCL's log names no choice")


def test_each_choice_is_read_once_and_in_order() -> None:
    found = [
        (c.function, c.logged_bytes, c.algorithm, c.protocol, c.channels) for c in logged().choices
    ]
    assert found == [
        ("AllReduce", 8, "RING", "LL", 1),
        ("AllReduce", 32, "TREE", "LL128", 2),
        ("AllReduce", 128, "RING", "SIMPLE", 4),
        ("AllReduce", 128, "RING", "SIMPLE", 24),
        ("AllGather", 4, "RING", "LL", 1),
        ("AllGather", 16, "RING", "LL", 1),
    ]


def test_names_in_small_letters_are_the_same_names() -> None:
    line = "x NCCL INFO AllReduce: 4096 Bytes -> Algo Tree proto Simple channel{Lo..Hi}={0..7}\n"
    (choice,) = read_choices([line])
    assert (choice.algorithm, choice.protocol, choice.channels) == ("TREE", "SIMPLE", 8)


def test_a_log_cut_off_anywhere_gives_what_is_whole() -> None:
    whole = logged().choices
    for end in range(len(TEXT)):
        found = read_choices(TEXT[:end].splitlines())
        assert found == whole[: len(found)]
    assert len(found) == len(whole)


@pytest.mark.parametrize("seed", range(50))
def test_a_damaged_log_gives_only_what_stands_there(seed: int) -> None:
    chance = random.Random(seed)
    letters = list(TEXT)
    for _ in range(60):
        letters[chance.randrange(len(letters))] = chr(chance.randrange(1, 0x2000))
    text = "".join(letters)
    for choice in read_choices(text.splitlines()):
        assert f"{choice.function}: {choice.logged_bytes} Bytes" in text


def test_a_log_without_choices_gives_none() -> None:
    assert read_choices([]) == ()
    assert read_choices(["RCCL version 2.18", "NCCL INFO AllReduce: opCount 0 count 2"]) == ()


def test_sizes_of_a_case_find_their_choices_and_may_have_several() -> None:
    found, gaps = choices_of(case("all_reduce"), on_gpus(), logged())
    assert gaps == ()
    assert [(c.message_bytes, c.protocol, c.channels) for c in found] == [
        (8, "LL", 1),
        (32, "LL128", 2),
        (128, "SIMPLE", 4),
        (128, "SIMPLE", 24),
    ]


def test_gathers_are_logged_by_a_ranks_share_and_silent_sizes_are_a_gap() -> None:
    found, (gap,) = choices_of(case("all_gather"), on_gpus(), logged())
    assert [choice.message_bytes for choice in found] == [8, 32]
    assert (gap.what, gap.reason) == ("nccl_choices", "NCCL's log names no choice of 128 B")


@pytest.mark.parametrize("collective", ["all_to_all", "send_recv"])
def test_sends_and_receives_have_no_algorithm(collective: Collective) -> None:
    found, (gap,) = choices_of(case(collective), on_gpus(), logged())
    assert found == () and "sends and receives" in gap.reason


def test_what_has_no_nccl_is_not_asked() -> None:
    alone = on_gpus().model_copy(update={"world_size": 1})
    cpu = on_gpus().model_copy(update={"device": "cpu"})
    for where in (alone, cpu):
        assert choices_of(case("all_reduce"), where, Logged()) == ((), ())
    launch = request(Path("launch"), cpu)
    assert log_variables(launch, {}) == {}
    assert log_variables(request_for(Path("launch"), "training"), {}) == {}


def test_nccl_logs_into_the_launchs_folder(tmp_path: Path) -> None:
    found = worker_environment(request(tmp_path, on_gpus()), "mark")
    assert found["NCCL_DEBUG"] == "INFO" and "TUNING" in found["NCCL_DEBUG_SUBSYS"]
    (tmp_path / "nccl.17.log").write_text(TEXT, encoding="utf-8")
    (tmp_path / "nccl.18.log").write_bytes(b"\xff\xfe" + TEXT.encode()[:200])
    assert Path(found["NCCL_DEBUG_FILE"].replace("%p", "17")).read_text() == TEXT
    assert read_log(tmp_path, found).choices == logged().choices


@pytest.mark.parametrize(
    ("suite", "subsystems"),
    [
        ("collectives", "INIT,ENV,GRAPH,TUNING"),
        ("training", "INIT,ENV,GRAPH"),  # TUNING would write a line for each call
        ("memory", None),
    ],
)
def test_what_nccl_logs_costs_no_suite_time(
    suite: str, subsystems: str | None, tmp_path: Path
) -> None:
    launch = request(tmp_path, on_gpus()).model_copy(update={"suite": suite})
    assert log_variables(launch, {}).get("NCCL_DEBUG_SUBSYS") == subsystems


def test_a_log_that_was_not_written_is_a_gap(tmp_path: Path) -> None:
    found = worker_environment(request(tmp_path, on_gpus()), "mark")
    _, (gap,) = choices_of(case("all_reduce"), on_gpus(), read_log(tmp_path, found))
    assert gap.reason == "NCCL wrote no log"


@pytest.mark.parametrize("by", ["user", "treatment"])
def test_who_sets_nccls_log_keeps_it_and_the_gap_says_so(
    by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in LOG_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    if by == "user":
        monkeypatch.setenv("NCCL_DEBUG", "WARN")
    where = on_gpus(NCCL_DEBUG="WARN") if by == "treatment" else on_gpus()
    found = worker_environment(request(tmp_path, where), "mark")
    assert {name: found[name] for name in LOG_VARIABLES if name in found} == {"NCCL_DEBUG": "WARN"}
    _, (gap,) = choices_of(case("all_reduce"), where, read_log(tmp_path, found))
    assert gap.reason == "NCCL's log is set by user or treatment: NCCL_DEBUG=WARN"

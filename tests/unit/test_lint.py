"""NCCL's variables: what is wrong with them, by release and way."""

import pytest

from commwall.cli.main import main
from commwall.judge.lint import Remark, lint
from commwall.judge.variables import VariableFacts
from tests.unit.test_judge_corpus import FACTS

VARIABLES: VariableFacts = FACTS.variables


def remarks(version: str | None = None, way: str | None = None, **settings: str) -> list[Remark]:
    named = {f"NCCL_{name}": value for name, value in settings.items()}
    return list(lint(named, VARIABLES, version=version, way=way, socket_threads_most=64))


def told(found: list[Remark]) -> list[tuple[str, str]]:
    return [(remark.level, remark.rule) for remark in found]


def test_an_unknown_name_gets_the_nearest_real_one() -> None:
    (found,) = remarks(NSOCKS_PERTRANSPORT="4")
    assert found.level == "error"
    assert "did you mean 'NCCL_NSOCKS_PERTHREAD'?" in found.says


def test_a_release_that_nobody_looked_at_may_have_a_name() -> None:
    assert told(remarks(version="2.99.1", SOMETHING_NEW="1")) == [("warning", "unknown")]


def test_another_programs_name_is_no_error() -> None:
    assert told(remarks(ASYNC_ERROR_HANDLING="1")) == [("note", "foreign")]
    assert told(remarks(FASTRAK_ANYTHING="1")) == [("note", "foreign")]


def test_numbers_are_read_as_nccl_reads_them() -> None:
    assert remarks(P2P_DISABLE="0x1")[0].says == remarks(P2P_DISABLE="1")[0].says
    assert remarks(P2P_DISABLE="1")[0].says.startswith("set to 1, it has traffic between GPUs")


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("NTHREADS", "256", "100"),
        ("CROSS_NIC", "2", "3"),
        ("MAX_CTAS", "8", "0"),
        ("DEBUG", "warn", "loud"),
        ("PROTO", "^LL,Simple", "LL64"),
        ("SOCKET_FAMILY", "AF_INET6", "6"),
        ("NET_GDR_LEVEL", "PHB", "phb"),
        ("SHM_MEMCPY_MODE", "3", "4"),
        ("BUFFSIZE", "0x400000", "big"),
    ],
)
def test_values(name: str, good: str, bad: str) -> None:
    assert "value" not in {remark.rule for remark in remarks(**{name: good})}
    assert ("error", "value") in told(remarks(**{name: bad}))


@pytest.mark.parametrize(
    ("version", "expected"),
    [("2.20.5", []), ("2.30.7", [("error", "removed")]), (None, [("warning", "removed")])],
)
def test_a_removed_variable_by_release(
    version: str | None, expected: list[tuple[str, str]]
) -> None:
    assert told(remarks(version=version, SHM_USE_CUDA_MEMCPY="0")) == expected


def test_staging_by_copy_engines_is_warned_of() -> None:
    (remark,) = remarks(version="2.28.9", SHM_USE_CUDA_MEMCPY="1")
    assert remark.rule == "mistaken" and "sums beside compute were wrong" in str(remark)


def test_a_variable_that_is_too_new() -> None:
    assert told(remarks(version="2.15.5", NVLS_ENABLE="1")) == [("error", "too_new")]
    assert told(remarks(version="2.17.1", NVLS_ENABLE="1")) == []


def test_a_deprecated_variable_names_its_successor() -> None:
    assert told(remarks(version="2.16.2", MAX_NCHANNELS="8")) == []
    (found,) = remarks(version="2.18.3", MAX_NCHANNELS="8")
    assert (found.rule, found.instead) == ("deprecated", "set NCCL_MAX_CTAS instead")


def test_zero_disables_nothing() -> None:
    assert told(remarks(P2P_DISABLE="0")) == [("note", "void_value")]


def test_no_level_selects_pcie_where_there_is_nvlink() -> None:
    (found,) = remarks(way="nvlink", P2P_LEVEL="SYS")
    assert (found.level, "no level makes NCCL use PCIe" in found.says) == ("warning", True)
    assert told(remarks(P2P_LEVEL="SYS")) == [("note", "mistaken")]


@pytest.mark.parametrize("level", ["LOC", "0"])
def test_the_lowest_level_takes_access_away_from_nvlink_too(level: str) -> None:
    (found,) = remarks(way="nvlink", P2P_LEVEL=level)
    assert (found.level, found.rule) == ("warning", "meaning")
    assert "over NVLink neither" in found.says and "no level" not in found.says


def test_a_topology_file_chooses_no_link() -> None:
    (found,) = remarks(way="nvlink", TOPO_FILE="/x")
    assert (found.level, "CUDA maps access" in found.says) == ("warning", True)
    assert told(remarks(TOPO_FILE="/x")) == [("note", "mistaken")]


@pytest.mark.parametrize(
    ("name", "value", "old", "new"),
    [
        ("ALGO", "allreduce:tree", "2.23.4", "2.24.3"),
        ("ALGO", "Ring,NVLS", "2.16.2", "2.17.1"),
        ("PROTO", "allgather:^LL", "2.20.5", "2.24.3"),
        ("P2P_LEVEL", "PIX", "2.5.7", "2.6.4"),
        ("ALGO", "Collnet", "2.14.3", "2.13.4"),
    ],
)
def test_words_are_known_by_release(name: str, value: str, old: str, new: str) -> None:
    assert ("error", "value") in told(remarks(version=old, **{name: value}))
    assert "value" not in {remark.rule for remark in remarks(version=new, **{name: value})}


def test_staging_is_not_all_that_disabled_access_can_mean() -> None:
    found = {one.variable: one.says for one in remarks(P2P_DISABLE="1", SHM_DISABLE="1")}
    assert "with NCCL_SHM_DISABLE=1 sent through the network" in found["NCCL_P2P_DISABLE"]


def test_what_is_excluded_is_not_forced() -> None:
    assert remarks(PROTO="^LL128") == remarks(ALGO="allreduce:^ring;^tree") == []
    assert told(remarks(PROTO="LL128")) == [("note", "mistaken")]
    assert told(remarks(ALGO="^ring;broadcast:tree")) == [("note", "mistaken")]


@pytest.mark.parametrize("way", ["nvlink", "pcie_peer", "host_staged"])
def test_socket_threads_do_nothing_within_a_machine(way: str) -> None:
    assert ("warning", "no_effect") in told(remarks(way=way, SOCKET_NTHREADS="4"))
    assert remarks(way="socket", SOCKET_NTHREADS="4") == []


@pytest.mark.parametrize(
    "settings",
    [
        {"P2P_DISABLE": "1", "P2P_LEVEL": "SYS"},
        {"ALGO": "NVLS", "NVLS_ENABLE": "0"},
        {"IB_DISABLE": "1", "IB_HCA": "mlx5_0"},
        {"MIN_CTAS": "16", "MAX_CTAS": "8"},
        {"CUMEM_ENABLE": "0", "NVLS_ENABLE": "1"},
    ],
)
def test_contradictions(settings: dict[str, str]) -> None:
    assert ("error", "contradiction") in told(remarks(**settings))


def test_agreeing_settings_contradict_nothing() -> None:
    assert "contradiction" not in {r.rule for r in remarks(P2P_DISABLE="1", SHM_DISABLE="1")}
    assert "contradiction" not in {r.rule for r in remarks(CUMEM_ENABLE="0", NVLS_ENABLE="0")}


def test_threads_times_sockets_have_a_bound() -> None:
    assert told(remarks(SOCKET_NTHREADS="16", NSOCKS_PERTHREAD="8")) == [("error", "value")]


def test_details_of_a_log_that_is_not_written() -> None:
    assert told(remarks(DEBUG_SUBSYS="GRAPH")) == [("warning", "no_effect")]
    assert remarks(DEBUG="INFO", DEBUG_SUBSYS="GRAPH") == []


def test_facts_name_each_other() -> None:
    known = VARIABLES.known
    named = [one.instead for one in known.values() if one.instead]
    named += [name for one in VARIABLES.conflicts for name in (*one.when, one.void)]
    assert set(named) <= set(known)
    assert not set(VARIABLES.foreign) & set(known)


def test_verb_takes_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.environ", {"PATH": "/bin", "NCCL_ALGOS": "Ring"})
    assert main(["lint-env"]) == 2
    assert "did you mean 'NCCL_ALGO'?" in capsys.readouterr().out
    monkeypatch.setattr("os.environ", {"PATH": "/bin"})
    assert main(["lint-env"]) == 0


def test_verb_takes_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint-env", "NCCL_P2P_LEVEL=NVL", "--path", "nvlink"]) == 0
    assert capsys.readouterr().out.startswith("warning  NCCL_P2P_LEVEL=NVL")
    assert main(["lint-env", "--json", "NCCL_SOCKET_NTHREADS=4"]) == 0
    assert main(["lint-env", "--nccl-version", "22809", "NCCL_ALGO=Ring"]) == 2
    assert "such as 2.28.9" in capsys.readouterr().err
    assert main(["lint-env", "NCCL_ALGO"]) == 2
    for version in ("", "2.28.9;x", "2", "2.28.9.1.1"):
        assert main(["lint-env", "--nccl-version", version, "NCCL_ALGO=Ring"]) == 2, version
    assert main(["lint-env", "NCCL_ALGO=Ring", "NCCL_ALGO=Tree"]) == 2
    assert "NAME=VALUE" in capsys.readouterr().err

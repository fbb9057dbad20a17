"""Readers of NCCL, nccl-tests, nvbandwidth, traces, lscpu and numactl: corpus and mutations."""

import random
import re
from typing import Any

import pytest

from commwall.readers.cleaning import clean
from commwall.readers.detection import kinds_of, read_text
from commwall.readers.refusal import Unreadable
from tests.clock import cpu_seconds
from tests.corpus import CORPUS, LOSSLESS, LOSSY, contradictions, expected, same, text_of

KINDS = ("nccl-log", "nccl-tests", "nvbandwidth", "torch-trace", "cpu-topology")
SAMPLES = [item for kind in KINDS for item in expected(kind)]
READABLE = [item for item in SAMPLES if item.get("readable", True)]
LINES = [item for item in READABLE if not item["input"].endswith(".json")]
CORE = {
    "nccl-log": (
        *("nccl_version", "nranks", "nnodes", "pair_transports", "p2p_fallback", "fallback_pairs"),
        *("network", "gdr", "init_complete", "nvlink_evidence", "env", "transports"),
        *("fallback_reason", "messages", "errors", "cuda_version", "rank_hosts", "nvls"),
    ),
    "nccl-tests": (
        *("nranks", "time_unit", "rows", "avg_busbw", "out_of_bounds_ok", "failed", "complete"),
        *("collective", "collective_from_ratio", "failure", "verdict", "peak_busbw", "version"),
        *("nccl_library", "error_column", "nnodes"),
    ),
    "nvbandwidth": ("version", "device_count", "tests", "p2p_available", "devices", "errors"),
    "torch-trace": (
        *("nccl_kernel_count", "comm_total_us", "compute_total_us", "overlap_us"),
        *("exposed_comm_us", "span_us", "world_size", "warnings", "rank", "memcpy_total_us"),
    ),
    "cpu-topology": (
        *("cpus", "sockets", "numa_nodes", "node_cpus", "memory_only_nodes", "distances"),
        *("nodes_with_cpus", "empty_nodes", "cpu_only_nodes", "node_sizes_mb"),
    ),
}
OF_WHAT_IS_THERE = {
    *("line", "peak_busbw", "failed", "failure", "complete", "invalid_at", "warnings", "sides"),
    *(
        "bracket_meaning",
        "path_evidence",
        "locale",
        "model",
        "init_complete_ranks",
        "devices",
        "collectives",
    ),
}
"""Fields about the lines that are in the text: a part has other lines, and may lack some."""
DRAWS = 12
LOG = re.compile(r"\S+:[0-9]+:[0-9]+ \[[0-9]\] NCCL INFO ")


def reading(text: str, kind: str | None = None) -> dict[str, Any]:
    return read_text(text, kind).model_dump(mode="json")


def certain(found: Any) -> Any:
    """Without the fields that are about the lines of the text."""
    if isinstance(found, dict):
        return {key: certain(item) for key, item in found.items() if key not in OF_WHAT_IS_THERE}
    return [certain(item) for item in found] if isinstance(found, list) else found


def ids(item: dict[str, Any]) -> str:
    return str(item["id"])


@pytest.mark.parametrize("item", SAMPLES, ids=ids)
def test_corpus(item: dict[str, Any]) -> None:
    got = reading(text_of(item["input"]))
    assert (got["kind"], got["readable"]) == (item["kind"], item.get("readable", True))
    wrong = {
        name: (item[name], got.get(name, "absent"))
        for name in CORE[item["kind"]]
        if name in item and not same(item[name], got.get(name, "absent"))
    }
    assert wrong == {}


@pytest.mark.parametrize("item", SAMPLES, ids=ids)
def test_corpus_kind_is_detected_first(item: dict[str, Any]) -> None:
    assert kinds_of(clean(text_of(item["input"])))[0] == item["kind"]


@pytest.mark.parametrize("mutation", LOSSLESS)
@pytest.mark.parametrize("item", LINES, ids=ids)
def test_what_changes_nothing_changes_no_reading(item: dict[str, Any], mutation: str) -> None:
    text = text_of(item["input"])
    mutated = reading(LOSSLESS[mutation](text, random.Random(7)))
    assert list(contradictions(certain(reading(text)), certain(mutated))) == []
    for name in CORE[item["kind"]]:
        assert certain(mutated[name]) == certain(reading(text)[name]), name


@pytest.mark.parametrize("mutation", LOSSY)
@pytest.mark.parametrize("item", READABLE, ids=ids)
def test_a_part_is_not_misread(item: dict[str, Any], mutation: str) -> None:
    text, dice = text_of(item["input"]), random.Random(f"{item['id']} {mutation}")
    whole = read_or_none(text, item["kind"])
    for draw in range(DRAWS):
        part = read_or_none(LOSSY[mutation](text, dice), item["kind"])
        assert list(contradictions(whole, part)) == [], draw


def read_or_none(text: str, kind: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = certain(reading(text, kind))
    except Unreadable:
        return None
    if found.get("intra_node_path") in ("p2p", "nvlink"):
        found["intra_node_path"] = "p2p or nvlink"  # the proof may be in the other part
    return found


def interleaved(text: str, dice: random.Random) -> str:
    """Each process's lines in their order, those of all processes mixed anew."""
    queues: dict[str, list[str]] = {}
    for line in text.splitlines(keepends=True):
        speaker = LOG.search(line)
        queues.setdefault(speaker[0] if speaker else "", []).append(line)
    found = []
    while queues:
        name = dice.choice(sorted(queues))
        found.append(queues[name].pop(0))
        if not queues[name]:
            del queues[name]
    return "".join(found)


@pytest.mark.parametrize("item", expected("nccl-log"), ids=ids)
def test_the_order_of_ranks_does_not_matter(item: dict[str, Any]) -> None:
    text, dice = text_of(item["input"]), random.Random(item["id"])
    for _ in range(DRAWS):
        got = reading(interleaved(text, dice), "nccl-log")
        for name in ("pair_transports", "p2p_fallback", "fallback_pairs", "nranks", "nnodes"):
            assert same(item[name], got[name]), name


def without_a_line_feed(text: str, dice: random.Random) -> str:
    """Two processes write at once: a line begins where another has not ended."""
    places = [match.start() for match in re.finditer("\n(?=\\S+:[0-9]+:[0-9]+ )", text)]
    place = dice.choice(places)
    return text[: place - dice.randrange(12)] + text[place + 1 :]


@pytest.mark.parametrize("item", expected("nccl-log"), ids=ids)
def test_lines_that_run_into_each_other_are_not_misread(item: dict[str, Any]) -> None:
    text, dice = text_of(item["input"]), random.Random(item["id"])
    if not re.search("\n(?=\\S+:[0-9]+:[0-9]+ )", text):
        pytest.skip("every line stands behind a launcher's mark")
    whole = read_or_none(text, "nccl-log")
    for draw in range(DRAWS):
        part = read_or_none(without_a_line_feed(text, dice), "nccl-log")
        assert list(contradictions(whole, part)) == [], draw


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(20))
def test_damage_is_read_or_refused(kind: str, seed: int) -> None:
    dice = random.Random(seed)
    letters = list(text_of(dice.choice(expected(kind))["input"]))
    for _ in range(40):
        letters[dice.randrange(len(letters))] = chr(dice.randrange(1, 0x2000))
    try:
        assert reading("".join(letters), kind)["kind"] == kind
    except Unreadable as refusal:
        assert refusal.reason


MACHINE = CORPUS.parent / "nccl-h200x2"


@pytest.mark.parametrize(
    ("name", "path", "fallback", "signs"),
    [
        ("nvlink", "nvlink", False, {"nvlink_chunk", "via_P2P"}),
        ("host-staged", "shm", True, {"via_SHM"}),
        ("socket", "net", True, {"via_NET"}),
    ],
)
def test_three_paths_of_one_machine(name: str, path: str, fallback: bool, signs: set[str]) -> None:
    text = (MACHINE / f"{name}.log").read_text()
    got = reading(text)
    assert (got["intra_node_path"], got["p2p_fallback"]) == (path, fallback)
    assert {sign["sign"] for sign in got["path_evidence"]} == signs
    said = {sign["sign"]: text.split("\n")[sign["line"] - 1] for sign in got["path_evidence"]}
    words = {"nvlink_chunk": "P2P Chunksize set to 524288", "via_P2P": "via P2P/CUMEM"}
    words |= {"via_SHM": "via SHM/direct", "via_NET": "via NET/Socket"}
    assert all(words[sign] in line for sign, line in said.items())


def test_p2p_alone_does_not_say_nvlink() -> None:
    text = (MACHINE / "nvlink.log").read_text().replace("P2P Chunksize set to 524288", "")
    got = reading(text)
    assert (got["intra_node_path"], got["nvlink_evidence"]) == ("p2p", None)


def test_ranks_of_two_communicators_are_kept_apart() -> None:
    """A group of two of four ranks, over shared memory, has ranks 0 and 1 of its own."""
    (item,) = (item for item in expected("nccl-log") if item["id"] == "nl-2.20-h100-nvls")
    speaker = "hgx-11:103:403 [3] NCCL INFO"
    start = "comm 0x9 rank 1 nranks 2 cudaDev 3 nvmlDev 3 busId 61000 commId 0x88 - Init START"
    hop = "Channel 00/0 : 1[3] -> 0[2] via SHM/direct/direct"
    got = reading(f"{text_of(item['input'])}{speaker} {start}\n{speaker} {hop}\n{speaker} end\n")
    assert got["communicators"] == 2
    assert got["pair_transports"] == item["pair_transports"]
    assert got["p2p_fallback"] is False


def test_another_vendors_log_is_refused() -> None:
    (item,) = (item for item in expected("negative") if "rccl" in item["id"])
    got = reading(text_of(item["input"]))
    assert (got["kind"], got["is_nvidia"], got["nccl_version"]) == ("negative", False, None)


def seconds_per_mb(text: str, megabytes: float) -> float:
    """Processor time of a reading per 10^6 characters."""
    repeated = text * max(1, int(megabytes * 1e6 / len(text)))
    return cpu_seconds(lambda: reading(repeated), tries=2) / (len(repeated) / 1e6)


@pytest.mark.parametrize("item", LINES, ids=ids)
def test_time_is_linear_and_short(item: dict[str, Any]) -> None:
    """Ten times the text takes about ten times as long, and half a second per 10^6 at most."""
    text = text_of(item["input"])
    try:
        short, long = seconds_per_mb(text, 0.1), seconds_per_mb(text, 1)
    except Unreadable:
        return
    assert long < max(0.5, 4 * short)


def test_a_log_of_100_mb_takes_ten_seconds() -> None:
    text = (MACHINE / "nvlink.log").read_text()
    assert seconds_per_mb(text, 8) * 100 < 10

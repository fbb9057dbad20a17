"""Readers of nvidia-smi: the corpus, and mutations of it that must not be misread."""

import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from commwall.readers.cleaning import clean
from commwall.readers.detection import kinds_of, read_text
from commwall.readers.refusal import Unreadable
from tests.corpus import LOSSLESS, LOSSY, contradictions, expected, same, text_of

KINDS = ("topo", "nvlink", "gpu-list", "dmon", "smi-q", "smi-csv", "negative")
SAMPLES = [item for kind in KINDS for item in expected(kind)]
READABLE = [item for item in SAMPLES if item["kind"] != "negative" and item.get("readable", True)]
DRAWS = 40
UNSAID = {"id", "input", "tool", "rxpci_unit"}
"""Of the file, of a command line that is not in it, or said in the name of a column."""
MAY_BE_LOST = {"cpu_affinity", "gpu_numa_id", "columns"}
"""Without tabs the last column may be cut, and an empty cell has no place."""
Mutation = Callable[[str, random.Random], str]


def reading(text: str, kind: str | None = None) -> dict[str, Any]:
    return read_text(text, kind).model_dump(mode="json")


def ids(item: dict[str, Any]) -> str:
    return str(item["id"])


@pytest.mark.parametrize("item", SAMPLES, ids=ids)
def test_corpus(item: dict[str, Any]) -> None:
    got = reading(text_of(item["input"]))
    for name, value in item.items():
        if name not in UNSAID:
            assert same(value, got.get(name, "absent" if value is not None else None)), name


@pytest.mark.parametrize("item", SAMPLES, ids=ids)
def test_corpus_kind_is_detected_first(item: dict[str, Any]) -> None:
    assert kinds_of(clean(text_of(item["input"])))[0] == item["kind"]


WHOLE = [item for item in SAMPLES if text_of(item["input"]).endswith("\n")]
"""Without a text that is cut in a line: behind a prefix it is not cut."""


@pytest.mark.parametrize("mutation", LOSSLESS)
@pytest.mark.parametrize("item", WHOLE, ids=ids)
def test_what_changes_nothing_changes_no_reading(item: dict[str, Any], mutation: str) -> None:
    text = text_of(item["input"])
    mutated = reading(LOSSLESS[mutation](text, random.Random(7)))
    original = reading(text)
    assert list(contradictions(original, mutated)) == []
    lost = MAY_BE_LOST if "spaced" in mutation and item["kind"] == "topo" else set()
    assert {name: mutated[name] for name in mutated.keys() - lost} == {
        name: original[name] for name in original.keys() - lost
    }


@pytest.mark.parametrize("mutation", LOSSY)
@pytest.mark.parametrize("item", READABLE, ids=ids)
def test_a_part_is_not_misread(item: dict[str, Any], mutation: str) -> None:
    text, dice = text_of(item["input"]), random.Random(f"{item['id']} {mutation}")
    original = reading(text)
    for _ in range(DRAWS):
        part = LOSSY[mutation](text, dice)
        try:
            got = reading(part, item["kind"])
        except Unreadable:
            continue
        found = [line for line in contradictions(original, got) if not _cannot_be_seen(line, part)]
        assert found == [], part


def _cannot_be_seen(line: str, part: str) -> bool:
    """The last lines of a list are gone: what is left is a shorter list of whole lines. Or the
    lines end right behind a title of a column, so that no column seems to follow."""
    listed = re.search(r"^\s*(?:Link|GPU|MIG) [0-9]", part, re.MULTILINE) and "Affinity" not in part
    shorter = listed and line.startswith((".gpus[", ".verdict")) and part.endswith((")", "\n"))
    return bool(shorter) or (line.startswith(".columns.") and line.endswith("False, not True"))


@pytest.mark.parametrize("item", [item for item in READABLE if item["kind"] == "smi-csv"], ids=ids)
def test_order_of_csv_columns_changes_nothing(item: dict[str, Any]) -> None:
    lines = [line.split(", ") for line in text_of(item["input"]).splitlines()]
    order = random.Random(3).sample(range(len(lines[0])), k=len(lines[0]))
    mixed = "\n".join(", ".join(cells[at] for at in order) for cells in lines) + "\n"
    assert reading(mixed) == reading(text_of(item["input"]))


@pytest.mark.parametrize("item", [item for item in READABLE if item["kind"] == "dmon"], ids=ids)
def test_order_of_dmon_columns_changes_no_sample(item: dict[str, Any]) -> None:
    lines = [line.replace("# ", "").split() for line in text_of(item["input"]).splitlines()]
    order = random.Random(3).sample(range(1, len(lines[0])), k=len(lines[0]) - 1)
    rows = ([cells[0], *(cells[at] for at in order)] for cells in lines if cells)
    mixed = "".join(
        ("# " if cells[0] in ("gpu", "Idx") else "  ")
        + "".join(f"{cell:>11}" for cell in cells)
        + "\n"
        for cells in rows
    )
    got, original = reading(mixed), reading(text_of(item["input"]))
    assert got["samples"] == original["samples"]
    assert sorted(got["columns"]) == sorted(original["columns"])


def test_order_of_devices_changes_no_link() -> None:
    text = text_of("topo-dgx1v-hybrid-cube-mesh.txt")
    rows = [line.split("\t") for line in text.split("\n\n")[0].split("\n")]
    order = random.Random(3).sample(range(1, 13), k=12)
    mixed = [[row[0], *(row[at] for at in order), *row[13:]] for row in rows]
    mixed[1:] = random.Random(4).sample(mixed[1:], k=12)
    got = reading("\n".join(map("\t".join, mixed)) + "\n")
    original = reading(text)
    for name in ("links", "gpu_nic_links", "cpu_affinity", "verdict"):
        assert got[name] == original[name]


def test_rows_that_deny_each_other_leave_the_pair_unknown() -> None:
    text = text_of("topo-3xa6000-one-bridge.txt").replace("GPU1\tNV4", "GPU1\tPHB")
    got = reading(text)
    assert got["links_unknown"] == ["GPU0-GPU1"]
    assert "GPU0-GPU1" not in got["links"]
    assert (got["readable"], got["verdict"]) == (False, "incomplete")


@pytest.mark.parametrize(
    ("option", "words", "supported"),
    [("r", ("OK", "OK"), True), ("w", ("CNS", "CNS"), False), ("n", ("NS", "NS"), None)],
)
def test_peer_access_is_about_reading_and_writing(
    option: str, words: tuple[str, str], supported: bool | None
) -> None:
    rows = f" \tGPU0\tGPU1\t\n GPU0\tX\t{words[0]}\t\n GPU1\t{words[1]}\tX\t\n"
    text = f"$ nvidia-smi topo -p2p {option}\n{rows}"
    assert reading(text)["p2p_supported"] is supported


def test_another_vendors_table_is_no_topology_even_if_asked_for() -> None:
    assert reading(text_of("neg-rocm-smi-showtopo.txt"), "topo")["reason"] == "amd_rocm_smi"
    with pytest.raises(Unreadable, match="no_certain_row|no_matrix|header_cut"):
        read_text("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tMX\t0-7\nGPU1\tMX\t X \t0-7\n", "topo")


TABLE = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                    0 |
| N/A   31C    P0             62W /  400W |       5MiB /  81920MiB |     87%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA GeForce RTX 3060 ...    Off |   00000000:0F:00.0  On |                  N/A |
| 30%   40C    P8             N/A /   N/A |         Not Supported  |    N/A       Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|    0   N/A  N/A      4242      C   python                                         4MiB |
+-----------------------------------------------------------------------------------------+
"""


def test_table() -> None:
    got = reading(TABLE)
    first, second = got["gpus"]
    assert (got["kind"], got["gpu_count"], got["driver_version"]) == ("smi-table", 2, "550.54.15")
    assert (first["power_draw_w"], first["power_limit_w"], first["util_pct"]) == (62, 400, 87)
    assert (first["memory_used_mib"], first["fan_pct"]) == (5, "unavailable")
    assert (second["name"], second["fan_pct"]) == ("NVIDIA GeForce RTX 3060 ...", 30)
    unavailable = ("power_draw_w", "power_limit_w", "memory_used_mib", "util_pct")
    assert {second[name] for name in unavailable} == {"unavailable"}


@pytest.mark.parametrize("mutation", LOSSY)
def test_a_part_of_a_table_is_not_misread(mutation: str) -> None:
    original, dice = reading(TABLE), random.Random(mutation)
    for _ in range(DRAWS):
        try:
            got = reading(LOSSY[mutation](TABLE, dice), "smi-table")
        except Unreadable:
            continue
        assert list(contradictions(original, got)) == []

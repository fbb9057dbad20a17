"""Ways of memory operations, on machines in round numbers: what is not on file is unknown."""

from pathlib import Path

import pytest

from commwall.measure.bounds import path_rate_check
from commwall.records.hardware import read_hardware
from commwall.records.paths import OUTSIDE_CACHES_BYTES, MemoryPath, Place, memory_path
from commwall.schema.case import NO_PEER_ACCESS, MemoryCase, MemoryOperation
from commwall.schema.errors import ConfigError
from commwall.schema.facts import HardwareFacts
from commwall.schema.record import GpuFacts, MachineFacts
from commwall.schema.result import CaseResult, Gap, Series

ROOT = Path(__file__).parents[2]
SIZE = 2**30


def fact(value: float) -> dict[str, object]:
    words = {"unit": "x", "source": "a test", "date": "2026-01-01", "grade": "estimate"}
    return {"value": value, **words}


def peaks(name: str, generation: int | None) -> dict[str, object]:
    own = {"names": [name], "bfloat16_dense_flops": fact(1e12), "memory_bytes_per_s": fact(1e12)}
    return own | ({"nvlink_generation": fact(generation)} if generation else {})


FACTS = HardwareFacts.model_validate(
    {
        "gpus": {
            "a": peaks("Made-up 1", 7),
            "b": peaks("Made-up 2", 8),
            "c": peaks("Made-up PCIe", None),
        },
        "links": {"nvlink": {7: fact(10e9)}, "pcie": {4: fact(2e9), 5: fact(4e9)}},
    }
)


def gpu(name: str = "Made-up 1", generation: int | None = 5, width: int | None = 16) -> GpuFacts:
    return GpuFacts(
        name=name,
        uuid_digest="0" * 12,
        memory_bytes=1,
        pcie_generation=generation,
        pcie_width=width,
    )


def place(
    *gpus: GpuFacts, link: str | None = "NV18", gaps: tuple[Gap, ...] = (), device: str = "cuda"
) -> Place:
    matrix = None if link is None else (("X", link), (link, "X"))
    own = gpus or (gpu(), gpu())
    machine = MachineFacts(
        fingerprint="f", cpu_model="a CPU", cpu_count=2, gpus=own, link_matrix=matrix
    )
    return Place(device, 2, machine, gaps)  # type: ignore[arg-type]


def way(
    operation: MemoryOperation,
    where: Place,
    ends: tuple[int | None, int | None] = (None, None),
    size: int = SIZE,
) -> MemoryPath:
    return memory_path(operation, size, ends, where, FACTS)


NO_ACCESS = Gap(what=NO_PEER_ACCESS.format(rank=0, peer=1), reason="the driver does not offer it")
PEERS = (0, 1)


@pytest.mark.parametrize(
    ("operation", "where", "ends", "words", "nominal"),
    [
        ("copy", place(), (None, None), "device memory", 1e12),
        ("triad", place(), (1, None), "device memory", 1e12),
        # 16 lanes of 4 GB/s, 8 of 2 GB/s
        ("host_to_device_pinned", place(), (None, None), "PCIe 5.0 x16", 64e9),
        ("device_to_host_pinned", place(gpu(), gpu(generation=4, width=8)), (1, None),
         "PCIe 4.0 x8", 16e9),
        ("host_to_device_pageable", place(), (None, None),
         "a copy in host memory and PCIe 5.0 x16", 64e9),
        # 18 links of 10 GB/s each way
        ("peer", place(), PEERS, "NVLink 7, 18 links", 180e9),
        ("peer_bidirectional", place(), PEERS, "NVLink 7, 18 links", 360e9),
        ("peer", place(gpu(), gpu(width=8), link="PHB"), PEERS,
         "peer access (PHB) over PCIe 5.0 x8", 32e9),
        # no access in spite of the links: the driver stages
        ("peer", place(gaps=(NO_ACCESS,)), PEERS, "host-staged over PCIe 5.0 x16", 64e9),
        ("peer", place(gaps=(NO_ACCESS,)), (1, 0), "NVLink 7, 18 links", 180e9),
    ],
)  # fmt: skip
def test_the_way_and_its_nominal_rate(
    operation: MemoryOperation,
    where: Place,
    ends: tuple[int | None, int | None],
    words: str,
    nominal: float,
) -> None:
    found = way(operation, where, ends)
    assert (found.words, found.unknown) == (words, None)
    assert found.nominal_bytes_per_s == pytest.approx(nominal)


@pytest.mark.parametrize(
    ("operation", "where", "ends", "reason"),
    [
        ("copy", place(device="cpu"), (None, None), "RAM is not on file"),
        ("copy", place(gpu("Made-up 9"), gpu("Made-up 9")), (None, None), "Made-up 9 is not on"),
        ("copy", place(gpu(), gpu("Made-up 9")), (None, None), "devices of the ranks differ"),
        ("copy", place(gpu()), (1, None), "does not describe the device"),
        ("host_to_device_pinned", place(gpu(generation=9), gpu(generation=9)), (None, None),
         "PCIe generation 9 is not on file"),
        ("host_to_device_pinned", place(gpu(width=None), gpu()), (0, None), "does not tell"),
        ("peer", place(gpu("Made-up 9"), gpu("Made-up 9")), PEERS, "generation of NVLink"),
        ("peer", place(gpu("Made-up PCIe"), gpu("Made-up PCIe")), PEERS, "generation of NVLink"),
        ("peer", place(gpu("Made-up 2"), gpu("Made-up 2")), PEERS, "generation of NVLink"),
        ("peer", place(gpu(), gpu("Made-up 2")), PEERS, "generation of NVLink"),
        ("peer", place(link="NV0"), PEERS, "number of links was not told"),
        ("peer", place(link=None), PEERS, "how the devices are linked"),
    ],
)  # fmt: skip
def test_what_is_not_on_file_is_unknown(
    operation: MemoryOperation,
    where: Place,
    ends: tuple[int | None, int | None],
    reason: str,
) -> None:
    found = way(operation, where, ends)
    assert found.nominal_bytes_per_s is None
    assert reason in str(found.unknown)


def test_a_buffer_that_may_stay_in_a_cache_has_no_bound() -> None:
    small, large = (way("copy", place(), size=OUTSIDE_CACHES_BYTES - less) for less in (4, 0))
    assert (small.kind, small.nominal_bytes_per_s) == ("cache", None)
    assert (large.kind, large.nominal_bytes_per_s) == ("device", 1e12)


def timed(*times_s: float, size: int = SIZE, rank: int = 0) -> Series:
    return Series(
        metric="operation_time_s", unit="s", values=times_s, message_bytes=size, rank=rank
    )


def check_of(*series: Series, where: Place | None = None) -> tuple[bool, str, str] | None:
    case = MemoryCase(operation="copy", buffer_bytes=(4096, SIZE))
    result = CaseResult(case="copy", status="ok", series=series)
    found = path_rate_check(case, result, where or place(), FACTS)
    return found and (found.passed, found.found, found.expected)


def test_a_rate_above_the_bound_fails_the_check() -> None:
    # 2 GiB at 1e12 byte/s take 2.147 ms
    passed = check_of(timed(0.003, 0.0025), timed(0.0022, 0.004, rank=1))
    assert passed is not None and passed[0]
    assert passed[1].startswith("rank 1: 2 x 1073741824 byte / 0.0022 s = ")
    assert passed[2] == "<= 1e+12 byte/s, nominal of device memory"
    failed = check_of(timed(0.003, 0.0021), timed(0.0022, rank=1))
    assert failed is not None and not failed[0] and failed[1].startswith("rank 0")


def test_what_has_no_bound_is_not_judged() -> None:
    unknown = place(gpu("Made-up 9"), gpu("Made-up 9"))
    assert check_of(timed(1e-9), where=unknown) is None
    assert check_of(timed(1e-9, size=4096)) is None
    warmup = timed(1e-9).model_copy(update={"phase": "warmup"})
    assert check_of(warmup) is None
    assert check_of(timed(0.0)) is None


def test_the_shipped_facts_give_the_ways_of_two_h200() -> None:
    facts = read_hardware(ROOT)
    two = place(gpu("NVIDIA H200"), gpu("NVIDIA H200"))
    found = [
        memory_path(operation, SIZE, ends, two, facts)
        for operation, ends in (("copy", (None, None)), ("peer", PEERS),
                                ("host_to_device_pinned", (None, None)))
    ]  # fmt: skip
    assert [way.nominal_bytes_per_s for way in found] == pytest.approx([4.8e12, 450e9, 63e9])
    assert found[1].words == "NVLink 4, 18 links"


def test_links_of_few_lanes_keep_their_own_rate() -> None:
    """Four links of a GA102 carry 56.25 GB/s in one direction, not the 100 of other GPUs' links."""
    two = place(gpu("NVIDIA GeForce RTX 3090"), gpu("NVIDIA GeForce RTX 3090"), link="NV4")
    bridge = memory_path("peer", SIZE, PEERS, two, read_hardware(ROOT))
    assert bridge.nominal_bytes_per_s == pytest.approx(56.25e9)


def test_no_files_are_no_facts_and_a_malformed_one_is_told(tmp_path: Path) -> None:
    assert read_hardware(tmp_path) == HardwareFacts()
    (tmp_path / "config/facts").mkdir(parents=True)
    (tmp_path / "config/facts/links.yaml").write_text("nvlink: {four: {value: 1}}")
    with pytest.raises(ConfigError, match=r"config/facts/links\.yaml"):
        read_hardware(tmp_path)

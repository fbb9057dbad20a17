"""The page on platforms: machine, links, software and treatments, as the records have them.

Layer: report. Reads and writes no file. What could not be read is named with its reason.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from commwall.analysis.facts import GPU_FIELDS, matrix_of
from commwall.report.html import Html, bullets, joined, paragraph, table
from commwall.report.page import Page
from commwall.report.path_evidence import path_lines
from commwall.schema.plan import PlannedPlatform, PlannedSuite
from commwall.schema.treatment import EmulatedLink, NcclVariables, Treatment
from commwall.schema.units import quantity_text, rate_text, time_text

WORDS = {
    "machine.cpu_model": "CPU",
    "machine.cpu_count": "CPUs that the processes may use",
    "machine.numa_nodes": "NUMA nodes with memory",
    "machine.memory_bytes": "memory",
    "machine.driver": "GPU driver",
    "machine.peer_access": "each GPU reads the others' memory without the host",
    "machine.fingerprint": "fingerprint of this kind of machine",
    "machine.boot_digest": "boot (digest)",
    "machine.link_matrix": "links between the GPUs",
    "machine.gpus.name": "GPU",
    "machine.gpus.uuid_digest": "uuid (digest)",
    "machine.gpus.memory_bytes": "memory",
    "machine.gpus.power_limit_w": "power limit",
    "machine.gpus.max_sm_clock_hz": "highest processor clock",
    "machine.gpus.pcie_generation": "PCIe generation, as linked",
    "machine.gpus.pcie_width": "PCIe width, as linked",
    "machine.gpus.partitioned": "divided into instances (MIG)",
    "software.python": "Python",
    "software.lock_digest": "environment lock",
    "software.packages_digest": "package list",
    "software.code_digest": "measuring code",
    "software.git_commit": "commit",
    "software.dirty": "uncommitted changes",
    "software.runtime.torch": "PyTorch",
    "software.runtime.cuda": "CUDA of PyTorch",
    "software.runtime.nccl": "NCCL",
    "software.runtime.threads_per_rank": "CPU threads of each process",
}
"""Fact -> words for readers."""
_LANES = {"lane": " lanes"}
HEX_SHOWN = 12
"""Digits of a digest in these tables; the provenance has all of them."""
LINKS = {
    "X": "the GPU itself",
    "SYS": "over the link between NUMA nodes, through the host",
    "NODE": "over host bridges of one NUMA node",
    "PHB": "over one PCIe host bridge, the CPU's",
    "PXB": "over several PCIe switches, not the CPU",
    "PIX": "over one PCIe switch",
}
"""Kind of link as `nvidia-smi topo -m` names it. Source: its legend, in own words."""
PER_CASE = "software.code_digest"
"""Fact that differs between suites on any machine: each has its own code."""


def same_machine(page: Page) -> Html:
    """Whether the platforms of every round are one machine but for the treatment, and whether
    traffic took the ways that they claim."""
    lines = [*same_machine_lines(page), *path_lines(page)]
    return joined([paragraph(line, "verdict") for line in lines], "card")


def same_machine_lines(page: Page) -> Iterator[str]:
    """Boots and GPUs behind the records, over all and within a round."""
    records = page.analysis.evidence.records
    if not records:
        yield "No record: nothing is known of the machine."
        return
    rounds: dict[tuple[str, int], set[object]] = {}
    for record in records:
        identity = tuple(
            (one.boot_digest, tuple(gpu.uuid_digest for gpu in one.gpus)) for one in record.machines
        )
        rounds.setdefault((record.id.suite, record.id.round), set()).add(identity)
    mixed = [f"{suite} round {round_}" for (suite, round_), own in rounds.items() if len(own) > 1]
    boots = {tuple(one.boot_digest for one in record.machines) for record in records}
    if None in {boot for own in boots for boot in own}:
        yield "The boots behind the records are not all known."
    if mixed:
        yield f"Not one machine: {', '.join(mixed)} mix boots or GPUs; they are not compared."
    else:
        same = "boot and GPUs" if any(record.machine.gpus for record in records) else "boot"
        nodes = max(len(record.machines) for record in records)
        them = f"the same {nodes} machines, each" if nodes > 1 else "one machine,"
        yield (
            f"Within every round all platforms are {them} of one {same}; they differ in the "
            "treatment of the link."
        )
    yield _boots_text(len(boots))


def _boots_text(boots: int) -> str:
    if boots == 1:
        return "All records come from one boot: another machine of this kind may differ."
    return (
        f"The records come from {boots} boots of this kind of machine, so the spread between "
        "rounds contains what differs between them."
    )


def machine(page: Page) -> Html:
    """The machine as probed, without its GPUs."""
    names = [n for n in WORDS if n.startswith("machine.") and ".gpus." not in n]
    shown = [name for name in names if name != "machine.link_matrix"]
    return _fact_table(page.census.facts, shown, "The machine as the records have it.")


def gpus(page: Page) -> Html:
    """Every GPU as probed: one column for all where they agree."""
    facts = page.census.facts
    own = facts[facts["gpu"].notna()]
    if own.empty:
        return paragraph(f"GPUs: none, {_reason(facts, 'machine.driver')}.", "missing")
    indices = sorted(own["gpu"].unique())
    names = [f"machine.gpus.{field}" for field in GPU_FIELDS]
    alike = len(indices) > 1 and all(
        len({_shown(own, name, index) for index in indices}) == 1
        for name in names
        if not name.endswith("uuid_digest")
    )
    heads = [f"each of {len(indices)} GPUs"] if alike else [f"GPU {index}" for index in indices]
    rows = [
        (WORDS[name], *([_merged(own, name, indices)] if alike else _cells(own, name, indices)))
        for name in names
    ]
    return table(("what", *heads), rows, "The GPUs as probed before each launch.")


def links(page: Page) -> Html:
    """The matrix of links between the GPUs, with the words for the kinds in it."""
    facts = page.census.facts
    own = facts[facts["fact"] == "machine.link_matrix"]
    known = own["text"].dropna()
    if known.empty:
        return paragraph(f"Links between GPUs: {_reason(facts, 'machine.link_matrix')}.", "missing")
    return joined(_matrix(row.text, row.rounds, len(known)) for row in own.itertuples())


def software(page: Page) -> Html:
    """The software as probed, and the variables of the workers."""
    facts = page.census.facts
    names = [name for name in WORDS if name.startswith("software.")]
    others = dict.fromkeys(facts["fact"])
    protocols = [name for name in others if name.startswith("protocol ")]
    variables = [name for name in others if name.startswith("variable ")]
    words = "Variables of the worker processes, as allow-listed."
    return joined(
        [
            _fact_table(facts, [*names, *protocols], "The software as the records have it."),
            _fact_table(facts, variables, words)
            if variables
            else paragraph("No allow-listed variable was set for the workers."),
        ]
    )


def treatments(page: Page) -> Html:
    """What was compared: each treatment, what it stands for, and what not."""
    plan = page.analysis.evidence.plan
    rows = [_treatment_row(page, platform) for platform in (plan.platforms if plan else ())]
    heads = ("name", "platform", "processes", "link", "stands for", "does not cover")
    return table(heads, rows, "Platforms: one machine, different treatments of its link.")


def left_out(page: Page) -> Html:
    """What the campaign file asks for and this machine does not allow."""
    plan = page.analysis.evidence.plan
    lines = [f"{item.what}: {item.reason}" for item in (plan.left_out if plan else ())]
    if not lines:
        return paragraph("Nothing that the campaign asks for was left out of the plan.")
    return joined([paragraph("Asked for and not planned here:", "lead"), bullets(lines)])


def differences(page: Page) -> Html:
    """Facts of which the records have several values, each with the records that have it."""
    facts = page.census.facts
    known = facts[facts["fact"] != PER_CASE]
    keys = ["fact", "gpu"]
    several = known.groupby(keys, dropna=False)["records"].transform("size") > 1
    rows = [
        (_name(row.fact, row.gpu), _text(row), row.suites, row.platforms, row.rounds)
        for row in known[several].sort_values(keys, kind="stable").itertuples()
    ]
    if not rows:
        return paragraph("No fact of machine or software differs between the records.")
    heads = ("what", "found", "suites", "platforms", "rounds")
    return table(heads, rows, "What differs between the records of this campaign.")


def orders(page: Page) -> Html:
    """In which order each round visits the platforms."""
    plan = page.analysis.evidence.plan
    suites = [suite for suite in (plan.suites if plan else ()) if suite.orders]
    if not suites:
        return paragraph("The plan has no rounds.", "missing")
    most = max(len(order) for suite in suites for order in suite.orders)
    rows = [row for suite in suites for row in _order_rows(page, suite)]
    heads = ("suite", "rounds", *(f"{place}." for place in range(1, most + 1)))
    words = "Order of the platforms, drawn from the plan's seed, back to back within a round."
    return table(heads, rows, words)


def _order_rows(page: Page, suite: PlannedSuite) -> Iterator[tuple[str, ...]]:
    """One row an order, with all rounds that have it."""
    rounds: dict[tuple[str, ...], list[str]] = {}
    for number, order in enumerate(suite.orders, start=1):
        rounds.setdefault(order, []).append(str(number))
    for order, numbers in rounds.items():
        names = (page.analysis.names[name] for name in order)
        yield (suite.suite, ", ".join(numbers), *names)


def _fact_table(facts: pd.DataFrame, names: Sequence[str], caption: str) -> Html:
    rows = [(WORDS.get(name, _plain(name)), _shown(facts, name)) for name in names]
    return table(("what", "found"), [row for row in rows if row[1]], caption)


def _plain(name: str) -> str:
    return name.removeprefix("variable ")


def _name(fact: str, gpu: object) -> str:
    words = WORDS.get(fact, _plain(fact))
    return words if pd.isna(gpu) else f"GPU {gpu}: {words}"


def _cells(facts: pd.DataFrame, name: str, indices: Sequence[int]) -> list[str]:
    return [_shown(facts, name, index) for index in indices]


def _merged(facts: pd.DataFrame, name: str, indices: Sequence[int]) -> str:
    return ", ".join(dict.fromkeys(_cells(facts, name, indices)))


def _shown(facts: pd.DataFrame, name: str, gpu: int | None = None) -> str:
    """Every value of a fact, or why it has none."""
    own = facts[facts["fact"] == name]
    own = own if gpu is None else own[own["gpu"] == gpu]
    return "; ".join(dict.fromkeys(_text(row) for row in own.itertuples()))


def _text(row: Any) -> str:
    """One value of a fact in words; its reason where it has none."""
    number, text, unit = row.number, row.text, row.unit
    if not pd.isna(number):
        scaled = unit in ("byte", "Hz", "W")
        return quantity_text(number, unit) if scaled else f"{number:g}" + _LANES.get(unit, "")
    if not pd.isna(text):
        return _short(str(text))
    return f"not known: {row.why_absent}"


def _short(text: str) -> str:
    """Digests by their first digits."""
    return re.sub(rf"\b([0-9a-f]{{{HEX_SHOWN}}})[0-9a-f]{{4,}}\b", r"\1…", text)


def _reason(facts: pd.DataFrame, name: str) -> str:
    reasons = facts[facts["fact"] == name]["why_absent"].dropna()
    return "; ".join(dict.fromkeys(reasons)) or "no record states them"


def _matrix(text: object, rounds: str, several: int) -> Html:
    if pd.isna(text):
        return paragraph(f"{rounds}: no matrix of links.", "missing")
    matrix = matrix_of(str(text))
    heads = ("", *(f"GPU {index}" for index in range(len(matrix))))
    rows = [(f"GPU {index}", *cells) for index, cells in enumerate(matrix)]
    kinds = dict.fromkeys(kind for cells in matrix for kind in cells if kind != "X")
    words = bullets(f"{kind}: {link_text(kind)}" for kind in kinds)
    where = f" {rounds[:1].upper()}{rounds[1:]}." if several > 1 else ""
    return joined([table(heads, rows, f"Kind of link between two GPUs.{where}"), words])


def link_text(kind: str) -> str:
    """A kind of link in words."""
    nvlinks = re.fullmatch(r"NV(\d+)", kind)
    if nvlinks:
        return f"{nvlinks.group(1)} NVLinks bonded"
    return LINKS.get(kind, "as nvidia-smi names it")


def _treatment_row(page: Page, platform: PlannedPlatform) -> tuple[str, ...]:
    label = platform.treatment.label
    return (
        page.analysis.names[platform.name],
        platform.name,
        f"{platform.world_size} x {platform.device}"
        + (f" on {platform.nodes} nodes" if platform.nodes > 1 else ""),
        treatment_text(platform.treatment),
        label.stands_for,
        label.does_not_cover,
    )


def treatment_text(treatment: Treatment) -> str:
    """How a treatment sets the link: emulated rate, variables, or nothing."""
    if isinstance(treatment, EmulatedLink):
        rate, latency = rate_text(treatment.bandwidth_bytes_per_s), time_text(treatment.latency_s)
        return f"emulated: {rate} per direction, {latency} per collective"
    if isinstance(treatment, NcclVariables):
        return ", ".join(f"{key}={value}" for key, value in treatment.variables.items())
    return "as the machine offers it"

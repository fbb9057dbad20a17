"""The page on platforms: machine, links, software and treatments, as the records have them.

Layer: report. Reads and writes no file. What could not be read is named with its reason.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from commwall.analysis.values.facts import GPU_FIELDS, matrix_of
from commwall.language.translate import capital, clauses, listed, quantity_text, tr, tr_later
from commwall.report.html import Html, bullets, joined, paragraph, table
from commwall.report.page import Page
from commwall.report.switch import switched_off_lines
from commwall.schema.plan import PlannedPlatform, PlannedSuite
from commwall.schema.treatment import EmulatedLink, NcclVariables, Treatment
from commwall.schema.units import rate_text, time_text

WORDS = {
    "machine.cpu_model": tr_later("CPU"),
    "machine.cpu_count": tr_later("CPUs that the processes may use"),
    "machine.numa_nodes": tr_later("NUMA nodes with memory"),
    "machine.memory_bytes": tr_later("host memory"),
    "machine.driver": tr_later("GPU driver"),
    "machine.peer_access": tr_later("each GPU reads the others' memory without the host"),
    "machine.fingerprint": tr_later("fingerprint of this kind of machine"),
    "machine.boot_digest": tr_later("boot (digest)"),
    "machine.link_matrix": tr_later("links between the GPUs"),
    "machine.gpus.name": tr_later("GPU"),
    "machine.gpus.uuid_digest": tr_later("uuid (digest)"),
    "machine.gpus.memory_bytes": tr_later("memory"),
    "machine.gpus.power_limit_w": tr_later("power limit"),
    "machine.gpus.max_sm_clock_hz": tr_later("highest processor clock"),
    "machine.gpus.pcie_generation": tr_later("PCIe generation, highest that GPU and slot allow"),
    "machine.gpus.pcie_width": tr_later("PCIe lanes, most that GPU and slot allow"),
    "machine.gpus.partitioned": tr_later("divided into instances (MIG)"),
    "software.python": tr_later("Python"),
    "software.lock_digest": tr_later("environment lock"),
    "software.packages_digest": tr_later("package list"),
    "software.code_digest": tr_later("measuring code"),
    "software.git_commit": tr_later("commit"),
    "software.dirty": tr_later("uncommitted changes"),
    "software.runtime.torch": tr_later("PyTorch"),
    "software.runtime.cuda": tr_later("CUDA of PyTorch"),
    "software.runtime.nccl": tr_later("NCCL"),
    "software.runtime.threads_per_rank": tr_later("CPU threads of each process"),
}
"""Fact -> words for readers."""
HEX_SHOWN = 12
"""Digits of a digest in these tables; the provenance has all of them."""
LINKS = {
    "X": tr_later("the GPU itself"),
    "SYS": tr_later("over the link between NUMA nodes, through the host"),
    "NODE": tr_later("over host bridges of one NUMA node"),
    "PHB": tr_later("over one PCIe host bridge, the CPU's"),
    "PXB": tr_later("over several PCIe switches, not the CPU"),
    "PIX": tr_later("over one PCIe switch"),
}
"""Kind of link as `nvidia-smi topo -m` names it. Source: its legend, in own words."""
UNNAMED = tr_later("as nvidia-smi names it")
"""A kind that is not among them."""
PROTOCOL = "protocol of suite "
"""Beginning of the names of facts on a suite's protocol."""
PER_CASE = "software.code_digest"
"""Fact that differs between suites on any machine: each has its own code."""


def machine(page: Page) -> Html:
    """The machine as probed, without its GPUs."""
    names = [n for n in WORDS if n.startswith("machine.") and ".gpus." not in n]
    shown = [name for name in names if name != "machine.link_matrix"]
    return _fact_table(page.census.facts, shown, tr("The machine as the records have it."))


def gpus(page: Page) -> Html:
    """Every GPU as probed: one column for all where they agree."""
    facts = page.census.facts
    own = facts[facts["gpu"].notna()]
    if own.empty:
        words = tr("GPUs: none, {reason}.", reason=_reason(facts, "machine.driver"))
        return paragraph(words, "missing")
    indices = sorted(own["gpu"].unique())
    names = [f"machine.gpus.{field}" for field in GPU_FIELDS]
    alike = len(indices) > 1 and all(
        len({_shown(own, name, index) for index in indices}) == 1
        for name in names
        if not name.endswith("uuid_digest")
    )
    each = [f"GPU {index}" for index in indices]
    heads = [tr("each of {n} GPUs", n=len(indices))] if alike else each
    rows = [
        (tr(WORDS[name]), *([_merged(own, name, indices)] if alike else _cells(own, name, indices)))
        for name in names
    ]
    return table((tr("what"), *heads), rows, tr("The GPUs as probed before each launch."))


def links(page: Page) -> Html:
    """The matrix of links between the GPUs, with the words for the kinds in it."""
    facts = page.census.facts
    own = facts[facts["fact"] == "machine.link_matrix"]
    known = own["text"].dropna()
    if known.empty:
        reason = _reason(facts, "machine.link_matrix")
        return paragraph(tr("Links between GPUs: {reason}.", reason=reason), "missing")
    return joined(_matrix(row.text, row.rounds, len(known)) for row in own.itertuples())


def software(page: Page) -> Html:
    """The software as probed, and the variables of the workers."""
    facts = page.census.facts
    names = [name for name in WORDS if name.startswith("software.")]
    others = dict.fromkeys(facts["fact"])
    protocols = [name for name in others if name.startswith(PROTOCOL)]
    variables = [name for name in others if name.startswith("variable ")]
    words = tr("Variables of the worker processes, as allow-listed.")
    unset = tr("No allow-listed variable was set for the workers.")
    return joined(
        [
            _fact_table(facts, [*names, *protocols], tr("The software as the records have it.")),
            _fact_table(facts, variables, words) if variables else paragraph(unset),
        ]
    )


def treatments(page: Page) -> Html:
    """What was compared: each treatment, what it stands for, and what not."""
    plan = page.analysis.plan
    switch = [*switched_off_lines(page.analysis)]
    rows = [
        _treatment_row(page, platform, switched_off=bool(switch))
        for platform in (plan.platforms if plan else ())
    ]
    heads = (tr("name"), tr("platform"), tr("processes"), tr("link"), tr("stands for"),
             tr("does not cover"))  # fmt: skip
    shown = table(heads, rows, tr("Platforms: one machine, different treatments of its link."))
    return joined([shown, *map(paragraph, switch)])


def left_out(page: Page) -> Html:
    """What the campaign file asks for and this machine does not allow."""
    plan = page.analysis.plan
    lines = [f"{item.what}: {item.reason}" for item in (plan.left_out if plan else ())]
    if not lines:
        return paragraph(tr("Nothing that the campaign asks for was left out of the plan."))
    return joined([paragraph(tr("Asked for and not planned here:"), "lead"), bullets(lines)])


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
        return paragraph(tr("No fact of machine or software differs between the records."))
    heads = (tr("what"), tr("found"), tr("suites"), tr("platforms"), tr("rounds"))
    return table(heads, rows, tr("What differs between the records of this campaign."))


def orders(page: Page) -> Html:
    """In which order each round visits the platforms."""
    plan = page.analysis.plan
    suites = [suite for suite in (plan.suites if plan else ()) if suite.orders]
    if not suites:
        return paragraph(tr("The plan has no rounds."), "missing")
    most = max(len(order) for suite in suites for order in suite.orders)
    rows = [row for suite in suites for row in _order_rows(page, suite)]
    heads = (tr("suite"), tr("rounds"), *(f"{place}." for place in range(1, most + 1)))
    words = tr("Order of the platforms, drawn from the plan's seed, back to back within a round.")
    return joined([table(heads, rows, words), *map(paragraph, _drift_texts(page))])


def _drift_texts(page: Page) -> Iterator[str]:
    """Whether the rounds measured so far balance a slow drift."""
    rounds: dict[str, set[int]] = {}
    for record in page.analysis.evidence.records:
        rounds.setdefault(record.id.suite, set()).add(record.id.round)
    plan = page.analysis.plan
    compared = [
        s.suite for s in (plan.suites if plan else ()) if len(s.orders[:1] and s.orders[0]) > 1
    ]
    single = [suite for suite in compared if len(rounds.get(suite, ())) == 1]
    paired = [suite for suite in compared if len(rounds.get(suite, ())) > 1]
    if paired:
        yield tr(
            "Over a pair of rounds a slow drift weighs on both sides alike ({suites}).",
            suites=listed(paired),
        )
    if single:
        yield tr(
            "One round alone does not tell a slow drift from the link ({suites}).",
            suites=listed(single),
        )


def _order_rows(page: Page, suite: PlannedSuite) -> Iterator[tuple[str, ...]]:
    """One row an order, with all rounds that have it."""
    rounds: dict[tuple[str, ...], list[str]] = {}
    for number, order in enumerate(suite.orders, start=1):
        rounds.setdefault(order, []).append(str(number))
    for order, numbers in rounds.items():
        names = (page.analysis.names[name] for name in order)
        yield (suite.suite, ", ".join(numbers), *names)


def _fact_table(facts: pd.DataFrame, names: Sequence[str], caption: str) -> Html:
    rows = [(_words(name), _shown(facts, name)) for name in names]
    return table((tr("what"), tr("found")), [row for row in rows if row[1]], caption)


def _words(fact: str) -> str:
    """What a fact is called: a variable by its own name."""
    if suite := fact.removeprefix(PROTOCOL) if fact.startswith(PROTOCOL) else "":
        return tr("protocol of suite {suite}", suite=suite)
    return tr(WORDS[fact]) if fact in WORDS else fact.removeprefix("variable ")


def _name(fact: str, gpu: object) -> str:
    words = _words(fact)
    return words if pd.isna(gpu) else f"GPU {gpu}: {words}"


def _cells(facts: pd.DataFrame, name: str, indices: Sequence[int]) -> list[str]:
    return [_shown(facts, name, index) for index in indices]


def _merged(facts: pd.DataFrame, name: str, indices: Sequence[int]) -> str:
    return ", ".join(dict.fromkeys(_cells(facts, name, indices)))


def _shown(facts: pd.DataFrame, name: str, gpu: int | None = None) -> str:
    """Every value of a fact, or why it has none."""
    own = facts[facts["fact"] == name]
    own = own if gpu is None else own[own["gpu"] == gpu]
    return clauses(dict.fromkeys(_text(row) for row in own.itertuples()))


def _text(row: Any) -> str:
    """One value of a fact in words; its reason where it has none."""
    number, text, unit = row.number, row.text, row.unit
    if not pd.isna(number):
        if unit in ("byte", "Hz", "W"):
            return quantity_text(number, unit)
        return tr("{n} lanes", n=f"{number:g}") if unit == "lane" else f"{number:g}"
    if not pd.isna(text):
        return tr(_short(str(text)))  # "yes" and "no"; names stay as they are
    return tr("not known: {reason}", reason=row.why_absent)


def _short(text: str) -> str:
    """Digests by their first digits."""
    return re.sub(rf"\b([0-9a-f]{{{HEX_SHOWN}}})[0-9a-f]{{4,}}\b", r"\1…", text)


def _reason(facts: pd.DataFrame, name: str) -> str:
    reasons = facts[facts["fact"] == name]["why_absent"].dropna()
    return clauses(dict.fromkeys(reasons)) or tr("no record states them")


def _matrix(text: object, rounds: str, several: int) -> Html:
    if pd.isna(text):
        return paragraph(tr("{rounds}: no matrix of links.", rounds=rounds), "missing")
    matrix = matrix_of(str(text))
    heads = ("", *(f"GPU {index}" for index in range(len(matrix))))
    rows = [(f"GPU {index}", *cells) for index, cells in enumerate(matrix)]
    kinds = dict.fromkeys(kind for cells in matrix for kind in cells if kind != "X")
    words = bullets(f"{kind}: {link_text(kind)}" for kind in kinds)
    where = f" {capital(rounds)}." if several > 1 else ""
    caption = tr("Kind of link between two GPUs.") + where
    return joined([table(heads, rows, caption), words])


def link_text(kind: str) -> str:
    """A kind of link in words."""
    nvlinks = re.fullmatch(r"NV(\d+)", kind)
    if nvlinks:
        return tr("{n} NVLinks bonded", n=nvlinks.group(1))
    return tr(LINKS.get(kind, UNNAMED))


def _treatment_row(page: Page, platform: PlannedPlatform, *, switched_off: bool) -> tuple[str, ...]:
    label = platform.treatment.label
    return (
        page.analysis.names[platform.name],
        platform.name,
        _processes_text(platform),
        treatment_text(platform.treatment, switched_off=switched_off),
        tr(label.stands_for),
        tr(label.does_not_cover),
    )


def _processes_text(platform: PlannedPlatform) -> str:
    processes = f"{platform.world_size} x {platform.device}"
    if platform.nodes == 1:
        return processes
    return tr("{processes} on {nodes} nodes", processes=processes, nodes=platform.nodes)


def treatment_text(treatment: Treatment, *, switched_off: bool = False) -> str:
    """How a treatment sets the link: emulated rate, variables, or nothing but NVLS switched off."""
    if isinstance(treatment, EmulatedLink):
        rate, latency = rate_text(treatment.bandwidth_bytes_per_s), time_text(treatment.latency_s)
        return tr(
            "emulated: {rate} per direction, {latency} per collective", rate=rate, latency=latency
        )
    if isinstance(treatment, NcclVariables):
        return ", ".join(f"{key}={value}" for key, value in treatment.variables.items())
    native = tr("as the machine offers it")
    return tr("{link}, with NVLS off", link=native) if switched_off else native

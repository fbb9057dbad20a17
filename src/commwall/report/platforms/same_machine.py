"""Whether all platforms are one machine: boots and GPUs behind the records.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterator, Sequence

from commwall.language.translate import clauses, listed, tr
from commwall.report.html import Html, joined, paragraph
from commwall.report.page import Page
from commwall.report.platforms.path import path_lines
from commwall.schema.record import Record


def same_machine(page: Page) -> Html:
    """Whether the platforms of every round are one machine but for the treatment, and whether
    traffic took the ways that they claim."""
    lines = [*same_machine_lines(page), *path_lines(page)]
    return joined([paragraph(line, "verdict") for line in lines], "card")


def same_machine_lines(page: Page) -> Iterator[str]:
    """Boots and GPUs behind the records, over all and within a round."""
    records = page.analysis.evidence.records
    if not records:
        yield tr("No record: nothing is known of the machine.")
        return
    rounds: dict[tuple[str, int], set[object]] = {}
    for record in records:
        identity = tuple(
            (one.boot_digest, tuple(gpu.uuid_digest for gpu in one.gpus)) for one in record.machines
        )
        rounds.setdefault((record.id.suite, record.id.round), set()).add(identity)
    mixed = [
        tr("{suite} round {round}", suite=suite, round=round_)
        for (suite, round_), own in rounds.items()
        if len(own) > 1
    ]
    boots = {tuple(one.boot_digest for one in record.machines) for record in records}
    if None in {boot for own in boots for boot in own}:
        yield tr("The boots behind the records are not all known.")
    if mixed:
        yield tr(
            "Not one machine: {rounds} mix boots or GPUs; they are not compared.",
            rounds=listed(mixed),
        )
    else:
        yield _one_machine_text(records)
    yield _boots_text(records)
    yield from _gpus_texts(records)


def _one_machine_text(records: Sequence[Record]) -> str:
    """What all platforms of a round share."""
    gpus = any(record.machine.gpus for record in records)
    same = tr("boot and GPUs") if gpus else tr("boot")
    nodes = max(len(record.machines) for record in records)
    if nodes > 1:
        return tr(
            "Within every round all platforms are the same {nodes} machines, each of one {same}; "
            "they differ in the treatment of the link.",
            nodes=nodes,
            same=same,
        )
    return tr(
        "Within every round all platforms are one machine, of one {same}; they differ in the "
        "treatment of the link.",
        same=same,
    )


def _boots_text(records: Sequence[Record]) -> str:
    """How many boots there are, and whether rounds of one suite come from several."""
    of_suite: dict[str, set[object]] = {}
    for record in records:
        boot = tuple(one.boot_digest for one in record.machines)
        of_suite.setdefault(record.id.suite, set()).add(boot)
    boots = len(set.union(*of_suite.values()))
    several = [suite for suite, own in of_suite.items() if len(own) > 1]
    if boots == 1:
        return tr("All records come from one boot: another machine of this kind may differ.")
    if not several:
        return tr(
            "The records come from {boots} boots of this kind of machine, those of each suite from "
            "one: the spread between rounds contains nothing of what differs between machines.",
            boots=boots,
        )
    return tr(
        "The records come from {boots} boots of this kind of machine, so the spread between "
        "rounds of {suites} contains what differs between them.",
        boots=boots,
        suites=listed(several),
    )


def _gpus_texts(records: Sequence[Record]) -> Iterator[str]:
    """Which suites ran on other GPUs than others."""
    of_suite: dict[str, set[str]] = {}
    for record in records:
        uuids = {gpu.uuid_digest for one in record.machines for gpu in one.gpus if gpu.uuid_digest}
        of_suite.setdefault(record.id.suite, set()).update(uuids)
    groups: dict[frozenset[str], list[str]] = {}
    for suite, own in of_suite.items():
        groups.setdefault(frozenset(own), []).append(suite)
    if len(groups) > 1 and all(groups):
        yield tr(
            "Suites ran on different GPUs, by their uuids: {groups}.",
            groups=clauses(map(listed, groups.values())),
        )

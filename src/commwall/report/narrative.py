"""Prose and tables of a page: every number in them comes from the analysis.

Layer: report. Reads and writes no file.
"""

from collections.abc import Collection, Iterator, Sequence

import pandas as pd

from commwall.analysis.mitigations.words import mitigation_text
from commwall.analysis.platforms import is_emulated
from commwall.analysis.result import Analysis
from commwall.analysis.verdicts.decompose import Decomposition, Undecomposed
from commwall.analysis.verdicts.wording import factor_text
from commwall.language.translate import capital, clauses, listed, lowered, said, tr, tr_later
from commwall.report.gap_lists import gap_lists
from commwall.report.html import (
    Group,
    Html,
    bullets,
    grouped_table,
    heading,
    joined,
    paragraph,
    refused_cells,
    table,
)
from commwall.report.machines import machine_text
from commwall.report.page import Page
from commwall.report.provenance import records_digest, rests_on
from commwall.report.switch import switched_off_lines
from commwall.schema.case import CollectivesCase, MemoryCase, SuiteName, TrainingCase
from commwall.schema.inference import InferenceCase
from commwall.schema.mitigation import MitigationCase, PriceCase, StepCase
from commwall.schema.record import GpuFacts, MachineFacts, Record
from commwall.schema.strategies import StrategiesCase
from commwall.schema.units import size_text, time_text

ANYWHERE = ("problem", None)
NOT_COVERED = (
    tr_later("One machine: another of the same kind may differ by more than the noise floor."),
    tr_later("Every verdict stands alone: the intervals are not corrected for their number."),
)
NOT_TRAINED = (
    tr_later("Input pipeline: the data are synthetic and already on the device."),
    tr_later("Convergence: only the loss of the first steps is compared."),
)


def headline(page: Page) -> Html:
    """The campaign's title."""
    return heading(tr(page.analysis.evidence.index.title))


def not_covered(page: Page, suite: SuiteName | None = None) -> Html:
    """What the verdicts of a suite, or of all, do not show."""
    return bullets(not_covered_lines(page.analysis, suite))


def not_covered_lines(analysis: Analysis, suite: SuiteName | None = None) -> tuple[str, ...]:
    """What the verdicts of a suite, or of all, do not show: by treatment, by case, in general."""
    plan = analysis.plan
    labels: dict[str, list[str]] = {}
    for platform in plan.platforms if plan else ():
        label = platform.treatment.label
        labels.setdefault(tr(label.does_not_cover), []).append(tr(label.title))
    trained = suite == "training" or (
        suite is None and any(verdict.suite == "training" for verdict in analysis.verdicts)
    )
    return (
        *(
            tr("{treatments}: {what}", treatments=listed(dict.fromkeys(own)), what=lowered(what))
            for what, own in labels.items()
        ),
        *(() if suite == "memory" else switched_off_lines(analysis)),
        *_absences(analysis, suite),
        *map(tr, NOT_TRAINED if trained else ()),
        *map(tr, NOT_COVERED),
    )


def gaps(page: Page, suite: SuiteName | None = None) -> Html:
    """What is missing, refused or doubtful of a suite or of all, gravest first.

    What concerns no suite alone stands on the pages about all of them; such problems everywhere.
    """
    every = page.analysis.gaps
    shown = [g for g in every if suite in (None, g.suite) or (g.kind, g.suite) == ANYWHERE]
    parts = list(gap_lists(shown))
    if parts:
        return joined(parts)
    if suite:
        words = tr("Nothing is missing and nothing was refused in suite {suite}.", suite=suite)
        return paragraph(words)
    return paragraph(tr("Nothing is missing and nothing was refused."))


def cases(page: Page, suite: SuiteName | None = None) -> Html:
    """Parameters of each case, a table for training and one for all other suites.

    Args:
        page: of a campaign.
        suite: whose cases; None shows all.
    """
    plan = page.analysis.plan
    suites = [s for s in plan.suites if suite in (None, s.suite)] if plan else []
    named = [(name, case, s.rounds) for s in suites for name, case in s.cases.items()]
    training = [
        _case_row(name, case, rounds)
        for name, case, rounds in named
        if isinstance(case, TrainingCase)
    ]
    others = [
        _operation_row(name, case, rounds)
        for name, case, rounds in named
        if not isinstance(case, TrainingCase)
    ]
    return joined([*_training_cases(training), *_other_cases(others)])


def _training_cases(rows: list[tuple[str, ...]]) -> Iterator[Html]:
    heads = (tr("case"), tr("model"), tr("batch"), tr("sample"), tr("precision"), tr("step"),
             tr("buckets"), tr("rounds"))  # fmt: skip
    if rows:
        yield table(heads, rows, tr("Training cases, every parameter resolved."))


def _other_cases(rows: list[tuple[str, ...]]) -> Iterator[Html]:
    heads = (tr("case"), tr("suite"), tr("operation"), tr("type"), tr("sizes"),
             tr("timed per size"), tr("rounds"))  # fmt: skip
    if rows:
        yield table(heads, rows, tr("Cases of other suites, every parameter resolved."))


def decomposition(page: Page) -> Html:
    """The throughput gap of each case and its factors, a table a comparison."""
    analysis = page.analysis
    if not analysis.decompositions:
        return paragraph(tr("No comparison to split."))
    tables = []
    for comparison in dict.fromkeys(part.comparison for part in analysis.decompositions):
        own = [part for part in analysis.decompositions if part.comparison == comparison]
        a, b = analysis.names[comparison.a], analysis.names[comparison.b]
        heads = (tr("case"), tr("throughput gap A / B"), tr("= one process alone"), tr("x scaling"),
                 tr("n"))  # fmt: skip
        rows = list(_factors_rows(own))
        words = tr(
            "The gap and its factors ({level} % interval in brackets): A = {a}, B = {b}.",
            level=f"{100 * analysis.confidence:g}",
            a=a,
            b=b,
        )
        tables.append(grouped_table(heads, [Group("", rows)], words))
    effects = {p.input_effect for p in analysis.decompositions if isinstance(p, Decomposition)}
    told = (paragraph(tr("Input effect: {effect}.", effect=effect)) for effect in effects)
    return joined([*tables, *told])


def loss_table(page: Page) -> Html:
    """Loss of the first steps on the first platform, and how far each other one is from it."""
    raw = page.tables.measurements
    losses = raw[raw["metric"] == "loss"]
    if losses.empty:
        return paragraph(tr("No losses: no record of suite training."), "missing")
    first, *others = dict.fromkeys(losses["platform"])
    rows = []
    for case, own in losses.groupby("case", sort=False):
        reference = own[own["platform"] == first]
        of_rank = reference[reference["rank"] == 0]["value"]
        known = [f"{value:.6g}" for value in of_rank.iloc[[0, -1]]] if len(of_rank) else []
        ends = known or [tr("absent")] * 2
        apart = [_apart(own[own["platform"] == other], reference) for other in others]
        rows.append((str(case), *ends, *apart))
    names = page.analysis.names
    heads = (tr("case"), tr("first loss"), tr("last"), *(names.get(o, o) for o in others))
    words = tr(
        "Loss on {platform}, rank 0; then the largest relative difference from it of the others "
        "in the same round, on any rank.",
        platform=names.get(first, first),
    )
    return table(heads, rows, words)


def _apart(line: pd.DataFrame, reference: pd.DataFrame) -> str:
    """Largest relative difference of losses measured in the same place."""
    both = line.merge(reference, on=["round", "rank", "step"], suffixes=("", "_reference"))
    if both.empty:
        return tr("no round in common")
    apart = (both["value"] / both["value_reference"] - 1).abs().max()
    return f"{apart:.1e}" if apart else "0"


def provenance(page: Page, *suites: SuiteName) -> Html:
    """Machine, software and dates of the records that a page rests on, and which these are.

    Args:
        page: of a campaign.
        suites: whose records it shows; none named are all.
    """
    words = tr("What the records behind this page say; where they differ, every value.")
    facts = table((tr("what"), tr("found")), list(provenance_rows(page.analysis, suites)), words)
    return joined([facts, rests_on(page.analysis, suites)])


def _factors_rows(
    parts: list[Decomposition | Undecomposed],
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """One row a case; at the end those that cannot be split, cases with one reason in one row."""
    reasons: dict[str, list[str]] = {}
    for part in parts:
        if isinstance(part, Undecomposed):
            reasons.setdefault(part.reason, []).append(part.case)
            continue
        factors = (part.gap, part.per_gpu_speed, part.scaling)
        yield "", (part.case, *map(factor_text, factors), str(part.gap.n))
    for reason, cases in reasons.items():
        yield "refused", refused_cells(reason, cases, of=len(parts))


def _absences(analysis: Analysis, suite: SuiteName | None) -> Iterator[str]:
    """Quantities that usable rounds lack, those of one reason together, after the cases that
    have no such round.
    """
    own = [
        verdict
        for verdict in analysis.verdicts
        if not verdict.comparison.control and verdict.n == 0 and suite in (None, verdict.suite)
    ]
    bare = {(p.comparison, p.case) for p in analysis.pairings if not p.pairs}
    without: dict[tuple[str, str], dict[str, None]] = {}
    for verdict in own:
        if (verdict.comparison, verdict.case) in bare:
            sides = verdict.comparison.a, verdict.comparison.b
            without.setdefault(sides, {})[verdict.case] = None
    for (a, b), cases in without.items():
        yield tr(
            "Without a usable round of both {a} and {b}: {cases}.",
            a=analysis.names[a],
            b=analysis.names[b],
            cases=listed(cases),
        )
    labels: dict[str | None, list[str]] = {}
    for verdict in own:
        if (verdict.comparison, verdict.case) not in bare:
            labels.setdefault(verdict.why_none, []).append(verdict.quantity.label)
    for why, lacking in labels.items():
        words = capital(listed(dict.fromkeys(lacking)))
        yield tr("{quantities}: {reason}.", quantities=words, reason=why)


def _case_row(name: str, case: TrainingCase, rounds: int) -> tuple[str, ...]:
    return (
        name,
        f"{case.model}, {case.preset}",
        tr("{n} per process", n=case.batch_per_gpu),
        said(case.sample_text),
        case.precision,
        case.step_mode,
        size_text(case.bucket_bytes),
        str(rounds),
    )


def _operation_row(
    name: str,
    case: MemoryCase | CollectivesCase | StrategiesCase | InferenceCase | MitigationCase,
    rounds: int,
) -> tuple[str, ...]:
    if isinstance(case, StepCase | PriceCase):
        return _mitigation_row(name, case, rounds)
    if isinstance(case, CollectivesCase):
        sizes = tr("{n} up to {size}", n=case.points, size=size_text(case.max_bytes))
        name_ = case.collective
        operation = tr("{operation} in place", operation=name_) if case.in_place else name_
        words: tuple[str, ...] = (operation, case.dtype, sizes)
    elif isinstance(case, StrategiesCase | InferenceCase):
        words = (f"{case.text}, {case.step_mode}", case.precision, said(case.batch_text))
    else:
        words = (case.operation, "float32", ", ".join(map(size_text, case.buffer_bytes)))
    return (name, case.suite, *words, time_text(case.window_s), str(rounds))


def _mitigation_row(name: str, case: MitigationCase, rounds: int) -> tuple[str, ...]:
    if isinstance(case, StepCase):
        batch = tr("{n} per process", n=case.batch_per_gpu)
        sizes = f"{case.model} {case.preset}, {batch}"
        timed = tr("{time} each way", time=time_text(case.windows.full_s))
    else:
        sizes = tr("{n} batches", n=case.batches)
        timed = tr("{n} seeds", n=case.seeds)
    return (
        name,
        case.suite,
        mitigation_text(case.mitigation),
        case.kind,
        sizes,
        timed,
        str(rounds),
    )


def provenance_rows(
    analysis: Analysis, suites: Collection[SuiteName] = ()
) -> Iterator[tuple[str, str]]:
    """What the records of some suites, or of all, say of machine, software and dates."""
    index, every = analysis.evidence.index, analysis.evidence.records
    records = [record for record in every if not suites or record.id.suite in suites]
    plan = analysis.plan
    yield tr("campaign"), index.campaign
    planned = sum(not suites or finding.suite in suites for finding in index.findings)
    yield tr("records"), tr("{k} of {n} planned", k=len(records), n=planned)
    if plan:
        yield tr("machine of the plan"), machine_text(plan.machine)
        yield tr("emulated links"), tr("yes") if any(map(is_emulated, plan.platforms)) else tr("no")
    for name, values in _facts(records).items():
        known = list(dict.fromkeys(str(value) for value in values if value is not None))
        if known:
            yield name, clauses(known)
    if records:
        yield tr("measured (UTC)"), measured_text(records)
        yield tr("digest of all records of the campaign"), records_digest(every)


def measured_text(records: Sequence[Record]) -> str:
    """From when to when records were measured (UTC)."""
    dates = sorted(record.measured_at for record in records)
    first, last = (f"{date:%Y-%m-%d %H:%M}" for date in (dates[0], dates[-1]))
    return tr("{first} to {last}", first=first, last=last)


def _facts(records: Sequence[Record]) -> dict[str, list[object]]:
    """Each fact with its value in every record; several values are all shown."""
    runtimes = [record.software.runtime for record in records if record.software.runtime]
    return {
        tr("CPU"): [_cpu_text(r.machine) for r in records],
        tr("GPUs"): [_gpu_text(r.machine.gpus) for r in records],
        tr("driver"): [r.machine.driver for r in records],
        tr("machine fingerprint"): [r.machine.fingerprint for r in records],
        tr("Python"): [r.software.python for r in records],
        tr("torch"): [runtime.torch for runtime in runtimes],
        tr("CUDA"): [runtime.cuda for runtime in runtimes],
        tr("NCCL"): [runtime.nccl for runtime in runtimes],
        tr("threads per process"): [runtime.threads_per_rank for runtime in runtimes],
        tr("trainable parameters"): [f"{r.parameters:,}" for r in runtimes if r.parameters],
        tr("commit"): [_commit_text(r.software.git_commit, r.software.dirty) for r in records],
        tr("protocol"): [f"{r.id.suite} {r.protocol.version}" for r in records],
        tr("environment lock"): [r.software.lock_digest for r in records],
        tr("code digest"): [r.software.code_digest for r in records],
    }


def _cpu_text(machine: MachineFacts) -> str:
    return tr("{cpu}, {n} usable", cpu=machine.cpu_model, n=machine.cpu_count)


def _gpu_text(gpus: tuple[GpuFacts, ...]) -> str | None:
    return ", ".join(f"{g.name} {size_text(g.memory_bytes)}" for g in gpus) or None


def _commit_text(commit: str | None, dirty: bool | None) -> str | None:
    return tr("{commit} with local changes", commit=commit) if commit and dirty else commit

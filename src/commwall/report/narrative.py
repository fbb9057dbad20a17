"""Prose and tables of a page: every number in them comes from the analysis.

Layer: report. Reads and writes no file.
"""

from collections.abc import Iterator

import pandas as pd

from commwall.analysis.decompose import Decomposition, Undecomposed
from commwall.analysis.gaps import rounds_text
from commwall.analysis.names import is_emulated
from commwall.analysis.result import Analysis
from commwall.analysis.wording import factor_text, signed_share_text
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
from commwall.report.overview import lowered
from commwall.report.page import Page
from commwall.report.provenance import rests_on
from commwall.schema.base import digest
from commwall.schema.case import CollectivesCase, MemoryCase, SuiteName, TrainingCase
from commwall.schema.inference import InferenceCase
from commwall.schema.mitigation import MitigationCase, PriceCase, StepCase
from commwall.schema.record import GpuFacts
from commwall.schema.strategies import StrategiesCase
from commwall.schema.units import size_text, time_text

GAP_HEADS = {
    "problem": "Problems",
    "accident": "Accidents of the last run (measured again by the next)",
    "record": "Records that are missing or not used",
    "pair": "Rounds whose records must not be compared",
    "stale": "Records made by older code or for an older plan",
    "mark": "Doubts",
    "value": "Values that could not be had",
}
ANYWHERE = ("problem", None)
NOT_COVERED = (
    "One machine: another of the same kind may differ by more than the noise floor.",
    "Every verdict stands alone: the intervals are not corrected for their number.",
)
_NOISE_OF_LEGS = "the noise of two legs timed one after the other (full − nosync)"
_DDPS_OWN_WORK = "DDP's own work, and what the exchange takes from the compute, counts as exposed"
NOT_TRAINED = (
    "Input pipeline: the data are synthetic and already on the device.",
    "Convergence: only the loss of the first steps is compared.",
)


def headline(page: Page) -> Html:
    """The campaign's title."""
    return heading(page.analysis.evidence.index.title)


def not_covered(page: Page, suite: SuiteName | None = None) -> Html:
    """What the verdicts of a suite, or of all, do not show."""
    return bullets(not_covered_lines(page.analysis, suite))


def not_covered_lines(analysis: Analysis, suite: SuiteName | None = None) -> tuple[str, ...]:
    """What the verdicts of a suite, or of all, do not show: by treatment, by case, in general."""
    plan = analysis.evidence.plan
    labels: dict[str, list[str]] = {}
    for platform in plan.platforms if plan else ():
        label = platform.treatment.label
        labels.setdefault(label.does_not_cover, []).append(label.title)
    trained = suite == "training" or (
        suite is None and any(verdict.suite == "training" for verdict in analysis.verdicts)
    )
    return (
        *(
            f"{', '.join(dict.fromkeys(titles))}: {lowered(what)}"
            for what, titles in labels.items()
        ),
        *_absences(analysis, suite),
        *(NOT_TRAINED if trained else ()),
        *NOT_COVERED,
    )


def gaps(page: Page, suite: SuiteName | None = None) -> Html:
    """What is missing, refused or doubtful of a suite or of all, gravest first.

    What concerns no suite alone stands on the pages about all of them; such problems everywhere.
    """
    every = page.analysis.gaps
    shown = [g for g in every if suite in (None, g.suite) or (g.kind, g.suite) == ANYWHERE]
    parts = []
    for kind, head in GAP_HEADS.items():
        own = [str(gap) for gap in shown if gap.kind == kind]
        if own:
            parts += [paragraph(f"{head}:", "lead"), bullets(own)]
    if parts:
        return joined(parts)
    where = f" in suite {suite}" if suite else ""
    return paragraph(f"Nothing is missing and nothing was refused{where}.")


def cases(page: Page, suite: SuiteName | None = None) -> Html:
    """Parameters of each case, a table for training and one for all other suites.

    Args:
        page: of a campaign.
        suite: whose cases; None shows all.
    """
    plan = page.analysis.evidence.plan
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
    heads = ("case", "model", "batch", "sample", "precision", "step", "buckets", "rounds")
    other_heads = ("case", "suite", "operation", "type", "sizes", "timed per size", "rounds")
    words = "every parameter resolved."
    tables = [
        *([table(heads, training, f"Training cases, {words}")] if training else []),
        *([table(other_heads, others, f"Cases of other suites, {words}")] if others else []),
    ]
    return joined(tables)


def decomposition(page: Page) -> Html:
    """The throughput gap of each case and its factors, a table a comparison."""
    analysis = page.analysis
    if not analysis.decompositions:
        return paragraph("No comparison to split.")
    tables = []
    for comparison in dict.fromkeys(part.comparison for part in analysis.decompositions):
        own = [part for part in analysis.decompositions if part.comparison == comparison]
        a, b = analysis.names[comparison.a], analysis.names[comparison.b]
        heads = ("case", "throughput gap A / B", "= one process alone", "x scaling", "n")
        rows = list(_factors_rows(own))
        level = f"{100 * analysis.confidence:g} % interval"
        words = f"The gap and its factors ({level} in brackets): A = {a}, B = {b}."
        tables.append(grouped_table(heads, [Group("", rows)], words))
    effects = {p.input_effect for p in analysis.decompositions if isinstance(p, Decomposition)}
    return joined([*tables, *(paragraph(f"Input effect: {effect}.") for effect in effects)])


def exposed_note(page: Page) -> Html:
    """Says so where exposed communication came out negative, or exceeds the exchange alone."""
    rounds = page.tables.rounds[page.tables.rounds["admitted"]]
    low = rounds[(rounds["metric"] == "exposed_comm_time_s") & (rounds["value"] < 0)]
    over = rounds[(rounds["metric"] == "overlap_ratio") & (rounds["value"] < 0)]
    lines = [
        *_places(low, "exposed communication is negative, the exchange costs less than noise"),
        *_places(over, "overlap is negative, full costs more than compute and exchange in turn"),
        *_negative_overlaps(page.tables.platforms, over),
    ]
    return bullets(lines) if lines else paragraph("No exposed communication or overlap is below 0.")


def _negative_overlaps(platforms: pd.DataFrame, over: pd.DataFrame) -> Iterator[str]:
    """What an overlap below 0 means: noise of its legs, or more work, as its interval says."""
    own = platforms[platforms["metric"] == "overlap_ratio"]
    for place in over[["platform", "case"]].drop_duplicates().itertuples(index=False):
        ((_, row),) = own[
            (own["platform"] == place.platform) & (own["case"] == place.case)
        ].iterrows()
        yield f"{row['label']}, {row['case']}: {_negative_overlap_text(row)}"


def _negative_overlap_text(row: pd.Series) -> str:
    mean = f"mean overlap {signed_share_text(row['mean'])}"
    if pd.isna(row["mean_low"]):
        return (
            f"{mean}, without an interval, so that {_NOISE_OF_LEGS} cannot be told from more work."
        )
    ends = f"{signed_share_text(row['mean_low'])} to {signed_share_text(row['mean_high'])}"
    if row["mean_high"] < 0:
        return f"{mean} ({ends}) lies below 0, so that it is more than noise: {_DDPS_OWN_WORK}."
    return (
        f"{mean} ({ends}) does not lie below 0, so that rounds below it are no more than "
        f"{_NOISE_OF_LEGS}."
    )


def loss_table(page: Page) -> Html:
    """Loss of the first steps on the first platform, and how far each other one is from it."""
    raw = page.tables.measurements
    losses = raw[raw["metric"] == "loss"]
    if losses.empty:
        return paragraph("No losses: no record of suite training.", "missing")
    first, *others = dict.fromkeys(losses["platform"])
    rows = []
    for case, own in losses.groupby("case", sort=False):
        reference = own[own["platform"] == first]
        of_rank = reference[reference["rank"] == 0]["value"]
        ends = (
            [f"{value:.6g}" for value in of_rank.iloc[[0, -1]]] if len(of_rank) else ["absent"] * 2
        )
        apart = [_apart(own[own["platform"] == other], reference) for other in others]
        rows.append((str(case), *ends, *apart))
    names = page.analysis.names
    heads = ("case", "first loss", "last", *(names.get(other, other) for other in others))
    words = f"Loss on {names.get(first, first)}, rank 0; then the largest relative difference "
    return table(heads, rows, words + "from it of the others in the same round, on any rank.")


def _apart(line: pd.DataFrame, reference: pd.DataFrame) -> str:
    """Largest relative difference of losses measured in the same place."""
    both = line.merge(reference, on=["round", "rank", "step"], suffixes=("", "_reference"))
    if both.empty:
        return "no round in common"
    apart = (both["value"] / both["value_reference"] - 1).abs().max()
    return f"{apart:.1e}" if apart else "0"


def provenance(page: Page, *suites: SuiteName) -> Html:
    """Machine, software and dates of the campaign's records, and which of them a page rests on.

    Args:
        page: of a campaign.
        suites: whose records it shows; none named are all.
    """
    words = "What the records behind this page say; where they differ, every value."
    facts = table(("what", "found"), list(_provenance_rows(page.analysis)), words)
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
    cases = dict.fromkeys(v.case for v in own if (v.comparison, v.case) in bare)
    if cases:
        yield f"Cases without a usable round of both sides: {', '.join(cases)}."
    labels: dict[str | None, list[str]] = {}
    for verdict in own:
        if (verdict.comparison, verdict.case) not in bare:
            labels.setdefault(verdict.why_none, []).append(verdict.quantity.label)
    for why, lacking in labels.items():
        words = ", ".join(dict.fromkeys(lacking))
        yield f"{words[:1].upper()}{words[1:]}: {why}."


def _case_row(name: str, case: TrainingCase, rounds: int) -> tuple[str, ...]:
    return (
        name,
        f"{case.model}, {case.preset}",
        f"{case.batch_per_gpu} per process",
        case.sample_text,
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
        sizes = f"{case.points} up to {size_text(case.max_bytes)}"
        place = " in place" if case.in_place else ""
        words: tuple[str, ...] = (f"{case.collective}{place}", case.dtype, sizes)
    elif isinstance(case, StrategiesCase | InferenceCase):
        words = (f"{case.text}, {case.step_mode}", case.precision, case.batch_text)
    else:
        words = (case.operation, "float32", ", ".join(map(size_text, case.buffer_bytes)))
    return (name, case.suite, *words, time_text(case.window_s), str(rounds))


def _mitigation_row(name: str, case: MitigationCase, rounds: int) -> tuple[str, ...]:
    if isinstance(case, StepCase):
        sizes = f"{case.model} {case.preset}, {case.batch_per_gpu} per process"
        timed = f"{time_text(case.windows.full_s)} each way"
    else:
        sizes = f"{case.batches} batches"
        timed = f"{case.seeds} seeds"
    return (name, case.suite, case.mitigation.words, case.kind, sizes, timed, str(rounds))


def _places(rows: pd.DataFrame, words: str) -> Iterator[str]:
    for (label, case), own in rows.groupby(["label", "case"], sort=False):
        yield f"{label}, {case}, {rounds_text(own['round'])}: {words}"


def _provenance_rows(analysis: Analysis) -> Iterator[tuple[str, str]]:
    index, records = analysis.evidence.index, analysis.evidence.records
    plan = analysis.evidence.plan
    yield "campaign", index.campaign
    yield "records", f"{len(records)} of {len(index.findings)} planned"
    if plan:
        yield "machine of the plan", plan.machine
        yield "emulated links", "yes" if any(map(is_emulated, plan.platforms)) else "no"
    for name, values in _facts(analysis).items():
        known = list(dict.fromkeys(str(value) for value in values if value is not None))
        if known:
            yield name, "; ".join(known)
    if records:
        dates = sorted(record.measured_at for record in records)
        yield "measured (UTC)", f"{dates[0]:%Y-%m-%d %H:%M} to {dates[-1]:%Y-%m-%d %H:%M}"
        yield "digest of all records", digest(sorted(record.digest for record in records))


def _facts(analysis: Analysis) -> dict[str, list[object]]:
    """Each fact with its value in every record; several values are all shown."""
    records = analysis.evidence.records
    runtimes = [record.software.runtime for record in records if record.software.runtime]
    return {
        "CPU": [f"{r.machine.cpu_model}, {r.machine.cpu_count} usable" for r in records],
        "GPUs": [_gpu_text(r.machine.gpus) for r in records],
        "driver": [r.machine.driver for r in records],
        "machine fingerprint": [r.machine.fingerprint for r in records],
        "Python": [r.software.python for r in records],
        "torch": [runtime.torch for runtime in runtimes],
        "CUDA": [runtime.cuda for runtime in runtimes],
        "NCCL": [runtime.nccl for runtime in runtimes],
        "threads per process": [runtime.threads_per_rank for runtime in runtimes],
        "trainable parameters": [f"{r.parameters:,}" for r in runtimes if r.parameters],
        "commit": [_commit_text(r.software.git_commit, r.software.dirty) for r in records],
        "protocol": [f"{r.id.suite} {r.protocol.version}" for r in records],
        "environment lock": [r.software.lock_digest for r in records],
        "code digest": [r.software.code_digest for r in records],
    }


def _gpu_text(gpus: tuple[GpuFacts, ...]) -> str | None:
    return ", ".join(f"{g.name} {size_text(g.memory_bytes)}" for g in gpus) or None


def _commit_text(commit: str | None, dirty: bool | None) -> str | None:
    return commit and commit + (" with local changes" if dirty else "")

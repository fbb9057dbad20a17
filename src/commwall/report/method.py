"""The page on method: how this campaign's numbers were made, and which records it refused.

Layer: report. Reads and writes no file. Counts come from the tables about the campaign.
"""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from commwall.analysis.census import ALL
from commwall.analysis.names import PRIMARIES
from commwall.analysis.overall import TOPICS, comparisons, topic_verdicts, why_unused
from commwall.analysis.verdicts import Verdict
from commwall.analysis.wording import centre_text, share_text
from commwall.report.html import Html, bullets, joined, paragraph, table
from commwall.report.overview import NO_FLOOR, control_text, lowered
from commwall.report.page import Page
from commwall.schema.case import LEGS, Leg, StepMode, TrainingCase
from commwall.schema.metric import Metric
from commwall.schema.metrics import METRICS
from commwall.schema.result import LEAST_BOUND_SHARE, MarkName
from commwall.schema.units import time_text
from commwall.stats.intervals import BOOTSTRAP_FROM, RESAMPLES

LEG_WORDS: dict[Leg, str] = {
    "full": "the step as it is trained: forward, backward, gradient exchange, optimiser",
    "nosync": "the same step without the gradient exchange",
    "packed": "the same step, gradients packed into buckets that nobody exchanges",
    "comm": "the same gradient buckets exchanged, nothing computed",
    "single": "the same step in one process alone",
}
FORMULAS = (
    "A step takes as long as its slowest rank; a round's step time is the median over its steps.",
    "Exposed communication = full − nosync: what the exchange adds to the step.",
    "Of it, packed − nosync is the packing of the buckets, full − packed the exchange itself.",
    "Overlap = 1 − exposed communication / comm: the share of the exchange that compute hides.",
    "Scaling efficiency = throughput of full / (processes × throughput of single).",
    "A trace is not used: time in a collective contains waiting for the other ranks.",
)
STEP_MODES: Mapping[StepMode, str] = {
    "eager": "the host starts every kernel of every step, as most programs do",
    "compile": "blocks of the model are compiled; the host starts what the compiler left",
    "captured": "the whole step is recorded once and replayed, so that the host need not keep up",
    "compiled_captured": "blocks are compiled and the whole step is recorded and replayed",
}
MARK_WORDS: Mapping[MarkName, str] = {
    "host_bound": "the host, not the devices, set the step time",
    "throttled": "a device lowered its clocks",
    "contended": "other processes used a device",
    "emulation_not_binding": "the CPU underneath, not the emulated link, set the time: below "
    f"{100 * LEAST_BOUND_SHARE:g} % of it is the link's",
    "warmup_not_settled": "the step time still moved when the warm-up was given up",
    "energy_doubtful": "two ways to read the energy disagree",
    "link_degraded": "a device's link to the host ran below what it can",
    "compiled_anew": "kernels were compiled in this very launch, and may differ from another's",
}


def made(page: Page) -> Html:
    """How many records stand behind the campaign, what they passed, and the noise floor."""
    return joined([paragraph(line, "verdict") for line in made_lines(page)], "card")


def made_lines(page: Page) -> Iterator[str]:
    """Records, checks and noise floor, one sentence each."""
    planned, absent, kept_out, admitted = (
        _total(page, "record", outcome) for outcome in ("planned", "absent", "kept out", "admitted")
    )
    yield (
        f"Of {planned} planned records {admitted} enter verdicts, {kept_out} are kept out of "
        f"them, {absent} are absent."
    )
    passed, failed = (_total(page, "check", outcome) for outcome in ("passed", "failed"))
    yield f"Of the checks made while measuring {passed} passed and {failed} failed."
    yield from noise_lines(page)


def noise_lines(page: Page) -> Iterator[str]:
    """The noise floor of each topic that has a control, or that there is none."""
    controls = comparisons(page.analysis, control=True)
    if not controls:
        yield NO_FLOOR
    for control in controls:
        for topic in TOPICS:
            own = topic_verdicts(page.analysis, control, topic)
            if own and topic.quantity in PRIMARIES:
                yield f"A/A control, {lowered(topic.title)}: {control_text(own, topic.noun)}"


def legs(page: Page) -> Html:
    """What each leg is, and what follows from their times."""
    used = dict.fromkeys(leg for case in _training(page).values() for leg in case.legs)
    if not used:
        return paragraph("This campaign trains nothing: it has no legs.")
    rows = [(leg, LEG_WORDS[leg]) for leg in LEGS if leg in used]
    return joined([table(("leg", "what is timed"), rows, "Legs of a training case."),
                   bullets(FORMULAS)])  # fmt: skip


def windows(page: Page) -> Html:
    """How long legs are timed and how steps run, cases with equal settings together."""
    settings: dict[tuple[str, ...], list[str]] = {}
    for name, case in _training(page).items():
        own = case.windows
        times = (own.full_s, own.other_s, own.warmup_max_s)
        shown = (*map(time_text, times), str(own.min_steps), _words(case.step_mode), case.precision)
        settings.setdefault(shown, []).append(name)
    if not settings:
        return paragraph("No window of a leg: this campaign trains nothing.")
    modes = dict.fromkeys(case.step_mode for case in _training(page).values())
    words = bullets(
        f"Step mode {mode}: {STEP_MODES.get(mode, 'see the README')}." for mode in modes
    )
    heads = ("cases", "full at least", "other legs", "warm-up at most", "steps at least",
             "step mode", "precision")  # fmt: skip
    rows = [(", ".join(names), *shown) for shown, names in settings.items()]
    return joined([table(heads, rows, "Windows and steps as planned."), words])


def steps(page: Page) -> Html:
    """Steps really timed in each leg and round, after how many of warm-up."""
    own = _efforts(page, "training")
    if own.empty:
        return paragraph("No timed steps: no record of suite training.", "missing")
    legs_shown = [leg for leg in LEGS if leg in set(own["leg"])]
    rows = [
        (str(case), *(_steps_text(of_case[of_case["leg"] == leg]) for leg in legs_shown))
        for case, of_case in own.groupby("case", sort=False)
    ]
    words = "Steps timed in a round, least to most over rounds, platforms and ranks."
    return joined([table(("case", *legs_shown), rows, words), paragraph(_settled_text(own))])


def repetitions(page: Page) -> Html:
    """Groups and repetitions timed for each operation of the other suites."""
    efforts = page.census.efforts
    own = efforts[(efforts["suite"] != "training") & efforts["timed_min"].notna()]
    if own.empty:
        return paragraph("No collective and no copy was timed.")
    rows = [
        (str(case), str(suite), _ends(of, "sizes", "sizes"), _ends(of, "timed_min", "timed_max"),
         _ends(of, "repetitions_min", "repetitions_max"), _ends(of, "warmup_min", "warmup_max"))
        for (suite, case), of in own.groupby(["suite", "case"], sort=False)
    ]  # fmt: skip
    heads = ("case", "suite", "sizes", "timed groups", "repetitions in each", "groups of warm-up")
    words = "Operations: an operation's time is a group's, divided by its repetitions."
    return table(heads, rows, words)


def records(page: Page) -> Html:
    """What became of every planned record, a row a suite, with the reasons of those not used."""
    own = _outcomes(page, "record")
    own = own[own["suite"] != ALL]
    if own.empty:
        return paragraph("Nothing was planned, or the plan cannot be read.", "missing")
    kinds = ("planned", "admitted", "kept out", "absent")
    rows = [
        (str(suite), *(_sum(of, kind) for kind in kinds), _reasons(of))
        for suite, of in own.groupby("suite", sort=False)
    ]
    words = "Records: what was planned and what became of it."
    return table(("suite", *kinds, "why not used"), rows, words)


def _reasons(own: pd.DataFrame) -> str:
    unused = own[own["outcome"].isin(("kept out", "absent"))]
    each = [
        f"{count} {name}" for name, count in zip(unused["name"], unused["records"], strict=True)
    ]
    return "; ".join(each) or "all used"


def checks(page: Page) -> Html:
    """Every check that was made, how often it passed, and what it expects."""
    own = _outcomes(page, "check")
    own = own[own["suite"] != ALL]
    if own.empty:
        return paragraph("No record of this campaign holds a check.", "missing")
    expected: dict[str, set[str]] = {}
    for check in (check for r in page.analysis.evidence.records for check in r.checks):
        expected.setdefault(check.name, set()).add(check.expected)
    rows = [
        (_words(name), str(suite), _sum(of, "passed"), _sum(of, "failed"),
         "another value in each case" if len(expected[str(name)]) > 1
         else "".join(expected[str(name)]))
        for (suite, name), of in own.groupby(["suite", "name"], sort=False)
    ]  # fmt: skip
    heads = ("check", "suite", "passed", "failed", "expected")
    return table(heads, rows, "Checks; a failed one keeps its record out of verdicts.")


def marks(page: Page) -> Html:
    """Marks that records carry, and which of them keep numbers out of verdicts."""
    own = _outcomes(page, "mark")
    own = own[own["suite"] != ALL]
    if own.empty:
        return paragraph("No record carries a mark.")
    words = {str(name): text for name, text in MARK_WORDS.items()}
    rows = [
        (_words(name), words.get(name, ""), str(suite), str(outcome), str(count))
        for suite, name, outcome, count in own[["suite", "name", "outcome", "records"]].itertuples(
            index=False
        )
    ]
    heads = ("mark", "meaning", "suite", "numbers are", "records")
    return table(heads, rows, "Marks: disturbances and doubts seen while measuring.")


def intervals(page: Page) -> Html:
    """How ratio, interval and verdict are computed."""
    return bullets(interval_lines(100 * page.analysis.confidence))


def interval_lines(level_percent: float) -> tuple[str, ...]:
    """How ratio, interval and verdict are computed, with the level in use [%]."""
    return (
        "A round measures all platforms back to back. Only values of one round are divided, so "
        "what disturbs the whole round cancels; the rounds' ratios are the sample.",
        f"The interval is that of the mean of the ratios' logarithms, at {level_percent:g} %: "
        f"Student's t below {BOOTSTRAP_FROM} rounds, from there on a studentised bootstrap with "
        f"{RESAMPLES:,} resamples from the plan's seed.",
        "A winner is named only if the interval lies on one side of 1; otherwise the verdict is "
        "“cannot tell”, with the number of rounds that about would. One round has no interval, "
        "nor have rounds that all give one ratio.",
        "The noise floor is the farther end of the interval between two runs of one treatment "
        "(A/A): a smaller effect is not to be relied on.",
        "Every verdict stands alone: the level is not corrected for their number.",
    )


def noise_floors(page: Page) -> Html:
    """The A/A control of every case for the quantity that its suite is judged by."""
    own = [
        verdict
        for control in comparisons(page.analysis, control=True)
        for verdict in page.analysis.verdicts
        if verdict.comparison == control and verdict.quantity in PRIMARIES
    ]
    if not own:
        return paragraph("No treatment runs twice here, so no noise floor is known.", "missing")
    level = f"ratio ({100 * page.analysis.confidence:g} % interval)"
    heads = ("case", "quantity", "treatment run twice", level, "noise floor", "n")
    return table(heads, [_noise_row(page, v) for v in own], "A/A controls.")


def metrics(page: Page) -> Html:
    """Entries of the metric registry that this campaign uses."""
    used = [metric for metric in METRICS.values() if metric.id in _used(page)]
    return joined(
        _metric_table([m for m in used if m.kind == kind], words)
        for kind, words in (
            ("measured", "Measured: raw values in the records."),
            ("derived", "Derived: computed from measured ones."),
        )
    )


def _metric_table(used: Sequence[Metric], words: str) -> Html:
    rows = [
        (m.label, f"{m.id} [{m.unit}]", m.direction, f"{m.definition} Source: {m.source}.")
        for m in used
    ]
    return table(("metric", "id [unit]", "better", "definition and source"), rows, words)


def _used(page: Page) -> set[str]:
    tables = page.tables
    return {str(name) for table_ in (tables.measurements, tables.rounds, tables.sizes)
            for name in table_["metric"].unique()}  # fmt: skip


def _noise_row(page: Page, verdict: Verdict) -> tuple[str, ...]:
    ratio, floor = verdict.ratio, verdict.open_difference
    return (
        verdict.case,
        verdict.quantity.label,
        page.analysis.names[verdict.comparison.a],
        centre_text(ratio) if ratio else f"none: {why_unused(page.analysis, verdict)}",
        "unknown" if floor is None else share_text(floor),
        str(verdict.n),
    )


def _training(page: Page) -> dict[str, TrainingCase]:
    plan = page.analysis.evidence.plan
    suites = plan.suites if plan else ()
    cases = {name: case for suite in suites for name, case in suite.cases.items()}
    return {name: case for name, case in cases.items() if isinstance(case, TrainingCase)}


def _efforts(page: Page, suite: str) -> pd.DataFrame:
    efforts = page.census.efforts
    return efforts[(efforts["suite"] == suite) & efforts["timed_min"].notna()]


def _outcomes(page: Page, kind: str) -> pd.DataFrame:
    outcomes = page.census.outcomes
    return outcomes[outcomes["kind"] == kind]


def _total(page: Page, kind: str, outcome: str) -> int:
    own = _outcomes(page, kind)
    return int(own[(own["suite"] == ALL) & (own["outcome"] == outcome)]["records"].sum())


def _steps_text(own: pd.DataFrame) -> str:
    if own.empty:
        return "not timed"
    timed, warm = _ends(own, "timed_min", "timed_max"), _ends(own, "warmup_min", "warmup_max")
    return f"{timed}, after {warm} of warm-up"


def _settled_text(own: pd.DataFrame) -> str:
    """Which legs had not settled when their warm-up was given up."""
    late = own[own["unsettled"] > 0]
    if late.empty:
        return "Every leg had settled before its window: the spread of its last steps was small."
    places = (f"{row.case}, leg {row.leg}: {row.unsettled} of {row.records} records on "
              f"{row.platform}" for row in late.itertuples())  # fmt: skip
    return f"Not settled when the warm-up was given up, and marked: {'; '.join(places)}."


def _ends(own: pd.DataFrame, low: str, high: str) -> str:
    """Least to most of two columns; "absent" where there is no value."""
    least, most = own[low].min(), own[high].max()
    if pd.isna(least) or pd.isna(most):
        return "none"
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _sum(own: pd.DataFrame, outcome: str) -> str:
    return str(int(own[own["outcome"] == outcome]["records"].sum()))


def _words(name: object) -> str:
    return str(name).replace("_", " ")

"""The page on method: how this campaign's numbers were made, and which records it refused.

Layer: report. Reads and writes no file. Counts come from the tables about the campaign.
"""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from commwall.analysis.quantities import PRIMARIES
from commwall.analysis.tables.census import ALL
from commwall.analysis.verdicts.judging import Verdict
from commwall.analysis.verdicts.overall import TOPICS, comparisons, topic_verdicts, why_unused
from commwall.analysis.verdicts.wording import centre_text, share_text
from commwall.language.translate import clauses, listed, lowered, span_text, tr, tr_later
from commwall.records.names import plain
from commwall.report.controls import NO_FLOOR, control_text
from commwall.report.html import Html, bullets, joined, paragraph, table
from commwall.report.marks import meaning
from commwall.report.page import Page
from commwall.schema.case import LEGS, Leg, StepMode, TrainingCase
from commwall.schema.metric import Direction, Metric
from commwall.schema.metrics import METRICS
from commwall.schema.units import time_text
from commwall.stats.intervals import BOOTSTRAP_FROM, RESAMPLES

LEG_WORDS: dict[Leg, str] = {
    "full": tr_later("the step as it is trained: forward, backward, gradient exchange, optimiser"),
    "nosync": tr_later("the same step without the gradient exchange"),
    "packed": tr_later("the same step, gradients packed into buckets that nobody exchanges"),
    "comm": tr_later("the same gradient buckets exchanged, nothing computed"),
    "single": tr_later("the same step in one process alone"),
}
FORMULAS = (
    tr_later(
        "A step takes as long as its slowest rank; a round's step time is the median over its "
        "steps."
    ),
    tr_later("Exposed communication = full − nosync: what the exchange adds to the step."),
    tr_later(
        "Of it, packed − nosync is the packing of the buckets, full − packed the exchange itself."
    ),
    tr_later(
        "Overlap = 1 − (full − packed) / comm: the share of the exchange that compute hides; where "
        "leg packed was not measured, nosync stands for it."
    ),
    tr_later("Scaling efficiency = throughput of full / (processes × throughput of single)."),
    tr_later("A trace is not used: time in a collective contains waiting for the other ranks."),
)
STEP_MODES: Mapping[StepMode, str] = {
    "eager": tr_later("the host starts every kernel of every step, as most programs do"),
    "compile": tr_later("blocks of the model are compiled; the host starts what the compiler left"),
    "captured": tr_later(
        "the whole step is recorded once and replayed, so that the host need not keep up"
    ),
    "compiled_captured": tr_later(
        "blocks are compiled and the whole step is recorded and replayed"
    ),
}
OUTCOMES = (tr_later("planned"), tr_later("admitted"), tr_later("kept out"), tr_later("absent"))
"""What becomes of records, as table `outcomes` names it, which is how readers see it too."""
SHOWN = tr_later("shown")
"""Numbers of a record whose mark keeps them out of no verdict."""
DIRECTIONS: Mapping[Direction, str] = {
    "higher": tr_later("higher"),
    "lower": tr_later("lower"),
    "neither": tr_later("neither"),
}
"""Which way a metric is better."""


def made(page: Page) -> Html:
    """How many records stand behind the campaign, what they passed, and the noise floor."""
    return joined([paragraph(line, "verdict") for line in made_lines(page)], "card")


def made_lines(page: Page) -> Iterator[str]:
    """Records, checks and noise floor, one sentence each."""
    planned, absent, kept_out, admitted = (
        _total(page, "record", outcome) for outcome in ("planned", "absent", "kept out", "admitted")
    )
    yield tr(
        "Of {planned} planned records {admitted} enter verdicts, {kept_out} are kept out of "
        "them, {absent} are absent.",
        planned=planned,
        admitted=admitted,
        kept_out=kept_out,
        absent=absent,
    )
    passed, failed = (_total(page, "check", outcome) for outcome in ("passed", "failed"))
    yield tr(
        "Of the checks made while measuring {passed} passed and {failed} failed.",
        passed=passed,
        failed=failed,
    )
    yield from noise_lines(page)


def noise_lines(page: Page) -> Iterator[str]:
    """The noise floor of each topic that has a control, or that there is none."""
    controls = comparisons(page.analysis, control=True)
    if not controls:
        yield tr(NO_FLOOR)
    for control in controls:
        for topic in TOPICS:
            own = topic_verdicts(page.analysis, control, topic)
            if own and topic.quantity in PRIMARIES:
                yield tr(
                    "A/A control, {topic}: {verdict}",
                    topic=lowered(topic.title),
                    verdict=control_text(own, topic.noun),
                )


def legs(page: Page) -> Html:
    """What each leg is, and what follows from their times."""
    used = dict.fromkeys(leg for case in _training(page).values() for leg in case.legs)
    if not used:
        return paragraph(tr("This campaign trains nothing: it has no legs."))
    rows = [(leg, tr(LEG_WORDS[leg])) for leg in LEGS if leg in used]
    heads = (tr("leg"), tr("what is timed"))
    shown = table(heads, rows, tr("Legs of a training case."))
    return joined([shown, bullets(map(tr, FORMULAS))])


def windows(page: Page) -> Html:
    """How long legs are timed and how steps run, cases with equal settings together."""
    settings: dict[tuple[str, ...], list[str]] = {}
    for name, case in _training(page).items():
        own = case.windows
        times = (own.full_s, own.other_s, own.warmup_max_s)
        shown = (*map(time_text, times), str(own.min_steps), plain(case.step_mode), case.precision)
        settings.setdefault(shown, []).append(name)
    if not settings:
        return paragraph(tr("No window of a leg: this campaign trains nothing."))
    modes = dict.fromkeys(case.step_mode for case in _training(page).values())
    words = bullets(
        tr("Step mode {mode}: {meaning}.", mode=mode, meaning=tr(STEP_MODES[mode]))
        for mode in modes
    )
    heads = (tr("cases"), tr("full at least"), tr("other legs"), tr("warm-up at most"),
             tr("steps at least"), tr("step mode"), tr("precision"))  # fmt: skip
    rows = [(listed(names), *shown) for shown, names in settings.items()]
    return joined([table(heads, rows, tr("Windows and steps as planned.")), words])


def steps(page: Page) -> Html:
    """Steps really timed in each leg and round, after how many of warm-up."""
    own = _efforts(page, "training")
    if own.empty:
        return paragraph(tr("No timed steps: no record of suite training."), "missing")
    legs_shown = [leg for leg in LEGS if leg in set(own["leg"])]
    rows = [
        (str(case), *(_steps_text(of_case[of_case["leg"] == leg]) for leg in legs_shown))
        for case, of_case in own.groupby("case", sort=False)
    ]
    words = tr("Steps timed in a round, least to most over rounds, platforms and ranks.")
    return joined([table((tr("case"), *legs_shown), rows, words), _settled(own, legs_shown)])


def repetitions(page: Page) -> Html:
    """Groups and repetitions timed for each operation of the other suites."""
    efforts = page.census.efforts
    own = efforts[(efforts["suite"] != "training") & efforts["timed_min"].notna()]
    if own.empty:
        return paragraph(tr("No collective and no copy was timed."))
    rows = [
        (str(case), str(suite), _ends(of, "sizes", "sizes"), _ends(of, "timed_min", "timed_max"),
         _ends(of, "repetitions_min", "repetitions_max"), _ends(of, "warmup_min", "warmup_max"))
        for (suite, case), of in own.groupby(["suite", "case"], sort=False)
    ]  # fmt: skip
    heads = (tr("case"), tr("suite"), tr("sizes"), tr("timed groups"), tr("repetitions in each"),
             tr("groups of warm-up"))  # fmt: skip
    words = tr("Operations: an operation's time is a group's, divided by its repetitions.")
    return table(heads, rows, words)


def records(page: Page) -> Html:
    """What became of every planned record, a row a suite, with the reasons of those not used."""
    own = _outcomes(page, "record")
    own = own[own["suite"] != ALL]
    if own.empty:
        return paragraph(tr("Nothing was planned, or the plan cannot be read."), "missing")
    rows = [
        (str(suite), *(_sum(of, outcome) for outcome in OUTCOMES), _reasons(of))
        for suite, of in own.groupby("suite", sort=False)
    ]
    words = tr("Records: what was planned and what became of it.")
    return table((tr("suite"), *map(tr, OUTCOMES), tr("why not used")), rows, words)


def _reasons(own: pd.DataFrame) -> str:
    unused = own[own["outcome"].isin(("kept out", "absent"))]
    each = [
        tr("{n} {reason}", n=count, reason=tr(name))
        for name, count in zip(unused["name"], unused["records"], strict=True)
    ]
    return clauses(each) or tr("all used")


def checks(page: Page) -> Html:
    """Every check that was made, how often it passed, and what it expects."""
    own = _outcomes(page, "check")
    own = own[own["suite"] != ALL]
    if own.empty:
        return paragraph(tr("No record of this campaign holds a check."), "missing")
    expected: dict[str, set[str]] = {}
    for check in (check for r in page.analysis.evidence.records for check in r.checks):
        expected.setdefault(check.name, set()).add(check.expected)
    rows = [
        (plain(name), str(suite), _sum(of, "passed"), _sum(of, "failed"),
         tr("another value in each case") if len(expected[str(name)]) > 1
         else "".join(expected[str(name)]))
        for (suite, name), of in own.groupby(["suite", "name"], sort=False)
    ]  # fmt: skip
    heads = (tr("check"), tr("suite"), tr("passed"), tr("failed"), tr("expected"))
    return table(heads, rows, tr("Checks; a failed one keeps its record out of verdicts."))


def marks(page: Page) -> Html:
    """Marks that records carry, and which of them keep numbers out of verdicts."""
    own = _outcomes(page, "mark")
    own = own[own["suite"] != ALL]
    if own.empty:
        return paragraph(tr("No record carries a mark."))
    rows = [
        (plain(name), meaning(name), str(suite), tr(outcome), str(count))
        for suite, name, outcome, count in own[["suite", "name", "outcome", "records"]].itertuples(
            index=False
        )
    ]
    heads = (tr("mark"), tr("meaning"), tr("suite"), tr("numbers are"), tr("records"))
    return table(heads, rows, tr("Marks: disturbances and doubts seen while measuring."))


def intervals(page: Page) -> Html:
    """How ratio, interval and verdict are computed."""
    return bullets(interval_lines(100 * page.analysis.confidence))


def interval_lines(level_percent: float) -> tuple[str, ...]:
    """How ratio, interval and verdict are computed, with the level in use [%]."""
    return (
        tr(
            "A round measures all platforms back to back. Only values of one round are divided, so "
            "what disturbs the whole round cancels; the rounds' ratios are the sample."
        ),
        tr(
            "The interval is that of the mean of the ratios' logarithms, at {level} %: Student's t "
            "below {rounds} rounds, from there on a studentised bootstrap with {resamples} "
            "resamples from the plan's seed.",
            level=f"{level_percent:g}",
            rounds=BOOTSTRAP_FROM,
            resamples=f"{RESAMPLES:,}",
        ),
        tr(
            "A winner is named only if the interval lies on one side of 1; otherwise the verdict "
            "is “cannot tell”, with the number of rounds that about would. One round has no "
            "interval, nor have rounds that all give one ratio."
        ),
        tr(
            "The noise floor is the farther end of the interval between two runs of one treatment "
            "(A/A): a smaller effect is not to be relied on."
        ),
        tr("Every verdict stands alone: the level is not corrected for their number."),
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
        words = tr("No treatment runs twice here, so no noise floor is known.")
        return paragraph(words, "missing")
    level = tr("ratio ({level} % interval)", level=f"{100 * page.analysis.confidence:g}")
    heads = (tr("case"), tr("quantity"), tr("treatment run twice"), level, tr("noise floor"),
             tr("n"))  # fmt: skip
    return table(heads, [_noise_row(page, v) for v in own], tr("A/A controls."))


def metrics(page: Page) -> Html:
    """Entries of the metric registry that this campaign uses."""
    used = [metric for metric in METRICS.values() if metric.id in _used(page)]
    return joined(
        _metric_table([m for m in used if m.kind == kind], words)
        for kind, words in (
            ("measured", tr("Measured: raw values in the records.")),
            ("derived", tr("Derived: computed from measured ones.")),
        )
    )


def _metric_table(used: Sequence[Metric], words: str) -> Html:
    rows = [
        (tr(m.label), f"{m.id} [{tr(m.unit)}]", tr(DIRECTIONS[m.direction]), _definition(m))
        for m in used
    ]
    heads = (tr("metric"), tr("id [unit]"), tr("better"), tr("definition and source"))
    return table(heads, rows, words)


def _definition(metric: Metric) -> str:
    meaning_, source = tr(metric.definition), tr(metric.source)
    return tr("{definition} Source: {source}.", definition=meaning_, source=source)


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
        centre_text(ratio)
        if ratio
        else tr("none: {reason}", reason=why_unused(page.analysis, verdict)),
        tr("unknown") if floor is None else share_text(floor),
        str(verdict.n),
    )


def _training(page: Page) -> dict[str, TrainingCase]:
    plan = page.analysis.plan
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
        return tr("not timed")
    timed, warm = _ends(own, "timed_min", "timed_max"), _ends(own, "warmup_min", "warmup_max")
    return tr("{timed}, after {warm} of warm-up", timed=timed, warm=warm)


def _settled(own: pd.DataFrame, legs_shown: Sequence[Leg]) -> Html:
    """Which legs had not settled when their warm-up was given up, a row a case and platform."""
    late = own[own["unsettled"] > 0]
    if late.empty:
        return paragraph(
            tr("Every leg had settled before its window: the spread of its last steps was small.")
        )
    rows = [
        (*map(str, place), *(_late_text(of_place[of_place["leg"] == leg]) for leg in legs_shown))
        for place, of_place in late.groupby(["case", "platform"], sort=False)
    ]
    words = tr("Records in which a leg had not settled when its warm-up was given up: marked.")
    return table((tr("case"), tr("platform"), *legs_shown), rows, words)


def _late_text(own: pd.DataFrame) -> str:
    """How many of a leg's records had not settled."""
    if own.empty:
        return tr("none")
    return tr("{k} of {n}", k=own["unsettled"].sum(), n=own["records"].sum())


def _ends(own: pd.DataFrame, low: str, high: str) -> str:
    """Least to most of two columns; "none" where there is no value."""
    least, most = own[low].min(), own[high].max()
    if pd.isna(least) or pd.isna(most):
        return tr("none")
    return span_text(f"{least:,}", f"{most:,}")


def _sum(own: pd.DataFrame, outcome: str) -> str:
    return str(int(own[own["outcome"] == outcome]["records"].sum()))

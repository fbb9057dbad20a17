"""Mitigations: all expectations can be done in the head."""

from collections.abc import Callable
from pathlib import Path

import pytest

from commwall.analysis.mitigations.effects import NO_LEGS, Effect, Share, effects, first_to_do
from commwall.analysis.mitigations.forecast import BY_LEGS, forecast_s, modelled_s, wire_share
from commwall.analysis.mitigations.prices import Price
from commwall.analysis.mitigations.table import mitigation_table
from commwall.analysis.mitigations.words import tried_text
from commwall.analysis.result import Analysis, analyse_campaign
from commwall.analysis.steps.inputs import MeasuredStep
from commwall.model.bucketed import BucketedStep
from commwall.model.step import Timeline
from commwall.schema.mitigation import Mitigation
from commwall.schema.plan import Comparison, PlannedPlatform, PlannedSuite
from commwall.schema.record import Record
from commwall.schema.treatment import Label, NcclVariables
from commwall.stats.intervals import Interval
from tests import samples
from tests.golden.build import FAST, SLOW, steps
from tests.golden.mitigations import CAMPAIGN, LEGS_MS, STEPS, plan, records, write_campaign
from tests.golden.planned import planned_record

T_OF_3 = 4.302653
"""Student's t for 3 values at 95 %."""


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    root: Path = tmp_path_factory.mktemp("mitigations")
    return analyse_campaign(write_campaign(root), CAMPAIGN, 0.95)


@pytest.fixture(scope="module")
def slow(analysis: Analysis) -> dict[str, Effect]:
    return {e.record.id.case: e for e in effects(analysis) if e.record.id.platform == SLOW}


def test_the_share_of_the_gap_is_that_of_the_extra_time(slow: dict[str, Effect]) -> None:
    found = slow["bfloat16"].recovered
    assert isinstance(found, Share) and found.interval is not None
    assert (found.n, found.centre) == (3, pytest.approx(0.5))
    half = T_OF_3 * 0.1 / 3**0.5
    assert (found.interval.low, found.interval.high) == pytest.approx((0.5 - half, 0.5 + half))


def altered(tmp_path: Path, change: Callable[[Record], Record]) -> dict[str, Effect]:
    """Effects on the slow link after records were altered."""
    layout = samples.write_campaign(tmp_path, plan(), [change(own).sealed() for own in records()])
    samples.write_index(layout, CAMPAIGN)
    found = effects(analyse_campaign(layout, CAMPAIGN, 0.95))
    return {e.record.id.case: e for e in found if e.record.id.platform == SLOW}


def of_fast(record: Record, **update: object) -> Record:
    return record.model_copy(update=update) if record.id.platform == FAST else record


def test_what_verdicts_refuse_has_no_share(tmp_path: Path) -> None:
    """The fast platform of another sitting, or of another boot of the machine."""
    for folder, change in {
        "sitting": lambda r: of_fast(r, id=r.id.model_copy(update={"round_id": "other"})),
        "boot": lambda r: of_fast(r, machine=r.machine.model_copy(update={"boot_digest": "b"})),
    }.items():
        found = altered(tmp_path / folder, change)
        assert {e.recovered for e in found.values()} == {
            "no round has a comparable step on fast link, emulated, taken back to back"
        }
        assert found["bfloat16"].speedup.n == 3


def test_training_of_another_driver_forecasts_nothing(tmp_path: Path) -> None:
    def updated(record: Record) -> Record:
        newer = record.machine.model_copy(update={"driver": "610.43"})
        return record.model_copy(update={"machine": newer} if record.id.suite == "training" else {})

    assert altered(tmp_path, updated)["bfloat16"].forecast == NO_LEGS


def test_a_gap_that_the_rounds_do_not_tell_has_no_share(tmp_path: Path) -> None:
    """Of three rounds one is slower on the fast platform: 195, 205 and 197 ms against 200."""

    def as_slow(record: Record) -> Record:
        times_ms = {"full": (195, 205, 197)[record.id.round - 1], "mitigated": 150}
        return of_fast(record, series=tuple(steps(times_ms)))

    found = altered(tmp_path, as_slow)["bfloat16"].recovered
    assert found == "the rounds do not tell a gap to fast link, emulated"


def test_every_round_counts_for_a_share(tmp_path: Path) -> None:
    """Gaps of 0.5, 0.4 and 0.6 and savings of 0.25, 0.3 and 0.2: means 0.25 and 0.5."""

    def uneven(record: Record) -> Record:
        times_ms = {"full": (100, 120, 80)[record.id.round - 1], "mitigated": 75}
        return of_fast(record, series=tuple(steps(times_ms)))

    found = altered(tmp_path, uneven)["bfloat16"].recovered
    assert isinstance(found, Share)
    assert (found.n, found.centre) == (3, pytest.approx(0.5))
    assert found.interval is not None and found.interval.method == "fieller"


def test_batches_of_one_step_all_count(slow: dict[str, Effect]) -> None:
    found = slow["two-batches"]  # 300 ms for two batches, 150 for each
    assert found.speedup.centre == pytest.approx(200 / 150)
    assert isinstance(found.recovered, Share)
    assert found.recovered.centre == pytest.approx(0.5)
    assert found.recovered.interval is None  # no spread


def test_the_forecast_looks_at_no_mitigated_step(slow: dict[str, Effect]) -> None:
    found = slow["bfloat16"].forecast
    assert not isinstance(found, str)
    assert found.centre == pytest.approx(200 / 125)
    assert slow["bfloat16"].forecast_by == BY_LEGS  # leg packed was not measured
    assert isinstance(slow["static"].forecast, str)


@pytest.mark.parametrize(
    ("mitigation", "batch_ms"),
    [
        (Mitigation(exchange="float16"), 125),  # 200 - 150 / 2
        (Mitigation(exchange="onebit"), 100),  # all that is exposed, and no more
        (Mitigation(accumulate=4), 125),  # (3 x 100 + 200) / 4
        (Mitigation(local_steps=3), 150),  # 100 + 150 / 3
        (Mitigation(exchange="bfloat16", accumulate=2), 112.5),  # (100 + 125) / 2
        (Mitigation(exchange="powersgd", rank=2), None),
        (Mitigation(bucket_bytes=4), None),
    ],
)
def test_forecasts(mitigation: Mitigation, batch_ms: float | None) -> None:
    assert forecast_s(mitigation, LEGS_MS, 2) == (batch_ms and pytest.approx(batch_ms))


def test_the_model_of_a_step_knows_when_each_bucket_is_ready() -> None:
    timeline = Timeline(ready_s=(50, 100), backward_end_s=100, step_s=110)
    step = MeasuredStep(BucketedStep(timeline, (4, 4), ranks=2), full_s=155, comm_s=80)
    # Buckets of 40 are over at 90 and 140, of 20 at 70 and 120: the step gets 20 shorter.
    assert modelled_s(Mitigation(exchange="bfloat16"), step, 2) == pytest.approx(135)
    assert modelled_s(Mitigation(exchange="bfloat16", accumulate=2), step, 2) is None
    without = MeasuredStep(step.bucketed, full_s=155, comm_s=None)
    assert modelled_s(Mitigation(exchange="bfloat16"), without, 2) is None


@pytest.mark.parametrize(("ranks", "share"), [(2, 0.25), (4, 0.5), (8, 1.0)])
def test_quantised_gradients_save_less_with_every_rank(ranks: int, share: float) -> None:
    assert wire_share("int8", ranks) == share


def test_prices_are_told_from_none_by_their_interval(slow: dict[str, Effect]) -> None:
    for name, mean, spread, verdict in (
        ("bfloat16", 0.0, 0.004, "free"),
        ("int8", 0.03, 0.01, "loss"),
    ):
        price = slow[name].price
        assert price is not None and price.interval is not None
        assert (price.mean_nat, price.verdict) == (pytest.approx(mean), verdict)
        assert price.interval.low == pytest.approx(mean - T_OF_3 * spread / 3**0.5)
        assert price.gradient_error == pytest.approx(0.2)
    assert slow["static"].price is not None and slow["static"].price.verdict == "free"
    assert slow["onebit"].price is None


@pytest.mark.parametrize(
    ("differences_nat", "ends_nat", "verdict"),
    [
        ((-0.3, 0.3), (-3.8, 3.8), "unsettled"),  # reaches 0, and any loss
        ((-0.001,), None, "unsettled"),
        ((0.001, 0.001), None, "loss"),
        ((0.0, 0.0), None, "free"),
        ((0.001, 0.002), (-0.005, 0.008), "free"),
    ],
)
def test_a_wide_interval_is_no_price_of_none(
    differences_nat: tuple[float, ...], ends_nat: tuple[float, float] | None, verdict: str
) -> None:
    around = Interval(*ends_nat, "student-t") if ends_nat else None
    assert Price(differences_nat, around, None).verdict == verdict


def test_first_is_what_wins_most_at_no_price(slow: dict[str, Effect]) -> None:
    own = {name: slow[name] for name in ("bfloat16", "int8", "static", "onebit")}
    chosen = first_to_do(own.values())
    assert chosen is not None and chosen.record.id.case == "bfloat16"
    del own["bfloat16"]
    # 8 bit costs loss, 1 bit has no price, and the rounds do not tell the static graph's gain.
    assert first_to_do(own.values()) is None


def test_variables_are_held_against_the_platform_that_does_not_set_them(tmp_path: Path) -> None:
    label = Label(title="staged", stands_for="a bound", does_not_cover="anything else")
    staged = {"NCCL_P2P_DISABLE": "1"}
    variables = {"direct": {}, "staged": staged, "tuned": staged | {"NCCL_MIN_CTAS": "16"}}
    times_ms = {"direct": (100, 75), "staged": (200, 150), "tuned": (180, 130)}
    asked = plan().model_copy(
        update={
            "platforms": tuple(
                PlannedPlatform(
                    name=name, device="cpu", world_size=2,
                    path=None if name == "direct" else "host_staged",
                    treatment=NcclVariables(label=label, variables=own),
                )
                for name, own in variables.items()
            ),
            "comparisons": (Comparison(a="direct", b="staged"),),
            "suites": (
                PlannedSuite(
                    suite="mitigations", cases=STEPS,
                    platforms=dict.fromkeys(variables, ("bfloat16",))
                    | {"staged": ("bfloat16", "static")},
                    orders=(tuple(variables),) * 2,
                ),
            ),
        }
    )  # fmt: skip
    records = [
        planned_record(
            asked, name, "bfloat16", round_,
            series=tuple(steps(dict(zip(("full", "mitigated"), times_ms[name], strict=True)))),
        )
        for name in variables
        for round_ in (1, 2)
    ]  # fmt: skip
    # Another sitting, in which all took twice as long.
    records += [
        planned_record(
            asked, "staged", "static", round_,
            series=tuple(steps({"full": 400, "mitigated": 400})),
            id=records[0].id.model_copy(
                update={
                    "platform": "staged", "case": "static", "round": round_, "round_id": "other"
                }
            ),
        )
        for round_ in (1, 2)
    ]  # fmt: skip
    layout = samples.write_campaign(tmp_path, asked, records)
    samples.write_index(layout, CAMPAIGN)
    analysis = analyse_campaign(layout, CAMPAIGN, 0.95)
    found = {tried_text(e.tried): e for e in effects(analysis) if e.baseline == "staged"}
    assert list(found) == [
        "bfloat16 exchange", "static graph", "NCCL_MIN_CTAS=16",
        "bfloat16 exchange, NCCL_MIN_CTAS=16",
    ]  # fmt: skip
    for words, share in (("NCCL_MIN_CTAS=16", 0.2), ("bfloat16 exchange, NCCL_MIN_CTAS=16", 0.7)):
        recovered = found[words].recovered
        assert isinstance(recovered, Share) and recovered.centre == pytest.approx(share)
        assert found[words].speedup.n == 2 and isinstance(found[words].forecast, str)
    alone = found["NCCL_MIN_CTAS=16"].price
    assert alone is not None and alone.verdict == "free"
    assert {e.baseline for e in effects(analysis)} == {"direct", "staged"}


def test_the_table_says_why_a_value_is_absent(analysis: Analysis) -> None:
    table = mitigation_table(analysis).set_index(["platform", "case"])
    assert len(table) == 6
    row = table.loc[(SLOW, "onebit")]
    assert row["why_no_price"].startswith("its price was not measured")
    assert row["recovered"] == pytest.approx(0.9)
    unknown = table["why_no_energy"].dropna()
    assert set(unknown) == {"no round has the energy of both steps"} and len(unknown) == 5


def test_energy_is_that_of_a_sample_over_all_windows(slow: dict[str, Effect]) -> None:
    found = slow["two-batches"].energy
    assert not isinstance(found, str)
    assert found.centre == pytest.approx((30 / 80) / (20 / 40))

"""Figures: zero-based bars, one colour per platform, every round drawn, emulation in titles."""

from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from commwall.analysis.quantities import PRIMARY, Quantity
from commwall.analysis.result import analyse, analyse_campaign
from commwall.analysis.tables.tidy import Tables
from commwall.records.evidence import Evidence
from commwall.records.index import Index
from commwall.report import figures
from commwall.report.style import COLORS, Look, looks_of, mark_clipped, new_figure, picture
from tests.golden.build import CAMPAIGN, FULL_MS, SLOW, plan, record
from tests.golden.many import CAMPAIGN as MANY, write_campaign as write_many

Draw = Callable[[Tables, dict[str, Look]], Figure]
LOOKS = looks_of(platform.name for platform in plan().platforms)
DRAWN: dict[str, Draw] = {
    "ratios": lambda tables, looks: figures.ratios_figure(tables),
    "throughput": lambda tables, looks: figures.quantity_figure(tables, looks, PRIMARY),
    "overlap": lambda t, looks: figures.quantity_figure(t, looks, Quantity("overlap_ratio")),
    "parts": figures.step_parts_figure,
    "legs": figures.legs_figure,
    "steps": figures.steps_figure,
    "losses": figures.losses_figure,
}


def _tables(rounds: int = 5) -> Tables:
    records = tuple(record(name, r, rounds) for name in FULL_MS for r in range(1, rounds + 1))
    index = Index(campaign=CAMPAIGN, title="golden", mine=False)
    return Tables(analyse(Evidence(index, plan(rounds), records), 0.95))


@pytest.fixture(scope="module")
def tables() -> Tables:
    return _tables()


@pytest.mark.parametrize("name", DRAWN)
def test_titles_call_emulated_links_emulated(tables: Tables, name: str) -> None:
    assert "(emulated links)" in DRAWN[name](tables, LOOKS).get_suptitle().replace("\n", " ")


@pytest.mark.parametrize("name", DRAWN)
def test_axes_carry_units_and_figures_can_be_embedded(tables: Tables, name: str) -> None:
    figure = DRAWN[name](tables, LOOKS)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    ticks = " ".join(label.get_text() for label in axes.get_xticklabels())
    words = axes.get_xlabel() + axes.get_ylabel() + ticks
    assert "[" in words or " ms" in words or "ratio" in words  # which has no unit
    shown = picture(figure, "a <caption>").markup
    assert 'alt="a &lt;caption&gt;"' in shown and "data:image/svg+xml;base64," in shown


@pytest.mark.parametrize(("name", "groups"), [("throughput", 1), ("legs", 5)])
def test_bars_start_at_zero_in_the_platforms_colours(
    tables: Tables, name: str, groups: int
) -> None:
    (axes,) = DRAWN[name](tables, LOOKS).axes
    bars = list(axes.patches)
    assert [bar.get_x() for bar in bars] == [0] * 3 * groups
    assert axes.get_xlim()[0] <= 0
    assert [to_hex(bar.get_facecolor()).upper() for bar in bars] == list(COLORS[:3]) * groups
    assert len({bar.get_hatch() for bar in bars}) == 3


def test_bars_of_legs_and_their_rounds_are_those_of_the_leg(tables: Tables) -> None:
    (axes,) = figures.legs_figure(tables, LOOKS).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        *("leg full", "leg nosync", "leg packed", "leg comm", "leg single")
    ]
    widths = [bar.get_width() for bar in axes.patches]
    others = ((0.09, 0.09, 0.09), (0.092, 0.092, 0.092), (0.04, 0.15, 0.04), (0.08, 0.08, 0.08))
    assert widths[3:] == pytest.approx([width for leg in others for width in leg])
    rounds = [line for line in axes.lines if len(line.get_xdata()) == 5]
    assert [set(line.get_xdata()) for line in rounds[12:]] == [{0.08}] * 3


def test_compute_and_exposed_communication_add_up_to_the_step(tables: Tables) -> None:
    (axes,) = figures.step_parts_figure(tables, LOOKS).axes
    compute, packing, exchange = axes.patches[:3]
    assert compute.get_width() == packing.get_x() == pytest.approx(0.090)
    assert packing.get_width() == pytest.approx(0.002)
    # geometric mean over rounds of leg full: (100^4 x 102)^(1/5) ms
    assert exchange.get_x() + exchange.get_width() == pytest.approx(0.1 * 1.02**0.2)


def test_negative_exposed_communication_is_drawn_backwards_and_named() -> None:
    tables = _tables()
    platforms = tables.platforms.copy()
    platforms.loc[platforms["leg"] == "nosync", "mean"] = 0.25
    (axes,) = figures.step_parts_figure(
        Tables(**{**vars(tables), "platforms": platforms}), LOOKS
    ).axes
    assert axes.patches[2].get_width() == pytest.approx(0.1 * 1.02**0.2 - 0.252)
    assert [text.get_text() for text in axes.texts].count("negative") == 3


def test_a_step_that_is_not_split_is_drawn_whole_and_said_to_be() -> None:
    tables = _tables()
    full, slow = (tables.platforms["leg"] == "full"), (tables.platforms["platform"] == SLOW)
    exposed = tables.platforms["metric"] == "exposed_comm_time_s"
    platforms = tables.platforms[~(exposed & slow)]
    figure = figures.step_parts_figure(Tables(**{**vars(tables), "platforms": platforms}), LOOKS)
    widths = [bar.get_width() for bar in figure.axes[0].patches]
    whole = tables.platforms[full & slow & (tables.platforms["metric"] == "step_time_s")][
        "mean"
    ].item()
    assert len(widths) == 7 and whole in widths
    assert figure.legends[0].get_texts()[-1].get_text() == "not told apart"
    assert len(figures.step_parts_figure(tables, LOOKS).legends[0].get_texts()) == 3


def test_without_packing_the_legend_names_none() -> None:
    tables = _tables()
    platforms = tables.platforms[tables.platforms["metric"] != "packing_time_s"]
    figure = figures.step_parts_figure(Tables(**{**vars(tables), "platforms": platforms}), LOOKS)
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["compute (leg nosync)", "exposed communication"]


@pytest.mark.parametrize("name", ["ratios", "throughput", "parts"])
def test_every_round_and_n_are_drawn(tables: Tables, name: str) -> None:
    (axes,) = DRAWN[name](tables, LOOKS).axes
    rows = 2 if name == "ratios" else 3
    assert [text.get_text() for text in axes.texts] == ["n = 5"] * rows
    assert sum(len(line.get_xdata()) == 5 for line in axes.lines) == rows


@pytest.mark.parametrize("name", ["ratios", "throughput"])
def test_one_round_has_no_interval_line(name: str) -> None:
    (axes,) = DRAWN[name](_tables(rounds=1), LOOKS).axes
    assert "n = 1" in [text.get_text() for text in axes.texts]
    horizontal = [line for line in axes.lines if len(set(line.get_ydata())) == 1]
    assert all(len(line.get_xdata()) == 1 or _is_nan(line.get_xdata()) for line in horizontal)


def test_an_interval_of_two_rounds_stays_above_zero_and_leaves_room_for_the_bars() -> None:
    tables = _tables(rounds=2)
    platforms = tables.platforms.copy()
    throughput = platforms["metric"] == PRIMARY.metric_id
    assert set(platforms.loc[throughput, "mean_kind"]) == {"geometric"}
    signed = platforms["metric"].isin(["exposed_comm_time_s", "overlap_ratio"])
    assert set(platforms.loc[signed, "mean_kind"]) == {"arithmetic"}
    assert (platforms.loc[throughput, "mean_low"].dropna() > 0).all()
    platforms.loc[throughput, "mean_high"] = 1e6
    wide = Tables(**{**vars(tables), "platforms": platforms})
    (axes,) = figures.quantity_figure(wide, LOOKS, PRIMARY).axes
    assert axes.get_xlim() == pytest.approx((0, 3 * platforms.loc[throughput, "max"].max()))


@pytest.mark.parametrize("name", DRAWN)
def test_tables_without_rows_give_a_sentence_that_says_so(name: str) -> None:
    index = Index(campaign=CAMPAIGN, title="golden", mine=False)
    empty = Tables(analyse(Evidence(index, plan(), ()), 0.95))
    shown = picture(DRAWN[name](empty, {}), "caption")
    assert shown.markup.startswith('<p class="missing">') and "no " in shown.markup
    assert "caption" not in shown.markup


def _is_nan(values: object) -> bool:
    return bool(pd.isna(pd.Series(values)).all())


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Four models on three platforms."""
    layout = write_many(tmp_path_factory.mktemp("many"))
    return Tables(analyse_campaign(layout, MANY, 0.95))


@pytest.mark.parametrize("name", DRAWN)
def test_labels_of_many_cases_do_not_overlap(many: Tables, name: str) -> None:
    figure = DRAWN[name](many, LOOKS)
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    for axes in figure.axes:
        for texts in (axes.get_yticklabels(), axes.get_xticklabels(), axes.texts):
            boxes = [t.get_window_extent(renderer) for t in texts if t.get_text()]
            assert not [
                (one, two)
                for one, two in pairwise(sorted(boxes, key=lambda box: (box.y0, box.x0)))
                if one.overlaps(two)
            ]
        legends = [legend.get_window_extent(renderer) for legend in figure.legends]
        assert not any(legend.overlaps(axes.get_window_extent()) for legend in legends)
        title = figure.texts[0].get_window_extent(renderer)
        assert not title.overlaps(axes.get_window_extent())
        assert title.x1 <= figure.bbox.x1


def test_ratios_of_all_cases_stand_on_one_axis_with_their_own_floors(many: Tables) -> None:
    (axes,) = figures.ratios_figure(many).axes
    labels = [label.get_text().replace("\n", " ") for label in axes.get_yticklabels()]
    assert labels[:3] == ["bert-demo", "bert-demo, A/A control", "resnet-demo"]
    assert len(labels) == 7  # four controls; Transformer-XL has no ratio
    floors = [bar for bar in axes.patches if bar.get_height() == pytest.approx(0.9)]
    assert len(floors) == 3
    assert all(bar.get_x() < 1 < bar.get_x() + bar.get_width() for bar in floors)


def test_pure_numbers_share_an_axis_and_name_their_platforms_once(many: Tables) -> None:
    figure = figures.quantity_figure(many, LOOKS, Quantity("scaling_efficiency"))
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        *("bert-demo", "resnet-demo", "swin-demo", "transformer-xl-demo")
    ]
    assert len(axes.patches) == 3 * 4 - 1
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 3
    assert len(figures.quantity_figure(many, LOOKS, PRIMARY).axes) == 4


@pytest.mark.parametrize(("length", "lines"), [(30, 1), (40, 2)])
def test_what_an_arrow_means_is_not_cut_off(length: int, lines: int) -> None:
    _, (axes,) = new_figure([1.0])
    axes.set_xlabel("x" * length)
    axes.set_xlim(0, 1)
    mark_clipped(axes, [(0, SimpleNamespace(mean_low=0.5, mean_high=2.0))])
    assert len(axes.get_xlabel().splitlines()) == lines


@pytest.mark.parametrize("name", ["throughput", "parts", "legs"])
def test_an_interval_that_leaves_the_axis_ends_in_an_arrow(tables: Tables, name: str) -> None:
    def arrows(drawn: Tables) -> list[tuple[str, float]]:
        (axes,) = DRAWN[name](drawn, LOOKS).axes
        told = "(arrow: the interval goes on)" in axes.get_xlabel()
        found = [
            (str(line.get_marker()), float(line.get_xdata()[0]) - axes.get_xlim()[1])
            for line in axes.lines
            if line.get_marker() in ("<", ">")
        ]
        assert told == bool(found)
        return found

    assert arrows(tables) == []
    platforms = tables.platforms.copy()
    platforms.loc[platforms["platform"] == "golden-slow", "mean_high"] *= 50
    wide = arrows(Tables(**{**vars(tables), "platforms": platforms}))
    assert wide == [(">", 0)]


def test_bars_stay_in_sight_of_an_interval_far_below_zero(tables: Tables) -> None:
    platforms = tables.platforms.copy()
    platforms.loc[platforms["platform"] == "golden-slow", "mean_low"] = -900
    drawn = Tables(**{**vars(tables), "platforms": platforms})
    (axes,) = figures.quantity_figure(drawn, LOOKS, PRIMARY).axes
    low, high = axes.get_xlim()
    assert low == pytest.approx(-3 * max(bar.get_width() for bar in axes.patches), rel=0.05)
    assert high > 0 and [line.get_marker() for line in axes.lines].count("<") == 1

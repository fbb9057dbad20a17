"""Rendering refuses what it cannot do, and renders what is not there as a gap."""

from pathlib import Path

import jupytext
import pytest

from commwall.host.processes import is_running
from commwall.records.layout import Layout
from commwall.report.execution import RenderError
from commwall.report.pages import pages_for
from commwall.report.render import check_parameters, render
from tests.golden.build import CAMPAIGN, SLOW, write_campaign
from tests.notebooks.conftest import REPOSITORY, campaign_page

GIVEN = {"root": ".", "campaign": CAMPAIGN, "confidence": 0.95}
HEAD = '# %% tags=["parameters"]\nroot = None\ncampaign = None\nconfidence = None\n\n# %%\n'


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / "notebooks").mkdir()
    return Layout(tmp_path)


def _write(layout: Layout, text: str) -> None:
    (layout.root / "notebooks" / "probe.py").write_text(HEAD + text)


def test_unknown_and_missing_parameters_are_errors() -> None:
    notebook = jupytext.reads(HEAD, fmt="py:percent")
    check_parameters(notebook, GIVEN, "probe")
    with pytest.raises(RenderError, match=r"unknown: campain \(nearest: campaign\)"):
        check_parameters(notebook, {**GIVEN, "campain": "x"}, "probe")
    with pytest.raises(RenderError, match="missing: confidence"):
        check_parameters(notebook, {"root": ".", "campaign": CAMPAIGN}, "probe")


def test_an_unknown_notebook_is_named_with_the_nearest(layout: Layout) -> None:
    _write(layout, "1")
    with pytest.raises(RenderError, match="did you mean 'probe'"):
        render(layout, CAMPAIGN, "prob", 0.95, 60)
    with pytest.raises(RenderError) as caught:
        render(layout, CAMPAIGN, "nope", 0.95, 60)
    assert caught.value.parts["where"] == "notebooks/nope.py"
    assert caught.value.parts["found"] == "no such file"
    assert caught.value.parts["expected"] == "one of: probe"
    assert caught.value.parts["next"] == "name one of these, without suffix"


def test_a_cell_that_fails_is_named_and_no_page_appears(layout: Layout) -> None:
    _write(layout, "1 / 0")
    with pytest.raises(RenderError, match=r"cell \d+: ZeroDivisionError"):
        render(layout, CAMPAIGN, "probe", 0.95, 120)
    assert not layout.notebooks_dir(CAMPAIGN).exists()


def test_a_notebook_that_hangs_is_ended_with_its_kernel(layout: Layout) -> None:
    """Also one in which no other thread gets a turn."""
    told = layout.root / "pid"
    own = f"import os, re\nopen({str(told)!r}, 'w').write(str(os.getpid()))\n"
    _write(layout, f"{own}re.match('(a+)+$', 'a' * 40 + 'b')")
    with pytest.raises(RenderError, match="still running after 8 s"):
        render(layout, CAMPAIGN, "probe", 0.95, 8)
    assert not layout.notebooks_dir(CAMPAIGN).exists()
    assert not is_running(int(told.read_text(encoding="utf-8")))


def test_a_kernel_that_is_killed_is_told(layout: Layout) -> None:
    _write(layout, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(RenderError, match="Kernel died, exit code -9"):
        render(layout, CAMPAIGN, "probe", 0.95, 60)
    assert not layout.notebooks_dir(CAMPAIGN).exists()


@pytest.mark.parametrize("notebook", pages_for({"training"}))
def test_a_campaign_without_records_renders_what_is_missing(tmp_path: Path, notebook: str) -> None:
    layout = write_campaign(tmp_path, lambda record: None)
    (tmp_path / "notebooks").symlink_to(REPOSITORY / "notebooks")
    page = render(layout, CAMPAIGN, notebook, 0.95, 120)[1].read_text()
    said = {
        "money": "No verdict: an emulated link is not for sale",
        "platforms": "No record: nothing is known of the machine.",
        "breakeven": "No curve: no comparison has a training case",
        "prediction": "No step is predicted and measured: no round of it counts.",
        "method": "Of 15 planned records 0 enter verdicts, 0 are kept out of them, 15 are absent.",
    }
    usual = "no verdict, no round has a usable record of both platforms"
    assert said.get(notebook, usual) in page
    if notebook != "platforms":
        assert "golden-slow, bert-golden, round 1: missing: no record" in page
    assert 'class="error"' not in page


def test_site_of_a_half_measured_campaign_names_its_gaps(tmp_path: Path) -> None:
    layout = write_campaign(
        tmp_path, lambda r: None if (r.id.platform, r.id.round) == (SLOW, 2) else r
    )
    page = campaign_page(layout, CAMPAIGN)
    assert "14 of 15 records" in page
    assert "golden-slow, bert-golden, round 2: missing: no record" in page
    assert "page summary: not rendered" in page
    assert "Not used: round 2 of bert-golden" in page

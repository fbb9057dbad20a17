"""Rendering refuses what it cannot do, and renders what is not there as a gap."""

import re
import subprocess
import sys
from pathlib import Path

import jupytext
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from commwall.host.processes import is_running
from commwall.records.layout import Layout
from commwall.report.pages import pages_for
from commwall.report.rendering.execution import RenderError
from commwall.report.rendering.render import check_parameters, page_of, render
from tests.golden.build import CAMPAIGN, SLOW, write_campaign
from tests.notebooks.conftest import REPOSITORY, campaign_page
from tests.workflow.checkout import wait_until

GIVEN = {"root": ".", "campaign": CAMPAIGN, "confidence": 0.95}
HEAD = '# %% tags=["parameters"]\nroot = None\ncampaign = None\nconfidence = None\n\n# %%\n'


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / "notebooks").mkdir()
    return Layout(tmp_path)


def _write(layout: Layout, text: str) -> None:
    (layout.root / "notebooks" / "probe.py").write_text(HEAD + text)


def _hangs(layout: Layout) -> str:
    """A cell that tells its process and then lets no other thread of it have a turn."""
    told = str(layout.root / "pid")
    own = f"import os, re\nopen({told!r}, 'w').write(str(os.getpid()))\n"
    return f"{own}re.match('(a+)+$', 'a' * 40 + 'b')"


def _told(layout: Layout) -> int:
    """What such a cell has told; 0 if it has not begun."""
    told = layout.root / "pid"
    return int(told.read_text(encoding="utf-8") or 0) if told.exists() else 0


def _renderer(layout: Layout) -> "subprocess.Popen[str]":
    """The verb, in a process that has no other children than the notebook's."""
    words = (sys.executable, "-m", "commwall", "render", CAMPAIGN, "probe")
    return subprocess.Popen(words, cwd=layout.root, stderr=subprocess.PIPE, text=True)


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


@pytest.mark.parametrize(
    ("cell", "error"),
    [
        ("1 / 0", "cell 2: ZeroDivisionError: division by zero"),
        ("import absent_module", "cell 2: ModuleNotFoundError: No module named 'absent_module'"),
        ("1 +", "cell 2: SyntaxError: invalid syntax"),
    ],
)
def test_a_cell_that_fails_is_named_and_no_page_appears(
    layout: Layout, cell: str, error: str
) -> None:
    _write(layout, cell)
    with pytest.raises(RenderError, match=re.escape(error)) as caught:
        render(layout, CAMPAIGN, "probe", 0.95, 120)
    assert caught.value.parts["where"] == "notebooks/probe.py"
    assert not layout.notebooks_dir(CAMPAIGN).exists()


def test_a_notebook_that_hangs_is_ended_with_its_kernel(layout: Layout) -> None:
    _write(layout, _hangs(layout))
    with pytest.raises(RenderError, match="still running after 8 s"):
        render(layout, CAMPAIGN, "probe", 0.95, 8)
    assert not layout.notebooks_dir(CAMPAIGN).exists()
    assert not is_running(_told(layout))


def test_a_kernel_that_is_killed_is_told(layout: Layout) -> None:
    _write(layout, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(RenderError, match="Kernel died, exit code -9"):
        render(layout, CAMPAIGN, "probe", 0.95, 60)
    assert not layout.notebooks_dir(CAMPAIGN).exists()


def test_a_section_that_shows_nothing_has_no_heading() -> None:
    cells = [
        new_markdown_cell("## Empty\nText."),
        new_code_cell("f()", outputs=[new_output("execute_result", {"text/html": ""})]),
        new_markdown_cell("## Shown"),
        new_code_cell("g()", outputs=[new_output("execute_result", {"text/html": ""})]),
        new_code_cell("h()", outputs=[new_output("execute_result", {"text/html": "<p>x</p>"})]),
        new_markdown_cell("## Text alone"),
    ]
    page = page_of(new_notebook(cells=cells), "title")
    assert re.findall(r'<h2 id="([^"]+)"', page) == ["Shown", "Text-alone"]
    assert "Text." not in page


def test_papermill_that_is_killed_is_told(layout: Layout) -> None:
    _write(
        layout,
        "import os, signal, time\n"
        "from pathlib import Path\n"
        "children = Path(f'/proc/{os.getppid()}/task/{os.getppid()}/children').read_text()\n"
        "(papermill,) = {int(pid) for pid in children.split()} - {os.getpid()}\n"
        "os.kill(papermill, signal.SIGKILL)\n"
        "time.sleep(60)",
    )
    with _renderer(layout) as renderer:
        _, told = renderer.communicate(timeout=60)
    assert renderer.returncode == 2
    assert "papermill ended without an answer" in told


def test_kernel_and_papermill_end_with_a_renderer_that_is_killed(layout: Layout) -> None:
    _write(layout, _hangs(layout))
    with _renderer(layout) as renderer:
        wait_until(lambda: _told(layout))
        listed = Path(f"/proc/{renderer.pid}/task/{renderer.pid}/children").read_text()
        children = [int(pid) for pid in listed.split()]
        renderer.kill()
    assert len(children) == 2 and _told(layout) in children
    wait_until(lambda: not any(map(is_running, children)), timeout_s=5)


def test_a_notebook_leaves_nothing_to_the_next(layout: Layout) -> None:
    _write(
        layout,
        "import matplotlib as mpl\n"
        "from commwall.language.translate import speak, spoken\n"
        "assert spoken() == 'en' and mpl.rcParams['font.size'] != 77 and not hasattr(mpl, 'left')\n"
        "speak('zh')\n"
        "mpl.rcParams['font.size'] = 77\n"
        "mpl.left = True",
    )
    first, second = (render(layout, CAMPAIGN, "probe", 0.95, 120)[1].read_bytes() for _ in range(2))
    assert first == second


def test_the_users_jupyter_set_up_takes_no_part(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    startup = tmp_path / "ipython/profile_default/startup"
    startup.mkdir(parents=True)
    (startup / "own.py").write_text("users = True\n", encoding="utf-8")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    _write(layout, "users")
    with pytest.raises(RenderError, match="NameError: name 'users' is not defined"):
        render(layout, CAMPAIGN, "probe", 0.95, 120)


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
        assert "golden-slow, bert-golden, rounds 1 to 5: missing: no record" in page
    assert 'class="error"' not in page


def test_site_of_a_half_measured_campaign_names_its_gaps(tmp_path: Path) -> None:
    layout = write_campaign(
        tmp_path, lambda r: None if (r.id.platform, r.id.round) == (SLOW, 2) else r
    )
    page = campaign_page(layout, CAMPAIGN)
    assert "14 of 15 planned records measured" in page
    assert "golden-slow, bert-golden, round 2: missing: no record" in page
    assert "page summary: not rendered" in page
    assert "Not used: round 2 of bert-golden" in page

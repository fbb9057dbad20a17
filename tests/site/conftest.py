"""One site of three golden campaigns in two languages, and one browser for all that look at it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from commwall.cli.main import main
from commwall.language.translate import LANGUAGES
from commwall.records.layout import Layout
from tests.golden import build, many
from tests.golden.update import AFTER, timed, updated, write
from tests.notebooks.conftest import REPOSITORY
from tests.samples import write_index


@pytest.fixture(scope="package")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    """Campaigns of which two measured the same and one has tables and a rendered page."""
    root = tmp_path_factory.mktemp("checkout")
    layout = many.write_campaign(root)
    write(root, build.CAMPAIGN)
    write(root, AFTER, lambda made: updated(timed(0.8)(made)))
    for campaign in (build.CAMPAIGN, AFTER):
        write_index(layout, campaign)
    (root / "notebooks").symlink_to(REPOSITORY / "notebooks")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert main(["tables", many.CAMPAIGN]) == 0
        languages = [f"--language={language}" for language in LANGUAGES]
        assert main(["render", many.CAMPAIGN, "summary", *languages]) == 0
        assert main(["site"]) == 0
        yield layout


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, or another of that name."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no browser here: there is no program `chromium`")
    with sync_playwright() as playwright:
        # Tests may run as root, for whom Chromium has no sandbox.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


def address(path: Path) -> str:
    """Address of a file, as a reader who opens it has it."""
    return path.resolve().as_uri()

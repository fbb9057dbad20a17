"""One golden checkout with everything rendered, shared by the tests of this folder."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from commwall.cli.main import main
from commwall.records.layout import Layout
from commwall.report.pages import pages_for
from tests.golden.build import CAMPAIGN, write_campaign

REPOSITORY = Path(__file__).parents[2]


def render_pages(pages: Iterable[tuple[str, str]]) -> None:
    """Render notebooks of campaigns, two at a time: each waits for a kernel of its own."""
    with ThreadPoolExecutor(2) as pool:
        codes = list(pool.map(lambda page: main(["render", *page]), pages))
    assert codes and set(codes) == {0}


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    """Golden campaign after the verbs tables, render (each page) and site."""
    root = tmp_path_factory.mktemp("checkout")
    layout = write_campaign(root)
    (root / "notebooks").symlink_to(REPOSITORY / "notebooks")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert main(["tables", CAMPAIGN]) == 0
        render_pages((CAMPAIGN, name) for name in pages_for({"training"}))
        assert main(["site", CAMPAIGN]) == 0
        yield layout

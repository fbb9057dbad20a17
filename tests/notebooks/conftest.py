"""One golden checkout with everything rendered, shared by the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from commwall.cli.main import main
from commwall.records.layout import Layout
from commwall.report.pages import pages_for
from tests.golden.build import CAMPAIGN, write_campaign

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    """Golden campaign after the verbs tables, render (each page) and site."""
    root = tmp_path_factory.mktemp("checkout")
    layout = write_campaign(root)
    (root / "notebooks").symlink_to(REPOSITORY / "notebooks")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert main(["tables", CAMPAIGN]) == 0
        for name in pages_for({"training"}):
            assert main(["render", CAMPAIGN, name]) == 0
        assert main(["site", CAMPAIGN]) == 0
        yield layout

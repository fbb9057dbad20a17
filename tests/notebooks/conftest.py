"""One golden checkout with everything rendered, shared by the tests of this folder."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from commwall.cli.main import main
from commwall.records.layout import Layout
from commwall.report.pages import pages_for
from commwall.report.site.origin import Origin
from commwall.report.site.publishing import publish
from tests.golden.build import CAMPAIGN, write_campaign

REPOSITORY = Path(__file__).parents[2]
ORIGIN = Origin(version="1.2.3", commit="0" * 40, python="3.11.0")


def campaign_page(layout: Layout, campaign: str) -> str:
    """The site's own page of a campaign, after the site was written for it alone."""
    publish(layout, (campaign,), 0.95, ORIGIN)
    return (layout.site_dir() / campaign / "index.html").read_text(encoding="utf-8")


def render_pages(pages: Iterable[tuple[str, ...]]) -> None:
    """Render notebooks of campaigns.

    Args:
        pages: words of the verb `render`.
    """
    codes = [main(["render", *page]) for page in pages]
    assert codes and set(codes) == {0}


@contextmanager
def publishing(layout: Layout, pages: Iterable[tuple[str, str]]) -> Iterator[None]:
    """Work in a golden campaign's checkout after the verbs tables and render."""
    (layout.root / "notebooks").symlink_to(REPOSITORY / "notebooks")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(layout.root)
        asked = list(pages)
        for campaign in dict.fromkeys(campaign for campaign, _ in asked):
            assert main(["tables", campaign]) == 0
        render_pages(asked)
        yield


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    """Golden campaign after the verbs tables, render (each page) and site."""
    layout = write_campaign(tmp_path_factory.mktemp("checkout"))
    with publishing(layout, ((CAMPAIGN, name) for name in pages_for({"training"}))):
        assert main(["site", CAMPAIGN]) == 0
        yield layout

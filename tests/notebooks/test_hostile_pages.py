"""A stranger's words on every page: shown as they are, never as markup, and nothing is run."""

import json
import warnings
from collections.abc import Iterator
from functools import partial
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from unicodedata import category

import pytest

from commwall.cli.main import main
from commwall.records.layout import Layout
from commwall.report.pages import PAGES
from commwall.report.rendering.render import render
from tests.golden import gpus, many, mitigations, scaling, splits
from tests.golden.hostile import TEXT, poison
from tests.golden.update import AFTER, updated, write
from tests.notebooks.conftest import REPOSITORY
from tests.notebooks.inline import page

CAMPAIGNS = {
    **{each.CAMPAIGN: each.write_campaign for each in (many, gpus, splits, mitigations, scaling)},
    AFTER: partial(write, campaign=AFTER, change=updated),
}
"""Campaign -> what writes it below a folder. The last measured what the first did."""
ELSEWHERE = {
    "strategies": splits.CAMPAIGN,
    "inference": splits.CAMPAIGN,
    "mitigations": mitigations.CAMPAIGN,
    "scaling": scaling.CAMPAIGN,
}
"""Page -> campaign that has what it shows, where `many` has not."""
SHOWN = (
    *((ELSEWHERE.get(name, many.CAMPAIGN), name) for name in PAGES),
    *((gpus.CAMPAIGN, name) for name in ("summary", "energy", "platforms", "trends")),
)
ATTRIBUTES = {
    *("alt", "aria-current", "aria-label", "charset", "class", "colspan", "content", "download"),
    *("href", "hreflang", "http-equiv", "id", "lang", "media", "name", "open", "scope", "src"),
    *("srcset", "tabindex"),
}
TAGS = {
    *("a", "article", "body", "caption", "code", "details", "div", "em", "figcaption", "figure"),
    *("footer", "h1", "h2", "h3", "head", "header", "html", "img", "li", "main", "meta", "nav"),
    *(
        "ol",
        "p",
        "picture",
        "pre",
        "section",
        "source",
        "span",
        "strong",
        "style",
        "summary",
        "table",
        "tbody",
        "td",
    ),
    *("th", "thead", "title", "tr", "ul"),
}
ADDRESSES = (
    *("#", "data:image/svg+xml;base64,", "index.html", "provenance.html", "zh/", *CAMPAIGNS),
    *("compare.html", "compare/", "downloads.html", "downloads/", "decision.pdf"),
    *(f"{name}.html" for name in PAGES),
)
"""How what pages link to and show begins, whatever leads up to the site's own folder."""
WORDS = TEXT.partition("\x1b")[0]


class Seen(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: dict[str, set[str]] = {}
        self.text = ""
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, set()).add(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    root = tmp_path_factory.mktemp("checkout")
    for campaign, write_campaign in CAMPAIGNS.items():
        layout = write_campaign(root)
        poison(layout, campaign)
    (root / "notebooks").symlink_to(REPOSITORY / "notebooks")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        yield layout


def check(markup: str) -> None:
    assert WORDS in harmless(markup).text, "the words are shown"


def harmless(markup: str) -> Seen:
    """What a browser makes of a page, after a look at all that it could do."""
    seen = Seen(markup)
    turning = {c for c in unescape(markup) if category(c) in ("Cc", "Cf", "Zl", "Zp")}
    assert turning <= {"\n"}, "no words turn those beside them"
    assert seen.tags <= TAGS
    assert seen.attributes.keys() <= ATTRIBUTES
    named = (seen.attributes.get(name, set()) for name in ("href", "src", "srcset"))
    below = {address.replace("../", "") for address in set().union(*named)}
    assert {address for address in below if not address.startswith(ADDRESSES)} == set()
    return seen


@pytest.mark.parametrize(("campaign", "name"), SHOWN)
def test_a_page_shows_a_strangers_words_and_no_markup_of_theirs(
    layout: Layout, campaign: str, name: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a page would show it, with a path of this machine
        check(page(name, layout.root, campaign))


def test_the_site_and_the_tables_take_a_strangers_words(layout: Layout) -> None:
    assert main(["tables", many.CAMPAIGN]) == 0
    assert main(["site", *CAMPAIGNS]) == 0
    site = layout.site_dir()
    seen = {
        str(path.relative_to(site)): harmless(path.read_text(encoding="utf-8")).text
        for path in site.rglob("*.html")
    }
    assert f"compare/{many.CAMPAIGN}/{AFTER}.html" in seen
    silent = {Path(path).name for path, text in seen.items() if WORDS not in text}
    assert silent == {"compare.html"}, "it names campaigns only"


def test_a_page_made_by_the_kernel_is_no_other(layout: Layout) -> None:
    executed, html = render(layout, many.CAMPAIGN, "method", 0.95, 120)
    check(html.read_text(encoding="utf-8"))
    cells = json.loads(executed.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert {output["output_type"] for output in outputs} == {"execute_result"}
    check("".join("".join(output["data"].get("text/html", "")) for output in outputs))


def test_a_parameter_is_a_value_and_never_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = "x'\"); open('made', 'w') #\nopen('made', 'w')\n!touch made"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notebooks").symlink_to(REPOSITORY / "notebooks")
    assert main(["render", campaign, "method"]) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"notebooks"}


def test_a_terminal_gets_no_escapes_of_strangers(
    layout: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", many.CAMPAIGN, "--all"]) == 0
    said = capsys.readouterr().out
    assert "<script>" in said
    assert {c for c in said if not c.isprintable()} == {"\n"}

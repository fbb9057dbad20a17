"""The messages that stand in the code, and catalogues that hold exactly these.

Layer: language. Reads modules, templates, notebooks, files of claims and of campaigns; writes
`<language>/*.po`. `make messages` brings the catalogues up to date: new messages stand in them
without translation, those that are gone are dropped.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from babel.messages.extract import extract_from_file

from commwall.language.catalogues import NOT_DONE, translations, write
from commwall.language.markdown import paragraphs
from commwall.language.translate import ENGLISH, LANGUAGES
from commwall.schema.claims import ClaimsFile
from commwall.schema.config import PlatformConfig
from commwall.schema.metric import DESIGN
from commwall.schema.metrics import METRICS
from commwall.schema.parsing import parse_model, parse_yaml

PACKAGE = Path("src/commwall")
PLACES = {"tr": 0, "trn": 1, "tr_later": 0, "phrase": 0, "Asked": 0}
"""Function -> which of its arguments is the message."""
IN_TEMPLATES = {"tr": None, "_": None}
_MARKDOWN = re.compile(r"^# %% \[markdown\]\n((?:#.*\n?)+)", re.MULTILINE)


def messages(root: Path) -> dict[str, set[str]]:
    """Catalogue -> messages that belong into it; one that several parts use is in the first.

    Args:
        root: the checkout.
    """
    parts = sorted(path for path in (root / PACKAGE).iterdir() if path.is_dir())
    found = {part.name: set(_of_modules(part)) | set(_of_templates(part)) for part in parts}
    found["metrics"] = set(_of_metrics())
    found["notebooks"] = set(_of_notebooks(root / "notebooks"))
    found["claim_files"] = set(_of_claim_files(root / "config" / "facts"))
    found["campaign_files"] = set(_of_campaign_files(root / "config" / "campaigns"))
    found["assumptions"] = set(_of_assumptions(root / "config" / "economics.yaml"))
    known: set[str] = set()
    for name, texts in found.items():
        found[name] = texts - known
        known |= texts
    return {name: texts for name, texts in found.items() if texts}


def update(root: Path) -> dict[str, int]:
    """Bring all catalogues up to date; returns how many messages of each have no translation."""
    wanted, missing = messages(root), {}
    for language in LANGUAGES.keys() - {ENGLISH}:
        folder = root / PACKAGE / "language" / language
        known = translations(folder)
        for path in folder.glob("*.po"):
            if path.stem not in wanted:
                path.unlink()
        for name, texts in wanted.items():
            filled = {text: known.get(text, NOT_DONE) for text in texts}
            write(folder / f"{name}.po", filled, language)
            missing[f"{language}/{name}"] = sum(text == NOT_DONE for text in filled.values())
    return missing


def _of_modules(part: Path) -> Iterator[str]:
    for path in sorted(part.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield from _of_call(node.func.id, node.args)


def _of_call(function: str, arguments: list[ast.expr]) -> Iterator[str]:
    """The message of a call; calls with a name in its place have theirs elsewhere."""
    place = PLACES.get(function, len(arguments))
    for argument in arguments[place : place + 1]:
        if isinstance(argument, ast.Constant):
            yield str(argument.value)


def _of_templates(part: Path) -> Iterator[str]:
    for path in sorted(part.rglob("*.j2")):
        method = "jinja2.ext:babel_extract"
        for _, message, _, _ in extract_from_file(method, path, keywords=IN_TEMPLATES):
            yield message if isinstance(message, str) else message[-1]


def _of_claim_files(folder: Path) -> Iterator[str]:
    """What the files of claims, and of the words they use, say in the project's own words."""
    words = folder / "vocabularies.yaml"
    for vocabulary in parse_yaml(words.read_text(encoding="utf-8"), words.name).values():
        yield vocabulary["title"]
    for path in sorted((folder / "claims").glob("*.yaml")):
        data = parse_yaml(path.read_text(encoding="utf-8"), path.name)
        file = parse_model(ClaimsFile, data, path.name)
        yield from (file.title, file.source)
        for claim in file.claims:
            yield claim.says
            yield from (unknown.words for unknown in claim.unknowns.values())
            yield from (shown.words for shown in claim.shown.values())


def _of_campaign_files(folder: Path) -> Iterator[str]:
    """Titles of campaigns and labels of treatments in the files that come with the project."""
    for path in sorted(folder.glob("*.yaml")):
        data = parse_yaml(path.read_text(encoding="utf-8"), path.name)
        yield data["title"]
        for asked in data["platforms"].values():
            label = parse_model(PlatformConfig, asked, path.name).treatment.label
            yield from (label.title, label.stands_for, label.does_not_cover)


def _of_assumptions(path: Path) -> Iterator[str]:
    """What the assumptions that come with the project say in words."""
    data = parse_yaml(path.read_text(encoding="utf-8"), path.name)
    yield from (data["title"], data["difference"].strip(), data["source"])
    yield from (data[side]["words"] for side in ("a", "b"))


def _of_metrics() -> Iterator[str]:
    yield DESIGN
    for metric in METRICS.values():
        yield from (metric.label, metric.unit, metric.definition)


def _of_notebooks(folder: Path) -> Iterator[str]:
    """Paragraphs of markdown cells; in code cells sentences (captions) and keys (table heads)."""
    for path in sorted(folder.glob("*.py")):
        source = path.read_text(encoding="utf-8")
        for cell in _MARKDOWN.findall(source):
            lines = (line.removeprefix("#").removeprefix(" ") for line in cell.splitlines())
            yield from (text for _, text in paragraphs("\n".join(lines)))
        for node in ast.walk(ast.parse(source)):
            keys = [key for key in node.keys if key] if isinstance(node, ast.Dict) else []
            texts = [one.value for one in (node, *keys) if isinstance(one, ast.Constant)]
            yield from (text for text in texts if isinstance(text, str) and (keys or " " in text))

"""What the texts must keep: links, anchors, commands and names that they mention exist."""

import argparse
import ast
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from functools import cache
from io import StringIO
from pathlib import Path

from commwall.cli.main import VERBS, configure
from tests.contracts.tree import PACKAGE, parsed

FENCED = re.compile(r"^ *```\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`([^`\n]+)`")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
NAME = re.compile(r"\bcommwall(?:\.[A-Za-z_]\w*)+")


def anchors(text: str) -> set[str]:
    """Anchors that a Markdown page's headings get."""
    words = (re.sub(r"[^\w\- ]", "", heading).lower() for heading in HEADING.findall(text))
    return {each.replace(" ", "-") for each in words}


def dead_anchors(text: str, read: Callable[[str], str]) -> list[str]:
    """Anchors in links of a text to pages that have no such heading; `read` takes "" for itself."""
    links = re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", text)
    return [
        f"dead anchor: {target}#{anchor}"
        for target, anchor in links
        if "://" not in target and anchor not in anchors(read(target))
    ]


def shown_commands(text: str) -> Iterator[list[str]]:
    """Words after `commwall` of every command in a text's blocks of code."""
    for block in FENCED.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            yield from _commands(line)


def mentioned_commands(text: str) -> Iterator[list[str]]:
    """The same of code within sentences, where arguments may be left out."""
    for code in INLINE.findall(FENCED.sub("", text)):
        yield from _commands(code)


def _commands(line: str) -> Iterator[list[str]]:
    for part in re.split(r"\||&&|;|>", line.removeprefix("$ ")):
        try:
            words = shlex.split(part, comments=True)
        except ValueError:  # a quotation mark of a sentence
            continue
        starts = [place for place in range(len(words)) if _starts_commwall(words, place)]
        if starts and (own := words[starts[0] + 1 :]):
            yield own


def _starts_commwall(words: list[str], place: int) -> bool:
    """Whether a word is the program and not its name in a sentence."""
    if words[place] == "commwall":
        return place == 0 or words[place - 1] == "-m"
    return words[place].endswith("bin/commwall")


def unknown_flag(words: list[str]) -> str | None:
    """What is wrong with a command's verb or the names of its flags."""
    if words[0] not in VERBS:
        return None if words[0].startswith(("-", "<", "VERB")) else f"no verb {words[0]}"
    known = _parser(words[0])._option_string_actions
    flags = [word.partition("=")[0] for word in words if word.startswith("--")]
    wrong = [flag for flag in flags if flag not in known]
    return f"{words[0]} has no {', '.join(wrong)}" if wrong else None


def refused(words: list[str]) -> str | None:
    """Why a verb would not take its arguments; a word in capitals stands for any argument."""
    said = StringIO()
    try:
        with redirect_stderr(said):
            _parser(words[0]).parse_args(words[1:])
    except SystemExit:
        return f"commwall {' '.join(words)}: {said.getvalue().splitlines()[-1]}"
    return None


@cache
def _parser(verb: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=verb, allow_abbrev=False)
    configure(verb, parser)
    return parser


def unknown_names(text: str) -> list[str]:
    """Dotted names of the package in a text that are no module and nothing in one."""
    return [name for name in NAME.findall(text) if not _exists(name.split(".")[1:])]


def _exists(parts: list[str]) -> bool:
    folder, rest = PACKAGE, list(parts)
    while rest and (folder / rest[0]).is_dir():
        folder /= rest.pop(0)
    module = folder / f"{rest[0]}.py" if rest else folder / "__init__.py"
    if rest and not module.exists():
        return _defines(parsed(folder / "__init__.py").body, rest)
    return _defines(_body(module), rest[1:])


@cache
def _body(module: Path) -> list[ast.stmt]:
    return parsed(module).body


def _defines(body: list[ast.stmt], names: list[str]) -> bool:
    """Whether statements define a name, and it in turn the next one."""
    if not names:
        return True
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == names[0]:
            return _defines(node.body, names[1:])
        if names[0] in _assigned(node):
            return len(names) == 1
    return False


def _assigned(node: ast.stmt) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}

"""What the house asks of files that are not package source: rules, notebooks, config, texts.

Each rule is a function from a text to violations, one line of text each.
"""

import ast
import re
from collections.abc import Callable, Iterator

import yaml
from pydantic import BaseModel

from tests.contracts.source_rules import dotted, path_edits

LOOPS = (ast.For, ast.AsyncFor, ast.While)
FORBIDDEN_IN_CELLS: tuple[tuple[tuple[type[ast.AST], ...], str], ...] = (
    ((ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda), "a function"),
    ((ast.ClassDef,), "a class"),
    (LOOPS, "a loop"),
    ((ast.Try, ast.TryStar), "try"),
)
INDEX_HOST = r"index[-]url|https?://[^\s\"'>)]*(pypi\.|pythonhosted|download\.pytorch|/simple/?\b)"
MACHINE_PATH = r"(?<![\w.$}/>*-])/(home|Users|root|work|scratch|tmp)/(?!somebody)[A-Za-z]\S*"
"""`somebody` is the user of examples."""


def matches(text: str, pattern: str, what: str) -> list[str]:
    """One violation for every line of a text in which a pattern is found."""
    return [
        f"line {number}: {what}: {found.group(0).strip()}"
        for number, line in enumerate(text.splitlines(), start=1)
        if (found := re.search(pattern, line))
    ]


def machine_paths(text: str) -> list[str]:
    """Absolute paths that exist on one machine only."""
    return matches(text, MACHINE_PATH, "path of a machine")


def index_hosts(text: str) -> list[str]:
    """Addresses of package indexes: which one to use is the user's pip setting."""
    return matches(text, INDEX_HOST, "package index")


def rule_directives(text: str) -> list[str]:
    """Directives that run code outside the package."""
    return matches(text, r"^\s+(script|run|notebook|wrapper)\s*:", "directive that runs code")


def path_mentions(text: str) -> list[str]:
    """Edits of the module search path in a Snakefile or rule file."""
    return matches(text, r"sys\.path|PYTHONPATH", "search path")


# Notebooks ---------------------------------------------------------------------------------


def cells(text: str) -> list[list[str]]:
    """Cells of a jupytext percent notebook as lists of lines, blank ones left out."""
    parts = re.split(r"^# %%.*$", text, flags=re.MULTILINE)[1:]
    return [[line for line in part.splitlines() if line.strip()] for part in parts]


def notebook_size(text: str) -> list[str]:
    """More than 25 cells, or a cell of more than 8 lines."""
    found = cells(text)
    many = [f"{len(found)} cells, at most 25"] if len(found) > 25 else []
    return many + [
        f"cell {number}: {len(cell)} lines, at most 8"
        for number, cell in enumerate(found, start=1)
        if len(cell) > 8
    ]


def notebook_code(text: str) -> list[str]:
    """Code that belongs into the package: functions, classes, loops, try, open, path edits."""
    tree = ast.parse(text)
    found = [
        f"line {node.lineno}: {word}"
        for node in ast.walk(tree)
        for kinds, word in FORBIDDEN_IN_CELLS
        if isinstance(node, kinds)
    ]
    opened = [
        f"line {node.lineno}: open"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] == "open"
    ]
    return found + opened + path_edits(tree)


# Config ------------------------------------------------------------------------------------


def keys_of(text: str) -> dict[str, int]:
    """Dotted key -> its line, counted from 0, of a YAML text."""

    def walk(node: yaml.Node | None, above: str) -> Iterator[tuple[str, int]]:
        if not isinstance(node, yaml.MappingNode):
            return
        for key, value in node.value:
            yield above + key.value, key.start_mark.line
            yield from walk(value, f"{above}{key.value}.")

    return dict(walk(yaml.compose(text, Loader=yaml.SafeLoader), ""))


def uncommented_keys(text: str) -> list[str]:
    """Keys without a comment in their line or in the line above."""
    lines = ["", *text.splitlines()]
    return [
        f"line {number + 1}: {key} has no comment"
        for key, number in keys_of(text).items()
        if "#" not in lines[number + 1] and not lines[number].strip().startswith("#")
    ]


def model_keys(model: type[BaseModel], above: str = "") -> set[str]:
    """Dotted keys of a model and of the models in it."""
    found = set()
    for name, field in model.model_fields.items():
        found.add(above + name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found |= model_keys(field.annotation, f"{above}{name}.")
    return found


def key_differences(text: str, model: type[BaseModel]) -> list[str]:
    """Keys that only the file or only the model knows."""
    in_file, in_model = set(keys_of(text)), model_keys(model)
    unknown = [f"{key}: not in {model.__name__}" for key in sorted(in_file - in_model)]
    return unknown + [f"{key}: not in the file" for key in sorted(in_model - in_file)]


# Texts -------------------------------------------------------------------------------------


def dead_links(text: str, exists: Callable[[str], bool]) -> list[str]:
    """Relative links of a Markdown text that lead nowhere."""
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    return [
        f"dead link: {target}" for target in targets if "://" not in target and not exists(target)
    ]


def unknown_words(text: str, pattern: str, known: set[str]) -> list[str]:
    """Words that a text offers (first group of the pattern) and that do not exist."""
    return [word for word in re.findall(pattern, text) if word not in known]

"""From the text of a YAML or JSON file to a model, with every problem named at once.

Layer: schema. Pure: the caller reads the file. Texts may come from strangers: what is read takes
time and memory in proportion to its length, makes no objects but plain values, and an error shows
no more of it than fits on a screen.
"""

import difflib
import json
import re
import types
import typing
from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from commwall.schema.errors import ConfigError

M = TypeVar("M", bound=BaseModel)


MOST_VALUES = 1_000_000
"""Of a JSON text, about; a record with more numbers would be larger than a bundle takes."""
LONGEST_YAML = 2**18
"""Characters of a YAML text; so many take two seconds to read."""
MOST_NODES = 100_000
"""Values of a YAML text with all its aliases written out."""
LONGEST_WHOLE_NUMBER = 40
"""Characters; Python reads thousands of digits, and prints no more than 4300."""
MOST_PROBLEMS = 50
"""Of one file; how many more there are is said."""
MOST_ERRORS = 10_000
"""More of them cost memory even to list: only their number is told."""
LONGEST_SHOWN = 200
"""Characters that an error shows of a key or value."""
LONGEST_REASON = 600
"""Of a reason that our own models give: it ends with what to do instead."""
_HALF_OF_A_PAIR = re.compile(r"\\u[dD][89a-fA-F]")
_MERGE = "tag:yaml.org,2002:merge"
_WHOLE_NUMBER = "tag:yaml.org,2002:int"
_NO_VALUE = (ValueError, LookupError, TypeError, AttributeError, OverflowError)
"""What PyYAML lets through of a text that has a type's looks but no value: 2024-13-45."""


class _StrictLoader(yaml.SafeLoader):
    """Refuses a key that stands twice in one mapping, and says where a value cannot be read."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if node.tag == _WHOLE_NUMBER and len(node.value) > LONGEST_WHOLE_NUMBER:
            problem = f"a whole number of {len(node.value)} characters"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        try:
            return super().construct_object(node, deep=deep)
        except _NO_VALUE as error:
            problem = f"{node.value!r} cannot be read as {node.tag.rpartition(':')[2]}: {error}"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from error

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE:
                continue  # its keys may be overridden; what stands beside it is checked
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key is a list or a mapping", key_node.start_mark
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} stands twice", key_node.start_mark
                )
            seen.add(key)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return mapping


def parse_yaml(text: str, where: str) -> Any:
    """The value of a YAML text.

    Args:
        text: content of the file.
        where: its name, for the error.

    Raises:
        ConfigError: with line and column, if the text is not YAML, repeats a key, or holds too
            much once its aliases are written out.
    """
    if len(text) > LONGEST_YAML:
        raise _unreadable(where, None, f"{len(text)} characters, more than {LONGEST_YAML}")
    loader = None
    try:
        loader = _StrictLoader(text)
        node = loader.get_single_node()
        if node and _written_out(node, {}) > MOST_NODES:
            problem = f"more than {MOST_NODES} values once its aliases are written out"
            raise _unreadable(where, node.start_mark, problem)
        return loader.construct_document(node) if node else None
    except yaml.YAMLError as error:
        problem = str(getattr(error, "problem", error))
        raise _unreadable(where, getattr(error, "problem_mark", None), problem) from error
    except RecursionError as error:
        mark = loader.get_mark() if loader else None
        raise _unreadable(where, mark, "brackets or lists nested too deeply") from error


def _written_out(node: yaml.Node, known: dict[int, int]) -> int:
    """Values below a node, those below an alias as often as it stands there."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = MOST_NODES  # what holds itself has no end
    inner: list[yaml.Node] = []
    if isinstance(node, yaml.SequenceNode):
        inner = node.value
    elif isinstance(node, yaml.MappingNode):
        inner = [part for pair in node.value for part in pair]
    known[id(node)] = 1 + sum(_written_out(part, known) for part in inner)
    return known[id(node)]


def _unreadable(where: str, mark: yaml.Mark | None, found: str) -> ConfigError:
    return ConfigError(
        "cannot read a YAML file",
        where=where + (f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""),
        found=found,
        expected="valid YAML, each key once",
        next_step="correct the line and run again; nothing was started",
    )


def parse_model(model: type[M], data: Any, where: str) -> M:
    """Validate data as a model.

    Args:
        model: what the data should be.
        data: a parsed YAML or JSON value.
        where: name of the file it came from, for the error.

    Raises:
        ConfigError: lists every wrong key and value with file, key and the nearest known key; of
            very many the first, and how many there are.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        count = error.error_count()
        items = error.errors(include_url=False) if count <= MOST_ERRORS else []
        problems = [_problem(model, item, data) for item in items[:MOST_PROBLEMS]]
        if count > len(problems):
            problems.append(f"{count - len(problems)} more" if problems else f"{count} of them")
        told = "\n".join(problems)
        raise ConfigError(
            f"{max(count, len(told.splitlines()))} problem(s) in {where}",
            where=where,
            found=told,
            next_step="correct the file and run again; nothing was started",
        ) from error


def parse_json(text: str | bytes, where: str) -> Any:
    """The value of a JSON text in UTF-8.

    Args:
        text: content of the file.
        where: its name, for the error.

    Raises:
        ConfigError: if it is not JSON (truncated, say), repeats a key, so that others may read it
            otherwise, holds half a character, or is too large or nested too deeply.
    """
    try:
        own = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        if own.count(",") > MOST_VALUES:
            raise ValueError(f"more than {MOST_VALUES} values")
        value = json.loads(own, object_pairs_hook=_each_key_once)
        if _HALF_OF_A_PAIR.search(own):
            json.dumps(value, ensure_ascii=False).encode()  # raises for half a pair
    except (ValueError, RecursionError) as error:
        deep = isinstance(error, RecursionError)
        found = "brackets nested too deeply" if deep else _shortened(str(error))
        raise ConfigError(
            "cannot read a JSON file", where=where, found=found, expected="a whole JSON text"
        ) from error
    return value


def parse_json_model(model: type[M], text: str | bytes, where: str) -> M:
    """Validate a JSON text as a model.

    Raises:
        ConfigError: if `parse_json` refuses it or it is not such a model.
    """
    return parse_model(model, parse_json(text, where), where)


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise ValueError(f"key {twice!r} stands twice")
    return found


def nearest(word: str, known: typing.Iterable[str]) -> str | None:
    """The known word most like `word`, or None if none is near."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)), None)


def _problem(model: type[BaseModel], item: Any, data: Any) -> str:
    """A line for one of pydantic's errors, and one for each key that may have caused it."""
    parts = _without_tags(item["loc"], data, keep_last=item["type"] == "missing")
    place = _shortened(".".join(parts)) or "(the whole file)"
    if item["type"] == "extra_forbidden":
        return (
            f"{place}: {_unknown_key(str(item['loc'][-1]), _known_keys(model, item['loc'][:-1]))}"
        )
    if item["type"] == "union_tag_not_found":
        return _missing_tag(place, item, _known_keys(model, item["loc"]))
    if item["type"] == "too_short" and item["ctx"]["min_length"] == 1:
        return f"{place}: must not be empty"
    own = item["type"] == "value_error"
    reason = item["msg"].removeprefix("Value error, ")
    message = _shortened(reason, LONGEST_REASON if own else LONGEST_SHOWN)
    given = item.get("input")
    untold = isinstance(given, Mapping | list) or given is None
    shown = "" if untold else f" (found {_shortened(repr(given))})"
    return f"{place}: {message}{shown}"


def _shortened(text: str, longest: int = LONGEST_SHOWN) -> str:
    return text if len(text) <= longest else f"{text[:longest]} …"


def _unknown_key(key: str, known: set[str]) -> str:
    near = nearest(key, known)
    hint = f"did you mean {near!r}?" if near else f"known keys: {', '.join(sorted(known))}"
    return f"unknown key; {hint}"


def _missing_tag(place: str, item: Any, known: set[str]) -> str:
    """The key that chooses a variant is missing; a stranger among the keys may be it."""
    given = item["input"]
    strangers = (
        [str(key) for key in given if key not in known] if isinstance(given, Mapping) else []
    )
    told = "".join(
        f"\n{place}.{_shortened(key)}: {_unknown_key(key, known)}"
        for key in strangers[:MOST_PROBLEMS]
    )
    return f"{place}: key {item['ctx']['discriminator']} is missing{told}"


def _without_tags(path: tuple[Any, ...], data: Any, *, keep_last: bool) -> list[str]:
    """The path as the file has it: pydantic inserts which variant of a model it tried."""
    kept = []
    for place, part in enumerate(path):
        stranger = isinstance(data, Mapping) and part not in data
        if stranger and not (keep_last and place == len(path) - 1):
            continue
        kept.append(str(part))
        inside = isinstance(data, Mapping) or (isinstance(data, list) and isinstance(part, int))
        data = data[part] if inside and not stranger else None
    return kept


def _known_keys(model: type[BaseModel], path: tuple[Any, ...]) -> set[str]:
    """Keys allowed at a place inside a model; of all variants where a union is possible."""
    reached: set[type[BaseModel]] = {model}
    for part in path:
        following: set[type[BaseModel]] = set()
        for candidate in reached:
            field = candidate.model_fields.get(str(part))
            following |= _models_in(field.annotation) if field else {candidate}
        # A tag in the path names the variant that was tried: its keys alone count.
        reached = {each for each in following if _has_tag(each, part)} or following or reached
    return {key for candidate in reached for key in candidate.model_fields}


def _has_tag(model: type[BaseModel], part: Any) -> bool:
    """Whether this is the variant of a union that carries that tag."""
    return any(typing.get_args(each.annotation) == (part,) for each in model.model_fields.values())


def _models_in(annotation: Any) -> set[type[BaseModel]]:
    """All models a type annotation mentions."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return {annotation} if issubclass(annotation, BaseModel) else set()
    return {found for part in typing.get_args(annotation) for found in _models_in(part)}

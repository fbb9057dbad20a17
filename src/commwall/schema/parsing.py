"""From the text of a YAML or JSON file to a model, with every problem named at once.

Layer: schema. Pure: the caller reads the file.
"""

import difflib
import json
import types
import typing
from collections.abc import Hashable, Mapping
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from commwall.schema.errors import ConfigError

M = TypeVar("M", bound=BaseModel)


_MERGE = "tag:yaml.org,2002:merge"
_NO_VALUE = (ValueError, LookupError, TypeError, AttributeError, OverflowError)
"""What PyYAML lets through of a text that has a type's looks but no value: 2024-13-45."""


class _StrictLoader(yaml.SafeLoader):
    """Refuses a key that stands twice in one mapping, and says where a value cannot be read."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
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
        ConfigError: with line and column, if the text is not YAML or repeats a key.
    """
    loader = None
    try:
        loader = _StrictLoader(text)
        return loader.get_single_data()
    except yaml.YAMLError as error:
        problem = str(getattr(error, "problem", error))
        raise _unreadable(where, getattr(error, "problem_mark", None), problem) from error
    except RecursionError as error:
        mark = loader.get_mark() if loader else None
        raise _unreadable(where, mark, "brackets or lists nested too deeply") from error


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
        ConfigError: lists every wrong key and value with file, key and the nearest known key.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems = "\n".join(_problem(model, item, data) for item in error.errors())
        raise ConfigError(
            f"{len(problems.splitlines())} problem(s) in {where}",
            where=where,
            found=problems,
            next_step="correct the file and run again; nothing was started",
        ) from error


def parse_json_model(model: type[M], text: str | bytes, where: str) -> M:
    """Validate a JSON text as a model.

    Raises:
        ConfigError: if the text is not JSON (truncated, say) or not such a model.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ConfigError(
            "cannot read a JSON file", where=where, found=str(error), expected="a whole JSON text"
        ) from error
    return parse_model(model, data, where)


def nearest(word: str, known: typing.Iterable[str]) -> str | None:
    """The known word most like `word`, or None if none is near."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)), None)


def _problem(model: type[BaseModel], item: Any, data: Any) -> str:
    """A line for one of pydantic's errors, and one for each key that may have caused it."""
    parts = _without_tags(item["loc"], data, keep_last=item["type"] == "missing")
    place = ".".join(parts) or "(the whole file)"
    if item["type"] == "extra_forbidden":
        return (
            f"{place}: {_unknown_key(str(item['loc'][-1]), _known_keys(model, item['loc'][:-1]))}"
        )
    if item["type"] == "union_tag_not_found":
        return _missing_tag(place, item, _known_keys(model, item["loc"]))
    if item["type"] == "too_short" and item["ctx"]["min_length"] == 1:
        return f"{place}: must not be empty"
    message = item["msg"].removeprefix("Value error, ")
    given = item.get("input")
    shown = "" if isinstance(given, Mapping | list) or given is None else f" (found {given!r})"
    return f"{place}: {message}{shown}"


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
    told = "".join(f"\n{place}.{key}: {_unknown_key(key, known)}" for key in strangers)
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

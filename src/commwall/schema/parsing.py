"""From the text of a YAML or JSON file to a model, with every problem named at once.

Layer: schema. Pure: the caller reads the file.
"""

import difflib
import json
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from commwall.schema.errors import ConfigError

M = TypeVar("M", bound=BaseModel)


_MERGE = "tag:yaml.org,2002:merge"


class _StrictLoader(yaml.SafeLoader):
    """Refuses a key that stands twice in one mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE:
                continue  # its keys may be overridden; what stands beside it is checked
            key = self.construct_object(key_node, deep=True)
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
    try:
        return yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(
            "cannot read a YAML file",
            where=where + place,
            found=str(getattr(error, "problem", error)),
            expected="valid YAML, each key once",
            next_step="correct the line and run again; nothing was started",
        ) from error


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
        problems = [_problem(model, item, data) for item in error.errors()]
        raise ConfigError(
            f"{len(problems)} problem(s) in {where}",
            where=where,
            found="\n".join(problems),
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
    """One line for one of pydantic's errors."""
    parts = _without_tags(item["loc"], data, keep_last=item["type"] == "missing")
    place = ".".join(parts) or "(the whole file)"
    if item["type"] == "extra_forbidden":
        known = _known_keys(model, item["loc"][:-1])
        near = nearest(str(item["loc"][-1]), known)
        hint = f"did you mean {near!r}?" if near else f"known keys: {', '.join(sorted(known))}"
        return f"{place}: unknown key; {hint}"
    message = item["msg"].removeprefix("Value error, ")
    given = item.get("input")
    shown = "" if isinstance(given, Mapping | list) or given is None else f" (found {given!r})"
    return f"{place}: {message}{shown}"


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
        reached = following or reached
    return {key for candidate in reached for key in candidate.model_fields}


def _models_in(annotation: Any) -> set[type[BaseModel]]:
    """All models a type annotation mentions."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return {annotation} if issubclass(annotation, BaseModel) else set()
    return {found for part in typing.get_args(annotation) for found in _models_in(part)}

"""Partial validation: the valid part of a malformed document, so that no mistake hides another."""

from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError

from gitops_dsf.repository.load import Document, Path
from gitops_dsf.repository.model.base import Authored
from gitops_dsf.repository.model.field_model import field_at, model_at, scalar_types
from gitops_dsf.repository.model.mistake import written_path

_ROUNDS = 5
"""Validation repeats because removing a field can leave a required one missing, and a placeholder object can
have required fields of its own.
"""


def valid_part(model: type[Authored], document: Document) -> Authored | None:
    """Removes invalid fields, puts placeholders into missing required ones, and validates what is left.

    Returns None when the document has no spec, or when it is still invalid after a few rounds.
    """
    data: Any = document.data
    if not isinstance(data.get("spec"), dict) or not data["spec"]:
        return None
    for _ in range(_ROUNDS):
        try:
            return model.model_validate(data)
        except ValidationError as error:
            errors = error.errors(include_url=False)
        for item in errors:
            path = written_path(item, data)
            data = (
                _fill(data, path, _placeholder(model, path))
                if item["type"] == "missing"
                else drop(data, _removable(path))
            )
    return None


def drop(value: Any, path: Path) -> Any:  # noqa: ANN401 - whatever YAML holds
    """Returns a copy without the field at this path."""
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(value, dict) and head in value:
        if not rest:
            return {key: item for key, item in value.items() if key != head}
        return {key: drop(item, rest) if key == head else item for key, item in value.items()}
    if isinstance(value, list) and isinstance(head, int) and head < len(value) and rest:
        return [drop(item, rest) if index == head else item for index, item in enumerate(value)]
    return value


def _removable(path: Path) -> Path:
    """The list, if the path leads to one of its items: removing an item would shift the others."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    return path


def _fill(value: Any, path: Path, filling: Any) -> Any:  # noqa: ANN401 - whatever YAML holds
    head, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {**value, head: filling if not rest else _fill(value.get(head), rest, filling)}
    if isinstance(value, list) and isinstance(head, int) and head < len(value) and rest:
        return [_fill(item, rest, filling) if index == head else item for index, item in enumerate(value)]
    return value


def _placeholder(model: type[BaseModel], path: Path) -> Any:  # noqa: ANN401 - a value of the field's type
    """A value that the field accepts."""
    if model_at(model, path) is not None and get_origin(field_at(model, path)) is not list:
        return {}
    for kind in scalar_types(field_at(model, path)):
        if get_origin(kind) is Literal:
            return get_args(kind)[0]
        if kind in {int, float}:
            return 1
        if get_origin(kind) is list:
            return []
    return "x"

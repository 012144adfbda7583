"""A document with its mistakes cut out, so that one of them does not hide the others."""

from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError

from gitops_dsf.repository.load import Document, Path
from gitops_dsf.repository.model.base import Authored
from gitops_dsf.repository.model.field_model import field_at, model_at, scalar_types
from gitops_dsf.repository.model.mistake import written_path

_ROUNDS = 5
"""A cut can leave a field missing, and a filled field can be one whose own fields are missing: each takes a
round.
"""


def mend(model: type[Authored], document: Document) -> Authored | None:
    """The object without what is wrong in it; fields that must be there are made up. None when nothing
    sensible is left, or when nothing was written: then everything would be made up.
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
                _fill(data, path, _made_up(model, path))
                if item["type"] == "missing"
                else drop(data, _cut(path))
            )
    return None


def drop(value: Any, path: Path) -> Any:  # noqa: ANN401 - whatever YAML holds
    """A copy without the field at this place. The Kubernetes API, too, drops a null before it applies
    defaults.
    """
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


def _cut(path: Path) -> Path:
    """A list loses no single item: the places of those behind it would change."""
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


def _made_up(model: type[BaseModel], path: Path) -> Any:  # noqa: ANN401 - a value of the field's type
    """The least that the field takes."""
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

"""Which model describes a place inside a document."""

from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from gitops_dsf.load import Path


def model_at(model: type[BaseModel], path: Path) -> type[BaseModel] | None:
    """The model of the object at a path, or None where no model describes it (free-form objects, scalars)."""
    current: Any = model
    for part in path:
        if isinstance(part, int):
            current = _item(current)
            continue
        owner = _model(current)
        if owner is None:
            return None
        field = next((field for name, field in owner.model_fields.items() if part in {name, field.alias}), None)
        if field is None:
            return None
        current = field.annotation
    return _model(current)


def field_at(model: type[BaseModel], path: Path) -> Any:  # noqa: ANN401 - any annotation
    """The annotation of the field at a path, or None where no model describes it."""
    owner = model_at(model, path[:-1])
    if owner is None or not path:
        return None
    return next((field.annotation for name, field in owner.model_fields.items() if path[-1] in {name, field.alias}), None)


def _branches(annotation: Any) -> list[Any]:  # noqa: ANN401 - any annotation
    origin = get_origin(annotation)
    if origin is Annotated:
        return _branches(get_args(annotation)[0])
    if origin in {Union, UnionType}:
        return [branch for part in get_args(annotation) for branch in _branches(part)]
    return [annotation]


def _model(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 - any annotation
    for branch in _branches(annotation):
        if isinstance(branch, type) and issubclass(branch, BaseModel):
            return branch
    return None


def _item(annotation: Any) -> Any:  # noqa: ANN401 - any annotation
    for branch in _branches(annotation):
        if get_origin(branch) is list:
            return get_args(branch)[0]
    return None

"""Finds the model and the docstring that describe a field, and the place of an unknown field."""

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Final, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from gitops_dsf.repository.load import FieldPath
from gitops_dsf.repository.model.base import Authored

_MAX_LEVELS_BELOW: Final = 3


class _Below(NamedTuple):
    """An object below a model, and the path to it."""

    path: FieldPath
    model: type[BaseModel]


def field_names(model: type[BaseModel]) -> list[str]:
    """The fields of a model as people write them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def model_at(model: type[BaseModel], path: FieldPath) -> type[BaseModel] | None:
    """The model of the object at a path; None for free-form objects and scalars."""
    return _model(field_at(model, path))


def field_at(model: type[BaseModel], path: FieldPath) -> Any:  # noqa: ANN401 - any annotation
    """The annotation of the value at a path; None if no model describes it."""
    current: Any = model
    for part in path:
        owner = _model(current)
        if isinstance(part, int):
            current = _inside(current, list)
        elif owner is None:
            current = _inside(current, dict)
        else:
            current = _annotation(owner, part)
    return current


def refusal(model: type[BaseModel], path: FieldPath, text: str) -> ErrorDetails | None:
    """The reason why the field at a path takes no text; None if it does, or without a model."""
    owner = model_at(model, path[:-1])
    python_names: dict[str | int, str] = {}
    if owner is not None:
        python_names = {field.alias or name: name for name, field in owner.model_fields.items()}
    try:
        if owner is not None and path[-1] in python_names:
            # The annotation of a field lacks its constraints, which pydantic keeps beside it.
            _field_adapter(owner, python_names[path[-1]]).validate_python(text)
        elif (annotation := field_at(model, path)) is not None:
            TypeAdapter(annotation).validate_python(text)
    except ValidationError as error:
        return error.errors(include_url=False)[0]
    return None


@cache
def _field_adapter(owner: type[BaseModel], name: str) -> TypeAdapter[Any]:
    field = owner.model_fields[name]
    annotation: Any = field.annotation
    for constraint in field.metadata:
        annotation = Annotated[annotation, constraint]
    return TypeAdapter(annotation)


def scalar_types(annotation: Any) -> frozenset[Any]:  # noqa: ANN401 - any annotation
    """The types that an annotation allows, without None. Literals are returned as they are."""
    return frozenset(branch for branch in _branches(annotation) if branch is not NoneType)


def _branches(annotation: Any) -> list[Any]:  # noqa: ANN401 - any annotation
    origin = get_origin(annotation)
    if origin is Annotated:
        return _branches(get_args(annotation)[0])
    # `X | None` in an annotation is a UnionType, and pydantic's own unions are typing.Union.
    if origin in {Union, UnionType}:
        return [branch for part in get_args(annotation) for branch in _branches(part)]
    return [annotation]


def _annotation(owner: type[BaseModel], name: str) -> Any:  # noqa: ANN401 - any annotation
    """The annotation of a field, by its name in YAML or in Python; None if there is none."""
    for python_name, field in owner.model_fields.items():
        if name in {python_name, field.alias}:
            return field.annotation
    return None


def _model(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 - any annotation
    for branch in _branches(annotation):
        if isinstance(branch, type) and issubclass(branch, BaseModel):
            return branch
    return None


def _inside(annotation: Any, kind: type) -> Any:  # noqa: ANN401 - any annotation
    """The type of the items of a list, or of the values of a dict with arbitrary keys."""
    for branch in _branches(annotation):
        if get_origin(branch) is kind:
            return get_args(branch)[-1]
    return None


def places_elsewhere(model: type[BaseModel], path: FieldPath) -> list[FieldPath]:
    """The paths at which the last name of `path` is a field.

    That is the nearest object above that has it, or else the objects below that have it, nearest
    first. Objects in lists are not searched.
    """
    name = path[-1]
    for length in range(len(path) - 2, -1, -1):
        above = model_at(model, path[:length])
        if above is not None and name in field_names(above):
            return [(*path[:length], name)]
    owner = model_at(model, path[:-1])
    if owner is None:
        return []
    for level in _objects_below(owner):
        places: list[FieldPath] = []
        for below in level:
            if name in field_names(below.model):
                places.append((*path[:-1], *below.path, name))
        # A field that is nearer is more likely meant than one of the same name further down.
        if places:
            return places
    return []


@cache
def _objects_below(model: type[BaseModel]) -> tuple[tuple[_Below, ...], ...]:
    """The objects below a model, a tuple for each level, nearest first.

    They are kept, because a file may have thousands of unknown fields.
    """
    levels: list[tuple[_Below, ...]] = [(_Below((), model),)]
    for _ in range(_MAX_LEVELS_BELOW):
        levels.append(tuple(_next_level(levels[-1])))
    return tuple(levels[1:])


def _next_level(level: Iterable[_Below]) -> Iterator[_Below]:
    for owner in level:
        for field in field_names(owner.model):
            model = model_at(owner.model, (field,))
            if model is not None:
                yield _Below((*owner.path, field), model)


@cache
def field_docs(model: type[BaseModel]) -> Mapping[str, str]:
    """Each documented field, as Python names it, with its docstring; also those of base classes."""
    docs: dict[str, str] = {}
    # Base classes first, so that a class that declares a field again describes it.
    for owner in reversed(model.__mro__):
        if issubclass(owner, Authored):
            docs |= _classes(owner.__module__).get(owner.__name__, {})
    return docs


@cache
def _classes(module: str) -> Mapping[str, Mapping[str, str]]:
    """The documented fields of every class of a module."""
    source = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: _documented(node) for node in source.body if isinstance(node, ast.ClassDef)}


def _documented(node: ast.ClassDef) -> Mapping[str, str]:
    """The docstring below each field. Python drops it, so it is read from the source."""
    docs: dict[str, str] = {}
    for statements in pairwise(node.body):
        match statements:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(
                value=ast.Constant(value=str(text))
            ):
                docs[name] = unwrapped(text)
    return docs


def unwrapped(docstring: str | None) -> str:
    """A docstring as text: each paragraph on one line, with an empty line between them."""
    paragraphs = inspect.cleandoc(docstring or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)

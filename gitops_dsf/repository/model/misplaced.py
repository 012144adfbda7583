"""Finds where an unknown field belongs, if it is a field of an object above or below."""

from collections.abc import Iterator

from pydantic import BaseModel

from gitops_dsf.repository.load import Path
from gitops_dsf.repository.model.field_model import field_names, model_at

_MOST_LEVELS_BELOW = 3


def places_elsewhere(model: type[BaseModel], path: Path) -> list[Path]:
    """Returns the paths at which the last name of `path` is a field: the nearest object above that has it, or
    else the objects below that have it, nearest first. Objects in lists are not searched.
    """
    name = path[-1]
    for length in range(len(path) - 2, -1, -1):
        above = model_at(model, path[:length])
        if above is not None and name in field_names(above):
            return [(*path[:length], name)]
    level = [(tuple(path[:-1]), model_at(model, path[:-1]))]
    for _ in range(_MOST_LEVELS_BELOW):
        level = [child for where, owner in level if owner is not None for child in _objects(owner, where)]
        found: list[Path] = [
            (*where, name) for where, owner in level if owner is not None and name in field_names(owner)
        ]
        if found:
            return found
    return []


def _objects(owner: type[BaseModel], where: Path) -> Iterator[tuple[Path, type[BaseModel] | None]]:
    for field in field_names(owner):
        below = model_at(owner, (field,))
        if below is not None:
            yield (*where, field), below

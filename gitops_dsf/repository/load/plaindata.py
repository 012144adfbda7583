"""Values in plain data, as YAML and JSON have it, found by a path of field names and indices."""

from collections.abc import Iterator
from typing import Any

FieldPath = tuple[str | int, ...]
"""Field names and list indices from the root, such as ("spec", "masks", 0, "clusterName")."""


def value_at(data: Any, path: FieldPath, missing: Any = None) -> Any:  # noqa: ANN401 - plain data
    """The plain value at a path; `missing` if there is none."""
    for part in path:
        if isinstance(data, dict):
            data = data.get(part, missing)
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return missing
    return data


def texts_in(data: Any, path: FieldPath = ()) -> Iterator[tuple[FieldPath, str]]:  # noqa: ANN401 - plain data
    """Every string at or below a path, with its own path."""
    if isinstance(data, str):
        yield path, data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from texts_in(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from texts_in(value, (*path, index))

"""Finds the fields of an object that changed, with readable paths."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

ABSENT: Final = None
"""A missing field. Kubernetes drops nulls, so null counts as missing."""


class FieldChange(Struct, frozen=True, kw_only=True):
    """One field: its path (such as `source.params.query`), and its value before and after; None if it is
    missing.
    """

    path: str
    before: Any
    after: Any


def field_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """Returns the leaves that differ, in order of path."""
    old, new = dict(_leaves(before, "")), dict(_leaves(after, ""))
    changed = (path for path in sorted({*old, *new}) if old.get(path, ABSENT) != new.get(path, ABSENT))
    return tuple(
        FieldChange(path=path, before=old.get(path, ABSENT), after=new.get(path, ABSENT)) for path in changed
    )


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - whatever an object holds
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key))
    elif (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and value
        and all(isinstance(item, Mapping) for item in value)
    ):
        titles = [_title(item) for item in value]
        for index, item in enumerate(value):
            # If titles were not unique, one item would hide another.
            name = titles[index] if titles[index] and titles.count(titles[index]) == 1 else str(index)
            yield from _leaves(item, f"{path}[{name}]")
    else:
        yield path, value


def _title(item: Mapping[str, Any]) -> str:
    """A readable name for an item of a list: the prioritizer's score, a toleration's key, or a name."""
    coordinate = item.get("scoreCoordinate")
    if isinstance(coordinate, Mapping):
        add_on = coordinate.get("addOn")
        if isinstance(add_on, Mapping):
            return f"{add_on.get('resourceName')}/{add_on.get('scoreName')}"
        return str(coordinate.get("builtIn") or "")
    for key in ("groupName", "name", "key", "scorer"):
        if isinstance(item.get(key), str):
            return str(item[key])
    return ""

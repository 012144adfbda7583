"""Differences between two versions of an object, field by field."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from gitops_dsf.repository.model.base import Metadata


class ChangeKind(StrEnum):
    """Whether an object is added, removed or changed."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"

    @classmethod
    def of(cls, before: object | None, after: object | None) -> "ChangeKind":
        """The kind of change of an object of which at least one version exists."""
        if before is None:
            return cls.ADDED
        return cls.REMOVED if after is None else cls.CHANGED


class FieldChange(Struct, frozen=True, kw_only=True):
    """One field by its path, such as `source.params.query`. A missing value is null."""

    path: str
    before: Any
    after: Any


def field_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """Returns the leaves that differ, in order of path."""
    return tuple(sorted(_differing(before, after, ""), key=lambda change: change.path))


def _differing(before: Any, after: Any, path: str) -> Iterator[FieldChange]:  # noqa: ANN401 - whatever an object holds
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping) and before and after:
        # Kubernetes drops nulls, so null counts as missing.
        for key in {**before, **after}:
            yield from _differing(before.get(key), after.get(key), _inside(path, key))
        return
    old = dict(_leaves(before, path))
    new = dict(_leaves(after, path))
    for leaf in {**old, **new}:
        if old.get(leaf) != new.get(leaf):
            yield FieldChange(path=leaf, before=old.get(leaf), after=new.get(leaf))


def written_metadata(metadata: Metadata) -> dict[str, Any]:
    """Labels and annotations as people wrote them. Other programs may obey them."""
    return {"annotations": metadata.annotations, "labels": metadata.labels}


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - whatever an object holds
    """Every value that is neither an object nor a list of objects, with its path.

    A list of scalars is one leaf: it changes as a whole. Empty objects and lists are leaves, too.
    """
    if isinstance(value, Mapping) and value:
        for key, child in value.items():
            yield from _leaves(child, _inside(path, key))
    elif _is_list_of_objects(value):
        # Items are matched by name and not by index: an entry that is added in front would change
        # all others.
        titles = list(map(_title, value))
        for index, child in enumerate(value):
            # The title is unique, or one object of the list would hide another.
            is_unique = bool(titles[index]) and titles.count(titles[index]) == 1
            name = titles[index] if is_unique else str(index)
            yield from _leaves(child, f"{path}[{name}]")
    else:
        yield path, value


def _inside(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)


def _is_list_of_objects(value: Any) -> bool:  # noqa: ANN401 - whatever an object holds
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(isinstance(child, Mapping) for child in value)


def _title(child: Mapping[str, Any]) -> str:
    """The name that people use for an object of a list; empty if it has none.

    It is a prioritizer's score, a score that ranks, a toleration's key, or a name. So an object
    that moves to another place of its list is found again.
    """
    coordinate = child.get("scoreCoordinate")
    if isinstance(coordinate, Mapping):
        add_on = coordinate.get("addOn")
        if isinstance(add_on, Mapping):
            return f"{add_on.get('resourceName')}/{add_on.get('scoreName')}"
        return str(coordinate.get("builtIn") or "")
    add_on = child.get("addOn")
    if isinstance(add_on, Mapping):
        return f"{add_on.get('resource')}/{add_on.get('name')}"
    for key in ("groupName", "name", "key", "scorer", "builtIn", "resource"):
        if isinstance(child.get(key), str):
            return str(child[key])
    return ""

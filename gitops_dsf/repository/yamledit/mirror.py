"""Updates a commented YAML tree to given values, without touching values that are equal."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.scalarstring import (
    DoubleQuotedScalarString,
    LiteralScalarString,
    SingleQuotedScalarString,
)

from gitops_dsf.canonicalyaml import is_block
from gitops_dsf.diagnostics import Edit
from gitops_dsf.repository.load.scalar import resolve_plain

_QUOTED: Final = (SingleQuotedScalarString, DoubleQuotedScalarString)


def mirror(target: CommentedMap, values: Mapping[str, Any], *, path: str = "") -> Iterator[str]:
    """Sets and removes fields until the mapping holds exactly the values.

    Yields each change in words.
    """
    for key in [key for key in target if key not in values]:
        yield f"{path}{key} removed"
        del target[key]
    for key, value in values.items():
        where = f"{path}{key}"
        is_leaf = not isinstance(value, (Mapping, list))
        if key not in target:
            yield f"{where}: {_shown(value)} added" if is_leaf else f"{where} added"
            place(target, key, value)
        elif isinstance(value, Mapping) and isinstance(target[key], CommentedMap):
            yield from mirror(target[key], value, path=f"{where}.")
        elif (new := _by_identity(value)) is not None and (
            old := _by_identity(target[key])
        ) is not None:
            yield from _mirror_list(target[key], old, new, path=where)
        elif not same(target[key], value):
            yield (
                f"{where}: {_shown(target[key])} -> {_shown(value)}"
                if is_leaf
                else f"{where} changed"
            )
            target[key] = owned(value)


def apply(content: Any, edit: Edit) -> bool:  # noqa: ANN401 - whatever YAML holds
    """Makes one edit of a document. Returns False if the document does not have the place.

    A field that is added brings the objects that it is in.
    """
    *parents, key = edit.path
    way = [content]
    for part in parents:
        if not _holds(way[-1], part):
            if edit.value is None or not isinstance(way[-1], CommentedMap):
                return False
            way[-1].insert(0, owned(part), CommentedMap())
        way.append(way[-1][part])
    holder = way[-1]
    if edit.value is not None:
        if _holds(holder, key):
            old, new = holder[key], owned(edit.value)
            holder[key] = (
                type(old)(new) if isinstance(old, _QUOTED) and isinstance(new, str) else new
            )
        elif isinstance(holder, CommentedMap):
            holder.insert(0, owned(key), owned(edit.value))
        else:
            return False
    elif not _holds(holder, key):
        return False
    elif edit.to:
        return _move(way, edit)
    else:
        del holder[key]
    return True


def _move(way: Sequence[Any], edit: Edit) -> bool:
    """Moves a field.

    It stands where it stood, or where the object stood that it leaves, else first.
    """
    *parents, name = edit.to
    target = way[0]
    for part in parents:
        if part not in target:
            target.insert(0, owned(part), CommentedMap())
        target = target[part]
        if not isinstance(target, CommentedMap):
            return False
    if name in target:
        return False
    depth = next((depth for depth, item in enumerate(way) if item is target), None)
    at = 0 if depth is None else list(target).index(edit.path[depth])
    comment = way[-1].ca.items.pop(edit.path[-1], None)
    target.insert(at, name, way[-1].pop(edit.path[-1]))
    if comment is not None:
        target.ca.items[name] = comment
    return True


def _holds(value: object, part: str | int) -> bool:
    if isinstance(value, CommentedMap):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and part < len(value)


def _mirror_list(
    target: list[Any], old: Mapping[str, Any], new: Mapping[str, Any], *, path: str
) -> Iterator[str]:
    """Updates a list whose items have names.

    Order has no meaning; items that stay keep their comments.
    """
    for index in reversed(range(len(target))):
        name = _identity(target[index])
        if name not in new:
            yield f"{path}[{name}] removed"
            del target[index]
    for name, value in new.items():
        if name in old:
            yield from mirror(old[name], value, path=f"{path}[{name}].")
        else:
            yield f"{path}[{name}] added"
            target.append(owned(value))


def _by_identity(value: Any) -> dict[str, Any] | None:  # noqa: ANN401 - whatever YAML holds
    """Items by name (claims) or key (taints); None if it is not a list of such items, each once."""
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        return None
    found = {_identity(item): item for item in value}
    return found if len(found) == len(value) and "" not in found else None


def _identity(item: Mapping[str, Any]) -> str:
    return str(
        item.get("name")
        or " ".join(str(item[field]) for field in ("key", "effect") if field in item)
    )


def alike(one: Any, other: Any) -> bool:  # noqa: ANN401 - whatever YAML holds
    """Whether `mirror` would change nothing. Lists whose items have names are compared as sets."""
    ones, others = _by_identity(one), _by_identity(other)
    return same(one, other) if ones is None or others is None else same(ones, others)


def same(one: Any, other: Any) -> bool:  # noqa: ANN401 - whatever YAML holds
    """Whether plain data is equal. true and 1 differ, as they do on the API server."""
    return json.dumps(one, sort_keys=True, default=str) == json.dumps(
        other, sort_keys=True, default=str
    )


def place(target: CommentedMap, key: str, value: Any) -> None:  # noqa: ANN401 - whatever JSON holds
    """Adds a field: in its place among sorted keys, else at the end."""
    keys = list(target)
    at = sum(other < key for other in keys) if keys == sorted(keys) else len(keys)
    target.insert(at, owned(key), owned(value))


def owned(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """A copy in block style.

    Texts are literal blocks where possible, and quoted where some parser reads another type.
    """
    if isinstance(value, Mapping):
        return CommentedMap((owned(key), owned(item)) for key, item in value.items())
    if isinstance(value, list):
        return [owned(item) for item in value]
    if not isinstance(value, str):
        return value
    lines = value.split("\n")
    # In a block, a character that YAML requires to be escaped would make the file unreadable.
    if is_block(value) and value == value.strip() and all(line == line.rstrip() for line in lines):
        return LiteralScalarString(value)
    if len(lines) > 1 or resolve_plain(value) != value or not value.isprintable():
        return DoubleQuotedScalarString(value)
    return value


def _shown(value: Any) -> str:  # noqa: ANN401 - whatever YAML holds
    return str(value).lower() if isinstance(value, bool) else str(value)

"""Updates a commented YAML tree to given values, without touching values that are equal.

Values that are equal keep their comments, quotes and notation, so a pull request shows only what
changed.
"""

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
    for key in list(target):
        if key not in values:
            yield f"{path}{key} removed"
            del target[key]
    for key, value in values.items():
        field = f"{path}{key}"
        is_leaf = not isinstance(value, (Mapping, list))
        if key not in target:
            yield f"{field}: {_shown(value)} added" if is_leaf else f"{field} added"
            insert(target, key, value)
            continue
        current = target[key]
        if isinstance(value, Mapping) and isinstance(current, CommentedMap):
            yield from mirror(current, value, path=f"{field}.")
            continue
        new = _by_identity(value)
        old = _by_identity(current)
        if new is not None and old is not None:
            yield from _mirror_list(current, old, new, path=field)
        elif not same(current, value):
            if is_leaf:
                yield f"{field}: {_shown(current)} -> {_shown(value)}"
            else:
                yield f"{field} changed"
            target[key] = owned(value)


def apply(content: Any, edit: Edit) -> bool:  # noqa: ANN401 - whatever YAML holds
    """Makes one edit of a document. Returns False if the document does not have the place.

    A field that is added brings the objects that it is in.
    """
    *parents, key = edit.path
    objects = [content]
    """The objects on the path, from the root to the holder of the field."""
    for part in parents:
        if not _holds(objects[-1], part):
            if edit.value is None or not isinstance(objects[-1], CommentedMap):
                return False
            # First, because ruamel.yaml hangs the comment behind a document on its last field.
            objects[-1].insert(0, owned(part), CommentedMap())
        objects.append(objects[-1][part])
    holder = objects[-1]
    if edit.value is not None:
        return _set(holder, key, owned(edit.value))
    if not _holds(holder, key):
        return False
    if edit.to:
        return _move(objects, edit)
    del holder[key]
    return True


def _set(holder: Any, key: str | int, value: Any) -> bool:  # noqa: ANN401 - whatever YAML holds
    """Sets or adds a field. Returns False if the holder cannot have it."""
    if _holds(holder, key):
        old = holder[key]
        keeps_quotes = isinstance(old, _QUOTED) and isinstance(value, str)
        holder[key] = type(old)(value) if keeps_quotes else value
        return True
    if isinstance(holder, CommentedMap):
        holder.insert(0, owned(key), value)
        return True
    return False


def _move(objects: Sequence[Any], edit: Edit) -> bool:
    """Moves a field. `objects` are those on its path, from the root.

    The field stands where it stood, or where the object stood that it leaves, else first.
    """
    *parents, name = edit.to
    target = objects[0]
    for part in parents:
        if part not in target:
            target.insert(0, owned(part), CommentedMap())
        target = target[part]
        if not isinstance(target, CommentedMap):
            return False
    if name in target:
        return False
    index = 0
    for depth, ancestor in enumerate(objects):
        if ancestor is target:
            index = list(target).index(edit.path[depth])
            break
    holder = objects[-1]
    old_name = edit.path[-1]
    # ruamel.yaml keeps the comment behind a field in its holder, by the name of the field.
    comment = holder.ca.items.pop(old_name, None)
    target.insert(index, name, holder.pop(old_name))
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
    # From the end, so that the indices of items before it stay right.
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
    if not isinstance(value, list) or not all(isinstance(member, Mapping) for member in value):
        return None
    by_identity = {_identity(member): member for member in value}
    is_unique = len(by_identity) == len(value) and "" not in by_identity
    return by_identity if is_unique else None


def _identity(member: Mapping[str, Any]) -> str:
    """The identity of a claim or a taint in its list; empty for other objects."""
    if member.get("name"):
        return str(member["name"])
    # A cluster may have the same taint with several effects.
    return " ".join(str(member[field]) for field in ("key", "effect") if field in member)


def alike(one: Any, other: Any) -> bool:  # noqa: ANN401 - whatever YAML holds
    """Whether `mirror` would change nothing. Lists whose items have names are compared as sets."""
    members = _by_identity(one)
    other_members = _by_identity(other)
    if members is None or other_members is None:
        return same(one, other)
    return same(members, other_members)


def same(one: Any, other: Any) -> bool:  # noqa: ANN401 - whatever YAML holds
    """Whether plain data is equal. true and 1 differ, as they do on the API server."""
    # `==` takes True for 1, and ruamel.yaml's own types for others of the same value.
    first = json.dumps(one, sort_keys=True, default=str)
    return first == json.dumps(other, sort_keys=True, default=str)


def insert(target: CommentedMap, key: str, value: Any) -> None:  # noqa: ANN401 - whatever JSON holds
    """Adds a field: in its place among sorted keys, else at the end."""
    keys = list(target)
    index = len(keys)
    if keys == sorted(keys):
        index = sum(other < key for other in keys)
    target.insert(index, owned(key), owned(value))


def owned(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """A copy in block style.

    Texts are literal blocks where possible, and quoted where some parser reads another type.
    """
    if isinstance(value, Mapping):
        return CommentedMap((owned(key), owned(field)) for key, field in value.items())
    if isinstance(value, list):
        return list(map(owned, value))
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

"""Updates a commented YAML tree to given values, without touching values that are equal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from gitops_dsf.canonicalyaml import scalar


def mirror(target: CommentedMap, values: Mapping[str, Any], *, path: str = "") -> Iterator[str]:
    """Sets and removes fields until the mapping holds exactly the values. Yields each change in words."""
    for key in [key for key in target if key not in values]:
        yield f"{path}{key} removed"
        del target[key]
    for key, value in values.items():
        where = f"{path}{key}"
        if key not in target:
            yield (
                f"{where} added" if isinstance(value, (Mapping, list)) else f"{where}: {_shown(value)} added"
            )
            target[_owned(key)] = _owned(value)
        elif isinstance(value, Mapping) and isinstance(target[key], CommentedMap):
            yield from mirror(target[key], value, path=f"{where}.")
        elif (new := _by_identity(value)) is not None and (old := _by_identity(target[key])) is not None:
            yield from _mirror_list(target[key], old, new, path=where)
        elif not same(target[key], value):
            is_leaf = not isinstance(value, (Mapping, list))
            yield f"{where}: {_shown(target[key])} -> {_shown(value)}" if is_leaf else f"{where} changed"
            target[key] = _owned(value)


def _mirror_list(
    target: list[Any], old: Mapping[str, Any], new: Mapping[str, Any], *, path: str
) -> Iterator[str]:
    """Updates a list whose items have names. Order has no meaning, and items that stay keep
    their comments.
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
            target.append(_owned(value))


def _by_identity(value: Any) -> dict[str, Any] | None:  # noqa: ANN401 - whatever YAML holds
    """Items by name (claims) or key (taints); None if the value is not a list of such items, or has
    duplicates.
    """
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        return None
    found = {_identity(item): item for item in value}
    return found if len(found) == len(value) and "" not in found else None


def _identity(item: Mapping[str, Any]) -> str:
    return str(item.get("name") or " ".join(str(item[field]) for field in ("key", "effect") if field in item))


def alike(one: Any, other: Any) -> bool:  # noqa: ANN401 - whatever YAML holds
    """Whether `mirror` would change nothing. Lists whose items have names are compared as sets."""
    ones, others = _by_identity(one), _by_identity(other)
    return same(one, other) if ones is None or others is None else same(ones, others)


def same(one: Any, other: Any) -> bool:  # noqa: ANN401 - whatever YAML holds
    """Whether plain data is equal. true and 1 differ, as they do on the API server."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if (
        isinstance(one, Sequence)
        and isinstance(other, Sequence)
        and not isinstance(one, str)
        and not isinstance(other, str)
    ):
        return len(one) == len(other) and all(
            same(left, right) for left, right in zip(one, other, strict=True)
        )
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _owned(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Returns a copy in block style. Strings that some parser could read as another type are quoted."""
    if isinstance(value, Mapping):
        return {_owned(key): _owned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_owned(item) for item in value]
    if isinstance(value, str):
        return value if scalar(value) == value else DoubleQuotedScalarString(value)
    return value


def _shown(value: Any) -> str:  # noqa: ANN401 - whatever YAML holds
    return str(value).lower() if isinstance(value, bool) else str(value)

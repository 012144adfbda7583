"""Merges the spec of a shadow into that of its live scorer, in documents that people wrote."""

from copy import deepcopy
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap

Path = tuple[str, ...]

NAME: Final[Path] = ("scoring", "params", "name")
INTERVAL: Final[Path] = ("scoring", "params", "interval")
TTL: Final[Path] = ("scoreTTLSeconds",)
SHADOW_OF: Final[Path] = ("shadowOf",)
ALWAYS_KEPT: Final[tuple[Path, ...]] = (NAME, SHADOW_OF, ("suspend",), ("clusterSelector",))
"""Fields that a promotion leaves as the live scorer has them."""


def merge(live: CommentedMap, shadow: CommentedMap, *, kept: frozenset[Path], at: Path = ()) -> None:
    """Changes only what differs. A comment at the end of a line comes with the value of the shadow; comments
    on lines of their own are the matter of YamlFile.
    """
    for key in [key for key in live if key not in shadow and not _is_kept((*at, str(key)), kept)]:
        del live[key]
    before: str | None = None
    for key, value in shadow.items():
        path = (*at, str(key))
        mine = live.get(key)
        if isinstance(value, CommentedMap) and _is_kept(path, kept) and path not in kept:
            if isinstance(mine, CommentedMap):
                merge(mine, value, kept=kept, at=path)
            else:
                put(live, key, _without(value, kept, path), after=before)
        elif isinstance(value, CommentedMap) and isinstance(mine, CommentedMap) and not value.fa.flow_style():
            if path not in kept:
                merge(mine, value, kept=kept, at=path)
        elif path not in kept and (key not in live or mine != value):
            put(live, key, deepcopy(value), after=before)
            if len(shadow.ca.items.get(key, ())) > 2 and shadow.ca.items[key][2] is not None:
                live.ca.items[key] = deepcopy(shadow.ca.items[key])
        if key in live:
            before = key


def put(node: CommentedMap, key: str, value: Any, *, after: str | None) -> None:  # noqa: ANN401 - any plain value
    """Sets a field. A new one follows the field `after`; without that it is the first."""
    if key in node:
        node[key] = value
    else:
        node.insert(0 if after is None else list(node).index(after) + 1, key, value)


def _is_kept(path: Path, kept: frozenset[Path]) -> bool:
    """Whether this field, or a field in it, is kept."""
    return any(each[: len(path)] == path for each in kept)


def _without(value: CommentedMap, kept: frozenset[Path], at: Path) -> CommentedMap:
    found = deepcopy(value)
    for key in [key for key in found if (*at, str(key)) in kept]:
        del found[key]
    for key, inner in found.items():
        if isinstance(inner, CommentedMap):
            found[key] = _without(inner, kept, (*at, str(key)))
    return found

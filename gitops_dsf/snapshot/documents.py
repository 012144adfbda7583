"""Texts to plain documents: YAML through the repository's own loader, JSON through msgspec; `kind: List` is opened."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from gitops_dsf.diagnostics import Severity
from gitops_dsf.repository.load import Limits, load_text
from gitops_dsf.repository.load.limits import MEBIBYTE
from gitops_dsf.snapshot.errors import SnapshotError

SUFFIXES = (".yaml", ".yml", ".json")
LIMITS = Limits(file_bytes=256 * MEBIBYTE, total_bytes=512 * MEBIBYTE, expanded_nodes=10_000_000)
"""A hub's scores in one file are larger than anything that people write."""

_SHOWN = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class HubDocument:
    """One object, and where it stands for messages."""

    place: str
    data: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """`kind`, empty where it is absent or no string."""
        value = self.data.get("kind")
        return value if isinstance(value, str) else ""


def documents(text: str, *, file: str) -> Iterator[HubDocument]:
    """Every object of a text. Raises SnapshotError when it is neither YAML nor JSON of objects."""
    if text.lstrip()[:1] == "{":
        yield from _opened(_json(text, file), place=file)
        return
    loaded = load_text(text, file=file, limits=LIMITS)
    broken = [item for item in loaded.diagnostics if item.severity is Severity.ERROR]
    if broken:
        lines = [f"{item.position}: {item.message}" for item in broken[:_SHOWN]]
        more = [f"and {len(broken) - _SHOWN} more"] if len(broken) > _SHOWN else []
        raise SnapshotError("\n  ".join([*lines, *more]))
    for document in loaded.documents:
        yield from _opened(document.data, place=f"{file}:{document.start[0]}")


def _json(text: str, file: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        msg = f"{file}: not valid JSON: {error}"
        raise SnapshotError(msg) from error


def _opened(data: Any, *, place: str) -> Iterator[HubDocument]:  # noqa: ANN401 - whatever YAML or JSON holds
    if not isinstance(data, Mapping):
        msg = f"{place}: expected an object with apiVersion and kind"
        raise SnapshotError(msg)
    kind = data.get("kind")
    if isinstance(kind, str) and kind.endswith("List") and "items" in data:
        items = data["items"] or []
        if not isinstance(items, list):
            msg = f"{place}: items of a {kind} must be a list"
            raise SnapshotError(msg)
        for index, item in enumerate(items):
            # The API server leaves the kind out of the items of a typed list.
            named = {"kind": kind.removesuffix("List"), **item} if isinstance(item, Mapping) and kind != "List" else item
            yield from _opened(named, place=f"{place}: items[{index}]")
        return
    yield HubDocument(place=place, data=data)

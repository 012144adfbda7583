"""Checks values against the schema of an ApplicationSet or a Placement, as an API server does."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from gitops_dsf.argocd import api

Path = tuple[str | int, ...]
Schema = dict[str, Any]

_TYPES: Final = {
    "array": (list, "a list"),
    "boolean": (bool, "true or false"),
    "integer": (int, "a whole number"),
    "object": (dict, "an object"),
    "string": (str, "text"),
}
OMITTED: Final = "x-omitempty"
"""Marks a field that Argo CD does not write back if it is false, 0 or empty: Go's `omitempty`."""
ALWAYS: Final = "x-always"
"""Marks a field that Argo CD writes back also where it is absent: a struct, or one without
`omitempty`.
"""
_ZEROS: Final[dict[str, Any]] = {"boolean": False, "integer": 0, "object": {}, "string": ""}
_SIZES: Final = {"int32": 2**31, "int64": 2**63}


class Kind(Enum):
    """What is wrong."""

    UNKNOWN = auto()
    """A field that the schema does not have."""
    MISSING = auto()
    """A field that must be there."""
    WRONG = auto()
    """A value that the API server refuses."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One place where a value does not fit the schema."""

    kind: Kind
    path: Path
    expected: str = ""
    """What the value must be, for WRONG, in words."""
    wanted_type: str = ""
    """The type that the value must have, as the schema names it, if only that is wrong."""
    choices: tuple[str, ...] = ()
    """The texts that the value can be, if it is none of them."""
    known: tuple[str, ...] = ()
    """The fields that there are, for UNKNOWN and for an object."""


def application_set_spec() -> Schema:
    """The schema of `spec` of an ApplicationSet."""
    found: Schema = api()["applicationSet"]
    return found


def placement_spec() -> Schema:
    """The schema of `spec` of a Placement."""
    found: Schema = api()["placement"]
    return found


def inventory(kind: str) -> Schema:
    """The schema of a ManagedCluster or a ManagedClusterSet, without its metadata."""
    found: Schema = api()[f"{kind[0].lower()}{kind[1:]}"]
    return found


def part(*names: str) -> Schema:
    """The schema of a field below `spec` of an ApplicationSet; `[]` means the items of a list."""
    found = application_set_spec()
    for name in names:
        found = resolved(found)
        found = found["items"] if name == "[]" else found["properties"][name]
    return resolved(found)


def written_back(schema: Schema, value: Any, *, in_list: bool = False) -> Any:  # noqa: ANN401 - plain data
    """The value as Argo CD writes it back when it updates the whole object.

    The ApplicationSet controller does so, for instance to remove the annotation that asks for a
    refresh. What is false, 0 or empty and means the same absent is left out. What Argo CD's types
    always have is added in lists, because server-side apply compares a list as a whole: a generator
    gets an empty `template`.

    A field that is applied and comes back otherwise is a difference for ever: the Application that
    applies the object is OutOfSync until its next sync (seen with Argo CD 3.6.1).
    """
    schema = resolved(schema)
    if isinstance(value, list):
        return [written_back(schema.get("items", {}), inside, in_list=True) for inside in value]
    if not isinstance(value, dict):
        return value
    known, others = schema.get("properties", {}), schema.get("additionalProperties")
    kept = {}
    for name, inside in value.items():
        field = resolved(known.get(name, others if isinstance(others, dict) else {}))
        new = written_back(field, inside, in_list=in_list)
        if new or not field.get(OMITTED):
            kept[name] = new
    for name, of_field in known.items() if in_list else ():
        field = resolved(of_field)
        if name not in kept and field.get(ALWAYS):
            kept[name] = written_back(field, _ZEROS[field["type"]], in_list=True)
    return kept


def problems(schema: Schema, value: Any, path: Path = ()) -> Iterator[Problem]:  # noqa: ANN401 - plain data
    """Everything at or below a value that does not fit."""
    schema = resolved(schema)
    if schema.get("x-kubernetes-int-or-string"):
        if isinstance(value, bool) or not isinstance(value, int | str):
            yield Problem(kind=Kind.WRONG, path=path, expected="a whole number or text")
        elif (limit := _limit(schema, value)) is not None:
            yield Problem(kind=Kind.WRONG, path=path, expected=limit)
        return
    name = schema.get("type")
    if name is None:
        return
    accepted, expected = _TYPES[name]
    if not isinstance(value, accepted) or (name != "boolean" and isinstance(value, bool)):
        limit = None
        choices: tuple[str, ...] = ()
        if name == "string" and isinstance(value, bool | int | float):
            # In quotes it may still be a text that the field does not take.
            text = str(value).lower()
            limit = _limit(schema, text)
            choices = _choices(schema, text)
        yield Problem(
            kind=Kind.WRONG,
            path=path,
            expected=limit or expected,
            wanted_type="" if limit else name,
            choices=choices,
            known=tuple(schema.get("properties", ())),
        )
    elif isinstance(value, dict):
        yield from _of_an_object(schema, value, path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from problems(schema.get("items", {}), item, (*path, index))
    elif isinstance(value, int | str) and (limit := _limit(schema, value)) is not None:
        choices = _choices(schema, value)
        yield Problem(kind=Kind.WRONG, path=path, expected=limit, choices=choices)


def _of_an_object(schema: Schema, value: dict[str, Any], path: Path) -> Iterator[Problem]:
    known = schema.get("properties", {})
    others = schema.get("additionalProperties")
    for name, inside in value.items():
        inner = known.get(name, others)
        if isinstance(inner, dict):
            if inside is not None:  # The API server drops null before it looks.
                yield from problems(inner, inside, (*path, name))
        elif not schema.get("x-kubernetes-preserve-unknown-fields") and not others:
            yield Problem(kind=Kind.UNKNOWN, path=(*path, name), known=tuple(known))
    for name in schema.get("required", ()):
        if value.get(name) is None:
            yield Problem(kind=Kind.MISSING, path=(*path, name))


def _limit(schema: Schema, value: str | int) -> str | None:
    """What a text or a number must be besides; None if it is."""
    if isinstance(value, int):
        size = _SIZES.get(schema.get("format", ""), 2**63)
        least, most = schema.get("minimum", -size), schema.get("maximum", size - 1)
        return None if least <= value <= most else f"a whole number between {least} and {most}"
    if "enum" in schema and value not in schema["enum"]:
        return f"one of {', '.join(filter(None, schema['enum']))}"
    if len(value) < schema.get("minLength", 0):
        return "a text that is not empty"
    pattern = schema.get("pattern")
    return f"a text that matches {pattern}" if pattern and not re.search(pattern, value) else None


def _choices(schema: Schema, value: str | int) -> tuple[str, ...]:
    """The texts that a value can be; none if it is one of them, or may be any."""
    enumeration = schema.get("enum", ())
    return () if value in enumeration else tuple(filter(None, enumeration))


def resolved(schema: Schema) -> Schema:
    """The schema itself, also where it is only named."""
    if "$ref" in schema:
        found: Schema = api()["definitions"][schema["$ref"]]
        return found
    return schema

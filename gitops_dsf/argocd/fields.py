"""Checks values against the schema of an ApplicationSet or a Placement, as an API server does.

The schemas are those of the pinned versions, from `api.json`. Defaults are not filled in, and rules
in CEL (`x-kubernetes-validations`) are not evaluated.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from gitops_dsf.argocd import api

FieldPath = tuple[str | int, ...]
Schema = dict[str, Any]

OMITTED: Final = "x-omitempty"
"""Marks a field that Argo CD does not write back if it is false, 0 or empty: Go's `omitempty`."""
ALWAYS: Final = "x-always"
"""Marks a field that Argo CD writes back also where it is absent: a struct, or one without
`omitempty`.
"""
_TYPES: Final = {
    "array": (list, "a list"),
    "boolean": (bool, "true or false"),
    "integer": (int, "a whole number"),
    "object": (dict, "an object"),
    "string": (str, "text"),
}
_SIZES: Final = {"int32": 2**31, "int64": 2**63}


class ProblemKind(Enum):
    """The kind of a mistake."""

    UNKNOWN = auto()
    """A field that the schema does not have."""
    MISSING = auto()
    """A field that must be there."""
    WRONG = auto()
    """A value that the API server refuses."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaProblem:
    """One place where a value does not fit the schema."""

    kind: ProblemKind
    path: FieldPath
    expected: str = ""
    """The description of a valid value, for WRONG."""
    wanted_type: str = ""
    """The type that the value must have, as the schema names it, if only that is wrong."""
    choices: tuple[str, ...] = ()
    """The texts that the value can be, if it is none of them."""
    known: tuple[str, ...] = ()
    """The fields that there are, for UNKNOWN and for an object."""


def application_set_spec() -> Schema:
    """The schema of `spec` of an ApplicationSet."""
    schema: Schema = api()["applicationSet"]
    return schema


def placement_spec() -> Schema:
    """The schema of `spec` of a Placement."""
    schema: Schema = api()["placement"]
    return schema


def inventory(kind: str) -> Schema:
    """The schema of a ManagedCluster or a ManagedClusterSet, without its metadata."""
    schema: Schema = api()[f"{kind[0].lower()}{kind[1:]}"]
    return schema


def part(*names: str) -> Schema:
    """The schema of a field below `spec` of an ApplicationSet; `[]` means the items of a list."""
    schema = application_set_spec()
    for name in names:
        schema = resolved(schema)
        schema = schema["items"] if name == "[]" else schema["properties"][name]
    return resolved(schema)


def resolved(schema: Schema) -> Schema:
    """The schema itself, also where it is only named."""
    if "$ref" in schema:
        definition: Schema = api()["definitions"][schema["$ref"]]
        return definition
    return schema


def problems(
    schema: Schema,
    value: Any,  # noqa: ANN401 - plain data
    path: FieldPath = (),
) -> Iterator[SchemaProblem]:
    """Everything at or below a value that does not fit."""
    schema = resolved(schema)
    if schema.get("x-kubernetes-int-or-string"):
        yield from _of_number_or_text(schema, value, path)
        return
    # Without a type the field takes anything, such as an element of a list generator.
    name = schema.get("type")
    if name is None:
        return
    accepted, _ = _TYPES[name]
    # For Python a bool is an int, too.
    if not isinstance(value, accepted) or (name != "boolean" and isinstance(value, bool)):
        yield _of_another_type(schema, value, path)
    elif isinstance(value, dict):
        yield from _of_an_object(schema, value, path)
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from problems(schema.get("items", {}), element, (*path, index))
    elif isinstance(value, int | str) and (limit := _limit(schema, value)) is not None:
        choices = _choices(schema, value)
        yield SchemaProblem(kind=ProblemKind.WRONG, path=path, expected=limit, choices=choices)


def _of_number_or_text(schema: Schema, value: object, path: FieldPath) -> Iterator[SchemaProblem]:
    if isinstance(value, bool) or not isinstance(value, int | str):
        yield SchemaProblem(kind=ProblemKind.WRONG, path=path, expected="a whole number or text")
    elif (limit := _limit(schema, value)) is not None:
        yield SchemaProblem(kind=ProblemKind.WRONG, path=path, expected=limit)


def _of_another_type(schema: Schema, value: object, path: FieldPath) -> SchemaProblem:
    name = schema["type"]
    _, expected = _TYPES[name]
    limit = None
    choices: tuple[str, ...] = ()
    if name == "string" and isinstance(value, bool | int | float):
        # In quotes it may still be a text that the field does not take.
        text = str(value).lower()
        limit = _limit(schema, text)
        choices = _choices(schema, text)
    return SchemaProblem(
        kind=ProblemKind.WRONG,
        path=path,
        expected=limit or expected,
        wanted_type="" if limit else name,
        choices=choices,
        known=tuple(schema.get("properties", ())),
    )


def _of_an_object(
    schema: Schema, value: dict[str, Any], path: FieldPath
) -> Iterator[SchemaProblem]:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties")
    for name, content in value.items():
        of_field = properties.get(name, others)
        if isinstance(of_field, dict):
            # The API server drops null before it looks.
            if content is not None:
                yield from problems(of_field, content, (*path, name))
        elif not schema.get("x-kubernetes-preserve-unknown-fields") and not others:
            yield SchemaProblem(
                kind=ProblemKind.UNKNOWN, path=(*path, name), known=tuple(properties)
            )
    # A field that is null counts as absent, because the API server drops it.
    for name in schema.get("required", ()):
        if value.get(name) is None:
            yield SchemaProblem(kind=ProblemKind.MISSING, path=(*path, name))


def _limit(schema: Schema, value: str | int) -> str | None:
    """The further limit of a text or a number that is broken; None if none is."""
    if isinstance(value, int):
        # Without a format, it is the widest integer that an API server reads.
        size = _SIZES.get(schema.get("format", ""), 2**63)
        least = schema.get("minimum", -size)
        most = schema.get("maximum", size - 1)
        return None if least <= value <= most else f"a whole number between {least} and {most}"
    if "enum" in schema and value not in schema["enum"]:
        return f"one of {', '.join(filter(None, schema['enum']))}"
    if len(value) < schema.get("minLength", 0):
        return "a text that is not empty"
    # A pattern of a CRD is not anchored: it may match anywhere.
    pattern = schema.get("pattern")
    if pattern and not re.search(pattern, value):
        return f"a text that matches {pattern}"
    return None


def _choices(schema: Schema, value: str | int) -> tuple[str, ...]:
    """The texts that a value can be; none if it is one of them, or may be any."""
    enumeration = schema.get("enum", ())
    return () if value in enumeration else tuple(filter(None, enumeration))

"""Explains pydantic's errors to people who write YAML, at the line that is wrong."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from gitops_dsf.diagnostics import Diagnostic, Edit, codes
from gitops_dsf.hub.windows import CLOCK
from gitops_dsf.repository.load import Document, FieldPath
from gitops_dsf.repository.model.base import (
    BRANCH,
    DNS_LABEL,
    DNS_SUBDOMAIN,
    HOST_GLOB,
    SECRET_KEY,
    Authored,
    FieldError,
)
from gitops_dsf.repository.model.dialect import Dialect, explains
from gitops_dsf.repository.model.field_model import (
    field_at,
    field_docs,
    field_names,
    model_at,
    places_elsewhere,
    refusal,
    scalar_types,
)
from gitops_dsf.repository.model.maintenance import MOMENT
from gitops_dsf.repository.model.pods import IMAGE, QUANTITY
from gitops_dsf.repository.model.score_test import FINDING, PLACEMENT_REFERENCE, TIME, seconds
from gitops_dsf.wording import did_you_mean, names_text, plural, shortened

_PATTERNS = {
    DNS_LABEL: (
        "lower-case letters, digits and '-', starting and ending with a letter or digit, at most 63"
        " characters"
    ),
    DNS_SUBDOMAIN: "lower-case letters, digits, '-' and '.', starting and ending with a letter or digit",
    QUANTITY: "a Kubernetes quantity such as 100m, 0.5 or 256Mi",
    IMAGE: "a container image such as registry.example.com/agent:1.0, without a scheme",
    BRANCH: "the name of a git branch",
    HOST_GLOB: "a host name, or a glob of some such as '*.example.com', without scheme, port and path",
    SECRET_KEY: "letters, digits, '-', '_' and '.'",
    CLOCK: 'a time of day such as "22:00"',
    MOMENT: 'a time with its zone, such as "2026-11-24T20:00:00+01:00"',
    TIME: "a time such as 90s, 10m or 1h30m",
    FINDING: "the code of a finding, such as DSF310",
    PLACEMENT_REFERENCE: "the name of a Placement, or namespace/name",
    r"^([1-9][0-9]?|100)%$": "a percentage from 1% to 100%, or a whole number without quotes",
}
_DURATIONS = frozenset({"interval", "range", "step"})
_POINTS = frozenset({"stickiness", "demand", "deadband", "outputMin", "outputMax"})
"""Fields in score points, which people also write as percentages: a score has at most 100 points.
"""
_DURATION: Final = r"([0-9]{1,9}[smhdw])+"
"""As PromQL writes durations."""
_REMOVED: Final[Mapping[tuple[str | int, ...], str]] = {
    ("FleetRepository", "spec", "reconciler", "suspend"): (
        "each agent backs off by itself from a scoring API that fails"
    ),
    ("ScoredApplication", "spec", "placement", "decisionGroups"): (
        "an ApplicationSet deploys to all clusters of a decision, whatever their group; for other"
        " consumers of decisions, a ScoredPlacement has it"
    ),
}
"""Fields of earlier versions, by kind and path, with what replaced them. `validate --fix` removes
them.
"""
_TYPES = {
    "string_type": "text",
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "an object"),
    "list_type": "a list",
}

_RULES: Final[Mapping[str, Callable[[dict[str, Any]], str]]] = {
    "literal_error": lambda found: (
        str(found.get("expected", "")).replace("'", "") or "another value"
    ),
    "string_pattern_mismatch": lambda found: _PATTERNS.get(
        found["pattern"], f"text that matches {found['pattern']}"
    ),
    "too_short": lambda _: "at least one item",
    "string_too_short": lambda found: f"at least {plural(found['min_length'], 'character')}",
    "too_long": lambda found: f"at most {plural(found['max_length'], 'item')}",
    "string_too_long": lambda found: f"at most {plural(found['max_length'], 'character')}",
    "greater_than_equal": lambda found: f"{found['ge']} or more",
    "less_than_equal": lambda found: f"{found['le']} or less",
    "finite_number": lambda _: "a finite number",
}
"""What a value must be, by the error's type."""


def explain(
    errors: Sequence[ErrorDetails],
    *,
    model: type[Authored],
    document: Document,
    dialects: Sequence[Dialect],
) -> Iterator[Diagnostic]:
    """Yields one diagnostic for every wrong place. Leaves out what a dialect explains already."""
    by_place: dict[FieldPath, list[ErrorDetails]] = defaultdict(list)
    for item in errors:
        by_place[written_path(item, document.data)].append(item)
    for path, items in by_place.items():
        if not any(explains(dialect, path) for dialect in dialects):
            yield _diagnostic(path, items, model=model, document=document)


def written_path(item: ErrorDetails, data: Any) -> FieldPath:  # noqa: ANN401 - whatever YAML holds
    """The path in the document.

    Pydantic's loc also contains the branches of unions, which are not fields.
    """
    path: list[str | int] = []
    value: Any = data
    for index, part in enumerate(item["loc"]):
        there = (
            value
            if isinstance(value, dict)
            else range(len(value))
            if isinstance(value, list)
            else ()
        )
        if part in there:
            path.append(part)
            value = value[part]
        elif item["type"] == "missing" and index == len(item["loc"]) - 1:
            path.append(part)
    return tuple(path)


def _diagnostic(
    path: FieldPath, items: list[ErrorDetails], *, model: type[Authored], document: Document
) -> Diagnostic:
    first = items[0]
    name = dotted(path)
    kind = first["type"]
    if kind == "extra_forbidden" and (what_replaced := _REMOVED.get((document.kind, *path))):
        message = f"{name} was removed: {what_replaced}"
        hint = f"remove {path[-1]}"
        return codes.UNKNOWN_FIELD.at(document.key_at(path), message, hint, edits=(Edit(path),))
    if kind == "extra_forbidden":
        owner = model_at(model, path[:-1])
        siblings = [] if owner is None else field_names(owner)
        places = [dotted(place) for place in places_elsewhere(model, path)[:3]]
        near = (
            did_you_mean(str(path[-1]), siblings) or f"known here: {names_text(siblings, most=12)}"
        )
        hint = f"did you mean {' or '.join(places)}?" if places else near
        message = f"{path[-1]} is not a field of {dotted(path[:-1]) or document.kind}"
        return codes.UNKNOWN_FIELD.at(document.key_at(path), message, hint)
    if kind == "missing":
        return codes.MISSING_FIELD.at(
            document.at(path), f"{name} is missing", _addition(model, path)
        )
    if kind == "value_error":
        reason = first.get("ctx", {}).get("error", first["msg"])
        where = f"{name}: " if name else ""
        inside = reason.path if isinstance(reason, FieldError) else ()
        return codes.BAD_VALUE.at(document.at((*path, *inside)), f"{where}{reason}")
    if path and path[-1] in _DURATIONS and kind == "greater_than_equal":
        message = f"{name} is {first['input']}; it cannot be negative"
        return codes.NOT_POSITIVE.at(document.at(path), message, _describe(model, path))
    types = [_TYPES[item["type"]] for item in items if item["type"] in _TYPES]
    rules = [_rule(item) for item in items if item["type"] not in _TYPES]
    # If one branch of a union accepts the type, the value is wrong and not the type.
    of_text = any(
        item["type"].startswith(("string_", "literal")) and item["type"] != "string_type"
        for item in items
    )
    if types and not (rules and of_text and isinstance(first["input"], str)):
        expected = " or ".join(dict.fromkeys([*types, *rules]))
        written = document.written(path)
        hint, right = _mend(types, path, first["input"], written)
        if isinstance(right, str) and (wanted := wanted_text(model, path, right)):
            hint, right = wanted, None
        if "an object" in types and isinstance(first["input"], bool):
            hint = _object_for(model, path, value=first["input"])
        elif isinstance(first["input"], str) and re.fullmatch(r"-?[0-9.]+ ?%", first["input"]):
            hint = _without_percent(model, path, first["input"])
        message = f"{name} must be {expected}, not {_kind(first['input'], written)}"
        edits = () if right is None else (Edit(path, value=right),)
        return codes.WRONG_TYPE.at(
            document.at(path), message, hint or _describe(model, path), edits=edits
        )
    message = f"{name}: {_refused(first['input'])} is not allowed"
    return codes.BAD_VALUE.at(
        document.at(path), message, f"write {' or '.join(dict.fromkeys(rules))}"
    )


def _rule(item: ErrorDetails) -> str:
    rule = _RULES.get(item["type"])
    return (
        rule(item.get("ctx", {}))
        if rule is not None
        else item["msg"].removeprefix("Input should be ")
    )


def wanted_text(model: type[BaseModel], path: FieldPath, text: str) -> str:
    """What to write, if the field does not take a text; empty if it does."""
    error = refusal(model, path, text)
    return "" if error is None else f"write {_rule(error)}"


def _mend(
    types: list[str], path: FieldPath, value: object, written: str
) -> tuple[str, str | int | bool | None]:
    """What to write for a value of the wrong type, and that value; nothing if it is not certain."""
    name = str(path[-1]) if path else ""
    if "text" in types and isinstance(value, (int, float, bool)):
        return f'quote it: "{written}"', written
    if not isinstance(value, str):
        return "", None
    if (name in _DURATIONS or name.endswith("Seconds")) and re.fullmatch(_DURATION, value):
        return f"write {seconds(value)}: {name} is a number of seconds", seconds(value)
    number = re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", value)
    if "true or false" in types and value in {"true", "false"}:
        return "remove the quotes", value == "true"
    if number and {"a whole number", "a number"} & {*types}:
        return "remove the quotes", int(value)
    return "", None


def _object_for(model: type[BaseModel], path: FieldPath, *, value: bool) -> str:
    """What to write in place of `true` or `false` for a section that has fields."""
    name, kind = path[-1], model_at(model, path)
    if not value:
        return f"remove {name}"
    if kind is None:
        return ""
    needed = [field.alias or key for key, field in kind.model_fields.items() if field.is_required()]
    if needed:
        return f"write its fields, at least {names_text(needed)}"
    return (
        f"write {name}: {{}} for its defaults, or its fields:"
        f" {names_text(field_names(kind), most=8)}"
    )


def _without_percent(model: type[BaseModel], path: FieldPath, value: str) -> str:
    if path[-1] in _POINTS:
        return f"write {value.rstrip(' %')}: {path[-1]} is a number of score points"
    return f"write a whole number without %: {_describe(model, path)}"


def _addition(model: type[BaseModel], path: FieldPath) -> str:
    """What to add: one of the allowed values, or the field's description."""
    for kind in scalar_types(field_at(model, path)):
        if get_origin(kind) is Literal:
            return f"add {path[-1]}: {' or '.join(str(value) for value in get_args(kind))}"
    name, _, meaning = _describe(model, path).partition(": ")
    return f"add {name} ({meaning})" if meaning else f"add {path[-1]}"


def _describe(model: type[BaseModel], path: FieldPath) -> str:
    owner = model_at(model, path[:-1])
    if owner is None or not path:
        return ""
    docs = field_docs(owner)
    for name, field in owner.model_fields.items():
        if path[-1] in {name, field.alias} and name in docs:
            return f"{path[-1]}: {docs[name].split('. ')[0].rstrip('.')}"
    return ""


def dotted(path: FieldPath) -> str:
    """Formats a path as spec.masks[0].clusterName."""
    return "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in path
    ).removeprefix(".")


def _refused(value: object) -> str:
    """A value that is not allowed, formatted so that an empty one is visible."""
    if isinstance(value, (list, dict)) and not value:
        return "an empty list" if isinstance(value, list) else "an empty object"
    return _shown(value) or "an empty text"


def _kind(value: object, written: str = "") -> str:
    match value:
        case None:
            return "empty"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {written or value}"
        case str():
            return f'the text "{_shown(value)}"'
        case list():
            return "a list"
        case _:
            return "an object"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()  # as it is written
    text = str(value).replace("\n", " ") if not isinstance(value, (dict, list)) else _kind(value)
    return shortened(text)

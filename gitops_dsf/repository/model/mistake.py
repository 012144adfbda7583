"""Explains pydantic's errors to people who write YAML, at the line that is wrong.

pydantic reports each branch of a union, and names types of Python. People get one finding for each
place, with the types of YAML and a text to write instead.

Guaranteed: each error becomes a finding with a position in the document, and nothing of pydantic's
own words is shown. An edit is offered only where the value to write is certain.
"""

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
    MOMENT,
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
from gitops_dsf.repository.model.pods import IMAGE, QUANTITY
from gitops_dsf.repository.model.score_test import FINDING, PLACEMENT_REFERENCE, TIME, seconds
from gitops_dsf.wording import did_you_mean, names_text, plural, shortened

MAX_PLACES: Final = 3
"""Places that the hint for a misplaced field names."""

_PATTERNS: Final = {
    DNS_LABEL: (
        "lower-case letters, digits and '-', starting and ending with a letter or digit, at most 63"
        " characters"
    ),
    DNS_SUBDOMAIN: (
        "lower-case letters, digits, '-' and '.', starting and ending with a letter or digit"
    ),
    QUANTITY: "a Kubernetes quantity such as 100m, 0.5 or 256Mi",
    IMAGE: "a container image such as registry.example.com/agent:1.0, without a scheme",
    BRANCH: "the name of a git branch",
    HOST_GLOB: (
        "a host name, or a glob of some such as '*.example.com', without scheme, port and path"
    ),
    SECRET_KEY: "letters, digits, '-', '_' and '.'",
    CLOCK: 'a time of day such as "22:00"',
    MOMENT: 'a time with its zone, such as "2026-11-24T20:00:00+01:00"',
    TIME: "a time such as 90s, 10m or 1h30m",
    FINDING: "the code of a finding, such as DSF310",
    PLACEMENT_REFERENCE: "the name of a Placement, or namespace/name",
    r"^([1-9][0-9]?|100)%$": "a percentage from 1% to 100%, or a whole number without quotes",
}
"""Descriptions of the texts that a field takes, by their regular expression."""
_DURATIONS: Final = frozenset({"interval", "range", "step"})
"""Fields in seconds, which people also write as durations of PromQL."""
_POINTS: Final = frozenset({"stickiness", "demand", "deadband", "outputMin", "outputMax"})
"""Fields in score points, which people also write as percentages: a score has at most 100 points.
"""
_DURATION: Final = r"([0-9]{1,9}[smhdw])+"
"""The pattern of durations as PromQL writes them."""
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
_TYPES: Final = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "list_type": "a list",
}
"""The type that a field takes, by pydantic's type of the error."""
_RULES: Final[Mapping[str, Callable[[dict[str, Any]], str]]] = {
    "literal_error": lambda context: (
        str(context.get("expected", "")).replace("'", "") or "another value"
    ),
    "string_pattern_mismatch": lambda context: _PATTERNS.get(
        context["pattern"], f"text that matches {context['pattern']}"
    ),
    "too_short": lambda _: "at least one item",
    "string_too_short": lambda context: f"at least {plural(context['min_length'], 'character')}",
    "too_long": lambda context: f"at most {plural(context['max_length'], 'item')}",
    "string_too_long": lambda context: f"at most {plural(context['max_length'], 'character')}",
    "greater_than_equal": lambda context: f"{context['ge']} or more",
    "less_than_equal": lambda context: f"{context['le']} or less",
    "finite_number": lambda _: "a finite number",
}
"""The rule that a value breaks, by pydantic's type of the error, from the error's context."""


def explain(
    errors: Sequence[ErrorDetails],
    *,
    model: type[Authored],
    document: Document,
    dialects: Sequence[Dialect],
) -> Iterator[Diagnostic]:
    """Yields one diagnostic for every wrong place. Leaves out what a dialect explains already."""
    by_path: dict[FieldPath, list[ErrorDetails]] = defaultdict(list)
    for error in errors:
        by_path[written_path(error, document.data)].append(error)
    # An older spelling is explained as such. pydantic would call its field unknown, and the new one
    # missing.
    for path, errors_at_path in by_path.items():
        if not any(explains(dialect, path) for dialect in dialects):
            yield _diagnostic(path, errors_at_path, model=model, document=document)


def written_path(error: ErrorDetails, data: Any) -> FieldPath:  # noqa: ANN401 - whatever YAML holds
    """The path in the document.

    Pydantic's loc also contains the branches of unions, which are not fields.
    """
    path: list[str | int] = []
    value: Any = data
    # A missing field is in no document: it is always the last part of the loc.
    last = len(error["loc"]) - 1
    for index, part in enumerate(error["loc"]):
        if _holds(value, part):
            path.append(part)
            value = value[part]
        elif error["type"] == "missing" and index == last:
            path.append(part)
    return tuple(path)


def wanted_text(model: type[BaseModel], path: FieldPath, text: str) -> str:
    """The hint if the field does not take a text; empty if it does."""
    error = refusal(model, path, text)
    return "" if error is None else f"write {_rule(error)}"


def dotted(path: FieldPath) -> str:
    """Formats a path as spec.masks[0].clusterName."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).removeprefix(".")


def _holds(value: object, part: str | int) -> bool:
    if isinstance(value, dict):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and 0 <= part < len(value)


def _diagnostic(
    path: FieldPath, errors: list[ErrorDetails], *, model: type[Authored], document: Document
) -> Diagnostic:
    """The finding for one place. It has several errors if its type is a union."""
    first = errors[0]
    name = dotted(path)
    kind = first["type"]
    if kind == "extra_forbidden":
        return _unknown_field(path, model=model, document=document)
    if kind == "missing":
        hint = _addition(model, path)
        return codes.MISSING_FIELD.at(document.at(path), f"{name} is missing", hint)
    if kind == "value_error":
        reason = first.get("ctx", {}).get("error", first["msg"])
        inside = reason.path if isinstance(reason, FieldError) else ()
        message = f"{name}: {reason}" if name else str(reason)
        return codes.BAD_VALUE.at(document.at((*path, *inside)), message)
    if path and path[-1] in _DURATIONS and kind == "greater_than_equal":
        message = f"{name} is {first['input']}; it cannot be negative"
        return codes.NOT_POSITIVE.at(document.at(path), message, _describe(model, path))
    type_errors = [error for error in errors if error["type"] in _TYPES]
    rules = [_rule(error) for error in errors if error["type"] not in _TYPES]
    # If one branch of a union accepts the type, the value is wrong and not the type.
    takes_text = any(map(_judges_a_text, errors))
    if type_errors and not (rules and takes_text and isinstance(first["input"], str)):
        types = [_TYPES[error["type"]] for error in type_errors]
        return _wrong_type(path, first["input"], types, rules, model=model, document=document)
    message = f"{name}: {_refused(first['input'])} is not allowed"
    hint = f"write {' or '.join(dict.fromkeys(rules))}"
    return codes.BAD_VALUE.at(document.at(path), message, hint)


def _unknown_field(path: FieldPath, *, model: type[Authored], document: Document) -> Diagnostic:
    replacement = _REMOVED.get((document.kind, *path))
    if replacement is not None:
        message = f"{dotted(path)} was removed: {replacement}"
        edits = (Edit(path),)
        hint = f"remove {path[-1]}"
        return codes.UNKNOWN_FIELD.at(document.key_at(path), message, hint, edits=edits)
    owner = model_at(model, path[:-1])
    siblings = [] if owner is None else field_names(owner)
    places = list(map(dotted, places_elsewhere(model, path)[:MAX_PLACES]))
    if places:
        hint = f"did you mean {' or '.join(places)}?"
    else:
        hint = did_you_mean(str(path[-1]), siblings)
        hint = hint or f"known here: {names_text(siblings, max_names=12)}"
    message = f"{path[-1]} is not a field of {dotted(path[:-1]) or document.kind}"
    return codes.UNKNOWN_FIELD.at(document.key_at(path), message, hint)


def _judges_a_text(error: ErrorDetails) -> bool:
    """Whether an error is about which text a value is, and not that it is one."""
    kind = error["type"]
    return kind.startswith(("string_", "literal")) and kind != "string_type"


def _wrong_type(
    path: FieldPath,
    value: object,
    types: list[str],
    rules: list[str],
    *,
    model: type[Authored],
    document: Document,
) -> Diagnostic:
    """The finding for a value of a type that the field does not take."""
    expected = " or ".join(dict.fromkeys([*types, *rules]))
    # `1.10` is the number 1.1, and in quotes it must stay 1.10.
    source_text = document.written(path)
    hint, mended = _mend(types, path, value, source_text)
    if isinstance(mended, str) and (wanted := wanted_text(model, path, mended)):
        # The quoted text would be the next mistake.
        hint = wanted
        mended = None
    if "an object" in types and isinstance(value, bool):
        hint = _object_for(model, path, value=value)
    elif types == ["a list"]:
        hint = hint or _list_of(model, path, value)
    elif isinstance(value, str) and re.fullmatch(r"-?[0-9.]+ ?%", value):
        hint = _without_percent(model, path, value)
    message = f"{dotted(path)} must be {expected}, not {_kind(value, source_text)}"
    edits = () if mended is None else (Edit(path, value=mended),)
    hint = hint or _describe(model, path)
    return codes.WRONG_TYPE.at(document.at(path), message, hint, edits=edits)


def _rule(error: ErrorDetails) -> str:
    """The rule for the value: `at least one item`."""
    rule = _RULES.get(error["type"])
    if rule is None:
        return error["msg"].removeprefix("Input should be ")
    return rule(error.get("ctx", {}))


def _mend(
    types: list[str], path: FieldPath, value: object, written: str
) -> tuple[str, str | int | bool | None]:
    """The hint for a value of the wrong type, and the right value; empty if it is not certain."""
    name = str(path[-1]) if path else ""
    if "text" in types and isinstance(value, (int, float, bool)):
        return f'quote it: "{written}"', written
    if not isinstance(value, str):
        return "", None
    if (name in _DURATIONS or name.endswith("Seconds")) and re.fullmatch(_DURATION, value):
        return f"write {seconds(value)}: {name} is a number of seconds", seconds(value)
    if "true or false" in types and value in {"true", "false"}:
        return "remove the quotes", value == "true"
    # 18 digits fit into an integer of 64 bits, whatever they are.
    is_integer = re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", value)
    if is_integer and {"a whole number", "a number"} & {*types}:
        return "remove the quotes", int(value)
    return "", None


def _list_of(model: type[BaseModel], path: FieldPath, value: object) -> str:
    """The hint to write a list of the one item that is there; empty if that is not valid."""
    name = path[-1]
    first_item = (*path, 0)
    fields = model_at(model, first_item)
    if fields is None:
        # One name: a text with commas or spaces may be meant as several items.
        is_name = isinstance(value, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9./-]*", value)
        takes_text = str in scalar_types(field_at(model, first_item))
        return f'write ["{value}"]: {name} is a list' if is_name and takes_text else ""
    if not isinstance(value, dict) or not value or not value.keys() <= {*field_names(fields)}:
        return ""
    # Without its value, which may be long or a secret.
    return f'begin each item of {name} with "- ", as in "- {next(iter(value))}: ..."'


def _object_for(model: type[BaseModel], path: FieldPath, *, value: bool) -> str:
    """The hint in place of `true` or `false` for a section that has fields."""
    name = path[-1]
    # `false` says that the part is not wanted, which is what leaving it out says.
    if not value:
        return f"remove {name}"
    section = model_at(model, path)
    if section is None:
        return ""
    fields = section.model_fields.items()
    needed = [field.alias or key for key, field in fields if field.is_required()]
    if needed:
        return f"write its fields, at least {names_text(needed)}"
    names = names_text(field_names(section), max_names=8)
    return f"write {name}: {{}} for its defaults, or its fields: {names}"


def _without_percent(model: type[BaseModel], path: FieldPath, value: str) -> str:
    if path[-1] in _POINTS:
        return f"write {value.rstrip(' %')}: {path[-1]} is a number of score points"
    return f"write a whole number without %: {_describe(model, path)}"


def _addition(model: type[BaseModel], path: FieldPath) -> str:
    """The text to add: one of the allowed values, or the field's description."""
    for kind in scalar_types(field_at(model, path)):
        if get_origin(kind) is Literal:
            values = " or ".join(map(str, get_args(kind)))
            return f"add {path[-1]}: {values}"
    name, _, meaning = _describe(model, path).partition(": ")
    return f"add {name} ({meaning})" if meaning else f"add {path[-1]}"


def _describe(model: type[BaseModel], path: FieldPath) -> str:
    """The name of a field and the first sentence of its description; empty if it has none."""
    owner = model_at(model, path[:-1])
    if owner is None or not path:
        return ""
    docs = field_docs(owner)
    for name, field in owner.model_fields.items():
        if path[-1] in {name, field.alias} and name in docs:
            sentence = docs[name].split(". ")[0].rstrip(".")
            return f"{path[-1]}: {sentence}"
    return ""


def _refused(value: object) -> str:
    """A value that is not allowed, formatted so that an empty one is visible."""
    if isinstance(value, list) and not value:
        return "an empty list"
    if isinstance(value, dict) and not value:
        return "an empty object"
    return _shown(value) or "an empty text"


def _kind(value: object, written: str = "") -> str:
    """The kind of a value: `the number 5`. `written` is its text in the document."""
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
    """A value as people write it, shortened."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (dict, list)):
        return shortened(_kind(value))
    return shortened(str(value).replace("\n", " "))

"""The syntax of labels and label selectors, as Kubernetes checks it.

Neither OCM's CRDs nor ours check it, and one invalid selector breaks more than its object
(docs/contributing/behaviour.md#invalid-selectors).
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.selectors import OPERATORS, label_key_error, label_value_error
from gitops_dsf.repository.load import Document, FieldPath
from gitops_dsf.wording import or_text, shortened

KEY_RULE: Final = (
    "a key is at most 63 letters, digits, '-', '_' and '.', with an optional domain and '/' before"
    " it"
)
VALUE_RULE: Final = (
    "a value is at most 63 letters, digits, '-', '_' and '.', starting and ending with a letter or"
    " digit"
)


@lru_cache(maxsize=4096)
def label_key(key: str) -> bool:
    """Kubernetes' rule: an optional DNS prefix, and a name of at most 63 characters."""
    return label_key_error(key) is None


@lru_cache(maxsize=4096)
def label_value(value: str) -> bool:
    """Kubernetes' rule: empty, or at most 63 characters of letters, digits, '-', '_' and '.'."""
    # First, because a lone surrogate cannot be encoded, and bytes are counted.
    return value.isascii() and label_value_error(value) is None


def invalid(
    document: Document, place: FieldPath, selector: Mapping[str, Any] | None
) -> Iterator[Diagnostic]:
    """Every mistake of one selector whose fields have the right types."""
    selector = selector or {}
    for key, value in (selector.get("matchLabels") or {}).items():
        path = (*place, "matchLabels", key)
        if not label_key(key):
            message = f"{shortened(key) or 'an empty key'} is not a label key"
            yield codes.BAD_SELECTOR.at(document.key_at(path), message, KEY_RULE)
        yield from _invalid_value(document, path, value)
    for index, term in enumerate(selector.get("matchExpressions") or ()):
        yield from _invalid_term(document, (*place, "matchExpressions", index), term)


def _invalid_term(
    document: Document, place: FieldPath, term: Mapping[str, Any]
) -> Iterator[Diagnostic]:
    key = term["key"]
    operator = term["operator"]
    values = term.get("values") or []
    operator_path = (*place, "operator")
    if not label_key(key):
        message = f"{shortened(key or 'an empty key')} is not a label key"
        yield codes.BAD_SELECTOR.at(document.at((*place, "key")), message, KEY_RULE)
    # OCM 1.2.1 compares operators exactly: `in` makes the whole Placement misconfigured.
    if operator not in OPERATORS:
        message = (
            f"the operator {operator} does not exist" if operator else "the operator is missing"
        )
        hint = f"write {or_text(OPERATORS)}"
        yield codes.BAD_SELECTOR.at(document.at(operator_path), message, hint)
        # The operator decides whether there may be values.
        return
    if operator in {"In", "NotIn"} and not values:
        message = f"{operator} needs at least one value"
        yield codes.BAD_SELECTOR.at(document.at(operator_path), message, "write values: [a, b]")
    if operator in {"Exists", "DoesNotExist"} and values:
        yield codes.BAD_SELECTOR.at(
            document.key_at((*place, "values")),
            f"{operator} takes no values",
            "remove values, or write operator: In",
        )
    for index, value in enumerate(values):
        yield from _invalid_value(document, (*place, "values", index), value)


def _invalid_value(document: Document, place: FieldPath, value: str | None) -> Iterator[Diagnostic]:
    if value is None or not label_value(value):
        name = "an empty value" if value is None else shortened(value)
        yield codes.BAD_SELECTOR.at(document.at(place), f"{name} is not a label value", VALUE_RULE)

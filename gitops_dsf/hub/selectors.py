"""Label selectors as Kubernetes evaluates them, and the syntax of labels.

Guaranteed: the same clusters as a controller of OCM selects, and its messages for refused selectors
(apimachinery, pkg/labels).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from gitops_dsf.hub.objects import LabelRequirement, LabelSelector

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist"]
OPERATORS: tuple[Operator, ...] = ("In", "NotIn", "Exists", "DoesNotExist")
_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z", re.ASCII)
_SUBDOMAIN = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z", re.ASCII
)
_MAX_NAME = 63
"""Characters of a label value, or of a label key without its prefix."""
_MAX_PREFIX = 253
"""Characters of the prefix of a label key, which is a DNS subdomain."""


class SelectorError(ValueError):
    """A selector that Kubernetes rejects. The message is the one of the controller."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        if self.operator == "In":
            return self.key in labels and labels[self.key] in self.values
        # As in Kubernetes, an object without the label passes.
        if self.operator == "NotIn":
            return self.key not in labels or labels[self.key] not in self.values
        return (self.key in labels) == (self.operator == "Exists")

    def __str__(self) -> str:
        if self.operator == "In":
            return f"{self.key} in ({', '.join(self.values)})"
        if self.operator == "NotIn":
            return f"{self.key} not in ({', '.join(self.values)})"
        if self.operator == "Exists":
            return f"{self.key} exists"
        return f"{self.key} does not exist"


@dataclass(frozen=True, slots=True)
class Selector:
    """A compiled selector: all requirements must match.

    `nothing`, a nil pointer in Go, matches no object.
    """

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @classmethod
    def of(cls, labels: Mapping[str, str], terms: Iterable[Requirement] = ()) -> Selector:
        """Makes a selector from labels with exact values and further terms.

        All of them must be valid: they are not checked.
        """
        # In order of key, so that each run names the same requirement as the one that fails.
        exact = [Requirement(key, "In", (labels[key],)) for key in sorted(labels)]
        return cls((*exact, *terms))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        return not self.nothing and self.first_failure(labels) is None

    def first_failure(self, labels: Mapping[str, str]) -> Requirement | None:
        """The first requirement that these labels do not meet; None if they meet all."""
        for requirement in self.requirements:
            if not requirement.matches(labels):
                return requirement
        return None


@lru_cache(maxsize=4096)
def label_value_error(value: str) -> str | None:
    """The reason why a text is not a label value (content.IsLabelValue); None if it is one."""
    problems = []
    if len(value.encode()) > _MAX_NAME:
        problems.append(f"must be no more than {_MAX_NAME} bytes")
    if value and not _NAME.match(value):
        problems.append(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_'"
            " or '.', and must start and end with an alphanumeric character"
        )
    return "; ".join(problems) or None


def label_key_error(key: str) -> str | None:
    """The reason why a text is not a label key; None if it is one."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix or not _NAME.match(name) or len(name) > _MAX_NAME:
        return (
            "a valid label key must be a name of at most 63 characters with an optional DNS"
            " subdomain prefix and '/'"
        )
    if slash and (not _SUBDOMAIN.match(prefix) or len(prefix) > _MAX_PREFIX):
        return "prefix part must be a lowercase RFC 1123 subdomain"
    return None


def _requirement(key: str, operator: Operator, values: tuple[str, ...]) -> Requirement:
    # The messages are those of Kubernetes, because people also meet them in a controller's log.
    problems: list[str] = []
    if bad_key := label_key_error(key):
        problems.append(f'key: Invalid value: "{key}": {bad_key}')
    if operator in ("In", "NotIn") and not values:
        problems.append(
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
        )
    if operator in ("Exists", "DoesNotExist") and values:
        problems.append(
            f"values: Invalid value: {json.dumps(values)}: values set must be empty for exists and"
            " does not exist"
        )
    for index, value in enumerate(values):
        if bad_value := label_value_error(value):
            problems.append(f'values[{index}][{key}]: Invalid value: "{value}": {bad_value}')
    if problems:
        raise SelectorError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return Requirement(key, operator, values)


def _expression(expression: LabelRequirement) -> Requirement:
    # Returns one of the literals, so that the type of a requirement says what it may be.
    for operator in OPERATORS:
        if operator == expression.operator:
            return _requirement(expression.key, operator, expression.values or ())
    raise SelectorError(f'"{expression.operator}" is not a valid label selector operator')


def compile_selector(selector: LabelSelector | None) -> Selector:
    """Compiles a selector; None matches everything.

    Raises SelectorError if Kubernetes rejects it.
    """
    if selector is None:
        return Selector()
    requirements: list[Requirement] = []
    for key, value in sorted((selector.match_labels or {}).items()):
        requirements.append(_requirement(key, "In", (value,)))
    requirements += map(_expression, selector.match_expressions or ())
    return Selector(tuple(requirements))


def lenient_selector(selector: LabelSelector | None) -> Selector:
    """Like compile_selector, but an invalid selector matches nothing.

    API servers store invalid selectors, because the CRDs of OCM 1.2.1 do not check them
    (docs/contributing/behaviour.md#invalid-selectors).
    """
    try:
        return compile_selector(selector)
    except SelectorError:
        return Selector(nothing=True)

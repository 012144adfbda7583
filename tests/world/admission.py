"""Admission in the world.

The rendered ValidatingAdmissionPolicies judge every write of our programs.

The expressions are those of the rendered tree, evaluated by the CEL engine of the simulator. What
is modelled is which requests a policy concerns, and what it sees of them (Kubernetes 1.37,
"Validating Admission Policy"). Nobody in the world may delete the namespace of a cluster, so no
account is one that a policy trusts for that.

`tests/hub/test_world_admission.py` compares the answers with those of a real API server.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

import msgspec
from cel_expr_python import cel
from cel_expr_python.ext import ext_optional, ext_strings

from dsf_wire.constants import ADDON_GROUP, ADDON_NAME
from gitops_dsf.hub.names import HUB_SCORER, RECONCILER
from tests.support.apiserver import Object

_VARIABLES: Final = ("object", "oldObject", "request")
_PATH: Final = r"((?:\.\??\w+(?![\w(]))*)"
_SEEN: Final = re.compile(r"\b(object|oldObject|request)\b" + _PATH)
"""A variable with the fields of it that an expression reads, up to the first function."""
_EITHER: Final = re.compile(r"\(([^()?]*) \? oldObject : object\)" + _PATH)
KEPT: Final = 10_000
"""Answers of one expression that are kept."""
OURS: Final = (f"{ADDON_NAME}-", HUB_SCORER, RECONCILER)
"""The names of policies over our programs begin so."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A policy, with its variables written into its expressions."""

    name: str
    resources: frozenset[str]
    operations: frozenset[str]
    conditions: tuple[str, ...]
    validations: tuple[tuple[str, str], ...]
    """Expressions with their messages."""

    @cached_property
    def when(self) -> Sequence["Expression"]:
        return [expression(text) for text in self.conditions]

    @cached_property
    def rules(self) -> Sequence[tuple["Expression", str]]:
        """With their messages."""
        return [(expression(text), message) for text, message in self.validations]


@dataclass(frozen=True, kw_only=True)
class Account:
    """Who sends a request."""

    name: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AdmissionRequest:
    """A write as a policy sees it."""

    account: Account
    plural: str
    namespace: str
    name: str
    before: Object | None
    after: Object | None
    """None for a deletion."""
    options: Mapping[str, Any] | None = None
    """DeleteOptions."""
    subresource: str = ""

    @property
    def operation(self) -> str:
        if self.after is None:
            return "DELETE"
        return "CREATE" if self.before is None else "UPDATE"


def agent(cluster: str) -> Account:
    """An agent that registered by certificate."""
    name = f"system:open-cluster-management:cluster:{cluster}:addon:{ADDON_NAME}:agent:{ADDON_NAME}"
    return Account(name=name, groups=(ADDON_GROUP,))


@cache
def program(name: str, *, namespace: str) -> Account | None:
    """The account of a program of the world; None for models and people."""
    kind, _, cluster = name.partition("/")
    if kind == "agent":
        return agent(cluster)
    accounts = {"hub-scorer": HUB_SCORER, "reconciler-0": RECONCILER, "reconciler-1": RECONCILER}
    if kind not in accounts:
        return None
    return Account(name=f"system:serviceaccount:{namespace}:{accounts[kind]}")


def refusal(policies: Iterable[Policy], asked: AdmissionRequest) -> str:
    """Why a policy refuses a write; empty if none does."""
    resource = f"{asked.plural}/{asked.subresource}" if asked.subresource else asked.plural
    operation = asked.operation
    seen: dict[str, Any] | None = None
    for policy in policies:
        if resource not in policy.resources or operation not in policy.operations:
            continue
        if seen is None:
            seen = _seen(asked)
        if not all(each.holds(seen) for each in policy.when):
            continue
        for rule, message in policy.rules:
            if not rule.holds(seen):
                # The words of validating/dispatcher.go of Kubernetes 1.37.
                return f"ValidatingAdmissionPolicy '{policy.name}' denied request: {message}"
    return ""


def _seen(asked: AdmissionRequest) -> dict[str, Any]:
    """What expressions see of a write."""
    request: dict[str, Any] = {
        "operation": asked.operation,
        "namespace": asked.namespace,
        "name": asked.name,
        "userInfo": {"username": asked.account.name, "groups": list(asked.account.groups)},
    }
    if asked.options is not None:
        request["options"] = dict(asked.options)
    return {"object": asked.after, "oldObject": asked.before, "request": request}


class Expression:
    """An expression. It is evaluated once for all writes of which it reads the same."""

    def __init__(self, text: str) -> None:
        self._program = _environment().compile(text)
        # What it reads of `(... ? oldObject : object).field` it reads of one of both.
        plain = _EITHER.sub(r"(\1 ? oldObject\2 : object\2)", text)
        paths = {(found[1], *re.findall(r"\w+", found[2])) for found in _SEEN.finditer(plain)}
        self.paths = sorted(paths)
        """Variables with the fields that it reads."""
        self._known: dict[bytes, bool] = {}

    def holds(self, seen: Mapping[str, Any]) -> bool:
        """An expression that fails refuses: failurePolicy is Fail."""
        read = msgspec.json.encode([_read(seen, path) for path in self.paths])
        known = self._known.get(read)
        if known is None:
            if len(self._known) == KEPT:
                self._known.clear()
            known = self._known[read] = self._program.eval(data=seen).value() is True
        return known


expression: Final = cache(Expression)
"""Policies share most of theirs."""


def _read(seen: Mapping[str, Any], path: Sequence[str]) -> tuple[int, Any]:
    """A value and how many fields of its path there are: to read a field of what is absent fails,
    and to ask whether it is there does not.
    """
    value: Any = seen
    for depth, field in enumerate(path):
        if not isinstance(value, Mapping) or field not in value:
            return depth, None
        value = value[field]
    return len(path), value


@cache
def _environment() -> Any:
    return cel.NewEnv(
        variables=dict.fromkeys(_VARIABLES, cel.Type.DYN),
        extensions=[ext_optional.ExtOptional(), ext_strings.ExtStrings()],
    )


def of_programs(documents: Iterable[Object]) -> tuple[Policy, ...]:
    """The policies over requests of our programs."""
    return tuple(
        _policy(item)
        for item in documents
        if item["kind"] == "ValidatingAdmissionPolicy" and item["metadata"]["name"].startswith(OURS)
    )


def _policy(item: Object) -> Policy:
    spec = item["spec"]
    assert spec["failurePolicy"] == "Fail", item
    [rule] = spec["matchConstraints"]["resourceRules"]
    variables: dict[str, str] = {}
    for each in spec.get("variables", ()):
        # Only namespaces of clusters are asked about, and no program may delete one.
        trusts = "authorizer." in each["expression"]
        variables[each["name"]] = "false" if trusts else _inlined(each["expression"], variables)
    return Policy(
        name=item["metadata"]["name"],
        resources=frozenset(rule["resources"]),
        operations=frozenset(rule["operations"]),
        conditions=tuple(each["expression"] for each in spec.get("matchConditions", ())),
        validations=tuple(
            (_inlined(each["expression"], variables), each["message"])
            for each in spec["validations"]
        ),
    )


def _inlined(text: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"\bvariables\.(\w+)", lambda found: f"({variables[found[1]]})", text)

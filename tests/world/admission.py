"""Admission in the world: the rendered ValidatingAdmissionPolicies judge every write of our
programs.

The expressions are those of the rendered tree, evaluated by the CEL engine of the simulator. What
is modelled is which requests a policy concerns, and what it sees of them (Kubernetes 1.37,
"Validating Admission Policy"). Nobody in the world may delete the namespace of a cluster, so no
account is one that a policy trusts for that.

`tests/hub/test_world_admission.py` compares the answers with those of a real API server.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional, ext_strings

from dsf_wire.constants import ADDON_GROUP, ADDON_NAME
from gitops_dsf.hub.names import HUB_SCORER, RECONCILER
from tests.support.apiserver import Object

_VARIABLES: Final = ("object", "oldObject", "request")
_NAMES: Final = re.compile(r"object\.metadata\.\?name")
_CONTENT: Final = re.compile(r"\b(object|oldObject)\b|request\.\?options")
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

    @property
    def sees_names_alone(self) -> bool:
        """Whether its answer depends on account, namespace, name and operation alone, as for a
        Lease.
        """
        written = " ".join([*self.conditions, *(text for text, _ in self.validations)])
        return not _CONTENT.search(_NAMES.sub("", written))


@dataclass(frozen=True, kw_only=True)
class Account:
    """Who sends a request."""

    name: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Asked:
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


def program(name: str, *, namespace: str) -> Account | None:
    """The account of a program of the world; None for models and people."""
    kind, _, cluster = name.partition("/")
    if kind == "agent":
        return agent(cluster)
    accounts = {"hub-scorer": HUB_SCORER, "reconciler-0": RECONCILER, "reconciler-1": RECONCILER}
    if kind not in accounts:
        return None
    return Account(name=f"system:serviceaccount:{namespace}:{accounts[kind]}")


def refusal(policies: Iterable[Policy], asked: Asked) -> str:
    """Why a policy refuses a write; empty if none does."""
    resource = f"{asked.plural}/{asked.subresource}" if asked.subresource else asked.plural
    for policy in policies:
        if resource not in policy.resources or asked.operation not in policy.operations:
            continue
        if _sees_names_alone(policy):
            answer = _by_names(policy, asked.account, asked.namespace, asked.name, asked.operation)
        else:
            answer = _answer(policy, asked)
        if answer:
            # The words of validating/dispatcher.go of Kubernetes 1.37.
            return f"ValidatingAdmissionPolicy '{policy.name}' denied request: {answer}"
    return ""


def _answer(policy: Policy, asked: Asked) -> str:
    request: dict[str, Any] = {
        "operation": asked.operation,
        "namespace": asked.namespace,
        "name": asked.name,
        "userInfo": {"username": asked.account.name, "groups": list(asked.account.groups)},
    }
    if asked.options is not None:
        request["options"] = dict(asked.options)
    seen = {"object": asked.after, "oldObject": asked.before, "request": request}
    if not all(_holds(text, seen) for text in policy.conditions):
        return ""
    return next((message for text, message in policy.validations if not _holds(text, seen)), "")


_sees_names_alone = lru_cache(maxsize=None)(lambda policy: policy.sees_names_alone)


@cache
def _by_names(policy: Policy, account: Account, namespace: str, name: str, operation: str) -> str:
    metadata = {"metadata": {"name": name}}
    asked = Asked(
        account=account,
        plural="",
        namespace=namespace,
        name=name,
        before=None if operation == "CREATE" else metadata,
        after=None if operation == "DELETE" else metadata,
    )
    return _answer(policy, asked)


def _holds(text: str, seen: Mapping[str, Any]) -> bool:
    """An expression that fails refuses: failurePolicy is Fail."""
    return bool(_program(text).eval(data=seen).value() is True)


@cache
def _environment() -> Any:
    return cel.NewEnv(
        variables=dict.fromkeys(_VARIABLES, cel.Type.DYN),
        extensions=[ext_optional.ExtOptional(), ext_strings.ExtStrings()],
    )


@cache
def _program(text: str) -> Any:
    return _environment().compile(text)


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

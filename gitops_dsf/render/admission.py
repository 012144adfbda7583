"""ValidatingAdmissionPolicies that apply to the requests of one account or group only."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from gitops_dsf.render.objects import Object, Wave, metadata

ADMISSION_API: Final = "admissionregistration.k8s.io/v1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """Conditions on operations on resources: CEL, with the message for a violation."""

    name: str
    group: str
    resources: tuple[str, ...]
    operations: tuple[str, ...]
    validations: tuple[tuple[str, str], ...]
    variables: tuple[tuple[str, str], ...] = ()


def label_of(item: str, label: str) -> str:
    """CEL: the value of a label of `object` or `oldObject`; empty if it has none."""
    return f'{item}.metadata.?labels[?"{label}"].orValue("")'


def named_in(names: Iterable[str]) -> str:
    """CEL: whether the object has one of these names."""
    return f'object.metadata.?name.orValue("") in {listed(names)}'


def listed(names: Iterable[str]) -> str:
    """CEL: the names as a list."""
    return msgspec.json.encode(sorted(set(names))).decode()


def in_force(policy: Policy, *, name: str, of: tuple[str, str]) -> Iterator[Object]:
    """The policy and its binding. ``of`` says whose requests are checked: a name, and CEL."""
    yield _policy(policy, name=name, of=of)
    yield {
        "apiVersion": ADMISSION_API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata(name=name, wave=Wave.FOUNDATIONS),
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }


def _policy(policy: Policy, *, name: str, of: tuple[str, str]) -> Object:
    spec: dict[str, Any] = {
        # If the policy cannot be evaluated, the requests it applies to are refused. Others are not affected.
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [policy.group],
                    "apiVersions": ["*"],
                    "resources": list(policy.resources),
                    "operations": list(policy.operations),
                    "scope": "*",
                }
            ]
        },
        "matchConditions": [{"name": of[0], "expression": of[1]}],
    }
    if policy.variables:
        spec["variables"] = [{"name": key, "expression": expression} for key, expression in policy.variables]
    spec["validations"] = [
        {"expression": expression, "message": message, "reason": "Forbidden"}
        for expression, message in policy.validations
    ]
    return {
        "apiVersion": ADMISSION_API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata(name=name, wave=Wave.FOUNDATIONS),
        "spec": spec,
    }

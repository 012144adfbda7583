"""What RBAC cannot say about the reconciler's rights: ValidatingAdmissionPolicies over its own requests, and nobody else's.

A right to patch is a right to patch everything, one to create cannot be bound to a name, and one to delete does not ask in what state an
object is (Kubernetes, "Using RBAC Authorization", resourceNames). With these policies a mistake of the reconciler, or a stolen token of
its account, can change one annotation of an ApplicationSet and delete what docs/reconciler.md#running-it lists, and nothing else.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dsf_wire.constants import AGENT_MANAGER, MANAGED_BY_LABEL, SCORE_GROUP, SCORE_PLURAL, SUSPENDED_CONFIGMAP
from gitops_dsf.hub.names import APPLICATION_LABEL, HOLDER_SEPARATOR, REFRESH_ANNOTATION
from gitops_dsf.render.objects import Object, Wave, metadata
from gitops_dsf.render.reconciler.names import NAME, username
from gitops_dsf.render.reconciler.rights import ARGO_GROUP
from gitops_dsf.repository.model.repository import FleetRepository

ADMISSION_API: Final = "admissionregistration.k8s.io/v1"
LEASE_GROUP: Final = "coordination.k8s.io"
POD_NAME_EXTRA: Final = "authentication.kubernetes.io/pod-name"
"""What the API server adds to a user whose token is bound to a pod (Kubernetes, "Managing Service Accounts")."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """Conditions (CEL, and what is said when one does not hold) on some operations on resources, each with its group."""

    name: str
    resources: tuple[tuple[str, str], ...]
    operations: tuple[str, ...]
    validations: tuple[tuple[str, str], ...]
    variables: tuple[tuple[str, str], ...] = ()
    lease: bool = False
    """Whether the conditions compare with the Lease, as `params`."""


def policies(repository: FleetRepository) -> Iterator[Object]:
    """Each policy, then what puts it into force."""
    for policy in _policies(repository.spec.hub_namespace):
        name = f"{NAME}-{policy.name}"
        yield _policy(name, policy, username(repository))
        yield {
            "apiVersion": ADMISSION_API,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": metadata(name=name, wave=Wave.FOUNDATIONS),
            "spec": {"policyName": name, **_params(policy, repository.spec.hub_namespace), "validationActions": ["Deny"]},
        }


def _params(policy: Policy, namespace: str) -> Object:
    # Not Deny: the API server looks for the Lease before it looks at matchConditions, so without a Lease (a hub where the reconciler never
    # ran) nobody could delete an Application, Argo CD included.
    return {"paramRef": {"name": NAME, "namespace": namespace, "parameterNotFoundAction": "Allow"}} if policy.lease else {}


def _policies(namespace: str) -> Sequence[Policy]:
    kept = [
        f"object.metadata.?{field}.orValue([]) == oldObject.metadata.?{field}.orValue([])" for field in ("finalizers", "ownerReferences")
    ]
    others = (
        f'variables.after.all(key, key == "{REFRESH_ANNOTATION}" || '
        "(key in variables.before && variables.before[key] == variables.after[key])) && "
        f'variables.before.all(key, key == "{REFRESH_ANNOTATION}" || key in variables.after)'
    )
    controlled = (
        'oldObject.metadata.?ownerReferences.orValue([]).exists(owner, owner.kind == "ApplicationSet" && '
        f'owner.apiVersion.startsWith("{ARGO_GROUP}/") && owner.?controller.orValue(false))'
    )
    one_annotation = f"the reconciler may change the annotation {REFRESH_ANNOTATION} of an ApplicationSet and nothing else"
    return (
        Policy(
            name="applicationsets",
            resources=((ARGO_GROUP, "applicationsets"),),
            operations=("UPDATE",),
            variables=(
                ("before", "oldObject.metadata.?annotations.orValue({})"),
                ("after", "object.metadata.?annotations.orValue({})"),
            ),
            validations=tuple(
                (expression, one_annotation)
                for expression in (
                    "object.?spec == oldObject.?spec",
                    "object.?status == oldObject.?status",
                    "object.metadata.?labels.orValue({}) == oldObject.metadata.?labels.orValue({})",
                    *kept,
                    others,
                )
            ),
        ),
        Policy(
            name="applications",
            resources=((ARGO_GROUP, "applications"),),
            operations=("DELETE",),
            validations=(
                (
                    f'oldObject.metadata.?labels[?"{APPLICATION_LABEL}"].orValue("") != ""',
                    f"the reconciler may delete Applications with the label {APPLICATION_LABEL} and no others",
                ),
                (
                    controlled,
                    "the reconciler may delete Applications that an ApplicationSet controls and no others",
                ),
                (
                    "request.?options.?preconditions.?uid.hasValue()",
                    "the reconciler may delete an Application by its UID only: name it in preconditions",
                ),
            ),
        ),
        Policy(
            name="scores",
            resources=((SCORE_GROUP, SCORE_PLURAL),),
            operations=("DELETE",),
            validations=(
                (
                    f'oldObject.metadata.?labels[?"{MANAGED_BY_LABEL}"].orValue("") == "{AGENT_MANAGER}"',
                    f"the reconciler may delete AddOnPlacementScores with the label {MANAGED_BY_LABEL}={AGENT_MANAGER} and no others",
                ),
            ),
        ),
        _leader(namespace),
        _one_name(namespace, "configmaps", group="", only=SUSPENDED_CONFIGMAP, kind="ConfigMap"),
        _one_name(namespace, "leases", group=LEASE_GROUP, only=NAME, kind="Lease"),
    )


def _leader(namespace: str) -> Policy:
    """A leader that was frozen, or whose request was under way for long, deletes nothing once another replica holds the Lease.

    The API server sees the Lease through an informer, some milliseconds late; a new leader deletes nothing for longer than that. The same
    holds while there is no Lease, which this cannot deny. Other writes are not fenced so: a late one ends in a conflict, or the leader
    writes the same field again.
    """
    lease = f"the Lease {namespace}/{NAME}"
    return Policy(
        name="leader",
        resources=((ARGO_GROUP, "applications"), (SCORE_GROUP, SCORE_PLURAL)),
        operations=("DELETE",),
        lease=True,
        variables=(
            # Tokens that the kubelet asks for name their pod; requests of one pod have one such name.
            ("pods", f'request.userInfo.?extra[?"{POD_NAME_EXTRA}"].orValue([])'),
            ("holder", 'params.?spec.?holderIdentity.orValue("")'),
        ),
        validations=(
            ("variables.pods.size() == 1", f"only the pod that holds {lease} may delete, and this token names no pod"),
            (
                f'variables.pods.size() != 1 || variables.holder.startsWith(variables.pods[0] + "{HOLDER_SEPARATOR}")',
                f"only the pod that holds {lease} may delete, and another one holds it",
            ),
        ),
    )


def _one_name(namespace: str, resource: str, *, group: str, only: str, kind: str) -> Policy:
    return Policy(
        name=resource,
        resources=((group, resource),),
        operations=("CREATE", "UPDATE"),
        validations=(
            (
                f'request.namespace == "{namespace}" && object.metadata.?name.orValue("") == "{only}"',
                f"the reconciler may write the {kind} {namespace}/{only} and no other",
            ),
        ),
    )


def _policy(name: str, policy: Policy, user: str) -> Object:
    spec: dict[str, Any] = {
        # Requests of the reconciler are refused while a policy cannot be evaluated; those of others never come here.
        "failurePolicy": "Fail",
        **({"paramKind": {"apiVersion": f"{LEASE_GROUP}/v1", "kind": "Lease"}} if policy.lease else {}),
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [group],
                    "apiVersions": ["*"],
                    "resources": [resource],
                    "operations": list(policy.operations),
                    "scope": "*",
                }
                for group, resource in policy.resources
            ]
        },
        "matchConditions": [{"name": "reconciler", "expression": f'request.userInfo.username == "{user}"'}],
    }
    if policy.variables:
        spec["variables"] = [{"name": key, "expression": expression} for key, expression in policy.variables]
    spec["validations"] = [
        {"expression": expression, "message": message, "reason": "Forbidden"} for expression, message in policy.validations
    ]
    return {
        "apiVersion": ADMISSION_API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata(name=name, wave=Wave.FOUNDATIONS),
        "spec": spec,
    }

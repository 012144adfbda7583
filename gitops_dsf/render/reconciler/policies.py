"""What RBAC cannot say about the reconciler's rights: ValidatingAdmissionPolicies over its own requests, and
nobody else's.

A right to patch is a right to patch everything, one to create cannot be bound to a name, and one to delete
does not ask in what state an object is (Kubernetes, "Using RBAC Authorization", resourceNames). With these
policies a mistake of the reconciler, or a stolen token of its account, can change one annotation of an
ApplicationSet and one of an Application, and delete what docs/rights.md#of-the-reconciler lists, and nothing
else.
"""

from collections.abc import Iterator, Sequence

from dsf_wire.constants import AGENT_MANAGER, MANAGED_BY_LABEL, SCORE_GROUP, SCORE_PLURAL, SUSPENDED_CONFIGMAP
from gitops_dsf.hub.names import (
    APPLICATION_LABEL,
    APPLICATION_REFRESH_ANNOTATION,
    REFRESH_ANNOTATION,
)
from gitops_dsf.render.admission import Policy, in_force, label_of
from gitops_dsf.render.agentscores import written_by_agents
from gitops_dsf.render.objects import Object
from gitops_dsf.render.rbac import requests_of
from gitops_dsf.render.reconciler.names import NAME
from gitops_dsf.render.reconciler.rights import ARGO_GROUP
from gitops_dsf.repository.model.repository import FleetRepository


def policies(repository: FleetRepository) -> Iterator[Object]:
    """Each policy, then what puts it into force."""
    requests = requests_of(NAME, namespace=repository.spec.hub_namespace)
    for policy in _policies(repository.spec.hub_namespace):
        yield from in_force(policy, name=f"{NAME}-{policy.name}", of=("reconciler", requests))


def _policies(namespace: str) -> Sequence[Policy]:
    return (
        _one_annotation(
            "applicationsets",
            resource="applicationsets",
            kind="ApplicationSet",
            fields=("spec", "status"),
            annotation=REFRESH_ANNOTATION,
        ),
        _one_annotation(
            "application-refreshes",
            resource="applications",
            kind="Application",
            fields=("spec", "status", "operation"),
            annotation=APPLICATION_REFRESH_ANNOTATION,
            more=_copies_only("change"),
        ),
        Policy(
            name="applications",
            group=ARGO_GROUP,
            resources=("applications",),
            operations=("DELETE",),
            validations=(
                *_copies_only("delete"),
                (
                    "request.?options.?preconditions.?uid.hasValue()",
                    "the reconciler may delete an Application by its UID only: name it in preconditions",
                ),
            ),
        ),
        Policy(
            name="scores",
            group=SCORE_GROUP,
            resources=(SCORE_PLURAL,),
            operations=("DELETE",),
            validations=(
                (
                    written_by_agents("oldObject"),
                    (
                        "the reconciler may delete AddOnPlacementScores with the label"
                        f" {MANAGED_BY_LABEL}={AGENT_MANAGER} and no others"
                    ),
                ),
            ),
        ),
        _named(
            namespace,
            "configmaps",
            group="",
            allowed=SUSPENDED_CONFIGMAP,
            kind="ConfigMap",
        ),
        _named(namespace, "leases", group="coordination.k8s.io", allowed=NAME, kind="Lease"),
    )


def _copies_only(verb: str) -> Sequence[tuple[str, str]]:
    """Conditions on an Application that is there already."""
    return (
        (
            f'{label_of("oldObject", APPLICATION_LABEL)} != ""',
            f"the reconciler may {verb} Applications with the label {APPLICATION_LABEL} and no others",
        ),
        (
            (
                "oldObject.metadata.?ownerReferences.orValue([]).exists(owner, "
                'owner.kind == "ApplicationSet" && '
                f'owner.apiVersion.startsWith("{ARGO_GROUP}/") && owner.?controller.orValue(false))'
            ),
            f"the reconciler may {verb} Applications that an ApplicationSet controls and no others",
        ),
    )


def _one_annotation(
    name: str,
    *,
    resource: str,
    kind: str,
    fields: Sequence[str],
    annotation: str,
    more: Sequence[tuple[str, str]] = (),
) -> Policy:
    """`fields` are all that an object of this kind has beside its metadata, `more` are further conditions."""
    unchanged = (
        *(f"object.?{field} == oldObject.?{field}" for field in fields),
        "object.metadata.?labels.orValue({}) == oldObject.metadata.?labels.orValue({})",
        *(
            f"object.metadata.?{field}.orValue([]) == oldObject.metadata.?{field}.orValue([])"
            for field in ("finalizers", "ownerReferences")
        ),
        (
            f'variables.after.all(key, key == "{annotation}" || '
            "(key in variables.before && variables.before[key] == variables.after[key])) && "
            f'variables.before.all(key, key == "{annotation}" || key in variables.after)'
        ),
    )
    message = f"the reconciler may change the annotation {annotation} of an {kind} and nothing else"
    return Policy(
        name=name,
        group=ARGO_GROUP,
        resources=(resource,),
        operations=("UPDATE",),
        variables=(
            ("before", "oldObject.metadata.?annotations.orValue({})"),
            ("after", "object.metadata.?annotations.orValue({})"),
        ),
        validations=(*((expression, message) for expression in unchanged), *more),
    )


def _named(namespace: str, resource: str, *, group: str, allowed: str, kind: str) -> Policy:
    """Only the object of this name in one namespace may be written."""
    return Policy(
        name=resource,
        group=group,
        resources=(resource,),
        operations=("CREATE", "UPDATE"),
        validations=(
            (
                f'request.namespace == "{namespace}" && object.metadata.?name.orValue("") == "{allowed}"',
                f"the reconciler may write the {kind} {namespace}/{allowed} and no other",
            ),
        ),
    )

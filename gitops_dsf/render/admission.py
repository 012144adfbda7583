"""ValidatingAdmissionPolicies: limits that RBAC cannot express.

Most apply to the requests of one account or group only.

A right to patch is a right to patch everything, one to create cannot be bound to a name, and one to
delete does not ask in what state an object is (Kubernetes, "Using RBAC Authorization",
resourceNames). With these policies a mistake of one of our programs, or a stolen token of its
account, can change what docs/operate/security.md lists, and nothing else.

An agent may create objects in its cluster's namespace. Without a limit one cluster that is taken
over fills the hub's etcd, and the memory of programs that read all scores. A ResourceQuota would
count the scores of other add-ons too, and depends on the controller manager
(docs/contributing/decisions.md). So the policy names the objects instead: those of the fleet's
scorers.

One policy applies to everybody but administrators: it says which Applications may be in the
platform's AppProjects. Argo CD applies the other policies. This one limits Argo CD itself, and
people apply it.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from dsf_wire.constants import (
    ADDON_GROUP,
    ADDON_NAME,
    AGENT_MANAGER,
    MANAGED_BY_LABEL,
    MAX_ITEM_NAME,
    MAX_SCORE_ITEMS,
    RUNS_ON_LABEL,
    SCORER_LABEL,
)
from dsf_wire.scored import MAX_CONDITION_MESSAGE, MAX_CONDITION_REASON, SCORED
from gitops_dsf.hub.names import (
    APPLICATION_REFRESH_ANNOTATION,
    HUB_SCORER,
    MAINTENANCE_TAINT,
    RECONCILER,
    REFRESH_ANNOTATION,
)
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.render.objects import Object, Wave, filled, metadata
from gitops_dsf.repository.model.repository import ArgoCd
from gitops_dsf.wording import names_text

ADMISSION_API: Final = "admissionregistration.k8s.io/v1"
AGENT_POLICY: Final = f"{ADDON_NAME}-scores"
# An agent as it registers by certificate, and as it registers by token (manifests/cluster.yaml).
_AGENTS: Final = (
    f'"{ADDON_GROUP}" in request.userInfo.?groups.orValue([]) || '
    '(request.userInfo.username.startsWith("system:serviceaccount:") && '
    f'request.userInfo.username.endsWith(":{ADDON_NAME}-agent"))'
)

_LABELS: Final = (MANAGED_BY_LABEL, RUNS_ON_LABEL, SCORER_LABEL)
"""Labels that agents and the hub scorer write on their scores."""


def reconciler_policies(namespace: str) -> Iterator[Object]:
    """The policies over the reconciler's requests. ``namespace`` is the hub namespace."""
    requests = _requests_of(RECONCILER, namespace=namespace)
    policies = filled(
        "reconciler-policies.yaml",
        namespace=namespace,
        requests=requests,
        others=f"!({requests})",
        only_reconciler=(
            "only the reconciler writes AddOnPlacementScores with the name gitops-dsf-moves"
        ),
        taint=MAINTENANCE_TAINT,
        one_taint=f"the reconciler may change the taint {MAINTENANCE_TAINT} and nothing else",
        one_annotation_of_a_set=(
            f"the reconciler may change the annotation {REFRESH_ANNOTATION} of an ApplicationSet"
            " and nothing else"
        ),
        one_annotation_of_an_application=(
            f"the reconciler may change the annotation {APPLICATION_REFRESH_ANNOTATION} of an"
            " Application and nothing else"
        ),
    )
    for policy in policies:
        yield from _in_force(policy)


def multi_kueue_policy(namespace: str, configs: Sequence[str]) -> Iterator[Object]:
    """The policy over MultiKueueConfigs. ``configs`` are those that ScoredPlacements name."""
    names = names_text(configs)
    [policy] = filled(
        "multikueue-policy.yaml",
        requests=_requests_of(RECONCILER, namespace=namespace),
        configs=_text(configs),
        some_configs=f"the reconciler may write the MultiKueueConfigs {names} and no others",
        managed_by=MANAGED_BY_LABEL,
        manager=RECONCILER,
        only_clusters=(
            "the reconciler may change spec.clusters and annotations gitops-dsf.io/* of a"
            " MultiKueueConfig and nothing else"
        ),
    )
    yield from _in_force(policy)


def score_policies(fleet: CheckedFleet, *, of_agents: bool) -> Iterator[Object]:
    """The policies over AddOnPlacementScores: the agents', or those that the hub scorer brings."""
    conditions = [
        f'oldObject.metadata.?labels[?"{MANAGED_BY_LABEL}"].orValue("") == "{AGENT_MANAGER}"'
    ]
    # The hub scorer writes its scores with the same label, and those are not the agents' to change.
    if fleet.hub_scoring is not None:
        conditions.append(f'oldObject.metadata.?labels[?"{RUNS_ON_LABEL}"].orValue("") == ""')
    policies = filled(
        "score-policies.yaml",
        from_agents=_AGENTS,
        from_hub_scorer=_requests_of(HUB_SCORER, namespace=fleet.repository.spec.hub_namespace),
        of_agents=" && ".join(conditions),
        on_hub=_listed(fleet, on_hub=True),
        on_spokes=_listed(fleet, on_hub=False),
        most_scores=MAX_SCORE_ITEMS,
        longest_name=MAX_ITEM_NAME,
        scored=SCORED,
        longest_message=MAX_CONDITION_MESSAGE,
        longest_reason=MAX_CONDITION_REASON,
        our_labels=_text(_LABELS),
        our_labels_text=", ".join(_LABELS),
    )
    for policy in policies:
        if (policy["metadata"]["name"] == AGENT_POLICY) is of_agents:
            yield from _in_force(policy)


def application_policy(settings: ArgoCd, applications: Sequence[Object]) -> Iterator[Object]:
    """The policy over Applications of the platform's AppProjects: it allows these and no others."""
    # All of them have one repository and one branch: the tree that is rendered.
    source = applications[0]["spec"]["source"]
    paths: dict[str, str] = {}
    for application in applications:
        paths[application["metadata"]["name"]] = application["spec"]["source"]["path"]
    [policy] = filled(
        "application-policy.yaml",
        namespace=_text(settings.namespace),
        project=_text(settings.project),
        works_project=_text(settings.works_project),
        projects=_text(settings.platform_projects),
        names=_text(list(paths)),
        paths=_text(paths),
        owned=_generated("object"),
        was_owned=_generated("oldObject"),
        url=_text(source["repoURL"]),
        branch=_text(source["targetRevision"]),
    )
    yield from _in_force(policy)


def _generated(variable: str) -> str:
    """CEL: whether an ApplicationSet generated or took over the Application."""
    return (
        f"{variable}.metadata.?ownerReferences.orValue([])"
        '.exists(owner, owner.kind == "ApplicationSet")'
    )


def _text(value: object) -> str:
    """CEL: a text, a list or a map of texts. JSON is CEL, too."""
    return msgspec.json.encode(value).decode()


def _requests_of(name: str, *, namespace: str) -> str:
    """CEL: whether the account sent the request."""
    return f'request.userInfo.username == "system:serviceaccount:{namespace}:{name}"'


def _listed(fleet: CheckedFleet, *, on_hub: bool) -> str:
    """CEL: the names of the scores that are written on the hub, or on the spokes, as a list."""
    names = {scorer.resource_name for scorer in fleet.scorers if scorer.spec.on_hub is on_hub}
    return _text(sorted(names))


def _in_force(policy: Object) -> Iterator[Object]:
    """The policy and its binding, before what they limit."""
    name = policy["metadata"]["name"]
    yield {**policy, "metadata": metadata(name=name, wave=Wave.FOUNDATIONS)}
    # Kubernetes asks no policy that no binding names.
    yield {
        "apiVersion": ADMISSION_API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata(name=name, wave=Wave.FOUNDATIONS),
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }

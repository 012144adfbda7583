# ruff: noqa: E501 - findings as they are printed
"""Every check of `doctor`.

It is content with what the renderer renders, and says of each thing that can be wrong what it is.
"""

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from gitops_dsf.hub.unread import Unread, Why
from gitops_dsf.views.doctor.checks.ocm import GROUPS
from gitops_dsf.views.doctor.examine import CHECKS, examine, not_installed
from gitops_dsf.views.doctor.facts import DoctorFacts, FactSource
from gitops_dsf.views.doctor.objects import images_of, version_of
from gitops_dsf.views.status.inputs import HubPart
from tests.support import upstream
from tests.support.healthyhub import CLUSTERS, altered, conditions, facts, run, workload
from tests.support.hubobjects import (
    ARGOCD,
    HUB,
    NOW,
    Object,
    addon,
    application,
    application_set,
    binding,
    check_of,
    cluster,
    decision,
    drained,
    failing,
    fleet,
    global_set,
    joined,
    masks,
    meta,
    move,
    moves_score,
    never_scored,
    paced,
    paced_moves,
    placement,
    score,
    scorer,
    stamp,
    verified,
    with_refuges,
)

Given = Callable[[], DoctorFacts]


WELL = {
    "clock": "the hub's clock and this machine's agree",
    "ocm-kinds": "the hub serves every OCM kind that is rendered",
    "ocm-version": "OCM 1.2.1",
    "ocm-features": "AddonManagement, DefaultClusterSet are on",
    "ocm-clusters": "3 clusters, 3 of them with an agent; all of those joined and are available",
    "upstream": "no part of the upstream add-on is on the hub",
    "acm-namespace": "Red Hat Advanced Cluster Management is not on the hub",
    "agents": "3 agents, all Available",
    "agents-left": "every agent is on a cluster of the inventory",
    "argocd-version": "Argo CD 3.3.9",
    "argocd-policy": "each ApplicationSet's own policy counts",
    "argocd-settings": "argocd-cm has the health checks, and tracks by annotation",
    "argocd-delivery": (
        "1 Application for the rendered tree: every object is there, and as it was rendered"
    ),
    "placements": "OCM understands 1 rendered Placement",
    "applicationsets": "no error in 1 rendered ApplicationSet",
    "cluster-secrets": "Argo CD knows 3 clusters: all that applications may be decided for",
    "argocd-agent": "Argo CD reaches no cluster through argocd-agent",
    "scorers": "2 scorers, 2 of them probed by the reconciler, nothing wrong",
    "crds": "the CRDs are those that gitops-dsf renders",
    "scorer-list": "the list has 2 scorers",
    "scores-fresh": "6 scores on 3 clusters, all there and valid",
    "scores-owned": "every score of ours has a scorer and an agent, and no other writer",
    "external-scores": "no Placement ranks by scores of other add-ons",
    "token-secrets": "no scorer needs a token; Secrets of clusters are not visible from the hub",
    "paced-moves": "no Placement is paced",
    "moves-stopped": "the fleet did not stop its moves",
    "verified-moves": "no Placement verifies its moves",
    "maintenance": "no maintenance of paced applications",
    "refuges": "no refuges are planned",
    "kueue": "no Placement orders clusters for jobs",
    "multikueue-configs": "no Placement orders clusters for jobs",
    "reconciler": "pod-a leads",
}
"""What each check says of a healthy hub."""


def test_a_hub_where_all_is_well_is_well() -> None:
    """What it counts is what the hub has."""
    findings = examine(facts())
    assert [finding.check for finding in findings] == [check.id for check in CHECKS]
    assert [finding.state for finding in findings] == ["ok"] * len(CHECKS)
    assert {finding.check: finding.message for finding in findings} == WELL


def foreign_definition() -> Object:
    """Upstream's CRD, as an operator wrote it."""
    definition = upstream.crds()[0]
    writers = [
        {"manager": "multiclusterhub-operator", "operation": "Update"},
        {"manager": "kube-apiserver", "operation": "Update", "subresource": "status"},
    ]
    definition["metadata"]["managedFields"] = writers
    return definition


def test_crds_of_another_program_are_well_if_the_fleet_says_so() -> None:
    given = facts(
        {FactSource.SCORER_DEFINITION: (foreign_definition(),)}, read={"crds": "Existing"}
    )
    assert [(item.state, item.message) for item in run("crds", given)] == [
        ("ok", "multiclusterhub-operator owns the CRDs, as delivery.crds: Existing says")
    ]


def having(source: FactSource, *objects: Object) -> Given:
    """The healthy hub with other objects of one source."""
    return lambda: facts({source: objects})


def changed(source: FactSource, path: str, value: Any) -> Given:
    """The healthy hub with another value in the first object of one source."""

    def change(item: Object) -> None:
        *parents, last = path.split("/")
        for key in parents:
            item = item.setdefault(key, {})
        item[last] = value

    return lambda: facts(altered(source, change))


def agent_secret(name: str, *, skipped: bool = True) -> Object:
    """The cluster Secret that `argocd-agentctl agent create` of argocd-agent 0.7.0 writes."""
    labels = {
        "argocd.argoproj.io/secret-type": "cluster",
        "argocd-agent.argoproj-labs.io/agent-name": name,
    }
    annotations = {"managed-by": "argocd-agent"}
    if skipped:
        annotations["argocd.argoproj.io/skip-reconcile"] = "true"
    return {"metadata": meta(f"cluster-{name}", ARGOCD, labels=labels, annotations=annotations)}


def principal(mapping: str) -> Object:
    """The principal of argocd-agents with its setting in the Deployment."""
    deployment = workload("argocd-agent-principal", ARGOCD, "quay.io/argoproj-labs/agent:v0.7.0")
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    container["env"] = [
        {"name": "ARGOCD_PRINCIPAL_DESTINATION_BASED_MAPPING", "value": mapping},
    ]
    return deployment


def compared(name: str, cluster: str, *, ago: float | None) -> Object:
    """An Application that Argo CD of this cluster compared so many seconds ago."""
    at = None if ago is None else stamp(NOW - timedelta(seconds=ago))
    return {
        "metadata": {"name": name},
        "spec": {"destination": {"name": cluster, "namespace": name}},
        "status": {"reconciledAt": at},
    }


def agents(
    *secrets: Object,
    mapping: str | None = None,
    controller: str = "v3.6.1",
    applications: Sequence[Object] = (),
) -> Given:
    """A hub that reaches its clusters through argocd-agents, with the mapping in the ConfigMap of
    the principal, and an Application controller of this version.
    """
    data = {} if mapping is None else {"principal.destination-based-mapping": mapping}
    name = "argocd-application-controller"
    controllers = (workload(name, ARGOCD, f"quay.io/argoproj/argocd:{controller}"),)
    return lambda: facts(
        {
            FactSource.CLUSTER_SECRETS: secrets or tuple(map(agent_secret, CLUSTERS)),
            FactSource.AGENT_PARAMETERS: (
                {"metadata": meta("argocd-agent-params", ARGOCD), "data": data},
            ),
            FactSource.ARGOCD_STATEFULSETS: controllers if controller else (),
            FactSource.AGENT_APPLICATIONS: tuple(applications),
        }
    )


def hub(*objects: Object) -> Given:
    """A hub with these objects in its view."""
    return lambda: facts(hub=list(objects))


def seen(**read: Any) -> Given:
    return lambda: facts(read=read)


def without(kind: str, *more: Object) -> list[Object]:
    return [*(item for item in fleet() if item["kind"] != kind), *more]


def on_acm(changes: dict[FactSource, tuple[Any, ...]]) -> Given:
    """A hub whose operator keeps upstream's controllers and add-on beside ours."""
    placement_of_theirs = {"name": "dynamic-scoring-placement", "namespace": "ocm"}
    definition = {
        "metadata": meta("dynamic-scoring-framework"),
        "spec": {"installStrategy": {"type": "Placements", "placements": [placement_of_theirs]}},
    }
    kept: dict[FactSource, tuple[Any, ...]] = {
        FactSource.MULTICLUSTERHUBS: ({"metadata": meta("hub", "ocm")},),
        FactSource.UPSTREAM_DEPLOYMENTS: (
            workload("dynamic-scoring-framework-controller", "ocm", "x:1"),
            workload("dynamic-scoring-addon-controller", "ocm", "x:1"),
        ),
    }

    def given() -> DoctorFacts:
        definitions = (*facts().of(FactSource.ADDON_DEFINITIONS), definition)
        return facts({FactSource.ADDON_DEFINITIONS: definitions, **kept, **changes})

    return given


def refuged(*clusters: str, at: str = "", held: str = "") -> Given:
    """A hub of these clusters, and an application on the first of them whose refuge is planned.

    It came back from the cluster that is held.
    """
    scores = [score(name, "cpu", 50) for name in clusters]
    placed = [with_refuges("p", "cpu"), decision("p", clusters[0])]
    more = [moves_score(at, p=50)] if at else []
    if held:
        now = NOW.timestamp()
        hold = {"placement": "argocd/p", "target": held, "since": now - 60, "until": now + 3600}
        more.append(paced_moves({"holds": [hold]}, {}))
    return hub(*joined(*clusters), *scores, global_set(), binding(), scorer("cpu"), *placed, *more)


def gated(gate: str, section: str, *before: Object) -> Object:
    """A ClusterManager with a feature gate switched off."""
    gates = [*before, {"feature": gate, "mode": "Disable"}]
    return {"metadata": meta("cluster-manager"), "spec": {section: {"featureGates": gates}}}


def away(*, lacks: str = "", accepted: bool = True) -> Given:
    item = cluster("c")
    item["status"]["conditions"] = [
        one for one in item["status"]["conditions"] if one["type"] != lacks
    ]
    item["spec"]["hubAcceptsClient"] = accepted
    return hub(item, addon("c"))


def synced(**operation: Any) -> Given:
    """A hub with an Application whose last sync went so."""
    return changed(FactSource.DELIVERY, "status/operationState", operation)


def applied(resource: Object, **operation: Any) -> Given:
    """A hub with an Application that has one object in this state."""
    status = {"resources": [{"health": None, **resource}], "operationState": operation}
    return changed(FactSource.DELIVERY, "status", status)


def placed(**states: str) -> list[Object]:
    return without("Placement", {**placement("guestbook", "cpu"), "status": conditions(**states)})


def scorer_with(reason: str, kind: str, **status: Any) -> list[Object]:
    item = scorer("cpu")
    condition = {"type": kind, "status": "False", "reason": reason, "message": "told"}
    item["status"] |= {"conditions": [condition], **status}
    return without("DynamicScorer", item)


def refused() -> Object:
    item = application("guestbook", "cluster1")
    item["status"]["conditions"] = [
        {"type": "InvalidSpecError", "message": 'there are no clusters with this name: "cluster1"'}
    ]
    return item


def with_token(**spec: Any) -> list[Object]:
    """A fleet whose scorer needs a token, and has no score on cluster3."""
    auth = {"tokenSecretRef": {"name": "api-token", "key": "token"}}
    needs = {"scoring": {"params": {"name": "cpu", "interval": 60}, "auth": auth}}
    kept = [
        item
        for item in without("DynamicScorer", scorer("cpu", **(spec or needs)))
        if item["metadata"].get("namespace") != "cluster3"
    ]
    return [*kept, addon("cluster3")]


def on_hub(item: Object) -> Object:
    """A scorer that runs on the hub."""
    item["spec"]["runsOn"] = "Hub"
    return item


TOKEN_SCORER = next(item for item in with_token() if item["kind"] == "DynamicScorer")
FORBIDDEN = {"kind": "Placement", "message": "namespace later is not permitted in project 'dsf'"}
CONFIG_MAP = {"kind": "ConfigMap", "namespace": "argocd", "name": "a", "status": "OutOfSync"}
DENIED = {**CONFIG_MAP, "message": "denied", "status": "SyncFailed"}
POLICY, CONTROLLER = "applicationsetcontroller.policy", "argocd-applicationset-controller"


def waiting_for(seconds: float, reason: str = "Arrivals") -> list[Object]:
    """A hub with a paced Placement whose move has waited for so long."""
    why = {"points": 5.0, "reason": reason, "message": "told"}
    queued = move("web", "c1", "c2", since=NOW.timestamp() - seconds, **why)
    return [*fleet(), paced(placement("web", "cpu")), paced_moves({}, {"waiting": [queued]})]


def verifying(*scores: Object, since: float | None = None, ledger: Object | None = None) -> Given:
    """A hub whose application web is verified by slo on cluster2, for so many seconds."""
    moves = []
    if since is not None:
        started = NOW.timestamp() - since
        state = {"score": "slo/slo", "atLeast": 80}
        more = {"phase": "Verifying", "phaseSince": started, "verified": True, "checks": [state]}
        moves.append(move("web", "cluster1", "cluster2", since=started, **more))
    return hub(
        *fleet(),
        scorer("slo"),
        *scores,
        verified(paced(placement("web", "cpu")), check_of("slo")),
        decision("web", "cluster2"),
        paced_moves({"moves": moves, **(ledger or {})}, {}),
    )


SLO = score("cluster2", "slo", 84)
FAILED = move(
    "web",
    "cluster1",
    "cluster2",
    since=NOW.timestamp() - 900,
    phase="Ended",
    phaseSince=NOW.timestamp() - 60,
    verified=True,
    checks=[{"score": "slo/slo", "atLeast": 80, "last": 62}],
    outcome="Failed",
)


def maintained(*windows: Object, **drain: Any) -> Given:
    """A hub with these windows, and with a drain of c1."""
    drains = [drained("c1", until=60, count=2, **drain)] if drain else []
    state = {"windows": list(windows), "drains": drains}
    return hub(*fleet(), paced(placement("web", "cpu")), paced_moves({}, {}, state))


def without_ledger(why: Unread) -> Given:
    """The same hub, whose ledger cannot be read."""

    def given() -> DoctorFacts:
        known = facts(hub=waiting_for(1))
        return replace(known, inputs=replace(known.inputs, moves=None, unread={HubPart.MOVES: why}))

    return given


BROKEN_LEDGER = Unread(
    what="configmaps", why=Why.FAILED, verb="get", detail="ledger: Expected `object`"
)
FORBIDDEN_LEDGER = Unread(what="configmaps", why=Why.FORBIDDEN, verb="get", refused=True)


def left(*, minutes: int = 60, work: Object | None = None, **metadata: str) -> DoctorFacts:
    """A hub where cluster9 has our add-on, so many minutes old, and no ManifestWork of ours, or
    this one.
    """
    created = stamp(NOW - timedelta(minutes=minutes))
    item = {
        "metadata": meta("gitops-dsf-agent", "cluster9", creationTimestamp=created, **metadata),
        "status": conditions(Available="True"),
    }
    healthy = facts()
    works = healthy.of(FactSource.OUR_WORKS) + (() if work is None else (work,))
    return facts(
        {
            FactSource.ADDON_STATES: (*healthy.of(FactSource.ADDON_STATES), item),
            FactSource.OUR_WORKS: works,
        }
    )


WRONG: dict[str, Given] = {
    "clock: warning: 31 s behind": lambda: facts(clock_offset=-31.0),
    "clock: error: 400 s ahead of": lambda: facts(clock_offset=400.0),
    "clock: unknown: no Date": lambda: facts(clock_offset=None),
    "ocm-kinds: error: does not serve cluster.open-cluster-management.io/v1": lambda: facts(
        groups={}
    ),
    "ocm-version: error: older than OCM 1.2.1: old 1.2.0: an older one lets one cluster act": having(
        FactSource.OCM_DEPLOYMENTS, workload("old", "hub", "quay.io/x:v1.2.0")
    ),
    "ocm-version: unknown: not known: open-cluster-management-hub has no Deployment": having(
        FactSource.OCM_DEPLOYMENTS
    ),
    "ocm-version: warning: the version of x is not known, because the images have no tag with a": having(
        FactSource.OCM_DEPLOYMENTS, workload("x", "hub", "quay.io:443/x@sha256:00")
    ),
    "ocm-version: warning: the version of a, b is not known": having(
        FactSource.OCM_DEPLOYMENTS,
        workload("b", "hub", "quay.io/x@sha256:00"),
        workload("a", "hub", "quay.io/x:latest@sha256:00"),
        workload("known", "hub", "quay.io/x:v1.3.0@sha256:00"),
    ),
    "ocm-features: error: DefaultClusterSet is off": having(
        FactSource.CLUSTER_MANAGERS, gated("DefaultClusterSet", "registrationConfiguration")
    ),
    "ocm-features: error: AddonManagement is off": having(
        FactSource.OCM_DEPLOYMENTS,
        workload("x", "hub", "x:v1.2.0", args=["--feature-gates=A=true,AddonManagement=false"]),
    ),
    "ocm-features: unknown: neither a ClusterManager": lambda: facts(
        {FactSource.CLUSTER_MANAGERS: (), FactSource.OCM_DEPLOYMENTS: ()}
    ),
    "ocm-clusters: error: c is not accepted": away(accepted=False),
    "ocm-clusters: error: c has not joined": away(lacks="ManagedClusterJoined"),
    "ocm-clusters: warning: c is not available: its lease": away(
        lacks="ManagedClusterConditionAvailable"
    ),
    "upstream: error: ns/theirs runs beside ours": having(
        FactSource.UPSTREAM_DEPLOYMENTS, workload("theirs", "ns", "x:1")
    ),
    "upstream: error: two agents": lambda: facts(
        {
            FactSource.ADDON_DEFINITIONS: (
                *facts().of(FactSource.ADDON_DEFINITIONS),
                {"metadata": meta("dynamic-scoring-framework")},
            )
        }
    ),
    "upstream: error: the same ConfigMap as ours on cluster2": having(
        FactSource.UPSTREAM_WORKS,
        {"metadata": meta("dynamic-scoring-config-manifestwork", "cluster2")},
    ),
    "upstream: warning: DynamicScoringConfig ns/dynamic-scoring-config": having(
        FactSource.SCORING_CONFIGS, {"metadata": meta("dynamic-scoring-config", "ns")}
    ),
    "upstream: error: DynamicScoringConfig ns/theirs makes the upstream controller that MultiClusterHub ocm/hub keeps": on_acm(
        {
            FactSource.SCORING_CONFIGS: ({"metadata": meta("theirs", "ns")},),
            FactSource.UPSTREAM_WORKS: (
                {"metadata": meta("dynamic-scoring-config-manifestwork", "cluster2")},
            ),
        }
    ),
    "upstream: error: ManifestWork writes the same ConfigMap as ours on cluster2:": on_acm(
        {
            FactSource.UPSTREAM_WORKS: (
                {"metadata": meta("dynamic-scoring-config-manifestwork", "cluster2")},
            )
        }
    ),
    "upstream: error: that MultiClusterHub ocm/hub keeps has its agents on cluster1, cluster3": on_acm(
        {
            FactSource.UPSTREAM_ADDON_STATES: tuple(
                {"metadata": meta("dynamic-scoring-framework", name)}
                for name in ("cluster3", "cluster1")
            )
        }
    ),
    "acm-namespace: warning: hubNamespace is gitops-dsf, the namespace of MultiClusterHub hub": having(
        FactSource.MULTICLUSTERHUBS, {"metadata": meta("hub", HUB)}
    ),
    "acm-namespace: warning: hubNamespace is ocm, the namespace of MultiClusterHub hub": lambda: (
        facts(
            {
                FactSource.MULTICLUSTERHUBS: ({"metadata": meta("hub", "ocm")},),
                **altered(
                    FactSource.DELIVERY,
                    lambda item: item.update(spec={"destination": {"namespace": "ocm"}}),
                ),
            }
        )
    ),
    "agents: warning: cluster1 is not Available: Told: told": changed(
        FactSource.ADDON_STATES, "status", conditions(Available="False")
    ),
    "agents: warning: OCM has not reported": changed(FactSource.ADDON_STATES, "status", {}),
    "agents: error: RegistrationApplied is False: Told: told": changed(
        FactSource.ADDON_STATES, "status", conditions(RegistrationApplied="False")
    ),
    (
        "agents-left: warning: cluster9 left the inventory, and the ManagedClusterAddOn"
        " gitops-dsf-agent"
    ): left,
    "agents-left: warning: ManagedClusterAddOn gitops-dsf-agent of cluster9 is still there 20 min": lambda: (
        left(deletionTimestamp=stamp(NOW - timedelta(minutes=20)))
    ),
    "agents-left: warning: the ManifestWork gitops-dsf-config of cluster9 is still there 20 min": lambda: (
        left(
            work={
                "metadata": meta(
                    "gitops-dsf-config",
                    "cluster9",
                    deletionTimestamp=stamp(NOW - timedelta(minutes=20)),
                )
            }
        )
    ),
    "argocd-version: error: not installed": lambda: facts(groups={"apps": ("v1",)}),
    "argocd-version: error: 3.3.8 is older than 3.3.9": having(
        FactSource.ARGOCD_DEPLOYMENTS, workload(CONTROLLER, ARGOCD, "argocd:v3.3.8")
    ),
    "argocd-version: warning: not of one version (3.5.0): argocd-application-controller 3.3.9": having(
        FactSource.ARGOCD_DEPLOYMENTS,
        workload(CONTROLLER, ARGOCD, "quay.io/argoproj/argocd:v3.5.0"),
    ),
    "argocd-version: unknown: namespace argocd has no Deployment of it": having(
        FactSource.ARGOCD_DEPLOYMENTS
    ),
    f"argocd-version: warning: the version of {CONTROLLER} is not known, because the image has": having(
        FactSource.ARGOCD_DEPLOYMENTS,
        workload(CONTROLLER, ARGOCD, "quay.io/argoproj/argocd@sha256:00"),
    ),
    "argocd-policy: error: is sync, which overrides the policy": changed(
        FactSource.ARGOCD_PARAMETERS, "data", {POLICY: "sync"}
    ),
    "argocd-policy: warning: never changed or moved": changed(
        FactSource.ARGOCD_PARAMETERS, "data", {POLICY: "create-only"}
    ),
    "argocd-settings: warning: is label": changed(
        FactSource.ARGOCD_SETTINGS, "data/application.resourceTrackingMethod", "label"
    ),
    "argocd-settings: warning: no health check": having(FactSource.ARGOCD_SETTINGS),
    "argocd-delivery: warning: does not reach the hub": having(FactSource.DELIVERY),
    "argocd-delivery: error: does not serve dynamic-scoring.open-cluster-management.io: our CRDs": lambda: (
        facts(groups={**GROUPS, "argoproj.io": ("v1alpha1",)})
    ),
    (
        "argocd-delivery: error: gitops-dsf-platform: RoleBinding cluster1/gitops-dsf-agent"
        " is Missing"
    ): applied(
        {
            "kind": "RoleBinding",
            "namespace": "cluster1",
            "name": "gitops-dsf-agent",
            "status": "OutOfSync",
        }
        | {"health": {"status": "Missing"}}
    ),
    "argocd-delivery: error: ClusterManagementAddOn gitops-dsf-agent is Degraded: two defaults": applied(
        {"kind": "ClusterManagementAddOn", "name": "gitops-dsf-agent", "status": "Synced"}
        | {"health": {"status": "Degraded", "message": "two defaults"}}
    ),
    "argocd-delivery: error: cannot be synced: boom; ConfigMap argocd/a is OutOfSync: denied": applied(
        CONFIG_MAP, phase="Failed", message="boom", syncResult={"resources": [DENIED]}
    ),
    "argocd-delivery: warning: ConfigMap argocd/a is OutOfSync": applied(CONFIG_MAP),
    "argocd-delivery: warning: ConfigMap argocd/a is no longer in git: delete it": applied(
        {**CONFIG_MAP, "requiresPruning": True}
    ),
    "argocd-delivery: error: gitops-dsf-platform: it is Degraded": changed(
        FactSource.DELIVERY, "status/health", {"status": "Degraded"}
    ),
    "argocd-delivery: error: gitops-dsf-platform cannot be synced: boom": synced(
        phase="Failed", message="boom"
    ),
    "argocd-delivery: error: cannot be synced: boom. Retrying attempt #3 at 9:15AM.": synced(
        phase="Running", retryCount=3, message="boom. Retrying attempt #3 at 9:15AM."
    ),
    "argocd-delivery: error: syncs nothing of Application gitops-dsf-platform: namespace later is": synced(
        phase="Running",
        retryCount=1,
        message="some tasks are not valid. Retrying attempt #1 at 9:15AM.",
        syncResult={
            "resources": [FORBIDDEN, {"kind": "ConfigMap", "message": "", "status": "SyncFailed"}]
        },
    ),
    "argocd-delivery: error: cannot be synced: no repository": changed(
        FactSource.DELIVERY,
        "status/conditions",
        [{"type": "ComparisonError", "message": "no repository"}],
    ),
    "placements: error: argocd/guestbook is misconfigured: told": hub(
        *placed(PlacementMisconfigured="True")
    ),
    "placements: warning: too few clusters: Told: told": hub(*placed(PlacementSatisfied="False")),
    "applicationsets: error: guestbook generates nothing: boom": hub(
        *without("ApplicationSet", application_set("guestbook", error="boom"))
    ),
    "cluster-secrets: error: does not know cluster1: there are no": hub(
        *without("Application", refused())
    ),
    "cluster-secrets: error: cluster1 is decided, and Argo CD has no cluster Secret": lambda: facts(
        {FactSource.CLUSTER_SECRETS: ()}, hub=without("Application")
    ),
    "cluster-secrets: warning: no cluster Secret for cluster2, cluster3": having(
        FactSource.CLUSTER_SECRETS
    ),
    "cluster-secrets: warning: at least 1 of cluster2, cluster3": having(
        FactSource.CLUSTER_SECRETS, {"metadata": meta("cluster-10.0.0.1-12345", ARGOCD)}
    ),
    "cluster-secrets: unknown: 2 may hold it in their data, which is not read": having(
        FactSource.CLUSTER_SECRETS,
        *({"metadata": meta(f"cluster-10.0.0.{number}", ARGOCD)} for number in (1, 2)),
    ),
    "cluster-secrets: error: cluster1 is decided, and Argo CD has no cluster Secret for it": lambda: (
        facts({FactSource.CLUSTER_SECRETS: (agent_secret("edge-7"),)}, hub=without("Application"))
    ),
    "argocd-agent: error: maps Applications to agents by namespace": agents(mapping="false"),
    "argocd-agent: error: Applications to agents by namespace, so no Application": lambda: facts(
        {
            **agents(mapping="true")().sources,
            FactSource.ARGOCD_DEPLOYMENTS: (principal("false"),),
        }
    ),
    "argocd-agent: unknown: has neither principal.destination-based-mapping in": agents(),
    "argocd-agent: warning: cluster-cluster2: the Application controller of the hub": agents(
        agent_secret("cluster1"), agent_secret("cluster2", skipped=False), mapping="true"
    ),
    "argocd-agent: warning: argocd-application-controller 3.3.9 deploys to clusters": agents(
        mapping="true", controller="v3.3.9"
    ),
    "argocd-agent: warning: cluster2 reported no comparison of an Application for 3 h, so": agents(
        mapping="true",
        applications=[
            compared("shop-cluster1", "cluster1", ago=120),
            compared("shop-cluster2", "cluster2", ago=4 * 3600),
            compared("web-cluster2", "cluster2", ago=3 * 3600 + 60),
        ],
    ),
    "argocd-agent: error: has no Application controller": agents(mapping="true", controller=""),
    "scorers: warning: no DynamicScorer in namespace gitops-dsf": hub(*without("DynamicScorer")),
    "scorers: warning: cpu does not answer: Timeout: told": hub(
        *scorer_with("Timeout", "Healthy", healthStatus="Inactive")
    ),
    "scorers: warning: every score of cpu is its defaultScore 5: its query gives no series on any": hub(
        *joined("a", "b"), score("a", "cpu", 5), score("b", "cpu", 5), scorer("cpu", defaultScore=5)
    ),
    "scorers: warning: Drifted: told": hub(*scorer_with("Drifted", "ConfigSynced")),
    "scorers: warning: Invalid: told": hub(*scorer_with("Invalid", "ConfigSynced")),
    "crds: error: the hub has no CRD dynamicscorers.dynamic-scoring": having(
        FactSource.SCORER_DEFINITION
    ),
    (
        "crds: error: multiclusterhub-operator wrote the CRD of DynamicScorer without our fields:"
        " Argo CD and that program overwrite each other"
    ): having(FactSource.SCORER_DEFINITION, foreign_definition()),
    "crds: error: the hub has no CRD dynamicscorers.dynamic-scoring.open-cluster-management.io, and delivery.crds is Existing": (
        lambda: facts({FactSource.SCORER_DEFINITION: ()}, read={"crds": "Existing"})
    ),
    "crds: warning: delivery.crds is Existing, and the CRD of DynamicScorer has all our": seen(
        crds="Existing"
    ),
    "scorer-list: error: the reconciler keeps the scorers that it knows, or waits: told": seen(
        unread_list="told"
    ),
    "scorer-list: warning: nothing runs 1 DynamicScorer of the hub, because git does not": seen(
        unlisted_scorers=("by-hand",)
    ),
    (
        "scores-fresh: warning: every score of cluster1 is expired, and counts as 0: its"
        " agent is down"
    ): hub(
        *joined("cluster1"),
        *(
            item
            for one in ("cpu", "mem")
            for item in (scorer(one), score("cluster1", one, 5, age=901))
        ),
    ),
    "scores-fresh: warning: cluster1: missing: cpu": hub(*joined("cluster1"), scorer("cpu")),
    "scores-fresh: warning: cpu, which runs on the hub: missing on cluster1, and counts as 0": hub(
        cluster("cluster1"), on_hub(scorer("cpu"))
    ),
    "scores-owned: warning: cluster9/cpu has no owner: there is no such cluster": hub(
        cluster("cluster1"),
        on_hub(scorer("cpu")),
        *(score(one, "cpu", 5) for one in ("cluster1", "cluster9")),
    ),
    "scores-owned: warning: cluster1/retired has no owner: no scorer has that name": seen(
        unowned=(("cluster1", "retired"),)
    ),
    "scores-owned: warning: cluster9/cpu has no owner: no agent is on that cluster": hub(
        *fleet(), cluster("cluster9"), score("cluster9", "cpu", 5)
    ),
    "scores-owned: warning: cpu is suspended, and its score is still there on cluster1": hub(
        *joined("cluster1"), scorer("cpu", suspend=True), score("cluster1", "cpu", 5)
    ),
    "scores-owned: warning: cluster1/cpu has a scorer's name": seen(foreign=(("cluster1", "cpu"),)),
    "scores-owned: error: cluster1/cpu is written by our agent and by dynamic-scoring-agent": seen(
        contested=(("cluster1", "cpu", "dynamic-scoring-agent"),)
    ),
    "token-secrets: warning: cpu has no score on cluster3 and needs Secret api-token there, which": hub(
        *with_token()
    ),
    (
        "token-secrets: warning: cpu, which runs on the hub, has no score on cluster1 and"
        " needs Secret"
    ): hub(cluster("cluster1"), on_hub(TOKEN_SCORER)),
    "paced-moves: error: no move begins, because it is not known what is": without_ledger(
        BROKEN_LEDGER
    ),
    "paced-moves: unknown: needs the right to get": without_ledger(FORBIDDEN_LEDGER),
    "paced-moves: warning: argocd/web has waited for 2 d to move from c1 to c2: Arrivals: told": hub(
        *waiting_for(2 * 86_400)
    ),
    (
        "verified-moves: warning: argocd/web does worse on cluster2 than its checks ask for, and has"
        " nowhere to return to: slo 62 of at least 80"
    ): verifying(SLO, ledger={"moves": [FAILED]}),
    "maintenance: warning: 1 maintenance window in the past: old": maintained(
        {"name": "old", "action": "Cordon"}, {"name": "next", "action": "Drain", "changes": 60.0}
    ),
    "maintenance: warning: c1 will not be empty by 1970-01-01T00:01:00Z, when patch ends: 2 left": maintained(
        late=True
    ),
    "maintenance: unknown: needs the right to get": without_ledger(FORBIDDEN_LEDGER),
    "moves-stopped: unknown: needs the right to get": without_ledger(FORBIDDEN_LEDGER),
    "moves-stopped: error: no paced move begins since 2026-06-01T11:59:00Z, because 3 moves went": (
        verifying(SLO, ledger={"stoppedSince": NOW.timestamp() - 60, "returns": [1, 2, 3]})
    ),
    (
        "verified-moves: warning: argocd/web keeps both copies: it should have been verified on"
        " cluster2 by 2026-06-01T11:45:00Z: slo has no score that counts: QueryFailed: bad query"
    ): verifying(
        failing(score("cluster2", "slo", None), "QueryFailed", "bad query"), since=1800 + 900
    ),
    (
        "verified-moves: warning: slo verifies moves and has no score that counts on 1 cluster"
        " where its applications run (cluster2): there is no AddOnPlacementScore"
    ): verifying(),
    "verified-moves: warning: slo verifies moves and has no score that counts on 1 cluster where its applications run (cluster2): NoSeries: none": verifying(
        failing(score("cluster2", "slo", None), "NoSeries", "none")
    ),
    "verified-moves: warning: slo verifies moves and has no score that counts on 1 cluster where its applications run (cluster2): it is too old": verifying(
        score("cluster2", "slo", 84, age=890)
    ),
    "verified-moves: warning: slo verifies moves and has no score that counts on 1 cluster where its applications run (cluster2): the AddOnPlacementScore has no item slo": verifying(
        score("cluster2", "slo", None)
    ),
    "refuges: warning: argocd/p has no refuge: if its cluster fails, OCM chooses by the scores": refuged(
        "cluster1", "cluster2"
    ),
    "refuges: warning: argocd/p has no refuge: no cluster besides its own is eligible": refuged(
        "cluster1"
    ),
    "refuges: warning: argocd/p has no refuge: every other eligible cluster is held": refuged(
        "cluster1", "cluster2", held="cluster2"
    ),
    "external-scores: error: no cluster has usage, by which argocd/p ranks": hub(
        *joined(*CLUSTERS), global_set(), binding(), placement("p", "usage")
    ),
    "reconciler: warning: no reconciler ever led": having(FactSource.LEASES),
    "reconciler: warning: pod-a was last renewed 60 s ago": changed(
        FactSource.LEASES, "spec/renewTime", stamp(NOW - timedelta(seconds=60))
    ),
    "reconciler: warning: never renewed": changed(FactSource.LEASES, "spec/renewTime", None),
}
"""Hubs by the one finding that they have: its check, its state, and words of its message."""


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_with_a_fix_that_is_ready_for_a_shell(what: str) -> None:
    check, state, text = what.split(": ", 2)
    findings = run(check, WRONG[what]())
    found = [finding for finding in findings if text in finding.message]
    assert len(found) == 1, findings
    assert found[0].state == state
    assert found[0].fix or state == "unknown"
    for finding in findings:
        assert finding.state != "ok"
        for part in (finding.fix or "").partition("  #")[0].split(" && "):
            if part.startswith(("kubectl", "clusteradm")):
                words = shlex.split(part)
                assert words[1] == "--context", part
                assert words[2] == "hub" or "# on the cluster itself" in (finding.fix or ""), part


def test_a_version_in_a_label_is_one() -> None:
    """The images of Red Hat's distributions have digests."""
    what = "app.kubernetes.io/version"
    known = workload("x", "hub", "quay.io/x@sha256:00")
    known["metadata"]["labels"] = {what: "1.2.0"}
    [found] = run("ocm-version", having(FactSource.OCM_DEPLOYMENTS, known)())
    assert (found.state, "older than OCM 1.2.1: x 1.2.0" in found.message) == ("error", True)
    known["metadata"]["labels"] = {what: "v1.2.1"}
    [found] = run("ocm-version", having(FactSource.OCM_DEPLOYMENTS, known)())
    assert (found.state, found.message) == ("ok", "OCM 1.2.1")


def test_a_scorer_without_a_score_anywhere_is_one_finding() -> None:
    """Not one for each cluster: the agents are there, so the scorer is the cause."""
    kept = [
        item
        for item in fleet()
        if item["metadata"]["name"] != "mem" or item["kind"] == "DynamicScorer"
    ]
    message = (
        "mem has no score on any of 3 clusters, and counts as 0 everywhere, although the"
        " agents there publish"
    )
    assert [(item.state, item.message) for item in run("scores-fresh", hub(*kept)())] == [
        ("warning", f"{message} other scores")
    ]
    down = [item for item in fleet() if item["kind"] != "AddOnPlacementScore"]
    [found] = run("scores-fresh", hub(*down)())
    assert "has no score on any" not in found.message, "all agents are down"


def test_what_the_agents_say_is_one_finding_for_each_reason_and_told_once() -> None:
    names = [f"c{number}" for number in range(7)]
    refused = "query at https://prometheus refused: parse error at char 12"
    scores = [never_scored(name, "cpu", "QueryFailed", refused, age=1200) for name in names[:6]]
    scores.append(failing(score("c6", "cpu", 5, age=2000), "NoSeries", "no series", age=2400))
    found = run("scores-fresh", hub(*joined(*names), scorer("cpu"), masks(), *scores)())
    assert [(item.state, item.message, item.fix) for item in found] == [
        (
            "warning",
            f"cpu gives no scores on 6 clusters (c0, c1, c2, c3, c4 and 1 more) for 20 min: QueryFailed: {refused}",
            "gitops-dsf status --scorer cpu --all  # has the message of each cluster",
        ),
        (
            "warning",
            "cpu gives no scores on 1 cluster (c6) for 40 min: NoSeries: no series",
            "gitops-dsf status --scorer cpu --all  # has the message of each cluster",
        ),
    ]


def test_inactive_scorers_are_not_nothing_wrong() -> None:
    [found] = run("scorers", hub(*without("DynamicScorer", query_scorer(), scorer("mem")))())
    assert found.message.endswith(", 1 Inactive: see scores-fresh")


def test_placements_without_a_refuge_are_one_finding_for_each_cause() -> None:
    names = [f"app-{number}" for number in range(10)]
    placed = [
        item for name in names for item in (with_refuges(name, "cpu"), decision(name, "cluster1"))
    ]
    scores = [score("cluster1", "cpu", 50), score("cluster2", "cpu", 50)]
    found = hub(
        *joined("cluster1", "cluster2"), *scores, global_set(), binding(), scorer("cpu"), *placed
    )
    [finding] = run("refuges", found())
    assert finding.message == (
        "argocd/app-0, argocd/app-1, argocd/app-2, argocd/app-3, argocd/app-4 and 5 more"
        " have no refuge:"
        " if its cluster fails, OCM chooses by the scores alone"
    )


def test_only_paced_placements_are_counted_as_such() -> None:
    """An absent annotation reads as an empty text."""
    placements = [
        paced(placement("web", "cpu")),
        paced(placement("api", "cpu")),
        placement("other", "cpu"),
    ]
    queued = move(
        "web", "c1", "c2", since=NOW.timestamp(), points=5.0, reason="Arrivals", message="told"
    )
    found = hub(*without("Placement", *placements), paced_moves({}, {"waiting": [queued]}))
    assert [(item.state, item.message) for item in run("paced-moves", found())] == [
        ("ok", "2 paced Placements, 1 move waiting")
    ]
    unpaced = hub(*without("Placement", placement("other", "cpu")))
    assert [item.message for item in run("paced-moves", unpaced())] == ["no Placement is paced"]


@pytest.mark.parametrize(
    ("message", "fix"),
    [
        ('<.labels.region>: map has no entry for key "labels"', "clusters that joined"),
        ('<.claims.zone>: map has no entry for key "claims"', "clusters that joined"),
        ('<.region>: map has no entry for key "region"', "refreshes at once"),
    ],
)
def test_a_cluster_whose_labels_are_not_rendered_is_the_cause(message: str, fix: str) -> None:
    failing = application_set("guestbook", error=message)
    [found] = run("applicationsets", hub(*without("ApplicationSet", failing))())
    assert fix in (found.fix or "")


def test_every_check_can_fail() -> None:
    shown = {what.partition(":")[0] for what in WRONG}
    # What is wrong with Kueue is in test_kueue.py.
    assert shown | {"kueue", "multikueue-configs"} == {check.id for check in CHECKS}


def variants(*found: Object) -> Given:
    """Of with_token(), with a source of these variants."""
    return hub(*with_token(source={"ref": "p", "variants": list(found)}))


def secrets(*found: Object, hub: list[Object] | None = None) -> Given:
    return lambda: facts(
        {FactSource.CLUSTER_SECRETS: tuple({"metadata": item} for item in found)}, hub=hub
    )


def pulled() -> Object:
    item = application_set("guestbook")
    label = "apps.open-cluster-management.io/pull-to-ocm-managed-cluster"
    item["spec"]["template"]["metadata"]["labels"][label] = "true"
    return item


def query_scorer() -> Object:
    item = scorer("cpu", scoring={"type": "Query", "params": {"name": "cpu", "interval": 60}})
    condition = {"type": "Scored", "status": "False", "reason": "Missing", "message": "told"}
    item["status"] = {"healthStatus": "Inactive", "conditions": [condition]}
    return item


def importing(cluster: str = "") -> Given:
    """A hub without cluster Secrets, whose GitOpsCluster imports what a Placement chooses."""
    importer = {
        "metadata": meta("importer", ARGOCD),
        "spec": {
            "argoServer": {"argoNamespace": ARGOCD},
            "placementRef": {"kind": "Placement", "name": "all"},
        },
    }
    objects = without("Application", decision("all", *([cluster] if cluster else [])))
    return lambda: facts(
        {FactSource.CLUSTER_SECRETS: (), FactSource.GITOPS_CLUSTERS: (importer,)}, hub=objects
    )


OVERRIDE = {POLICY: "sync", "applicationsetcontroller.enable.policy.override": "true"}
OTHERS = meta("cluster-cluster3", ARGOCD)
EU_ONLY = {
    "clusterSelector": {"matchLabels": {"region": "eu"}},
    "auth": {"tokenSecretRef": {"name": "eu-token", "key": "token"}},
}
EVERY_CREDENTIAL = {
    "host": "https://mimir.svc",
    "basicAuth": {"secretRef": {"name": "login", "usernameKey": "u", "passwordKey": "p"}},
    "auth": {
        "clientCertificateSecretRef": {"name": "pair"},
        "oauth2": {"tokenURL": "https://login.svc", "clientSecretRef": {"name": "client"}},
    },
    "headers": [
        {"name": "X-Org", "value": "a"},
        {"name": "X-Key", "secretRef": {"name": "api", "key": "k"}},
    ],
}
FINE: dict[str, tuple[str, Given]] = {
    "a scorer without a scoring API is not silent": (
        "scorers",
        hub(*without("DynamicScorer", query_scorer())),
    ),
    "controllers that the operator of a MultiClusterHub keeps": ("upstream", on_acm({})),
    "a MultiClusterHub in a namespace of its own": (
        "acm-namespace",
        having(FactSource.MULTICLUSTERHUBS, {"metadata": meta("hub", "open-cluster-management")}),
    ),
    "a score of the hub scorer needs no agent": (
        "scores-owned",
        hub(cluster("cluster1"), on_hub(scorer("cpu")), score("cluster1", "cpu", 5)),
    ),
    "a Secret by its name": ("cluster-secrets", secrets(meta("cluster2", ARGOCD), OTHERS)),
    "a Secret by OCM's name": (
        "cluster-secrets",
        secrets(meta("cluster2-cluster-secret", ARGOCD), OTHERS),
    ),
    "a Secret by a label": (
        "cluster-secrets",
        secrets(
            meta("x", ARGOCD, labels={"apps.open-cluster-management.io/cluster-name": "cluster2"}),
            OTHERS,
        ),
    ),
    "a Secret by an annotation": (
        "cluster-secrets",
        secrets(meta("x", ARGOCD, annotations={"who": "cluster2"}), OTHERS),
    ),
    "an Application proves that Argo CD knows cluster1": (
        "cluster-secrets",
        secrets(*(meta(f"cluster-{name}", ARGOCD) for name in CLUSTERS[1:])),
    ),
    "pulled Applications need no Secret": (
        "cluster-secrets",
        secrets(hub=without("ApplicationSet", pulled())),
    ),
    "an override lets ApplicationSets decide": (
        "argocd-policy",
        changed(FactSource.ARGOCD_PARAMETERS, "data", OVERRIDE),
    ),
    "an application with a refuge": ("refuges", refuged("cluster1", "cluster2", at="cluster2")),
    "a paced Placement whose move waits for its turn": ("paced-moves", hub(*waiting_for(86_400))),
    "a move that waits because the fleet stopped, which another check says": (
        "paced-moves",
        hub(*waiting_for(2 * 86_400, "Stopped")),
    ),
    "a paced Placement that never moved": (
        "paced-moves",
        hub(*fleet(), paced(placement("web", "cpu"))),
    ),
    "a verifier with a score where its application is": ("verified-moves", verifying(SLO)),
    "a new copy that has no score yet": ("verified-moves", verifying(since=120)),
    "a move that is verified in time": ("verified-moves", verifying(SLO, since=1790)),
    "returns that did not stop the fleet": (
        "moves-stopped",
        verifying(SLO, ledger={"returns": [1, 2]}),
    ),
    "windows that are open or will be, and a drain that is in time": (
        "maintenance",
        maintained({"name": "next", "action": "Drain", "changes": 60.0}, late=False),
    ),
    "clusters of argocd-agents, and one that is not a ManagedCluster": (
        "argocd-agent",
        agents(*map(agent_secret, ("cluster1", "edge-7")), mapping="true"),
    ),
    "the principal maps by its own setting": (
        "argocd-agent",
        lambda: facts(
            {
                **agents(mapping="false")().sources,
                FactSource.ARGOCD_DEPLOYMENTS: (principal("true"),),
            }
        ),
    ),
    "the Secrets of argocd-agents, as argocd-agentctl writes them": (
        "cluster-secrets",
        having(FactSource.CLUSTER_SECRETS, *map(agent_secret, CLUSTERS)),
    ),
    "the variant of a cluster needs no Secret": (
        "token-secrets",
        variants(EU_ONLY, {"host": "http://prometheus.svc"}),
    ),
}


@pytest.mark.parametrize("what", FINE)
def test_what_is_not_wrong(what: str) -> None:
    check, given = FINE[what]
    assert [finding.state for finding in run(check, given())] == ["ok"]


def test_the_secrets_of_the_variant_that_a_cluster_uses_are_named() -> None:
    (found,) = run("token-secrets", variants(EU_ONLY, EVERY_CREDENTIAL)())
    assert "needs Secret api, client, login, pair there" in found.message


@pytest.mark.parametrize(
    ("source", "counts"),
    [
        (FactSource.CLUSTER_SECRETS, False),
        (FactSource.LEASES, True),
        (FactSource.ADDON_STATES, True),
    ],
)
def test_what_the_hub_refused_counts_unless_it_is_optional(
    source: FactSource, counts: bool
) -> None:
    unread = Unread(what="things.example.com", why=Why.FORBIDDEN, refused=True)
    assert facts(unread={source: unread}).refused is counts
    absent = Unread(what="things.example.com", why=Why.NOT_INSTALLED)
    assert not facts(unread={source: absent}).refused


def made(moment: datetime, objects: list[Object]) -> list[Object]:
    """The objects, created then."""
    for item in objects:
        item["metadata"]["creationTimestamp"] = stamp(moment)
    return objects


def test_new_scores_are_told_apart_from_those_that_are_there_and_missing() -> None:
    (finding,) = run("scores-fresh", facts(hub=made(NOW, without("AddOnPlacementScore"))))
    assert finding.state == "unknown"
    assert finding.message.startswith("6 scores on 3 clusters not published yet")
    found = run(
        "scores-fresh", facts(hub=made(NOW - timedelta(days=1), without("AddOnPlacementScore")))
    )
    assert [item.state for item in found] == ["warning"]
    objects = made(NOW, fleet())
    objects.remove(next(item for item in objects if item["kind"] == "AddOnPlacementScore"))
    (waiting,) = run("scores-fresh", facts(hub=objects))
    assert waiting.state == "unknown"
    assert waiting.message.startswith("1 score on 1 cluster not published yet")
    assert waiting.message.endswith("; 5 scores on 3 clusters are there")
    (healthy,) = run("scores-fresh", facts())
    assert healthy.message == "6 scores on 3 clusters, all there and valid"


def reconciler_pod(**waiting: str) -> Object:
    image = "registry.example.com/reconciler:1"
    state = {"waiting": waiting} if waiting else {"running": {}}
    return {
        "metadata": meta("gitops-dsf-reconciler-1", "gitops-dsf"),
        "status": {"containerStatuses": [{"name": "reconciler", "image": image, "state": state}]},
    }


@pytest.mark.parametrize(
    "leases", [(), ({"spec": {"holderIdentity": "a", "renewTime": stamp(NOW - timedelta(1))}},)]
)
def test_an_image_that_cannot_be_pulled_is_named(leases: tuple[Object, ...]) -> None:
    pod = reconciler_pod(reason="ErrImagePull", message="not found")
    (finding,) = run(
        "reconciler", facts({FactSource.LEASES: leases, FactSource.RECONCILER_PODS: (pod,)})
    )
    assert finding.state == "error"
    assert (
        "image registry.example.com/reconciler:1 cannot be pulled (ErrImagePull: not found)"
        in finding.message
    )
    assert "describe pods -l app.kubernetes.io/name=gitops-dsf-reconciler" in finding.fix


def test_a_pod_that_only_starts_is_no_error() -> None:
    pods = (reconciler_pod(reason="ContainerCreating"), reconciler_pod())
    (finding,) = run("reconciler", facts({FactSource.LEASES: (), FactSource.RECONCILER_PODS: pods}))
    assert finding.state == "warning"
    assert "logs -l app.kubernetes.io/name=gitops-dsf-reconciler" in finding.fix
    (leading,) = run(
        "reconciler",
        facts({FactSource.RECONCILER_PODS: (reconciler_pod(reason="ErrImagePull"), *pods)}),
    )
    assert leading.state == "ok", (
        "a second replica of a newer version cannot be pulled, and one leads"
    )


@pytest.mark.parametrize(
    ("changes", "fixes"),
    [
        ({}, []),
        (
            {
                FactSource.SCORING_CONFIGS: ({"metadata": meta("theirs", "ns")},),
                FactSource.UPSTREAM_WORKS: ({"metadata": meta("w", "cluster2")},),
            },
            ["kubectl --context hub -n ns delete dynamicscoringconfig theirs"],
        ),
        (
            {FactSource.UPSTREAM_ADDON_STATES: ({"metadata": meta("a", "cluster1")},)},
            [
                (
                    "kubectl --context hub -n ocm delete managedclustersetbinding global"
                    "  # unless other Placements there need this set"
                )
            ],
        ),
    ],
)
def test_no_fix_asks_for_what_the_operator_of_a_multiclusterhub_restores(
    changes: dict[FactSource, tuple[Any, ...]], fixes: list[str]
) -> None:
    found = run("upstream", on_acm(changes)())
    assert [finding.fix for finding in found if finding.fix is not None] == fixes


def test_what_the_operator_of_a_multiclusterhub_brings_alone_delivers_nothing() -> None:
    """So a hub with it and without anything of ours is one where we are not installed."""
    nothing: dict[FactSource, tuple[Any, ...]] = dict.fromkeys(
        (FactSource.OUR_WORKS, FactSource.ADDON_STATES, FactSource.LEASES, FactSource.DELIVERY), ()
    )
    kept = on_acm({})()
    groups = {name: kept.groups[name] for name in kept.groups if "dynamic-scoring" not in name}
    definitions = kept.of(FactSource.ADDON_DEFINITIONS)[1:]
    bare = replace(
        kept,
        groups=groups,
        sources={**kept.sources, **nothing, FactSource.ADDON_DEFINITIONS: definitions},
    )
    assert [finding.check for finding in not_installed(bare)] == ["installed"]
    config = {FactSource.SCORING_CONFIGS: ({"metadata": meta("theirs", "ns")},)}
    delivering = replace(bare, sources={**bare.sources, **config})
    assert not_installed(delivering) == ()


@pytest.mark.parametrize(
    ("chosen", "fix"),
    [
        (
            "",
            (
                "kubectl --context hub -n argocd describe placement all"
                "  # GitOpsCluster importer imports what it chooses: let it choose cluster1"
            ),
        ),
        (
            "cluster1",
            (
                "kubectl --context hub -n argocd describe gitopscluster importer"
                "  # its Placement all chooses cluster1, so its status says why"
            ),
        ),
    ],
)
def test_a_cluster_that_no_gitopscluster_imports_is_told_with_what_imports_clusters(
    chosen: str, fix: str
) -> None:
    found = run("cluster-secrets", importing(chosen)())
    assert [
        (finding.state, finding.fix)
        for finding in found
        if "cluster1 is decided" in finding.message
    ] == [("error", fix)]


def test_a_gitopscluster_of_another_argocd_imports_nothing_for_ours() -> None:
    given = replace(importing()(), argocd_namespace="other")
    (found, *_) = run("cluster-secrets", given)
    assert found.fix is not None
    assert found.fix.startswith("argocd cluster add cluster1 --name cluster1 ")


def test_where_upstream_delivers_there_is_nothing_of_ours_to_miss() -> None:
    """delivery.mode UpstreamController: no add-on, works, agents or kinds of ours, and that is as
    it should be.
    """
    gone = {
        FactSource.ADDON_DEFINITIONS: ({"metadata": meta("dynamic-scoring-framework")},),
        FactSource.UPSTREAM_DEPLOYMENTS: (
            workload("dynamic-scoring-framework-controller", HUB, "x:1"),
        ),
        FactSource.UPSTREAM_WORKS: (
            {"metadata": meta("dynamic-scoring-config-manifestwork", "cluster1")},
        ),
        FactSource.SCORING_CONFIGS: ({"metadata": meta("dynamic-scoring-config", HUB)},),
        **dict.fromkeys((FactSource.OUR_WORKS, FactSource.ADDON_STATES, FactSource.LEASES), ()),
    }
    found = {finding.check: finding for finding in examine(facts(gone))}
    assert [finding for finding in found.values() if finding.state != "ok"] == []
    assert "upstream add-on delivers" in found["agents"].message


@pytest.mark.parametrize("source", FactSource)
def test_what_may_not_be_read_makes_its_checks_unknown_and_no_other(source: FactSource) -> None:
    found = examine(facts(unread={source: Unread(what="things.example.com", why=Why.FORBIDDEN)}))
    unknown = {finding.check for finding in found if finding.state == "unknown"}
    assert unknown == {check.id for check in CHECKS if source in check.needs}
    assert unknown or source is FactSource.RECONCILER_PODS, f"nothing needs {source}"
    assert all(finding.state in {"ok", "unknown"} for finding in found)
    assert all(
        "needs the right to list things.example.com" in finding.message
        and "the ClusterRole gitops-dsf-doctor" in finding.fix
        for finding in found
        if finding.state == "unknown"
    )


@pytest.mark.parametrize(
    "part", [part for part in HubPart if any(part in check.needs for check in CHECKS)]
)
def test_a_part_of_the_view_that_may_not_be_read_makes_its_checks_unknown(part: HubPart) -> None:
    found = examine(facts(read={"unread": [part]}))
    unknown = {finding.check for finding in found if finding.state == "unknown"}
    assert unknown >= {check.id for check in CHECKS if part in check.needs}
    assert unknown


def test_a_kind_that_is_not_served_is_said_without_asking_for_rights() -> None:
    unread = {FactSource.ADDON_STATES: Unread(what="addons.example.com", why=Why.NOT_INSTALLED)}
    found = run("agents", facts(unread=unread))
    assert [(finding.state, finding.fix) for finding in found] == [("unknown", None)]
    assert "does not serve addons.example.com" in found[0].message


def test_a_hub_without_anything_is_no_crash() -> None:
    empty = facts(dict.fromkeys(FactSource, ()), hub=[cluster("c")], groups={})
    assert {finding.check for finding in examine(empty)} == {check.id for check in CHECKS}


@pytest.mark.parametrize(
    ("read", "state"),
    [
        ({"foreign": (("cluster9", "cpu"), ("cluster1", "cpu"))}, "warning"),
        ({"contested": (("cluster9", "cpu", "other"), ("cluster1", "cpu", "other"))}, "error"),
    ],
    ids=["instead of our agent", "beside our agent"],
)
def test_what_somebody_else_writes_is_never_proposed_for_deletion(read: Object, state: str) -> None:
    objects = [*joined("cluster1"), cluster("cluster9"), scorer("cpu", suspend=True)]
    scores = [score(name, "cpu", 5) for name in ("cluster1", "cluster9")]
    (found,) = run("scores-owned", facts(hub=[*objects, *scores], read=read))
    assert (found.state, found.subjects) == (state, ("cluster9", "cluster1"))
    assert " delete " not in (found.fix or "")


def test_without_a_scorer_in_the_namespace_no_score_is_proposed_for_deletion() -> None:
    """Most likely --hub-namespace is another one."""
    unowned = (("cluster1", "cpu"), ("cluster2", "cpu"))
    found = run("scores-owned", facts(hub=without("DynamicScorer"), read={"unowned": unowned}))
    assert [finding.state for finding in found] == ["unknown"]
    assert (
        "2 scores of our agents, and namespace gitops-dsf has no DynamicScorer" in found[0].message
    )
    assert "--hub-namespace" in found[0].fix


def test_a_score_that_may_be_masked_is_not_called_missing() -> None:
    published = [item for item in with_token() if item["kind"] != "AddOnPlacementScore"]
    given = facts(hub=published, read={"unread": [HubPart.MASKS]})
    found = run("scores-fresh", given)
    assert [finding.state for finding in found] == ["unknown"]
    assert "missing or masked" in found[0].message
    assert [finding.state for finding in run("token-secrets", given)] == ["ok"]


def test_switching_a_gate_on_leaves_the_others_as_they_are() -> None:
    other = {"feature": "ManagedClusterAutoApproval", "mode": "Enable"}
    manager = gated("DefaultClusterSet", "registrationConfiguration", other)
    found = run("ocm-features", facts({FactSource.CLUSTER_MANAGERS: (manager,)}))
    patch = json.loads(shlex.split(found[0].fix or "")[-1])
    gates = patch["spec"]["registrationConfiguration"]["featureGates"]
    assert gates == [other, {"feature": "DefaultClusterSet", "mode": "Enable"}]


def test_decisions_of_several_applications_are_told_apart() -> None:
    other = [application_set("other"), placement("other", "mem"), decision("other", "cluster2")]
    found = run("cluster-secrets", facts({FactSource.CLUSTER_SECRETS: ()}, hub=[*fleet(), *other]))
    assert [finding.state for finding in found if "cluster2 is decided" in finding.message] == [
        "error"
    ]


def test_the_same_about_many_clusters_is_told_once_with_their_number() -> None:
    names = [f"c{number}" for number in range(30)]
    objects = [
        item if item["kind"] != "ManagedCluster" else {**item, "spec": {}}
        for item in joined(*names)
    ]
    (found,) = run("ocm-clusters", facts(hub=objects))
    assert (found.state, found.count, found.subjects) == ("error", 30, tuple(sorted(names)))
    assert found.message == (
        "c0 is not accepted, so its agent cannot reach the hub; the same of 29 more: c1,"
        " c10, c11, c12,"
        " c13, ..."
    )
    assert found.fix == "clusteradm --context hub accept --clusters c0"


def test_clusters_that_differ_in_what_is_wrong_are_told_up_to_ten_times() -> None:
    names = [f"c{number:02}" for number in range(12)]
    scorers = [f"s{number:02}" for number in range(12)]
    scores = [score(name, one, 5) for at, name in enumerate(names) for one in scorers[at + 1 :]]
    scores.append(score("c11", "s00", 5))  # else s00 had no score anywhere, which is reported once
    found = run(
        "scores-fresh", facts(hub=[*joined(*names), *map(scorer, scorers), *scores, masks()])
    )
    assert [finding.count for finding in found] == [1] * 10 + [2]
    assert (found[-1].message, found[-1].subjects) == ("2 more such findings", ("c10", "c11"))


@pytest.mark.parametrize(
    ("image", "repository", "version"),
    [
        ("quay.io/argoproj/argocd:v3.3.9", "quay.io/argoproj/argocd", "3.3.9"),
        (
            "registry.example.com:5000/argocd:v3.3.9@sha256:00",
            "registry.example.com:5000/argocd",
            "3.3.9",
        ),
        ("registry.example.com:5000/argocd", "registry.example.com:5000/argocd", "None"),
        ("argocd@sha256:00", "argocd", "None"),
        ("argocd:latest", "argocd", "None"),
        ("argocd:v3.3.9-rc1", "argocd", "3.3.9rc1"),
        ("argocd:v3.3.9-debian", "argocd", "3.3.9"),
    ],
)
def test_the_parts_of_an_image(image: str, repository: str, version: str) -> None:
    """The label counts only where no image has a version."""
    item = workload("x", "y", image)
    assert (list(images_of(item)), str(version_of(item))) == ([repository], version)
    item["metadata"]["labels"] = {"app.kubernetes.io/version": "v3.4.1"}
    assert str(version_of(item)) == (version if version != "None" else "3.4.1")


def test_what_is_left_names_what_to_delete() -> None:
    """A cluster that left and one whose add-on somebody deleted already differ in what is to be
    done.
    """
    [found] = run("agents-left", left())
    assert found.message == (
        "cluster9 left the inventory, and the ManagedClusterAddOn gitops-dsf-agent is"
        " still there: Argo CD"
        " never deletes it, because OCM owns it, and the agent runs without rights and"
        " configuration"
    )
    assert found.fix == (
        "kubectl --context hub -n cluster9 delete managedclusteraddon gitops-dsf-agent  #"
        " if it is in"
        " clusters/, look at its Application gitops-dsf-works-NN instead"
    )


@pytest.mark.parametrize(
    "fresh",
    [
        lambda: left(minutes=1),
        lambda: left(deletionTimestamp=stamp(NOW - timedelta(minutes=1))),
        lambda: left(work={"metadata": meta("gitops-dsf-config", "cluster9")}),
    ],
    ids=["being installed", "being deleted", "in the inventory"],
)
def test_what_is_on_its_way_is_not_left(fresh: Given) -> None:
    [found] = run("agents-left", fresh())
    assert (found.state, found.message) == ("ok", "every agent is on a cluster of the inventory")


def test_agents_that_report_are_well() -> None:
    """Those of other clusters, and copies that nobody has compared yet, say nothing of an agent."""
    given = agents(
        mapping="true",
        applications=[
            compared("shop-cluster1", "cluster1", ago=120),
            compared("old-cluster1", "cluster1", ago=90_000),
            compared("shop-cluster2", "cluster2", ago=None),
            compared("shop-elsewhere", "elsewhere", ago=90_000),
        ],
    )
    assert [item.state for item in run("argocd-agent", given())] == ["ok"]


@pytest.mark.parametrize(
    ("text", "states"),
    [
        pytest.param("0001-01-01T00:00:00+01:00", ["warning"], id="before the first day in UTC"),
        pytest.param("2001-01-01T00:00:00", ["ok"], id="without an offset"),
        pytest.param("yesterday", ["ok"], id="no time"),
    ],
)
def test_any_time_of_a_comparison_can_be_judged(text: str, states: list[str]) -> None:
    """An agent writes it. A time without an offset would be one of the machine of doctor."""
    application = compared("shop-cluster1", "cluster1", ago=None)
    application["status"]["reconciledAt"] = text
    given = agents(mapping="true", applications=[application])
    assert [item.state for item in run("argocd-agent", given())] == states

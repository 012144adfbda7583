"""Every check: content with what the renderer renders, and what it says of each thing that can be wrong."""

import json
import shlex
from collections.abc import Callable
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Any

import pytest

from gitops_dsf.hub.unread import Unread, Why
from gitops_dsf.views.doctor import Facts, Source, examine
from gitops_dsf.views.doctor.checks.ocm import GROUPS
from gitops_dsf.views.doctor.registry import CHECKS
from gitops_dsf.views.status import Part
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
    cluster,
    decision,
    fleet,
    global_set,
    masks,
    meta,
    placement,
    score,
    scorer,
    stamp,
)

Given = Callable[[], Facts]


def test_a_hub_where_all_is_well_is_well() -> None:
    assert [finding for finding in examine(facts()) if finding.state != "ok"] == []


def test_every_check_says_something_even_when_all_is_well() -> None:
    assert [finding.check for finding in examine(facts())] == [check.id for check in CHECKS]


def put(item: Object, *path: str, value: Any) -> None:
    for key in path[:-1]:
        item = item.setdefault(key, {})
    item[path[-1]] = value


def gated(gate: str, section: str, mode: str = "Disable") -> Object:
    return {
        "metadata": meta("cluster-manager"),
        "spec": {section: {"featureGates": [{"feature": gate, "mode": mode}]}},
    }


def without(kind: str, *more: Object) -> list[Object]:
    return [*(item for item in fleet() if item["kind"] != kind), *more]


def away(name: str, **more: Any) -> Object:
    item = cluster(name)
    item["status"]["conditions"] = [
        one for one in item["status"]["conditions"] if one["type"] != more.get("lacks")
    ]
    item["spec"]["hubAcceptsClient"] = more.get("accepted", True)
    return item


def tracked(method: str) -> Callable[[Object], None]:
    return lambda item: put(item, "data", "application.resourceTrackingMethod", value=method)


def synced(**operation: Any) -> Facts:
    """A hub with an Application whose last sync went so."""
    return facts(
        altered(Source.DELIVERY, lambda item: put(item, "status", "operationState", value=operation))
    )


def applied(resource: Object, *, status: str, health: Object | None = None, **operation: Any) -> Facts:
    """A hub with an Application that has one object in this state."""

    def change(item: Object) -> None:
        item["status"] = {
            "resources": [{**resource, "status": status, "health": health}],
            "operationState": operation,
        }

    return facts(altered(Source.DELIVERY, change))


def misplaced(**states: str) -> list[Object]:
    item = placement("guestbook", "cpu")
    item["status"] = conditions(**states)
    return without("Placement", item)


def elsewhere(**states: str) -> Object:
    return {**placement("training", "cpu", namespace="kueue-system"), "status": conditions(**states)}


def refused() -> list[Object]:
    item = application("guestbook", "cluster1")
    item["status"]["conditions"] = [
        {"type": "InvalidSpecError", "message": 'there are no clusters with this name: "cluster1"'}
    ]
    return without("Application", item)


def unhealthy(**status: Any) -> list[Object]:
    item = scorer("cpu")
    item["status"].update(status)
    return [*without("DynamicScorer", item)]


def condition(kind: str, reason: str) -> Object:
    return {"type": kind, "status": "False", "reason": reason, "message": "told"}


def test_a_scorer_without_a_scoring_api_is_not_said_to_be_silent() -> None:
    """Its health is that of its scores, which have a check of their own."""
    item = scorer("cpu", scoring={"type": "Query", "params": {"name": "cpu", "interval": 60}})
    item["status"] = {"healthStatus": "Inactive", "conditions": [condition("Scored", "Missing")]}
    [found] = [one for one in examine(facts(hub=without("DynamicScorer", item))) if one.check == "scorers"]
    assert (found.state, found.message) == (
        "ok",
        "1 scorer (1 without a scoring API), 0 of them probed by the reconciler, nothing wrong",
    )


def lease(**spec: Any) -> dict[Source, tuple[Any, ...]]:
    return altered(Source.LEASES, lambda item: item["spec"].update(spec))


def with_token() -> list[Object]:
    auth = {"tokenSecretRef": {"name": "api-token", "key": "token"}}
    endpoint = {"params": {"name": "cpu", "interval": 60}, "auth": auth}
    kept = [
        item
        for item in without("DynamicScorer", scorer("cpu", scoring=endpoint))
        if item["metadata"].get("namespace") != "cluster3"
    ]
    return [*kept, addon("cluster3")]


def on_hub(*, token: bool = False) -> Object:
    """A scorer that runs on the hub."""
    item = next(one for one in with_token() if one["kind"] == "DynamicScorer") if token else scorer("cpu")
    item["spec"]["runsOn"] = "Hub"
    return item


def test_a_score_of_the_hub_scorer_needs_no_agent() -> None:
    found = examine(facts(hub=[cluster("cluster1"), on_hub(), score("cluster1", "cpu", 5)]))
    assert [
        item.message for item in found if item.check in {"scores-fresh", "scores-owned"} and item.fix
    ] == []


def crowd(number: int) -> list[Object]:
    names = [f"c{index:02}" for index in range(number)]
    return [
        *(cluster(name) for name in names),
        *(addon(name) for name in names),
        scorer("cpu"),
        global_set(),
        binding(),
    ]


WRONG: dict[str, tuple[str, str, str, Given]] = {
    "a clock that is off": ("clock", "warning", "31 s behind", lambda: facts(clock_offset=-31.0)),
    "a clock that is far off": ("clock", "error", "400 s ahead of", lambda: facts(clock_offset=400.0)),
    "a clock that is not told": ("clock", "unknown", "no Date", lambda: facts(clock_offset=None)),
    "no OCM": (
        "ocm-kinds",
        "error",
        "does not serve cluster.open-cluster-management.io/v1",
        lambda: facts(groups={}),
    ),
    "an OCM that is too old": (
        "ocm-version",
        "error",
        "older than OCM 1.2: old 1.1.9",
        lambda: facts({Source.OCM_DEPLOYMENTS: (workload("old", "hub", "quay.io/x:v1.1.9"),)}),
    ),
    "an OCM by digest": (
        "ocm-version",
        "unknown",
        "tells a version",
        lambda: facts({Source.OCM_DEPLOYMENTS: (workload("x", "hub", "quay.io:443/x@sha256:00"),)}),
    ),
    "a gate that the ClusterManager switched off": (
        "ocm-features",
        "error",
        "DefaultClusterSet is off",
        lambda: facts({Source.CLUSTER_MANAGERS: (gated("DefaultClusterSet", "registrationConfiguration"),)}),
    ),
    "a gate that a Deployment switched off": (
        "ocm-features",
        "error",
        "AddonManagement is off",
        lambda: facts(
            {
                Source.OCM_DEPLOYMENTS: (
                    workload("x", "hub", "x:v1.2.0", args=["--feature-gates=A=true,AddonManagement=false"]),
                )
            }
        ),
    ),
    "nobody to tell the gates": (
        "ocm-features",
        "unknown",
        "neither a ClusterManager",
        lambda: facts({Source.CLUSTER_MANAGERS: (), Source.OCM_DEPLOYMENTS: ()}),
    ),
    "a cluster that is not accepted": (
        "ocm-clusters",
        "error",
        "c is not accepted",
        lambda: facts(hub=[away("c", accepted=False), addon("c")]),
    ),
    "a cluster that has not joined": (
        "ocm-clusters",
        "error",
        "c has not joined",
        lambda: facts(hub=[away("c", lacks="ManagedClusterJoined"), addon("c")]),
    ),
    "a cluster that is away": (
        "ocm-clusters",
        "warning",
        "c is not available: its lease",
        lambda: facts(hub=[away("c", lacks="ManagedClusterConditionAvailable"), addon("c")]),
    ),
    "an upstream controller beside us": (
        "upstream",
        "error",
        "ns/theirs runs beside ours",
        lambda: facts({Source.UPSTREAM_DEPLOYMENTS: (workload("theirs", "ns", "x:1"),)}),
    ),
    "an upstream add-on beside us": (
        "upstream",
        "error",
        "two agents",
        lambda: facts(
            {
                Source.ADDON_DEFINITIONS: (
                    *facts().of(Source.ADDON_DEFINITIONS),
                    {"metadata": meta("dynamic-scoring-framework")},
                )
            }
        ),
    ),
    "upstream works where ours are": (
        "upstream",
        "error",
        "the same ConfigMap as ours on cluster2",
        lambda: facts(
            {Source.UPSTREAM_WORKS: ({"metadata": meta("dynamic-scoring-config-manifestwork", "cluster2")},)}
        ),
    ),
    "masks on the hub": (
        "upstream",
        "warning",
        "DynamicScoringConfig ns/dynamic-scoring-config",
        lambda: facts({Source.SCORING_CONFIGS: ({"metadata": meta("dynamic-scoring-config", "ns")},)}),
    ),
    "an agent that is away": (
        "agents",
        "warning",
        "cluster1 is not Available: Told: told",
        lambda: facts(
            altered(
                Source.ADDON_STATES, lambda item: put(item, "status", value=conditions(Available="False"))
            )
        ),
    ),
    "an agent that OCM has not reported on": (
        "agents",
        "warning",
        "OCM has not reported",
        lambda: facts(altered(Source.ADDON_STATES, lambda item: put(item, "status", value={}))),
    ),
    "an agent that cannot register": (
        "agents",
        "error",
        "RegistrationApplied is False: Told: told",
        lambda: facts(
            altered(
                Source.ADDON_STATES,
                lambda item: put(item, "status", value=conditions(RegistrationApplied="False")),
            )
        ),
    ),
    "no Argo CD": ("argocd-version", "error", "not installed", lambda: facts(groups={"apps": ("v1",)})),
    "an Argo CD that panics on scores": (
        "argocd-version",
        "error",
        "3.3.8 is older than 3.3.9",
        lambda: facts(
            {
                Source.ARGOCD_DEPLOYMENTS: (
                    workload("argocd-applicationset-controller", ARGOCD, "argocd:v3.3.8"),
                )
            }
        ),
    ),
    "a release candidate": (
        "argocd-version",
        "error",
        "3.3.9rc1 is older",
        lambda: facts(
            {
                Source.ARGOCD_DEPLOYMENTS: (
                    workload("argocd-applicationset-controller", ARGOCD, "argocd:v3.3.9-rc1"),
                )
            }
        ),
    ),
    "an Argo CD of two versions": (
        "argocd-version",
        "warning",
        "not of one version (3.5.0): argocd-application-controller 3.3.9",
        lambda: facts(
            {
                Source.ARGOCD_DEPLOYMENTS: (
                    workload("argocd-applicationset-controller", ARGOCD, "quay.io/argoproj/argocd:v3.5.0"),
                )
            }
        ),
    ),
    "an Argo CD elsewhere": (
        "argocd-version",
        "unknown",
        "no Deployment of the ApplicationSet controller",
        lambda: facts({Source.ARGOCD_DEPLOYMENTS: ()}),
    ),
    "a policy that deletes": (
        "argocd-policy",
        "error",
        "is sync for all",
        lambda: facts(
            altered(
                Source.ARGOCD_PARAMETERS,
                lambda item: put(item, "data", value={"applicationsetcontroller.policy": "sync"}),
            )
        ),
    ),
    "a policy that changes nothing": (
        "argocd-policy",
        "warning",
        "never changed or moved",
        lambda: facts(
            altered(
                Source.ARGOCD_PARAMETERS,
                lambda item: put(item, "data", value={"applicationsetcontroller.policy": "create-only"}),
            )
        ),
    ),
    "tracking by label": (
        "argocd-settings",
        "warning",
        "is label",
        lambda: facts(altered(Source.ARGOCD_SETTINGS, tracked("label"))),
    ),
    "no health checks": (
        "argocd-settings",
        "warning",
        "no health check",
        lambda: facts({Source.ARGOCD_SETTINGS: ()}),
    ),
    "nothing delivers": (
        "argocd-delivery",
        "warning",
        "does not reach the hub",
        lambda: facts({Source.DELIVERY: ()}),
    ),
    "our kinds are not there": (
        "argocd-delivery",
        "error",
        "does not serve dynamic-scoring.open-cluster-management.io: our CRDs are not there",
        lambda: facts(groups={**GROUPS, "argoproj.io": ("v1alpha1",)}),
    ),
    "an object that is not there": (
        "argocd-delivery",
        "error",
        "gitops-dsf-platform: RoleBinding cluster1/gitops-dsf-agent is Missing",
        lambda: applied(
            {"kind": "RoleBinding", "namespace": "cluster1", "name": "gitops-dsf-agent"},
            status="OutOfSync",
            health={"status": "Missing"},
        ),
    ),
    "an object that is degraded": (
        "argocd-delivery",
        "error",
        "gitops-dsf-platform: ClusterManagementAddOn gitops-dsf-agent is Degraded: two defaults",
        lambda: applied(
            {"kind": "ClusterManagementAddOn", "name": "gitops-dsf-agent"},
            status="Synced",
            health={"status": "Degraded", "message": "two defaults"},
        ),
    ),
    "an object that is refused": (
        "argocd-delivery",
        "error",
        "cannot be synced: boom; ConfigMap argocd/a is OutOfSync: denied",
        lambda: applied(
            {"kind": "ConfigMap", "namespace": "argocd", "name": "a"},
            status="OutOfSync",
            phase="Failed",
            message="boom",
            syncResult={
                "resources": [
                    {"kind": "ConfigMap", "namespace": "argocd", "name": "a", "message": "denied"}
                    | {"status": "SyncFailed"}
                ]
            },
        ),
    ),
    "an object that differs": (
        "argocd-delivery",
        "warning",
        "ConfigMap argocd/a is OutOfSync",
        lambda: applied({"kind": "ConfigMap", "namespace": "argocd", "name": "a"}, status="OutOfSync"),
    ),
    "an object that left git": (
        "argocd-delivery",
        "warning",
        "ConfigMap argocd/a is no longer in git: delete it",
        lambda: applied(
            {"kind": "ConfigMap", "namespace": "argocd", "name": "a", "requiresPruning": True},
            status="OutOfSync",
        ),
    ),
    "an Application that is degraded as a whole": (
        "argocd-delivery",
        "error",
        "gitops-dsf-platform: it is Degraded",
        lambda: facts(
            altered(Source.DELIVERY, lambda item: put(item, "status", "health", value={"status": "Degraded"}))
        ),
    ),
    "a sync that fails": (
        "argocd-delivery",
        "error",
        "gitops-dsf-platform cannot be synced: boom",
        lambda: synced(phase="Failed", message="boom"),
    ),
    "a sync that fails again and again": (
        "argocd-delivery",
        "error",
        "gitops-dsf-platform cannot be synced: boom. Retrying attempt #3 at 9:15AM.",
        lambda: synced(phase="Running", retryCount=3, message="boom. Retrying attempt #3 at 9:15AM."),
    ),
    "an object that the project does not allow": (
        "argocd-delivery",
        "error",
        "syncs nothing of Application gitops-dsf-platform: namespace later is not permitted in project 'dsf'",
        lambda: synced(
            phase="Running",
            retryCount=1,
            message="some tasks are not valid. Retrying attempt #1 at 9:15AM.",
            syncResult={
                "resources": [
                    {"kind": "Placement", "message": "namespace later is not permitted in project 'dsf'"},
                    {"kind": "ConfigMap", "message": "", "status": "SyncFailed"},
                ]
            },
        ),
    ),
    "a source that cannot be compared": (
        "argocd-delivery",
        "error",
        "cannot be synced: no repository",
        lambda: facts(
            altered(
                Source.DELIVERY,
                lambda item: put(
                    item,
                    "status",
                    "conditions",
                    value=[{"type": "ComparisonError", "message": "no repository"}],
                ),
            )
        ),
    ),
    "a Placement that OCM does not understand": (
        "placements",
        "error",
        "argocd/guestbook is misconfigured: told",
        lambda: facts(hub=misplaced(PlacementMisconfigured="True")),
    ),
    "a Placement with too few clusters": (
        "placements",
        "warning",
        "too few clusters: Told: told",
        lambda: facts(hub=misplaced(PlacementSatisfied="False")),
    ),
    "a Placement in the namespace of another consumer": (
        "placements",
        "warning",
        "Placement kueue-system/training has too few clusters: Told: told",
        lambda: facts(hub=[*fleet(), elsewhere(PlacementSatisfied="False")]),
    ),
    "an ApplicationSet that fails": (
        "applicationsets",
        "error",
        "guestbook generates nothing: boom",
        lambda: facts(hub=without("ApplicationSet", application_set("guestbook", error="boom"))),
    ),
    "a destination that Argo CD does not know": (
        "cluster-secrets",
        "error",
        "does not know cluster1: there are no",
        lambda: facts(hub=refused()),
    ),
    "a decided cluster without a Secret": (
        "cluster-secrets",
        "error",
        "cluster1 is decided, and Argo CD has no cluster Secret",
        lambda: facts({Source.CLUSTER_SECRETS: ()}, hub=without("Application")),
    ),
    "eligible clusters without a Secret": (
        "cluster-secrets",
        "warning",
        "no cluster Secret for cluster2, cluster3",
        lambda: facts({Source.CLUSTER_SECRETS: ()}),
    ),
    "fewer Secrets than clusters": (
        "cluster-secrets",
        "warning",
        "at least 1 of cluster2, cluster3",
        lambda: facts({Source.CLUSTER_SECRETS: ({"metadata": meta("cluster-10.0.0.1-12345", ARGOCD)},)}),
    ),
    "Secrets whose names tell nothing": (
        "cluster-secrets",
        "unknown",
        "2 may hold it in their data, which is not read",
        lambda: facts(
            {
                Source.CLUSTER_SECRETS: tuple(
                    {"metadata": meta(f"cluster-10.0.0.{number}", ARGOCD)} for number in (1, 2)
                )
            }
        ),
    ),
    "another namespace than the scorers'": (
        "scorers",
        "warning",
        "no DynamicScorer in namespace open-cluster-management",
        lambda: facts(hub=without("DynamicScorer")),
    ),
    "a scoring API that is down": (
        "scorers",
        "warning",
        "cpu does not answer: Timeout: told",
        lambda: facts(hub=unhealthy(healthStatus="Inactive", conditions=[condition("Healthy", "Timeout")])),
    ),
    "a default score everywhere": (
        "scorers",
        "warning",
        "every score of cpu is its defaultScore 5: its query gives no series on any cluster",
        lambda: facts(
            hub=[
                *(
                    item
                    for name in ("a", "b")
                    for item in (cluster(name), addon(name), score(name, "cpu", 5))
                ),
                scorer("cpu", defaultScore=5),
            ]
        ),
    ),
    "a page that drifted": (
        "scorers",
        "warning",
        "Drifted: told",
        lambda: facts(hub=unhealthy(conditions=[condition("ConfigSynced", "Drifted")])),
    ),
    "a page that is nonsense": (
        "scorers",
        "warning",
        "Invalid: told",
        lambda: facts(hub=unhealthy(conditions=[condition("ConfigSynced", "Invalid")])),
    ),
    "a scorer that was suspended": (
        "scorers",
        "warning",
        "suspended by the reconciler",
        lambda: facts(read={"suspended": frozenset({"cpu"})}),
    ),
    "an agent that is down": (
        "scores-fresh",
        "warning",
        "every score of cluster1 is expired, and counts as 0: its agent is down",
        lambda: facts(
            hub=[
                cluster("cluster1"),
                addon("cluster1"),
                scorer("cpu"),
                scorer("mem"),
                *(score("cluster1", one, 5, age=901) for one in ("cpu", "mem")),
            ]
        ),
    ),
    "a score that is missing": (
        "scores-fresh",
        "warning",
        "cluster1: missing: cpu",
        lambda: facts(hub=[cluster("cluster1"), addon("cluster1"), scorer("cpu")]),
    ),
    "a score of the hub scorer that is missing": (
        "scores-fresh",
        "warning",
        "cpu, which runs on the hub: missing on cluster1, and counts as 0",
        lambda: facts(hub=[cluster("cluster1"), on_hub()]),
    ),
    "a score of the hub scorer on a cluster that is gone": (
        "scores-owned",
        "warning",
        "cluster9/cpu has no owner: there is no such cluster",
        lambda: facts(
            hub=[cluster("cluster1"), on_hub(), *(score(one, "cpu", 5) for one in ("cluster1", "cluster9"))]
        ),
    ),
    "a token of the hub scorer": (
        "token-secrets",
        "warning",
        "cpu, which runs on the hub, has no score on cluster1 and needs Secret api-token in namespace",
        lambda: facts(hub=[cluster("cluster1"), on_hub(token=True)]),
    ),
    "many scores that are missing": (
        "scores-fresh",
        "warning",
        "the same of 24 more: ",
        lambda: facts(hub=crowd(25)),
    ),
    "a score without a scorer": (
        "scores-owned",
        "warning",
        "cluster1/retired has no owner: no scorer has that name",
        lambda: facts(read={"unowned": (("cluster1", "retired"),)}),
    ),
    "a score without an agent": (
        "scores-owned",
        "warning",
        "cluster9/cpu has no owner: no agent is on that cluster",
        lambda: facts(hub=[*fleet(), cluster("cluster9"), score("cluster9", "cpu", 5)]),
    ),
    "a score of a suspended scorer": (
        "scores-owned",
        "warning",
        "cpu is suspended, and its score is still there on cluster1",
        lambda: facts(
            hub=[
                cluster("cluster1"),
                addon("cluster1"),
                scorer("cpu", suspend=True),
                score("cluster1", "cpu", 5),
            ]
        ),
    ),
    "a score that somebody else writes": (
        "scores-owned",
        "warning",
        "cluster1/cpu has a scorer's name",
        lambda: facts(read={"foreign": (("cluster1", "cpu"),)}),
    ),
    "a score that somebody else writes beside our agent": (
        "scores-owned",
        "error",
        "cluster1/cpu is written by our agent and by dynamic-scoring-agent",
        lambda: facts(read={"contested": (("cluster1", "cpu", "dynamic-scoring-agent"),)}),
    ),
    "many scores of nobody": (
        "scores-owned",
        "warning",
        "the same of 14 more: c1, c10, c11, c12, c13, ...",
        lambda: facts(read={"unowned": tuple((f"c{number}", "retired") for number in range(15))}),
    ),
    "a score that may lack its token": (
        "token-secrets",
        "warning",
        "cpu has no score on cluster3 and needs Secret api-token there, which the hub cannot see",
        lambda: facts(hub=with_token()),
    ),
    "no reconciler": ("reconciler", "warning", "no reconciler ever led", lambda: facts({Source.LEASES: ()})),
    "a reconciler that went away": (
        "reconciler",
        "warning",
        "pod-a was last renewed 60 s ago",
        lambda: facts(lease(renewTime=stamp(NOW - timedelta(seconds=60)))),
    ),
    "a Lease that nobody renewed": (
        "reconciler",
        "warning",
        "never renewed",
        lambda: facts(lease(renewTime=None)),
    ),
}


def pushed_scorer() -> Object:
    """A scorer that reads what collectors push, on clusters of a variant."""
    item = scorer("gpu")
    item["spec"]["source"] = {
        "ref": "platform",
        "variants": [{"type": "Prometheus"}, {"type": "OpenTelemetry"}],
    }
    return item


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_with_a_fix(what: str) -> None:
    check, state, text, given = WRONG[what]
    found = [finding for finding in run(check, given()) if text in finding.message]
    assert len(found) == 1, run(check, given())
    assert found[0].state == state
    assert found[0].fix or state == "unknown"
    assert all(finding.state != "ok" for finding in run(check, given()))


@pytest.mark.parametrize(
    ("source", "counts"),
    [(Source.CLUSTER_SECRETS, False), (Source.LEASES, True), (Source.ADDON_STATES, True)],
)
def test_what_the_hub_refused_counts_unless_it_is_optional(source: Source, counts: bool) -> None:
    unread = Unread(what="things.example.com", why=Why.FORBIDDEN, refused=True)
    assert facts(unread={source: unread}).refused is counts
    absent = Unread(what="things.example.com", why=Why.NOT_INSTALLED)
    assert not facts(unread={source: absent}).refused


def unpublished(*, created: datetime) -> list[Object]:
    """The small fleet before its agents published anything."""
    objects = [item for item in fleet() if item["kind"] != "AddOnPlacementScore"]
    for item in objects:
        item["metadata"]["creationTimestamp"] = stamp(created)
    return objects


def test_scores_that_are_not_there_are_not_counted_as_there() -> None:
    (told,) = run("scores-fresh", facts(hub=unpublished(created=NOW)))
    assert told.state == "unknown"
    assert told.message.startswith("6 scores on 3 clusters not published yet")
    found = run("scores-fresh", facts(hub=unpublished(created=NOW - timedelta(days=1))))
    assert [item.state for item in found] == ["warning"]


def test_new_scores_are_counted_beside_those_that_are_there() -> None:
    objects = fleet()
    objects.remove(next(item for item in objects if item["kind"] == "AddOnPlacementScore"))
    for item in objects:
        item["metadata"]["creationTimestamp"] = stamp(NOW)
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
        "metadata": meta("gitops-dsf-reconciler-1", "open-cluster-management"),
        "status": {"containerStatuses": [{"name": "reconciler", "image": image, "state": state}]},
    }


@pytest.mark.parametrize(
    "leases", [(), ({"spec": {"holderIdentity": "a", "renewTime": stamp(NOW - timedelta(1))}},)]
)
def test_an_image_that_cannot_be_pulled_is_named(leases: tuple[Object, ...]) -> None:
    pod = reconciler_pod(reason="ErrImagePull", message="not found")
    (told,) = run("reconciler", facts({Source.LEASES: leases, Source.RECONCILER_PODS: (pod,)}))
    assert told.state == "error"
    assert (
        "image registry.example.com/reconciler:1 cannot be pulled (ErrImagePull: not found)" in told.message
    )
    assert "describe pods -l app.kubernetes.io/name=gitops-dsf-reconciler" in told.fix


def test_a_pod_that_only_starts_is_no_error() -> None:
    pods = (reconciler_pod(reason="ContainerCreating"), reconciler_pod())
    (told,) = run("reconciler", facts({Source.LEASES: (), Source.RECONCILER_PODS: pods}))
    assert told.state == "warning"
    assert "logs -l app.kubernetes.io/name=gitops-dsf-reconciler" in told.fix
    (leading,) = run(
        "reconciler", facts({Source.RECONCILER_PODS: (reconciler_pod(reason="ErrImagePull"), *pods)})
    )
    assert leading.state == "ok", "a second replica of a newer version cannot be pulled, and one leads"


def test_every_check_can_fail() -> None:
    assert {check for check, *_ in WRONG.values()} == {check.id for check in CHECKS}


def test_commands_are_ready_for_a_shell() -> None:
    for check, _, _, given in WRONG.values():
        for finding in run(check, given()):
            for part in (finding.fix or "").partition("  #")[0].split(" && "):
                if part.startswith(("kubectl", "clusteradm")):
                    words = shlex.split(part)
                    assert words[1] == "--context", part
                    assert words[2] == "hub" or "# on the cluster itself" in (finding.fix or ""), part


@pytest.mark.parametrize(
    "secret",
    [
        meta("cluster2", ARGOCD),
        meta("cluster2-cluster-secret", ARGOCD),
        meta("whatever", ARGOCD, labels={"apps.open-cluster-management.io/cluster-name": "cluster2"}),
        meta("whatever", ARGOCD, annotations={"who": "cluster2"}),
    ],
)
def test_a_secret_is_a_clusters_by_its_own_name_or_a_label(secret: Object) -> None:
    others = {"metadata": meta("cluster-cluster3", ARGOCD)}
    found = run("cluster-secrets", facts({Source.CLUSTER_SECRETS: ({"metadata": secret}, others)}))
    assert [finding.state for finding in found] == ["ok"]


def test_an_application_proves_that_argocd_knows_its_cluster() -> None:
    """cluster1 has no Secret that carries its name, and an Application; the other two have Secrets."""
    secrets = tuple({"metadata": meta(f"cluster-{name}", ARGOCD)} for name in CLUSTERS[1:])
    assert [
        finding.state for finding in run("cluster-secrets", facts({Source.CLUSTER_SECRETS: secrets}))
    ] == ["ok"]


def test_pulled_applications_need_no_secret() -> None:
    item = application_set("guestbook")
    item["spec"]["template"]["metadata"]["labels"][
        "apps.open-cluster-management.io/pull-to-ocm-managed-cluster"
    ] = "true"
    found = run("cluster-secrets", facts({Source.CLUSTER_SECRETS: ()}, hub=without("ApplicationSet", item)))
    assert [(finding.state, finding.message) for finding in found] == [("ok", "no application is pushed")]


def test_an_override_lets_applicationsets_decide() -> None:
    data = {
        "applicationsetcontroller.policy": "sync",
        "applicationsetcontroller.enable.policy.override": "true",
    }
    found = run(
        "argocd-policy", facts(altered(Source.ARGOCD_PARAMETERS, lambda item: put(item, "data", value=data)))
    )
    assert [finding.state for finding in found] == ["ok"]


def test_where_upstream_delivers_there_is_nothing_of_ours_to_miss() -> None:
    """delivery.mode UpstreamController: no add-on, works, agents or kinds of ours, and that is as it should
    be.
    """
    gone = {
        Source.ADDON_DEFINITIONS: ({"metadata": meta("dynamic-scoring-framework")},),
        Source.UPSTREAM_DEPLOYMENTS: (workload("dynamic-scoring-framework-controller", HUB, "x:1"),),
        Source.UPSTREAM_WORKS: ({"metadata": meta("dynamic-scoring-config-manifestwork", "cluster1")},),
        Source.SCORING_CONFIGS: ({"metadata": meta("dynamic-scoring-config", HUB)},),
        **dict.fromkeys((Source.OUR_WORKS, Source.ADDON_STATES, Source.LEASES), ()),
    }
    found = examine(facts(gone))
    assert [finding for finding in found if finding.state != "ok"] == []
    assert "upstream addon delivers" in next(
        finding.message for finding in found if finding.check == "agents"
    )


@pytest.mark.parametrize("source", Source)
def test_what_may_not_be_read_makes_its_checks_unknown_and_no_other(source: Source) -> None:
    given = facts()
    objects = {key: value for key, value in given.objects.items() if key is not source}
    unread = {source: Unread(what="things.example.com", why=Why.FORBIDDEN)}
    found = examine(facts(objects=objects, unread=unread))
    unknown = {finding.check for finding in found if finding.state == "unknown"}
    assert unknown == {check.id for check in CHECKS if source in check.needs}
    assert unknown or source is Source.RECONCILER_PODS, f"nothing needs {source}"
    assert all(finding.state in {"ok", "unknown"} for finding in found)
    assert all(
        "needs the right to list things.example.com" in finding.message
        and "the ClusterRole gitops-dsf-doctor" in finding.fix
        for finding in found
        if finding.state == "unknown"
    )


@pytest.mark.parametrize(
    "part",
    [
        Part.CLUSTERS,
        Part.ADDONS,
        Part.SCORERS,
        Part.SCORES,
        Part.PLACEMENTS,
        Part.APPLICATION_SETS,
        Part.APPLICATIONS,
    ],
)
def test_a_part_of_the_view_that_may_not_be_read_makes_its_checks_unknown(part: Part) -> None:
    found = examine(facts(read={"unread": [part]}))
    unknown = {finding.check for finding in found if finding.state == "unknown"}
    assert unknown >= {check.id for check in CHECKS if part in check.needs}
    assert unknown


def test_a_kind_that_is_not_served_is_said_without_asking_for_rights() -> None:
    unread = {Source.ADDON_STATES: Unread(what="addons.example.com", why=Why.NOT_INSTALLED)}
    found = run("agents", facts(unread=unread))
    assert [(finding.state, finding.fix) for finding in found] == [("unknown", None)]
    assert "does not serve addons.example.com" in found[0].message


def test_a_hub_without_anything_is_no_crash() -> None:
    empty = facts(dict.fromkeys(Source, ()), hub=[cluster("c")], groups={})
    assert {finding.check for finding in examine(empty)} == {check.id for check in CHECKS}


def test_what_somebody_else_writes_is_never_proposed_for_deletion() -> None:
    theirs = {"foreign": (("cluster9", "cpu"), ("cluster1", "cpu"))}
    objects = [cluster("cluster1"), addon("cluster1"), cluster("cluster9"), scorer("cpu", suspend=True)]
    given = facts(hub=[*objects, *(score(name, "cpu", 5) for name in ("cluster1", "cluster9"))], read=theirs)
    found = run("scores-owned", given)
    assert [(finding.count, finding.subjects) for finding in found] == [(2, ("cluster9", "cluster1"))]
    assert all(
        "was not written by our agent" in finding.message and " delete " not in (finding.fix or "")
        for finding in found
    )


def test_what_somebody_else_writes_too_is_never_proposed_for_deletion() -> None:
    both = {"contested": (("cluster9", "cpu", "other"), ("cluster1", "cpu", "other"))}
    objects = [cluster("cluster1"), addon("cluster1"), cluster("cluster9"), scorer("cpu", suspend=True)]
    given = facts(hub=[*objects, *(score(name, "cpu", 5) for name in ("cluster1", "cluster9"))], read=both)
    found = run("scores-owned", given)
    assert [(finding.state, finding.count) for finding in found] == [("error", 2)]
    assert all(" delete " not in (finding.fix or "") for finding in found)


def test_without_a_scorer_in_the_namespace_no_score_is_proposed_for_deletion() -> None:
    """Most likely --hub-namespace is another one."""
    published = without("DynamicScorer")
    found = run(
        "scores-owned", facts(hub=published, read={"unowned": (("cluster1", "cpu"), ("cluster2", "cpu"))})
    )
    assert [finding.state for finding in found] == ["unknown"]
    assert (
        "2 scores of our agents, and no DynamicScorer in namespace open-cluster-management"
        in found[0].message
    )
    assert "--hub-namespace" in found[0].fix


def test_a_score_that_may_be_masked_is_not_called_missing() -> None:
    published = [item for item in with_token() if item["kind"] != "AddOnPlacementScore"]
    given = facts(hub=published, read={"unread": [Part.MASKS]})
    found = run("scores-fresh", given)
    assert [finding.state for finding in found] == ["unknown"]
    assert "missing or masked" in found[0].message
    assert [finding.state for finding in run("token-secrets", given)] == ["ok"]


def test_only_the_secrets_of_the_variant_that_a_cluster_uses_are_named() -> None:
    """cluster3, which has no score, is in us and uses the second variant."""
    selected = {"matchLabels": {"region": "eu"}}
    variants = [
        {"clusterSelector": selected, "auth": {"tokenSecretRef": {"name": "eu-token", "key": "token"}}},
        {"auth": {"tokenSecretRef": {"name": "rest-token", "key": "token"}}},
    ]
    hub = [
        item if item["kind"] != "DynamicScorer" else scorer("cpu", source={"ref": "p", "variants": variants})
        for item in with_token()
    ]
    (found,) = run("token-secrets", facts(hub=hub))
    assert "needs Secret rest-token there" in found.message


def test_every_kind_of_credential_of_a_variant_names_its_secret() -> None:
    variant = {
        "host": "https://mimir.svc",
        "basicAuth": {"secretRef": {"name": "login", "usernameKey": "u", "passwordKey": "p"}},
        "clientCertificate": {"secretRef": {"name": "pair"}},
        "headers": [
            {"name": "X-Org", "value": "a"},
            {"name": "X-Key", "secretRef": {"name": "api", "key": "k"}},
        ],
    }
    hub = [
        item if item["kind"] != "DynamicScorer" else scorer("cpu", source={"ref": "p", "variants": [variant]})
        for item in with_token()
    ]
    (found,) = run("token-secrets", facts(hub=hub))
    assert "needs Secret api, login, pair there" in found.message


def test_a_cluster_whose_variant_needs_no_secret_is_not_reported() -> None:
    variants = [
        {
            "auth": {"tokenSecretRef": {"name": "t", "key": "k"}},
            "clusterSelector": {"matchLabels": {"a": "b"}},
        },
        {"host": "http://prometheus.svc"},
    ]
    hub = [
        item if item["kind"] != "DynamicScorer" else scorer("cpu", source={"ref": "p", "variants": variants})
        for item in with_token()
    ]
    (found,) = run("token-secrets", facts(hub=hub))
    assert found.state == "ok"


def test_switching_a_gate_on_leaves_the_others_as_they_are() -> None:
    manager = gated("DefaultClusterSet", "registrationConfiguration")
    gates = manager["spec"]["registrationConfiguration"]["featureGates"]
    gates.insert(0, {"feature": "ManagedClusterAutoApproval", "mode": "Enable"})
    found = run("ocm-features", facts({Source.CLUSTER_MANAGERS: (manager,)}))
    patch = json.loads(shlex.split(found[0].fix)[-1])
    assert patch["spec"]["registrationConfiguration"]["featureGates"] == [
        {"feature": "ManagedClusterAutoApproval", "mode": "Enable"},
        {"feature": "DefaultClusterSet", "mode": "Enable"},
    ]


def test_the_healthy_hub_of_these_tests_is_not_changed_by_them() -> None:
    before = deepcopy(facts().objects)
    examine(facts())
    assert facts().objects == before


def test_decisions_of_several_applications_are_told_apart() -> None:
    other = [application_set("other"), placement("other", "mem"), decision("other", "cluster2")]
    found = run("cluster-secrets", facts({Source.CLUSTER_SECRETS: ()}, hub=[*fleet(), *other]))
    assert [finding.state for finding in found if "cluster2 is decided" in finding.message] == ["error"]


def test_the_same_about_many_clusters_is_told_once_with_their_number() -> None:
    names = [f"c{number}" for number in range(30)]
    found = run(
        "ocm-clusters",
        facts(hub=[item for name in names for item in (without_spec(cluster(name)), addon(name))]),
    )
    assert [(finding.state, finding.count) for finding in found] == [("error", 30)]
    assert found[0].subjects == tuple(sorted(names))
    assert (
        found[0].message
        == "c0 is not accepted, so its agent cannot reach the hub; the same of 29 more: c1, c10, c11, c12,"
        " c13, ..."
    )
    assert found[0].fix == "clusteradm --context hub accept --clusters c0"


def test_clusters_that_differ_in_what_is_wrong_are_told_up_to_ten_times() -> None:
    scorers = [scorer(f"s{number:02}") for number in range(12)]
    names = [f"c{number:02}" for number in range(12)]
    there = [
        score(name, one["metadata"]["name"], 5) for at, name in enumerate(names) for one in scorers[at + 1 :]
    ]
    found = run(
        "scores-fresh",
        facts(
            hub=[
                *(item for name in names for item in (cluster(name), addon(name))),
                *scorers,
                *there,
                masks(),
            ]
        ),
    )
    assert [finding.count for finding in found] == [1] * 10 + [2]
    assert found[-1].message == "2 more such findings"
    assert found[-1].subjects == ("c10", "c11")


def without_spec(item: Object) -> Object:
    return {**item, "spec": {}}

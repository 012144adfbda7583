"""Objects of a hub with a small fleet, as the API server returns them. Tests change what they need."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from gitops_dsf.hub.pace import MOVES_SCORE, PACE_ANNOTATION
from tests.support.apiserver import ApiServer

Object = dict[str, Any]
NOW = datetime(2026, 6, 1, 12, 0, 0, tzinfo=UTC)
CLUSTER = "cluster.open-cluster-management.io"
HUB, ARGOCD = "open-cluster-management", "argocd"
PATHS = {
    "ManagedCluster": f"/apis/{CLUSTER}/v1/managedclusters",
    "ManagedClusterSet": f"/apis/{CLUSTER}/v1beta2/managedclustersets",
    "ManagedClusterSetBinding": f"/apis/{CLUSTER}/v1beta2/managedclustersetbindings",
    "PlacementDecision": f"/apis/{CLUSTER}/v1beta1/placementdecisions",
    "Placement": f"/apis/{CLUSTER}/v1beta1/placements",
    "AddOnPlacementScore": f"/apis/{CLUSTER}/v1alpha1/addonplacementscores",
    "ManagedClusterAddOn": "/apis/addon.open-cluster-management.io/v1alpha1/managedclusteraddons",
    "DynamicScorer": "/apis/dynamic-scoring.open-cluster-management.io/v1alpha1/dynamicscorers",
    "ApplicationSet": "/apis/argoproj.io/v1alpha1/applicationsets",
    "Application": "/apis/argoproj.io/v1alpha1/applications",
    "ConfigMap": "/api/v1/configmaps",
}


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def meta(name: str, namespace: str = "", **more: Any) -> Object:
    return {"name": name, **({"namespace": namespace} if namespace else {}), **more}


def cluster(name: str, **labels: str) -> Object:
    available = [
        {"type": kind, "status": "True"}
        for kind in ("HubAcceptedManagedCluster", "ManagedClusterJoined", "ManagedClusterConditionAvailable")
    ]
    return {
        "kind": "ManagedCluster",
        "metadata": meta(name, labels=labels),
        "spec": {"hubAcceptsClient": True},
        "status": {"conditions": available},
    }


def global_set() -> Object:
    spec = {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}
    return {"kind": "ManagedClusterSet", "metadata": meta("global"), "spec": spec}


def binding(namespace: str = ARGOCD) -> Object:
    return {
        "kind": "ManagedClusterSetBinding",
        "metadata": meta("global", namespace),
        "spec": {"clusterSet": "global"},
    }


def addon(cluster: str, available: str = "True", message: str = "") -> Object:
    condition = {"type": "Available", "status": available, "reason": "Probed", "message": message}
    return {
        "kind": "ManagedClusterAddOn",
        "metadata": meta("gitops-dsf-agent", cluster),
        "status": {"conditions": [condition]},
    }


def joined(*names: str) -> list[Object]:
    """Clusters with our add-on."""
    return [item for name in names for item in (cluster(name), addon(name))]


def scorer(name: str, *, score: str = "", health: str = "Active", mode: str = "None", **spec: Any) -> Object:
    healthy = {
        "type": "Healthy",
        "status": "True" if health == "Active" else "False",
        "reason": "Answers",
        "message": "",
    }
    return {
        "kind": "DynamicScorer",
        "metadata": meta(name, HUB),
        "spec": {
            "configSyncMode": mode,
            "scoring": {"params": {"name": score or name, "interval": 60}},
            "scoreTTLSeconds": 900,
            **spec,
        },
        "status": {"healthStatus": health, "conditions": [healthy]},
    }


def score(
    cluster: str,
    name: str,
    value: int | None,
    *,
    age: float = 60,
    ttl: float = 900,
    now: datetime = NOW,
    writer: str = "gitops-dsf-agent",
) -> Object:
    """A score that was published `age` seconds ago. With value None it has no item."""
    items = [] if value is None else [{"name": name, "value": value}]
    status = {"scores": items, "validUntil": stamp(now + timedelta(seconds=ttl - age))}
    labels = {"app.kubernetes.io/managed-by": writer} if writer else {}
    return {"kind": "AddOnPlacementScore", "metadata": meta(name, cluster, labels=labels), "status": status}


def placement(name: str, *resources: str, number: int = 1, namespace: str = ARGOCD) -> Object:
    terms = [
        {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": one, "scoreName": one}}, "weight": 1}
        for one in resources
    ]
    spec = {
        "numberOfClusters": number,
        "clusterSets": ["global"],
        "prioritizerPolicy": {"mode": "Exact", "configurations": terms},
    }
    labels = {"app.kubernetes.io/managed-by": "gitops-dsf"}
    return {"kind": "Placement", "metadata": meta(name, namespace, labels=labels), "spec": spec}


def paced(item: Object, *, demand: int = 0, steady: int = 0) -> Object:
    """The Placement, rendered with a pace."""
    name, policy = item["metadata"]["name"], item["spec"]["prioritizerPolicy"]
    coordinates = [each["scoreCoordinate"]["addOn"] for each in policy["configurations"]]
    terms = [
        {
            "resource": each["resourceName"],
            "dimension": each["scoreName"],
            "weight": 1,
            "demand": demand,
            "delay": 60,
            "range": 600,
        }
        for each in coordinates
    ]
    key = {"resourceName": "gitops-dsf-moves", "scoreName": f"{item['metadata']['namespace']}/{name}"}
    hold = [
        {"scoreCoordinate": {"type": "AddOn", "addOn": key}, "weight": 10},
        {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": 10},
    ]
    return {
        **item,
        "metadata": {
            **item["metadata"],
            "annotations": {"gitops-dsf.io/pace": json.dumps({"terms": terms, "steady": steady})},
        },
        "spec": {
            **item["spec"],
            "prioritizerPolicy": {**policy, "configurations": [*policy["configurations"], *hold]},
        },
    }


def with_refuges(name: str, *resources: str) -> Object:
    """A paced Placement whose refuge is planned."""
    item = paced(placement(name, *resources))
    annotations = item["metadata"]["annotations"]
    annotations[PACE_ANNOTATION] = json.dumps({**json.loads(annotations[PACE_ANNOTATION]), "refuges": True})
    return item


def moves_score(on: str, **items: int) -> Object:
    """The items of one cluster, by name of the Placement."""
    scores = [{"name": f"{ARGOCD}/{name.replace('_', '-')}", "value": value} for name, value in items.items()]
    return {"kind": "AddOnPlacementScore", "metadata": meta(MOVES_SCORE, on), "status": {"scores": scores}}


def paced_moves(ledger: object, queue: object, maintenance: object = None) -> Object:
    """The ConfigMap of paced moves."""
    parts = {"ledger": ledger, "queue": queue, "maintenance": maintenance or {}}
    data = {name: json.dumps(part) for name, part in parts.items()}
    return {"kind": "ConfigMap", "metadata": meta("gitops-dsf-moves", HUB), "data": data}


def decision(placement: str, *clusters: str, namespace: str = ARGOCD) -> Object:
    labels = {f"{CLUSTER}/placement": placement}
    status = {"decisions": [{"clusterName": name, "reason": ""} for name in clusters]}
    return {
        "kind": "PlacementDecision",
        "metadata": meta(f"{placement}-decision-1", namespace, labels=labels),
        "status": status,
    }


def application_set(
    name: str, *, strategy: str = "MakeBeforeBreak", error: str = "", follows: str = ""
) -> Object:
    generator = {
        "clusterDecisionResource": {
            "configMapRef": "x",
            "labelSelector": {"matchLabels": {f"{CLUSTER}/placement": follows or name}},
        }
    }
    conditions = [{"type": "ErrorOccurred", "status": "True", "message": error}] if error else []
    annotations = {"gitops-dsf.io/moves-strategy": strategy}
    template = {"metadata": {"labels": {"gitops-dsf.io/application": name}}}
    return {
        "kind": "ApplicationSet",
        "metadata": meta(
            name, ARGOCD, annotations=annotations, labels={"app.kubernetes.io/managed-by": "gitops-dsf"}
        ),
        "spec": {"generators": [generator], "template": template},
        "status": {"conditions": conditions},
    }


def application(name: str, cluster: str, *, health: str = "Healthy", **more: Any) -> Object:
    return {
        "kind": "Application",
        "metadata": meta(f"{name}-{cluster}", ARGOCD, labels={"gitops-dsf.io/application": name}, **more),
        "spec": {"destination": {"name": cluster, "namespace": name}},
        "status": {"health": {"status": health}, "sync": {"status": "Synced"}},
    }


def masks(*items: Object) -> Object:
    return {
        "kind": "ConfigMap",
        "metadata": meta("gitops-dsf-masks", HUB),
        "data": {"masks": json.dumps(items)},
    }


def fleet(*, now: datetime = NOW) -> list[Object]:
    """Three clusters, two scorers, one application on the better cluster."""
    names = ("cluster1", "cluster2", "cluster3")
    return [
        *joined(*names),
        global_set(),
        binding(),
        scorer("cpu"),
        scorer("mem"),
        *(score(name, "cpu", value, now=now) for name, value in zip(names, (80, 60, 40), strict=True)),
        *(score(name, "mem", 50, now=now) for name in names),
        placement("guestbook", "cpu"),
        decision("guestbook", "cluster1"),
        application_set("guestbook"),
        application("guestbook", "cluster1"),
        masks(),
    ]


def by_path(objects: list[Object]) -> dict[str, list[Object]]:
    """Objects by path, as an API server serves them, with every path of PATHS."""
    found: dict[str, list[Object]] = {path: [] for path in PATHS.values()}
    for item in objects:
        found[PATHS[item["kind"]]].append({key: value for key, value in item.items() if key != "kind"})
    return found


def hub_with(objects: list[Object], **more: Any) -> ApiServer:
    """With these attributes, such as `expired=1`."""
    server = ApiServer(serves=by_path(objects))
    vars(server).update(more)
    return server

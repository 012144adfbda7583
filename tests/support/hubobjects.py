"""Objects of a hub with a small fleet, as the API server returns them.

Tests change what they need.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from gitops_dsf.hub.pace import MOVES_SCORE, PACE_ANNOTATION
from tests.support import scorerlists
from tests.support.apiserver import FakeApiServer

Object = dict[str, Any]
NOW = datetime(2026, 6, 1, 12, 0, 0, tzinfo=UTC)
CLUSTER = "cluster.open-cluster-management.io"
HUB, ARGOCD = "gitops-dsf", "argocd"
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


def of(kind: str, metadata: Object, **rest: Any) -> Object:
    return {"kind": kind, "metadata": metadata, **rest}


def cluster(name: str, **labels: str) -> Object:
    kinds = (
        "HubAcceptedManagedCluster",
        "ManagedClusterJoined",
        "ManagedClusterConditionAvailable",
    )
    status = {"conditions": [{"type": kind, "status": "True"} for kind in kinds]}
    return of(
        "ManagedCluster", meta(name, labels=labels), spec={"hubAcceptsClient": True}, status=status
    )


def global_set() -> Object:
    spec = {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}
    return of("ManagedClusterSet", meta("global"), spec=spec)


def binding(namespace: str = ARGOCD) -> Object:
    return of("ManagedClusterSetBinding", meta("global", namespace), spec={"clusterSet": "global"})


def addon(
    cluster: str, available: str = "True", message: str = "", *, name: str = "gitops-dsf-agent"
) -> Object:
    condition = {"type": "Available", "status": available, "reason": "Probed", "message": message}
    return of("ManagedClusterAddOn", meta(name, cluster), status={"conditions": [condition]})


def joined(*names: str) -> list[Object]:
    """Clusters with our add-on."""
    return [item for name in names for item in (cluster(name), addon(name))]


def scorer(
    name: str, *, score: str = "", health: str = "Active", mode: str = "None", **spec: Any
) -> Object:
    answers = "True" if health == "Active" else "False"
    healthy = {"type": "Healthy", "status": answers, "reason": "Answers", "message": ""}
    scoring = {"params": {"name": score or name, "interval": 60}}
    whole = {"configSyncMode": mode, "scoring": scoring, "scoreTTLSeconds": 900, **spec}
    status = {"healthStatus": health, "conditions": [healthy]}
    return of("DynamicScorer", meta(name, HUB), spec=whole, status=status)


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
    return of("AddOnPlacementScore", meta(name, cluster, labels=labels), status=status)


def failing(
    item: Object, reason: str, message: str = "", *, age: float = 120, now: datetime = NOW
) -> Object:
    """The score with the condition of an agent that has had no scores for `age` seconds."""
    condition = {
        "type": "Scored",
        "status": "False",
        "reason": reason,
        "message": message,
        "lastTransitionTime": stamp(now - timedelta(seconds=age)),
    }
    return {**item, "status": {**item["status"], "conditions": [condition]}}


def never_scored(
    cluster: str, name: str, reason: str, message: str = "", *, age: float = 120
) -> Object:
    """The object of a scorer that never had a score there: a condition and nothing else."""
    item = failing(score(cluster, name, None), reason, message, age=age)
    return {**item, "status": {"conditions": item["status"]["conditions"]}}


def placement(name: str, *resources: str, number: int = 1, namespace: str = ARGOCD) -> Object:
    terms = [
        {
            "scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": one, "scoreName": one}},
            "weight": 1,
        }
        for one in resources
    ]
    spec = {
        "numberOfClusters": number,
        "clusterSets": ["global"],
        "prioritizerPolicy": {"mode": "Exact", "configurations": terms},
    }
    labels = {"app.kubernetes.io/managed-by": "gitops-dsf"}
    return of("Placement", meta(name, namespace, labels=labels), spec=spec)


def paced(item: Object, *, demand: int = 0, steady: int = 0, weight: int = 1) -> Object:
    """The Placement, rendered with a pace. `weight` and `steady` are those that people wrote."""
    metadata, policy = item["metadata"], item["spec"]["prioritizerPolicy"]
    coordinates = [each["scoreCoordinate"]["addOn"] for each in policy["configurations"]]
    rest = {"weight": weight, "demand": demand, "delay": 60, "range": 600}
    terms = [
        {"resource": each["resourceName"], "dimension": each["scoreName"], **rest}
        for each in coordinates
    ]
    annotations = {PACE_ANNOTATION: json.dumps({"terms": terms, "steady": steady})}
    key = {"resourceName": MOVES_SCORE, "scoreName": f"{metadata['namespace']}/{metadata['name']}"}
    hold = [
        {"scoreCoordinate": {"type": "AddOn", "addOn": key}, "weight": 10},
        {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": 10},
    ]
    held = {**policy, "configurations": [*policy["configurations"], *hold]}
    spec = {**item["spec"], "prioritizerPolicy": held}
    return {**item, "metadata": {**metadata, "annotations": annotations}, "spec": spec}


def with_refuges(name: str, *resources: str) -> Object:
    """A paced Placement whose refuge is planned."""
    item = paced(placement(name, *resources))
    annotations = item["metadata"]["annotations"]
    annotations[PACE_ANNOTATION] = json.dumps(
        {**json.loads(annotations[PACE_ANNOTATION]), "refuges": True}
    )
    return item


def verified(item: Object, *checks: Object, **settings: Any) -> Object:
    """The paced Placement whose moves are verified; `checks` are in the format of the hub."""
    metadata = item["metadata"]
    ranking = json.loads(metadata["annotations"][PACE_ANNOTATION])
    usual = {"seconds": 1800, "holdSeconds": 21_600, "revision": "r1"}
    ranking["verification"] = {"checks": list(checks), **usual, **settings}
    annotations = {**metadata["annotations"], PACE_ANNOTATION: json.dumps(ranking)}
    return {**item, "metadata": {**metadata, "annotations": annotations}}


def check_of(name: str, dimension: str = "", **more: Any) -> Object:
    """A check of a score of at least 80 for 10 minutes, in the format of the hub."""
    bound = {} if "noWorseThan" in more else {"atLeast": 80}
    score_of_it = {"scorer": name, "resource": name, "dimension": dimension or name}
    times = {"forSeconds": 600, "delay": 60, "range": 60, "lifetime": 900}
    return {**score_of_it, **bound, **times, **more}


def moves_score(on: str, **items: int) -> Object:
    """The items of one cluster, by name of the Placement."""
    scores = [
        {"name": f"{ARGOCD}/{name.replace('_', '-')}", "value": value}
        for name, value in items.items()
    ]
    return of("AddOnPlacementScore", meta(MOVES_SCORE, on), status={"scores": scores})


def move(name: str, source: str, target: str, *, since: float, **more: Any) -> Object:
    """A move that waits or is under way, as the reconciler stores it."""
    return {"placement": f"{ARGOCD}/{name}", "from": source, "to": target, "since": since, **more}


def drained(cluster: str, *, until: float, **more: Any) -> Object:
    """A cluster that is drained, as the reconciler stores it."""
    return {
        "cluster": cluster,
        "maintenance": "patch",
        "since": 0,
        "until": until,
        "first": 3,
        **more,
    }


def paced_moves(ledger: object, queue: object, maintenance: object = None) -> Object:
    """The ConfigMap of paced moves."""
    parts = {"ledger": ledger, "queue": queue, "maintenance": maintenance or {}}
    data = {name: json.dumps(part) for name, part in parts.items()}
    return of("ConfigMap", meta("gitops-dsf-moves", HUB), data=data)


def decision(placement: str, *clusters: str, namespace: str = ARGOCD) -> Object:
    metadata = meta(
        f"{placement}-decision-1", namespace, labels={f"{CLUSTER}/placement": placement}
    )
    status = {"decisions": [{"clusterName": name, "reason": ""} for name in clusters]}
    return of("PlacementDecision", metadata, status=status)


def application_set(
    name: str, *, strategy: str = "MakeBeforeBreak", error: str = "", follows: str = ""
) -> Object:
    selector = {"matchLabels": {f"{CLUSTER}/placement": follows or name}}
    generator = {"clusterDecisionResource": {"configMapRef": "x", "labelSelector": selector}}
    conditions = [{"type": "ErrorOccurred", "status": "True", "message": error}] if error else []
    annotations = {"gitops-dsf.io/moves-strategy": strategy}
    labels = {"app.kubernetes.io/managed-by": "gitops-dsf"}
    metadata = meta(name, ARGOCD, annotations=annotations, labels=labels)
    template = {"metadata": {"labels": {"gitops-dsf.io/application": name}}}
    spec = {"generators": [generator], "template": template}
    return of("ApplicationSet", metadata, spec=spec, status={"conditions": conditions})


def application(name: str, cluster: str, *, health: str = "Healthy", **more: Any) -> Object:
    metadata = meta(f"{name}-{cluster}", ARGOCD, labels={"gitops-dsf.io/application": name}, **more)
    status = {"health": {"status": health}, "sync": {"status": "Synced"}}
    return of(
        "Application",
        metadata,
        spec={"destination": {"name": cluster, "namespace": name}},
        status=status,
    )


def masks(*items: Object) -> Object:
    return of("ConfigMap", meta("gitops-dsf-masks", HUB), data={"masks": json.dumps(items)})


def fleet(*, now: datetime = NOW) -> list[Object]:
    """Three clusters, two scorers, one application on the better cluster."""
    names = ("cluster1", "cluster2", "cluster3")
    return [
        *joined(*names),
        global_set(),
        binding(),
        scorer("cpu"),
        scorer("mem"),
        *(
            score(name, "cpu", value, now=now)
            for name, value in zip(names, (80, 60, 40), strict=True)
        ),
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
    for item in [*objects, *_listed(objects)]:
        found[PATHS[item["kind"]]].append(
            {key: value for key, value in item.items() if key != "kind"}
        )
    return found


def _listed(objects: list[Object]) -> list[Object]:
    """The list of the DynamicScorers, unless there are none, or the objects have a list."""
    scorers = [item for item in objects if item["kind"] == "DynamicScorer"]
    names = {item["metadata"]["name"] for item in objects if item["kind"] == "ConfigMap"}
    if not scorers or "gitops-dsf-scorers" in names:
        return []
    return scorerlists.config_maps(scorerlists.specs_of(scorers))


def hub_with(objects: list[Object], **more: Any) -> FakeApiServer:
    """With these attributes, such as `expired=1`."""
    server = FakeApiServer(serves=by_path(objects))
    vars(server).update(more)
    return server

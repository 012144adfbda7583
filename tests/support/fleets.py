"""Generates valid fleet repositories, as values and as files in any order and layout.

`fleets()` is a hypothesis strategy; its repositories have no errors, but may have warnings. `write`
writes the documents.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_lowercase, digits
from typing import Any

import yaml
from hypothesis import strategies as st

from gitops_dsf.repository.load.paths import FOLDER_OF_KIND

DSF = "dynamic-scoring.open-cluster-management.io/v1alpha1"
PRODUCT = "gitops-dsf.io/v1alpha1"
OCM = "cluster.open-cluster-management.io"
REGIONS = ("eu", "us")
SOURCE = {"repoURL": "https://git.example.com/app.git", "path": "deploy", "targetRevision": "main"}
"""Of an application."""
QUERIES = (
    "up",
    'avg(rate(node_cpu_seconds_total{mode="idle"}[5m]))',
    'sum(kube_pod_info{node!="a;b"}); count(up)',
    "sum by (node, pod) (rate(container_cpu_usage_seconds_total[5m]))",
)
MEASURES = (
    "cpu_available_ratio",
    "memory_used_ratio; pods_pending",
    "node_cpu_available_cores",
    'extended_available{resource="nvidia.com/gpu"}',
    'devices_available{driver="gpu.example.com"}; nodes_ready',
)
"""Queries of source type Kubernetes. Each is PromQL, too."""
HUB_QUERIES = (
    "up",
    'avg by (cluster) (rate(node_cpu_seconds_total{mode="idle"}[5m]))',
    'sum by (cluster, node) (kube_pod_info{node!="a;b"}); count by (cluster) (up)',
)
"""Queries that keep the label `cluster`."""
IMAGES = {
    "agent": {"image": "r.example.com/agent"},
    "reconciler": {"image": "r.example.com/reconciler"},
}
"""Images of a registry, in the spec of gitops-dsf.yaml."""


def with_images(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec with images in the sections that name none."""
    sections = {name: spec.get(name, {}) for name in IMAGES}
    return spec | {name: section | IMAGES[name] | section for name, section in sections.items()}


HUB_SECRET = "central-token"
"""The Secret that scorers on the hub may name."""

Object = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class FleetSources:
    """The documents of one repository. gitops-dsf.yaml is separate, because it has a fixed
    place.
    """

    settings: Object
    documents: tuple[Object, ...]

    def of(self, kind: str) -> list[Object]:
        return [item for item in self.documents if item["kind"] == kind]

    def names(self, kind: str) -> list[str]:
        return [name(item) for item in self.of(kind)]

    def with_documents(self, *documents: Object) -> "FleetSources":
        return replace(self, documents=(*self.documents, *documents))

    def without(self, kind: str, gone: str) -> "FleetSources":
        left = tuple(item for item in self.documents if (item["kind"], name(item)) != (kind, gone))
        return replace(self, documents=left)

    def without_scorer(self, gone: str) -> "FleetSources":
        """The repository without a scorer, its lock and the masks that name its score.

        No application may rank by it.
        """
        [scorer] = [item for item in self.of("DynamicScorer") if name(item) == gone]
        score = scorer["spec"]["scoring"]["params"]["name"]
        documents: list[Object] = []
        for item in self.without("DynamicScorer", gone).without("ScorerLock", gone).documents:
            if item["kind"] == "DynamicScoringConfig":
                masks = [mask for mask in item["spec"]["masks"] if mask["scoreName"] != score]
                documents.append({**item, "spec": {"masks": masks}})
            else:
                documents.append(item)
        return replace(self, documents=tuple(documents))


def name(item: Object) -> str:
    return str(item["metadata"]["name"])


def document(version: str, kind: str, named: str, spec: Object, **meta: Any) -> dict[str, Any]:
    """With more of its metadata."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": named, **meta}, "spec": spec}


def cluster(cluster_name: str, **labels: str) -> Object:
    return document(
        f"{OCM}/v1", "ManagedCluster", cluster_name, {"hubAcceptsClient": True}, labels=labels
    )


def write(root: Path, sources: FleetSources, *, layout: int | None = None) -> Path:
    """Writes a repository with one document per file.

    With a layout, documents are shuffled and combined in files of any name and style.
    """
    root.mkdir(parents=True, exist_ok=True)
    (root / "gitops-dsf.yaml").write_text(text_of([sources.settings]), encoding="utf-8")
    rng = random.Random(layout)
    files: dict[str, list[Object]] = {}
    documents = list(sources.documents)
    if layout is not None:
        rng.shuffle(documents)
    for number, item in enumerate(documents):
        folder = FOLDER_OF_KIND[item["kind"]]
        path = f"{folder}/{number:03}.yaml"
        if layout is not None:
            inner = rng.choice(("", "team-a/", "team-b/deep/"))
            name = rng.choice("xyz")
            path = f"{folder}/{inner}{name}.{rng.choice(('yaml', 'yml'))}"
        files.setdefault(path, []).append(item)
    for path, items in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(
            text_of(items, flow=layout is not None and rng.random() < 0.5), encoding="utf-8"
        )
    return root


def text_of(documents: Sequence[Object], *, flow: bool = False) -> str:
    """Returns YAML in which every string is quoted, so that no reader can misinterpret it."""
    return yaml.dump_all(
        documents,
        Dumper=_Quoting,
        sort_keys=False,
        default_flow_style=flow,
        explicit_start=True,
        width=100,
    )


class _Quoting(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML calls it so
        return True


_Quoting.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)

DNS_LABELS = st.builds(
    lambda first, rest: f"{first}{rest}".rstrip("-"),
    st.sampled_from(ascii_lowercase),
    st.text(ascii_lowercase + digits + "-", max_size=11),
)
"""Names that begin with a letter, because names like numbers are a separate case.

From a regular expression, each character would be drawn on its own.
"""

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=8), children, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def fleets(draw: st.DrawFn, *, modes: tuple[str, ...] = ("ManifestWork",)) -> FleetSources:
    """A valid repository of at most six clusters, five scorers and three applications."""
    names = draw(st.lists(DNS_LABELS, min_size=0, max_size=6, unique=True))
    clusters = [
        cluster(
            each, region=draw(st.sampled_from(REGIONS)), tier=draw(st.sampled_from(("dev", "prod")))
        )
        for each in names
    ]
    clusters = [_known_to_the_hub(item) for item in clusters]
    mode = draw(st.sampled_from(modes))
    scorers = [
        draw(_scorer(each, upstream=mode == "UpstreamController"))
        for each in draw(st.lists(DNS_LABELS, min_size=1, max_size=5, unique=True))
    ]
    sources = (
        [] if mode == "UpstreamController" else [*draw(_sources(scorers)), *draw(_central(scorers))]
    )
    free = [item for item in scorers if _can_rank(item)]
    masked = [item for item in scorers if item not in free]
    documents: list[Object] = [*_sets(), *clusters, *scorers, *sources]
    documents += [_lock(item) for item in scorers if item["spec"].get("configSyncMode") == "Full"]
    documents += draw(_masks(names, masked))
    if clusters and free:
        regions = sorted({item["metadata"]["labels"]["region"] for item in clusters})
        apps = draw(
            st.lists(DNS_LABELS, max_size=3, unique=True).filter(
                lambda apps: not names_meet(apps, names)
            )
        )
        ranking = [name(item) for item in free]
        shared = draw(
            st.lists(DNS_LABELS.filter(lambda each: each not in apps), max_size=2, unique=True)
        )
        documents += [draw(_placement(each, regions, ranking)) for each in shared]
        followed = [item["metadata"]["name"] for item in documents if _can_be_followed(item)]
        documents += [draw(_application(each, regions, ranking, followed)) for each in apps]
    return FleetSources(settings=draw(_settings(mode)), documents=tuple(documents))


@st.composite
def _sources(draw: st.DrawFn, scorers: list[Object]) -> list[Object]:
    """At most one MetricSource, which some scorers name in place of their own source."""
    asking = [
        item["spec"]["source"]
        for item in scorers
        if item["spec"]["source"]["type"] == "Prometheus" and not on_hub(item)
    ]
    chosen = [source for source in asking if draw(st.booleans())]
    of_dev = draw(st.sampled_from((None, "Prometheus", "Kubernetes", "OpenTelemetry")))
    for source in chosen:
        params = source["params"]
        if of_dev == "Kubernetes":
            params["query"] = draw(st.sampled_from(MEASURES))
        source.clear()
        source.update(ref="platform", params=params)
    address = {
        "host": "https://thanos.monitoring.svc:9090",
        "basicAuth": {"secretRef": {"name": draw(DNS_LABELS)}},
        "headers": [{"name": "THANOS-TENANT", "value": draw(st.sampled_from(("a", "b c")))}],
    }
    variants: list[Object] = [{"host": "http://prometheus.monitoring.svc:9090"}]
    if of_dev is not None:
        about = address if of_dev == "Prometheus" else {"type": of_dev}
        variants.insert(0, {"clusterSelector": {"matchLabels": {"tier": "dev"}}, **about})
    return [document(PRODUCT, "MetricSource", "platform", {"variants": variants})] if chosen else []


@st.composite
def _central(draw: st.DrawFn, scorers: list[Object]) -> list[Object]:
    """At most one MetricSource for scorers on the hub."""
    chosen = [item["spec"]["source"] for item in scorers if on_hub(item) and draw(st.booleans())]
    for source in chosen:
        kept = {field: source[field] for field in ("params", "clusterLabel")}
        source.clear()
        source.update(ref="central", **kept)
    address = {
        "host": "https://mimir.example.com/prometheus/api/v1/query_range",
        "headers": [{"name": "X-Scope-OrgID", "value": "fleet"}],
    }
    return [document(PRODUCT, "MetricSource", "central", {"variants": [address]})] if chosen else []


def names_meet(applications: Sequence[str], clusters: Sequence[str]) -> bool:
    """Whether two applications would have the same Application: `a` on `b-c` and `a-b` on `c`."""
    made = [f"{each}-{one}" for each in applications for one in clusters]
    return len(set(made)) < len(made)


def _known_to_the_hub(item: Object) -> Object:
    """With its cluster set, and with a label and a claim that only this cluster has."""
    given = item["metadata"]["labels"]
    labels = {**given, f"{OCM}/clusterset": given["region"], "clusterID": f"id-{name(item)}"}
    claims = [{"name": "id.k8s.io", "value": f"claim of {name(item)}"}]
    return {
        **item,
        "metadata": {"name": name(item), "labels": labels},
        "status": {"clusterClaims": claims},
    }


def _sets() -> list[Object]:
    return [
        {"apiVersion": f"{OCM}/v1beta2", "kind": "ManagedClusterSet", "metadata": {"name": region}}
        for region in REGIONS
    ]


PROGRAMS: Object = {
    "agent": {
        "image": "r.example.com/agent",
        "openTelemetry": {
            "image": "quay.io/prometheus/prometheus:v3.13.0",
            "collectorNamespaces": ["observability"],
        },
    },
    "hubScorer": {"secrets": [HUB_SECRET], "image": "r.example.com/agent"},
}


@st.composite
def _settings(draw: st.DrawFn, mode: str) -> Object:
    path = draw(st.sampled_from(("", "fleets/a")))
    spec = {
        "git": {"url": "https://git.example.com/fleet.git", "path": path},
        "allowedTokenHosts": ["scores.example.com"],
        "allowUnmatchedSelectors": True,
        "hubNamespace": draw(st.sampled_from(("open-cluster-management", "scoring"))),
        "delivery": {"mode": mode},
        **IMAGES,
        **({} if mode == "UpstreamController" else PROGRAMS),
        "output": {
            "mode": draw(st.sampled_from(("Directory", "Branch"))),
            "shards": draw(st.integers(1, 3)),
        },
    }
    return document(PRODUCT, "FleetRepository", "generated", spec)


@st.composite
def _scorer(draw: st.DrawFn, each: str, *, upstream: bool) -> Object:
    source: dict[str, Any] = {"type": "None"}
    if draw(st.booleans()):
        queries = [
            query for query in QUERIES if not (upstream and '"a;b"' in query)
        ]  # its agent splits a query at every `;`
        params = {
            "query": draw(st.sampled_from(queries)),
            "range": draw(st.integers(60, 7200)),
            "step": draw(st.integers(15, 600)),
        }
        source = {
            "type": "Prometheus",
            "host": "http://prometheus.monitoring.svc:9090",
            "params": params,
        }
        if not upstream and draw(st.integers(0, 3)) == 0:
            source = {"type": "Kubernetes", "params": {"query": draw(st.sampled_from(MEASURES))}}
        elif not upstream and draw(st.integers(0, 3)) == 0:
            source = {"type": "OpenTelemetry", "params": params}
        elif draw(st.booleans()):
            source["auth"] = {"tokenSecretRef": {"name": draw(DNS_LABELS), "key": "token"}}
    scoring: dict[str, Any] = {
        "params": {"name": f"score_{each}", "interval": draw(st.integers(5, 900))}
    }
    spec: dict[str, Any] = {
        "description": draw(st.text(max_size=20)),
        "configURL": f"http://{each}.scorers.svc:8000/config",
        "configSyncMode": draw(st.sampled_from(("Full", "None"))),
        "source": source,
        "scoring": scoring,
    }
    draw(_some_of(UPSTREAM_FIELDS, spec, one_in=3))
    draw(_optional(spec))
    if not upstream:
        draw(_extras(spec))
        draw(_on_the_hub(spec))
        draw(_by_query(spec))
        draw(_default_score(spec))
    return document(DSF, "DynamicScorer", each, spec)


UPSTREAM_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "location": st.sampled_from(("Internal", "External")),
    "scoreDestination": st.sampled_from(("AddOnPlacementScore", "None")),
    "scoreDimensionFormat": st.sampled_from(("${scoreName}", "${node};${pod}", "fixed")),
}
OUR_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "suspend": st.booleans(),
    "clusterSelector": st.sampled_from(("dev", "prod")).map(
        lambda tier: {"matchLabels": {"tier": tier}}
    ),
    "scoreRange": st.sampled_from(
        ({"min": 0, "max": 1}, {"min": -2.5, "max": 1e9, "outputMin": 100, "outputMax": 1})
    ),
    "scoreAggregation": st.sampled_from(("Last", "Mean", "Min", "Max", "Sum")),
    "scoreTTLSeconds": st.integers(9000, 90_000),
    "publish": st.fixed_dictionaries(
        {"deadband": st.integers(0, 10), "minIntervalSeconds": st.integers(0, 300)}
    ),
}


@st.composite
def _some_of(
    draw: st.DrawFn,
    fields: Mapping[str, st.SearchStrategy[Any]],
    spec: dict[str, Any],
    *,
    one_in: int,
) -> None:
    for field, values in fields.items():
        if draw(st.integers(1, one_in)) == 1:
            spec[field] = draw(values)


@st.composite
def _optional(draw: st.DrawFn, spec: dict[str, Any]) -> None:
    """Upstream's fields that may be missing, empty, or equal to their default."""
    if draw(st.booleans()):
        spec["scoring"]["path"] = draw(st.sampled_from(("/scoring", "/v2/score", "")))
    if draw(st.booleans()):
        spec["scoring"]["host"] = draw(
            st.sampled_from(("http://elsewhere.svc:9000", "https://scores.example.com", ""))
        )
    if spec["source"]["type"] == "Prometheus" and draw(st.booleans()):
        spec["source"]["path"] = draw(st.sampled_from(("/api/v1/query_range", "")))


@st.composite
def _extras(draw: st.DrawFn, spec: dict[str, Any]) -> None:
    """Fields that only gitops-dsf has, each optional."""
    draw(_some_of(OUR_FIELDS, spec, one_in=4))
    if draw(st.booleans()):
        spec["scoring"]["arguments"] = draw(
            st.dictionaries(st.text(max_size=8), JSON_VALUES, max_size=3)
        )
    if draw(st.integers(0, 3)) == 0:
        spec["scoring"]["auth"] = {
            "serviceAccountToken": True,
            "caConfigMapRef": {"name": draw(DNS_LABELS), "key": "ca.crt"},
        }


@st.composite
def _on_the_hub(draw: st.DrawFn, spec: dict[str, Any]) -> None:
    """Some scorers with a Prometheus run on the hub."""
    source = spec["source"]
    if source["type"] != "Prometheus" or draw(st.integers(0, 2)):
        return
    spec["runsOn"] = "Hub"
    identities: tuple[Object, ...] = ({}, {"label": "clusterID"}, {"claim": "id.k8s.io"})
    source["clusterLabel"] = {"name": "cluster", **draw(st.sampled_from(identities))}
    source["params"]["query"] = draw(st.sampled_from(HUB_QUERIES))
    spec["scoring"]["clustersPerRequest"] = draw(st.integers(1, 200))
    if "auth" in source:
        source["auth"] = {"tokenSecretRef": {"name": HUB_SECRET, "key": "token"}}


def on_hub(item: Object) -> bool:
    """Whether a scorer runs on the hub."""
    return bool(item["spec"].get("runsOn") == "Hub")


@st.composite
def _by_query(draw: st.DrawFn, spec: dict[str, Any]) -> None:
    """Some scorers with a query have no scoring API."""
    if spec["source"]["type"] == "None" or draw(st.integers(0, 3)):
        return
    for field in ("configURL", "configSyncMode"):
        del spec[field]
    for field in ("range", "step"):
        spec["source"]["params"].pop(field, None)
    spec["scoring"] = {"type": "Query", "params": spec["scoring"]["params"]}


@st.composite
def _default_score(draw: st.DrawFn, spec: dict[str, Any]) -> None:
    if _publishes_one(spec) and spec["source"]["type"] != "None" and draw(st.integers(0, 3)) == 0:
        spec["defaultScore"] = draw(st.integers(-100, 100))


def _can_rank(item: Object) -> bool:
    """Whether an application can rank by it: it runs everywhere and publishes one score with a
    known name.
    """
    spec = item["spec"]
    return "clusterSelector" not in spec and not spec.get("suspend") and _publishes_one(spec)


def _publishes_one(spec: Object) -> bool:
    return spec.get("scoreDestination") != "None" and "${node}" not in spec.get(
        "scoreDimensionFormat", ""
    )


def _lock(item: Object) -> Object:
    params = item["spec"]["scoring"]["params"]
    scoring = {"path": "/scoring", "params": dict(params)}
    config = {"name": name(item), "description": "As the scoring API says", "scoring": scoring}
    spec = {"configURL": item["spec"]["configURL"], "config": config}
    return document(PRODUCT, "ScorerLock", name(item), spec)


@st.composite
def _masks(draw: st.DrawFn, clusters: list[str], scorers: list[Object]) -> list[Object]:
    """Masks of some scorers on some clusters, in at most one config, as upstream supports."""
    pairs = [
        (each, item["spec"]["scoring"]["params"]["name"]) for each in clusters for item in scorers
    ]
    if not pairs:
        return []
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=4, unique=True))
    masks = [{"clusterName": each, "scoreName": score} for each, score in chosen]
    return [document(DSF, "DynamicScoringConfig", "dynamic-scoring-config", {"masks": masks})]


@st.composite
def _ranking(draw: st.DrawFn, regions: list[str], scorers: list[str]) -> Object:
    return {
        "placement": {
            "numberOfClusters": draw(st.integers(1, 3)),
            "clusterSets": [draw(st.sampled_from(regions))],
        },
        "scores": [{"scorer": draw(st.sampled_from(scorers))}],
        "stickiness": draw(st.sampled_from((0, 10, 20, 50, 100))),
        "onMissingScore": draw(st.sampled_from(("Neutral", "Exclude"))),
    }


@st.composite
def _placement(draw: st.DrawFn, each: str, regions: list[str], scorers: list[str]) -> Object:
    namespace = draw(st.sampled_from(({}, {"namespace": "argocd"}, {"namespace": "consumers"})))
    spec = {
        **draw(_ranking(regions, scorers)),
        "bindings": draw(st.sampled_from(("Rendered", "Existing"))),
    }
    return document(PRODUCT, "ScoredPlacement", each, spec, **namespace)


def _can_be_followed(item: Object) -> bool:
    return item["kind"] == "ScoredPlacement" and item["metadata"].get("namespace") in {
        None,
        "argocd",
    }


@st.composite
def _application(
    draw: st.DrawFn, each: str, regions: list[str], scorers: list[str], followed: list[str]
) -> Object:
    ranking = draw(_ranking(regions, scorers))
    if draw(st.booleans()) and followed:
        ranking = {"placement": {"ref": draw(st.sampled_from(followed))}}
    application = {
        "source": SOURCE,
        "destinationNamespace": draw(DNS_LABELS),
        "delivery": draw(st.sampled_from(("Push", "Pull"))),
    }
    moves = {"strategy": draw(st.sampled_from(("Keep", "MakeBeforeBreak")))}
    return document(
        PRODUCT, "ScoredApplication", each, {"application": application, **ranking, "moves": moves}
    )

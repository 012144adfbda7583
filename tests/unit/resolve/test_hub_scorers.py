"""Scorers that run on the hub: which clauses of a query mix clusters, and what `validate` says about them."""

import pytest

from gitops_dsf.resolve.promql import check, mixing_clauses
from tests.unit.resolve.test_rules import codes, findings

SCORER = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: cpu}
spec:
  description: d
  runsOn: Hub
  source:
    host: http://thanos.monitoring.svc:9090
    params: {query: "sum by (cluster) (up)"}
    clusterLabel: {name: cluster}
  scoring: {type: Query, params: {name: cpu_score, interval: 60}}
"""
APART = [
    "sum by (cluster, node) (rate(x[5m]))",
    "sum without (node) (x)",
    "x",
    "-x",
    "100 * x{a!='b', c=~'on (d)'} / 3 > 5",
    "a / on (cluster) b",
    "a / ignoring (node) group_left b",
    "a and on (cluster, node) b",
    "topk by (cluster) (3, x)",
    'label_replace(sum by (id) (x), "cluster", "$1", "id", "(.+)")',
    'label_join(sum by (a, b) (x), "cluster", "-", "a", "b")',
    "max_over_time(sum by (cluster) (x)[1h:5m])",
    "histogram_quantile(0.9, sum by (cluster, le) (rate(x_bucket[5m])))",
    "quantile by (cluster) (0.5, x)",
]


@pytest.mark.parametrize("query", APART)
def test_a_query_that_keeps_clusters_apart(query: str) -> None:
    assert mixed(query) == []


@pytest.mark.parametrize(
    ("query", "marks"),
    [
        ("sum(x)", {"sum": "write sum by (cluster) (...)"}),
        ("SUM(x) BY (node)", {"SUM": "write sum by (cluster, node) (...)"}),
        ("avg without (cluster, node) (x)", {"avg": "remove cluster from without (cluster, node)"}),
        ("sum by (cluster) (sum by (node) (x))", {"sum by (node)": "write sum by (cluster, node) (...)"}),
        ("topk(3, x)", {"topk": "write topk by (cluster) (...)"}),
        ("count_values('cluster', x)", {"count_values": "write count_values by (cluster) (...)"}),
        ("x + 1 > -y / on (node) z", {"/ on": "write on (cluster, node)"}),
        ("a - ignoring (cluster) b", {"- ignoring": "remove cluster from ignoring (...)"}),
        ("a{x!='1'} or on () b", {"or on": "write on (cluster)"}),
        ("x offset -5m unless ignoring (cluster) y", {"unless": "remove cluster from ignoring (...)"}),
        ("x or vector(0)", {"vector": "write an expression that keeps the label cluster"}),
        ("absent(x)", {"absent": "write an expression that keeps the label cluster"}),
        (
            "x / scalar(sum(x))",
            {
                "scalar": "write an expression that keeps the label cluster",
                "sum": "write sum by (cluster) (...)",
            },
        ),
        (
            "sum(sum) + on (cluster) max(max{sum='max'})",
            {"sum(": "write sum by (cluster) (...)", "max(": "write max by (cluster) (...)"},
        ),
        ("1", {"1": "keep the label cluster of the series"}),
        (
            'label_replace(sum by (node) (x), "cluster", "$1", "id", "(.+)")',
            {"sum": "write sum by (id, node) (...)"},
        ),
    ],
)
def test_the_clause_that_mixes_clusters_is_named_with_its_place(query: str, marks: dict[str, str]) -> None:
    assert mixed(query) == [(query.index(text), hint) for text, hint in marks.items()]


def mixed(query: str) -> list[tuple[int, str]]:
    checked = check(query)
    assert checked.tree is not None, checked.mistakes
    return [
        (clause.offset, clause.hint) for clause in mixing_clauses(query, checked.tree, "cluster", most=500)
    ]


def changed(old: str, new: str) -> str:
    assert SCORER.count(old) == 1
    return SCORER.replace(old, new)


def test_a_scorer_on_the_hub_has_no_findings() -> None:
    """The cluster label tells the series of one item apart."""
    assert codes(scorers=SCORER) == []
    assert codes(scorers=changed("(cluster) (up)", "(cluster, node) (up)")) == ["DSF136"]


@pytest.mark.parametrize(
    ("old", "new", "code", "place"),
    [
        ("    clusterLabel: {name: cluster}\n", "", "DSF148", "7:3"),
        ("by (cluster) (up)", "(up)", "DSF149", "9:22"),
        ("by (cluster) (up)", "by (cluster) (up); max(up)", "DSF149", "9:45"),
        ("{name: cluster}", "{name: cluster, claim: id.k8s.io}", "DSF151", "10:42"),
        ("  runsOn: Hub\n", "", "DSF152", "9:5"),
    ],
)
def test_a_mistake_has_a_place(old: str, new: str, code: str, place: str) -> None:
    found = [str(item.position) for item in findings(scorers=changed(old, new)) if item.code == code]
    assert found == [f"scorers/s.yaml:{place}"]


SOURCE = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: MetricSource
metadata: {name: platform}
spec: {variants: [VARIANTS]}
"""
DEPENDS = "MetricSource platform depends on the cluster, and the hub scorer asks one store for all clusters"
BY_REF = changed("host: http://thanos.monitoring.svc:9090", "ref: platform")
TENANT = "headers: [{name: X-Scope-OrgID, value: a}]"


@pytest.mark.parametrize(
    ("variants", "expected"),
    [
        (f"{{host: 'http://mimir.svc', {TENANT}}}", []),
        (
            "{clusterSelector: {matchLabels: {env: prod}}, host: 'http://a.svc'}",
            [DEPENDS],
        ),
        (
            "{clusterSelector: {matchLabels: {env: prod}}, host: 'http://a.svc'}, {host: 'http://b.svc'}",
            [DEPENDS],
        ),
        (
            "{type: OpenTelemetry}",
            ["source.type OpenTelemetry gives no series of a central store, and this scorer runs on the hub"],
        ),
    ],
)
def test_the_hub_scorer_asks_a_metric_source_that_is_one_for_all(variants: str, expected: list[str]) -> None:
    found = findings(scorers=BY_REF, config=SOURCE.replace("VARIANTS", variants))
    assert [(item.code, item.message) for item in found if item.code == "DSF152"] == [
        ("DSF152", message) for message in expected
    ]
    if not expected:
        assert found == []


def test_secrets_of_a_metric_source_on_the_hub_are_listed() -> None:
    variant = "{host: 'http://mimir.svc', basicAuth: {secretRef: {name: login}}}"
    found = findings(scorers=BY_REF, config=SOURCE.replace("VARIANTS", variant))
    assert [(item.code, str(item.position)) for item in found] == [("DSF126", "config/x.yaml:4:76")]
    assert "Secret login of the hub is not one that scorers may use" in found[0].message


def test_the_hub_scorer_asks_a_central_store_only() -> None:
    source = "  source: {type: None, clusterLabel: {name: cluster}}\n"
    text = SCORER[: SCORER.index("  source:")] + source + SCORER[SCORER.index("  scoring:") :]
    words = "source.type None gives no series of a central store, and this scorer runs on the hub"
    assert words in [item.message for item in findings(scorers=text) if item.code == "DSF152"]


def test_one_label_names_one_cluster() -> None:
    label = changed("{name: cluster}", "{name: env, claim: a, label: b}").replace("(cluster)", "(env)")
    assert codes(scorers=label) == ["DSF016"]
    assert codes(scorers=changed("{name: cluster}", '{name: "a-b"}')) == ["DSF016"]


def test_clusters_with_one_value_are_named() -> None:
    clusters = "---\n".join(
        f"apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
        f"metadata: {{name: {name}, labels: {{env: {env}}}}}\n"
        for name, env in (("a", "x"), ("b", "x"), ("c", "y"))
    )
    text = changed("{name: cluster}", "{name: env, label: env}").replace("(cluster)", "(env)")
    (found,) = (item for item in findings(scorers=text, clusters=clusters) if item.code == "DSF150")
    assert found.message == "clusters a, b have the same value x of the label env"
    masked = text.replace("  source:", "  clusterSelector: {matchLabels: {env: y}}\n  source:")
    assert "DSF150" not in codes(scorers=masked, clusters=clusters)
    assert "DSF150" not in codes(
        scorers=text.replace("  source:", "  suspend: true\n  source:"), clusters=clusters
    )


def test_a_secret_of_the_hub_must_be_listed() -> None:
    auth = "    auth: {tokenSecretRef: {name: thanos, key: token}}\n"
    text = changed("    clusterLabel", f"{auth}    clusterLabel")
    (found,) = (item for item in findings(scorers=text) if item.code == "DSF126")
    assert found.hint == "add thanos to spec.hubScorer.secrets in gitops-dsf.yaml"
    settings = (
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: FleetRepository\nmetadata: {name: fleet}\n"
        "spec: {git: {url: 'https://git.example.com/fleet.git'}, hubScorer: {secrets: [thanos]}}\n"
    )
    assert "DSF126" not in codes(scorers=text, settings=settings)
    assert "DSF126" not in codes(scorers=text.replace("runsOn: Hub", "runsOn: Spokes"))


def test_the_same_score_on_the_hub_and_on_spokes_is_an_error() -> None:
    other = SCORER.replace("name: cpu}", "name: cpu-here}").replace("  runsOn: Hub\n", "")
    other = other.replace("    clusterLabel: {name: cluster}\n", "")
    assert "DSF101" in codes(scorers=f"{SCORER}---\n{other}")


def test_upstreams_controller_does_not_know_it() -> None:
    settings = (
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: FleetRepository\nmetadata: {name: fleet}\n"
        "spec: {git: {url: 'https://git.example.com/fleet.git'}, delivery: {mode: UpstreamController}}\n"
    )
    found = [item.message for item in findings(scorers=SCORER, settings=settings) if item.code == "DSF022"]
    assert "runsOn has no effect with delivery.mode UpstreamController" in found


def test_the_image_of_the_hub_scorer_needs_a_digest_where_digests_are_required() -> None:
    settings = (
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: FleetRepository\nmetadata: {name: fleet}\n"
        "spec:\n  git: {url: 'https://git.example.com/fleet.git'}\n  requireImageDigests: true\n"
        f"  agent: {{image: 'a@sha256:{'0' * 64}'}}\n  reconciler: {{enabled: false}}\n"
        "  hubScorer: {image: a}\n"
    )
    (found,) = (item for item in findings(scorers=SCORER, settings=settings) if item.code == "DSF157")
    assert "hubScorer.image is " in found.message
    spokes = changed("  runsOn: Hub\n", "").replace("    clusterLabel: {name: cluster}\n", "")
    assert "DSF157" not in codes(scorers=spokes, settings=settings)

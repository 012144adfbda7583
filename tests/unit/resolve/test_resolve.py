"""Effective values (docs/scores/locks.md#effective-values), targets and applications."""

from typing import Any

import pytest

from gitops_dsf.render.platform import open_scorer
from gitops_dsf.repository.load import Document, Loaded, load_text
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.resolve import resolve
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.resolve.types import Resolved

SETTINGS = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: FleetRepository
metadata: {name: fleet}
spec: {git: {url: "https://git.example.com/fleet.git"}, allowUnmatchedSelectors: true, IMAGES}
""".replace("IMAGES", "agent: {image: r.example.com/agent}, reconciler: {image: r.example.com/reconciler}")
SCORER = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {{name: {name}}}
spec:
  description: d
  configURL: {config_url}
  configSyncMode: {mode}
{rest}
"""
CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {{name: {name}, labels: {{{labels}}}}}
"""
LOCK = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScorerLock
metadata: {{name: {name}}}
spec: {{configURL: "http://api.svc:8000/config", config: {config}}}
"""
MASKS = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScoringConfig
metadata: {{name: dynamic-scoring-config}}
spec: {{masks: [{masks}]}}
"""
NAMED = "  scoring: {params: {name: s, interval: 60}}"
SOURCE = "  source: {host: 'http://prom:9090', params: {query: up, range: 60, step: 60}}"


def scorer(
    name: str = "cpu", *rest: str, mode: str = "None", config_url: str = "http://api.svc:8000/config"
) -> str:
    return SCORER.format(name=name, mode=mode, config_url=config_url, rest="\n".join(rest or (NAMED,)))


def documents(**texts: str) -> Loaded:
    found: list[Document] = []
    for folder, text in texts.items():
        loaded = load_text(text, file="gitops-dsf.yaml" if folder == "settings" else f"{folder}/all.yaml")
        assert loaded.diagnostics == ()
        found += loaded.documents
    return Loaded(documents=tuple(found), diagnostics=())


def resolved(**texts: str) -> Resolved:
    texts.setdefault("settings", SETTINGS)
    texts.setdefault("clusters", CLUSTER.format(name="c1", labels=""))
    found, diagnostics = resolve(declare(documents(**texts)))
    assert found is not None, [(str(item.position), item.code, item.message) for item in diagnostics]
    return found


def codes(**texts: str) -> list[str]:
    texts.setdefault("settings", SETTINGS)
    texts.setdefault("clusters", CLUSTER.format(name="c1", labels=""))
    return [item.code for item in resolve(declare(documents(**texts)))[1]]


def effective(*rest: str, **options: Any) -> EffectiveScorer:
    [found] = resolved(scorers=scorer("cpu", *rest, **options)).scorers
    return found


def test_defaults_of_a_scorer_without_a_source() -> None:
    found = effective(NAMED)
    assert (found.source_type, found.source_endpoint, found.spec.location, found.spec.score_destination) == (
        "None",
        "",
        "Internal",
        "AddOnPlacementScore",
    )
    assert (found.scoring_origin, found.scoring_path) == ("http://api.svc:8000", "/scoring")
    assert found.scoring_endpoint == "http://api.svc:8000/scoring"
    assert (found.ttl_seconds, found.spec.score_aggregation, found.dimension_format, found.resource_name) == (
        900,
        "Last",
        "${scoreName}",
        "s",
    )


def test_a_query_makes_the_source_prometheus_with_its_default_path() -> None:
    found = effective(NAMED, SOURCE)
    assert (found.source_type, found.source_endpoint) == ("Prometheus", "http://prom:9090/api/v1/query_range")


@pytest.mark.parametrize(
    ("host", "path", "endpoint"),
    [
        ("http://prom:9090/", "", "http://prom:9090/api/v1/query_range"),
        ("http://thanos/tenant/api/v1/query_range", "", "http://thanos/tenant/api/v1/query_range"),
        ("http://thanos/tenant/", "/api/v1/query", "http://thanos/tenant/api/v1/query"),
    ],
)
def test_a_host_with_a_path_has_no_default_path(host: str, path: str, endpoint: str) -> None:
    source = f"  source: {{host: '{host}', path: '{path}', params: {{query: up, range: 60, step: 60}}}}"
    assert effective(NAMED, source).source_endpoint == endpoint


def test_ten_intervals_are_the_ttl_of_slow_scorers() -> None:
    assert effective("  scoring: {params: {name: s, interval: 300}}").ttl_seconds == 3000


def test_with_full_the_locks_non_empty_fields_win_one_by_one() -> None:
    lock = LOCK.format(
        name="cpu", config="{source: {params: {query: '', step: 30}}, scoring: {params: {name: locked}}}"
    )
    [found] = resolved(scorers=scorer("cpu", NAMED, SOURCE, mode="Full"), locks=lock).scorers
    source, scoring = found.spec.source.params, found.spec.scoring.params
    assert (source.query, source.range, source.step, scoring.name, scoring.interval) == (
        "up",
        60,
        30,
        "locked",
        60,
    )


def test_with_none_the_lock_does_not_count() -> None:
    lock = LOCK.format(name="cpu", config="{scoring: {params: {name: locked}}}")
    [found] = resolved(scorers=scorer("cpu", NAMED), locks=lock).scorers
    assert found.score_name == "s"


def test_the_scoring_host_never_comes_from_the_source() -> None:
    """Upstream's fault 15: scoring requests went to Prometheus."""
    lock = LOCK.format(
        name="cpu", config="{source: {host: 'http://prom:9090', params: {query: up, range: 60, step: 60}}}"
    )
    [found] = resolved(scorers=scorer("cpu", NAMED, mode="Full"), locks=lock).scorers
    assert found.scoring_endpoint == "http://api.svc:8000/scoring"
    assert found.source_endpoint == "http://prom:9090/api/v1/query_range"


def test_a_full_scorer_without_a_lock_waits_when_it_is_incomplete() -> None:
    found = resolved(scorers=scorer("cpu", "  location: External", mode="Full"))
    assert (found.scorers, found.open_scorers) == ((), ())
    assert found.targets == {"c1": ()}


UPSTREAM = SETTINGS.replace("spec: {", "spec: {delivery: {mode: UpstreamController}, ")


def test_upstreams_controller_needs_no_lock() -> None:
    """It reads /config itself: an incomplete Full scorer is rendered, and what only /config says
    stays open.
    """
    found = resolved(
        settings=UPSTREAM, scorers=scorer("cpu", "  source: {host: 'http://prom:9090'}", mode="Full")
    )
    assert found.scorers == ()
    [item] = found.open_scorers
    spec = open_scorer(item, found.repository)["spec"]
    assert spec["source"] == {"host": "http://prom:9090"}
    assert (spec["location"], spec["scoreDestination"]) == ("Internal", "AddOnPlacementScore")
    assert codes(settings=UPSTREAM, scorers=scorer("cpu", "  location: Internal", mode="Full")) == []


def test_an_application_of_upstream_mode_needs_the_name_of_the_score_alone() -> None:
    app = APPLICATION.format(scores="{scorer: cpu}")
    assert codes(settings=UPSTREAM, scorers=scorer("cpu", "  location: Internal", mode="Full"), apps=app)[
        :1
    ] == ["DSF301"]
    named = scorer("cpu", "  scoring: {params: {name: My_Score}}", mode="Full")
    assert [
        score.resource_name
        for score in resolved(settings=UPSTREAM, scorers=named, apps=app).placements[0].scores
    ] == ["my-score"]


def test_a_complete_full_scorer_without_a_lock_runs() -> None:
    found = resolved(scorers=scorer("cpu", NAMED, mode="Full"))
    assert [item.name for item in found.scorers] == ["cpu"]


FLEET = "---\n".join(
    CLUSTER.format(name=name, labels=f"env: {env}")
    for name, env in (("e1", "edge"), ("e2", "edge"), ("p1", "prod"))
)


@pytest.mark.parametrize(
    ("masks", "targets"),
    [
        ("", {"e1": ("cpu",), "e2": ("cpu",), "p1": ("cpu",)}),
        ("{clusterName: e1, scoreName: s}", {"e1": (), "e2": ("cpu",), "p1": ("cpu",)}),
        ("{clusterName: 'e?', scoreName: '*'}", {"e1": (), "e2": (), "p1": ("cpu",)}),
        ("{clusterName: '[!e]*', scoreName: 's'}", {"e1": ("cpu",), "e2": ("cpu",), "p1": ()}),
        (
            "{clusterSelector: {matchLabels: {env: prod}}, scoreName: s}",
            {"e1": ("cpu",), "e2": ("cpu",), "p1": ()},
        ),
        ("{clusterName: p1, scoreName: other*}", {"e1": ("cpu",), "e2": ("cpu",), "p1": ("cpu",)}),
    ],
)
def test_masks_keep_scores_off_clusters(masks: str, targets: dict[str, tuple[str, ...]]) -> None:
    found = resolved(scorers=scorer("cpu", NAMED), clusters=FLEET, config=MASKS.format(masks=masks))
    assert found.targets == targets


@pytest.mark.parametrize(
    ("selector", "clusters"),
    [
        ("{}", ["e1", "e2", "p1"]),
        ("{matchLabels: {env: edge}}", ["e1", "e2"]),
        ("{matchExpressions: [{key: env, operator: NotIn, values: [edge]}]}", ["p1"]),
        ("{matchExpressions: [{key: zone, operator: DoesNotExist}]}", ["e1", "e2", "p1"]),
        ("{matchLabels: {env: edge}, matchExpressions: [{key: env, operator: In, values: [prod]}]}", []),
    ],
)
def test_selectors_choose_clusters(selector: str, clusters: list[str]) -> None:
    found = resolved(scorers=scorer("cpu", NAMED, f"  clusterSelector: {selector}"), clusters=FLEET)
    assert [cluster for cluster, names in found.targets.items() if names] == clusters


def test_a_suspended_scorer_is_there_and_runs_nowhere() -> None:
    found = resolved(scorers=scorer("cpu", NAMED, "  suspend: true"), clusters=FLEET)
    assert [item.spec.suspend for item in found.scorers] == [True]
    assert set(found.targets.values()) == {()}


APPLICATION = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoredApplication
metadata: {{name: web}}
spec:
  application: {{source: {{repoURL: "https://git.example.com/web.git", path: "."}}, destinationNamespace: web}}
  scores: [{scores}]
"""  # noqa: E501

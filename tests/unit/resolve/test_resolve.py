"""Effective values (docs/scores/locks.md#effective-values), targets, and Placements by scores."""

import pytest

from gitops_dsf.render.scorers import open_scorer
from gitops_dsf.resolve.scorer import EffectiveScorer
from tests.support.repositories import (
    APP,
    BARE,
    BASE,
    BY_QUERY,
    FULL,
    LOCK,
    UPSTREAM,
    asking,
    checked_fleet,
    codes,
    masks,
)

OPEN = FULL.replace("  scoring: {params: {name: cpu_score, interval: 60}}\n", "").replace(
    "  scoreRange: {min: 0, max: 1}\n", ""
)
"""A scorer that says nothing of its score."""
FLEET = "---\n".join(
    BASE["clusters/c.yaml"].replace("prod-1", name).replace("env: prod", f"env: {env}")
    for name, env in (("e1", "edge"), ("e2", "edge"), ("p1", "prod"))
)


def effective(scorers: str, **more: str) -> EffectiveScorer:
    [found] = checked_fleet(scorers=scorers, **more).scorers
    return found


def below(spec: str, text: str) -> str:
    """The scorer with one more field of the spec."""
    return text.replace("  scoring:", f"  {spec}\n  scoring:")


VM = "http://vm:8481/select/0/prometheus"


def lock(config: str) -> str:
    return LOCK.replace("config: {}", f"config: {{{config}}}")


def test_defaults_of_a_scorer_without_a_source() -> None:
    found = effective(BARE)
    assert (found.source_type, found.source_endpoint) == ("None", "")
    assert (found.spec.location, found.spec.score_destination) == (
        "Internal",
        "AddOnPlacementScore",
    )
    assert (found.scoring_origin, found.scoring_path) == ("http://api.svc:8000", "/scoring")
    assert found.scoring_endpoint == "http://api.svc:8000/scoring"
    assert (found.ttl_seconds, found.spec.score_aggregation) == (900, "Last")
    assert (found.dimension_format, found.resource_name) == ("${scoreName}", "cpu-score")


def test_a_query_is_all_that_a_scorer_without_a_scoring_api_needs() -> None:
    assert codes(scorers=below("scoreRange: {min: 0, max: 1}", BY_QUERY)) == []
    found = effective(BY_QUERY)
    assert (found.scoring_type, found.scoring_endpoint, found.scoring_origin) == ("Query", "", "")
    params = found.spec.source.params
    assert (found.source_type, params.range, params.step) == ("Prometheus", 0, 0)


@pytest.mark.parametrize(
    ("text", "source", "endpoint"),
    [
        (asking("up"), "host: http://p:1", "http://p:1/api/v1/query_range"),
        (asking("up"), "host: 'http://p:1/'", "http://p:1/api/v1/query_range"),
        (asking("up"), "host: http://t/a/api/v1/query_range", "http://t/a/api/v1/query_range"),
        (asking("up"), "host: http://t/a/, path: /api/v1/query", "http://t/a/api/v1/query"),
        (asking("up"), "host: http://vm:8481/select/0/prometheus", f"{VM}/api/v1/query_range"),
        (asking("up"), "host: http://vm:8481/select/0/prometheus/", f"{VM}/api/v1/query_range"),
        (asking("up"), "host: http://p:1/api/v1", "http://p:1/api/v1/query_range"),
        (asking("up"), "host: http://p:1/api/v1/query/", "http://p:1/api/v1/query/"),
        (asking("up"), "host: http://p:1/odd, path: /adapter", "http://p:1/odd/adapter"),
        (BY_QUERY, "host: http://vm:8481/select/0/prometheus", f"{VM}/api/v1/query"),
        (BY_QUERY, "host: http://vm:8481/select/0/prometheus/api/v1/", f"{VM}/api/v1/query"),
        (BY_QUERY, "host: http://p:1/api/v1/query_range/", "http://p:1/api/v1/query"),
        (BY_QUERY, "host: http://p:1", "http://p:1/api/v1/query"),
        (BY_QUERY, "host: http://p:1, path: /api/v1/query_range", "http://p:1/api/v1/query"),
        (
            BY_QUERY,
            "host: http://p:1, path: prom/api/v1/query_range",
            "http://p:1/prom/api/v1/query",
        ),
        (BY_QUERY, "host: http://p:1/prom/api/v1/query_range", "http://p:1/prom/api/v1/query"),
        (BY_QUERY, "host: http://p:1/prom/api/v1/query", "http://p:1/prom/api/v1/query"),
        (BY_QUERY, "host: http://p:1, path: /instant", "http://p:1/instant"),
    ],
)
def test_the_path_is_the_written_one_or_that_of_the_kind_of_query(
    text: str, source: str, endpoint: str
) -> None:
    found = effective(text.replace("host: http://prom:9090", source))
    assert (found.source_type, found.source_endpoint) == ("Prometheus", endpoint)


def test_with_full_the_locks_non_empty_fields_win_one_by_one() -> None:
    config = lock("source: {params: {query: '', step: 30}}, scoring: {params: {name: locked}}")
    text = asking("up").replace("configSyncMode: None", "configSyncMode: Full")
    found = effective(text, locks=config).spec
    source, scoring = found.source.params, found.scoring.params
    assert (source.query, source.range, source.step) == ("up", 60, 30)
    assert (scoring.name, scoring.interval) == ("locked", 60)
    assert effective(asking("up"), locks=config).score_name == "cpu_score", (
        "with None it does not count"
    )


def test_the_scoring_host_never_comes_from_the_source() -> None:
    """Upstream's fault 15: scoring requests went to Prometheus."""
    config = "source: {host: 'http://prom:9090', params: {query: up, range: 60, step: 60}}"
    found = effective(FULL, locks=lock(config))
    assert found.scoring_endpoint == "http://api.svc:8000/scoring"
    assert found.source_endpoint == "http://prom:9090/api/v1/query_range"


def test_a_lock_does_not_say_where_the_source_of_a_reference_is() -> None:
    source = (
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: MetricSource\nmetadata: {name: platform}\n"
        "spec: {variants: [{host: 'http://prom:9090'}]}\n"
    )
    config = (
        "source:"
        " {type: None, host: 'http://other', path: /o, params: {query: up, range: 60, step: 15}}"
    )
    found = checked_fleet(
        scorers=below("source: {ref: platform}", FULL), locks=lock(config), config=source
    )
    there = found.on_cluster(found.scorers[0], "prod-1")
    assert (there.source_type, there.source_endpoint) == (
        "Prometheus",
        "http://prom:9090/api/v1/query_range",
    )
    assert there.spec.source.params.query == "up"


def test_a_full_scorer_without_a_lock_waits_only_while_it_is_incomplete() -> None:
    assert [item.name for item in checked_fleet(scorers=FULL).scorers] == ["cpu"]
    found = checked_fleet(scorers=OPEN)
    assert (found.scorers, found.open_scorers) == ((), ())
    assert found.targets == {"prod-1": ()}


def test_upstreams_controller_needs_no_lock() -> None:
    """It reads /config itself: an incomplete Full scorer is rendered, and what only /config says
    stays open.
    """
    found = checked_fleet(
        settings=UPSTREAM, scorers=f"{OPEN}  source: {{host: 'http://prom:9090'}}\n"
    )
    assert found.scorers == ()
    [item] = found.open_scorers
    spec = open_scorer(item, found.by_variant[item.name], found.repository)["spec"]
    assert spec["source"] == {"host": "http://prom:9090"}
    assert (spec["location"], spec["scoreDestination"]) == ("Internal", "AddOnPlacementScore")
    assert codes(settings=UPSTREAM, scorers=OPEN) == []


def test_an_application_of_upstream_mode_needs_the_name_of_the_score_alone() -> None:
    assert codes(settings=UPSTREAM, scorers=OPEN, apps=APP)[:1] == ["DSF301"]
    named = f"{OPEN}  scoring: {{params: {{name: My_Score}}}}\n"
    [placement] = checked_fleet(settings=UPSTREAM, scorers=named, apps=APP).placements
    assert [score.resource_name for score in placement.scores] == ["my-score"]


@pytest.mark.parametrize(
    ("written", "off"),
    [
        ("", ""),
        ("{clusterName: e1, scoreName: cpu_score}", "e1"),
        ("{clusterName: 'e?', scoreName: '*'}", "e1 e2"),
        ("{clusterName: '[!e]*', scoreName: 'cpu_score'}", "p1"),
        ("{clusterSelector: {matchLabels: {env: prod}}, scoreName: cpu_score}", "p1"),
        ("{clusterName: p1, scoreName: other*}", ""),
    ],
)
def test_masks_keep_scores_off_clusters(written: str, off: str) -> None:
    found = checked_fleet(scorers=BARE, clusters=FLEET, config=masks(written)).targets
    assert found == {name: () if name in off.split() else ("cpu",) for name in ("e1", "e2", "p1")}


def test_two_scored_placements_of_one_name_are_two_objects_in_two_namespaces() -> None:
    texts = [
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoredPlacement\n"
        f"metadata: {{name: a, namespace: {namespace}}}\nspec: {{scores: [{{scorer: cpu}}]}}\n"
        for namespace in ("x", "z")
    ]
    found = checked_fleet(apps="---\n".join(texts))
    assert [(item.namespace, item.name) for item in found.placements] == [("x", "a"), ("z", "a")]

"""Rules at the values where they begin to apply, and beside mistakes that make something unknown."""

import pytest

from tests.unit.resolve.test_hub_scorers import SCORER as ON_HUB
from tests.unit.resolve.test_rules import BASE, IMAGES, codes, findings, masks, scorer
from tests.unit.resolve.test_rules_applications import app

MALFORMED_CLUSTER = (
    BASE["clusters/c.yaml"] + "---\n" + BASE["clusters/c.yaml"].replace("labels: {env: prod}", "labels: 3")
)
IN_NORTH = BASE["clusters/c.yaml"].replace(
    "env: prod", "env: prod, cluster.open-cluster-management.io/clusterset: north"
)
SET = """\
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: north}
spec: {clusterSelector: {selectorType: X}}
"""


def settings(old: str, new: str) -> str:
    assert old in BASE["gitops-dsf.yaml"]
    return BASE["gitops-dsf.yaml"].replace(old, new)


def rollout(*entries: str) -> str:
    written = ", ".join(
        f"{{clusterSelector: {one}, image: 'a.example.com/agent:{at}'}}" for at, one in enumerate(entries)
    )
    return settings("agent: {", f"agent: {{rollout: [{written}], ")


def test_a_set_that_cannot_be_read_may_be_the_one_that_a_cluster_names() -> None:
    (found,) = findings(clusters=IN_NORTH)
    assert found.message == ("prod-1 would be in the ManagedClusterSet north, which is not in clusters/")
    assert found.hint == "write the set into clusters/"
    assert codes(clusters=IN_NORTH + SET) == ["DSF016"]


NONE = "{matchLabels: {env: none}}"
PROD = "{matchLabels: {env: prod}}"


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([PROD], []),
        ([PROD, "{matchExpressions: [{key: env, operator: Exists}]}"], ["DSF162"]),
        ([NONE], ["DSF203"]),
        (["{matchLabels: {'a b': none}}", NONE], ["DSF206"]),
    ],
)
def test_rollouts(entries: list[str], expected: list[str]) -> None:
    assert codes(settings=rollout(*entries)) == expected


@pytest.mark.parametrize(
    ("clusters", "expected"), [(MALFORMED_CLUSTER, ["DSF015"]), ("", ["DSF208"])], ids=["malformed", "none"]
)
def test_rollouts_where_the_clusters_are_not_known(clusters: str, expected: list[str]) -> None:
    assert codes(settings=rollout(NONE), clusters=clusters) == expected


def test_a_rollout_that_no_cluster_takes_part_in_gets_the_closest_labels() -> None:
    (found,) = findings(settings=rollout("{matchLabels: {env: prd}}"))
    assert "prod" in found.hint
    (found,) = findings(settings=rollout("{matchLabels: {zone: x}}"))
    assert found.hint == "no cluster has the label zone"
    (found,) = findings(settings=rollout("{matchExpressions: [{key: env, operator: DoesNotExist}]}"))
    assert found.hint == "correct the labels, or label the clusters"


@pytest.mark.parametrize(
    ("auth", "expected"),
    [
        ("{token: abc}", ["DSF105"]),
        ("{username: abc}", []),
        ("{serviceAccountToken: 'yes'}", []),
        ("{serviceAccountToken: true}", []),
    ],
)
def test_fields_of_auth_that_hold_secrets(auth: str, expected: list[str]) -> None:
    source = f"{{host: 'http://p.svc', auth: {auth}, params: {{query: avg(up), range: 60, step: 30}}}}"
    text = scorer("  scoring:", f"  source: {source}\n  scoring:")
    assert [code for code in codes(scorers=text) if code == "DSF105"] == expected


def test_a_url_without_a_scheme_is_no_misspelt_scheme() -> None:
    (found,) = findings(apps=app(url="htps"))
    assert found.code == "DSF336"
    assert "htps://" not in found.hint
    assert found.hint.startswith("write https://host/")


PLACEMENT = """\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: p, namespace: argocd}
spec: {SPEC}
"""


ADD_ON = "{type: AddOn, addOn: {resourceName: [a], scoreName: b}}"


@pytest.mark.parametrize(
    "spec",
    [
        f"prioritizerPolicy: {{configurations: [{{weight: 1, scoreCoordinate: {ADD_ON}}}]}}",
        "predicates: [{requiredClusterSelector: {celSelector: {celExpressions: [3, [4]]}}}]",
        "predicates: 3, prioritizerPolicy: {configurations: 4}",
        "clusterSets: [global], predicates: 3, numberOfClusters: 2",
    ],
)
def test_a_placement_of_the_wrong_shape(spec: str) -> None:
    assert "DSF321" in codes(apps=PLACEMENT.replace("SPEC", spec))


def test_a_set_of_a_cluster_that_is_nearly_one_of_ours() -> None:
    known = SET.replace("spec: {clusterSelector: {selectorType: X}}", "spec: {}")
    (found,) = findings(clusters=IN_NORTH.replace("clusterset: north", "clusterset: nroth") + known)
    assert (found.code, found.hint) == ("DSF340", "did you mean north?")
    assert codes(clusters=IN_NORTH + known) == []


TEST = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoreTest
metadata: {name: t}
spec: {given: {}, expect: {scores: [{scorer: cpu, cluster: prod-1, value: 1}]}}
"""


def nameless(mode: str) -> str:
    """A scorer whose score only its /config can name."""
    return (
        "apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1\nkind: DynamicScorer\n"
        "metadata: {name: cpu}\nspec:\n  description: d\n  configURL: http://api.svc:8000/config\n"
        f"  configSyncMode: {mode}\n  scoring: {{params: {{interval: 60}}}}\n"
        "  scoreRange: {min: 0, max: 1}\n"
    )


def test_a_scorer_that_lacks_something_does_not_wait_for_a_lock() -> None:
    incomplete = nameless("None")
    found = findings(scorers=incomplete, tests=TEST)
    assert "DSF602" not in {item.code for item in found}
    waiting = findings(scorers=nameless("Full"), tests=TEST)
    assert "DSF602" in {item.code for item in waiting}


def a_test(given: str = "", decisions: str = "{application: web, clusters: []}") -> str:
    spec = f"{{given: {{{given}}}, expect: {{decisions: [{decisions}]}}}}"
    return TEST[: TEST.index("spec: ")] + f"spec: {spec}\n"


@pytest.mark.parametrize(("more", "expected"), [(0, []), (1, ["DSF601"])])
def test_the_values_of_all_series_of_a_test_are_counted(more: int, expected: list[str]) -> None:
    series = [
        f"{{scorer: cpu, cluster: prod-1, labels: {{node: n{number}}}, values: 1x9999}}"
        for number in range(20)
    ]
    series += ["{scorer: cpu, cluster: prod-1, labels: {node: last}, values: '1'}"] * more
    given = f"series: [{', '.join(series)}]"
    found = codes(apps=app(), tests=a_test(given))
    assert [code for code in found if code == "DSF601"] == expected


def test_a_cluster_of_a_test_may_be_one_that_cannot_be_read() -> None:
    tests = a_test(decisions="{application: web, clusters: [prod-2]}")
    assert "DSF602" in codes(apps=app(), tests=tests)
    assert "DSF602" not in codes(apps=app(), tests=tests, clusters=MALFORMED_CLUSTER)


@pytest.mark.parametrize(
    ("name", "exists"), [("p", True), ("argocd/p", True), ("other/p", False), ("argocd", False)]
)
def test_a_placement_of_a_test_is_named_with_or_without_its_namespace(name: str, exists: bool) -> None:
    placement = PLACEMENT.replace("SPEC", "numberOfClusters: 1")
    found = codes(apps=placement, tests=a_test(decisions=f"{{placement: {name}, clusters: []}}"))
    assert ("DSF602" in found) is not exists


def test_a_lead_is_not_measured_while_one_of_the_scorers_is_not_known() -> None:
    scores = app().replace("[{scorer: cpu}]", "[{scorer: cpu}, {scorer: none}]") + "  stickiness: 100\n"
    assert codes(apps=scores) == ["DSF301"]


@pytest.mark.parametrize(("ttl", "found"), [(119, True), (120, False)])
def test_scores_live_for_two_intervals(ttl: int, found: bool) -> None:
    text = BASE["scorers/s.yaml"] + f"  scoreTTLSeconds: {ttl}\n"
    said = [item.message for item in findings(scorers=text)]
    assert any(message.startswith(f"scores expire after {ttl} seconds") for message in said) is found


@pytest.mark.parametrize("clusters", [MALFORMED_CLUSTER, ""], ids=["malformed", "none"])
def test_a_service_monitor_where_the_clusters_are_not_known(clusters: str) -> None:
    monitor = "{clusterSelector: {matchLabels: {env: none}}}"
    text = settings("spec: {", f"spec: {{agent: {{serviceMonitor: {monitor}}}, ")
    assert "DSF203" in codes(settings=text)
    assert "DSF203" not in codes(settings=text, clusters=clusters)


@pytest.mark.parametrize("place", ["", "  runsOn: Hub\n"], ids=["spokes", "hub"])
def test_a_label_of_clusters_counts_only_where_one_query_serves_all(place: str) -> None:
    """DSF151 is about clusters without the claim, DSF149 about a query that mixes clusters."""
    text = QUERY_SCORER.replace("  description: d\n", f"  description: d\n{place}")
    found = set(codes(scorers=text)) & {"DSF149", "DSF151"}
    assert found == ({"DSF149", "DSF151"} if place else set())


QUERY_SCORER = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: cpu}
spec:
  description: d
  source:
    host: http://thanos.monitoring.svc:9090
    params: {query: avg(up)}
    clusterLabel: {name: cluster, claim: id.example.com}
  scoring: {type: Query, params: {name: cpu_score, interval: 60}}
"""


def test_the_url_of_an_api_that_is_not_called_is_not_checked() -> None:
    text = QUERY_SCORER.replace("  source:", "  configURL: ftp://api/config\n  source:")
    assert "DSF103" in codes(scorers=scorer("http://api.svc:8000/config", "ftp://api/config"))
    found = codes(scorers=text)
    assert found
    assert "DSF103" not in found


def test_masks_of_a_second_document_are_not_compared() -> None:
    """A repository has one DynamicScoringConfig; the second one is reported."""
    mask = masks("{clusterName: prod-1, scoreName: cpu_score}")
    second = mask.replace("dynamic-scoring-config", "another")
    found = codes(config=f"{mask}---\n{second}")
    assert "DSF207" in found
    assert "DSF204" not in found


@pytest.mark.parametrize(("registry", "expected"), [(None, ["DSF191"]), ("r.example.com", [])])
def test_images_need_not_be_set_where_a_registry_has_them(
    registry: str | None, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitops_dsf.resolve.rules.images.REGISTRY", registry)
    assert codes(settings=settings(IMAGES, "")) == expected


IMAGES_OF_ALL = (
    ", requireImageDigests: true, reconciler: {image: r.example.com/reconciler}"
    ", hubScorer: {image: r.example.com/hub}"
    ", agent: {image: r.example.com/agent, openTelemetry: {image: r.example.com/otlp,"
    " collectorNamespaces: [otel]}, rollout: [{clusterSelector: {matchLabels: {env: prod}},"
    " image: r.example.com/next}, {clusterSelector: {matchLabels: {env: prod}}, nodeSelector: {a: b}}]}"
)


@pytest.mark.parametrize(("scorers", "hub"), [(BASE["scorers/s.yaml"], []), (ON_HUB, ["hubScorer.image"])])
def test_each_image_that_is_rendered_needs_a_digest(scorers: str, hub: list[str]) -> None:
    found = findings(settings=settings(IMAGES, IMAGES_OF_ALL), scorers=scorers)
    fields = [item.message.split()[4] for item in found if item.code == "DSF157"]
    agent = ["agent.image", "agent.rollout[0].image", "agent.openTelemetry.image"]
    assert sorted(fields) == sorted([*agent, *hub, "reconciler.image"])
    assert "DSF191" not in {item.code for item in found}, "each of them is set"


def test_the_hub_scorer_needs_no_image_of_its_own() -> None:
    """It has the agent's, which is judged there."""
    assert codes(scorers=ON_HUB) == []
    told = [item.message for item in findings(settings=settings(IMAGES, ""), scorers=ON_HUB)]
    assert [message.partition(", ")[0] for message in told] == [
        "spec has no agent.image and no reconciler.image"
    ]


def test_a_host_that_is_no_url_is_not_looked_up() -> None:
    broken = scorer("scoring: {", "scoring: {host: 'http://[::1', ")
    assert codes(scorers=broken) == ["DSF103"]


def test_items_of_a_score_without_a_name_are_not_known_yet() -> None:
    scores = app().replace("[{scorer: cpu}]", "[{scorer: cpu, dimension: other}]")
    assert "DSF303" in codes(apps=scores)
    waiting = nameless("Full")
    assert "DSF303" not in codes(apps=scores, scorers=waiting)


def test_a_rollout_without_an_image_needs_no_digest() -> None:
    entry = f"rollout: [{{clusterSelector: {PROD}, tolerations: []}}]"
    text = settings("agent: {", f"agent: {{{entry}, ")
    found = findings(settings=text.replace("spec: {", "spec: {requireImageDigests: true, "))
    assert [item.code for item in found] == ["DSF157", "DSF157"]


def test_scorers_may_not_send_a_secret_that_a_rollout_pulls_with() -> None:
    entry = f"rollout: [{{clusterSelector: {PROD}, imagePullSecrets: [pull]}}]"
    token = "auth: {tokenSecretRef: {name: NAME, key: token}}"
    text = scorer("scoring: {", f"scoring: {{{token}, ").replace("http://api", "https://api")
    reserved = codes(
        settings=settings("agent: {", f"agent: {{{entry}, "), scorers=text.replace("NAME", "pull")
    )
    other = codes(settings=settings("agent: {", f"agent: {{{entry}, "), scorers=text.replace("NAME", "mine"))
    assert set(reserved) - set(other) == {"DSF126"}


def test_what_a_placement_with_an_ambiguous_value_chooses_is_not_known() -> None:
    """YAML 1.1 reads this value as true, YAML 1.2 as text."""
    clusters = (
        BASE["clusters/c.yaml"]
        + "---\n"
        + BASE["clusters/c.yaml"].replace("prod-1, labels: {env: prod}", "other, labels: {zone: 'yes'}")
    )
    add_on = "{type: AddOn, addOn: {resourceName: cpu-score, scoreName: cpu_score}}"
    spec = (
        "clusterSets: [global], predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {zone:"
        f" VALUE}}}}}}}}], prioritizerPolicy: {{mode: Exact, configurations: [{{weight: 1, scoreCoordinate:"
        f" {add_on}}}]}}"
    )
    text = PLACEMENT.replace("SPEC", spec)
    only = scorer("  scoring:", f"  clusterSelector: {PROD}\n  scoring:")
    said = [
        "runs on none of the"
        in " ".join(
            item.message
            for item in findings(apps=text.replace("VALUE", value), scorers=only, clusters=clusters)
        )
        for value in ("'yes'", "yes")
    ]
    assert said == [True, False]

"""What a fleet repository says without a mistake and its author would not want: stickiness that
nothing overcomes, more clusters than there are, two applications with the same objects, more writes
than a hub takes.
"""

import pytest

from gitops_dsf.diagnostics import Diagnostic
from tests.support.repositories import (
    APP,
    BASE,
    CONFIG,
    LABELS,
    app,
    application_set,
    findings,
    placement,
    scorer,
)

CLUSTER = BASE["clusters/c.yaml"]
TWO = f"{CLUSTER}---\n{CLUSTER.replace('prod-1', 'edge-1').replace('env: prod', 'env: edge')}"
SETTINGS = BASE["gitops-dsf.yaml"]


def told(code: str, **documents: str) -> list[Diagnostic]:
    return [item for item in findings(**documents) if item.code == code]


@pytest.mark.parametrize(
    ("outputs", "stickiness", "number", "lead"),
    [
        ("", 90, 1, ""),
        ("", 100, 1, "99"),
        ("", 1000, 1, "99"),
        (", outputMin: 0, outputMax: 100", 100, 1, ""),
        (", outputMin: 30, outputMax: 10", 20, 1, ""),
        (", outputMin: 30, outputMax: 10", 25, 1, "20"),
        # Every eligible cluster is chosen, so scores move nothing.
        ("", 100, None, ""),
    ],
)
def test_a_stickiness_above_the_range_of_the_scores(
    outputs: str, stickiness: int, number: int | None, lead: str
) -> None:
    scorers = scorer("{min: 0, max: 1}", f"{{min: 0, max: 1{outputs}}}")
    rules = "{}" if number is None else "{numberOfClusters: 1}"
    apps = app("{numberOfClusters: 1}", rules) + f"  stickiness: {stickiness}\n"
    found = told("DSF363", scorers=scorers, apps=apps)
    assert [str(item.severity) for item in found] == (["warning"] if lead else [])
    for item in found:
        assert item.message.startswith(f"the scores of two clusters differ by at most {lead},")
        assert str(item.position) == "apps/x.yaml:8:15"


def test_the_hint_is_a_stickiness_that_can_be_expressed_and_overcome() -> None:
    [found] = told("DSF363", apps=APP + "  stickiness: 100\n")
    assert found.hint.startswith("write 90 or less, or")
    assert told("DSF363", apps=APP + "  stickiness: 90\n") == []
    assert findings(apps=APP + "  stickiness: 90\n") == []


def test_without_a_range_scores_can_differ_by_200() -> None:
    bare = scorer("  scoreRange: {min: 0, max: 1}\n", "")
    assert told("DSF363", scorers=bare, apps=APP + "  stickiness: 200\n") == []
    assert len(told("DSF363", scorers=bare, apps=APP + "  stickiness: 250\n")) == 1


def by_score(
    weight: int, steady: int, number: str = "numberOfClusters: 1, ", name: str = "cpu-score"
) -> str:
    return placement(
        f"{{{number}clusterSets: [global], prioritizerPolicy: {{mode: Exact, configurations: ["
        "{scoreCoordinate: {type: BuiltIn, builtIn: Steady}, weight: "
        f"{steady}}}, {{scoreCoordinate: {{type: AddOn, addOn: {{resourceName: {name}, scoreName:"
        f" cpu_score}}}}, weight: {weight}}}]}}}}"
    )


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (by_score(1, 1), 1),  # 100 points, and the scores are 1 to 100
        (by_score(2, 1), 0),
        (by_score(1, 5), 1),
        (by_score(5, 5), 1),
        (by_score(6, 5), 0),
        (by_score(1, 5, number=""), 0),
        # Another add-on may publish -100 to 100.
        (by_score(1, 2, name="others"), 0),
        (by_score(1, 3, name="others"), 1),
    ],
)
def test_the_weight_of_steady_in_a_copied_placement(text: str, counts: int) -> None:
    assert len(told("DSF363", apps=text)) == counts


def test_the_lead_of_steady_is_in_points_of_the_weighted_mean() -> None:
    """A weight of 5 for Steady and of 4 for the score: 500 and 396 in OCM's sum."""
    [found] = told("DSF363", apps=by_score(4, 5))
    assert found.message == (
        "Steady gives 125 points to the clusters that are chosen, and all other"
        " prioritizers together can"
        " differ by 99: the decision never changes by scores"
    )


@pytest.mark.parametrize(
    ("rules", "hint"),
    [
        ("{numberOfClusters: 2}", ""),
        ("{numberOfClusters: 3}", "write 2 or less, or let more clusters be eligible"),
        ("{numberOfClusters: 1, clusterSelector: {matchLabels: {env: edge}}}", ""),
        (
            "{numberOfClusters: 2, clusterSelector: {matchLabels: {env: edge}}}",
            "write 1, or let more clusters be eligible",
        ),
        # No cluster at all is an error of its own.
        ("{numberOfClusters: 2, clusterSelector: {matchLabels: {env: test}}}", ""),
    ],
)
def test_more_clusters_than_are_eligible(rules: str, hint: str) -> None:
    found = told("DSF364", clusters=TWO, apps=app("{numberOfClusters: 1}", rules))
    assert [(str(item.severity), item.hint) for item in found] == (
        [("warning", hint)] if hint else []
    )


def test_more_clusters_than_are_eligible_of_a_copied_placement() -> None:
    text = "{numberOfClusters: 3, clusterSets: [global], prioritizerPolicy: {mode: Exact}}"
    assert len(told("DSF364", clusters=TWO, apps=placement(text))) == 1
    assert told("DSF364", clusters=TWO, apps=placement(text.replace("3", "2"))) == []


def test_a_placement_of_jobs_is_told_once_to_have_no_number() -> None:
    """DSF372 says to remove the number, so nothing else may say to write a smaller one."""
    jobs = (
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoredPlacement\n"
        "metadata: {name: jobs, namespace: kueue-system}\n"
        "spec:\n  placement: {numberOfClusters: 5}\n  scores: [{scorer: cpu-forecast}]\n"
    )
    assert len(told("DSF364", clusters=TWO, apps=jobs)) == 1
    ordered = f"{jobs}  multiKueue: {{config: jobs}}\n"
    assert told("DSF364", clusters=TWO, apps=ordered) == []
    assert len(told("DSF372", clusters=TWO, apps=ordered)) == 1


def test_clusters_that_join_later_are_expected_where_the_settings_say_so() -> None:
    later = SETTINGS.replace("spec: {", "spec: {allowUnmatchedSelectors: true, ")
    [found] = told("DSF364", settings=later, apps=app("numberOfClusters: 1", "numberOfClusters: 3"))
    assert str(found.severity) == "notice"


def test_clusters_are_not_counted_while_one_of_them_cannot_be_read() -> None:
    broken = f"{CLUSTER}---\n{CLUSTER.replace('prod-1', 'edge-1').replace('env: prod', 'env: [a]')}"
    assert (
        told("DSF364", clusters=broken, apps=app("numberOfClusters: 1", "numberOfClusters: 2"))
        == []
    )


SECOND = app("{name: web}", "{name: shop}")


@pytest.mark.parametrize(
    ("second", "counts"),
    [
        (SECOND, 1),
        (SECOND.replace("destinationNamespace: web", "destinationNamespace: shop"), 0),
        (SECOND.replace("path: deploy", "path: shop"), 0),
        (SECOND.replace("path: deploy", "path: deploy, targetRevision: next"), 0),
        (
            SECOND.replace(
                "{numberOfClusters: 1}", "{clusterSelector: {matchLabels: {env: edge}}}"
            ),
            0,
        ),
    ],
)
def test_two_applications_with_the_same_objects(second: str, counts: int) -> None:
    first = app(
        "{numberOfClusters: 1}",
        "{numberOfClusters: 1, clusterSelector: {matchLabels: {env: prod}}}",
    )
    found = told("DSF365", clusters=TWO, apps=f"{first}---\n{second}")
    assert len(found) == counts
    for item in found:
        assert str(item.severity) == "warning"
        assert (
            "web and shop (apps/x.yaml:11:18) deploy the same source into the namespace web"
            in item.message
        )
        assert "such as prod-1" in item.message


def test_the_order_of_files_does_not_decide_which_application_is_reported() -> None:
    first, second = (
        told("DSF365", apps=f"{one}---\n{other}") for one, other in ((APP, SECOND), (SECOND, APP))
    )
    starts = {item.message.partition(" (")[0] for item in (*first, *second)}
    assert starts == {"web and shop"}
    assert (len(first), len(second)) == (1, 1)


def test_a_copied_set_with_the_objects_of_an_application() -> None:
    raw = application_set(
        f"{{clusterDecisionResource: {{{CONFIG}, {LABELS.replace(': p}', ': web}')}}}}}"
    )
    raw = raw.replace("{metadata: {name: a}", "{metadata: {name: 'b-{{name}}'}")
    raw = raw.replace("destination: {name: a}", "destination: {name: a, namespace: web}")
    raw = raw.replace(
        "{repoURL: 'https://git.example.com/a.git', path: a}",
        '{repoURL: "https://git.example.com/web.git", path: deploy}',
    )
    assert len(told("DSF365", apps=f"{APP}---\n{raw}")) == 1
    assert (
        told("DSF365", apps=f"{APP}---\n{raw.replace('namespace: web', 'namespace: other')}") == []
    )


def many(count: int) -> str:
    return "---\n".join(CLUSTER.replace("prod-1", f"c{number}") for number in range(count))


def scorers(count: int, spec: str, text: str = BASE["scorers/s.yaml"]) -> str:
    fields = "".join(f"  {part}\n" for part in spec.split(", "))
    short = text.replace("interval: 60", "interval: 20").replace(
        "  scoring:", f"{fields}  scoring:"
    )
    names = (("{name: cpu}", "{{name: cpu{}}}"), ("cpu_score", "cpu{}_score"))
    found = []
    for number in range(count):
        item = short
        for old, new in names:
            item = item.replace(old, new.format(number))
        found.append(item)
    return "---\n".join(found)


@pytest.mark.parametrize(
    ("spec", "clusters", "counts"),
    [
        ("scoreTTLSeconds: 60", 200, 0),  # 200 a second
        ("scoreTTLSeconds: 60", 201, 1),
        ("scoreTTLSeconds: 120", 201, 0),
        ("scoreTTLSeconds: 60, suspend: true", 201, 0),
        ("scoreTTLSeconds: 60, scoreDestination: None", 201, 0),
    ],
)
def test_more_writes_than_a_small_hub_takes(spec: str, clusters: int, counts: int) -> None:
    found = told("DSF192", scorers=scorers(30, spec), clusters=many(clusters))
    assert ["about 201 writes per second" in item.message for item in found] == [True] * counts
    assert [str(item.severity) for item in found] == ["warning"] * counts


BY_HUB = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: cpu}
spec:
  description: d
  runsOn: Hub
  source:
    host: http://thanos.svc:9090
    params: {query: sum by (cluster) (up)}
    clusterLabel: {name: cluster}
  scoring: {type: Query, params: {name: cpu_score, interval: 60}}
"""


@pytest.mark.parametrize(("clusters", "counts"), [(150, 0), (153, 1)])
def test_more_writes_than_the_hub_scorer_makes(clusters: int, counts: int) -> None:
    text = scorers(10, "scoreTTLSeconds: 60", BY_HUB)
    found = told("DSF192", scorers=text, clusters=many(clusters))
    assert ["scorers on the hub need about 51 writes" in item.message for item in found] == [
        True
    ] * counts

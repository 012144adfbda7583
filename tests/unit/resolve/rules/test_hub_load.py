"""More writes than a hub, or the hub scorer, takes."""

import pytest

from tests.support.repositories import (
    BASE,
    findings_of,
)

CLUSTER = BASE["clusters/c.yaml"]


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
    found = findings_of("DSF192", scorers=scorers(30, spec), clusters=many(clusters))
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
    found = findings_of("DSF192", scorers=text, clusters=many(clusters))
    assert ["scorers on the hub need about 51 writes" in item.message for item in found] == [
        True
    ] * counts

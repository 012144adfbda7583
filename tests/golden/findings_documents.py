# ruff: noqa: E501 - texts of documents
"""Documents of the small repositories whose findings tests/golden/test_findings.py has."""

from collections.abc import Iterator, Mapping

from tests.support.repositories import BASE, CONFIG, FULL, LABELS, MANY, application_set, placement

Documents = Mapping[str, str]
SETTINGS = BASE["gitops-dsf.yaml"]
CLUSTER = BASE["clusters/c.yaml"]
SCORER = BASE["scorers/s.yaml"]
SHARED = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoredPlacement
metadata: {name: shared}
spec: {scores: [{scorer: cpu}], placement: {numberOfClusters: 1}}
"""
SET = """\
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: edge}
spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {matchLabels: {env: prod}}}}
"""


def case(name: str, **documents: str) -> tuple[str, Documents]:
    return name, documents


def settings(new: str, text: str = SETTINGS) -> str:
    """Settings with a new field, or with more fields in a section that is there."""
    section, _, fields = new.partition("{")
    if f", {section}{{" in text:
        return text.replace(f", {section}{{", f", {section}{{{fields[:-1]}, ")
    return text.replace("spec: {", f"spec: {{{new}, ")


def cluster(name: str, labels: str = "env: prod") -> str:
    return CLUSTER.replace("prod-1", name).replace("env: prod", labels)


def both(*texts: str) -> str:
    return "---\n".join(texts)


def second(text: str = SCORER, name: str = "gpu", score: str = "gpu_score") -> str:
    return text.replace("{name: cpu}", f"{{name: {name}}}").replace("cpu_score", score)


PLACES: Mapping[str, Documents] = {
    "of an unknown fleet": {"clusters": SET},
    "beside a broken cluster": {"clusters": both(CLUSTER, cluster("xyz", "env: [a]"))},
    "beside a broken scorer": {
        "scorers": both(SCORER, second().replace("interval: 60", "interval: x"))
    },
    "beside a scorer without a lock": {
        "scorers": both(SCORER, second(FULL).replace(", interval: 60", ""))
    },
}


def around(name: str, *places: str, **documents: str) -> Iterator[tuple[str, Documents]]:
    """A case alone, and in some places."""
    yield name, documents
    for place in places:
        yield f"{name} {place}", {**documents, **PLACES[place]}


def below(spec: str, text: str = SCORER) -> str:
    """The scorer with one more field of the spec, before `scoring`."""
    return text.replace("  scoring:", f"  {spec}\n  scoring:")


def source(fields: str, text: str = SCORER) -> str:
    return below(f"source: {{{fields}}}", text)


USES = source("ref: platform, params: {query: up, range: 60, step: 60}")
"""A scorer of the MetricSource of `variants`."""


def selector(text: str) -> str:
    return placement(f"{{predicates: [{{requiredClusterSelector: {{labelSelector: {text}}}}}]}}")


def generator(fields: str, rest: str = "syncPolicy: {applicationsSync: create-update}") -> str:
    return both(
        placement("{}"), application_set(f"{{clusterDecisionResource: {{{fields}}}}}", rest)
    )


def named(name: str, template: str, follows: str = "p") -> str:
    text = application_set(
        f"{{clusterDecisionResource: {{{CONFIG}, {LABELS.replace(': p}', f': {follows}}}')}}}}}"
    )
    return text.replace("{name: a}", f"{{name: {name}}}", 1).replace(
        "metadata: {name: a}, spec: {project", f"metadata: {{name: '{template}'}}, spec: {{project"
    )


def add_on(resource: str = "cpu-score", item: str = "cpu_score", weight: int = 5) -> str:
    return (
        f"{{scoreCoordinate: {{type: AddOn, addOn: {{resourceName: {resource}, scoreName: {item}}}}},"
        f" weight: {weight}}}"
    )


def ranged(first: int, last: int, text: str = SCORER) -> str:
    return text.replace(
        "{min: 0, max: 1}", f"{{min: 0, max: 1, outputMin: {first}, outputMax: {last}}}"
    )


def many_of(count: int) -> str:
    return "---\n".join(MANY.split("---\n")[:count])


def quoted(text: str) -> str:
    return text if text.startswith("'") else f"'{text}'"


def variants(*texts: str) -> str:
    return (
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: MetricSource\n"
        f"metadata: {{name: platform}}\nspec: {{variants: [{', '.join(f'{{{text}}}' for text in texts)}]}}\n"
    )


HUB = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: cpu}
spec:
  description: d
  runsOn: Hub
  source: {host: 'http://thanos.svc', params: {query: 'sum by (cluster) (up)'}, clusterLabel: {name: cluster}}
  scoring: {type: Query, params: {name: cpu_score, interval: 60}}
  scoreRange: {min: 0, max: 1}
"""
QUERY = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: cpu}
spec:
  description: d
  source: {host: 'http://prom.svc', params: {query: 'avg(up)'}}
  scoring: {type: Query, params: {name: cpu_score, interval: 60}}
  scoreRange: {min: 0, max: 1}
"""
LABEL = "clusterLabel: {name: cluster}"
BROKEN_CLUSTER = cluster("xyz", "env: [a]")


def asked(query: str, text: str = QUERY) -> str:
    return text.replace("'avg(up)'", f"'{query}'").replace("'sum by (cluster) (up)'", f"'{query}'")


def edge(count: int, labels: str = "env: prod") -> str:
    return both(CLUSTER, *(cluster(f"edge-{number}", labels) for number in range(count)))


PROD, NONE = "{matchLabels: {env: prod}}", "{matchLabels: {env: none}}"

"""Metadata without effect, and metadata that would steer Argo CD."""

from typing import Final

import pytest

from gitops_dsf.diagnostics import Severity
from tests.support.repositories import (
    APP,
    BASE,
    CONFIG,
    FULL,
    LABELS,
    LOCK,
    application_set,
    findings,
    findings_of,
    masks,
    placement,
    scorer,
)
from tests.support.steeringkeys import STEERING

SETTINGS = BASE["gitops-dsf.yaml"]


class TestIgnoredNamespaces:
    @pytest.mark.parametrize(
        ("namespace", "counts"),
        [("scoring", 1), ("default", 1), ("open-cluster-management", 1), ("gitops-dsf", 0)],
    )
    def test_of_a_scorer(self, namespace: str, counts: int) -> None:
        text = scorer("{name: cpu}", f"{{name: cpu, namespace: {namespace}}}")
        found = findings_of("DSF213", scorers=text)
        message = (
            f"metadata.namespace {namespace} has no effect: a DynamicScorer is rendered into"
            " gitops-dsf"
        )
        assert [(str(item.severity), item.message) for item in found] == [
            ("warning", message)
        ] * counts
        assert all(item.edits for item in found)

    def test_of_the_masks_and_with_another_hub_namespace(self) -> None:
        text = masks("{clusterName: prod-1, scoreName: cpu_score}").replace(
            "{name: dynamic-scoring-config}", "{name: dynamic-scoring-config, namespace: scoring}"
        )
        own = SETTINGS.replace("spec: {", "spec: {hubNamespace: scoring, ")
        assert len(findings_of("DSF213", config=text)) == 1
        assert findings_of("DSF213", config=text, settings=own) == []

    def test_of_what_is_not_rendered_as_an_object(self) -> None:
        source = (
            "apiVersion: gitops-dsf.io/v1alpha1\nkind: MetricSource\n"
            "metadata: {name: p, namespace: monitoring}\n"
            "spec: {variants: [{host: 'http://prom.svc:9090'}]}\n"
        )
        [found] = findings_of("DSF213", config=source)
        assert found.message == (
            "metadata.namespace monitoring has no effect: a MetricSource is not an object"
            " of the hub"
        )
        own = SETTINGS.replace("{name: fleet}", "{name: fleet, namespace: argocd}")
        assert len(findings_of("DSF213", settings=own)) == 1

    def test_of_applications_and_placements_it_counts(self) -> None:
        assert (
            findings_of("DSF213", apps=APP.replace("{name: web}", "{name: web, namespace: argocd}"))
            == []
        )
        assert findings_of("DSF213", apps=placement("{}")) == []


APPS: Final = f"{placement('{}')}---\n{application_set(f'{{clusterDecisionResource: {{{CONFIG}, {LABELS}}}}}')}"  # noqa: E501


SCORED: Final = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoredPlacement
metadata: {name: shared}
spec: {scores: [{scorer: cpu}], placement: {numberOfClusters: 1}}
"""


TEST: Final = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoreTest
metadata: {name: t}
spec: {given: {}, expect: {decisions: [{application: web, clusters: [prod-1]}]}}
"""


MAINTENANCE: Final = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: Maintenance
metadata: {name: m}
spec:
  action: Cordon
  clusters: [prod-1]
  start: 2026-01-01T00:00:00Z
  end: 2026-01-02T00:00:00Z
"""


SOURCE: Final = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: MetricSource
metadata: {name: central}
spec: {variants: [{host: "https://prometheus.example.com"}]}
"""


BINDING: Final = """\
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: global}
spec: {clusterSet: global}
"""


DOCUMENTS: Final = {
    "DynamicScorer": ("scorers", BASE["scorers/s.yaml"], "{name: cpu}"),
    "ScoredApplication": ("apps", APP, "{name: web}"),
    "ScoredPlacement": ("apps", SCORED, "{name: shared}"),
    "Placement": ("apps", APPS, "{name: p, namespace: argocd}"),
    "ManagedClusterSetBinding": ("apps", BINDING, "{name: global}"),
    "ApplicationSet": ("apps", APPS, "{name: a}"),
    "FleetRepository": ("settings", BASE["gitops-dsf.yaml"], "{name: fleet}"),
    "DynamicScoringConfig": ("config", masks(""), "{name: dynamic-scoring-config}"),
    "MetricSource": ("config", SOURCE, "{name: central}"),
    "Maintenance": ("config", MAINTENANCE, "{name: m}"),
    "ScoreTest": ("tests", TEST, "{name: t}"),
    "ScorerLock": ("locks", LOCK, "{name: cpu}"),
}


def steered(kind: str, metadata: str) -> list[tuple[str, Severity]]:
    """The keys that DSF024 names in a document of this kind with this metadata."""
    place, text, name = DOCUMENTS[kind]
    assert name in text, text
    documents = {place: text.replace(name, f"{name[:-1]}, {metadata}}}", 1)}
    if kind == "ScorerLock":
        documents["scorers"] = FULL
    return [
        (item.message.split(": ")[1].split()[0], item.severity)
        for item in findings_of("DSF024", **documents)
    ]


@pytest.mark.parametrize("kind", DOCUMENTS)
@pytest.mark.parametrize("key", [key for key in STEERING if key != "argocd.argoproj.io/sync-wave"])
def test_an_annotation_that_steers_is_an_error_on_every_kind(kind: str, key: str) -> None:
    assert steered(kind, f"annotations: {{{key}: a}}") == [(key, Severity.ERROR)]


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_label_that_steers_is_an_error_on_every_kind(kind: str) -> None:
    assert steered(kind, "labels: {argocd.argoproj.io/hook: a}") == [
        ("argocd.argoproj.io/hook", Severity.ERROR)
    ]


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_other_annotations_are_nobody_s_business(kind: str) -> None:
    kept = (
        "annotations:"
        " {helm.sh/chart: web-1, example.com/owner: a, link.argocd.argoproj.io/runbook: b}"
    )
    assert steered(kind, kept) == []


@pytest.mark.parametrize("kind", ["Placement", "ManagedClusterSetBinding", "ApplicationSet"])
def test_only_the_author_of_a_copied_document_knows_its_wave(kind: str) -> None:
    assert steered(kind, "annotations: {argocd.argoproj.io/sync-wave: '3'}") == []


def test_the_inventory_is_a_copy_of_what_a_hub_has() -> None:
    """Argo CD may manage the ManagedClusters of a hub; of the inventory nothing is rendered."""
    tracked = (
        "annotations:"
        " {argocd.argoproj.io/tracking-id: 'hub:a/b:c/d', helm.sh/resource-policy: keep}"
    )
    text = BASE["clusters/c.yaml"].replace("{name: prod-1,", f"{{name: prod-1, {tracked},")
    assert tracked in text
    assert [item.code for item in findings(clusters=text)] == []


def test_the_labels_of_the_agents_service_monitor_reach_every_cluster() -> None:
    monitor = "agent: {serviceMonitor: {labels: {argocd.argoproj.io/hook: PostSync}}}"
    text = BASE["gitops-dsf.yaml"].replace("spec: {", f"spec: {{{monitor}, ")
    [found] = findings_of("DSF024", settings=text)
    assert found.message.startswith(
        "spec.agent.serviceMonitor.labels: argocd.argoproj.io/hook would steer"
    )

"""DSF024: no label and no annotation of what people write may steer Argo CD."""

from typing import Final

import pytest

from gitops_dsf.argocd import api
from gitops_dsf.argocd.steering import steers
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
)

STEERING: Final = (
    "argocd.argoproj.io/client-side-apply-migration-manager",
    "argocd.argoproj.io/compare-options",
    "argocd.argoproj.io/deletion-approved",
    "argocd.argoproj.io/hook",
    "argocd.argoproj.io/hook-delete-policy",
    "argocd.argoproj.io/ignore-differences",
    "argocd.argoproj.io/ignore-healthcheck",
    "argocd.argoproj.io/ignore-resource-updates",
    "argocd.argoproj.io/installation-id",
    "argocd.argoproj.io/sync-options",
    "argocd.argoproj.io/sync-wave",
    "argocd.argoproj.io/tracking-id",
    "helm.sh/hook",
    "helm.sh/hook-delete-policy",
    "helm.sh/hook-weight",
    "helm.sh/resource-policy",
)
"""What Argo CD 3.6.1 obeys on any object that it applies."""
NOTHING_HERE: Final = (
    "argocd.argoproj.io/application-set-refresh",
    "argocd.argoproj.io/auto-label-cluster-info",
    "argocd.argoproj.io/hook-finalizer",
    "argocd.argoproj.io/hydrate",
    "argocd.argoproj.io/hydrate-timestamp",
    "argocd.argoproj.io/ignore-default-links",
    "argocd.argoproj.io/ignore-restart-policy",
    "argocd.argoproj.io/kubernetes-version",
    "argocd.argoproj.io/managed-by-url",
    "argocd.argoproj.io/manifest-generate-paths",
    "argocd.argoproj.io/refresh",
    "argocd.argoproj.io/refresh-timestamp",
    "argocd.argoproj.io/secret-type",
    "argocd.argoproj.io/skip-reconcile",
)
"""What it obeys on Applications, Secrets or pods. They are refused with the rest: all begin
alike.
"""
HARMLESS: Final = {
    # Common labels. Argo CD reads part-of and component of its own ConfigMaps, Secrets and pods.
    "app.kubernetes.io/component",
    "app.kubernetes.io/name",
    "app.kubernetes.io/part-of",
    # With tracking by label (the default is by annotation) Argo CD itself writes it over what git
    # says.
    "app.kubernetes.io/instance",
    "applications.argoproj.io/app-name",
    # Read of objects on the hub, for a diff that our Applications do not use: they have
    # ServerSideDiff=true.
    "kubectl.kubernetes.io/last-applied-configuration",
    # Shown in the user interface.
    "autoscaling.alpha.kubernetes.io/conditions",
    "deployment.kubernetes.io/revision",
    "link.argocd.argoproj.io/",
    "rollout.argoproj.io/revision",
    # Of Secrets with tokens.
    "kubernetes.io/service-account-token",
    "kubernetes.io/service-account.name",
    "kubernetes.io/service-account.uid",
    # Finalizers of Applications.
    "resources-finalizer.argocd.argoproj.io/background",
    "resources-finalizer.argocd.argoproj.io/foreground",
    # Neither labels nor annotations.
    "apiextensions.k8s.io/CustomResourceDefinition",
    "client.authentication.k8s.io/exec",
    "server.dex/Proxy",
    "sigs.k8s.io/controller-runtime",
}


def test_every_key_that_argocd_knows_was_looked_at() -> None:
    """After a new version: find out in its sources what a new key does, and add it to one of the
    lists.
    """
    assert set(api()["keys"]) == {*STEERING, *NOTHING_HERE, *HARMLESS}


@pytest.mark.parametrize("key", [*STEERING, *NOTHING_HERE])
def test_what_argocd_obeys_steers(key: str) -> None:
    assert steers(key)


@pytest.mark.parametrize("key", sorted(HARMLESS))
def test_what_it_only_shows_or_writes_itself_does_not(key: str) -> None:
    assert not steers(key)


@pytest.mark.parametrize(
    "key", ["helm.sh/chart", "meta.helm.sh/release-name", "example.com/hook", "argocd"]
)
def test_common_metadata_of_charts_does_not(key: str) -> None:
    """Who renders ApplicationSets with Helm has these on every object."""
    assert not steers(key)


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

"""A namespace that has no effect: the object is rendered into another one, or not at all."""

import pytest

from tests.support.repositories import (
    APP,
    BASE,
    findings_of,
    masks,
    placement,
    scorer,
)

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

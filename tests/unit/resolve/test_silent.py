"""What was accepted without a word although it has no effect, or another one than its author
thinks.
"""

import pytest

from gitops_dsf.diagnostics import Diagnostic
from tests.support.repositories import (
    APP,
    BASE,
    BY_QUERY,
    FULL,
    LOCK,
    app,
    findings,
    masks,
    placement,
    scorer,
)

CLUSTER = BASE["clusters/c.yaml"]
SETTINGS = BASE["gitops-dsf.yaml"]
SET_LABEL = "cluster.open-cluster-management.io/clusterset"


def told(code: str, **documents: str) -> list[Diagnostic]:
    return [item for item in findings(**documents) if item.code == code]


def in_set(name: str, label: str | None) -> str:
    labels = "{env: prod}" if label is None else f"{{env: prod, {SET_LABEL}: {label}}}"
    return CLUSTER.replace("prod-1", name).replace("{env: prod}", labels)


EDGE = (
    "apiVersion: cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSet\n"
    "metadata: {name: edge}\n"
    f"---\n{in_set('edge-1', 'edge')}"
)


class TestClustersInNoSet:
    @pytest.mark.parametrize(
        ("label", "sets", "counts"),
        [
            (None, "[edge]", 1),
            ('""', "[edge]", 1),
            ("edge", "[edge]", 0),
            (None, "[edge, default]", 0),
            (None, "[global]", 0),
            # In a set of its own on purpose.
            ("north", "[edge]", 0),
        ],
    )
    def test_a_cluster_that_no_application_can_choose(
        self, label: str | None, sets: str, counts: int
    ) -> None:
        north = EDGE.split("---", maxsplit=1)[0].replace("name: edge", "name: north")
        clusters = f"{EDGE}---\n{north}---\n{in_set('prod-9', label)}"
        apps = app("{numberOfClusters: 1}", f"{{numberOfClusters: 1, clusterSets: {sets}}}")
        found = told("DSF212", clusters=clusters, apps=apps)
        assert [str(item.severity) for item in found] == ["notice"] * counts
        for item in found:
            assert item.message.startswith("prod-9 is in no ManagedClusterSet but OCM's default")

    def test_without_applications_nothing_chooses(self) -> None:
        assert told("DSF212", clusters=f"{EDGE}---\n{in_set('prod-9', None)}") == []

    def test_several_are_told_once(self) -> None:
        clusters = f"{EDGE}---\n{in_set('prod-8', None)}---\n{in_set('prod-9', None)}"
        apps = app("{numberOfClusters: 1}", "{numberOfClusters: 1, clusterSets: [edge]}")
        [found] = told("DSF212", clusters=clusters, apps=apps)
        assert found.message.startswith(
            "prod-8 and 1 more are in no ManagedClusterSet but OCM's default"
        )

    def test_an_empty_label_is_that_of_the_default_set(self) -> None:
        """OCM's webhook writes `default` over it (managedcluster_mutating.go)."""
        apps = app("{numberOfClusters: 1}", "{numberOfClusters: 1, clusterSets: [default]}")
        assert told("DSF310", clusters=in_set("prod-9", '""'), apps=apps) == []

    def test_a_copied_placement_without_sets_may_choose_all(self) -> None:
        """OCM takes every set that is bound in its namespace."""
        own = app("{numberOfClusters: 1}", "{numberOfClusters: 1, clusterSets: [edge]}")
        apps = f"{own}---\n{placement('{}')}"
        assert told("DSF212", clusters=f"{EDGE}---\n{in_set('prod-9', None)}", apps=apps) == []


class TestIgnoredNamespaces:
    @pytest.mark.parametrize(
        ("namespace", "counts"),
        [("scoring", 1), ("default", 1), ("open-cluster-management", 1), ("gitops-dsf", 0)],
    )
    def test_of_a_scorer(self, namespace: str, counts: int) -> None:
        text = scorer("{name: cpu}", f"{{name: cpu, namespace: {namespace}}}")
        found = told("DSF213", scorers=text)
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
        assert len(told("DSF213", config=text)) == 1
        assert told("DSF213", config=text, settings=own) == []

    def test_of_what_is_not_rendered_as_an_object(self) -> None:
        source = (
            "apiVersion: gitops-dsf.io/v1alpha1\nkind: MetricSource\n"
            "metadata: {name: p, namespace: monitoring}\n"
            "spec: {variants: [{host: 'http://prom.svc:9090'}]}\n"
        )
        [found] = told("DSF213", config=source)
        assert found.message == (
            "metadata.namespace monitoring has no effect: a MetricSource is not an object"
            " of the hub"
        )
        own = SETTINGS.replace("{name: fleet}", "{name: fleet, namespace: argocd}")
        assert len(told("DSF213", settings=own)) == 1

    def test_of_applications_and_placements_it_counts(self) -> None:
        assert (
            told("DSF213", apps=APP.replace("{name: web}", "{name: web, namespace: argocd}")) == []
        )
        assert told("DSF213", apps=placement("{}")) == []


def scaled(fields: str, text: str = BASE["scorers/s.yaml"]) -> str:
    assert "{min: 0, max: 1}" in text
    return text.replace("{min: 0, max: 1}", f"{{min: 0, max: 1, {fields}}}")


class TestLowestScores:
    @pytest.mark.parametrize(
        ("fields", "weight", "counts"),
        [
            ("outputMin: 0, outputMax: 100", 1, 1),
            ("outputMin: 100, outputMax: 0", 1, 1),
            ("outputMin: 1, outputMax: 100", 1, 0),
            ("outputMin: -100, outputMax: 0", -1, 1),
            # DSF304 says more of these.
            ("outputMin: -100, outputMax: 0", 1, 0),
            ("outputMin: 0, outputMax: 100", -1, 0),
        ],
    )
    def test_an_end_of_0_is_what_a_missing_score_counts(
        self, fields: str, weight: int, counts: int
    ) -> None:
        apps = app("{scorer: cpu}", f"{{scorer: cpu, weight: {weight}}}")
        found = told("DSF193", scorers=scaled(fields), apps=apps)
        assert [str(item.severity) for item in found] == ["notice"] * counts
        assert all(str(item.position).startswith("scorers/s.yaml:9:") for item in found)

    def test_it_is_told_once_for_a_scorer_and_only_if_it_ranks(self) -> None:
        zero = scaled("outputMin: 0, outputMax: 100")
        two = (
            f"{APP}---\n{app('{name: web}', '{name: b}').replace('Namespace: web', 'Namespace: b')}"
        )
        assert len(told("DSF193", scorers=zero, apps=two)) == 1
        assert told("DSF193", scorers=zero) == []

    def test_a_scorer_with_a_lock_is_looked_at_too(self) -> None:
        found = told(
            "DSF193", scorers=scaled("outputMin: 0, outputMax: 100", FULL), locks=LOCK, apps=APP
        )
        assert [str(item.position) for item in found] == ["scorers/s.yaml:9:43"]

    def test_without_the_score_a_cluster_may_be_left_out(self) -> None:
        zero = scaled("outputMin: 0, outputMax: 100")
        assert told("DSF193", scorers=zero, apps=APP + "  onMissingScore: Exclude\n") == []


def deadband(points: int, text: str = BASE["scorers/s.yaml"]) -> str:
    return text.replace("  scoring:", f"  publish: {{deadband: {points}}}\n  scoring:")


class TestDeadBands:
    @pytest.mark.parametrize(
        ("points", "stickiness", "number", "counts"),
        [
            (20, 20, True, 0),
            (21, 20, True, 1),
            (30, 50, True, 0),
            (2, 0, True, 0),  # DSF318
            (21, 20, False, 0),  # every cluster is chosen
        ],
    )
    def test_above_the_stickiness(
        self, points: int, stickiness: int, number: bool, counts: int
    ) -> None:
        apps = APP if number else app("{numberOfClusters: 1}", "{}")
        found = told("DSF366", scorers=deadband(points), apps=f"{apps}  stickiness: {stickiness}\n")
        assert [str(item.severity) for item in found] == ["warning"] * counts
        for item in found:
            assert (
                f"a stickiness of {stickiness} is below the dead band of its scores"
                f" ({points} points)"
            ) in item.message

    def test_the_weights_count(self) -> None:
        """One score of two, with a quarter of the weight: 40 points of it are 10 points of the
        mean.
        """
        other = deadband(40).replace("{name: cpu}", "{name: gpu}").replace("cpu_score", "gpu_score")
        scorers = f"{deadband(0)}---\n{other}"
        apps = app("[{scorer: cpu}]", "[{scorer: cpu, weight: 3}, {scorer: gpu}]")
        assert told("DSF366", scorers=scorers, apps=apps + "  stickiness: 25\n") == []
        heavy = app("[{scorer: cpu}]", "[{scorer: cpu}, {scorer: gpu, weight: 3}]")
        assert len(told("DSF366", scorers=scorers, apps=heavy + "  stickiness: 25\n")) == 1


class TestVersionsOfImages:
    @pytest.mark.parametrize(
        ("image", "counts"),
        [
            ("registry.example.com/gitops-dsf-agent:0.0.1", 1),
            ("registry.example.com:5000/team/gitops-dsf-agent:v0.0.1", 1),
            ("registry.example.com/gitops-dsf-agent:OURS", 0),
            ("registry.example.com/gitops-dsf-agent:vOURS", 0),
            ("registry.example.com/gitops-dsf-agent:main", 0),
            ("registry.example.com/gitops-dsf-agent", 0),
            (f"registry.example.com/gitops-dsf-agent@sha256:{'a' * 64}", 0),
            (f"registry.example.com/gitops-dsf-agent:0.0.1@sha256:{'a' * 64}", 1),
            # An image of their own, with its own versions.
            ("registry.example.com/our-agent:7.1.0", 0),
        ],
    )
    def test_of_the_agent(self, image: str, counts: int) -> None:
        from gitops_dsf import __version__

        image = image.replace("OURS", __version__)
        settings = SETTINGS.replace("{image: r.example.com/agent}", f"{{image: '{image}'}}")
        assert image in settings
        found = told("DSF194", settings=settings)
        assert [str(item.severity) for item in found] == ["notice"] * counts
        for item in found:
            assert item.message.startswith(
                "spec.agent.image is version 0.0.1, and this gitops-dsf is "
            )

    def test_of_the_reconciler_and_not_of_a_rollout(self) -> None:
        """A rollout has another version on purpose."""
        settings = SETTINGS.replace(
            "r.example.com/reconciler", "r.example.com/gitops-dsf-reconciler:0.0.1"
        )
        assert len(told("DSF194", settings=settings)) == 1
        image = "image: 'r.example.com/gitops-dsf-agent:0.0.1'"
        rollout = f"rollout: [{{clusterSelector: {{matchLabels: {{env: prod}}}}, {image}}}]"
        settings = SETTINGS.replace(
            "{image: r.example.com/agent}", f"{{image: r.example.com/agent, {rollout}}}"
        )
        assert told("DSF194", settings=settings) == []


PACED = SETTINGS.replace("spec: {", "spec: {pace: {concurrent: 2}, ")


class TestPace:
    @pytest.mark.parametrize(
        ("settings", "placement", "moves", "severity"),
        [
            (PACED, "{numberOfClusters: 1}", "", ""),
            (PACED, "{}", "", "notice"),
            (PACED, "{}", "  moves: {pace: Fleet}\n", "warning"),
            (PACED, "{}", "  moves: {pace: None}\n", ""),
            (PACED, "{}", "  moves: {timeoutSeconds: 600}\n", "notice"),
            (SETTINGS, "{}", "", ""),
            (SETTINGS, "{}", "  moves: {pace: Fleet}\n", ""),
        ],
    )
    def test_an_application_on_every_cluster_is_not_paced(
        self, settings: str, placement: str, moves: str, severity: str
    ) -> None:
        found = told(
            "DSF350", settings=settings, apps=app("{numberOfClusters: 1}", placement) + moves
        )
        assert [str(item.severity) for item in found] == ([severity] if severity else [])
        for item in found:
            assert item.message == (
                "the pace has no effect on web: without placement.numberOfClusters it"
                " runs on every eligible"
                " cluster"
            )

    def test_an_application_that_follows_a_placement_is_not_paced(self) -> None:
        shared = (
            "apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoredPlacement\nmetadata: {name: shared}\n"
            "spec: {scores: [{scorer: cpu}], placement: {numberOfClusters: 1}}\n"
        )
        follower = app("{numberOfClusters: 1}", "{ref: shared}").replace(
            "  scores: [{scorer: cpu}]\n", ""
        )
        [found] = told("DSF350", settings=PACED, apps=f"{follower}---\n{shared}")
        assert (
            found.message
            == "the pace has no effect on web: it follows a ScoredPlacement, which is not paced"
        )
        assert str(found.severity) == "notice"


class TestFactors:
    @pytest.mark.parametrize(
        ("query", "scale", "counts"),
        [
            ("100 * avg(up)", "{min: 0, max: 1}", 1),
            ("avg(up) * 100", "{min: 0, max: 1}", 1),
            ("100 * (1 - avg(rate(node_cpu_seconds_total[5m])))", "{min: 0, max: 1}", 1),
            ("(100 * avg(up))", "{min: 0, max: 1}", 1),
            ("100 - avg(up) * 100", "{min: 0, max: 1}", 1),
            ("avg(100 * up)", "{min: 0, max: 1}", 1),
            ("100 * avg(up)", "{min: 0, max: 100}", 0),
            ("avg(up)", "{min: 0, max: 1}", 0),
            ("avg(up) * 100 / 100", "{min: 0, max: 1}", 0),
            ("clamp_max(100 * avg(up), 1)", "{min: 0, max: 1}", 0),
            ("10 * avg(up)", "{min: 0, max: 1}", 0),
            ("avg(up * on (a) b)", "{min: 0, max: 1}", 0),
        ],
    )
    def test_percent_on_a_scale_of_1(self, query: str, scale: str, counts: int) -> None:
        text = BY_QUERY.replace("avg(up)", query) + f"  scoreRange: {scale}\n"
        found = told("DSF195", scorers=text)
        assert [str(item.severity) for item in found] == ["notice"] * counts
        for item in found:
            assert item.message == (
                "the query gives percent, and scoreRange ends at max: 1: all values above"
                " 1 become the same"
                " score"
            )
            assert item.hint == "write max: 100, or leave the factor of 100 out of the query"

    def test_with_a_scoring_api_the_query_is_not_the_score(self) -> None:
        text = BASE["scorers/s.yaml"].replace(
            "  scoring:",
            "  source:"
            " {host: 'http://prom:9090', params: {query: 100 * avg(up), range: 60, step: 60}}\n"
            "  scoring:",
        )
        assert told("DSF195", scorers=text) == []

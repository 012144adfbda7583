"""ScoredPlacements: their ranking is checked like an application's, and applications can share one."""

from collections.abc import Mapping

import pytest

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.repository.load import Loaded, load_text
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.resolve import resolve
from gitops_dsf.resolve.types import Resolved
from tests.unit.resolve.test_rules import BASE

APPLICATION = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoredApplication
metadata: {{name: {name}}}
spec:
  application: {{source: {{repoURL: "https://g.example.com/w.git", path: .}}, destinationNamespace: {name}}}
{more}
"""
PLACEMENT = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoredPlacement
metadata: {metadata}
spec:
{spec}
"""
RAW_PLACEMENT = """\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: shared, namespace: argocd}
spec: {}
"""
SCORES = "  scores: [{scorer: cpu}]"


def application(name: str = "web", *more: str) -> str:
    return APPLICATION.format(name=name, more="\n".join(more))


def placement(metadata: str = "{name: shared}", *spec: str) -> str:
    return PLACEMENT.format(metadata=metadata, spec="\n".join(spec or (SCORES,)))


def check(*documents: str, base: Mapping[str, str] = BASE) -> tuple[Resolved | None, list[Diagnostic]]:
    texts = {**base, "apps/x.yaml": "---\n".join(documents)}
    loaded = [load_text(text, file=file) for file, text in texts.items()]
    everything = Loaded(
        documents=tuple(document for part in loaded for document in part.documents),
        diagnostics=tuple(item for part in loaded for item in part.diagnostics),
    )
    return resolve(declare(everything))


def findings(*documents: str) -> list[tuple[str, int]]:
    """Code and line of each finding."""
    return [(item.code, item.position.line) for item in check(*documents)[1]]


def test_it_resolves_to_a_placement_without_an_application() -> None:
    found, diagnostics = check(placement("{name: training, namespace: kueue-system}"))
    assert diagnostics == []
    assert found is not None
    [only] = found.placements
    assert (only.namespace, only.name) == ("kueue-system", "training")
    assert (only.score_factor, only.steady_weight) == (5, 1)
    assert [score.resource_name for score in only.scores] == ["cpu-score"]
    assert found.applications == ()


def test_its_namespace_is_argocds_by_default() -> None:
    found, _ = check(placement())
    assert found is not None
    assert [item.namespace for item in found.placements] == ["argocd"]


def test_two_of_one_name_are_two_objects_in_two_namespaces() -> None:
    found, diagnostics = check(placement("{name: a, namespace: x}"), placement("{name: a, namespace: z}"))
    assert diagnostics == []
    assert found is not None
    assert [(item.namespace, item.name) for item in found.placements] == [("x", "a"), ("z", "a")]


def test_two_of_one_name_in_one_namespace_are_an_error() -> None:
    assert findings(placement("{name: a, namespace: x}"), placement("{name: a, namespace: x}")) == [
        ("DSF018", 9)
    ]


@pytest.mark.parametrize(
    "other",
    [
        application("shared", SCORES),
        RAW_PLACEMENT,
    ],
    ids=["ScoredApplication", "Placement"],
)
def test_it_renders_no_placement_that_something_else_renders(other: str) -> None:
    assert "DSF018" in [code for code, _ in findings(placement(), other)]


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("  scores: [{scorer: gpu}]", "DSF301"),
        ("  scores: [{scorer: cpu, dimension: other}]", "DSF303"),
        ("  scores: [{scorer: cpu, weight: -1}]", "DSF304"),
        (f"{SCORES}\n  stickiness: 7", "DSF305"),
        ("  scores: [{scorer: cpu, weight: 0}]", "DSF016"),
        ("  scores: [{scorer: cpu}, {scorer: cpu}]", "DSF308"),
        (f"{SCORES}\n  placement: {{clusterSets: [nowhere]}}", "DSF309"),
        (f"{SCORES}\n  placement: {{clusterSelector: {{matchLabels: {{env: test}}}}}}", "DSF310"),
        (f"{SCORES}\n  placement: {{clusterSelector: {{matchLabels: {{'-': test}}}}}}", "DSF206"),
        (f"{SCORES}\n  placement: {{numberOfClusters: 0}}", "DSF016"),
        (f"{SCORES}\n  moves: {{strategy: Keep}}", "DSF013"),
        ("  placement: {}", "DSF014"),
    ],
)
def test_its_ranking_is_checked_like_an_applications(spec: str, code: str) -> None:
    found = [item.code for item in check(placement("{name: shared}", spec))[1]]
    assert code in found


def test_a_long_name_is_no_label_value() -> None:
    assert findings(placement(f"{{name: {'a' * 64}}}")) == [("DSF311", 3)]


def test_annotations_do_not_steer_argocd() -> None:
    steering = "{name: a, annotations: {argocd.argoproj.io/sync-options: Prune=false}}"
    assert findings(placement(steering)) == [("DSF024", 3)]


def test_applications_share_one() -> None:
    found, diagnostics = check(
        placement(),
        application("web", "  placement: {ref: shared}"),
        application("shop", "  placement: {ref: shared}"),
    )
    assert diagnostics == []
    assert found is not None
    assert [item.name for item in found.placements] == ["shared"]
    assert [(item.metadata.name, item.follows) for item in found.applications] == [
        ("shop", "shared"),
        ("web", "shared"),
    ]


def test_an_unknown_reference_suggests_what_is_there() -> None:
    _, [found] = check(placement(), application("web", "  placement: {ref: shard}"))
    assert (found.code, found.message) == ("DSF326", "there is no ScoredPlacement shard in apps/")
    assert "shared" in found.hint
    assert (found.position.line, found.position.column) == (12, 20)


def test_a_reference_to_an_application_says_what_to_write() -> None:
    _, [found] = check(application("web", "  placement: {ref: shop}"), application("shop", SCORES))
    assert found.code == "DSF326"
    assert found.hint == "shop is a ScoredApplication; write a ScoredPlacement, and refer to that"


def test_a_reference_to_another_namespace_says_where_argocd_reads() -> None:
    _, [found] = check(
        placement("{name: shared, namespace: policies}"), application("web", "  placement: {ref: shared}")
    )
    assert (found.code, found.position.line) == ("DSF401", 12)
    assert "policies" in found.message
    assert "argocd" in found.message


def test_a_malformed_placement_is_not_an_unknown_one_as_well() -> None:
    found = findings(
        placement("{name: shared}", "  bogus: 1", SCORES), application("web", "  placement: {ref: shared}")
    )
    assert [code for code, _ in found] == ["DSF013"]


@pytest.mark.parametrize(
    "own",
    [SCORES, "  stickiness: 10", "  onMissingScore: Exclude"],
)
def test_a_reference_takes_no_ranking_beside_it(own: str) -> None:
    assert findings(placement(), application("web", "  placement: {ref: shared}", own)) == [("DSF327", 13)]


def test_each_field_beside_a_reference_is_named() -> None:
    _, found = check(
        placement(), application("web", "  placement: {ref: shared, numberOfClusters: 1, tolerations: []}")
    )
    assert [item.message.partition(" ")[0] for item in found] == [
        "spec.placement.numberOfClusters",
        "spec.placement.tolerations",
    ]


@pytest.mark.parametrize("more", ["", "  scores:", "  scores: []", "  placement: {ref: null}"])
def test_an_application_without_scores_and_reference_is_incomplete(more: str) -> None:
    [code] = [code for code, _ in findings(application("web", more))]
    assert code == ("DSF016" if more == "  scores: []" else "DSF014")


def test_replace_with_a_shared_placement_that_excludes_is_refused() -> None:
    _, [found] = check(
        placement("{name: shared}", SCORES, "  onMissingScore: Exclude"),
        application("web", "  placement: {ref: shared}", "  moves: {strategy: Replace}"),
    )
    assert found.code == "DSF306"
    assert "the ScoredPlacement shared" in found.message


FOLLOWER = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: raw, namespace: argocd}
spec:
  goTemplate: true
  generators:
    - clusterDecisionResource:
        configMapRef: gitops-dsf-placement-decisions
        labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: shared}}
  template:
    metadata: {name: "raw-{{.name}}"}
    spec: {project: default, destination: {name: "{{.name}}"}, source: {repoURL: "https://g.example.com/a.git", path: a}}
  syncPolicy: {applicationsSync: create-update}
"""  # noqa: E501


def test_a_raw_application_set_may_follow_one() -> None:
    assert findings(placement(), FOLLOWER) == []


def test_a_raw_application_set_cannot_follow_one_in_another_namespace() -> None:
    assert findings(placement("{name: shared, namespace: policies}"), FOLLOWER) == [("DSF401", 3)]

"""ScoredPlacements: what they resolve to, and that applications can share one."""

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.repository.load import Loaded, load_text
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.resolve import resolve
from gitops_dsf.resolve.types import Resolved
from tests.support.repositories import BASE

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
SCORES = "  scores: [{scorer: cpu}]"


def application(name: str = "web", *more: str) -> str:
    return APPLICATION.format(name=name, more="\n".join(more))


def placement(metadata: str = "{name: shared}", *spec: str) -> str:
    return PLACEMENT.format(metadata=metadata, spec="\n".join(spec or (SCORES,)))


def check(*documents: str) -> tuple[Resolved | None, list[Diagnostic]]:
    texts = {**BASE, "apps/x.yaml": "---\n".join(documents)}
    loaded = [load_text(text, file=file) for file, text in texts.items()]
    everything = Loaded(
        documents=tuple(document for part in loaded for document in part.documents),
        diagnostics=tuple(item for part in loaded for item in part.diagnostics),
    )
    return resolve(declare(everything))


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

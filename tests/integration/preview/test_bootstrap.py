"""What `diff` says of rendered/argocd, which Argo CD does not apply."""

from tests.integration.preview.gitfleet import GitFleet, Run, settings
from tests.integration.preview.test_scored_placements import placement


def said(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if "rendered/argocd" in line]


def test_a_new_namespace_of_a_placement_needs_the_project_first(fleet: GitFleet, run: Run) -> None:
    fleet.write("apps/training.yaml", placement("training", namespace="kueue-system"))
    (line,) = said(run.shown(fleet))
    assert line == (
        "- AppProject gitops-dsf in rendered/argocd, which people apply: run kubectl apply --server-side -f"
        " rendered/argocd; until then Argo CD refuses what its AppProjects do not allow"
    )
    fleet.commit("train")
    fleet.write("apps/more.yaml", placement("more", namespace="kueue-system"))
    assert said(run.shown(fleet)) == []


def test_an_application_that_goes_is_named(fleet: GitFleet, run: Run) -> None:
    fleet.write("gitops-dsf.yaml", settings(output={"shards": 2}))
    fleet.commit("two shards")
    fleet.write("gitops-dsf.yaml", settings())
    (line,) = said(run.shown(fleet))
    assert line == (
        "- rendered/argocd no longer has Application gitops-dsf-works-01, which Argo CD leaves on the hub:"
        " delete it there"
    )

"""doctor compares the ApplicationSets of a hub with the rendered ones, and names those that were refused."""

from copy import deepcopy
from typing import Any

from gitops_dsf.views.doctor.facts import Source
from gitops_dsf.views.doctor.finding import State
from tests.support.healthyhub import facts, run

SPEC: dict[str, Any] = {
    "goTemplate": True,
    "generators": [
        {"clusterDecisionResource": {"configMapRef": "a", "labelSelector": {"matchLabels": {"p": "web"}}}}
    ],
    "syncPolicy": {"applicationsSync": "create-update", "preserveResourcesOnDeletion": False},
    "template": {
        "metadata": {"name": "web-{{.name}}"},
        "spec": {
            "project": "default",
            "source": {"repoURL": "https://a", "path": "deploy"},
            "destination": {"name": "b"},
        },
    },
}


def a_set(spec: dict[str, Any], name: str = "web") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "argocd"}, "spec": spec}


def findings(
    live: list[dict[str, Any]], rendered: list[dict[str, Any]] | None, refused: str = ""
) -> list[Any]:
    failed = [{"kind": "ApplicationSet", "name": "web", "message": refused}] if refused else []
    delivery = {
        "metadata": {"name": "gitops-dsf-delivery", "namespace": "argocd"},
        "status": {"operationState": {"phase": "Failed", "syncResult": {"resources": failed}}},
    }
    changed = {Source.APPLICATION_SETS: tuple(live), Source.DELIVERY: (delivery,)}
    return list(
        run("applicationsets", facts(changed, rendered=None if rendered is None else tuple(rendered)))
    )


def test_one_that_is_as_rendered_is_fine_also_after_argocd_wrote_it() -> None:
    written = deepcopy(SPEC)
    del written["syncPolicy"]["preserveResourcesOnDeletion"]
    empty = {"metadata": {}, "spec": {"destination": {}, "project": ""}}
    written["generators"][0]["clusterDecisionResource"]["template"] = empty
    [found] = findings([a_set(written)], [a_set(SPEC)])
    assert found.state is State.OK
    assert found.message.endswith("and each is as it was rendered")


def test_an_old_one_is_told_with_the_fields_that_differ() -> None:
    old = deepcopy(SPEC)
    old["template"]["spec"]["source"]["path"] = "old"
    [found] = findings([a_set(old)], [a_set(SPEC)])
    assert found.state is State.WARNING
    assert (
        "ApplicationSet web on the hub differs from the rendered one in spec.template.spec.source.path"
        in found.message
    )
    assert "apply --dry-run=server -f rendered/delivery/applicationset.web.yaml" in found.fix


def test_one_that_is_not_there_is_told() -> None:
    [found] = findings([], [a_set(SPEC)])
    assert "ApplicationSet web is not on the hub" in found.message


def test_the_refusal_of_the_api_server_is_named_without_a_rendered_tree() -> None:
    [found] = findings(
        [a_set(SPEC)], None, refused="spec.template.spec.source.helm.valueFiles must be of type array"
    )
    assert found.state is State.ERROR
    assert (
        "the old one stays on the hub: spec.template.spec.source.helm.valueFiles must be of type array"
        in found.message
    )


def test_without_a_tree_nothing_is_compared() -> None:
    [found] = findings([a_set({})], None)
    assert (found.state, "as it was rendered" in found.message) == (State.OK, False)

"""What a ScoredApplication says about the Applications that its ApplicationSet generates."""

from pathlib import Path
from typing import Any

from tests.support.rendering import application, objects, rendered, scorer

STATE = {"enabled": True, "state": {"enabled": True}, "gitSecret": {"name": "push"}}
GIT = {"url": "https://github.com/acme/fleet.git", "targetRevision": "main"}


def application_set(root: Path, **fields: Any) -> Any:
    """The ApplicationSet of an application with these fields, with a board to link to."""
    app = application("web")
    app["spec"]["application"] |= fields.pop("application", {})
    app["spec"] |= fields
    result = rendered(root, scorer("cpu"), app, git=GIT, reconciler=STATE)
    documents = objects(result).values()
    [rendered_set] = [item for item in documents if item["kind"] == "ApplicationSet"]
    return rendered_set


def test_without_a_template_applications_look_as_ever(tmp_path: Path) -> None:
    template = application_set(tmp_path)["spec"]["template"]
    assert template["metadata"]["name"] == "web-{{.name}}"
    assert template["metadata"]["labels"] == {"gitops-dsf.io/application": "web"}
    assert "finalizers" not in template["metadata"]
    assert template["spec"]["destination"]["name"] == "{{.name}}"


def test_applications_of_another_set_keep_their_look(tmp_path: Path) -> None:
    found = application_set(
        tmp_path,
        application={
            "template": {
                "name": "{{.name}}-shop",
                "labels": {"velero.io/exclude-from-backup": "true"},
                "annotations": {"team": "{{.name}}"},
                "finalizers": ["resources-finalizer.argocd.argoproj.io/background"],
                "destination": "Server",
                "marks": "None",
            },
            "applicationSet": {
                "configMapRef": "acm-placement",
                "preserveResourcesOnDeletion": True,
                "preservedFields": {"labels": ["owner"]},
                "ignoreApplicationDifferences": [{"jsonPointers": ["/spec/syncPolicy"]}],
            },
            "ignoreDifferences": [
                {"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}
            ],
            "info": [{"name": "runbook", "value": "https://example.com/{{.name}}"}],
            "revisionHistoryLimit": 3,
        },
        moves={"strategy": "Replace", "refreshSeconds": 180},
    )
    spec = found["spec"]
    assert spec["template"]["metadata"] == {
        "name": "{{.name}}-shop",
        "labels": {"velero.io/exclude-from-backup": "true"},
        "annotations": {"team": "{{.name}}"},
        "finalizers": ["resources-finalizer.argocd.argoproj.io/background"],
    }
    assert spec["template"]["spec"]["destination"] == {
        "server": "{{.server}}",
        "namespace": "web",
    }
    assert spec["template"]["spec"]["ignoreDifferences"][0]["jsonPointers"] == ["/spec/replicas"]
    assert spec["template"]["spec"]["info"] == [
        {"name": "runbook", "value": "https://example.com/{{.name}}"}
    ]
    assert spec["template"]["spec"]["revisionHistoryLimit"] == 3
    assert spec["syncPolicy"] == {"applicationsSync": "sync", "preserveResourcesOnDeletion": True}
    assert spec["preservedFields"] == {"labels": ["owner"]}
    assert spec["ignoreApplicationDifferences"] == [{"jsonPointers": ["/spec/syncPolicy"]}]
    [generator] = spec["generators"]
    assert generator["clusterDecisionResource"]["configMapRef"] == "acm-placement"


def test_our_mark_is_ours(tmp_path: Path) -> None:
    """The reconciler finds copies by it, so that nobody may write another one."""
    labels = {"gitops-dsf.io/application": "another", "team": "shop"}
    found = application_set(tmp_path, application={"template": {"labels": labels}})
    assert found["spec"]["template"]["metadata"]["labels"] == {
        "gitops-dsf.io/application": "web",
        "team": "shop",
    }

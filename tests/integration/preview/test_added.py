"""What a reviewer sees of a new object: where metrics go, what is asked, and what is deployed where."""

from typing import Any

from tests.integration.preview.gitfleet import GitFleet, Run, application, scorer

EVERYTHING = '{__name__=~".+"}'
OUTSIDE = "https://scores.attacker.example.com"
SET = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "ApplicationSet",
    "metadata": {"name": "tools", "namespace": "argocd"},
    "spec": {
        "goTemplate": True,
        "generators": [
            {
                "clusterDecisionResource": {
                    "configMapRef": "gitops-dsf-placement-decisions",
                    "labelSelector": {
                        "matchLabels": {"cluster.open-cluster-management.io/placement": "guestbook"}
                    },
                    "requeueAfterSeconds": 60,
                }
            }
        ],
        "syncPolicy": {"applicationsSync": "create-update"},
        "template": {
            "metadata": {"name": "tools-{{.clusterName}}"},
            "spec": {
                "project": "default",
                "source": {"repoURL": "https://git.example.com/tools.git", "path": "tools"},
                "destination": {"server": "{{.server}}", "namespace": "tools"},
            },
        },
    },
}


def shown(found: list[dict[str, Any]], name: str) -> tuple[str, dict[str, tuple[Any, Any]]]:
    (item,) = (one for one in found if name in one.get("names", [one.get("name")]))
    return item["change"], {field["path"]: (field["before"], field["after"]) for field in item["fields"]}


def test_a_new_scorer_shows_its_query_and_where_metrics_go(fleet: GitFleet, run: Run) -> None:
    new = scorer("wide", query=EVERYTHING, configURL=f"{OUTSIDE}/config")
    new["spec"]["scoring"]["host"] = OUTSIDE
    fleet.write("scorers/wide.yaml", new)
    found = run.compared(fleet)["scorers"]
    assert shown(found, "wide") == (
        "added",
        {
            "configURL": (None, f"{OUTSIDE}/config"),
            "scoring.host": (None, OUTSIDE),
            "source.host": (None, "http://prometheus:9090"),
            "source.params.query": (None, EVERYTHING),
        },
    )
    for form in ("text", "markdown"):
        printed = run.shown(fleet, "-o", form)
        assert EVERYTHING in printed
        assert OUTSIDE in printed


def test_a_new_application_shows_what_it_deploys_and_where(fleet: GitFleet, run: Run) -> None:
    fleet.write("apps/miner.yaml", application("miner"))
    fleet.write("apps/tools.yaml", SET)
    found = run.compared(fleet)["sources"]
    assert shown(found, "miner") == (
        "added",
        {
            "spec.application.destinationNamespace": (None, "miner"),
            "spec.application.source.path": (None, "miner"),
            "spec.application.source.repoURL": (None, "https://git.example.com/apps.git"),
            "spec.application.source.targetRevision": (None, "main"),
        },
    )
    assert shown(found, "argocd/tools") == (
        "added",
        {
            "spec.template.spec.destination.namespace": (None, "tools"),
            "spec.template.spec.source.path": (None, "tools"),
            "spec.template.spec.source.repoURL": (None, "https://git.example.com/tools.git"),
        },
    )
    for form in ("text", "markdown"):
        printed = run.shown(fleet, "-o", form)
        assert "https://git.example.com/tools.git" in printed
        assert "https://git.example.com/apps.git" in printed

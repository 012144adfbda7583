"""ApplicationSets that are written by hand, and what the rules say of them."""

import json

import yaml

from gitops_dsf.diagnostics import Diagnostic
from tests.support.repositories import findings

REFUSED = (
    "DSF014",
    "DSF016",
    "DSF104",
    "DSF335",
    "DSF336",
    "DSF346",
    "DSF347",
    "DSF411",
    "DSF412",
    "DSF413",
)
"""Codes of what Argo CD would refuse, or could not use."""


DECISION = {
    "configMapRef": "gitops-dsf-placement-decisions",
    "labelSelector": {"matchLabels": {"cluster.open-cluster-management.io/placement": "p"}},
}


BY_DECISION = {"clusterDecisionResource": DECISION}


SOURCE = {"repoURL": "https://git.example.com/web.git", "path": "deploy"}


CLUSTERS = "---\n".join(
    (
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata:"
        f" {{name: {name}}}\n"
    )
    for name in ("berlin", "oslo", "paris")
)


def placement(spec: str = "{clusterSets: [global]}") -> str:
    return (
        "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\n"
        f"metadata: {{name: p, namespace: argocd}}\nspec: {spec}\n"
    )


def written(
    *,
    name: str = "web-{{.name}}",
    destination: object = None,
    source: object = None,
    generators: object = None,
    more: object = None,
    placed: str | None = None,
    **template: object,
) -> list[tuple[str, str, str]]:
    """Code, text at the place, and message of what Argo CD would refuse in a set of three
    clusters.
    """
    spec = {
        "goTemplate": True,
        "generators": [BY_DECISION] if generators is None else generators,
        "syncPolicy": {"applicationsSync": "create-update"},
        "template": {
            "metadata": {"name": name},
            "spec": {
                "project": "default",
                "destination": {"name": "{{.name}}", "namespace": "web"}
                if destination is None
                else destination,
                **(
                    {"source": SOURCE}
                    if source is None
                    else {}
                    if source == "none"
                    else {"source": source}
                ),
                **template,
            },
        },
        **(more or {}),  # type: ignore[dict-item]
    }
    document = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": "web"},
        "spec": spec,
    }
    text = yaml.safe_dump(json.loads(json.dumps(document)), sort_keys=False, width=500)
    apps = text + "---\n" + (placement() if placed is None else placed)
    return [
        (
            item.code,
            text.splitlines()[item.position.line - 1].strip().removeprefix("- "),
            item.message,
        )
        for item in findings(apps=apps, clusters=CLUSTERS)
        if item.code in REFUSED
    ]


def set_named(name: str) -> str:
    template = {
        "metadata": {"name": name},
        "spec": {"project": "default", "destination": {"name": "{{name}}"}, "source": SOURCE},
    }
    document = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": "web"},
        "spec": {
            "generators": [BY_DECISION],
            "syncPolicy": {"applicationsSync": "create-update"},
            "template": template,
        },
    }
    return yaml.safe_dump(document) + "---\n"


def told_of(*, apps: str, clusters: str = CLUSTERS) -> list[Diagnostic]:
    return [item for item in findings(apps=apps, clusters=clusters) if item.code in REFUSED]


def told(*codes_and_lines: tuple[str, str], among: list[tuple[str, str, str]]) -> bool:
    return [(code, line) for code, line, _ in among] == list(codes_and_lines)

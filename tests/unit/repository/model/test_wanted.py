"""Ambiguous values: the hint says what the field takes, and nothing follows from them.

Aspects covered: text by type and by name, choices, numbers and switches, places that no model knows,
no follow-up findings.
"""

from pathlib import Path

import pytest

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.pipeline import check
from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.model.validate import declare
from tests.support import fleets
from tests.support.rendering import application, scorer

SCORER = (
    "apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1\nkind: DynamicScorer\nmetadata: {name:"
    " cpu}\nspec:\n  description: d\n  configURL: http://a\n  configSyncMode: None\n"
)
CLUSTER = "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
PLACEMENT = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: p}\n"
SET = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\n"


def disputes(text: str) -> list[Diagnostic]:
    return [item for item in declare(load_text(text, file="x.yaml")).diagnostics if item.code == "DSF004"]


@pytest.mark.parametrize(
    ("marked", "hint"),
    [
        (CLUSTER + "metadata: {name: c, labels: {env: «on»}}\n", 'quote it: "on"'),
        (CLUSTER + "metadata: {name: c, annotations: {build: «12e03»}}\n", 'quote it: "12e03"'),
        (CLUSTER + "metadata: {name: c}\nspec: {taints: [{key: a, value: «off»}]}\n", 'quote it: "off"'),
        (
            CLUSTER + "metadata: {name: c}\nstatus: {clusterClaims: [{name: a, value: «017»}]}\n",
            'quote it: "017"',
        ),
        (SCORER + "  clusterSelector: {matchLabels: {env: «yes»}}\n", 'quote it: "yes"'),
        (
            SCORER + "  clusterSelector: {matchExpressions: [{key: env, operator: In, values: [«yes»]}]}\n",
            'quote it: "yes"',
        ),
        (SCORER + "  suspend: «on»\n", "write true"),
        (SCORER + "  suspend: «017»\n", "write true or false"),
        (SCORER + "  scoreTTLSeconds: «1_000»\n", "write 1000"),
        (SCORER + "  scoreTTLSeconds: «off»\n", "write a number"),
        (SCORER + "  scoring: {params: {interval: «017»}}\n", "write 15"),
        (SCORER + "  location: «no»\n", "write Internal or External"),
        (SCORER + "  scoring: {arguments: {debug: «on»}}\n", 'quote it: "on", or write true'),
        (
            PLACEMENT
            + "spec: {predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {a: «on»}}}}]}\n",
            'quote it: "on"',
        ),
        (PLACEMENT + "spec: {tolerations: [{key: «on», operator: Exists}]}\n", 'quote it: "on"'),
        (PLACEMENT + "spec: {numberOfClusters: «017»}\n", 'quote it: "017", or write 15'),
        (SET + "spec: {template: {metadata: {labels: {a: «on»}}}}\n", 'quote it: "on"'),
        ("kind: Unheard\nmetadata: {labels: {a: «on»}}\n", 'quote it: "on"'),
        ("kind: Unheard\nsize: «on»\n", 'quote it: "on", or write true'),
    ],
)
def test_the_hint_says_what_the_field_takes(marked: str, hint: str) -> None:
    before, _, _ = marked.partition("«")
    [found] = disputes(marked.replace("«", "").replace("»", ""))
    place = (before.count("\n") + 1, len(before) - before.rfind("\n"))
    assert (found.position.line, found.position.column, found.hint) == (*place, hint)


LABELLED = {"matchLabels": {"env": "prod"}}


@pytest.mark.parametrize("folder", ["clusters", "scorers", "config", "apps"])
def test_nothing_follows_from_a_value_that_readers_disagree_about(folder: str, tmp_path: Path) -> None:
    """The label that was meant may be the one that is looked for: no selector is blamed for finding
    nothing.
    """
    settings = {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "FleetRepository",
        "metadata": {"name": "fleet"},
        "spec": {
            "git": {"url": "https://git.example.com/fleet.git"},
            "agent": {"image": "r.example.com/agent"},
            "reconciler": {"image": "r.example.com/reconciler"},
        },
    }
    placement = {"numberOfClusters": 1, "clusterSets": ["default"], "clusterSelector": LABELLED}
    masks = {
        "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
        "kind": "DynamicScoringConfig",
        "metadata": {"name": "dynamic-scoring-config"},
        "spec": {"masks": [{"clusterSelector": LABELLED, "scoreName": "other"}]},
    }
    documents = (
        fleets.cluster("c0", env="prod"),
        scorer("cpu", clusterSelector=LABELLED, scoreRange={"min": 0, "max": 1}),
        scorer("other", scoreRange={"min": 0, "max": 1}),
        fleets.cluster("c1"),
        masks,
        application("web", placement=placement),
    )
    root = fleets.write(tmp_path, fleets.FleetSources(settings=settings, documents=documents))
    assert check(root).diagnostics == ()
    for path in (root / folder).iterdir():
        path.write_text(path.read_text().replace('"env": "prod"', "env: on"))
    assert [(item.code, item.hint) for item in check(root).diagnostics] == [("DSF004", 'quote it: "on"')]

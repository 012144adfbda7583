"""Documents that are carried as they are: unknown fields at every depth, scores that nobody publishes,
templated projects.
"""

from pathlib import Path

import pytest

from gitops_dsf.resolve.rules.placements import SEARCHED_OCM
from tests.unit.resolve.test_rules import (
    ADD_ON,
    CONFIG,
    LABELS,
    TEMPLATE,
    findings,
    masks,
    placement,
    policy,
    scorer,
)
from tests.unit.resolve.test_rules_elsewhere import app, judged

SET = f"""\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: a}}
spec:
  goTemplate: true
  syncPolicy: {{applicationsSync: create-update}}
  generators: [{{clusterDecisionResource: {{{CONFIG}, {LABELS}}}}}]
  {TEMPLATE}
"""
BOTH = f"{placement('{}')}---\n"


def changed(old: str, new: str) -> str:
    assert old in SET
    return BOTH + SET.replace(old, new)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (changed("  goTemplate:", "  «goTemplat:"), "DSF013", "goTemplat is not a field of spec"),
        (
            changed("{applicationsSync", "{«applicationSync"),
            "DSF013",
            "applicationSync is not a field of spec.syncPolicy",
        ),
        (changed(CONFIG, f"{CONFIG}, «requeueAfter: 5"), "DSF013", "requeueAfter is not a field"),
        (
            changed("destination: {name: a}", "destination: {«cluster: a}"),
            "DSF013",
            "cluster is not a field of spec.template.spec.destination",
        ),
        (changed("project: a", "project: «'{{.x}}'"), "DSF404", "a templated project"),
        (
            changed(LABELS, LABELS + ", template: {spec: {project: «'{{.x}}'}}"),
            "DSF404",
            "a templated project",
        ),
        (
            changed("  goTemplate", "  templatePatch: |\n    spec:\n      project: «{{.x}}\n  goTemplate"),
            "DSF404",
            "a templated project",
        ),
        (
            changed("  goTemplate", "  templatePatch: '{spec: {«project: a}}'\n  goTemplate").replace(
                "«", ""
            ),
            "",
            "",
        ),
        (changed(CONFIG, "configMapRef: «{name: x}"), "DSF321", "configMapRef must be text"),
        (
            changed("generators", "x: 1\n  y").replace("\n  y: [{", "\n  # [{").replace("  x: 1", "  «x: 1"),
            "DSF013",
            "x is not a field",
        ),
        (
            changed(
                "matchLabels: {cluster.open-cluster-management.io/placement: p}",
                "matchExpressions: [{key: cluster.open-cluster-management.io/placement, operator: In, values:"
                " [p, «q]}]",
            ),
            "DSF407",
            "there is no Placement q",
        ),
    ],
)
def test_application_sets(text: str, code: str, words: str) -> None:
    found, places = judged({"apps": text})
    matching = [item for item in found if item.code == code]
    assert bool(code) == bool(matching)
    assert all(words in item.message for item in matching[:1])
    assert places == {(item.position.line, item.position.column) for item in matching}


def test_what_the_api_server_wants_is_missing() -> None:
    text = (
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\nspec: {goTemplate:"
        " true}\n"
    )
    assert [(item.code, str(item.position)) for item in findings(apps=text)] == [
        ("DSF014", "apps/x.yaml:4:1")
    ] * 2


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ('{numberOfClusters: "2"}', "remove the quotes"),
        ("{clusterSets: global}", "write [global]"),
        ("{clusterSets: [1.10]}", 'quote it: "1.10"'),
        ("{tolerations: [3]}", "its fields are effect, key, operator, tolerationSeconds, value"),
    ],
)
def test_a_wrong_shape_is_told_with_what_to_write(spec: str, hint: str) -> None:
    [item] = findings(apps=placement(spec))
    assert (item.code, item.hint) == ("DSF321", hint)


@pytest.mark.parametrize(
    ("changes", "sets", "expected"),
    [
        ({"scorers": scorer("  scoreRange", "  scoreDestination: None\n  scoreRange")}, "", ["DSF302"]),
        ({"scorers": scorer("  scoreRange", "  suspend: true\n  scoreRange")}, "", ["DSF322"]),
        (
            {"config": masks("{clusterName: prod-1, scoreName: cpu_score}")},
            "clusterSets: [global], ",
            ["DSF205", "DSF302"],
        ),
        ({"config": masks("{clusterName: prod-1, scoreName: cpu_score}")}, "", ["DSF205"]),
        ({}, "clusterSets: [global], ", []),
    ],
)
def test_scores_that_a_placement_cannot_find(changes: dict[str, str], sets: str, expected: list[str]) -> None:
    text = policy(f"{{scoreCoordinate: {ADD_ON}, weight: 5}}").replace("spec: {", f"spec: {{{sets}")
    assert sorted(item.code for item in findings(**changes, apps=text)) == expected


@pytest.mark.parametrize(
    ("policy_text", "expected"),
    [
        (
            (
                "{automated: {prune: true, selfHeal: true}, syncOptions: [CreateNamespace=true], retry:"
                " {limit: 5, backoff: {duration: 5s}}}"
            ),
            [],
        ),
        ("{«automatd: {}}", ["DSF013"]),
        ("{automated: {«selfheal: true}}", ["DSF013"]),
    ],
)
def test_sync_policies(policy_text: str, expected: list[str]) -> None:
    found, places = judged({"apps": app("path: deploy}", f"path: deploy}}, syncPolicy: {policy_text}")})
    assert [item.code for item in found] == expected
    assert places == {(item.position.line, item.position.column) for item in found}


@pytest.mark.parametrize(
    "field", ["sortBy: {}", "scoreRateLimit: {}", "spreadPolicy: {spreadConstraints: []}", "spreadPolicy:"]
)
def test_a_field_that_ocm_never_reads_is_named(field: str) -> None:
    found = [
        item
        for item in findings(apps=placement(f"{{numberOfClusters: 1, {field}}}"))
        if item.code == "DSF325"
    ]
    assert [item.message for item in found] == (
        []
        if field.endswith(":")
        else [f"{field.partition(':')[0]} has no effect: no controller of OCM reads it"]
    )


def test_the_fields_were_looked_for_in_the_pinned_ocm() -> None:
    pins = (Path(__file__).parents[2] / "hub" / "go.mod").read_text(encoding="utf-8")
    assert f"open-cluster-management.io/ocm {SEARCHED_OCM}\n" in pins, (
        "tests/hub/test_unread_fields.py says what the new pin reads"
    )

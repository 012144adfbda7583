"""Documents to declared objects: fields, types, kinds, and words that people understand."""

import pytest

from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.load.names import FOLDER_OF_KIND
from gitops_dsf.repository.model.kinds import KINDS
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.resolve import resolve

HEAD = (
    "apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1\nkind: DynamicScorer\nmetadata: {name:"
    " cpu}\n"
)
SPEC = "spec:\n  description: d\n  configURL: http://a\n  configSyncMode: None\n"


def findings(text: str, file: str = "scorers/a.yaml") -> list[Diagnostic]:
    return list(declare(load_text(text, file=file)).diagnostics)


def test_every_kind_has_a_folder() -> None:
    assert set(FOLDER_OF_KIND) == {kind for _, kind in KINDS}


@pytest.mark.parametrize(
    ("rest", "code", "column", "message", "hint"),
    [
        ("  suspent: true\n", "DSF013", 3, "suspent is not a field of spec", "did you mean suspend?"),
        (
            "  source: {zzz: 1}\n",
            "DSF013",
            12,
            "zzz is not a field of spec.source",
            "known here: ref, type, host, path, params, auth",
        ),
        (
            "  suspend: 'true'\n",
            "DSF015",
            12,
            'spec.suspend must be true or false, not the text "true"',
            "remove the quotes",
        ),
        (
            "  scoreTTLSeconds: '900'\n",
            "DSF015",
            20,
            'spec.scoreTTLSeconds must be a whole number, not the text "900"',
            "remove the quotes",
        ),
        (
            "  scoreTTLSeconds: 1.5\n",
            "DSF015",
            20,
            "spec.scoreTTLSeconds must be a whole number, not the number 1.5",
            "scoreTTLSeconds: Seconds",
        ),
        (
            "  scoreDimensionFormat: 5\n",
            "DSF015",
            25,
            "spec.scoreDimensionFormat must be text, not the number 5",
            'quote it: "5"',
        ),
        (
            "  scoreDimensionFormat: true\n",
            "DSF015",
            25,
            "spec.scoreDimensionFormat must be text, not true",
            'quote it: "true"',
        ),
        (
            "  description2:\n",
            "DSF013",
            3,
            "description2 is not a field of spec",
            "did you mean description?",
        ),
        (
            "  scoreDimensionFormat: 1.10\n",
            "DSF015",
            25,
            "spec.scoreDimensionFormat must be text, not the number 1.10",
            'quote it: "1.10"',
        ),
        (
            "  scoreDimensionFormat: 0x1F\n",
            "DSF015",
            25,
            "spec.scoreDimensionFormat must be text, not the number 0x1F",
            'quote it: "0x1F"',
        ),
        (
            "  scoreAggregation: ''\n",
            "DSF016",
            21,
            "spec.scoreAggregation: an empty text is not allowed",
            "write Last",
        ),
        (
            "  source: [a]\n",
            "DSF015",
            11,
            "spec.source must be an object, not a list",
            "source: Where the metrics come from",
        ),
        (
            "  scoreAggregation: Avg\n",
            "DSF016",
            21,
            "spec.scoreAggregation: Avg is not allowed",
            "write Last, Mean, Min, Max or Sum",
        ),
        (
            "  publish: {deadband: 201}\n",
            "DSF016",
            23,
            "spec.publish.deadband: 201 is not allowed",
            "write 200 or less",
        ),
        (
            "  scoreRange: {min: 1}\n",
            "DSF014",
            3,
            "spec.scoreRange.max is missing",
            "add max (Raw score that becomes outputMax)",
        ),
        (
            "  source: {params: {range: 1h}}\n",
            "DSF015",
            28,
            'spec.source.params.range must be a whole number, not the text "1h"',
            "write 3600: range is a number of seconds",
        ),
        (
            "  scoreTTLSeconds: 1d12h\n",
            "DSF015",
            20,
            'spec.scoreTTLSeconds must be a whole number, not the text "1d12h"',
            "write 129600: scoreTTLSeconds is a number of seconds",
        ),
        (
            "  source: {suspend: true}\n",
            "DSF013",
            12,
            "suspend is not a field of spec.source",
            "did you mean spec.suspend?",
        ),
        (
            "  source: {query: up}\n",
            "DSF013",
            12,
            "query is not a field of spec.source",
            "did you mean spec.source.params.query?",
        ),
        (
            "  path: /scoring\n",
            "DSF013",
            3,
            "path is not a field of spec",
            "did you mean spec.source.path or spec.scoring.path?",
        ),
        (
            "  labels: {team: a}\n",
            "DSF013",
            3,
            "labels is not a field of spec",
            "known here: description",
        ),
        (
            "scoreDestination: None\n",
            "DSF013",
            1,
            "scoreDestination is not a field of DynamicScorer",
            "did you mean spec.scoreDestination?",
        ),
        ("  scoreRange: {min: 1, max: 1}\n", "DSF016", 15, "spec.scoreRange: min 1 must be below max 1", ""),
        (
            "  scoreRange: {min: .inf, max: 1}\n",
            "DSF004",
            21,
            ".inf: not a number that JSON",
            "write a number",
        ),
        (
            "  source: {params: {step: -1}}\n",
            "DSF107",
            27,
            "spec.source.params.step is -1; it cannot be negative",
            "step: Seconds between",
        ),
    ],
)
def test_mistakes_are_told_in_words(rest: str, code: str, column: int, message: str, hint: str) -> None:
    [item] = findings(HEAD + SPEC + rest)
    assert (item.code, item.position.line, item.position.column) == (code, 8, column)
    assert item.message.startswith(message)
    assert item.hint.startswith(hint)


def test_a_missing_choice_is_told_with_its_values() -> None:
    [item] = findings(HEAD + SPEC.replace("  configSyncMode: None\n", ""))
    assert (item.code, item.hint) == ("DSF014", "add configSyncMode: Full or None")


def test_nothing_of_the_validator_shows() -> None:
    text = (
        HEAD + "spec: {description: [], configURL: {}, configSyncMode: 3, "
        "source: {type: x, params: {range: a}}, scoring: 1, publish: {deadband: a}}\n"
    )
    words = " ".join(f"{item.message} {item.hint}" for item in findings(text)).lower()
    assert not any(
        word in words
        for word in (
            "input should",
            "pydantic",
            "literal",
            "dict",
            "none required",
            "extra_forbidden",
            "validation",
        )
    )


def test_what_the_api_server_adds_is_accepted() -> None:
    exported = HEAD.replace(
        "{name: cpu}", "{name: cpu, uid: x, generation: 2, creationTimestamp: null, managedFields: [{}]}"
    )
    assert findings(exported + SPEC + "status: {healthStatus: Active}\n") == []


def test_empty_fields_count_as_absent_as_they_do_in_kubernetes() -> None:
    assert findings(HEAD + SPEC + "  source:\n  scoring: {params: }\n") == []
    [item] = findings(HEAD + SPEC.replace("http://a", ""))
    assert (item.code, item.message) == ("DSF014", "spec.configURL is missing")


def test_unions_report_one_finding_for_one_place() -> None:
    text = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoredApplication
metadata: {name: web}
spec:
  application: {source: {repoURL: a}, destinationNamespace: web}
  placement: {decisionGroups: {clustersPerDecisionGroup: VALUE}}
  scores: [{scorer: a}]
"""
    [text_value] = findings(text.replace("VALUE", '"5"'), "apps/a.yaml")
    assert (text_value.code, text_value.position.column) == ("DSF016", 58)
    assert "percentage" in text_value.hint
    [list_value] = findings(text.replace("VALUE", "[1]"), "apps/a.yaml")
    assert list_value.code == "DSF015"


@pytest.mark.parametrize(
    ("text", "code", "message", "hint"),
    [
        ("kind: DynamicScorer\n", "DSF014", "apiVersion is missing", "add apiVersion"),
        ("apiVersion: 1\nkind: X\n", "DSF015", "apiVersion must be text", "write it as text"),
        ("kind: DynamicScorer\napiVersion: null\n", "DSF014", "apiVersion is missing", "add apiVersion"),
        ("apiVersion: apps/v1\nmetadata: {name: a}\n", "DSF014", "kind is missing", "add kind"),
        ("apiVersion: v1\nkind: List\n", "DSF012", "kind List", "write each item as a document"),
        (
            "apiVersion: v1\nkind: ManagedClustr\n",
            "DSF012",
            "kind ManagedClustr",
            "did you mean ManagedCluster?",
        ),
        (
            "apiVersion: v1\nkind: applicationset\n",
            "DSF012",
            "kind applicationset",
            "did you mean ApplicationSet?",
        ),
        ("apiVersion: v1\nkind: Placements\n", "DSF012", "kind Placements", "did you mean Placement?"),
        ("apiVersion: v1\nkind: no kind\n", "DSF012", "kind no kind", "known kinds:"),
        ("apiVersion: gitops-dsf.io/v1alpha1\nkind: Fleet\n", "DSF012", "kind Fleet", "known kinds:"),
        (
            "apiVersion: gitops-dsf.io/v2\nkind: FleetRepository\n",
            "DSF012",
            "FleetRepository is not known",
            "write apiVersion: gitops-dsf",
        ),
        (
            HEAD.replace("v1alpha1", "v1"),
            "DSF012",
            "DynamicScorer is not known in apiVersion",
            "write apiVersion: dynamic-scoring",
        ),
    ],
)
def test_unknown_kinds_and_versions(text: str, code: str, message: str, hint: str) -> None:
    [item] = findings(text)
    assert (item.code, item.severity) == (code, Severity.ERROR)
    assert item.message.startswith(message)
    assert item.hint.startswith(hint)


@pytest.mark.parametrize(
    ("text", "column", "hint"),
    [
        (
            "apiVersion: cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSetBinding\n",
            "2:7",
            "bindings are rendered",
        ),
        (
            "apiVersion: policy.open-cluster-management.io/v1\nkind: PlacementBinding\n",
            "2:7",
            "nothing is rendered for it",
        ),
        (
            "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: PlacementDecision\n",
            "2:7",
            "nothing is rendered for it",
        ),
        (
            "apiVersion: internal.open-cluster-management.io/v1beta1\nkind: ManagedClusterInfo\n",
            "2:7",
            "nothing is rendered for it",
        ),
        ("apiVersion: argoproj.io/v1alpha1\nkind: Application\n", "2:7", "write a ScoredApplication"),
        ("apiVersion: v1\nkind: Secret\n", "2:7", "tokens live on the spokes"),
        ("apiVersion: apps/v1\nkind: Deployment\n", "2:7", "nothing is rendered for it"),
        ("apiVersion: v2\nname: a-chart\nversion: 1.0.0\n", "1:13", "nothing is rendered for it"),
        ("replicas: 2\nimage: {tag: latest}\n", "1:1", "nothing is rendered for it"),
    ],
)
def test_what_is_not_ours_is_passed_over_with_a_warning(text: str, column: str, hint: str) -> None:
    """It hides nothing, so it must not stop the render; and no reference is excused by it."""
    declared = declare(
        load_text(text + "metadata: {name: a}\n" if "kind" in text else text, file="apps/a.yaml")
    )
    [item] = declared.diagnostics
    assert (item.code, item.severity, str(item.position)) == (
        "DSF012",
        Severity.WARNING,
        f"apps/a.yaml:{column}",
    )
    assert item.hint.startswith(hint)
    assert declared.left_out == frozenset()


@pytest.mark.parametrize("spec", ["spec:", "spec: {}", "spec: [a]", "spec: text", ""])
def test_nothing_is_said_of_a_value_that_nobody_wrote(spec: str) -> None:
    found = resolve(declare(load_text(f"{HEAD}{spec}\n", file="scorers/a.yaml")))[1]
    ours = [item for item in found if item.position.file == "scorers/a.yaml"]
    assert {item.code for item in ours} <= {"DSF014", "DSF015"}, ours


def test_a_kind_in_the_wrong_folder_names_the_right_one() -> None:
    [item] = findings(HEAD + SPEC, "apps/a.yaml")
    assert (item.code, item.hint) == ("DSF017", "move the document to scorers/")


def test_the_second_object_of_a_name_is_reported_with_the_first() -> None:
    [item] = findings(f"{HEAD}{SPEC}---\n{HEAD}{SPEC}")
    assert (item.code, item.position.line) == ("DSF018", 11)
    assert "scorers/a.yaml:3:18" in item.message


def test_raw_placements_of_one_name_may_live_in_two_namespaces() -> None:
    placement = (
        "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: p,"
        " namespace: %s}\nspec: {}\n"
    )
    assert findings(f"{placement % 'a'}---\n{placement % 'b'}", "apps/a.yaml") == []
    assert [item.code for item in findings(f"{placement % 'a'}---\n{placement % 'a'}", "apps/a.yaml")] == [
        "DSF018"
    ]

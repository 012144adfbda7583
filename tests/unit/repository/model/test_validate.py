"""Documents to declared objects: fields, types, kinds, and words that people understand."""

import pytest

from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.model.validate import declare

HEAD = (
    "apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1\nkind:"
    " DynamicScorer\nmetadata: {name:"
    " cpu}\n"
)
SPEC = "spec:\n  description: d\n  configURL: http://a\n  configSyncMode: None\n"


def findings(text: str) -> list[Diagnostic]:
    return list(declare(load_text(text, file="scorers/a.yaml")).diagnostics)


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
        "{name: cpu}",
        "{name: cpu, uid: x, generation: 2, creationTimestamp: null, managedFields: [{}]}",
    )
    assert findings(exported + SPEC + "status: {healthStatus: Active}\n") == []


def test_empty_fields_count_as_absent_as_they_do_in_kubernetes() -> None:
    assert findings(HEAD + SPEC + "  source:\n  scoring: {params: }\n") == []
    [item] = findings(HEAD + SPEC.replace("http://a", ""))
    assert (item.code, item.message) == ("DSF014", "spec.configURL is missing")


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("apiVersion: v1\nkind: ManagedClustr\nmetadata: {name: a}\n", Severity.ERROR),
        ("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n", Severity.WARNING),
        ("replicas: 2\n", Severity.WARNING),
    ],
)
def test_what_is_not_ours_is_passed_over_with_a_warning(text: str, severity: Severity) -> None:
    """It hides nothing, so it must not stop the render; and no reference is excused by it."""
    declared = declare(load_text(text, file="apps/a.yaml"))
    assert [(item.code, item.severity) for item in declared.diagnostics] == [("DSF012", severity)]
    assert declared.left_out == frozenset()

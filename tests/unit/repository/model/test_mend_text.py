"""A number where a text is wanted is quoted only if the field takes that text."""

import pytest

from gitops_dsf.diagnostics import Diagnostic
from tests.support.repositories import TEMPLATE, findings, findings_of

TEST = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoreTest
metadata: {name: web}
spec:
  scores: [{scorer: cpu, cluster: prod-1, value: 1}]
  expect: {decisions: [{placement: web, clusters: [prod-1], at: AT}]}
"""
APP = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoredApplication
metadata: {name: web}
spec:
  application:
    source: {repoURL: "https://git.example.com/web.git", path: deploy, targetRevision: REVISION}
    destinationNamespace: NAMESPACE
  placement: {numberOfClusters: 1}
  scores: [{scorer: cpu}]
"""


def told(item: Diagnostic) -> tuple[str, str, list[object]]:
    return item.code, item.hint, [edit.value for edit in item.edits]


@pytest.mark.parametrize("at", ["6", "10", "0", "1.5", "true"])
def test_a_time_without_a_unit_is_not_quoted(at: str) -> None:
    [found] = map(told, findings_of("DSF015", tests=TEST.replace("AT", at)))
    assert found == ("DSF015", "write a time such as 90s, 10m or 1h30m", [])


def test_an_ambiguous_time_is_not_quoted() -> None:
    [found] = map(told, findings_of("DSF004", tests=TEST.replace("AT", "06")))
    assert found == ("DSF004", "write a time such as 90s, 10m or 1h30m", [])


def test_a_number_that_is_no_name_is_not_quoted() -> None:
    text = APP.replace("REVISION", "main").replace("NAMESPACE", "1.5")
    [found] = map(told, findings_of("DSF015", apps=text))
    assert found[2] == []
    assert found[1].startswith("write lower-case letters, digits and '-'")


@pytest.mark.parametrize("revision", ["6", "1.20", "true"])
def test_a_number_that_is_a_text_is_quoted_as_it_is_written(revision: str) -> None:
    text = APP.replace("REVISION", revision).replace("NAMESPACE", "web")
    assert [told(item) for item in findings(apps=text)] == [
        ("DSF015", f'quote it: "{revision}"', [revision])
    ]


def test_an_ambiguous_number_that_is_a_text_is_quoted() -> None:
    text = APP.replace("REVISION", "010").replace("NAMESPACE", "web")
    assert [told(item) for item in findings(apps=text)] == [("DSF004", 'quote it: "010"', ["010"])]


def test_a_switch_that_is_one_of_some_texts_is_not_quoted() -> None:
    text = f"""\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: a}}
spec: {{{TEMPLATE}, generators: [{{list: {{elements: []}}}}], syncPolicy: {{applicationsSync: true}}}}
"""  # noqa: E501
    [found] = findings_of("DSF321", apps=text)
    assert "must be one of create-only, create-update, create-delete, sync" in found.message
    assert found.edits == ()

"""Single rewritings: exact texts, and what is left for people."""

import pytest

from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.migrate import rewrite
from gitops_dsf.repository.model.validate import declare

HEAD = (
    "apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1\nkind: DynamicScorer\nmetadata: {name:"
    " cpu}\nspec:\n"
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  configSyncMode: full # x\n", "  configSyncMode: Full # x\n"),
        ("  ConfigSyncMode: 'none'\n", "  configSyncMode: 'None'\n"),
        ("  location: &l internal\n", "  location: &l Internal\n"),
        ('  "Description": x\n', '  "description": x\n'),
        ("  scoreDestination: AddonPlacementScore\n", "  scoreDestination: AddOnPlacementScore\n"),
        ("  source: {type: prometheus}\n", "  source: {type: Prometheus}\n"),
        (
            "  source: {endpoint: {host: a, path: b}, type: None}\n",
            "  source: {host: a, path: b, type: None}\n",
        ),
        ("  source:\n    endpoint:\n      host: a\n      path: b\n", "  source:\n    host: a\n    path: b\n"),
        (
            "  source:\n      endpoint: # c\n            host: a\n      type: None",
            "  source:\n      # c\n      host: a\n      type: None",
        ),
        ("  source:\n    endpoint: {host: a, path: b}  # c\n", "  source:\n    host: a\n    path: b  # c\n"),
        (
            "  source:\n    query:\n      query: |\n        up\n      range: 1\n",
            "  source:\n    params:\n      query: |\n        up\n      range: 1\n",
        ),
        ("  sources: {type: None}\n", "  source: {type: None}\n"),
        ("  scoring:\n    params:\n      model: a\n", "  scoring:\n    arguments:\n      model: a\n"),
        ("  name: a # n\n  scoring: {params: {name: b}}\n", "  # n\n  scoring: {params: {name: b}}\n"),
        ("  name: a\n  scoring: {host: h}\n", "  scoring: {params: {name: a}, host: h}\n"),
        (
            "  name: 'a'\n  scoring:\n    params:\n      interval: 5\n",
            "  scoring:\n    params:\n      name: 'a'\n      interval: 5\n",
        ),
    ],
)
def test_rewritings(old: str, new: str) -> None:
    result = rewrite(HEAD + old, file="f.yaml")
    assert result.text == HEAD + new
    assert result.changes
    assert result.left == ()


@pytest.mark.parametrize(
    "text",
    [
        "  sources:\n  - host: a\n",
        "  Sources:\n  - host: a\n",
        "  source: {endpoint: {host: a}, host: b}\n",
        "  description: &m full\n  configSyncMode: *m\n",
        "  source:\n    endpoint: &e\n      host: a\n",
        "  source:\n    endpoint: {host: a, # why\n      path: b}\n",
        "  name: a\n",
    ],
)
def test_what_has_no_safe_rewriting_is_left_and_named(text: str) -> None:
    result = rewrite(HEAD + text, file="f.yaml")
    assert result.text == HEAD + text
    assert len(result.left) == 1
    assert [item.code for item in declare(load_text(HEAD + text, file="scorers/f.yaml")).diagnostics].count(
        "DSF020"
    ) == 1


@pytest.mark.parametrize(
    "text",
    [
        "  scoring: {params: {interva: 60}}\n",
        "  scoring: {params: {name: a, model: b}}\n",
        "  source: {query: up}\n",
        "  configSyncMode: Partial\n",
        "  scoreAggregation: mean\n",
    ],
)
def test_slips_are_no_dialects(text: str) -> None:
    result = rewrite(HEAD + text, file="f.yaml")
    assert (result.text, result.changes, result.left) == (HEAD + text, (), ())


def test_other_kinds_are_not_touched() -> None:
    text = "kind: Other\nspec: {mask: [], configSyncMode: full}\n"
    assert rewrite(text, file="f.yaml").text == text


def test_a_broken_document_is_reported_and_the_others_are_rewritten() -> None:
    result = rewrite(f"{HEAD}  location: internal\n---\na: [\n", file="f.yaml")
    assert result.text == f"{HEAD}  location: Internal\n---\na: [\n"
    assert [item.code for item in result.unreadable] == ["DSF001"]


def test_the_older_version_and_what_it_hides_are_rewritten() -> None:
    """The samples of upstream's early releases; a cluster set's v1 is somebody else's."""
    other = "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: a}\n"
    masks = (
        'apiVersion: "dynamic-scoring.open-cluster-management.io/v1" # old\nkind:'
        " DynamicScoringConfig\nspec:\n  mask: []\n"
    )
    text = f"{HEAD.replace('v1alpha1', 'v1')}  configSyncMode: full\n---\n{other}---\n{masks}"
    result = rewrite(text, file="f.yaml")
    new_masks = masks.replace('/v1"', '/v1alpha1"').replace("mask:", "masks:")
    assert result.text == f"{HEAD}  configSyncMode: Full\n---\n{other}---\n{new_masks}"
    assert result.left == ()

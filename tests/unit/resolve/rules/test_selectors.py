"""Selectors that match no cluster of the inventory."""

import pytest

from tests.support.repositories import BASE, app, findings, scorer

NOWHERE = "clusterSelector: {matchLabels: {env: prd}}"


LATER = "if clusters join later, write allowUnmatchedSelectors: true below spec in gitops-dsf.yaml"


@pytest.mark.parametrize("allowed", [False, True])
def test_what_no_cluster_matches_is_an_error_unless_clusters_may_join_later(allowed: bool) -> None:
    settings = BASE["gitops-dsf.yaml"].replace(
        "spec: {", "spec: {allowUnmatchedSelectors: true, " if allowed else "spec: {"
    )
    found = [
        *findings(settings=settings, scorers=scorer("  scoring:", f"  {NOWHERE}\n  scoring:")),
        *findings(settings=settings, apps=app("{numberOfClusters: 1}", f"{{{NOWHERE}}}")),
    ]
    severity = "warning" if allowed else "error"
    assert [(item.code, str(item.severity)) for item in found] == [
        ("DSF203", severity),
        ("DSF310", severity),
    ]
    assert [LATER in item.hint for item in found] == [not allowed] * 2

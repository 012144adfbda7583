"""More clusters than are eligible."""

import pytest

from tests.support.repositories import (
    BASE,
    app,
    findings_of,
    placement,
)

CLUSTER = BASE["clusters/c.yaml"]
TWO = f"{CLUSTER}---\n{CLUSTER.replace('prod-1', 'edge-1').replace('env: prod', 'env: edge')}"
SETTINGS = BASE["gitops-dsf.yaml"]


@pytest.mark.parametrize(
    ("rules", "hint"),
    [
        ("{numberOfClusters: 2}", ""),
        ("{numberOfClusters: 3}", "write 2 or less, or let more clusters be eligible"),
        ("{numberOfClusters: 1, clusterSelector: {matchLabels: {env: edge}}}", ""),
        (
            "{numberOfClusters: 2, clusterSelector: {matchLabels: {env: edge}}}",
            "write 1, or let more clusters be eligible",
        ),
        # No cluster at all is an error of its own.
        ("{numberOfClusters: 2, clusterSelector: {matchLabels: {env: test}}}", ""),
    ],
)
def test_more_clusters_than_are_eligible(rules: str, hint: str) -> None:
    found = findings_of("DSF364", clusters=TWO, apps=app("{numberOfClusters: 1}", rules))
    assert [(str(item.severity), item.hint) for item in found] == (
        [("warning", hint)] if hint else []
    )


def test_more_clusters_than_are_eligible_of_a_copied_placement() -> None:
    text = "{numberOfClusters: 3, clusterSets: [global], prioritizerPolicy: {mode: Exact}}"
    assert len(findings_of("DSF364", clusters=TWO, apps=placement(text))) == 1
    assert findings_of("DSF364", clusters=TWO, apps=placement(text.replace("3", "2"))) == []


def test_a_placement_of_jobs_is_told_once_to_have_no_number() -> None:
    """DSF372 says to remove the number, so nothing else may say to write a smaller one."""
    jobs = (
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoredPlacement\n"
        "metadata: {name: jobs, namespace: kueue-system}\n"
        "spec:\n  placement: {numberOfClusters: 5}\n  scores: [{scorer: cpu-forecast}]\n"
    )
    assert len(findings_of("DSF364", clusters=TWO, apps=jobs)) == 1
    ordered = f"{jobs}  multiKueue: {{config: jobs}}\n"
    assert findings_of("DSF364", clusters=TWO, apps=ordered) == []
    assert len(findings_of("DSF372", clusters=TWO, apps=ordered)) == 1


def test_clusters_that_join_later_are_expected_where_the_settings_say_so() -> None:
    later = SETTINGS.replace("spec: {", "spec: {allowUnmatchedSelectors: true, ")
    [found] = findings_of(
        "DSF364", settings=later, apps=app("numberOfClusters: 1", "numberOfClusters: 3")
    )
    assert str(found.severity) == "notice"


def test_clusters_are_not_counted_while_one_of_them_cannot_be_read() -> None:
    broken = f"{CLUSTER}---\n{CLUSTER.replace('prod-1', 'edge-1').replace('env: prod', 'env: [a]')}"
    assert (
        findings_of(
            "DSF364", clusters=broken, apps=app("numberOfClusters: 1", "numberOfClusters: 2")
        )
        == []
    )

"""Ambiguous values: nothing follows from them."""

import pytest

from tests.support.repositories import APP, BASE, codes, findings, masks

LABELLED = "clusterSelector: {matchLabels: {env: prod}}"
SCORER = BASE["scorers/s.yaml"]
CLUSTER = BASE["clusters/c.yaml"]


@pytest.mark.parametrize("folder", ["clusters", "scorers", "config", "apps"])
def test_nothing_follows_from_a_value_that_readers_disagree_about(folder: str) -> None:
    """The label that was meant may be the one that is looked for: no selector is blamed for finding
    nothing.
    """
    other = SCORER.replace("name: cpu}", "name: gpu}").replace("cpu_score", "gpu_score")
    texts = {
        "clusters": f"{CLUSTER}---\n{CLUSTER.replace('prod-1, labels: {env: prod}', 'c1')}",
        "scorers": f"{SCORER}  {LABELLED}\n---\n{other}",
        "config": masks(f"{{{LABELLED}, scoreName: gpu_score}}"),
        "apps": APP.replace("numberOfClusters: 1", f"numberOfClusters: 1, {LABELLED}"),
    }
    assert codes(**texts) == []
    texts[folder] = texts[folder].replace("env: prod", "env: on")
    assert [(item.code, item.hint) for item in findings(**texts)] == [("DSF004", 'quote it: "on"')]

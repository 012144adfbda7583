"""What `diff` says of rights: agents that may read nodes and pods for the first time."""

from tests.integration.preview.gitfleet import GitFleet, Run, scorer
from tests.support.rendering import metric_source

PARAMS = {"query": "cpu_available_ratio", "range": 600, "step": 60}


def test_agents_that_may_read_pods_for_the_first_time_are_named_once(fleet: GitFleet, run: Run) -> None:
    """A second such scorer changes nothing."""
    fleet.write(
        "scorers/free.yaml",
        scorer("free", source={"type": "Kubernetes", "params": {"query": PARAMS["query"]}}),
    )
    words = "may read all nodes and pods for the first time (scorer free): "
    assert words in run.shown(fleet)
    fleet.commit("count pods")
    fleet.write(
        "scorers/more.yaml",
        scorer("more", source={"type": "Kubernetes", "params": {"query": PARAMS["query"]}}),
    )
    assert "may read all nodes" not in run.shown(fleet)


def test_only_clusters_with_such_a_variant_are_named(fleet: GitFleet, run: Run) -> None:
    source = metric_source(
        "platform",
        {"clusterSelector": {"matchLabels": {"region": "eu"}}, "type": "Kubernetes"},
        {"host": "https://prometheus.monitoring.svc"},
    )
    fleet.write("config/sources.yaml", source)
    fleet.write("scorers/free.yaml", scorer("free", source={"ref": "platform", "params": PARAMS}))
    text = run.shown(fleet)
    (line,) = (line.strip() for line in text.splitlines() if "may read all nodes and pods" in line)
    assert line == (
        "- the agents of 2 clusters may read all nodes and pods for the first time (scorer free): eu-1, eu-2"
    )

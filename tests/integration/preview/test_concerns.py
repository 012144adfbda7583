"""What `diff` warns of: rendered/argocd, which Argo CD does not apply, and rights that are new: agents that
may read nodes and pods, and pods that may push metrics.
"""

import yaml

from tests.integration.preview.gitfleet import GitFleet, Run, scorer, settings
from tests.integration.preview.test_scored_placements import placement
from tests.support.rendering import metric_source


def said(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if "rendered/argocd" in line]


def test_a_new_namespace_of_a_placement_needs_the_project_first(fleet: GitFleet, run: Run) -> None:
    fleet.write("apps/training.yaml", placement("training", namespace="kueue-system"))
    (line,) = said(run.shown(fleet))
    assert line == (
        "- AppProject gitops-dsf in rendered/argocd, which people apply: run kubectl apply --server-side -f"
        " rendered/argocd; until then Argo CD refuses what its AppProjects do not allow"
    )
    fleet.commit("train")
    fleet.write("apps/more.yaml", placement("more", namespace="kueue-system"))
    assert said(run.shown(fleet)) == []


def test_an_application_that_goes_is_named(fleet: GitFleet, run: Run) -> None:
    fleet.write("gitops-dsf.yaml", settings(output={"shards": 2}))
    fleet.commit("two shards")
    fleet.write("gitops-dsf.yaml", settings())
    (line,) = said(run.shown(fleet))
    assert line == (
        "- rendered/argocd no longer has Application gitops-dsf-works-01, which Argo CD leaves on the hub:"
        " delete it there"
    )


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


OTEL = {"query": "cpu_load_ratio", "range": 600, "step": 60}


def allow(fleet: GitFleet, *namespaces: str) -> None:
    """Sets the receiver up in gitops-dsf.yaml."""
    settings = yaml.safe_load((fleet.path / "gitops-dsf.yaml").read_text(encoding="utf-8"))
    receiver = {"image": "prometheus:3.13", "collectorNamespaces": list(namespaces)}
    settings["spec"]["agent"] = {"openTelemetry": receiver}
    fleet.write("gitops-dsf.yaml", settings)


def test_pods_that_may_push_for_the_first_time_are_named_once(fleet: GitFleet, run: Run) -> None:
    allow(fleet, "otel")
    fleet.write("scorers/load.yaml", scorer("load", source={"type": "OpenTelemetry", "params": OTEL}))
    text = run.shown(fleet)
    assert "get a receiver for OpenTelemetry metrics, to which pods of otel may push: " in text
    assert "may push OpenTelemetry metrics for the first time" not in text
    fleet.commit("receive metrics")
    fleet.write("scorers/more.yaml", scorer("more", source={"type": "OpenTelemetry", "params": OTEL}))
    assert "may push" not in run.shown(fleet)
    allow(fleet, "otel", "apps")
    text = run.shown(fleet)
    assert "pods of apps may push OpenTelemetry metrics for the first time" in text

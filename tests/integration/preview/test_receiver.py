"""What `diff` says of receivers for OpenTelemetry metrics: who may push for the first time."""

import yaml

from tests.integration.preview.gitfleet import GitFleet, Run, scorer

PARAMS = {"query": "cpu_load_ratio", "range": 600, "step": 60}


def allow(fleet: GitFleet, *namespaces: str) -> None:
    """Sets the receiver up in gitops-dsf.yaml."""
    settings = yaml.safe_load((fleet.path / "gitops-dsf.yaml").read_text(encoding="utf-8"))
    receiver = {"image": "prometheus:3.13", "collectorNamespaces": list(namespaces)}
    settings["spec"]["agent"] = {"openTelemetry": receiver}
    fleet.write("gitops-dsf.yaml", settings)


def test_pods_that_may_push_for_the_first_time_are_named_once(fleet: GitFleet, run: Run) -> None:
    allow(fleet, "otel")
    fleet.write("scorers/load.yaml", scorer("load", source={"type": "OpenTelemetry", "params": PARAMS}))
    text = run.shown(fleet)
    assert "get a receiver for OpenTelemetry metrics, to which pods of otel may push: " in text
    assert "may push OpenTelemetry metrics for the first time" not in text
    fleet.commit("receive metrics")
    fleet.write("scorers/more.yaml", scorer("more", source={"type": "OpenTelemetry", "params": PARAMS}))
    assert "may push" not in run.shown(fleet)
    allow(fleet, "otel", "apps")
    text = run.shown(fleet)
    assert "pods of apps may push OpenTelemetry metrics for the first time" in text

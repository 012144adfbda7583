"""The queries of the dashboard on a real Prometheus: each is answered, and finds its series."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hub.controlplane.processes import Processes
from tests.hub.controlplane.prometheus import LoadExporter, ask, start_prometheus
from tests.hub.controlplane.waiting import wait_for

pytestmark = [pytest.mark.hub, pytest.mark.family("prometheus")]

DASHBOARD = json.loads((Path(__file__).parents[2] / "monitoring/dashboard.json").read_text("utf-8"))
RECONCILER = {"job": "reconciler", "instance": "pod-0"}
PRESENT = (
    ("gitops_dsf_reconciler_leader", RECONCILER, 1.0),
    ("gitops_dsf_reconciler_placement_points", {"placement": "web", "cluster": "eu-1"}, 62.5),
    ("gitops_dsf_reconciler_failing_clusters", {"scorer": "cpu", "reason": "QueryFailed"}, 2.0),
    ("dynamic_score", {"ds_score_name": "cpu", "ds_cluster": "eu-1"}, 61.0),
)
FOUND = {
    "Raw scores": [({"ds_score_name": "cpu", "ds_cluster": "eu-1"}, "61")],
    "Points of decided clusters": [({"placement": "web", "cluster": "eu-1"}, "62.5")],
    "Where Placements are": [({"placement": "web", "cluster": "eu-1"}, "1")],
    "Why there are no scores": [({"scorer": "cpu", "reason": "QueryFailed"}, "2")],
}


def queries() -> Iterator[tuple[str, str]]:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            text = target["expr"].replace("$__rate_interval", "1m").replace("$scorer", ".*")
            yield panel["title"], text


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("prometheus")
    with LoadExporter() as exporter, Processes(logs=folder / "logs") as processes:
        for name, labels, value in PRESENT:
            # Series of one process of the reconciler have the same job and instance.
            more = RECONCILER if name.startswith("gitops_dsf_reconciler") else {}
            exporter.set(name, {**labels, **more}, value)
        # The exporter's own labels stay, as those of a scraped pod do.
        url = start_prometheus(
            processes=processes,
            folder=folder / "data",
            configuration={
                "scrape_configs": [
                    {
                        "job_name": "load",
                        "honor_labels": True,
                        "static_configs": [{"targets": [exporter.authority]}],
                    }
                ]
            },
        )
        wait_for(lambda: ask(url, "dynamic_score"), what="the first scrape")
        yield url


@pytest.mark.parametrize(("title", "query"), list(queries()))
def test_each_query_is_answered(prometheus: str, title: str, query: str) -> None:
    found = ask(prometheus, query)
    if title in FOUND:
        assert [(_without_name(series["metric"]), series["value"][1]) for series in found] == FOUND[
            title
        ]


def _without_name(labels: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in labels.items() if not re.fullmatch("__.*__", name)}

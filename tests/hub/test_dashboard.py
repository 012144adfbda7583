"""The queries of the dashboard on a real Prometheus: each is answered, and finds its series."""

import json
import re
import time
from collections.abc import Callable, Iterator
from functools import partial
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
    ("gitops_dsf_reconciler_scorer_healthy", {"scorer": "cpu"}, 1.0),
    ("gitops_dsf_reconciler_decision_clusters", {"placement": "web"}, 2.0),
    ("gitops_dsf_reconciler_placement_points", {"placement": "web", "cluster": "eu-1"}, 62.5),
    ("gitops_dsf_reconciler_placement_points", {"placement": "web", "cluster": "eu-2"}, 71.0),
    ("gitops_dsf_reconciler_failing_clusters", {"scorer": "cpu", "reason": "QueryFailed"}, 2.0),
    # The name of a score is not that of its scorer. A raw score can be below zero.
    (
        "dynamic_score",
        {"ds_score_name": "cpu_headroom", "ds_cluster": "eu-1", "ds_node": "a"},
        61.0,
    ),
    (
        "dynamic_score",
        {"ds_score_name": "cpu_headroom", "ds_cluster": "eu-1", "ds_node": "b"},
        12.0,
    ),
    ("dynamic_score", {"ds_score_name": "cpu_headroom", "ds_cluster": "eu-2"}, -3.0),
)
EU_1 = {"ds_score_name": "cpu_headroom", "ds_cluster": "eu-1"}
EU_2 = {"ds_score_name": "cpu_headroom", "ds_cluster": "eu-2"}
WEB_1, WEB_2 = ({"placement": "web", "cluster": name} for name in ("eu-1", "eu-2"))
FOUND = {
    "Raw scores": [(EU_1, "61"), (EU_2, "-3")],
    "Clusters by raw score now": [(EU_1, "61"), (EU_2, "-3")],
    "Points of decided clusters": [(WEB_1, "62.5"), (WEB_2, "71")],
    "Order of Placements now": [(WEB_2, "71"), (WEB_1, "62.5")],
    "Where Placements are": [(WEB_1, "1"), (WEB_2, "1")],
    "Why there are no scores": [({"scorer": "cpu", "reason": "QueryFailed"}, "2")],
}
Store = Callable[[str], list[dict[str, Any]]]
"""Answers a query."""
VARIABLES = {item["name"]: item for item in DASHBOARD["templating"]["list"]}


def queries() -> Iterator[tuple[str, str]]:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"].replace("$__rate_interval", "1m")


def chosen(store: Store) -> dict[str, list[str]]:
    """What Grafana offers for each variable that asks for labels."""
    offered: dict[str, list[str]] = {}
    for name, variable in VARIABLES.items():
        asked = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable.get("definition", ""))
        if asked is not None:
            found = store(f"group by ({asked[2]}) ({asked[1]})")
            offered[name] = sorted(series["metric"][asked[2]] for series in found)
    return offered


def filled(query: str, values: dict[str, list[str]]) -> str:
    """A query as Grafana sends it when somebody has chosen these values."""
    for name in sorted(values, key=len, reverse=True):
        query = query.replace(f"${name}", "|".join(values[name]))
    return query


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A Prometheus, asked for what it had after its first scrape.

    A later scrape may fail on a busy machine, and then it has nothing for a moment.
    """
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
        yield partial(ask, url, at=time.time())


@pytest.mark.parametrize(("title", "query"), list(queries()))
def test_each_query_is_answered(store: Store, title: str, query: str) -> None:
    found = store(filled(query, chosen(store)))
    if title in FOUND:
        seen = [(_without_name(series["metric"]), series["value"][1]) for series in found]
        wanted = FOUND[title]
        # Only the order of these means something.
        if "now" not in title:
            seen = sorted(seen, key=str)
        assert seen == wanted


def test_each_panel_of_the_test_exists() -> None:
    assert FOUND.keys() <= {title for title, _ in queries()}


def test_one_cluster_and_one_score_can_be_chosen(store: Store) -> None:
    offered = chosen(store)
    assert offered == {
        "scorer": ["cpu"],
        "placement": ["web"],
        "score": ["cpu_headroom"],
        "cluster": ["eu-1", "eu-2"],
    }
    (query,) = (text for title, text in queries() if title == "Raw scores")
    found = store(filled(query, {**offered, "cluster": ["eu-2"]}))
    assert [_without_name(series["metric"]) for series in found] == [EU_2]


def _without_name(labels: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in labels.items() if not re.fullmatch("__.*__", name)}

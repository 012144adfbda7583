"""The measures of source type Kubernetes, and how queries name them."""

import re
from pathlib import Path

import promql_parser

from dsf_wire.measures import MEASURES, Selection, select


def test_a_query_names_measures_in_order() -> None:
    query = ' cpu_available_ratio ; extended_available{resource="nvidia.com/gpu"};node_ready{}; '
    assert select(query) == (
        Selection(measure=MEASURES["cpu_available_ratio"]),
        Selection(measure=MEASURES["extended_available"], resource="nvidia_com_gpu"),
        Selection(measure=MEASURES["node_ready"]),
    )
    assert select(" ; ") == ()


def test_queries_are_promql_and_the_page_says_what_each_measure_means() -> None:
    """One scorer can run on clusters with Prometheus, too, so every query is valid PromQL."""
    for measure in MEASURES.values():
        promql_parser.parse(measure.name)
    promql_parser.parse('extended_available{resource="nvidia.com/gpu"}')
    page = (Path(__file__).parents[3] / "docs/scores/sources.md").read_text(encoding="utf-8")
    table = page.split("### Measures\n")[1].split("\n### ")[0]
    rows = re.findall(r"^\| `([a-z_]+)`", table, re.MULTILINE)
    assert rows == [name for name, measure in MEASURES.items() if not measure.per_node]
    resources = ("cpu_", "memory_", "pods_", "extended_")
    both = {name for name in rows if name.startswith(resources)} - {"pods_pending", "pods_unschedulable"}
    of_nodes = {name for name, measure in MEASURES.items() if measure.per_node}
    assert of_nodes == {"node_ready", *(f"node_{name}" for name in both)}


def test_measures_of_usage_need_metrics_server() -> None:
    needing = {measure.name for measure in MEASURES.values() if measure.needs_usage}
    assert needing == {
        f"{prefix}{name}"
        for prefix in ("", "node_")
        for name in ("cpu_used_cores", "cpu_used_ratio", "memory_used_bytes", "memory_used_ratio")
    }

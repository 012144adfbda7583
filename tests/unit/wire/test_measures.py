"""The measures of source type Kubernetes, and how queries name them."""

import re
from pathlib import Path

import promql_parser
import pytest

from dsf_wire.measures import MEASURES, MeasureError, Selection, select


def test_a_query_names_measures_in_order() -> None:
    query = ' cpu_available_ratio ; extended_available{resource="nvidia.com/gpu"};node_ready{}; '
    assert select(query) == (
        Selection(measure=MEASURES["cpu_available_ratio"]),
        Selection(measure=MEASURES["extended_available"], resource="nvidia_com_gpu"),
        Selection(measure=MEASURES["node_ready"]),
    )
    assert select(" ; ") == ()


@pytest.mark.parametrize(
    ("query", "offset", "message", "unknown"),
    [
        ("cpu_avialable_ratio", 0, "there is no measure cpu_avialable_ratio", "cpu_avialable_ratio"),
        ("nodes; gpu", 7, "there is no measure gpu", "gpu"),
        (
            "sum(nodes)",
            0,
            "there is no measure sum",
            "sum",
        ),
        ("1 - nodes", 0, "this is not the name of a measure", ""),
        ("nodes / 2", 6, 'nodes is followed by / 2; only {resource="..."} may follow', ""),
        (
            'cpu_available_cores{node="a"}',
            20,
            "cpu_available_cores takes no matcher for node; extended resources take resource",
            "",
        ),
        (
            'extended_available{node="a"}',
            19,
            "extended_available takes no matcher for node; extended resources take resource",
            "",
        ),
        (
            'cpu_available_cores{resource="cpu"}',
            20,
            "cpu_available_cores takes no matcher for resource; extended resources take resource",
            "",
        ),
        (
            'extended_available{resource=~"nvidia.*"}',
            18,
            'extended_available is followed by {resource=~"nvidia.*"}; only {resource="..."} may follow',
            "",
        ),
        (
            f"nodes / {'1' * 38}",
            6,
            f'nodes is followed by / {"1" * 38}; only {{resource="..."}} may follow',
            "",
        ),
        (
            f"nodes / {'1' * 39}",
            6,
            f'nodes is followed by / {"1" * 38}…; only {{resource="..."}} may follow',
            "",
        ),
        ("nodes[5m]", 5, 'nodes is followed by [5m]; only {resource="..."} may follow', ""),
    ],
)
def test_other_expressions_are_refused(query: str, offset: int, message: str, unknown: str) -> None:
    with pytest.raises(MeasureError) as caught:
        select(query)
    assert (caught.value.offset, str(caught.value), caught.value.unknown) == (offset, message, unknown)


def test_queries_are_promql_and_the_page_says_what_each_measure_means() -> None:
    """One scorer can run on clusters with Prometheus, too, so every query is valid PromQL."""
    for measure in MEASURES.values():
        promql_parser.parse(measure.name)
    promql_parser.parse('extended_available{resource="nvidia.com/gpu"}')
    page = (Path(__file__).parents[3] / "docs/scores/measures.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z_]+)`", page, re.MULTILINE) == sorted(
        MEASURES, key=lambda name: MEASURES[name].per_node
    )


def test_measures_of_usage_need_metrics_server() -> None:
    needing = {measure.name for measure in MEASURES.values() if measure.needs_usage}
    assert needing == {
        f"{prefix}{name}"
        for prefix in ("", "node_")
        for name in ("cpu_used_cores", "cpu_used_ratio", "memory_used_bytes", "memory_used_ratio")
    }

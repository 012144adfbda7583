"""Joined queries, and the measures of source type Kubernetes."""

import re
from pathlib import Path

import promql_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_wire import query
from dsf_wire.measures import MEASURES, MeasureError, Selection, select


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("up", ["up"]),
        ("up;down", ["up", "down"]),
        (" up ; down ; ", ["up", "down"]),
        ('a{x=";"};b', ['a{x=";"}', "b"]),
        ("a{x=';'};b", ["a{x=';'}", "b"]),
        ("a{x=`;\\`};b", ["a{x=`;\\`}", "b"]),
        ('a{x="\\";"};b', ['a{x="\\";"}', "b"]),
        ("sum(a # ; not here\n);b", ["sum(a # ; not here\n)", "b"]),
        ("a # ; b", ["a # ; b"]),
        ("a # it's\n;b", ["a # it's", "b"]),
        ("sum((a;b);c);d", ["sum((a;b);c)", "d"]),
        ("sum(a[b;c];d);e", ["sum(a[b;c];d)", "e"]),
        ("a{x;y};b", ["a{x;y}", "b"]),
        ("a(x;y);b", ["a(x;y)", "b"]),
        ("a[x;y];b", ["a[x;y]", "b"]),
        ('"\\\\";b;"c"', ['"\\\\"', "b", '"c"']),
        ('unclosed"; b', ['unclosed"; b']),
        ("a);b", ["a)", "b"]),
        (";;", []),
        ("", []),
    ],
)
def test_split(text: str, parts: list[str]) -> None:
    assert [part.text for part in query.split(text)] == parts


@given(st.text(alphabet="ab;\"'`\\{}()[]# \n", max_size=60))
def test_offsets_point_at_the_parts(text: str) -> None:
    for part in query.split(text):
        assert text[part.offset : part.offset + len(part.text)] == part.text
        assert part.text == part.text.strip() != ""


def test_a_query_names_measures_in_order() -> None:
    query = (
        ' cpu_available_ratio ; extended_available{resource="nvidia.com/gpu"};node_ready{};'
        ' devices_available{driver="gpu.example.com"};devices_allocated ; '
    )
    assert select(query) == (
        Selection(measure=MEASURES["cpu_available_ratio"]),
        Selection(measure=MEASURES["extended_available"], only="nvidia_com_gpu"),
        Selection(measure=MEASURES["node_ready"]),
        Selection(measure=MEASURES["devices_available"], only="gpu.example.com"),
        Selection(measure=MEASURES["devices_allocated"]),
    )
    assert select(" ; ") == ()


def test_queries_are_promql_and_the_page_says_what_each_measure_means() -> None:
    """One scorer can run on clusters with Prometheus, too, so every query is valid PromQL."""
    for measure in MEASURES.values():
        promql_parser.parse(measure.name)
    promql_parser.parse('extended_available{resource="nvidia.com/gpu"}')
    promql_parser.parse('devices_available{driver="gpu.example.com"}')
    page = (Path(__file__).parents[3] / "docs/scores/sources.md").read_text(encoding="utf-8")
    table = page.split("### Measures\n")[1].split("\n### ")[0]
    rows = re.findall(r"^\| `([a-z_]+)`", table, re.MULTILINE)
    assert rows == [name for name, measure in MEASURES.items() if not measure.per_node]
    resources = ("cpu_", "memory_", "pods_", "extended_", "devices_")
    both = {name for name in rows if name.startswith(resources)} - {
        "pods_pending",
        "pods_unschedulable",
    }
    of_nodes = {name for name, measure in MEASURES.items() if measure.per_node}
    assert of_nodes == {"node_ready", *(f"node_{name}" for name in both)}


def test_measures_of_usage_need_metrics_server() -> None:
    needing = {measure.name for measure in MEASURES.values() if measure.needs_usage}
    assert needing == {
        f"{prefix}{name}"
        for prefix in ("", "node_")
        for name in ("cpu_used_cores", "cpu_used_ratio", "memory_used_bytes", "memory_used_ratio")
    }


def test_measures_of_devices_need_the_api_of_devices() -> None:
    needing = {measure.name for measure in MEASURES.values() if measure.needs_devices}
    assert needing == {
        f"{prefix}devices_{figure}"
        for prefix in ("", "node_")
        for figure in ("allocatable", "allocated", "available", "available_ratio")
    }


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ('devices_available{resource="gpu"}', "takes no matcher for resource"),
        ('extended_available{driver="gpu.example.com"}', "takes no matcher for driver"),
        ('cpu_available_ratio{driver="gpu.example.com"}', "takes no matcher for driver"),
        ('devices_available{driver=~"gpu.*"}', 'only {resource="..."} or {driver="..."} may'),
        ("devices_requested", "there is no measure devices_requested"),
    ],
)
def test_other_selections_of_devices_are_refused(query: str, words: str) -> None:
    with pytest.raises(MeasureError, match=re.escape(words)):
        select(query)

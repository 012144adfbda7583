"""docs/scores/scoring-apis.md: its queries parse and name metrics of the agent, its reasons exist, and its
YAML can be read.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest

from dsf_agent.errors import Reason
from dsf_agent.metrics.registry import Metrics
from tests.support import yamlfast

PAGE = (Path(__file__).parents[2] / "docs/scores/scoring-apis.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"^\| .+ \| `(\w+[ (].*\(.*)` \|$", PAGE, re.MULTILINE)
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def names(tree: Any) -> Iterator[str]:
    if type(tree).__name__ == "VectorSelector":
        yield tree.name
    for child in (
        *(getattr(tree, "args", None) or ()),
        *(getattr(tree, part, None) for part in ("expr", "lhs", "rhs", "vector_selector")),
    ):
        if child is not None:
            yield from names(child)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_reads_a_metric_of_the_agent(query: str) -> None:
    known = {
        f"{name}{suffix}"
        for name in Metrics(cluster="c").registry._names_to_collectors
        for suffix in ("", "_total", "_bucket")
    }
    found = set(names(promql_parser.parse(query)))
    assert found
    assert found <= known


def test_there_are_queries() -> None:
    assert len(QUERIES) == 4


def test_every_reason_is_one_of_the_agents() -> None:
    _, _, table = PAGE.partition("| what is wrong |")
    rows = re.findall(r"^\| .+? \| (.+) \| (.+) \|$", table, re.MULTILINE)
    said = {reason for row in rows for cell in row for reason in re.findall(r"`([a-z_]+)`", cell)}
    assert said - {"reason"} <= {str(reason) for reason in Reason}
    assert "tls" in said


@pytest.mark.parametrize("block", BLOCKS)
def test_the_yaml_can_be_read(block: str) -> None:
    assert all(yamlfast.load_all(block)) if "---" in block else yamlfast.load(block)

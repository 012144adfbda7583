"""Several series for one item."""

import pytest

from gitops_dsf.diagnostics import Severity
from tests.support.repositories import BY_QUERY, findings


@pytest.mark.parametrize(
    ("query", "dimension", "severity"),
    [
        ("up", "${scoreName}", Severity.NOTICE),
        ("rate(up[5m])", "${scoreName}", Severity.NOTICE),
        ("sum by (node) (up)", "${scoreName}", Severity.WARNING),
        ("topk(1, sum by (node) (up))", "${scoreName}", Severity.WARNING),
        ("sum by (node, pod) (up)", "${node}", Severity.WARNING),
        ("sum without (node) (up)", "${pod}", Severity.NOTICE),
        ("avg(up); avg(down)", "${scoreName}", Severity.WARNING),
    ],
)
def test_several_series_for_one_item_are_certain_or_possible(
    query: str, dimension: str, severity: Severity
) -> None:
    text = BY_QUERY.replace("avg(up)", query) + f"  scoreDimensionFormat: '{dimension}'\n"
    assert [(item.code, item.severity) for item in findings(scorers=text)] == [("DSF136", severity)]

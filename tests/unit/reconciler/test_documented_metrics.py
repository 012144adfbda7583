"""The reconciler's series in the documents are exported.

The reference is made of those that are.
"""

import re
from pathlib import Path

from gitops_dsf.reconciler.metrics import ReconcilerMetrics

DOCS = Path(__file__).parents[3] / "docs"
PREFIX = "gitops_dsf_reconciler_"
NAMED = re.compile(rf"\b{PREFIX}([a-z_]+)(?:\{{([a-z_,]+)\}})?")


def test_series_that_pages_name_are_exported_with_these_labels() -> None:
    there = {
        name.removeprefix(PREFIX): set(getattr(collector, "_labelnames", ()))
        for collector, names in ReconcilerMetrics().registry._collector_to_names.items()
        for name in names
    }
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    found = [(name, set(filter(None, labels.split(",")))) for name, labels in NAMED.findall(text)]
    assert len(found) > 5
    assert [item for item in found if item[0] not in there or not item[1] <= there[item[0]]] == []

"""The reconciler's series in the documents against the series that there are."""

import re
from pathlib import Path

from prometheus_client import CollectorRegistry

from gitops_dsf.reconciler.metrics import Metrics
from tools.reference import metrics_page

DOCS = Path(__file__).parents[3] / "docs"
PREFIX = "gitops_dsf_reconciler_"
NAMED = re.compile(rf"\b{PREFIX}([a-z_]+)(?:\{{([a-z_,]+)\}})?")


def exported(registry: CollectorRegistry) -> dict[str, set[str]]:
    """Name without the prefix to label names, as a scrape has them."""
    found = {}
    for collector, names in registry._collector_to_names.items():
        labels = set(getattr(collector, "_labelnames", ()))
        found.update({name.removeprefix(PREFIX): labels for name in names})
    return found


def test_series_that_pages_name_are_exported_with_these_labels() -> None:
    there = exported(Metrics().registry)
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    found = [(name, set(filter(None, labels.split(",")))) for name, labels in NAMED.findall(text)]
    assert len(found) > 5
    assert [item for item in found if item[0] not in there or not item[1] <= there[item[0]]] == []


def test_what_is_exported_is_in_the_reference() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| \w+ \| ([^|]*) \|", metrics_page(), re.MULTILINE))
    families = {
        next(iter(names)): set(getattr(collector, "_labelnames", ()))
        for collector, names in Metrics().registry._collector_to_names.items()
    }
    assert len(families) > 20
    for name, labels in families.items():
        row = next(key for key in (name, f"{name}_total", name.removesuffix("_created")) if key in rows)
        assert all(f"`{label}`" in rows[row] for label in labels), name

"""The reference of series in docs/reconciler.md against the series that there are."""

import re
from pathlib import Path

from prometheus_client import CollectorRegistry

from gitops_dsf.reconciler.metrics import Metrics

FOLDER = Path(__file__).parents[3] / "docs"
DOCS = FOLDER / "reconciler.md"
PREFIX = "gitops_dsf_reconciler_"


def exported(registry: CollectorRegistry) -> dict[str, set[str]]:
    """Name without the prefix to label names, as a scrape has them."""
    found = {}
    for collector, names in registry._collector_to_names.items():
        labels = set(getattr(collector, "_labelnames", ()))
        found.update({name.removeprefix(PREFIX): labels for name in names})
    return found


def documented() -> dict[str, set[str]]:
    """Of the tables whose first column is headed `series`."""
    tables = re.findall(r"^\| series \|.*\n((?:\|.*\n)+)", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    cells = [row.split("|")[1] for table in tables for row in table.splitlines()]
    pairs = [match for cell in cells for match in re.findall(r"`([a-z_]+)(?:\{([a-z_,]+)\})?`", cell)]
    return {name.removeprefix(PREFIX): set(filter(None, labels.split(","))) for name, labels in pairs}


def test_what_is_documented_is_exported_with_these_labels() -> None:
    there = exported(Metrics().registry)
    found = documented()
    assert len(found) > 10
    assert {name: labels for name, labels in found.items() if there.get(name) != labels} == {}


def test_what_is_exported_is_documented() -> None:
    text = "".join((FOLDER / name).read_text(encoding="utf-8") for name in ("reconciler.md", "proposals.md"))
    named = {name.removeprefix(PREFIX) for name in re.findall(r"`([a-z_]+)(?:\{[a-z_,]+\})?`", text)}
    families = list(Metrics().registry._collector_to_names.values())
    assert len(families) > 20
    assert [names for names in families if not named & {name.removeprefix(PREFIX) for name in names}] == []

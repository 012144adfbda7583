"""The numbers of a preview: a table of objects, and how many applications and clusters change."""

from collections.abc import Iterator, Sequence
from typing import Final

from gitops_dsf.show.preview.headline import headline
from gitops_dsf.show.preview.limits import PageLimits
from gitops_dsf.views.preview.build import Comparison, Preview
from gitops_dsf.views.preview.summary import Summary
from gitops_dsf.wording import names_text, plural

_ROWS: Final = {
    "scorers": "scorers",
    "clusters": "clusters in the inventory",
    "works": "ManifestWorks",
    "placements": "Placements",
    "application_sets": "ApplicationSets",
    "other": "other rendered objects",
}
"""Titles of the table, by field of the summary."""


def summary_section(preview: Preview, comparison: Comparison, limits: PageLimits) -> Iterator[str]:
    """What a reader wants to know first, as a list."""
    yield f"\n- **{limits.plain(headline(comparison, preview.hub.missing))}**"
    yield from _clusters(comparison.summary, limits)
    if comparison.warnings:
        yield f"- {plural(len(comparison.warnings), 'warning')}, below"


def object_section(comparison: Comparison) -> Iterator[str]:
    """How many objects of each kind come, go and change."""
    yield "\n#### Objects\n"
    yield from _table(comparison.summary)


def _table(summary: Summary) -> Iterator[str]:
    yield "| | added | removed | changed | now |"
    yield "|---|--:|--:|--:|--:|"
    for field, title in _ROWS.items():
        count = getattr(summary, field)
        yield f"| {title} | {count.added} | {count.removed} | {count.changed} | {count.total} |"


def _clusters(summary: Summary, limits: PageLimits) -> Iterator[str]:
    clusters = summary.clusters
    if clusters.joined:
        yield f"- new in the inventory: {_names(clusters.joined, limits)}"
    if clusters.left:
        yield f"- no longer in the inventory: {_names(clusters.left, limits)}"
    if clusters.edited:
        yield f"- changed in the inventory: {_names(clusters.edited, limits)}"
    if clusters.gaining:
        yield f"- {plural(clusters.gaining, 'cluster')} gaining a scorer"
    if clusters.losing:
        yield f"- {plural(clusters.losing, 'cluster')} losing a scorer"
    if clusters.altered:
        count = plural(clusters.altered, "cluster")
        yield f"- {count} with changed scores of a scorer that stays"


def _names(names: Sequence[str], limits: PageLimits) -> str:
    return limits.plain(names_text(names, most=limits.names))

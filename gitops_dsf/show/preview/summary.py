"""The numbers of a preview: how many objects of each kind and how many clusters change."""

from collections.abc import Iterator, Sequence
from typing import Final

from gitops_dsf.show.preview.limits import PageLimits
from gitops_dsf.show.preview.lists import folded
from gitops_dsf.views.preview.build import Comparison
from gitops_dsf.views.preview.summary import Summary
from gitops_dsf.wording import names_text, plural

_TITLES: Final = {
    "scorers": "scorers",
    "clusters": "clusters in the inventory",
    "works": "ManifestWorks",
    "placements": "Placements",
    "application_sets": "ApplicationSets",
    "other": "other rendered objects",
}
"""Kinds of objects, by field of the summary."""


def object_section(comparison: Comparison, limits: PageLimits) -> Iterator[str]:
    """The number of objects of each kind that are added, removed or changed, and the clusters."""
    yield from folded("Objects and clusters", _lines(comparison.summary, limits))


def _lines(summary: Summary, limits: PageLimits) -> Iterator[str]:
    lines = [*_kinds(summary), *_clusters(summary, limits)]
    # An empty section would look as if something had been left out.
    yield from lines or ("- nothing comes, goes or changes",)


def _kinds(summary: Summary) -> Iterator[str]:
    """A line for each kind of which something changes. A table would not fit a telephone."""
    for field, title in _TITLES.items():
        count = getattr(summary, field)
        parts = {"added": count.added, "removed": count.removed, "changed": count.changed}
        changes = [f"{number} {change}" for change, number in parts.items() if number]
        if changes:
            yield f"- {title}: {', '.join(changes)}; {count.total} now"


def _clusters(summary: Summary, limits: PageLimits) -> Iterator[str]:
    clusters = summary.clusters
    if clusters.joined:
        yield f"- new in the inventory: {_names(clusters.joined, limits)}"
    if clusters.left:
        yield f"- no longer in the inventory: {_names(clusters.left, limits)}"
    if clusters.edited:
        yield f"- changed in the inventory: {_names(clusters.edited, limits)}"
    if clusters.gaining:
        yield f"- {plural(clusters.gaining, 'cluster')} with an additional scorer"
    if clusters.losing:
        yield f"- {plural(clusters.losing, 'cluster')} with a scorer less"
    if clusters.altered:
        count = plural(clusters.altered, "cluster")
        yield f"- {count} where a scorer stays and its scores may change"


def _names(names: Sequence[str], limits: PageLimits) -> str:
    return limits.plain(names_text(names, max_names=limits.names))

"""Chooses the labels, claims and resources of clusters that are written to git: what people set, and what
selectors use.

A label without a domain belongs to its user (Kubernetes, "Labels and Selectors": automated components must
use a prefix), so it is taken. Labels with a domain are written by controllers and change by themselves, as
`feature.open-cluster-management.io/addon-*` does when an agent is late. Of those, only labels that decide
placements or that a selector of the repository names are taken.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from gitops_dsf.hub.names import CLUSTER_SET_LABEL
from gitops_dsf.repository.load import Document, value_at

LABELS: Final = (CLUSTER_SET_LABEL, "topology.kubernetes.io/*")
"""Labels with a domain that are always taken."""

VOLATILE_LABELS: Final = ("clusterID", "name", "openshiftVersion", "openshiftVersion-*")
"""Labels without a domain that distributions of OCM write. They repeat the name or change with
every upgrade.
"""

CLAIMS: Final = (
    "platform.open-cluster-management.io",
    "product.open-cluster-management.io",
    "region.open-cluster-management.io",
)
"""Claims that describe what a cluster is, and not its current version."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Globs of further label and claim names to take, and whether to take resources."""

    labels: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    resources: bool = False
    """Allocatable and capacity. They change with every node, and only the ResourceAllocatable prioritizers
    use them.
    """

    def takes_label(self, name: str) -> bool:
        """Whether a label of the hub is taken."""
        if _matches(name, self.labels) or _matches(name, LABELS):
            return True
        return "/" not in name and not _matches(name, VOLATILE_LABELS)

    def takes_claim(self, name: str) -> bool:
        """Whether a claim of the hub is taken."""
        return _matches(name, self.claims) or name in CLAIMS

    def and_asked_for(self, documents: Iterable[Document]) -> "Selection":
        """Returns this selection, extended by every label and claim that a selector of the repository names,
        or that a scorer on the hub recognises clusters by.
        """
        labels: set[str] = set()
        claims: set[str] = set()
        for document in documents:
            if document.kind == "DynamicScorer":
                for kind, names in (("claim", claims), ("label", labels)):
                    name = value_at(document.data, ("spec", "source", "clusterLabel", kind))
                    names.update([name] if isinstance(name, str) else ())
            if document.kind != "ManagedCluster":
                for field, selector in _selectors(document.data):
                    (claims if field == "claimSelector" else labels).update(_keys(selector))
        return self.and_names(labels=labels, claims=claims)

    def and_names(
        self, *, labels: Iterable[str], claims: Iterable[str], resources: bool = False
    ) -> "Selection":
        """Returns this selection, extended by exactly these names."""
        return Selection(
            labels=(*self.labels, *sorted(map(_literal, labels))),
            claims=(*self.claims, *sorted(map(_literal, claims))),
            resources=self.resources or resources,
        )


def _selectors(value: Any, field: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:  # noqa: ANN401 - whatever YAML holds
    """Yields every mapping that looks like a label or claim selector, with the name of its field."""
    if isinstance(value, Mapping):
        if "matchLabels" in value or "matchExpressions" in value:
            yield field, value
        for key, item in value.items():
            yield from _selectors(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _selectors(item, field)


def _keys(selector: Mapping[str, Any]) -> Iterator[str]:
    labels, terms = selector.get("matchLabels"), selector.get("matchExpressions")
    if isinstance(labels, Mapping):
        yield from labels
    for term in terms if isinstance(terms, list) else ():
        if isinstance(term, Mapping) and isinstance(term.get("key"), str):
            yield term["key"]


def _matches(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _literal(name: str) -> str:
    """Escapes a name as a glob that matches nothing else."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)

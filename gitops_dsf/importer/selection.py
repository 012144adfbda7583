"""Labels and claims of a cluster that git should hold.

A label without a domain belongs to its user (Kubernetes, "Labels and Selectors": automated
components must use a prefix), so it is taken. Labels with a domain are written by controllers and
change by themselves, as `feature.open-cluster-management.io/addon-*` does when an agent is late. Of
those, only labels that decide placements or that a selector of the repository names are taken.
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
"""Labels of OCM's distributions without a domain: they repeat the name, or change with upgrades."""
CLAIMS: Final = (
    "platform.open-cluster-management.io",
    "product.open-cluster-management.io",
    "region.open-cluster-management.io",
)
"""Claims that describe what a cluster is, and not its current version."""


@dataclass(frozen=True, kw_only=True)
class ImportSelection:
    """Globs of further label and claim names to take, and whether to take resources."""

    labels: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    resources: bool = False
    """Allocatable and capacity, which change with every node. Few prioritizers use them."""

    def takes_label(self, name: str) -> bool:
        """Whether git should hold a label of a cluster."""
        if _matches(name, self.labels) or _matches(name, LABELS):
            return True
        return "/" not in name and not _matches(name, VOLATILE_LABELS)

    def takes_claim(self, name: str) -> bool:
        """Whether git should hold a claim of a cluster."""
        return _matches(name, self.claims) or name in CLAIMS

    def and_asked_for(self, documents: Iterable[Document]) -> "ImportSelection":
        """This selection, and what selectors name or scorers on the hub recognise clusters by."""
        labels: set[str] = set()
        claims: set[str] = set()
        for document in documents:
            if document.kind == "DynamicScorer":
                labels.update(_identifying(document, "label"))
                claims.update(_identifying(document, "claim"))
            # The labels of a cluster do not show which selectors ask for them.
            if document.kind == "ManagedCluster":
                continue
            for field, selector in _selectors(document.data):
                names = claims if field == "claimSelector" else labels
                names.update(_keys(selector))
        return self.and_names(labels=labels, claims=claims)

    def and_names(
        self, *, labels: Iterable[str], claims: Iterable[str], resources: bool = False
    ) -> "ImportSelection":
        """This selection, and labels and claims of these names."""
        return ImportSelection(
            labels=(*self.labels, *sorted(map(_literal, labels))),
            claims=(*self.claims, *sorted(map(_literal, claims))),
            resources=self.resources or resources,
        )


def _identifying(scorer: Document, kind: str) -> Iterator[str]:
    """The label or claim by which a scorer on the hub recognises clusters."""
    name = value_at(scorer.data, ("spec", "source", "clusterLabel", kind))
    if isinstance(name, str):
        yield name


def _selectors(
    value: Any,  # noqa: ANN401 - whatever YAML holds
    field: str = "",
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every mapping that looks like a label or claim selector, with the name of its field."""
    if isinstance(value, Mapping):
        if "matchLabels" in value or "matchExpressions" in value:
            yield field, value
        for key, content in value.items():
            yield from _selectors(content, key)
    elif isinstance(value, list):
        for element in value:
            yield from _selectors(element, field)


def _keys(selector: Mapping[str, Any]) -> Iterator[str]:
    """The labels that a selector names. The file may not be valid yet."""
    labels = selector.get("matchLabels")
    if isinstance(labels, Mapping):
        yield from labels
    # An expression needs its label also where it must be absent.
    terms = selector.get("matchExpressions")
    for term in terms if isinstance(terms, list) else ():
        if isinstance(term, Mapping) and isinstance(term.get("key"), str):
            yield term["key"]


def _matches(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _literal(name: str) -> str:
    """Escapes a name as a glob that matches nothing else."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)

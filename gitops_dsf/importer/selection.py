"""Which labels, claims and resources of a hub's clusters are worth a line in git: what people set and
selectors ask for.

A label without a domain is its owner's (Kubernetes, "Labels and Selectors": automated components must use a
prefix), so those are taken. Labels with a domain are written by controllers and change by themselves, as
`feature.open-cluster-management.io/addon-*` does whenever an agent is late; of them only those are taken that
decide placements or that a selector of the repository names.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from gitops_dsf.hub.names import CLUSTER_SET_LABEL
from gitops_dsf.repository.load import Document

LABELS: Final = (CLUSTER_SET_LABEL, "topology.kubernetes.io/*")
"""Labels with a domain that are always taken."""

VOLATILE_LABELS: Final = ("clusterID", "name", "openshiftVersion", "openshiftVersion-*")
"""Labels without a domain that distributions of OCM write: they repeat the name or change with every upgrade.
"""

CLAIMS: Final = (
    "platform.open-cluster-management.io",
    "product.open-cluster-management.io",
    "region.open-cluster-management.io",
)
"""Claims that say what a cluster is and not which version it has today."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Shell-style globs of label and claim names to be taken besides the usual ones, and whether resources
    are.
    """

    labels: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    resources: bool = False
    """Allocatable and capacity: they change with every node, and only the ResourceAllocatable prioritizers
    ask for them.
    """

    def takes_label(self, name: str) -> bool:
        """Whether a label of the hub is written."""
        if _matches(name, self.labels) or _matches(name, LABELS):
            return True
        return "/" not in name and not _matches(name, VOLATILE_LABELS)

    def takes_claim(self, name: str) -> bool:
        """Whether a claim of the hub is written."""
        return _matches(name, self.claims) or name in CLAIMS

    def and_asked_for(self, documents: Iterable[Document]) -> "Selection":
        """This selection and every label and claim that a selector of the repository names."""
        labels: set[str] = set()
        claims: set[str] = set()
        for document in documents:
            if document.kind != "ManagedCluster":
                for field, selector in _selectors(document.data):
                    (claims if field == "claimSelector" else labels).update(_keys(selector))
        return self.and_names(labels=labels, claims=claims)

    def and_names(
        self, *, labels: Iterable[str], claims: Iterable[str], resources: bool = False
    ) -> "Selection":
        """This selection and exactly these names."""
        return Selection(
            labels=(*self.labels, *sorted(map(_literal, labels))),
            claims=(*self.claims, *sorted(map(_literal, claims))),
            resources=self.resources or resources,
        )


def _selectors(value: Any, field: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:  # noqa: ANN401 - whatever YAML holds
    """Every mapping that looks like a label or claim selector, with the name of the field that it stands
    under.
    """
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
    """A name as a glob that matches nothing else."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)

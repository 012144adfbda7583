"""Raw Placements: the fields that OCM reads or ignores, and its scheduler's verdict on one."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from gitops_dsf.repository.load import Document, FieldPath, value_at

if TYPE_CHECKING:
    from gitops_dsf.simulator import Verdict

UNREAD: Final[Mapping[str, str]] = {
    "scoreRateLimit": (
        "remove it; what holds moves back is a weight of the built-in Steady, or a larger"
        " publish.deadband of the scorer"
    ),
    "sortBy": "remove it; clusters are ranked by prioritizerPolicy alone",
    "spreadPolicy": "remove it; write one Placement for each topology to spread over",
}
"""Fields of `spec` that OCM's controllers never read, and what to write instead.

The API server accepts them. The CRD of the pinned OCM has the last one, that of OCM 1.3 all three.
tests/hub/test_unread_fields.py searches the source of the pinned OCM.
"""
WRITTEN_BY_THE_CRD: Final[Mapping[str, str]] = {"scoreRateLimit": "1m", "sortBy": "ClusterName"}
"""Values of such fields that may not have been written by people.

The CRD of OCM 1.3 (api v1.3.0) has them as defaults, so every Placement that was copied from such a
hub has them.
"""
_SCORES: Final = re.compile(r"""\.scores\(\s*["']([^"'\\]*)["']\s*\)""")
"""A call of scores() with a name that is written out."""


def resources_ranked_by(document: Document) -> Iterator[tuple[FieldPath, str]]:
    """The AddOnPlacementScores that the prioritizers of a Placement read, each with its path."""
    for configuration in document.items("spec", "prioritizerPolicy", "configurations"):
        path = (*configuration, "scoreCoordinate", "addOn", "resourceName")
        name = value_at(document.data, path)
        if isinstance(name, str):
            yield path, name


def expressions(document: Document) -> Iterator[tuple[FieldPath, str]]:
    """The CEL expressions of the predicates of a Placement, each with its path."""
    for predicate in document.items("spec", "predicates"):
        cel = (*predicate, "requiredClusterSelector", "celSelector", "celExpressions")
        for path in document.items(*cel):
            expression = value_at(document.data, path)
            if isinstance(expression, str):
                yield path, expression


def reads_score(expression: str, resources: Collection[str]) -> bool:
    """Whether an expression reads one of these AddOnPlacementScores, and writes out its name."""
    return any(resource in resources for resource in _SCORES.findall(expression))


def verdict_on_any_cluster(spec: Mapping[str, Any]) -> "Verdict":
    """The decision of OCM on a hub with one cluster, which the Placement may choose.

    So a refusal is the fault of the Placement: selectors are left out, and so are fields that OCM
    ignores.
    """
    # Few repositories have raw Placements, and the simulator is slow to import.
    from gitops_dsf.simulator import simulate, with_defaults  # noqa: PLC0415

    # A refusal must be the fault of the other fields: selectors are judged elsewhere.
    ignored = {"clusterSets", "predicates", *UNREAD}
    judged = {name: value for name, value in spec.items() if name not in ignored}
    objects = [
        {
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": "c"},
        },
        {
            "kind": "ManagedClusterSet",
            "metadata": {"name": "global"},
            "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}},
        },
        {
            "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "global", "namespace": "n"},
            "spec": {"clusterSet": "global"},
        },
        {"kind": "Placement", "metadata": {"name": "p", "namespace": "n"}, "spec": judged},
    ]
    # The cluster has no taint that a toleration could outlive, so any time will do.
    return simulate(with_defaults(objects), "n/p", "2026-01-01T00:00:00Z")

"""Known fields of documents that are copied into the output. An API server would drop or reject any other
field.
"""

from typing import Final

Fields = dict[str, "Fields | None"]
"""Field names of an object, or of each object in a list; None allows any content."""

_LABEL_SELECTOR: Final[Fields] = {
    "matchLabels": None,
    "matchExpressions": {"key": None, "operator": None, "values": None},
}
_CLUSTER_SELECTOR: Final[Fields] = {
    "labelSelector": _LABEL_SELECTOR,
    "claimSelector": {"matchExpressions": {"key": None, "operator": None, "values": None}},
    "celSelector": {"celExpressions": None},
}
PLACEMENT: Final[Fields] = {
    "clusterSets": None,
    "decisionStrategy": {
        "groupStrategy": {
            "clustersPerDecisionGroup": None,
            "decisionGroups": {"groupName": None, "groupClusterSelector": _CLUSTER_SELECTOR},
        }
    },
    "numberOfClusters": None,
    "predicates": {"requiredClusterSelector": _CLUSTER_SELECTOR},
    "prioritizerPolicy": {
        "mode": None,
        "configurations": {
            "scoreCoordinate": {
                "type": None,
                "builtIn": None,
                "addOn": {"resourceName": None, "scoreName": None},
            },
            "weight": None,
        },
    },
    "scoreRateLimit": None,
    "sortBy": None,
    "spreadPolicy": {
        "spreadConstraints": {
            "maxSkew": None,
            "topologyKey": None,
            "topologyKeyType": None,
            "whenUnsatisfiable": None,
        },
    },
    "tolerations": {"key": None, "operator": None, "value": None, "effect": None, "tolerationSeconds": None},
}
"""`spec` of cluster.open-cluster-management.io/v1beta1 Placement, with what OCM's main branch added
(docs/contributing/ocm-behaviour.md#placement-fields-that-nothing-reads)."""

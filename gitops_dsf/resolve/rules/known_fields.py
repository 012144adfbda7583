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

SYNC_POLICY: Final[Fields] = {
    "automated": {"allowEmpty": None, "enabled": None, "prune": None, "selfHeal": None},
    "managedNamespaceMetadata": {"annotations": None, "labels": None},
    "retry": {
        "backoff": {"duration": None, "factor": None, "maxDuration": None},
        "limit": None,
        "refresh": None,
    },
    "syncOptions": None,
}
"""`spec.syncPolicy` of an Argo CD Application."""

_TEMPLATE: Final[Fields] = {
    "metadata": {"annotations": None, "finalizers": None, "labels": None, "name": None, "namespace": None},
    "spec": {
        "destination": {"name": None, "namespace": None, "server": None},
        "ignoreDifferences": None,
        "info": None,
        "project": None,
        "revisionHistoryLimit": None,
        "source": None,
        "sourceHydrator": None,
        "sources": None,
        "syncPolicy": SYNC_POLICY,
    },
}
_GENERATOR: Final[Fields] = {
    "clusterDecisionResource": {
        "configMapRef": None,
        "labelSelector": _LABEL_SELECTOR,
        "name": None,
        "requeueAfterSeconds": None,
        "template": _TEMPLATE,
        "values": None,
    },
    "clusters": None,
    "git": None,
    "list": None,
    "matrix": {"generators": None, "template": _TEMPLATE},
    "merge": {"generators": None, "mergeKeys": None, "template": _TEMPLATE},
    "plugin": None,
    "pullRequest": None,
    "scmProvider": None,
    "selector": _LABEL_SELECTOR,
}
APPLICATION_SET: Final[Fields] = {
    "applyNestedSelectors": None,
    "generators": _GENERATOR,
    "goTemplate": None,
    "goTemplateOptions": None,
    "ignoreApplicationDifferences": None,
    "preservedFields": None,
    "strategy": None,
    "syncPolicy": {"applicationsSync": None, "preserveResourcesOnDeletion": None},
    "template": _TEMPLATE,
    "templatePatch": None,
}
"""`spec` of argoproj.io/v1alpha1 ApplicationSet."""

"""Documents with every field that the APIs of OCM and Argo CD have: validate knows each of them."""

import json
from typing import Any

import pytest

from tests.unit.resolve.test_rules import findings
from tests.unit.resolve.test_rules_applications import application

TERM = {"key": "env", "operator": "In", "values": ["prod"]}
LABEL_SELECTOR = {"matchLabels": {"env": "prod"}, "matchExpressions": [TERM]}
CLUSTER_SELECTOR = {
    "labelSelector": LABEL_SELECTOR,
    "claimSelector": {"matchExpressions": [TERM]},
    "celSelector": {"celExpressions": ["managedCluster.metadata.name == 'a'"]},
}
GROUP_SELECTOR = {name: CLUSTER_SELECTOR[name] for name in ("labelSelector", "claimSelector")}
PLACEMENT = {
    "clusterSets": ["global"],
    "decisionStrategy": {
        "groupStrategy": {
            "clustersPerDecisionGroup": "25%",
            "decisionGroups": [{"groupName": "first", "groupClusterSelector": GROUP_SELECTOR}],
        }
    },
    "numberOfClusters": 1,
    "predicates": [{"requiredClusterSelector": CLUSTER_SELECTOR}],
    "prioritizerPolicy": {
        "mode": "Exact",
        "configurations": [
            {
                "scoreCoordinate": {
                    "type": "AddOn",
                    "builtIn": "Steady",
                    "addOn": {"resourceName": "cpu-score", "scoreName": "cpu_score"},
                },
                "weight": 1,
            }
        ],
    },
    "scoreRateLimit": {},
    "sortBy": {},
    "spreadPolicy": {
        "spreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "topologyKeyType": "Label",
                "whenUnsatisfiable": "ScheduleAnyway",
            }
        ]
    },
    "tolerations": [
        {"key": "a", "operator": "Equal", "value": "b", "effect": "NoSelect", "tolerationSeconds": 5}
    ],
}
SYNC_POLICY = {
    "automated": {"allowEmpty": False, "enabled": True, "prune": True, "selfHeal": True},
    "managedNamespaceMetadata": {"annotations": {"a": "b"}, "labels": {"a": "b"}},
    "retry": {
        "backoff": {"duration": "5s", "factor": 2, "maxDuration": "3m"},
        "limit": 5,
        "refresh": True,
    },
    "syncOptions": ["CreateNamespace=true"],
}
SOURCE = {"repoURL": "https://git.example.com/a.git", "path": "."}
TEMPLATE = {
    "metadata": {
        "annotations": {"a": "b"},
        "finalizers": ["resources-finalizer.argocd.argoproj.io"],
        "labels": {"a": "b"},
        "name": "a-{{.clusterName}}",
        "namespace": "argocd",
    },
    "spec": {
        "destination": {"name": "a", "namespace": "b", "server": "https://c.example.com"},
        "ignoreDifferences": [{"kind": "Deployment", "jsonPointers": ["/spec/replicas"]}],
        "info": [{"name": "a", "value": "b"}],
        "project": "default",
        "revisionHistoryLimit": 3,
        "source": SOURCE,
        "sourceHydrator": {"drySource": SOURCE},
        "sources": [SOURCE],
        "syncPolicy": SYNC_POLICY,
    },
}
GENERATOR = {
    "clusterDecisionResource": {
        "configMapRef": "a",
        "labelSelector": LABEL_SELECTOR,
        "name": "a",
        "requeueAfterSeconds": 60,
        "template": TEMPLATE,
        "values": {"a": "b"},
    },
    "clusters": {"flatList": True},
    "git": {"revision": "HEAD"},
    "list": {"elements": []},
    "matrix": {"generators": [{"list": {}}, {"list": {}}], "template": TEMPLATE},
    "merge": {"generators": [{"list": {}}], "mergeKeys": ["a"], "template": TEMPLATE},
    "plugin": {"input": {}},
    "pullRequest": {"github": {}},
    "scmProvider": {"github": {}},
    "selector": LABEL_SELECTOR,
}
APPLICATION_SET = {
    "applyNestedSelectors": True,
    "generators": [GENERATOR],
    "goTemplate": True,
    "goTemplateOptions": ["missingkey=error"],
    "ignoreApplicationDifferences": [{"jsonPointers": ["/spec/source"]}],
    "preservedFields": {"annotations": ["a"]},
    "strategy": {"type": "AllAtOnce"},
    "syncPolicy": {"applicationsSync": "sync", "preserveResourcesOnDeletion": True},
    "template": TEMPLATE,
    "templatePatch": "spec: {}",
}


def document(api_version: str, kind: str, spec: dict[str, Any]) -> str:
    return json.dumps(
        {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {"name": "a", "namespace": "argocd"},
            "spec": spec,
        }
    )


@pytest.mark.parametrize(
    "text",
    [
        document("cluster.open-cluster-management.io/v1beta1", "Placement", PLACEMENT),
        document("argoproj.io/v1alpha1", "ApplicationSet", APPLICATION_SET),
        application(f"syncPolicy: {json.dumps(SYNC_POLICY)}"),
    ],
    ids=["Placement", "ApplicationSet", "ScoredApplication"],
)
def test_every_field_of_upstream_is_known(text: str) -> None:
    assert [item.message for item in findings(apps=text) if item.code == "DSF013"] == []

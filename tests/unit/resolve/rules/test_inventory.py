"""Fields of the inventory that OCM does not have are reported; what a hub prints is accepted."""

import pytest

from tests.support import repositories

CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: prod-1, labels: {env: prod}}
spec: {hubAcceptsClient: true}
"""
PRINTED = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  annotations: {open-cluster-management/created-via: other}
  creationTimestamp: "2026-11-01T08:00:00Z"
  finalizers: [cluster.open-cluster-management.io/api-resource-cleanup]
  generation: 4
  labels: {env: prod, cluster.open-cluster-management.io/clusterset: default}
  managedFields:
  - {apiVersion: cluster.open-cluster-management.io/v1, manager: registration, operation: Update}
  name: prod-1
  resourceVersion: "4711"
  uid: 5b7d1d8e-5d4d-4f7d-9d0c-6a4a4d6f7e11
spec:
  hubAcceptsClient: true
  leaseDurationSeconds: 60
  managedClusterClientConfigs: [{url: "https://prod-1.example.com", caBundle: Zm9v}]
  taints:
  - {effect: NoSelect, key: cluster.open-cluster-management.io/unreachable, timeAdded: "2026-11-01T08:00:00Z"}
status:
  allocatable: {cpu: "8", memory: 32Gi}
  capacity: {cpu: "8", memory: 32Gi}
  clusterClaims: [{name: id.k8s.io, value: prod-1}]
  conditions:
  - {type: Joined, status: "True", reason: a, message: b, lastTransitionTime: "2026-11-01T08:00:00Z"}
  version: {kubernetes: v1.37.2}
"""  # noqa: E501


def findings(clusters: str) -> list[str]:
    diagnostics = repositories.findings(clusters=clusters)
    codes = ("DSF013", "DSF014", "DSF016")
    return [
        f"{one.severity} {one.code} {one.position.line}: {one.message}; {one.hint}"
        for one in diagnostics
        if one.code in codes
    ]


@pytest.mark.parametrize("clusters", [CLUSTER, PRINTED])
def test_what_a_hub_prints_is_accepted(clusters: str) -> None:
    assert findings(clusters) == []


@pytest.mark.parametrize(
    ("right", "wrong", "finding"),
    [
        (
            "labels: {env",
            "label: {env",
            (
                "warning DSF013 3: label is not a field of metadata, so it has no effect; did you"
                " mean labels?"
            ),
        ),
        (
            "spec: {hubAcceptsClient: true}",
            "spec: {hubAcceptsClient: true, taint: []}",
            (
                "warning DSF013 4: taint is not a field of spec, so it has no effect; did you mean"
                " taints?"
            ),
        ),
        (
            "spec: {hubAcceptsClient: true}",
            "labels: {env: prod}",
            (
                "warning DSF013 4: labels is not a field of a ManagedCluster, so it has"
                " no effect; known here: apiV"
            ),
        ),
        (
            "spec: {hubAcceptsClient: true}",
            "spec: {taints: [{key: gpu, effect: NoSchedule}]}",
            (
                "error DSF016 4: spec.taints[0].effect must be one of NoSelect,"
                " PreferNoSelect, NoSelectIfNew;"
            ),
        ),
        (
            "spec: {hubAcceptsClient: true}",
            "spec: {taints: [{key: gpu}]}",
            "error DSF014 4: spec.taints[0].effect is missing: OCM refuses the taint; add effect",
        ),
        (
            "spec: {hubAcceptsClient: true}",
            "spec: {taints: [{key: 'a b', effect: NoSelect}]}",
            "error DSF016 4: spec.taints[0].key must be a text that matches",
        ),
        (
            "spec: {hubAcceptsClient: true}",
            "status: {clusterClaim: [{name: a, value: b}]}",
            (
                "warning DSF013 4: clusterClaim is not a field of status, so it has no effect;"
                " did you mean"
            ),
        ),
    ],
)
def test_a_field_that_ocm_does_not_have(right: str, wrong: str, finding: str) -> None:
    assert right in CLUSTER
    [said] = findings(CLUSTER.replace(right, wrong))
    assert said.startswith(finding)


def test_a_field_of_a_set() -> None:
    text = (
        "apiVersion: cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSet\n"
        "metadata: {name: edge}\nspec: {selector: {selectorType: ExclusiveClusterSetLabel}}\n"
    )
    [said] = findings(f"{CLUSTER}---\n{text}")
    assert said.startswith(
        "warning DSF013 9: selector is not a field of spec, so it has no effect;"
    )

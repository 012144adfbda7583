"""Codes about the clusters that a Placement may choose, and the sets that they are in."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

IN_NO_SET = FindingCode(
    "DSF212",
    Severity.NOTICE,
    "cluster in no set that a Placement chooses from",
    explanation="""
        OCM puts a cluster without the label of a set into the set `default`. All applications
        and Placements here choose from other sets, so nothing is ever placed on this cluster.
        Label the cluster with its set.
        """,
    bad="""
        # clusters/sets.yaml
        apiVersion: cluster.open-cluster-management.io/v1beta2
        kind: ManagedClusterSet
        metadata: {name: europe}
        # clusters/edge.yaml
        metadata:
          labels: {env: edge, cluster.open-cluster-management.io/clusterset: europe}
        # clusters/prod.yaml
        metadata:
          labels: {env: prod}
        # apps/web.yaml
        spec:
          placement: {numberOfClusters: 1, clusterSets: [europe]}
        # apps/batch.yaml
        spec:
          clusterSets: [europe]
        """,
    good="""
        # clusters/sets.yaml
        apiVersion: cluster.open-cluster-management.io/v1beta2
        kind: ManagedClusterSet
        metadata: {name: europe}
        # clusters/edge.yaml
        metadata:
          labels: {env: edge, cluster.open-cluster-management.io/clusterset: europe}
        # clusters/prod.yaml
        metadata:
          labels: {env: prod, cluster.open-cluster-management.io/clusterset: europe}
        # apps/web.yaml
        spec:
          placement: {numberOfClusters: 1, clusterSets: [europe]}
        # apps/batch.yaml
        spec:
          clusterSets: [europe]
        """,
)

UNKNOWN_SET = FindingCode(
    "DSF309",
    Severity.ERROR,
    "unknown ManagedClusterSet",
    explanation="""
        The ManagedClusterSet is not in `clusters/`. OCM ignores a set that does not exist, so
        its clusters could not be chosen. `default` and `global` exist on every hub.
        """,
    bad="""
        # apps/web.yaml
        spec:
          placement:
            numberOfClusters: 1
            clusterSets: [globl]
        """,
    good="""
        # apps/web.yaml
        spec:
          placement:
            numberOfClusters: 1
            clusterSets: [global]
        """,
)

NO_ELIGIBLE_CLUSTER = FindingCode(
    "DSF310",
    Severity.ERROR,
    "no eligible cluster",
    explanation="""
        Sets, selector and tolerations leave no cluster of the inventory, so the application
        would run nowhere. `spec.allowUnmatchedSelectors: true` makes it a warning, for clusters
        that join later.
        """,
    bad="""
        # apps/web.yaml
        spec:
          placement:
            clusterSelector: {matchLabels: {env: staging}}
        """,
    good="""
        # apps/web.yaml
        spec:
          placement:
            clusterSelector: {matchLabels: {env: prod}}
        """,
)

MANY_DECISIONS = FindingCode(
    "DSF320",
    Severity.WARNING,
    "more than 100 clusters in one decision",
    explanation="""
        OCM writes a decision of more than 100 clusters as several objects, and updates them one
        after another. A cluster that changes its object is in none of them for a moment, and
        Replace would delete its copy. MakeBeforeBreak and Keep delete no cluster that OCM
        [moves between objects](docs/decisions/scheduler.md#more-than-a-hundred-clusters).
        """,
    unshown="the smallest example has 101 clusters",
)

UNKNOWN_SET_OF_CLUSTER = FindingCode(
    "DSF340",
    Severity.WARNING,
    "cluster in a set that does not exist",
    explanation="""
        The label puts the cluster into a ManagedClusterSet that is not in `clusters/`. Only
        applications that choose from the set `global` can use the cluster. Correct the label,
        or write the set.
        """,
    bad="""
        # clusters/edge.yaml
        metadata:
          name: edge-1
          labels: {env: edge, cluster.open-cluster-management.io/clusterset: defualt}
        """,
    good="""
        # clusters/edge.yaml
        metadata:
          name: edge-1
          labels: {env: edge, cluster.open-cluster-management.io/clusterset: default}
        """,
)

TOO_FEW_CLUSTERS = FindingCode(
    "DSF364",
    Severity.WARNING,
    "more clusters than are eligible",
    explanation="""
        The application asks for more clusters than it may choose. All eligible clusters are
        chosen, whatever their scores are, and the rest of the decision stays empty. With
        `allowUnmatchedSelectors` it is a notice.
        """,
    bad="""
        # apps/web.yaml
        spec:
          placement:
            numberOfClusters: 3
        """,
    good="""
        # apps/web.yaml
        spec:
          placement:
            numberOfClusters: 1
        """,
)

BINDING_NAME = FindingCode(
    "DSF370",
    Severity.ERROR,
    "binding that is not named after its set",
    explanation="""
        OCM's webhook refuses a ManagedClusterSetBinding whose name is not that of its set, so
        the Placements of the namespace could not choose from the set.
        """,
    bad="""
        # apps/binding.yaml
        apiVersion: cluster.open-cluster-management.io/v1beta2
        kind: ManagedClusterSetBinding
        metadata: {name: all}
        spec: {clusterSet: global}
        """,
    good="""
        # apps/binding.yaml
        apiVersion: cluster.open-cluster-management.io/v1beta2
        kind: ManagedClusterSetBinding
        metadata: {name: global}
        spec: {clusterSet: global}
        """,
)

BINDING_OWNER = FindingCode(
    "DSF371",
    Severity.WARNING,
    "binding with two owners",
    explanation="""
        `bindings: Existing` says that somebody else keeps the ManagedClusterSetBindings of the
        namespace, and another object in `apps/` has one of them rendered. Argo CD then owns the
        binding, and deletes it when nothing here asks for it any more. Write
        `bindings: Rendered`, or let neither render it.
        [Consumers](docs/decisions/consumers.md) explains bindings.
        """,
    bad="""
        # apps/web.yaml
        spec:
          bindings: Existing
          placement: {numberOfClusters: 1, clusterSets: [global]}
        # apps/batch.yaml
        spec:
          clusterSets: [global]
        """,
    good="""
        # apps/web.yaml
        spec:
          bindings: Rendered
          placement: {numberOfClusters: 1, clusterSets: [global]}
        # apps/batch.yaml
        spec:
          clusterSets: [global]
        """,
)

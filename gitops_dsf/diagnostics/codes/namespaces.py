"""Codes about namespaces, such as those that belong to the platform."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

CLUSTER_NAMESPACE = FindingCode(
    "DSF210",
    Severity.ERROR,
    "cluster named like a namespace of the platform",
    explanation="""
        The ManifestWork of a cluster and the rights of its agent are rendered into the
        namespace of its name on the hub. In a namespace of the platform the cluster could read
        or change what belongs to the platform. `import` and the proposals of the reconciler
        leave such a cluster out and say so; the AppProject denies the namespaces. Join the
        cluster under another name.

        - `default`: the Service of the API server of Kubernetes is there.
        - `kube-*`: Kubernetes reserves the prefix.
        - `openshift` and `openshift-*`: OpenShift reserves them.
        - `open-cluster-management*` and `multicluster-engine`: OCM runs there.
        - `argocd`, and `spec.argocd.namespace`: Argo CD's Secrets and Applications are there.
        - `dynamic-scoring`: the agents run there, and their ManifestWork owns it.
        - `spec.hubNamespace`: the reconciler and the DynamicScorers are there.
        """,
    bad="""
        # clusters/second.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata:
          name: openshift-config
        """,
    good="""
        # clusters/second.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata:
          name: prod-2
        """,
)

HUB_NAMESPACE = FindingCode(
    "DSF211",
    Severity.ERROR,
    "hub namespace that belongs to others",
    explanation="""
        The reconciler, its rights and the DynamicScorers are rendered into `spec.hubNamespace`.
        It cannot be one of the [namespaces of the
        platform](#dsf210-cluster-named-like-a-namespace-of-the-platform), nor that of a
        cluster, which is deleted when the cluster leaves the hub. The default, `gitops-dsf`, is
        a namespace of its own. `open-cluster-management` and the namespace of Argo CD are
        allowed.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          hubNamespace: kube-system
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          hubNamespace: scoring
        """,
)

IGNORED_NAMESPACE = FindingCode(
    "DSF213",
    Severity.WARNING,
    "namespace that has no effect",
    explanation="""
        The namespace has no effect. Scorers and masks are rendered into `spec.hubNamespace`,
        and other kinds of gitops-dsf, except applications and ScoredPlacements, are not objects
        of the hub. Remove it.
        """,
    bad="""
        # scorers/cpu.yaml
        metadata:
          name: cpu-forecast
          namespace: scoring
        """,
    good="""
        # scorers/cpu.yaml
        metadata:
          name: cpu-forecast
        """,
)

PLATFORM_DESTINATION = FindingCode(
    "DSF341",
    Severity.WARNING,
    "application in a namespace of the platform",
    explanation="""
        The application is deployed into one of the [namespaces of the
        platform](#dsf210-cluster-named-like-a-namespace-of-the-platform) other than `default`.
        Anyone who can write there controls the cluster or the fleet. Choose a namespace of the
        application's own.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            destinationNamespace: kube-system
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            destinationNamespace: web
        """,
)

PLACEMENT_NAMESPACE = FindingCode(
    "DSF360",
    Severity.ERROR,
    "Placement in a namespace of the platform or of a cluster",
    explanation="""
        The AppProject allows the namespace of each Placement, and all kinds that are rendered in
        it. So a merged file could put objects into one of the [namespaces of the
        platform](#dsf210-cluster-named-like-a-namespace-of-the-platform), or into the namespace of
        a cluster. Of the first, only that of Argo CD is allowed. In the second, the agents of the
        cluster have rights, and it is deleted when the cluster leaves the hub. Write the namespace
        of the program that reads the decision.
        """,
    bad="""
        # apps/training.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata:
          name: training
          namespace: kube-system
        spec: {scores: [{scorer: cpu-forecast}], placement: {numberOfClusters: 1}}
        """,
    good="""
        # apps/training.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata:
          name: training
          namespace: kueue-system
        spec: {scores: [{scorer: cpu-forecast}], placement: {numberOfClusters: 1}}
        """,
)

WRONG_NAMESPACE = FindingCode(
    "DSF401",
    Severity.ERROR,
    "object outside the Argo CD namespace",
    explanation="""
        Argo CD's generator looks for decisions in its own namespace only. An ApplicationSet, or
        a Placement that an ApplicationSet follows, in another namespace generates nothing.
        Write the namespace of Argo CD, or set `spec.argocd.namespace`.
        """,
    bad="""
        # apps/batch.yaml
        metadata:
          name: batch
          namespace: web
        """,
    good="""
        # apps/batch.yaml
        metadata:
          name: batch
          namespace: argocd
        """,
)

"""Codes DSF2xx: clusters, selectors and masks."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import Code

UNKNOWN_CLUSTER = Code(
    "DSF201",
    Severity.ERROR,
    "mask for an unknown cluster",
    explanation="""
        The mask names a cluster that is not in `clusters/`. The cluster that is meant would
        still be scored. Correct the name, import the cluster, or remove the mask.
        """,
    bad="""
        # config/masks.yaml
        spec:
          masks:
            - {clusterName: edge1, scoreName: cpu_forecast}
        """,
    good="""
        # config/masks.yaml
        spec:
          masks:
            - {clusterName: edge-1, scoreName: cpu_forecast}
        """,
)

UNKNOWN_SCORE = Code(
    "DSF202",
    Severity.ERROR,
    "mask for an unknown score",
    explanation="""
        The mask names a score that no scorer publishes, so it keeps nothing off. Masks name
        scores (`scoring.params.name`), not scorers.
        """,
    bad="""
        # config/masks.yaml
        spec:
          masks:
            - {clusterName: edge-1, scoreName: cpu-forecast}
        """,
    good="""
        # config/masks.yaml
        spec:
          masks:
            - {clusterName: edge-1, scoreName: cpu_*}
        """,
)

MATCHES_NOTHING = Code(
    "DSF203",
    Severity.WARNING,
    "mask or selector that matches nothing",
    explanation="""
        The selector or the glob matches nothing in the inventory. For a scorer's
        `clusterSelector` it is an error, because the scorer would run nowhere;
        `spec.allowUnmatchedSelectors: true` makes it a warning, for clusters that join later.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          clusterSelector: {matchLabels: {env: production}}
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          clusterSelector: {matchLabels: {env: prod}}
        """,
)

DUPLICATE_MASK = Code(
    "DSF204",
    Severity.WARNING,
    "mask written twice",
    explanation="""
        The same mask is written twice. One of the two may have been meant for something else.
        """,
    bad="""
        # config/masks.yaml
        spec:
          masks:
            - {clusterName: edge-1, scoreName: cpu_forecast}
            - {clusterName: edge-1, scoreName: cpu_forecast}
        """,
    good="""
        # config/masks.yaml
        spec:
          masks:
            - {clusterName: edge-1, scoreName: cpu_forecast}
            - {clusterName: edge-1, scoreName: cpu_mean}
        """,
)

NOWHERE = Code(
    "DSF205",
    Severity.WARNING,
    "scorer that runs on no cluster",
    explanation="""
        The masks keep the scorer off every cluster that its selector matches, so no agent runs
        it. Remove the scorer, write `suspend: true`, or narrow the masks.
        """,
    bad="""
        # config/masks.yaml
        spec:
          masks:
            - {clusterName: "*", scoreName: cpu_mean}
        # tests/mean.yaml
        spec:
          given:
            series:
              - {scorer: cpu-mean, cluster: prod-1, values: 0.4 0.5}
          expect:
            scores:
              - {at: 1m, scorer: cpu-mean, cluster: prod-1, value: 50}
        """,
    good="""
        # config/masks.yaml
        spec:
          masks:
            - {clusterName: edge-1, scoreName: cpu_mean}
        # tests/mean.yaml
        spec:
          given:
            series:
              - {scorer: cpu-mean, cluster: prod-1, values: 0.4 0.5}
          expect:
            scores:
              - {at: 1m, scorer: cpu-mean, cluster: prod-1, value: 50}
        """,
)

BAD_SELECTOR = Code(
    "DSF206",
    Severity.ERROR,
    "label selector that Kubernetes refuses",
    explanation="""
        Kubernetes refuses the label selector: a key or value is not valid, the operator does
        not exist, or it does not fit its values. The CRDs do not check that. A Placement with
        such a selector loses all its clusters, and with one in a ManagedClusterSet, OCM no
        longer reschedules when clusters change.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          clusterSelector: {matchExpressions: [{key: env, operator: In}]}
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          clusterSelector: {matchExpressions: [{key: env, operator: In, values: [prod]}]}
        """,
)

CONFIG_NAME = Code(
    "DSF207",
    Severity.ERROR,
    "DynamicScoringConfig that would not be read",
    explanation="""
        Agents and the upstream controller read one object, the DynamicScoringConfig named
        `dynamic-scoring-config`. Masks in another one have no effect. Write all masks into that
        object.
        """,
    bad="""
        # config/masks.yaml
        metadata:
          name: masks
        """,
    good="""
        # config/masks.yaml
        metadata:
          name: dynamic-scoring-config
        """,
)

NO_CLUSTERS = Code(
    "DSF208",
    Severity.WARNING,
    "no clusters in the inventory",
    explanation="""
        `clusters/` has no ManagedCluster, so no cluster gets the scoring configuration, and
        nothing that depends on clusters can be checked. `gitops-dsf import --context HUB`
        writes them from a hub.
        """,
    unshown="an example is written over a repository that has clusters",
)

CLUSTER_NAMESPACE = Code(
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

HUB_NAMESPACE = Code(
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

IN_NO_SET = Code(
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

IGNORED_NAMESPACE = Code(
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

EXTERNAL_SCORE = Code(
    "DSF214",
    Severity.ERROR,
    "external score that something else publishes or declares",
    explanation="""
        `spec.externalScores` declares what other add-ons publish. What a scorer of this repository
        publishes is known from the scorer, and `gitops-dsf-moves` belongs to the reconciler. Each
        score is declared once, so that it has one range.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          externalScores:
            - {resource: resource-usage-score, names: [cpuClusterAvailable, cpuClusterAvailable]}
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          externalScores:
            - {resource: resource-usage-score, names: [cpuClusterAvailable, memClusterAvailable]}
        """,
)

"""Codes about the order of clusters for the jobs of Kueue."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

JOBS_COUNT = FindingCode(
    "DSF372",
    Severity.ERROR,
    "numberOfClusters together with multiKueue",
    explanation="""
        With `numberOfClusters` OCM takes a cluster out of the decision when another one has a
        better score. Kueue takes back the admission of a job whose cluster leaves the
        MultiKueueConfig. The job hangs, and starts from the beginning when the cluster is listed
        again. So the decision has to be all clusters that jobs may run on, and the scores give
        their order, as [Jobs by scores](docs/decisions/multikueue.md) explains. Remove
        `numberOfClusters`; `clusterSets` and `clusterSelector` limit the clusters.
        """,
    bad="""
        # apps/jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: gpu-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-forecast, demand: 5}]
          multiKueue: {config: gpu-jobs}
          placement: {numberOfClusters: 1}
        """,
    good="""
        # apps/jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: gpu-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-forecast, demand: 5}]
          multiKueue: {config: gpu-jobs}
        """,
)

CONFIG_WRITERS = FindingCode(
    "DSF373",
    Severity.ERROR,
    "MultiKueueConfig with two writers",
    explanation="""
        Two of these write one MultiKueueConfig: ScoredPlacements with `multiKueue`, OCM's kueue
        add-on for an AdmissionCheck with `controllerName: open-cluster-management.io/placement`,
        and whoever applies a MultiKueueConfig. Each undoes what the other does, and a cluster that
        is taken out of the list loses its running jobs. Give each ScoredPlacement a config of its
        own, and let nobody else write it. [Jobs by scores](docs/decisions/multikueue.md) explains
        how to change over from the add-on.
        """,
    bad="""
        # apps/jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: gpu-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-forecast, demand: 5}]
          multiKueue: {config: gpu-jobs}
        # apps/more-jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: more-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-mean}]
          multiKueue: {config: gpu-jobs}
        """,
    good="""
        # apps/jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: gpu-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-forecast, demand: 5}]
          multiKueue: {config: gpu-jobs}
        # apps/more-jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: more-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-mean}]
          multiKueue: {config: more-jobs}
        """,
)

ORDER_WITHOUT_RECONCILER = FindingCode(
    "DSF374",
    Severity.ERROR,
    "multiKueue without the reconciler",
    explanation="""
        The reconciler writes the MultiKueueConfig that `multiKueue` names. Without the reconciler
        there is none, and Kueue sends no job to any cluster. Enable it, or remove `multiKueue`.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          reconciler:
            enabled: false
        # apps/jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: gpu-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-forecast, demand: 5}]
          multiKueue: {config: gpu-jobs}
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          reconciler:
            enabled: true
        # apps/jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: gpu-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-forecast, demand: 5}]
          multiKueue: {config: gpu-jobs}
        """,
)

ORDER_FIELD = FindingCode(
    "DSF375",
    Severity.WARNING,
    "field that has no effect on jobs",
    explanation="""
        A MultiKueueConfig is one list of clusters, which Kueue reads from the front. It has no
        groups. Remove `decisionGroups`, or use another ScoredPlacement for the consumer that reads
        groups.
        """,
    bad="""
        # apps/jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: gpu-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-forecast, demand: 5}]
          multiKueue: {config: gpu-jobs}
          placement:
            decisionGroups: {clustersPerDecisionGroup: 50%}
        """,
    good="""
        # apps/jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: gpu-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-forecast, demand: 5}]
          multiKueue: {config: gpu-jobs}
        """,
)

TOO_MANY_CLUSTERS = FindingCode(
    "DSF376",
    Severity.WARNING,
    "more clusters than a MultiKueueConfig takes",
    explanation="""
        A MultiKueueConfig takes 20 clusters at most. The reconciler lists the best ones and those
        on which jobs run, and the others get no jobs. Choose fewer clusters with `clusterSets` or
        `clusterSelector`, or divide them among several ScoredPlacements and AdmissionChecks.
        """,
    unshown="the smallest example has 21 clusters",
)

"""Codes about scorers on the hub, which distinguish clusters by a label of the series."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

NO_CLUSTER_LABEL = FindingCode(
    "DSF148",
    Severity.ERROR,
    "scorer on the hub without a cluster label",
    explanation="""
        A scorer on the hub reads the series of all clusters from one store. It must know which
        label of a series names the cluster; without it, no score can be published. [Scoring on the
        hub](docs/scores/sources.md#scoring-on-the-hub) explains the labels.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          runsOn: Hub
          source:
            params:
              query: sum by (cluster) (cluster:cpu_usage:ratio)
        """,
    good="""
        # scorers/mean.yaml
        spec:
          runsOn: Hub
          source:
            params:
              query: sum by (cluster) (cluster:cpu_usage:ratio)
            clusterLabel: {name: cluster}
        """,
)

MIXED_CLUSTERS = FindingCode(
    "DSF149",
    Severity.ERROR,
    "query on the hub that mixes clusters",
    explanation="""
        The query combines series of several clusters, or drops the label that names the
        cluster. Every cluster would get the same score, or none. Keep the cluster label in each
        `by`, `on` and join of the query.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          runsOn: Hub
          source:
            clusterLabel: {name: cluster}
            params:
              query: sum by (node) (cluster:cpu_usage:ratio)
        """,
    good="""
        # scorers/mean.yaml
        spec:
          runsOn: Hub
          source:
            clusterLabel: {name: cluster}
            params:
              query: sum by (cluster) (cluster:cpu_usage:ratio)
        """,
)

SAME_IDENTITY = FindingCode(
    "DSF150",
    Severity.ERROR,
    "clusters that a label cannot tell apart",
    explanation="""
        The scorer tells clusters apart by a label or claim, and these clusters have the same
        value. A series with that value could mean any of them, so none of them could be scored.
        Correct the inventory, or compare with a label or claim that differs.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          runsOn: Hub
          source:
            params:
              query: sum by (env) (cluster:cpu_usage:ratio)
            clusterLabel: {name: env, label: env}
        # clusters/prod.yaml
        metadata:
          labels:
            env: edge
        """,
    good="""
        # scorers/mean.yaml
        spec:
          runsOn: Hub
          source:
            params:
              query: sum by (env) (cluster:cpu_usage:ratio)
            clusterLabel: {name: env, label: env}
        # clusters/prod.yaml
        metadata:
          labels:
            env: prod
        """,
)

NO_IDENTITY = FindingCode(
    "DSF151",
    Severity.WARNING,
    "cluster without the label that identifies it",
    explanation="""
        The scorer tells clusters apart by a label or claim that this cluster does not have, so
        no series can belong to it and it gets no score. Import the label from the hub with
        `gitops-dsf import`, or exclude the cluster.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          runsOn: Hub
          source:
            params:
              query: sum by (env) (cluster:cpu_usage:ratio)
            clusterLabel: {name: env, label: env}
        # clusters/prod.yaml
        metadata:
          name: prod-1
          labels: {}
        """,
    good="""
        # scorers/mean.yaml
        spec:
          runsOn: Hub
          source:
            params:
              query: sum by (env) (cluster:cpu_usage:ratio)
            clusterLabel: {name: env, label: env}
        # clusters/prod.yaml
        metadata:
          name: prod-1
          labels: {env: prod}
        """,
)

WRONG_PLACE = FindingCode(
    "DSF152",
    Severity.ERROR,
    "setting that does not fit where the scorer runs",
    explanation="""
        The hub scorer asks one store with the API of Prometheus for the series of all clusters,
        while an agent sees one cluster. The setting fits only one of the two places, so here it
        has no effect or cannot work. Move the scorer with `runsOn`, or remove the setting.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          source:
            params:
              query: sum by (cluster, node) (node:cpu_idle:ratio)
          scoring:
            clustersPerRequest: 10
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          runsOn: Hub
          source:
            params:
              query: sum by (cluster, node) (node:cpu_idle:ratio)
            clusterLabel: {name: cluster}
          scoring:
            clustersPerRequest: 10
        """,
)

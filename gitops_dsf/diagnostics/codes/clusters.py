"""Codes about the clusters on which scorers run: the inventory, selectors and masks."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

UNKNOWN_CLUSTER = FindingCode(
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

UNKNOWN_SCORE = FindingCode(
    "DSF202",
    Severity.ERROR,
    "mask for an unknown score",
    explanation="""
        The mask names a score that no scorer publishes, so it has no effect. Masks name scores
        (`scoring.params.name`), not scorers.
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

MATCHES_NOTHING = FindingCode(
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

DUPLICATE_MASK = FindingCode(
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

NOWHERE = FindingCode(
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

BAD_SELECTOR = FindingCode(
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

CONFIG_NAME = FindingCode(
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

NO_CLUSTERS = FindingCode(
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

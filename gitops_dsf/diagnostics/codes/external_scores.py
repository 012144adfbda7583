"""Codes about scores that other add-ons publish."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

EXTERNAL_SCORE = FindingCode(
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

FOREIGN_SCORE = FindingCode(
    "DSF323",
    Severity.WARNING,
    "score that no scorer here publishes",
    explanation="""
        No scorer of this repository publishes the score. If another add-on does, declare it under
        `spec.externalScores` of gitops-dsf.yaml. Otherwise OCM counts it as 0 on every cluster, and
        it ranks nothing.
        """,
    bad="""
        # apps/batch.yaml
        spec:
          prioritizerPolicy:
            mode: Exact
            configurations:
              - {weight: 1, scoreCoordinate: {type: BuiltIn, builtIn: Steady}}
              - weight: 2
                scoreCoordinate:
                  type: AddOn
                  addOn: {resourceName: disk, scoreName: disk}
        """,
    good="""
        # apps/batch.yaml
        spec:
          prioritizerPolicy:
            mode: Exact
            configurations:
              - {weight: 1, scoreCoordinate: {type: BuiltIn, builtIn: Steady}}
              - weight: 2
                scoreCoordinate:
                  type: AddOn
                  addOn: {resourceName: cpu-mean, scoreName: cpu_mean}
        """,
)

UNDECLARED_SCORE = FindingCode(
    "DSF377",
    Severity.ERROR,
    "score of another add-on that is not declared",
    explanation="""
        `spec.externalScores` of gitops-dsf.yaml has no such score. OCM counts a score that nobody
        publishes as 0 on every cluster, and reports nothing, so a misspelt name would rank nothing.
        Correct the name, or declare what the add-on publishes.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          externalScores:
            - {resource: resource-usage-score, names: [gpuClusterAvailable]}
        # apps/web.yaml
        spec:
          onMissingScore: Exclude
          scores:
            - addOn: {resource: resource-usage-score, name: gpuAvailable}
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          externalScores:
            - {resource: resource-usage-score, names: [gpuClusterAvailable]}
        # apps/web.yaml
        spec:
          onMissingScore: Exclude
          scores:
            - addOn: {resource: resource-usage-score, name: gpuClusterAvailable}
        """,
)

UNKNOWN_MEASUREMENT = FindingCode(
    "DSF378",
    Severity.ERROR,
    "score with no known time to measure a move",
    explanation="""
        Paced moves and `demand` correct a score for each move until the score itself shows it. How
        long that takes is known for a scorer of this repository. For a score of another add-on,
        write `measuredAfterSeconds` in `spec.externalScores`: for how many seconds its items can
        still show the state before a move. The resource-usage-collect add-on measures every 60
        seconds. With `delivery.mode: UpstreamController`, the time is also unknown for a scorer
        without a lock, because its /config can set any interval.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          pace: {}
          externalScores:
            - {resource: resource-usage-score, names: [cpuClusterAvailable]}
        # apps/web.yaml
        spec:
          placement: {numberOfClusters: 1}
          onMissingScore: Exclude
          scores:
            - addOn: {resource: resource-usage-score, name: cpuClusterAvailable}
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          pace: {}
          externalScores:
            - resource: resource-usage-score
              names: [cpuClusterAvailable]
              measuredAfterSeconds: 60
        # apps/web.yaml
        spec:
          placement: {numberOfClusters: 1}
          onMissingScore: Exclude
          scores:
            - addOn: {resource: resource-usage-score, name: cpuClusterAvailable}
        """,
)

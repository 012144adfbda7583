"""Codes about the pace of moves, and about their verification."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

VERIFICATION_WITHOUT_PACE = FindingCode(
    "DSF187",
    Severity.ERROR,
    "verified moves that cannot be undone",
    explanation="""
        With `moves.verify`, an application that does worse on its new cluster is [moved
        back](docs/decisions/verified-moves.md). Only paced moves can do that: the application needs
        `placement.numberOfClusters`, a ranking of its own and `spec.pace` in gitops-dsf.yaml. Both
        copies must also stay until the checks have decided, as with `moves.strategy:
        MakeBeforeBreak`.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          pace:
        # apps/web.yaml
        spec:
          moves:
            verify:
              - {scorer: cpu-mean, atLeast: 60}
            verifySeconds: 7200
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          pace: {concurrent: 2}
        # apps/web.yaml
        spec:
          moves:
            verify:
              - {scorer: cpu-mean, atLeast: 60}
            verifySeconds: 7200
        """,
)

LATE_CHECK = FindingCode(
    "DSF188",
    Severity.ERROR,
    "check that cannot be decided in time",
    explanation="""
        A score says how the application does on its new cluster once it measures nothing from
        before the move: after the scorer's interval, `publish.minIntervalSeconds`, its range, and
        the seconds that its query reads. The bound must then hold for `forSeconds`, and the score
        must be written again, which happens after half of its TTL if it does not change. All of
        that must fit into `verifySeconds`; otherwise no move could pass.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          pace: {concurrent: 2}
        # apps/web.yaml
        spec:
          moves:
            verify:
              - {scorer: cpu-mean, atLeast: 60}
            verifySeconds: 1800
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          pace: {concurrent: 2}
        # apps/web.yaml
        spec:
          moves:
            verify:
              - {scorer: cpu-mean, atLeast: 60}
            verifySeconds: 4320
        """,
)

CHECK_BY_RANKING = FindingCode(
    "DSF189",
    Severity.WARNING,
    "check by the score that ranks",
    explanation="""
        An application moves to the cluster where its ranking scores are best. There, such a score
        is good by definition, even if its query is wrong, so a check by it finds little. Verify by
        a score that does not rank, such as the error rate of the application.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          pace: {concurrent: 2}
        # apps/web.yaml
        spec:
          moves:
            verify:
              - {scorer: cpu-forecast, atLeast: 60}
            verifySeconds: 7200
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          pace: {concurrent: 2}
        # apps/web.yaml
        spec:
          moves:
            verify:
              - {scorer: cpu-mean, atLeast: 60}
            verifySeconds: 7200
        """,
)

VERIFICATION_FIELD = FindingCode(
    "DSF190",
    Severity.WARNING,
    "setting of verified moves without a check",
    explanation="""
        Moves are verified by the scores that `moves.verify` lists. Without any, the other
        settings have no effect.
        """,
    bad="""
        # apps/web.yaml
        spec:
          moves:
            verifySeconds: 3600
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          pace: {concurrent: 2}
        # apps/web.yaml
        spec:
          moves:
            verify:
              - {scorer: cpu-mean, atLeast: 60}
            verifySeconds: 7200
        """,
)

PACE_WEIGHTS = FindingCode(
    "DSF348",
    Severity.ERROR,
    "weights that cannot hold a paced Placement",
    explanation="""
        OCM holds a [paced](docs/decisions/paced-moves.md) decision, and carries out a move, while
        the sum of |weight| x span stays below 500, with the weights in the smallest whole
        numbers of the same proportions. With these weights a difference of scores could decide
        alone, without the pace. The message has both divided by the weights, as
        [points](docs/start/concepts.md). A score without `scoreRange` spans 200 points.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          pace: {concurrent: 2}
        # apps/web.yaml
        spec:
          stickiness: 50
          scores:
            - {scorer: cpu-forecast, weight: 9}
            - {scorer: cpu-mean, weight: 1}
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          pace: {concurrent: 2}
        # apps/web.yaml
        spec:
          stickiness: 50
          scores:
            - {scorer: cpu-forecast, weight: 3}
            - {scorer: cpu-mean, weight: 1}
        """,
)

PACE_WITHOUT_RECONCILER = FindingCode(
    "DSF349",
    Severity.ERROR,
    "pace without the reconciler",
    explanation="""
        `spec.pace` makes the reconciler admit the moves of applications. Without the reconciler
        no application would ever move by its scores. Enable it, or remove `pace`.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          pace: {concurrent: 2}
          reconciler:
            enabled: false
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          pace: {concurrent: 2}
          reconciler:
            enabled: true
        """,
)

PACE_FIELD = FindingCode(
    "DSF350",
    Severity.WARNING,
    "field of paced moves that has no effect",
    explanation="""
        The field is about paced moves, and this application is not paced. Moves are paced only
        if gitops-dsf.yaml has `spec.pace`, and the application has a ranking of its own and chooses
        only some of its eligible clusters.
        """,
    bad="""
        # apps/web.yaml
        spec:
          scores:
            - {scorer: cpu-forecast, demand: 5}
        """,
    good="""
        # apps/web.yaml
        spec:
          scores:
            - {scorer: cpu-forecast}
        """,
)

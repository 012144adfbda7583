"""Codes about the lead that a better cluster needs before an application moves."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

STICKINESS = FindingCode(
    "DSF305",
    Severity.ERROR,
    "stickiness that cannot be expressed",
    explanation="""
        OCM keeps a decision by the weight of its prioritizer Steady, and weights are whole
        numbers up to 10. A cluster must lead by 100 x *t* / *s* points, with a Steady weight
        *t* and the sum *s* of the absolute score weights, so only some numbers of points can be
        expressed. The hint names the nearest ones. With `multiKueue` any number is possible:
        the reconciler orders the clusters, and OCM decides for all of them.
        """,
    bad="""
        # apps/web.yaml
        spec:
          stickiness: 15
        """,
    good="""
        # apps/web.yaml
        spec:
          stickiness: 20
        """,
)

NO_STEADY = FindingCode(
    "DSF318",
    Severity.WARNING,
    "placement without stickiness",
    explanation="""
        Nothing holds the decision: as soon as another cluster is one point better, the workload
        moves. Set `stickiness` to the lead, in points, that is worth a move, or add the prioritizer
        Steady to a Placement.
        """,
    bad="""
        # apps/web.yaml
        spec:
          stickiness: 0
        """,
    good="""
        # apps/web.yaml
        spec:
          stickiness: 10
        """,
)

UNREACHABLE_STICKINESS = FindingCode(
    "DSF363",
    Severity.WARNING,
    "stickiness that no score overcomes",
    explanation="""
        With the `scoreRange` of the scorers, no cluster can lead by as many points as the
        stickiness, so the application always stays on its first cluster. The same holds for a
        weight of Steady in a Placement. Write a smaller stickiness.
        """,
    bad="""
        # apps/web.yaml
        spec:
          placement:
            numberOfClusters: 1
          stickiness: 100
        """,
    good="""
        # apps/web.yaml
        spec:
          placement:
            numberOfClusters: 1
          stickiness: 50
        """,
)

DEAD_BAND = FindingCode(
    "DSF366",
    Severity.WARNING,
    "dead band above the stickiness",
    explanation="""
        A score that changes by less than `publish.deadband` is written only at half of its TTL.
        So a lead that moves the application may be published late. With several scores the mean
        of their dead bands counts, by weight. Lower the dead band, or write a larger
        stickiness.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          publish: {deadband: 30}
        # apps/web.yaml
        spec:
          placement: {numberOfClusters: 1}
          stickiness: 20
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          publish: {deadband: 5}
        # apps/web.yaml
        spec:
          placement: {numberOfClusters: 1}
          stickiness: 20
        """,
)

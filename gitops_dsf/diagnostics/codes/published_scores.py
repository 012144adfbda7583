"""Codes about what is published: the scale of scores, their expiry and their writes."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

SHORT_TTL = FindingCode(
    "DSF119",
    Severity.WARNING,
    "score that expires before it is renewed",
    explanation="""
        scoreTTLSeconds is so short that one late run of the scorer is enough to let the score
        expire. OCM then counts the score as 0, and Placements may move away. The default,
        max(900, 10 x interval), covers several failed runs.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoreTTLSeconds: 90
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoreTTLSeconds: 900
        """,
)

DEFAULT_SCORE = FindingCode(
    "DSF134",
    Severity.ERROR,
    "defaultScore that cannot be published",
    explanation="""
        defaultScore is published when the source answers without series. That needs a source, a
        published score, and an item name that does not depend on labels, because there are
        none.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoreDimensionFormat: ${node}
          defaultScore: 1
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          defaultScore: 1
        """,
)

RATIO = FindingCode(
    "DSF180",
    Severity.NOTICE,
    "ratio on a scale that ends at 100",
    explanation="""
        The query gives a metric whose name says that it is a ratio, from 0 to 1, and the scale
        is that of percent, from 0 to 100. All values are in the lowest hundredth of the scale, so
        the scores of all clusters differ by a point at most. Write `max: 1`, or multiply the
        query by 100. `gitops-dsf scorer try` shows the values of a query before the merge.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          source:
            params:
              query: avg(avg_over_time(cluster:cpu_usage:ratio[1h]))
          scoreRange: {min: 0, max: 100}
        """,
    good="""
        # scorers/mean.yaml
        spec:
          source:
            params:
              query: avg(avg_over_time(cluster:cpu_usage:ratio[1h]))
          scoreRange: {min: 0, max: 1}
        """,
)

HUB_WRITES = FindingCode(
    "DSF192",
    Severity.WARNING,
    "more score writes than a small hub or the hub scorer can take",
    explanation="""
        Every score is written at half of its `scoreTTLSeconds`, even if it does not change. A
        hub with one API server was seen to take about 390 writes of scores per second; above
        200 it has little room for anything else. The hub scorer writes 50 per second. Raise
        `scoreTTLSeconds`, or mask scorers where they are not needed.
        """,
    unshown="the smallest example has thousands of clusters",
)

LOWEST_SCORE = FindingCode(
    "DSF193",
    Severity.NOTICE,
    "lowest score that equals a missing one",
    explanation="""
        OCM counts a missing score as 0, and 0 is also the worst score that this scorer
        publishes. A cluster whose agent does not work would rank like the worst one that does.
        With 1 as the lowest score, a cluster without a score ranks below all others.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoreRange: {min: 0, max: 100, outputMin: 100, outputMax: 0}
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoreRange: {min: 0, max: 100, outputMin: 100, outputMax: 1}
        """,
)

PERCENT = FindingCode(
    "DSF195",
    Severity.NOTICE,
    "percent on a scale that ends at 1",
    explanation="""
        The query multiplies by 100, so its values go up to 100, and the scale ends at 1. All
        values above `max` become the same score, and clusters cannot be ranked by it. Write
        `max: 100`, or leave the factor out of the query.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          source:
            params:
              query: 100 * avg(avg_over_time(cluster:cpu_usage:ratio[1h]))
        """,
    good="""
        # scorers/mean.yaml
        spec:
          source:
            params:
              query: avg(avg_over_time(cluster:cpu_usage:ratio[1h]))
        """,
)

"""Codes about the documents in tests/, which `gitops-dsf test` runs."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

SERIES_VALUES = FindingCode(
    "DSF601",
    Severity.ERROR,
    "values of a test's series that do not parse",
    explanation="""
        The values of a series are numbers, `_` for a run without a result, and the repetitions
        `a+bxn`, `a-bxn`, `axn` and `_xn`, as for `promtool test rules`. A series has at most
        10,000 values, and a test 200,000. The test cannot run with other values.
        """,
    bad="""
        # tests/mean.yaml
        spec:
          given:
            series:
              - {scorer: cpu-mean, cluster: prod-1, values: 0.4 half}
        """,
    good="""
        # tests/mean.yaml
        spec:
          given:
            series:
              - {scorer: cpu-mean, cluster: prod-1, values: 0.4 0.5}
        """,
)

UNKNOWN_IN_TEST = FindingCode(
    "DSF602",
    Severity.ERROR,
    "test about something that does not exist",
    explanation="""
        The test is about a scorer, cluster or application that does not exist, so it would
        prove nothing. With `given.clusters` only those clusters exist. A scorer that waits for
        its lock cannot be tested.
        """,
    bad="""
        # tests/mean.yaml
        spec:
          given:
            series:
              - {scorer: cpu-mean, cluster: prod-2, values: 0.4 0.5}
        """,
    good="""
        # tests/mean.yaml
        spec:
          given:
            series:
              - {scorer: cpu-mean, cluster: prod-1, values: 0.4 0.5}
        """,
)

TEST_DIMENSION = FindingCode(
    "DSF603",
    Severity.ERROR,
    "test of a score that does not name its item",
    explanation="""
        The scorer publishes several items, so the test must name the one that it is about with
        `dimension`, and the format must be able to produce it.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          scoreDimensionFormat: ${pod}
        """,
    good="""
        # scorers/mean.yaml
        spec:
          scoreDimensionFormat: ${scoreName}
        """,
)

TEST_TWICE = FindingCode(
    "DSF604",
    Severity.ERROR,
    "test that gives one thing twice",
    explanation="""
        The test gives one thing twice, such as the series of a scorer on a cluster, and only
        one of them could count. Several series of one scorer on one cluster differ in labels.
        """,
    bad="""
        # tests/mean.yaml
        spec:
          given:
            series:
              - {scorer: cpu-mean, cluster: prod-1, values: 0.4 0.5}
              - {scorer: cpu-mean, cluster: prod-1, values: 0.6 0.7}
        """,
    good="""
        # tests/mean.yaml
        spec:
          given:
            series:
              - {scorer: cpu-mean, cluster: prod-1, values: 0.4 0.5}
              - {scorer: cpu-mean, cluster: edge-1, values: 0.6 0.7}
        """,
)

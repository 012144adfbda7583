"""Codes about the fields that a scorer needs to run."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

INCOMPLETE_SCORER = FindingCode(
    "DSF106",
    Severity.ERROR,
    "scorer that cannot run as written",
    explanation="""
        A scorer needs a score name and an interval, and for a Prometheus a host, a query and a
        step, here or in its lock. Without one of them no agent would run it: the configuration
        would list it, and there would never be a score.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoring:
            params: {name: cpu_forecast}
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoring:
            params: {name: cpu_forecast, interval: 60}
        """,
)

NOT_POSITIVE = FindingCode(
    "DSF107",
    Severity.ERROR,
    "interval, range or step that is zero or negative",
    explanation="""
        An interval is at least one second. Ranges and steps are not negative. The agent could
        not run the scorer at such times.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoring:
            params:
              interval: 0
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoring:
            params:
              interval: 60
        """,
)

UNASKED_SOURCE = FindingCode(
    "DSF122",
    Severity.WARNING,
    "metric source that is never queried",
    explanation="""
        The scorer has a metric source, a range or a step, but no query. The source is never
        queried, and the scoring API gets no series. Write the query, or `source.type: None` for an
        API that needs no metrics.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          source: {host: "http://prometheus.monitoring.svc:9090"}
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          source: {type: None}
        """,
)

FIELD_OF_AN_API = FindingCode(
    "DSF132",
    Severity.ERROR,
    "field of a scoring API in a scorer without one",
    explanation="""
        With `scoring.type: Query` there is no scoring API: the present value of each series is
        its raw score. Fields about an API, and range and step, have no effect. Write a value
        over time into the query, or remove `scoring.type` if an API gives the scores.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          source:
            params:
              query: avg(cluster:cpu_usage:ratio)
              range: 3600
        """,
    good="""
        # scorers/mean.yaml
        spec:
          source:
            params:
              query: avg(avg_over_time(cluster:cpu_usage:ratio[1h]))
        """,
)

QUERY_WITHOUT_SOURCE = FindingCode(
    "DSF133",
    Severity.ERROR,
    "Query scorer without a metric source",
    explanation="""
        With `scoring.type: Query` the values of series are the scores, so a scorer without a
        metric source never has one. Write `source.type: Prometheus` or `Kubernetes`.
        """,
    bad="""
        # scorers/pods.yaml
        apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
        kind: DynamicScorer
        metadata: {name: idle-cpu}
        spec:
          description: Idle CPU
          source: {type: None}
          scoring: {type: Query, params: {name: idle_cpu, interval: 60}}
          scoreRange: {min: 0, max: 1, outputMin: 1, outputMax: 100}
        """,
    good="""
        # scorers/pods.yaml
        apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
        kind: DynamicScorer
        metadata: {name: idle-cpu}
        spec:
          description: Idle CPU
          source: {type: Kubernetes, params: {query: cpu_available_ratio}}
          scoring: {type: Query, params: {name: idle_cpu, interval: 60}}
          scoreRange: {min: 0, max: 1, outputMin: 1, outputMax: 100}
        """,
)

"""Codes about queries: PromQL, and the measures of source type Kubernetes."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

TOO_MANY_POINTS = FindingCode(
    "DSF108",
    Severity.ERROR,
    "more points per series than Prometheus returns",
    explanation="""
        Prometheus answers a range query with an error if it asks for more than 11,000 points
        per series. The number of points is `range / step + 1`. Write a longer step or a shorter
        range.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          source:
            host: http://prometheus.monitoring.svc:9090
            params:
              query: sum by (node) (rate(container_cpu_usage_seconds_total[5m]))
              range: 604800
              step: 15
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          source:
            host: http://prometheus.monitoring.svc:9090
            params:
              query: sum by (node) (rate(container_cpu_usage_seconds_total[5m]))
              range: 86400
              step: 15
        """,
)

PROMQL = FindingCode(
    "DSF109",
    Severity.ERROR,
    "PromQL that does not parse",
    explanation="""
        The query is not valid PromQL, so Prometheus would answer each run with an error and no
        score would be published. If the source has another query language, write
        `source.dialect: MetricsQL` or `source.dialect: Other`.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          source:
            params:
              query: sum by node) (up)
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          source:
            params:
              query: sum by (node) (up)
        """,
)

UNKNOWN_FUNCTION = FindingCode(
    "DSF110",
    Severity.ERROR,
    "PromQL function that is not known",
    explanation="""
        Prometheus has no function of this name, and answers the query with an error. A function
        that only Prometheus 2 has is a warning. For a store with functions of its own, write
        `source.dialect`.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          source:
            params:
              query: sum by (node) (ratee(container_cpu_usage_seconds_total[5m]))
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          source:
            params:
              query: sum by (node) (rate(container_cpu_usage_seconds_total[5m]))
        """,
)

RESULT_TYPE = FindingCode(
    "DSF111",
    Severity.ERROR,
    "PromQL result that a range query cannot return",
    explanation="""
        The agent asks for the values of the query over a range of time. Prometheus can compute
        them for an instant vector or a number, but not for a range vector such as `up[5m]` or
        for a string. Wrap the range vector in a function such as `rate` or `avg_over_time`.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          source:
            params:
              query: up[5m]
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          source:
            params:
              query: avg_over_time(up[5m])
        """,
)

MEASURE = FindingCode(
    "DSF145",
    Severity.ERROR,
    "measure that source type Kubernetes does not have",
    explanation="""
        Source type Kubernetes has measures instead of a query language: names such as
        `cpu_available_ratio`, joined by `;`. [Measures](docs/scores/sources.md#measures) lists
        them all. PromQL needs a Prometheus.
        """,
    bad="""
        # scorers/pods.yaml
        apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
        kind: DynamicScorer
        metadata: {name: idle-cpu}
        spec:
          description: Idle CPU
          source: {type: Kubernetes, params: {query: avg(cpu_available_ratio)}}
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

NO_HISTORY = FindingCode(
    "DSF177",
    Severity.ERROR,
    "range with source type Kubernetes",
    explanation="""
        Source type Kubernetes counts the objects that exist now; it keeps no history. A range
        has no effect. Remove range and step, or ask a Prometheus.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          source:
            {type: Kubernetes, params: {query: cpu_available_ratio, range: 3600, step: 60}}
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          source:
            {type: Kubernetes, params: {query: cpu_available_ratio}}
        """,
)

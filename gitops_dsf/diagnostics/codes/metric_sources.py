"""Codes about MetricSources, and about the fields that a type of source has."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

UNKNOWN_SOURCE = FindingCode(
    "DSF137",
    Severity.ERROR,
    "MetricSource that does not exist",
    explanation="""
        `source.ref` names a MetricSource that is not in `config/`, so the scorer would have no
        source on any cluster.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          source:
            ref: platfrm
        """,
    good="""
        # scorers/mean.yaml
        spec:
          source:
            ref: platform
        """,
)

SOURCE_BESIDE_REF = FindingCode(
    "DSF138",
    Severity.ERROR,
    "field beside a reference to a MetricSource",
    explanation="""
        With `source.ref`, the type, host, path and credentials come from the MetricSource. What the
        scorer sets as well has no effect. Remove it, or remove `ref`.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          source:
            ref: platform
            host: http://prometheus.monitoring.svc:9090
        """,
    good="""
        # scorers/mean.yaml
        spec:
          source:
            ref: platform
        """,
)

SOURCE_LACKING = FindingCode(
    "DSF139",
    Severity.ERROR,
    "MetricSource without a variant for a cluster",
    explanation="""
        The MetricSource has no variant that selects this cluster, and the scorer runs there, so its
        agent would have no source to query. Add a variant; one without clusterSelector serves all
        other clusters.
        """,
    bad="""
        # config/sources.yaml
        spec:
          variants:
            - clusterSelector: {matchLabels: {vendor: OpenShift}}
              host: https://thanos-querier.openshift-monitoring.svc:9091
        """,
    good="""
        # config/sources.yaml
        spec:
          variants:
            - clusterSelector: {matchLabels: {vendor: OpenShift}}
              host: https://thanos-querier.openshift-monitoring.svc:9091
            - host: http://prometheus.monitoring.svc:9090
        """,
)

UNUSED_SOURCE = FindingCode(
    "DSF140",
    Severity.WARNING,
    "MetricSource that no scorer names",
    explanation="""
        No scorer names the MetricSource. It has no effect. A scorer may have misspelled its name.
        Name it with `source.ref`, or remove it.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          source:
            ref:
            host: http://prometheus.monitoring.svc:9090
        """,
    good="""
        # scorers/mean.yaml
        spec:
          source:
            ref: platform
        """,
)

DEAD_VARIANT = FindingCode(
    "DSF141",
    Severity.WARNING,
    "variant of a MetricSource that is never used",
    explanation="""
        Each cluster uses the first variant that selects it. Earlier variants select all clusters of
        this one. Move it up, or give it another clusterSelector.
        """,
    bad="""
        # config/sources.yaml
        spec:
          variants:
            - host: http://prometheus.monitoring.svc:9090
            - clusterSelector: {matchLabels: {vendor: OpenShift}}
              host: https://thanos-querier.openshift-monitoring.svc:9091
        """,
    good="""
        # config/sources.yaml
        spec:
          variants:
            - clusterSelector: {matchLabels: {vendor: OpenShift}}
              host: https://thanos-querier.openshift-monitoring.svc:9091
            - host: http://prometheus.monitoring.svc:9090
        """,
)

SOURCE_FIELD = FindingCode(
    "DSF146",
    Severity.ERROR,
    "field that source type Kubernetes does not use",
    explanation="""
        The agent asks the API server of its own cluster with the ServiceAccount of its pod. A
        host, credentials, a dialect or URL parameters have no effect there. Remove the field.
        """,
    bad="""
        # config/sources.yaml
        spec:
          variants:
            - {type: Kubernetes, host: "http://prometheus.monitoring.svc:9090"}
        # scorers/mean.yaml
        spec:
          source:
            ref: platform
            params:
              query: cpu_available_ratio
        """,
    good="""
        # config/sources.yaml
        spec:
          variants:
            - {type: Kubernetes}
        # scorers/mean.yaml
        spec:
          source:
            ref: platform
            params:
              query: cpu_available_ratio
        """,
)

RECEIVER_MISSING = FindingCode(
    "DSF154",
    Severity.ERROR,
    "OpenTelemetry source that no receiver serves",
    explanation="""
        Type OpenTelemetry means that collectors push metrics to a receiver in the agent's pod.
        gitops-dsf.yaml does not set one up, so nothing would receive them. Write
        `spec.agent.openTelemetry`, as
        [OpenTelemetry](docs/scores/sources.md#opentelemetry-a-collector-and-no-prometheus) shows.
        """,
    bad="""
        # config/sources.yaml
        spec:
          variants:
            - {type: OpenTelemetry}
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          agent:
            openTelemetry:
              image: quay.io/prometheus/prometheus:v3.16.0
              collectorNamespaces: [observability]
        # config/sources.yaml
        spec:
          variants:
            - {type: OpenTelemetry}
        """,
)

RECEIVER_FIELD = FindingCode(
    "DSF155",
    Severity.ERROR,
    "field that the OpenTelemetry receiver does not use",
    explanation="""
        The agent asks the receiver in its own pod, which is a Prometheus on loopback. A host,
        credentials, URL parameters or another query language have no effect. Remove the field.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          agent:
            openTelemetry:
              image: quay.io/prometheus/prometheus:v3.16.0
              collectorNamespaces: [observability]
        # config/sources.yaml
        spec:
          variants:
            - {type: OpenTelemetry, host: "http://collector.observability.svc:4318"}
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          agent:
            openTelemetry:
              image: quay.io/prometheus/prometheus:v3.16.0
              collectorNamespaces: [observability]
        # config/sources.yaml
        spec:
          variants:
            - {type: OpenTelemetry}
        """,
)

"""Codes about requests to metric sources and scoring APIs: hosts, URLs and headers."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

BAD_URL = FindingCode(
    "DSF103",
    Severity.ERROR,
    "URL that cannot be called",
    explanation="""
        The agent could not call this URL. A host has the scheme http or https, a name or an
        address, and no query or fragment; a path starts with `/`. Upstream's agent fails in the
        same way, and says so only in its log.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          configURL: forecast.scoring.svc:8000/config
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          configURL: http://forecast.scoring.svc:8000/config
        """,
)

METADATA_HOST = FindingCode(
    "DSF131",
    Severity.ERROR,
    "link-local address or metadata service as a host",
    explanation="""
        The host is a link-local address or the metadata service of a cloud. It gives
        credentials of the machine to every process that asks, and the scoring API would receive
        them as metrics. No metric source, scoring API or token server is there.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          source:
            host: http://169.254.169.254
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          source:
            host: http://prometheus.monitoring.svc:9090
        """,
)

BAD_HEADER = FindingCode(
    "DSF142",
    Severity.ERROR,
    "header that the agent cannot send",
    explanation="""
        The agent cannot send this header: the name or the value is not valid in HTTP, the header is
        written twice, or the agent sets it itself, as it does with Host, Authorization, Accept,
        Accept-Encoding, Content-Type, Content-Encoding, Content-Length and User-Agent. Credentials
        belong in `auth` or `basicAuth`.
        """,
    bad="""
        # config/sources.yaml
        spec:
          variants:
            - host: http://prometheus.monitoring.svc:9090
              headers: [{name: Host, value: prometheus}]
        """,
    good="""
        # config/sources.yaml
        spec:
          variants:
            - host: http://prometheus.monitoring.svc:9090
              headers: [{name: X-Scope-OrgID, value: team-a}]
        """,
)

LOCAL_HOST = FindingCode(
    "DSF166",
    Severity.WARNING,
    "host that is the pod itself",
    explanation="""
        To a scorer, `localhost` is its own pod, and neither a metric source nor a scoring API
        runs in it. Every request would be refused. Write the name of a Service.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          source:
            host: http://localhost:9090
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          source:
            host: http://prometheus.monitoring.svc:9090
        """,
)

METRICS_OUTSIDE = FindingCode(
    "DSF176",
    Severity.NOTICE,
    "scoring API outside the clusters",
    explanation="""
        The scoring API gets all series that the query returns, and it is outside the clusters. If
        that is meant, list its host in `spec.allowedHosts` or `spec.allowedTokenHosts` of
        gitops-dsf.yaml.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoring:
            host: https://scoring.example.com
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoring:
            host: http://scorer.scoring.svc:8000
        """,
)

SERVICE_BEHIND_PROXY = FindingCode(
    "DSF178",
    Severity.WARNING,
    "Service of the cluster that is called through a proxy",
    explanation="""
        The agents use a proxy, and `noProxy` does not exclude this Service. A proxy outside the
        cluster does not know the Service or refuses the request, so no run of the scorer would
        succeed. Add `.svc` and `.cluster.local` to `noProxy`.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          agent:
            proxy:
              httpProxy: http://proxy.example.com:3128
              httpsProxy: http://proxy.example.com:3128
              noProxy: 10.128.0.0/14,172.30.0.0/16
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          agent:
            proxy:
              httpProxy: http://proxy.example.com:3128
              httpsProxy: http://proxy.example.com:3128
              noProxy: .svc,.cluster.local,10.128.0.0/14,172.30.0.0/16
        """,
)

BAD_PARAMETER = FindingCode(
    "DSF196",
    Severity.ERROR,
    "URL parameter that a source cannot have",
    explanation="""
        The agent sends the query, its time and its range as URL parameters itself. If a parameter
        is sent twice, it depends on the store which one it reads, and `limit` would cut off series.
        Remove the parameter; the hint names the field to write instead.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          source:
            parameters: {step: "30"}
        """,
    good="""
        # scorers/mean.yaml
        spec:
          source:
            parameters: {namespace: team-a}
        """,
)

NO_API = FindingCode(
    "DSF197",
    Severity.WARNING,
    "URL at which no API answers",
    explanation="""
        No API answers at this URL. Pages of Prometheus (`/graph`), VictoriaMetrics (`/vmui`) and
        Grafana (`/explore`) are HTML. The host of a metric source is its base URL, below which the
        agent finds `/api/v1/query_range` itself. A `path` is used as it is, so it must end in
        `/query` or `/query_range`; with `dialect: Other` it may be any.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          source:
            host: http://prometheus.monitoring.svc:9090/graph
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          source:
            host: http://prometheus.monitoring.svc:9090
        """,
)

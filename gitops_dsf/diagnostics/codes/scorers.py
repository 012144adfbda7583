"""Codes DSF1xx: scorers, their sources, locks and credentials."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import Code

DUPLICATE_SCORE = Code(
    "DSF101",
    Severity.ERROR,
    "score name used twice",
    explanation="""
        Two scorers publish a score of one name. Both would write the same AddOnPlacementScore
        in the namespace of a cluster, so Placements would read now the one and now the other.
        Give each scorer a score name of its own.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          scoring:
            type: Query
            params:
              name: cpu_forecast
              interval: 60
        """,
    good="""
        # scorers/mean.yaml
        spec:
          scoring:
            type: Query
            params:
              name: cpu_mean
              interval: 60
        """,
)

SANITISED_CLASH = Code(
    "DSF102",
    Severity.ERROR,
    "score names that become equal as object names",
    explanation="""
        An AddOnPlacementScore is named after its score in lower case, with `-` for every other
        character. These two score names become one object name, so the scorers would overwrite
        each other's scores. Choose names that differ in more than case and punctuation.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          scoring:
            type: Query
            params:
              name: CPU-forecast
              interval: 60
        """,
    good="""
        # scorers/mean.yaml
        spec:
          scoring:
            type: Query
            params:
              name: cpu_mean
              interval: 60
        """,
)

BAD_URL = Code(
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

URL_CREDENTIALS = Code(
    "DSF104",
    Severity.ERROR,
    "credentials inside a URL",
    explanation="""
        The URL contains a user, a password or a parameter such as `?token=...`. Everybody who
        can read the repository can use it, and URLs also end up in logs. Put the credentials
        into a Secret on the spoke, and name the Secret with `auth`.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          configURL: http://user:pass@forecast.scoring.svc:8000/config
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoring:
            auth: {tokenSecretRef: {name: forecast-token, key: token}}
        """,
)

SECRET_IN_YAML = Code(
    "DSF105",
    Severity.ERROR,
    "secret written into the repository",
    explanation="""
        The value looks like a secret by the name of its field, or by its form, such as that of
        a token or a private key. Everybody who can read the repository, its clones and its
        backups can use it. Put it into a Secret on the spoke and name that, and replace the
        secret, because git keeps the old commit.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoring:
            arguments: {apiKey: "0123456789"}
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoring:
            auth: {tokenSecretRef: {name: forecast-token, key: token}}
        """,
)

INCOMPLETE_SCORER = Code(
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

NOT_POSITIVE = Code(
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

TOO_MANY_POINTS = Code(
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

PROMQL = Code(
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

UNKNOWN_FUNCTION = Code(
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

RESULT_TYPE = Code(
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

UNKNOWN_PLACEHOLDER = Code(
    "DSF112",
    Severity.ERROR,
    "unknown placeholder in scoreDimensionFormat",
    explanation="""
        scoreDimensionFormat names the items of a score. A placeholder that does not exist stays
        in every item name as it is written, so no Placement finds the item it asks for. The
        placeholders are `${cluster}`, `${node}`, `${device}`, `${namespace}`, `${app}`,
        `${pod}`, `${container}`, `${meta}` and `${scoreName}`.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoreDimensionFormat: ${nodes}
        # apps/web.yaml
        spec:
          scores: [{scorer: cpu-forecast, dimension: n1}]
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoreDimensionFormat: ${node}
        # apps/web.yaml
        spec:
          scores: [{scorer: cpu-forecast, dimension: n1}]
        """,
)

UNFILLED_PLACEHOLDER = Code(
    "DSF113",
    Severity.NOTICE,
    "placeholder that the query does not fill",
    explanation="""
        No series of the query keeps this label, so the placeholder is empty in the item names
        unless the scoring API sets the label in its response. Only the author of the API knows
        that; therefore it is a notice.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoreDimensionFormat: ${pod}
        # apps/web.yaml
        spec:
          scores: [{scorer: cpu-forecast, dimension: n1}]
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoreDimensionFormat: ${node}
        # apps/web.yaml
        spec:
          scores: [{scorer: cpu-forecast, dimension: n1}]
        """,
)

NO_LOCK = Code(
    "DSF114",
    Severity.WARNING,
    "Full scorer without a lock",
    explanation="""
        A scorer with `configSyncMode: Full` takes values from `/config` of its scoring API.
        They are rendered from the lock in `locks/`, so that a pull request shows each change.
        Without a lock only the spec counts, and the scorer is left out if that is not complete.
        `gitops-dsf sync` writes the lock.
        """,
    bad="""
        # locks/cpu.yaml
        metadata: {name: cpu}
        """,
    good="""
        # locks/cpu.yaml
        metadata: {name: cpu-forecast}
        """,
)

LOCK_OVERRULES = Code(
    "DSF115",
    Severity.WARNING,
    "lock that contradicts the spec",
    explanation="""
        With `configSyncMode: Full`, what the lock says counts. The scorer says something else,
        which has no effect. Remove the field, or write `configSyncMode: None` if the spec
        should count.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoring:
            params:
              interval: 60
        # locks/cpu.yaml
        spec:
          config: {scoring: {params: {interval: 30}}}
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoring:
            params:
              interval: 30
        # locks/cpu.yaml
        spec:
          config: {scoring: {params: {interval: 30}}}
        """,
)

LOCK_WITH_TOKEN = Code(
    "DSF116",
    Severity.ERROR,
    "host known only from a lock, combined with a token",
    explanation="""
        Only the lock names this host, and the scorer sends a token to it. Whoever controls
        `/config` could collect the tokens of all clusters. Write the host into the scorer,
        where a reviewer sees it.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          source:
            host:
            auth: {tokenSecretRef: {name: prometheus-token, key: token}}
        # locks/cpu.yaml
        spec:
          config: {source: {host: "http://prometheus.monitoring.svc:9090"}}
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          source:
            host: http://prometheus.monitoring.svc:9090
            auth: {tokenSecretRef: {name: prometheus-token, key: token}}
        # locks/cpu.yaml
        spec:
          config: {source: {host: "http://prometheus.monitoring.svc:9090"}}
        """,
)

LOCK_MOVES_HOST = Code(
    "DSF117",
    Severity.ERROR,
    "lock that changes a host",
    explanation="""
        The lock sends queries or metrics to another host than the scorer does. Nobody reviewed
        that the metrics of the fleet go there. Write the host into the scorer, or list it in
        `spec.allowedHosts` of gitops-dsf.yaml.
        """,
    bad="""
        # locks/cpu.yaml
        spec:
          config: {scoring: {host: "https://collector.example.net"}}
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          allowedHosts: ["*.example.net"]
        # locks/cpu.yaml
        spec:
          config: {scoring: {host: "https://collector.example.net"}}
        """,
)

STALE_LOCK = Code(
    "DSF118",
    Severity.WARNING,
    "lock without a use",
    explanation="""
        The lock is not read: its scorer does not exist, has `configSyncMode: None` or no
        scoring API, or has another `configURL` than the lock was taken from. Remove the file,
        or run `gitops-dsf sync`.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          configSyncMode: None
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          configSyncMode: Full
        """,
)

SHORT_TTL = Code(
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

UNASKED_SOURCE = Code(
    "DSF122",
    Severity.WARNING,
    "metric source that is never queried",
    explanation="""
        The scorer names a metric source or times of a query, and no query. The source is never
        asked, and the scoring API gets no series. Write the query, or `source.type: None` for
        an API that needs no metrics.
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

UPSTREAM_CANNOT_RUN = Code(
    "DSF123",
    Severity.ERROR,
    "scorer that the upstream add-on cannot run",
    explanation="""
        The add-on of the upstream project cannot run this scorer. Its agent splits a query at
        every `;` (write `\\x3b` in a matcher) and runs only range queries of a Prometheus. Its
        controller silently skips a scorer with a range of 0, and ignores a scoring host of
        `/config`. Change the scorer, or write `delivery.mode: ManifestWork`.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          delivery: {mode: UpstreamController}
        # scorers/cpu.yaml
        spec:
          source:
            params:
              query: sum(up{job="a;b"})
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          delivery: {mode: ManifestWork}
        # scorers/cpu.yaml
        spec:
          source:
            params:
              query: sum(up{job="a;b"})
        """,
)

RESERVED_SECRET = Code(
    "DSF126",
    Severity.ERROR,
    "Secret that no scorer may send",
    explanation="""
        The Secret holds credentials of OCM, of a registry or of git, and any author of a scorer
        could send it to a host of theirs. Reserved are `*-hub-kubeconfig`,
        `bootstrap-hub-kubeconfig*`, `*-client-cert`, `gitops-dsf-agent*`,
        `open-cluster-management-*`, every `imagePullSecrets`, and on the hub `gitSecret`.
        Scorers on the hub may use only the Secrets that `spec.hubScorer.secrets` lists.
        `spec.reconciler.configCredentials` may not list a reserved Secret either.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoring:
            auth: {tokenSecretRef: {name: bootstrap-hub-kubeconfig, key: token}}
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoring:
            auth: {tokenSecretRef: {name: forecast-token, key: token}}
        """,
)

TOKEN_IN_CLEAR = Code(
    "DSF127",
    Severity.ERROR,
    "token over plain http",
    explanation="""
        A token over plain http can be read by everybody on the way. Inside of a cluster
        (`*.svc`, `*.svc.cluster.local`, names without a dot) http is accepted, because most
        services there have no certificate. The same holds for `tokenURL`. Write an https URL.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoring:
            host: http://forecast.example.com
            auth: {tokenSecretRef: {name: forecast-token, key: token}}
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          allowedTokenHosts: [forecast.example.com]
        # scorers/cpu.yaml
        spec:
          scoring:
            host: https://forecast.example.com
            auth: {tokenSecretRef: {name: forecast-token, key: token}}
        """,
)

POD_TOKEN_OUTSIDE = Code(
    "DSF128",
    Severity.ERROR,
    "token of the agent's pod for a host outside of the cluster",
    explanation="""
        The token of the agent's pod is valid for the API server of its cluster, too. A host
        outside of the cluster could use it there. Name a token of its own with
        `tokenSecretRef`.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoring:
            host: https://forecast.example.com
            auth: {serviceAccountToken: true}
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoring:
            host: http://forecast.scoring.svc:8000
            auth: {serviceAccountToken: true}
        """,
)

TOKEN_OUTSIDE = Code(
    "DSF129",
    Severity.WARNING,
    "token for an outside host that is not allowed",
    explanation="""
        The scorer sends a Secret of every cluster to a host outside of the clusters, and
        gitops-dsf.yaml does not allow that host. The author of a scorer writes the host; the
        owners of gitops-dsf.yaml allow it in `spec.allowedTokenHosts`. The host of `tokenURL`
        needs an entry, too, and with `spec.reconciler.configCredentials` so does that of a
        `configURL` on another host than the scoring API.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoring:
            host: https://forecast.example.com
            auth: {tokenSecretRef: {name: forecast-token, key: token}}
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          allowedTokenHosts: ["*.example.com"]
        # scorers/cpu.yaml
        spec:
          scoring:
            host: https://forecast.example.com
            auth: {tokenSecretRef: {name: forecast-token, key: token}}
        """,
)

SHARED_SECRET = Code(
    "DSF130",
    Severity.WARNING,
    "one Secret for several hosts",
    explanation="""
        One Secret goes to several hosts, so each of them can use it at the others. The same
        holds for access tokens of one client with the same `scopes` and `audience`. Make a
        Secret for each host.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          source:
            auth: {tokenSecretRef: {name: prometheus-token, key: token}}
          scoring:
            auth: {tokenSecretRef: {name: prometheus-token, key: token}}
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          source:
            auth: {tokenSecretRef: {name: prometheus-token, key: token}}
          scoring:
            auth: {tokenSecretRef: {name: forecast-token, key: token}}
        """,
)

METADATA_HOST = Code(
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

FIELD_OF_AN_API = Code(
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

QUERY_WITHOUT_SOURCE = Code(
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

DEFAULT_SCORE = Code(
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

EMPTY_PLACEHOLDER = Code(
    "DSF135",
    Severity.WARNING,
    "placeholder that is empty in every score",
    explanation="""
        No series of the query keeps this label, and without a scoring API nothing else could
        set it. So the placeholder is empty in every item name, and all series share one item.
        Keep the label in the query, or remove the placeholder.
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

SERIES_SHARE_ITEM = Code(
    "DSF136",
    Severity.WARNING,
    "several series for one score item",
    explanation="""
        Several series of the query can have the same item name, and an item has one score.
        `scoreAggregation: Last`, the default, takes the last series of the answer, and no
        metric source promises an order. Aggregate in the query, or write `scoreAggregation`.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          source:
            params:
              query: max by (node) (cluster:cpu_usage:ratio)
        """,
    good="""
        # scorers/mean.yaml
        spec:
          source:
            params:
              query: max by (node) (cluster:cpu_usage:ratio)
          scoreAggregation: Mean
        """,
)

UNKNOWN_SOURCE = Code(
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

SOURCE_BESIDE_REF = Code(
    "DSF138",
    Severity.ERROR,
    "field beside a reference to a MetricSource",
    explanation="""
        With `source.ref` the MetricSource says type, host, path and credentials. Those that the
        scorer says beside it have no effect. Remove them, or remove `ref`.
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

SOURCE_LACKING = Code(
    "DSF139",
    Severity.ERROR,
    "MetricSource without a variant for a cluster",
    explanation="""
        The MetricSource has no variant that selects this cluster, and the scorer runs there, so
        its agent would have nothing to ask. Add a variant; one without clusterSelector serves
        all other clusters.
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

UNUSED_SOURCE = Code(
    "DSF140",
    Severity.WARNING,
    "MetricSource that no scorer names",
    explanation="""
        No scorer names the MetricSource. It has no effect, and may be the one that a scorer
        misspells. Name it with `source.ref`, or remove it.
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

DEAD_VARIANT = Code(
    "DSF141",
    Severity.WARNING,
    "variant of a MetricSource that is never used",
    explanation="""
        Each cluster uses the first variant that selects it. Earlier variants take all clusters
        of this one. Move it up, or give it another clusterSelector.
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

BAD_HEADER = Code(
    "DSF142",
    Severity.ERROR,
    "header that the agent cannot send",
    explanation="""
        The agent cannot send this header: the name or the value is not valid in HTTP, the
        header is written twice, or the agent sets it itself, as it does with Host,
        Authorization, Accept, Accept-Encoding, Content-Type, Content-Encoding, Content-Length
        and User-Agent. Credentials belong into `auth` or `basicAuth`.
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

CERTIFICATE_WITHOUT_TLS = Code(
    "DSF143",
    Severity.ERROR,
    "client certificate for a host without https",
    explanation="""
        A client certificate is shown while TLS begins, and with http there is no TLS: the
        server would never see it. Write an https URL.
        """,
    bad="""
        # config/sources.yaml
        spec:
          variants:
            - host: http://thanos-query.monitoring.svc:9090
              auth: {clientCertificateSecretRef: {name: thanos-client}}
        """,
    good="""
        # config/sources.yaml
        spec:
          variants:
            - host: https://thanos-query.monitoring.svc:9090
              auth: {clientCertificateSecretRef: {name: thanos-client}}
        """,
)

MEASURE = Code(
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

SOURCE_FIELD = Code(
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

NO_CLUSTER_LABEL = Code(
    "DSF148",
    Severity.ERROR,
    "scorer on the hub without a cluster label",
    explanation="""
        A scorer on the hub reads the series of all clusters from one store. It must know which
        label of a series names the cluster; without it there is nothing to publish a score for.
        [Scoring on the hub](docs/scores/sources.md#scoring-on-the-hub) explains the labels.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          runsOn: Hub
          source:
            params:
              query: sum by (cluster) (cluster:cpu_usage:ratio)
        """,
    good="""
        # scorers/mean.yaml
        spec:
          runsOn: Hub
          source:
            params:
              query: sum by (cluster) (cluster:cpu_usage:ratio)
            clusterLabel: {name: cluster}
        """,
)

MIXED_CLUSTERS = Code(
    "DSF149",
    Severity.ERROR,
    "query on the hub that mixes clusters",
    explanation="""
        The query combines series of several clusters, or drops the label that names the
        cluster. Every cluster would get the same score, or none. Keep the cluster label in each
        `by`, `on` and join of the query.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          runsOn: Hub
          source:
            clusterLabel: {name: cluster}
            params:
              query: sum by (node) (cluster:cpu_usage:ratio)
        """,
    good="""
        # scorers/mean.yaml
        spec:
          runsOn: Hub
          source:
            clusterLabel: {name: cluster}
            params:
              query: sum by (cluster) (cluster:cpu_usage:ratio)
        """,
)

SAME_IDENTITY = Code(
    "DSF150",
    Severity.ERROR,
    "clusters that a label cannot tell apart",
    explanation="""
        The scorer tells clusters apart by a label or claim, and these clusters have the same
        value. A series with that value could mean any of them, so none of them could be scored.
        Correct the inventory, or compare with a label or claim that differs.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          runsOn: Hub
          source:
            params:
              query: sum by (env) (cluster:cpu_usage:ratio)
            clusterLabel: {name: env, label: env}
        # clusters/prod.yaml
        metadata:
          labels:
            env: edge
        """,
    good="""
        # scorers/mean.yaml
        spec:
          runsOn: Hub
          source:
            params:
              query: sum by (env) (cluster:cpu_usage:ratio)
            clusterLabel: {name: env, label: env}
        # clusters/prod.yaml
        metadata:
          labels:
            env: prod
        """,
)

NO_IDENTITY = Code(
    "DSF151",
    Severity.WARNING,
    "cluster without the label that identifies it",
    explanation="""
        The scorer tells clusters apart by a label or claim that this cluster does not have, so
        no series can belong to it and it gets no score. Import the label from the hub with
        `gitops-dsf import`, or exclude the cluster.
        """,
    bad="""
        # scorers/mean.yaml
        spec:
          runsOn: Hub
          source:
            params:
              query: sum by (env) (cluster:cpu_usage:ratio)
            clusterLabel: {name: env, label: env}
        # clusters/prod.yaml
        metadata:
          name: prod-1
          labels: {}
        """,
    good="""
        # scorers/mean.yaml
        spec:
          runsOn: Hub
          source:
            params:
              query: sum by (env) (cluster:cpu_usage:ratio)
            clusterLabel: {name: env, label: env}
        # clusters/prod.yaml
        metadata:
          name: prod-1
          labels: {env: prod}
        """,
)

WRONG_PLACE = Code(
    "DSF152",
    Severity.ERROR,
    "setting that does not fit where the scorer runs",
    explanation="""
        The hub scorer asks one store with the API of Prometheus for the series of all clusters,
        while an agent sees one cluster. The setting fits only one of the two places, so here it
        has no effect or cannot work. Move the scorer with `runsOn`, or remove the setting.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          source:
            params:
              query: sum by (cluster, node) (node:cpu_idle:ratio)
          scoring:
            clustersPerRequest: 10
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          runsOn: Hub
          source:
            params:
              query: sum by (cluster, node) (node:cpu_idle:ratio)
            clusterLabel: {name: cluster}
          scoring:
            clustersPerRequest: 10
        """,
)

LARGE_HUB_CONFIG = Code(
    "DSF153",
    Severity.ERROR,
    "configuration of the hub scorer larger than a ConfigMap holds",
    explanation="""
        All clusters and all hub scorers share one ConfigMap, and the API server takes 1 MiB.
        Shorten `scoring.arguments`, or let scorers with long arguments run on the spokes.
        """,
    unshown="the smallest example has 1 MiB",
)

RECEIVER_MISSING = Code(
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

RECEIVER_FIELD = Code(
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

IMAGE_WITHOUT_DIGEST = Code(
    "DSF157",
    Severity.ERROR,
    "image without a digest",
    explanation="""
        With `spec.requireImageDigests` every image names its digest. Whoever may push to the
        registry can move a tag to another image, and the pods of all clusters would run it.
        `docker buildx imagetools inspect IMAGE` prints the digest.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          requireImageDigests: true
          reconciler: {enabled: false}
          agent:
            image: registry.example.com/gitops-dsf-agent:0.1.0
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          requireImageDigests: true
          reconciler: {enabled: false}
          agent:
            image: r.example.com/agent@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
        """,  # noqa: E501
)

DEAD_ROLLOUT = Code(
    "DSF162",
    Severity.WARNING,
    "rollout that has no effect",
    explanation="""
        For each field of a rollout the first entry counts that selects the cluster and has the
        field. Earlier entries set this field for all clusters of the entry, so it has no
        effect. Move the entry up, or give it another clusterSelector.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          agent:
            rollout:
              - clusterSelector: {matchLabels: {env: edge}}
                image: registry.example.com/gitops-dsf-agent:0.2.1
              - clusterSelector: {matchLabels: {env: edge}}
                image: registry.example.com/gitops-dsf-agent:0.3.0
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          agent:
            rollout:
              - clusterSelector: {matchLabels: {env: edge}}
                image: registry.example.com/gitops-dsf-agent:0.2.1
              - clusterSelector: {matchLabels: {env: prod}}
                image: registry.example.com/gitops-dsf-agent:0.3.0
        """,
)

LOCAL_HOST = Code(
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

POD_PLACEMENT = Code(
    "DSF169",
    Severity.ERROR,
    "node selector that Kubernetes refuses",
    explanation="""
        The API server would refuse the pod for its nodeSelector. On managed clusters that shows
        only in the status of an add-on. Keys and values of a nodeSelector are those of labels.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          agent:
            nodeSelector: {role: a b}
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          agent:
            nodeSelector: {role: a-b}
        """,
)

POD_RESOURCES = Code(
    "DSF170",
    Severity.ERROR,
    "request above its limit",
    explanation="""
        Kubernetes refuses a container that requests more than its limit. A section that names
        only a request or only a limit keeps the
        [default](docs/reference/fields/fleetrepository.md) of the other one. Write a larger limit,
        or a smaller request beside it.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          agent:
            image: registry.example.com/gitops-dsf-agent:0.1.0
            resources: {limits: {memory: 64Mi}}
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          agent:
            image: registry.example.com/gitops-dsf-agent:0.1.0
            resources: {requests: {memory: 48Mi}, limits: {memory: 64Mi}}
        """,
)

PLACEHOLDER_URL = Code(
    "DSF175",
    Severity.WARNING,
    "git URL that init wrote as an example",
    explanation="""
        `gitops-dsf init` wrote this URL as an example because it got no `--git-url`. Argo CD
        would find no repository there. Write the URL that Argo CD clones.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          git:
            url: https://git.example.com/platform/fleet.git
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          git:
            url: https://git.example.com/team/fleet.git
        """,
)

METRICS_OUTSIDE = Code(
    "DSF176",
    Severity.NOTICE,
    "scoring API outside of the clusters",
    explanation="""
        The scoring API gets all series that the query returns, and it is outside of the
        clusters. If that is meant, list its host in `spec.allowedHosts` or
        `spec.allowedTokenHosts` of gitops-dsf.yaml.
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

NO_HISTORY = Code(
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

SERVICE_BEHIND_PROXY = Code(
    "DSF178",
    Severity.WARNING,
    "Service of the cluster that is called through the proxy",
    explanation="""
        The agents use a proxy, and this Service is not excepted by `noProxy`. A proxy outside
        of the cluster does not know the Service or refuses the request, so no run of the scorer
        would succeed. Add `.svc` and `.cluster.local` to `noProxy`.
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

RATIO = Code(
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

CEL_WITHOUT_SCORE = Code(
    "DSF186",
    Severity.WARNING,
    "CEL predicate that a cluster without a score passes",
    explanation="""
        Where a scorer never had a score, its agent writes an AddOnPlacementScore that only says
        why, without scores. `scores("x")` is then an empty list, for which `all(...)` and
        `!...exists(...)` hold. Without the object the expression would fail and drop the cluster.
        Ask for what must be there, as `onMissingScore: Exclude` does.
        """,
    bad="""
        # apps/batch.yaml
        spec:
          predicates:
            - requiredClusterSelector:
                celSelector:
                  celExpressions:
                    - managedCluster.scores("cpu-mean").all(score, score.value > 50)
        """,
    good="""
        # apps/batch.yaml
        spec:
          predicates:
            - requiredClusterSelector:
                labelSelector:
                  matchLabels: {env: prod}
        """,
)

VERIFICATION_WITHOUT_PACE = Code(
    "DSF187",
    Severity.ERROR,
    "verified moves that nothing could undo",
    explanation="""
        `moves.verify` sends an application [back](docs/decisions/verified-moves.md) that does
        worse on its new cluster. Only the pace can do that: the application needs
        `placement.numberOfClusters`, a ranking of its own and `spec.pace` in gitops-dsf.yaml. And
        both copies must stay until the checks have decided, as with `moves.strategy:
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

LATE_CHECK = Code(
    "DSF188",
    Severity.ERROR,
    "check that cannot be decided in time",
    explanation="""
        A score says how the application does on its new cluster when it has measured nothing
        else: after the scorer's interval, `publish.minIntervalSeconds`, its range, and the
        seconds that its query reads. It must then hold for `forSeconds`, and must have been
        written again, which happens after half of its TTL if it does not change. All of that
        must fit into `verifySeconds`; otherwise no move could pass.
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

CHECK_BY_RANKING = Code(
    "DSF189",
    Severity.WARNING,
    "check by the score that ranks",
    explanation="""
        An application goes where the scores that rank it are best. The same score there is good
        by definition, also when the query is wrong, and a check by it finds little. Verify by
        something that the ranking does not know, such as the error rate of the application.
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

VERIFICATION_FIELD = Code(
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

UNSET_IMAGE = Code(
    "DSF191",
    Severity.NOTICE,
    "image that is in no registry",
    explanation="""
        No registry has our images yet, and gitops-dsf.yaml names none of yours, so no pod would
        start. Build the images with `make images` and push them to your registry; `gitops-dsf
        init --registry` writes their names.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          agent:
            image:
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          agent:
            image: registry.example.com/gitops-dsf-agent:0.1.0
        """,
)

HUB_WRITES = Code(
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

LOWEST_SCORE = Code(
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

IMAGE_VERSION = Code(
    "DSF194",
    Severity.NOTICE,
    "image of another version",
    explanation="""
        An older agent does not know what a newer gitops-dsf renders, and the other way round: a
        new field would have no effect, without a message. Use gitops-dsf and images of one
        version. Entries of `spec.agent.rollout` do not count, nor do images of other names or
        without a version.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          agent:
            image: registry.example.com/gitops-dsf-agent:0.0.1
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          agent:
            image: registry.example.com/gitops-dsf-agent:0.1.0
        """,
)

PERCENT = Code(
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

BAD_PARAMETER = Code(
    "DSF196",
    Severity.ERROR,
    "URL parameter that a source cannot have",
    explanation="""
        The agent sends the query, its time and its range as URL parameters itself. Of two
        parameters with one name a store reads either, and `limit` would cut off series. Remove
        the parameter; the hint names the field to write instead.
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

NO_API = Code(
    "DSF197",
    Severity.WARNING,
    "URL at which no API answers",
    explanation="""
        No API answers at this URL. Pages of Prometheus (`/graph`), VictoriaMetrics (`/vmui`)
        and Grafana (`/explore`) are HTML. The host of a metric source is its base URL, below
        which the agent finds `/api/v1/query_range` itself. A `path` is taken as it is, so it
        ends in `/query` or `/query_range`; with `dialect: Other` it may be any.
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

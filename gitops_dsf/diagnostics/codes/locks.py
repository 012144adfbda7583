"""Codes about locks, which hold the settings of a scorer from its scoring API."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

NO_LOCK = FindingCode(
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

LOCK_OVERRULES = FindingCode(
    "DSF115",
    Severity.WARNING,
    "lock that contradicts the spec",
    explanation="""
        With `configSyncMode: Full`, the value of the lock applies. The scorer has another value,
        which has no effect. Remove the field, or write `configSyncMode: None` if the value of the
        scorer should apply.
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

LOCK_WITH_TOKEN = FindingCode(
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

LOCK_MOVES_HOST = FindingCode(
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

STALE_LOCK = FindingCode(
    "DSF118",
    Severity.WARNING,
    "lock that is not used",
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

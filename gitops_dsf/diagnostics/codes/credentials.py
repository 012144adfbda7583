"""Codes about tokens, Secrets and certificates: where they are written, and who gets them."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

URL_CREDENTIALS = FindingCode(
    "DSF104",
    Severity.ERROR,
    "credentials inside a URL",
    explanation="""
        The URL contains a user, a password or a parameter such as `?token=...`. Anyone who can read
        the repository can use them, and URLs also end up in logs. Put the credentials into a Secret
        on the spoke, and name the Secret with `auth`.
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

SECRET_IN_YAML = FindingCode(
    "DSF105",
    Severity.ERROR,
    "secret written into the repository",
    explanation="""
        The value looks like a secret by the name of its field, or by its form, such as that of a
        token or a private key. Anyone who can read the repository, its clones and its backups can
        use it. Put it into a Secret on the spoke and refer to that. Then replace the secret itself,
        because git keeps the old commit.
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

RESERVED_SECRET = FindingCode(
    "DSF126",
    Severity.ERROR,
    "Secret that no scorer may send",
    explanation="""
        The Secret holds credentials of OCM, of a registry or of git, and any author of a scorer
        could send it to a host of their own. The reserved Secrets are `*-hub-kubeconfig`,
        `bootstrap-hub-kubeconfig*`, `*-client-cert`, `gitops-dsf-agent*`,
        `open-cluster-management-*`, every `imagePullSecrets`, and on the hub `gitSecret`. Scorers
        on the hub may use only the Secrets that `spec.hubScorer.secrets` lists.
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

TOKEN_IN_CLEAR = FindingCode(
    "DSF127",
    Severity.ERROR,
    "token over plain http",
    explanation="""
        A token over plain http can be read by anyone on the network path. Inside a cluster
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

POD_TOKEN_OUTSIDE = FindingCode(
    "DSF128",
    Severity.ERROR,
    "token of the agent's pod for a host outside the cluster",
    explanation="""
        The token of the agent's pod is valid for the API server of its cluster, too. A host outside
        the cluster could use it there. Name a separate token with `tokenSecretRef`.
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

TOKEN_OUTSIDE = FindingCode(
    "DSF129",
    Severity.WARNING,
    "token for an outside host that is not allowed",
    explanation="""
        The scorer sends a Secret of every cluster to a host outside the clusters, and
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

SHARED_SECRET = FindingCode(
    "DSF130",
    Severity.WARNING,
    "one Secret for several hosts",
    explanation="""
        One Secret goes to several hosts, so each of them can use it at the others. The same holds
        for access tokens of one client with the same `scopes` and `audience`. Create a Secret for
        each host.
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

CERTIFICATE_WITHOUT_TLS = FindingCode(
    "DSF143",
    Severity.ERROR,
    "client certificate for a host without https",
    explanation="""
        A client certificate is presented during the TLS handshake. Plain http has none, so the
        server would never see the certificate. Write an https URL.
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

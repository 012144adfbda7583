# ruff: noqa: E501 - texts of documents
"""Small repositories for tests/golden/test_findings.py: credentials and secrets."""

from collections.abc import Iterator

from tests.golden.findings_documents import (
    SCORER,
    SETTINGS,
    Documents,
    both,
    case,
    generator,
    second,
    settings,
)
from tests.support.repositories import CONFIG, FULL, LABELS, LOCK, UPSTREAM, app, asking, listed


def _credentials() -> Iterator[tuple[str, Documents]]:
    for host in listed("""
        http://api.example.com | https://api.example.com | https://other.org
        http://169.254.169.254 | http://metadata.google.internal | http://10.0.0.7
        https://10.0.0.7 | http://[fe80::1]
    """):
        for auth in (
            "tokenSecretRef: {name: t, key: k}",
            "serviceAccountToken: true",
            "caConfigMapRef: {name: t, key: k}",
        ):
            scoring = SCORER.replace("scoring: {", f"scoring: {{host: '{host}', auth: {{{auth}}}, ")
            yield f"scoring {host} with {auth}", {"scorers": scoring}
            yield case(
                f"scoring {host} with {auth} where hosts are allowed",
                scorers=scoring,
                settings=settings("allowedTokenHosts: ['*.example.com', 10.0.0.7]"),
            )
            asked = asking("up").replace(
                "host: http://prom:9090", f"host: '{host}', auth: {{{auth}}}"
            )
            yield f"source {host} with {auth}", {"scorers": asked}
            if "example" in host or "169" in host:
                yield case(
                    f"source {host} with {auth} and type None",
                    scorers=asked.replace("host:", "type: None, host:", 1),
                )
        yield (
            f"configURL {host}",
            {"scorers": SCORER.replace("http://api.svc:8000/config", f"{host}/config")},
        )
    auth = "auth: {tokenSecretRef: {name: t, key: k}}"
    one = SCORER.replace("scoring: {", f"scoring: {{host: 'http://a.svc', {auth}, ")
    for host in ("http://a.svc", "http://a.svc:9000", "http://b.svc", "https://a.svc"):
        two = second(one).replace("http://a.svc", host)
        yield case(
            f"one Secret for http://a.svc and {host} with the upstream controller",
            scorers=both(one, two).replace("  scoreRange: {min: 0, max: 1}\n", ""),
            settings=UPSTREAM,
        )
    yield case(
        "one Secret for three hosts",
        scorers=both(
            one,
            second(one).replace("a.svc", "b.svc"),
            second(one, "net", "net_score").replace("a.svc", "c.svc"),
        ),
    )


def _clients() -> Iterator[tuple[str, Documents]]:
    """Clients of token servers."""

    def api(oauth2: str, *, more: str = "", host: str = "https://a.svc") -> str:
        auth = f"auth: {{oauth2: {{{oauth2}}}{more}}}"
        return SCORER.replace("scoring: {", f"scoring: {{host: '{host}', {auth}, ")

    known = "clientSecretRef: {name: t}"
    server = "tokenURL: 'https://login.example.com/token'"
    for url in listed("""
        http://login.example.com/token | https://login.example.com/token?p=policy | ftp://login.svc
        http://169.254.169.254/token | https://localhost/token | https://<HOST>/token
    """):
        yield f"a token server {url}", {"scorers": api(f"tokenURL: '{url}', {known}")}
        yield case(
            f"a token server {url} where hosts are allowed",
            scorers=api(f"tokenURL: '{url}', {known}"),
            settings=settings("allowedTokenHosts: ['*.example.com']"),
        )
    for oauth2 in (
        server,
        known,
        f"{server}, {known}, scopes: [a b]",
        f"{server}, {known}, scopes: ['', x]",
        f"{server}, {known}, clientAuthentication: Both",
        f"{server}, {known}, clientSecret: abcdefgh",
        f"{server}, clientSecretRef: {{name: t, clientIdKey: x}}",
        f"{server}, clientSecretRef: {{name: gpu-client-cert}}",
    ):
        yield f"oauth2 of {oauth2}", {"scorers": api(oauth2)}
    of_pod = api(f"{server}, {known}", more=", serviceAccountToken: true")
    yield "oauth2 beside the token of the pod", {"scorers": of_pod}
    for host in ("http://a.svc", "https://a.example.com"):
        auth = "auth: {clientCertificateSecretRef: {name: c}}"
        shown = SCORER.replace("scoring: {", f"scoring: {{host: '{host}', {auth}, ")
        yield f"a client certificate for {host}", {"scorers": shown}
    one, allowed = api(f"{server}, {known}"), settings("allowedTokenHosts: ['*.example.com']")
    for title, oauth2, host in (
        ("two hosts", f"{server}, {known}", "https://b.svc"),
        ("two token servers", f"tokenURL: 'https://login.svc/token', {known}", "https://a.svc"),
    ):
        two = second(api(oauth2, host=host))
        yield case(f"one client for {title}", scorers=both(one, two), settings=allowed)


def _config_pages() -> Iterator[tuple[str, Documents]]:
    """Credentials that the reconciler sends to /config pages."""
    for url, host in (
        ("https://a.example.com/config", "https://a.example.com"),
        ("https://a.example.com/config", "http://api.scores.svc"),
        ("http://other.scores.svc/config", "http://api.scores.svc"),
        ("http://api.scores.svc:81/config", "http://api.scores.svc"),
        ("http://169.254.169.254/config", "http://api.scores.svc"),
    ):
        auth = f"host: '{host}', auth: {{tokenSecretRef: {{name: t, key: k}}}}"
        scorer = SCORER.replace("scoring: {", f"scoring: {{{auth}, ")
        scorer = scorer.replace("http://api.svc:8000/config", url)
        for title, given in (("", "[t]"), (", which the hub has not", "[other]")):
            reconciler = settings(f"reconciler: {{configCredentials: {given}}}")
            yield case(
                f"credentials for {url} of {host}{title}", scorers=scorer, settings=reconciler
            )
    git = "gitSecret: {name: git}, imagePullSecrets: [pull], configCredentials: [git, pull, x-hub-kubeconfig, t]"
    for host, secret in (
        ("http://thanos.monitoring.svc:9090", "t"),
        ("https://thanos.example.com", "t"),
        ("https://thanos.allowed.example.com", "t"),
        ("https://169.254.169.254", "t"),
        ("http://thanos.monitoring.svc:9090", "git"),
        ("http://thanos.monitoring.svc:9090", "x-hub-kubeconfig"),
    ):
        auth = f"auth: {{tokenSecretRef: {{name: {secret}, key: k}}}}"
        store = f"state: {{enabled: true}}, metricStore: {{host: '{host}', {auth}}}"
        allowed = settings("allowedTokenHosts: ['*.allowed.example.com']")
        written = settings(f"reconciler: {{gitSecret: {{name: git}}, {store}}}", allowed)
        yield case(f"Secret {secret} for the store {host}", settings=written)
    yield case("credentials of pages that are others'", settings=settings(f"reconciler: {{{git}}}"))


def _secrets() -> Iterator[tuple[str, Documents]]:
    for arguments in listed("""
        {password: abc} | {password: abcd} | {passwords: abcdef} | {monkey: abcdef}
        {openaiApiKey: abcdef} | {a: {token: abcdef}} | {a: [{secret: abcdef}]}
        {header: 'Bearer 1234567'} | {header: 'Bearer 12345678'} | {key: AKIAIOSFODNN7EXAMPLE}
        {a: eyJhbGciOiJI1.eyJzdWIiOiIxMj.x} | {a: ghp_0123456789abcdef} | {password: 12345}
    """):
        yield case(
            f"arguments {arguments}",
            scorers=SCORER.replace("scoring: {", f"scoring: {{arguments: {arguments}, "),
        )
        yield case(
            f"annotations {arguments}",
            scorers=SCORER.replace("{name: cpu}", f"{{name: cpu, annotations: {arguments}}}"),
        )
    token = "ghp_0123456789abcdef"
    yield case(
        "a token in an application",
        apps=app("path: deploy}", f"path: deploy, helm: {{values: '{token}'}}}}"),
    )
    yield case(
        "a token in an ApplicationSet",
        apps=generator(f"{CONFIG}, {LABELS}").replace("path: a", f"path: {token}"),
    )
    yield case(
        "a token in a lock",
        scorers=FULL,
        locks=LOCK.replace("config: {}", f"config: {{description: {token}}}"),
    )
    yield case(
        "a token in the settings",
        settings=SETTINGS.replace("{name: fleet}", f"{{name: fleet, annotations: {{a: {token}}}}}"),
    )

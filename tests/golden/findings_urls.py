# ruff: noqa: E501 - texts of documents
"""Small repositories for tests/golden/test_findings.py: URLs and hosts that agents call."""

from collections.abc import Iterator

from tests.golden.findings_documents import (
    QUERY,
    SCORER,
    SETTINGS,
    USES,
    Documents,
    case,
    generator,
    quoted,
    settings,
    source,
    variants,
)
from tests.support.repositories import CONFIG, FULL, LABELS, LOCK, app, asking, listed


def _urls() -> Iterator[tuple[str, Documents]]:
    for url in listed("""
        '' | x | ftp://a | http:// | http://a:x | http://[ | 'http://a b' | http://a/b?c=d
        http://a/b?token=d | http://a/b?token= | http://a#b | http://u@a | http://u:p@a | http://a_b
        http://-a | http://a..b | http://<IP> | http://10.0.0.1 | http://[::1]:80 | http://a.
    """):
        yield f"configURL {url}", {"scorers": SCORER.replace("http://api.svc:8000/config", url)}
        yield case(
            f"scoring.host {url}",
            scorers=SCORER.replace("scoring: {", f"scoring: {{host: {quoted(url)}, "),
        )
        yield (
            f"source.host {url}",
            {"scorers": asking("up").replace("http://prom:9090", quoted(url))},
        )
    for path in ("/a", "a", "/a?b", "/a#b", "'/a b'", "''"):
        yield (
            f"scoring.path {path}",
            {"scorers": SCORER.replace("scoring: {", f"scoring: {{path: {path}, ")},
        )
        yield (
            f"source.path {path}",
            {"scorers": asking("up").replace("host:", f"path: {path}, host:")},
        )
    for url in listed("""
        https://a/b.git | https://u@a/b.git | https://u:p@a/b.git | ssh://git@a/b.git
        ssh://git:p@a/b.git | git@a:b.git | http://[
    """):
        yield f"repoURL {url}", {"apps": app("https://git.example.com/web.git", url)}
        yield case(
            f"second repoURL {url}",
            apps=app(
                'source: {repoURL: "https://git.example.com/web.git", path: deploy}',
                f"sources: [{{repoURL: https://a/b.git, path: a}}, {{repoURL: '{url}', path: b}}]",
            ),
        )
    for text in ("chart: c", "ref: values", "path: '', chart: ''"):
        yield f"source with {text}", {"apps": app("path: deploy", text)}
        yield case(
            f"second source with {text}",
            apps=app("source: {", "sources: [{repoURL: https://a/b.git, path: a}, {").replace(
                "path: deploy}", f"{text}}}]"
            ),
        )


def _pages_and_mistyped_hosts() -> Iterator[tuple[str, Documents]]:
    """URLs of what people look at, and hosts that are not meant."""
    for url in listed("""
        https://github.com/acme/fleet/tree/main | https://gitlab.com/acme/fleet/-/tree/main
        https://github.com/acme/fleet/tree/main/deploy
        https://git.internal/team/tree | https://git.example.com/platform/fleet.git
    """):
        yield (
            f"git.url {url}",
            {"settings": SETTINGS.replace("https://git.example.com/fleet.git", url)},
        )
        yield f"repoURL {url}", {"apps": app("https://git.example.com/web.git", url)}
    wide = asking('{__name__=~".+"}')
    for url in listed("""
        https://evil.example.com | https://203.0.113.7 | https://api.corp.example.com
        https://forecast.scoring.example.com | http://scorer.scoring.svc:8000 | http://scorer:8000
    """):
        scorers = wide.replace("http://api.svc:8000", url)
        yield f"every metric to {url}", {"scorers": scorers}
        for field in ("allowedHosts", "allowedTokenHosts"):
            given = settings(f"{field}: ['*.corp.example.com', forecast.scoring.example.com]")
            yield f"every metric to {url} with {field}", {"scorers": scorers, "settings": given}
    elsewhere = settings("hubNamespace: hub-scoring, argocd: {namespace: gitops}")
    for name in listed("""
        kube-system | open-cluster-management-agent | gitops | hub-scoring | dynamic-scoring | argocd
        open-cluster-management | default | web | kubeflow | gitops-dsf
    """):
        apps = app("destinationNamespace: web", f"destinationNamespace: {name}")
        yield f"an application into {name}", {"apps": apps}
        yield f"an application into {name}, others elsewhere", {"apps": apps, "settings": elsewhere}
        raw = generator(f"{CONFIG}, {LABELS}").replace(
            "destination: {", f"destination: {{namespace: {name}, "
        )
        yield f"an ApplicationSet into {name}", {"apps": raw}


def _urls_from_browsers() -> Iterator[tuple[str, Documents]]:
    """URLs that people copy from the address bar of a browser, and others that look like them."""
    for url in listed("""
        http://prom:9090/graph | http://prom:9090/graph/ | https://p.example.com/prom/classic/graph
        http://prom:9090/graph?g0.expr=up&g0.tab=0 | http://prom:9090/query?g0.expr=up | http://prom:9090/graph#x
        http://vm:8428/vmui | http://vm:8481/select/0/vmui/ | http://vm:8481/select/0/prometheus/vmui
        http://vm:8428/vmui/#/?g0.expr=up | http://vm:8428/prometheus/vmui
        https://grafana.example.com/explore | https://grafana.example.com/explore?left=x
        https://grafana.example.com/d/abc/nodes | http://prom:9090/targets | http://prom:9090/alerts
        http://prom:9090/query | http://prom:9090/graphs | https://gw.example.com/graph/prometheus
        https://gw.example.com/explore/api/v1/query_range | http://vm:8481/select/0/prometheus | http://prom:9090/metrics
    """):
        yield case(f"a source at {url}", scorers=QUERY.replace("'http://prom.svc'", f"'{url}'"))
    for url in ("http://prom:9090/graph", "http://vm:8481/select/0/vmui/"):
        yield case(
            f"a MetricSource at the page {url}", config=variants(f"host: '{url}'"), scorers=USES
        )
    for section, url in (
        ("source", "http://prom:9090/graph"),
        ("scoring", "http://api.svc:8000/docs"),
    ):
        yield case(
            f"a lock with {section} at the page {url}",
            scorers=source("params: {query: up, range: 60, step: 60}", FULL),
            locks=LOCK.replace("config: {}", f"config: {{{section}: {{host: '{url}'}}}}"),
        )
    for url in listed("""
        http://api.svc:8000/docs | http://api.svc:8000/config | http://api.svc:8000/healthz | http://api.svc:8000/redoc
        http://api.svc:8000/scoring | http://api.svc:8000/apis/docs-scorer
    """):
        yield case(
            f"a scoring API at {url}",
            scorers=SCORER.replace("scoring: {", f"scoring: {{host: '{url}', "),
        )
    for path in listed("""
        /select/0/prometheus | /graph | /vmui | /api/v1/query_range | /api/v1/query/ | /instant | /api/v1
    """):
        for dialect in ("PromQL", "Other"):
            yield case(
                f"a source with the path {path} and {dialect}",
                scorers=QUERY.replace(
                    "params: {query", f"path: {path}, dialect: {dialect}, params: {{query"
                ),
            )
    yield case(
        "a MetricSource with a base path",
        config=variants("host: 'http://vm:8481', path: select/0/prometheus"),
        scorers=USES,
    )


def _hosts() -> Iterator[tuple[str, Documents]]:
    for host in listed("""
        localhost | api.localhost | 127.0.0.1 | 127.1 | 0.0.0.0 | [::1] | localhost.example.com | 10.0.0.7
    """):
        yield case(
            f"a scoring API at {host}",
            scorers=SCORER.replace("scoring: {", f"scoring: {{host: 'http://{host}:8000', "),
        )
    yield case(
        "a source at localhost",
        scorers=source("host: 'http://localhost:9090', params: {query: up, range: 60, step: 60}"),
    )
    for url in listed("""
        http://${HOST}/config | http://<NODE_IP>:30007/config
    """):
        yield case(
            f"a page at {url}", scorers=SCORER.replace("http://api.svc:8000/config", f"'{url}'")
        )

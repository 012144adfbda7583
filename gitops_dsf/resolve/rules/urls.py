"""Checks the URLs that agents and sync call: scoring APIs, metric sources and token servers.

Guaranteed: no request is made, so findings do not depend on the network. Not guaranteed: that a URL
without findings answers, or that its path is that of the API.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from gitops_dsf.diagnostics import Diagnostic, Edit, Position, codes
from gitops_dsf.globs import matches
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.peers import token_servers
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.resolve.secret_names import names_a_secret
from gitops_dsf.urls.defaults import SCORING_PATH
from gitops_dsf.urls.hosts import is_in_cluster, is_local
from gitops_dsf.urls.parts import host_of, origin, path_of, rooted
from gitops_dsf.urls.query_apis import QUERY_PATH, is_query_api, query_api_below
from gitops_dsf.urls.store_pages import is_store_page, store_of_page

_BLANK: Final = frozenset(" \t\r\n")
_HOST: Final = re.compile(
    r"[^\W_]([\w-]*[^\W_])?(\.[^\W_]([\w-]*[^\W_])?)*\.?|[0-9a-f.]*:[0-9a-f:.]*(%\w+)?"
)
"""A host name in any alphabet, or an address; not a placeholder such as `<NODE_IP>`."""
_PAGES_OF_AN_API: Final = frozenset({"config", "docs", "healthz", "openapi.json", "redoc"})
"""Paths of a scoring API that answer GET: those of its contract, and of FastAPI's documentation."""
_STORE: Final = "write the URL of the metric store, such as http://prometheus.monitoring.svc:9090"


@rule()
def urls_can_be_called(context: Context) -> Iterator[Diagnostic]:
    """URLs are http or https with a host, without credentials, query or fragment."""
    for scorer in context.scorers.values():
        declared = scorer.declared
        spec = scorer.spec
        # The default of configURL is empty, and has no place: only one that is written can be
        # wrong.
        if declared.document.has(("spec", "configURL")) and not spec.scored_by_query:
            position = partial(declared.at, "spec", "configURL")
            yield from _endpoint(spec.config_url, position, "configURL", query_allowed=True)
        if spec.source.host:
            position = partial(scorer.at, "source.host")
            yield from _endpoint(spec.source.host, position, "source.host", query_allowed=False)
        yield from _path(
            spec.source.path, partial(scorer.at, "source.path"), "source.path", QUERY_PATH
        )
        if spec.scoring.host:
            position = partial(scorer.at, "scoring.host")
            yield from _endpoint(spec.scoring.host, position, "scoring.host", query_allowed=False)
        yield from _path(
            spec.scoring.path, partial(scorer.at, "scoring.path"), "scoring.path", SCORING_PATH
        )
    for variant in context.source_variants:
        if variant.value.host:
            position = partial(variant.source.at, *variant.path, "host")
            name = dotted((*variant.path[1:], "host"))
            yield from _endpoint(variant.value.host, position, name, query_allowed=False)
        position = partial(variant.source.at, *variant.path, "path")
        name = dotted((*variant.path[1:], "path"))
        yield from _path(variant.value.path, position, name, QUERY_PATH)
    for server in token_servers(context.peers):
        yield from _endpoint(server.url, server.position, server.title, query_allowed=True)
    writing = context.settings.agent.remote_write
    if writing is not None:
        position = partial(context.repository.at, "spec", "agent", "remoteWrite", "url")
        yield from _endpoint(writing.url, position, "remoteWrite.url", query_allowed=True)


@rule(needs=("FleetRepository",))
def metrics_stay_inside(context: Context) -> Iterator[Diagnostic]:
    """A scoring API gets all series that the query finds.

    One outside the clusters should be meant.
    """
    spec = context.settings
    allowed = [*spec.allowed_hosts, *spec.allowed_token_hosts]
    for scorer in context.scorers.values():
        host = host_of(scorer.scoring_origin)
        if scorer.source_type == "None" or not host or is_in_cluster(host) or is_local(host):
            continue
        # A host that may have tokens may have metrics, too.
        if any(matches(host, pattern) for pattern in allowed):
            continue
        yield codes.METRICS_OUTSIDE.at(
            scorer.at("scoring.host"),
            f"everything that the query finds is sent to {host}, outside the clusters",
            f"if that is meant, add {host} to spec.allowedHosts in gitops-dsf.yaml",
        )


@rule()
def hosts_are_not_local(context: Context) -> Iterator[Diagnostic]:
    """To a scorer, localhost is its own pod.

    A source whose metrics are pushed has no host of its own.
    """
    for scorer in context.each_variant:
        scoring_host = _local_host(scorer.spec.scoring.host)
        if scoring_host:
            yield codes.LOCAL_HOST.at(
                scorer.at("scoring.host"),
                f"{scoring_host} is the pod that runs the scorer, and no scoring API runs there",
                "write the name of a Service, such as http://prometheus.monitoring.svc:9090",
            )
        source_host = "" if scorer.is_pushed else _local_host(scorer.spec.source.host)
        if source_host:
            yield codes.LOCAL_HOST.at(
                scorer.at("source.host"),
                f"{source_host} is the pod that runs the scorer, and no metric source runs there",
                "write the name of a Service, such as http://prometheus.monitoring.svc:9090",
            )
    for server in token_servers(context.peers):
        host = host_of(server.url)
        if is_local(host):
            yield codes.LOCAL_HOST.at(
                server.position(),
                f"{host} is the pod that runs the scorer, and no token server runs there",
                "write the name of a Service or of a host, such as https://login.example.com/token",
            )


@rule()
def hosts_are_apis(context: Context) -> Iterator[Diagnostic]:
    """People copy the URL of a page, or write a base path in place of the path of an API."""
    for scorer in context.each_variant:
        if scorer.source_type == "Prometheus" and not scorer.is_pushed:
            yield from _query_path(scorer) if scorer.spec.source.path else _store_page(scorer)
        yield from _scoring_page(scorer)


def _local_host(url: str) -> str:
    """The host of a URL if that is the pod itself, else an empty text."""
    parts = _split(url)
    host = "" if parts is None else parts.hostname or ""
    return host if host and is_local(host) else ""


def _scoring_page(scorer: EffectiveScorer) -> Iterator[Diagnostic]:
    host = scorer.spec.scoring.host
    # With scoring.path, the path of the host is a prefix of it, which may be anything.
    last_part = path_of(host).rstrip("/").rpartition("/")[2]
    if scorer.spec.scoring.path or last_part not in _PAGES_OF_AN_API:
        return
    base = origin(host)
    if scorer.is_locked("scoring.host"):
        hint = (
            f"let /config of the scoring API say scoring.host: {base}, and scoring.path if the API"
            f" scores elsewhere than at {SCORING_PATH}"
        )
    else:
        hint = f"write host: {base}, and path if the API scores elsewhere than at {SCORING_PATH}"
    yield codes.NO_API.at(
        scorer.at("scoring.host"),
        f"{host} is a page of the scoring API that answers GET, and scores are asked for by POST",
        hint,
    )


def _store_page(scorer: EffectiveScorer) -> Iterator[Diagnostic]:
    """Another rule reports a page whose URL has a query or a fragment, as a mistake of the URL."""
    url = scorer.spec.source.host
    parts = _split(url)
    if parts is None or parts.query or parts.fragment or not is_store_page(url):
        return
    base = store_of_page(url)
    # `sync` writes a lock from /config, so it cannot be mended by hand.
    is_locked = scorer.is_locked("source.host")
    hint = (
        f"let /config of the scoring API say source.host: {base}"
        if is_locked
        else f"write host: {base}"
    )
    yield codes.NO_API.at(
        scorer.at("source.host"),
        f"{url} is a page for people, and no query API is below it",
        hint if base else _STORE,
        edits=(Edit(scorer.place("source.host")[1], value=base),) if base and not is_locked else (),
    )


def _query_path(scorer: EffectiveScorer) -> Iterator[Diagnostic]:
    """Checks that a written path is one of a query API.

    A path is taken as it is, so that an adapter, such as one for another language, can have any.
    Another rule reports what is not a path.
    """
    path = rooted(scorer.spec.source.path)
    # The paths of other query languages are unknown.
    if is_query_api(path) or scorer.spec.source.dialect == "Other" or not _is_path(path):
        return
    base = store_of_page(path) if is_store_page(path) else path.rstrip("/")
    right = base + query_api_below(base, of_instant=scorer.spec.scored_by_query)
    yield codes.NO_API.at(
        scorer.at("source.path"),
        f"{path} ends neither in /query nor in /query_range, and the agent requests it unchanged",
        f"let /config of the scoring API say source.path: {right}"
        if scorer.is_locked("source.path")
        else f"write path: {right}",
    )


def _endpoint(
    url: str, position: Callable[[], Position], name: str, *, query_allowed: bool
) -> Iterator[Diagnostic]:
    """Checks one URL. To compute its position is slow, because that parses the document again."""
    parts = _split(url)
    if not _is_http(parts) or _BLANK & set(url):
        yield codes.BAD_URL.at(
            position(),
            f"{name}: {url or 'an empty text'} is not an http or https URL",
            "write scheme, host and port, such as http://scorer.scoring.svc:8000",
        )
        return
    if parts is None or not _HOST.fullmatch(parts.hostname or ""):
        host = "" if parts is None else parts.hostname
        yield codes.BAD_URL.at(
            position(),
            f"{name}: {url} names no host: {host} is not one",
            "write the name or address as it is, such as scorer.scoring.svc or 10.0.0.7",
        )
        return
    # Such a URL would also stand in a ConfigMap on each cluster.
    if parts.username is not None or _has_secret(parts):
        yield codes.URL_CREDENTIALS.at(
            position(),
            f"{name} contains credentials; everybody who can read the repository can use them",
            "put a token into a Secret on the spoke and name it with auth.tokenSecretRef",
        )
    if not query_allowed and (parts.query or parts.fragment):
        yield _query_in_host(url, position(), name)


def _is_http(parts: SplitResult | None) -> bool:
    return parts is not None and parts.scheme in {"http", "https"} and bool(parts.hostname)


def _has_secret(parts: SplitResult) -> bool:
    """Whether a parameter of a URL holds a credential."""
    return any(names_a_secret(key) and value for key, value in parse_qsl(parts.query))


def _query_in_host(url: str, position: Position, name: str) -> Diagnostic:
    if not is_store_page(url):
        return codes.BAD_URL.at(
            position,
            f"{name}: a host URL has no query or fragment",
            "write scheme, host, port and at most a path",
        )
    base = store_of_page(url)
    return codes.BAD_URL.at(
        position,
        f"{name}: a host URL has no query or fragment, and {url} is a page for people",
        f"write host: {base}" if base else _STORE,
    )


def _is_path(path: str) -> bool:
    return not ("?" in path or "#" in path or _BLANK & set(path))


def _path(
    path: str, position: Callable[[], Position], name: str, example: str
) -> Iterator[Diagnostic]:
    if not _is_path(path):
        yield codes.BAD_URL.at(
            position(),
            f"{name}: {path} is not a path",
            f"write it without query and fragment, such as {example}",
        )


def _split(url: str) -> SplitResult | None:
    """The parts of a URL; None if it cannot be parsed."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError if it is not a number
    except ValueError:
        return None
    return parts

"""Checks the URLs that agents, sync and Argo CD use, and finds secrets in the repository."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from gitops_dsf.diagnostics import Diagnostic, Edit, Mistake, Position, codes
from gitops_dsf.hub.glob import matches
from gitops_dsf.hub.urls import (
    QUERY_PATH,
    SCORING_PATH,
    browsed_branch,
    fault_of_form,
    git_fault,
    holds_credentials,
    host_of,
    is_in_cluster,
    is_local,
    is_query_api,
    is_store_page,
    origin,
    path_of,
    query_api_below,
    rooted,
    store_of_page,
)
from gitops_dsf.repository.load import Path, texts_in
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.resolve.application_templates import ACTION, sources
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.credentials import token_servers
from gitops_dsf.resolve.rules.metric_sources import parameters_of
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.wording import did_you_mean

_NAME = re.compile(
    r"(?i)(^|[^a-z])(api[-_]?key|token|password|passwd|secret|bearer|private[-_]?key|access[-_]?key|credentials?)$"
)
_VALUE = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|^Bearer\s+\S{8,}"
    # A JSON Web Token, found by its second part: a search for the first one may read the same text often.
    r"|(?<=[A-Za-z0-9_-]{13})\.eyJ[A-Za-z0-9_-]{10,}\."
    r"|\b(ghp|gho|ghs|glpat|xox[abp])[-_][A-Za-z0-9_-]{16,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
)


@rule()
def repository_holds_no_secrets(context: Context) -> Iterator[Diagnostic]:
    """Arguments go to every cluster, annotations and applications to the hub, and all into git."""
    declared = context.declared
    items = (
        *(*declared.scorers, *declared.applications, *declared.scored_placements),
        *(*declared.application_sets, *declared.locks, *declared.metric_sources),
        *(() if declared.repository is None else (declared.repository,)),
    )
    for document in (*(item.document for item in items), *declared.broken):
        hint = "put it into a Secret that the application reads on its cluster"
        if document.kind in {"DynamicScorer", "MetricSource", "ScorerLock"}:
            hint = "put it into a Secret on the spoke and name it with auth.tokenSecretRef"
            hint = f"{hint}, or let the scoring API hold it"
        for path, value in texts_in(document.data):
            if _is_suspect(path, value) or _VALUE.search(value):
                yield codes.SECRET_IN_YAML.at(
                    document.at(path), f"{dotted(path)} looks like a secret", hint
                )


def _is_suspect(path: Path, value: str) -> bool:
    """Whether a field holds a secret by its name: an argument, or a token in place of its reference."""
    name = str(path[-1])
    if path[:3] == ("spec", "scoring", "arguments"):
        return len(value) >= 4 and names_a_secret(name)
    if len(path) >= 2 and path[-2] in {"auth", "oauth2"}:
        return names_a_secret(name) and name != "serviceAccountToken"
    return name == "value" and "tokenSecretRef" in path


@rule()
def headers_hold_no_secrets(context: Context) -> Iterator[Diagnostic]:
    """A plain header must not be one that holds a credential."""
    for item in context.declared.metric_sources:
        for index, variant in enumerate(item.value.spec.variants):
            for place, header in enumerate(variant.headers):
                suspect = names_a_secret(header.name) or header.name.lower() == "cookie"
                if header.value is not None and suspect:
                    path = ("spec", "variants", index, "headers", place, "value")
                    message = f"{dotted(path)} looks like a secret: {header.name} is a header of credentials"
                    hint = "put it into a Secret on the spoke and name it with secretRef"
                    yield codes.SECRET_IN_YAML.at(item.at(*path), message, hint)


@rule()
def parameters_hold_no_secrets(context: Context) -> Iterator[Diagnostic]:
    """A URL parameter must not hold a credential: git and the logs of servers and proxies have URLs."""
    for item, path, parameters in parameters_of(context):
        for name, value in parameters.items():
            if value and names_a_secret(name):
                place = (*path, name)
                message = (
                    f"{dotted(place)} looks like a secret: {name} is a parameter of credentials"
                )
                hint = "put it into a Secret on the spoke and name it with auth.tokenSecretRef, or with"
                hint = f"{hint} headers[].secretRef of a MetricSource"
                yield codes.SECRET_IN_YAML.at(item.at(*place), message, hint)


def names_a_secret(name: str) -> bool:
    """Whether a field of this name usually holds a secret, such as apiKey, access_token or password."""
    # A camelCase name is split, so that openaiApiKey ends in Api_Key, and monkey does not end in key.
    return _NAME.search(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)) is not None


_BLANK = frozenset(" \t\r\n")
_HOST = re.compile(
    r"[^\W_]([\w-]*[^\W_])?(\.[^\W_]([\w-]*[^\W_])?)*\.?|[0-9a-f.]*:[0-9a-f:.]*(%\w+)?"
)
"""A host name in any alphabet, or an address; not `<NODE_IP>` or `${HOST}`, which nobody filled in."""


@rule()
def urls_can_be_called(context: Context) -> Iterator[Diagnostic]:
    """ConfigURL and hosts are http or https URLs with a host, without credentials, query or fragment."""
    for scorer in context.scorers.values():
        declared, spec = scorer.declared, scorer.spec
        if declared.document.has(("spec", "configURL")) and not spec.scored_by_query:
            at = partial(declared.at, "spec", "configURL")
            yield from _endpoint(spec.config_url, at, "configURL", query_allowed=True)
        for section, part, example in (
            ("source", spec.source, QUERY_PATH),
            ("scoring", spec.scoring, SCORING_PATH),
        ):
            host, path = f"{section}.host", f"{section}.path"
            if part.host:
                yield from _endpoint(part.host, partial(scorer.at, host), host, query_allowed=False)
            yield from _path(part.path, partial(scorer.at, path), path, example)
    for variant in context.source_variants:
        host, path = variant.value.host, variant.value.path
        if host:
            at = partial(variant.source.at, *variant.path, "host")
            yield from _endpoint(host, at, dotted((*variant.path[1:], "host")), query_allowed=False)
        at = partial(variant.source.at, *variant.path, "path")
        yield from _path(path, at, dotted((*variant.path[1:], "path")), QUERY_PATH)
    for url, title, position in token_servers(context):
        yield from _endpoint(url, position, title, query_allowed=True)


@rule()
def repositories_hold_no_credentials(context: Context) -> Iterator[Diagnostic]:
    """Git URLs must not hold credentials. Argo CD keeps them in Secrets."""
    repository, hint = (
        context.declared.repository,
        "configure the repository's credentials in Argo CD",
    )
    if repository is not None and holds_credentials(repository.value.spec.git.url):
        yield _credentials("spec.git.url", repository.at("spec", "git", "url"), hint)
    for source in sources(context.declared):
        if holds_credentials(source.text("repoURL")):
            yield _credentials("repoURL", source.at("repoURL"), hint)


@rule()
def repositories_can_be_fetched(context: Context) -> Iterator[Diagnostic]:
    """Argo CD reports Applications with another URL as invalid. A chart's registry needs no scheme."""
    for source in sources(context.declared):
        url, is_chart = source.text("repoURL"), bool(source.text("chart"))
        if not url or url.startswith("{{"):
            continue  # it is missing, or a parameter says it
        clonable, branch = browsed_branch(url) if not is_chart and "{{" not in url else ("", "")
        if clonable:
            message = f"{url} is a page to look at, and nothing that Argo CD could fetch"
            hint = f"write repoURL: {clonable}, and targetRevision: {branch}"
            revision = "revision" if source.place[-1] == "git" else "targetRevision"
            edits = (
                Edit((*source.place, "repoURL"), value=clonable),
                Edit((*source.place, revision), value=branch),
            )
            exact = () if "/" in branch else edits  # else a part of it may be a folder
            yield codes.REPOSITORY_URL.at(source.at("repoURL"), message, hint, edits=exact)
        elif fault := _fault(ACTION.sub("x", url), is_chart=is_chart):
            yield codes.REPOSITORY_URL.at(
                source.at("repoURL"), f"{url}: {fault.message}", fault.hint
            )


def _fault(url: str, *, is_chart: bool) -> Mistake | None:
    """What is wrong with the URL of a source, in which something stands for each action."""
    scheme, separator, rest = url.partition("://")
    fault = fault_of_form(url)
    if is_chart and (not separator or scheme in {"http", "https", "oci"}):
        return fault
    if fault is not None or (scheme in {"git", "oci"} and rest):
        return fault
    known = ("https", "http", "ssh", "oci")
    close = did_you_mean(scheme, known) if separator and scheme not in known else ""
    if close:
        return Mistake("Argo CD cannot clone this URL", f"{close.removesuffix('?')}://{rest}?")
    return git_fault(url)


@rule(needs=("FleetRepository",))
def metrics_stay_inside(context: Context) -> Iterator[Diagnostic]:
    """A scoring API gets all series that the query finds. One outside of the clusters should be meant."""
    spec = context.settings
    named = [*spec.allowed_hosts, *spec.allowed_token_hosts]
    for scorer in context.scorers.values():
        host = host_of(scorer.scoring_origin)
        if scorer.source_type == "None" or not host or is_in_cluster(host) or is_local(host):
            continue
        if any(matches(host, pattern) for pattern in named):
            continue
        message = f"everything that the query finds is sent to {host}, outside of the clusters"
        hint = f"if that is meant, add {host} to spec.allowedHosts in gitops-dsf.yaml"
        yield codes.METRICS_OUTSIDE.at(scorer.at("scoring.host"), message, hint)


@rule()
def hosts_are_not_local(context: Context) -> Iterator[Diagnostic]:
    """To a scorer, localhost is its own pod. A source whose metrics are pushed has no host of its own."""
    for scorer in context.each_variant:
        hosts = [("scoring.host", scorer.spec.scoring.host, "scoring API")]
        if not scorer.is_pushed:
            hosts.append(("source.host", scorer.spec.source.host, "metric source"))
        for field, host, what in hosts:
            parts = _split(host)
            if parts is not None and parts.hostname and is_local(parts.hostname):
                message = (
                    f"{parts.hostname} is the pod that runs the scorer, and no {what} is in it"
                )
                hint = "write the name of a Service, such as http://prometheus.monitoring.svc:9090"
                yield codes.LOCAL_HOST.at(scorer.at(field), message, hint)
    for url, _, position in token_servers(context):
        if is_local(host_of(url)):
            message = (
                f"{host_of(url)} is the pod that runs the scorer, and no token server is in it"
            )
            hint = (
                "write the name of a Service or of a host, such as https://login.example.com/token"
            )
            yield codes.LOCAL_HOST.at(position(), message, hint)


_PAGES_OF_AN_API: Final = frozenset({"config", "docs", "healthz", "openapi.json", "redoc"})
"""Paths of a scoring API that answer GET: those of its contract, and of FastAPI's documentation."""
_STORE: Final = "write the URL of the metric store, such as http://prometheus.monitoring.svc:9090"


@rule()
def hosts_are_apis(context: Context) -> Iterator[Diagnostic]:
    """People copy the URL of a page from their browser, or write a base path where the path of an API is."""
    for scorer in context.each_variant:
        source, host = scorer.spec.source, scorer.spec.scoring.host
        if scorer.source_type == "Prometheus" and not scorer.is_pushed:
            yield from _query_path(scorer) if source.path else _store_page(scorer)
        if (
            not scorer.spec.scoring.path
            and path_of(host).rstrip("/").rpartition("/")[2] in _PAGES_OF_AN_API
        ):
            message = f"{host} is a page of the scoring API that answers GET, and scores are asked for by POST"
            hint = f"write host: {origin(host)}, and path if the API scores elsewhere than at {SCORING_PATH}"
            yield codes.NO_API.at(scorer.at("scoring.host"), message, hint)


def _store_page(scorer: EffectiveScorer) -> Iterator[Diagnostic]:
    """Another rule reports a page whose URL has a query or a fragment, as a mistake of the URL."""
    url = scorer.spec.source.host
    parts = _split(url)
    if parts is None or parts.query or parts.fragment or not is_store_page(url):
        return
    base = store_of_page(url)
    is_exact = base and not scorer.is_locked("source.host")
    message = f"{url} is a page for people, and no query API is below it"
    yield codes.NO_API.at(
        scorer.at("source.host"),
        message,
        f"write host: {base}" if base else _STORE,
        edits=(Edit(scorer.place("source.host")[1], value=base),) if is_exact else (),
    )


def _query_path(scorer: EffectiveScorer) -> Iterator[Diagnostic]:
    """A written path is taken as it is, so that an adapter, such as one for another language, can have any.
    Another rule reports what is no path.
    """
    path = rooted(scorer.spec.source.path)
    if is_query_api(path) or scorer.spec.source.dialect == "Other" or not _is_path(path):
        return
    base = store_of_page(path) if is_store_page(path) else path.rstrip("/")
    right = base + query_api_below(base, of_instant=scorer.spec.scored_by_query)
    message = f"{path} ends neither in /query nor in /query_range, and the agent asks it as it is"
    locked = scorer.is_locked("source.path")
    hint = (
        f"let /config of the scoring API say source.path: {right}"
        if locked
        else f"write path: {right}"
    )
    yield codes.NO_API.at(scorer.at("source.path"), message, hint)


def _endpoint(
    url: str, position: Callable[[], Position], name: str, *, query_allowed: bool
) -> Iterator[Diagnostic]:
    """Checks one URL. To compute its position is slow, because that parses the document again."""
    parts = _split(url)
    if (
        parts is None
        or parts.scheme not in {"http", "https"}
        or not parts.hostname
        or _BLANK & set(url)
    ):
        message = f"{name}: {url or 'an empty text'} is not an http or https URL"
        hint = "write scheme, host and port, such as http://scorer.scoring.svc:8000"
        yield codes.BAD_URL.at(position(), message, hint)
        return
    if not _HOST.fullmatch(parts.hostname):
        message = f"{name}: {url} names no host: {parts.hostname} is not one"
        hint = "write the name or address as it is, such as scorer.scoring.svc or 10.0.0.7"
        yield codes.BAD_URL.at(position(), message, hint)
        return
    secret = any(names_a_secret(key) and value for key, value in parse_qsl(parts.query))
    if parts.username is not None or secret:
        hint = "put a token into a Secret on the spoke and name it with auth.tokenSecretRef"
        yield _credentials(name, position(), hint)
    if not query_allowed and (parts.query or parts.fragment):
        message = f"{name}: a host URL has no query or fragment"
        hint = "write scheme, host, port and at most a path"
        if is_store_page(url):
            message = f"{message}, and {url} is a page for people"
            hint = f"write host: {base}" if (base := store_of_page(url)) else _STORE
        yield codes.BAD_URL.at(position(), message, hint)


def _is_path(path: str) -> bool:
    return not ("?" in path or "#" in path or _BLANK & set(path))


def _path(
    path: str, position: Callable[[], Position], name: str, example: str
) -> Iterator[Diagnostic]:
    if not _is_path(path):
        message = f"{name}: {path} is not a path"
        yield codes.BAD_URL.at(
            position(), message, f"write it without query and fragment, such as {example}"
        )


def _credentials(name: str, position: Position, hint: str) -> Diagnostic:
    message = f"{name} contains credentials; everybody who can read the repository can use them"
    return codes.URL_CREDENTIALS.at(position, message, hint)


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts

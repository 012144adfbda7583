"""Checks over HTTP whether a scoring API follows the wire contract.

It reads /config, /healthz and /metrics, and sends scoring requests.

Not guaranteed: that the scores are sensible. Only their form and their range are known to the
contract.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, get_type_hints
from urllib.parse import urlsplit

import msgspec
from msgspec import structs

from dsf_scorer.conformance import exchange, scoring
from dsf_scorer.conformance.exchange import (
    ERROR,
    OK,
    WARNING,
    Client,
    Finding,
    Report,
    Target,
    byte_order_mark,
    trouble,
)
from dsf_scorer.conformance.scoring import Sample, nodes
from dsf_scorer.definition import DEFAULT_PATH, check_definition
from dsf_scorer.errors import DefinitionError, UsageError
from dsf_wire import query
from dsf_wire.jsontext import without_mark
from dsf_wire.scorename import sanitise
from dsf_wire.scoring import ConfigScoring, ScorerConfig, without_nulls

SOURCE_TYPES: Final = ("Prometheus", "None")


class JudgedMistake(NamedTuple):
    """A mistake in a PromQL expression."""

    offset: int
    """Characters before it in the expression."""
    message: str
    may_be_new: bool
    """Whether a newer Prometheus may know the expression, such as a function."""


JudgeQuery = Callable[[str], list[JudgedMistake]]
"""Finds the mistakes in a PromQL expression."""


def healthz(client: Client, target: Target) -> Finding:
    """Checks /healthz. The reconciler treats a scorer as healthy if it answers 200."""
    url = f"{target.origin}/healthz"
    reply = client.send("GET", url, headers={})
    if (wrong := trouble("healthz", reply)) is not None:
        return wrong
    if reply.status != 200:
        hint = "answer 200 without a token while the scoring API can score"
        return Finding("healthz", ERROR, f"{url} answers {reply.status}", hint)
    return Finding("healthz", OK, f"answers 200 in {reply.seconds * 1000:.0f} ms")


class CheckedConfigPage(NamedTuple):
    """The content of /config, and the findings about it."""

    config: ScorerConfig | None
    """None if there is no page, or if it cannot be read."""
    findings: list[Finding]


def config_page(
    client: Client, target: Target, *, required: bool, judge_query: JudgeQuery
) -> CheckedConfigPage:
    """Checks /config. It may be missing if not ``required``."""
    reply = client.send("GET", target.config_url, headers={})
    if (wrong := trouble("config", reply)) is not None:
        return CheckedConfigPage(None, [wrong])
    if reply.status == 404 and not required:
        absent = Finding("config", OK, "there is none; configSyncMode None needs none")
        return CheckedConfigPage(None, [absent])
    if reply.status != 200:
        hint = "the page is public; without it use configSyncMode None"
        message = f"{target.config_url} answers {reply.status}{reply.excerpt}"
        return CheckedConfigPage(None, [Finding("config", ERROR, message, hint)])
    try:
        plain = without_nulls(msgspec.json.decode(without_mark(reply.body)))
        page = msgspec.convert(plain, ScorerConfig)
    except msgspec.ValidationError as problem:
        hint = (
            "the schema is {name, description, source{type, host, path, params{query, range,"
            " step}}, scoring{host, path, params{name, interval}}}"
        )
        return CheckedConfigPage(None, [Finding("config.schema", ERROR, str(problem), hint)])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        unreadable = Finding("config", ERROR, f"the page is not JSON: {problem}")
        return CheckedConfigPage(None, [unreadable])
    findings = [Finding("config", OK, f"answers 200 in {reply.seconds * 1000:.0f} ms")]
    if reply.has_mark:
        findings.append(byte_order_mark("config.byte-order-mark"))
    if unknown := ", ".join(_unknown(plain, ScorerConfig, "$")):
        message = f"{unknown} mean nothing to gitops-dsf"
        findings.append(Finding("config.unknown-fields", WARNING, message, "check the spelling"))
    findings += _judged(page, target)
    findings += _query(page.source.params.query, judge_query)
    return CheckedConfigPage(page, findings)


def needs_metrics(config: ScorerConfig) -> bool:
    """Whether the agent queries a metric source first."""
    source = config.source
    return source.type == "Prometheus" or (not source.type and bool(source.params.query.strip()))


def _unknown(plain: dict[str, Any], shape: type[msgspec.Struct], path: str) -> Iterator[str]:
    hints = get_type_hints(shape)
    for key, value in plain.items():
        if key not in hints:
            yield f"{path}.{key}"
        # Only sections are objects: the page was converted to the shape before.
        elif isinstance(value, dict):
            yield from _unknown(value, hints[key], f"{path}.{key}")


def _judged(page: ScorerConfig, target: Target) -> Iterator[Finding]:
    """The mistakes that the SDK itself reports, and those that only an agent would notice."""
    source = page.source
    scoring = page.scoring
    name = scoring.params.name
    check = "config.source-type"
    kind = source.type
    asks = bool(source.params.query.strip())
    if kind not in {"", *SOURCE_TYPES}:
        hint = f"write one of {', '.join(SOURCE_TYPES)}"
        yield Finding(check, ERROR, f"source.type is {kind!r}", hint)
    if kind == "Prometheus" and not asks:
        message = "source.type is Prometheus and source.params.query is empty"
        yield Finding(check, ERROR, message, "write a query, or type None")
    if kind == "None" and asks:
        message = "source.type is None, so source.params.query is never asked"
        yield Finding(check, WARNING, message, "remove one of them")
    # A Placement names the object, and people look for the name that they wrote.
    if name.strip() and sanitise(name) != name:
        message = f"the AddOnPlacementScore of {name!r} is called {sanitise(name)!r}"
        yield Finding("config.score-name", WARNING, message, "use a-z, 0-9, . and -")
    if other_origin(scoring, target):
        message = f"scoring.host {scoring.host} is another host than that of /config"
        hint = "leave scoring.host out, or name it in the DynamicScorer and in allowedHosts"
        yield Finding("config.scoring-host", WARNING, message, hint)
    for section, part in (("source", source), ("scoring", scoring)):
        try:
            exchange.split_http(part.host or target.origin)
        except UsageError as problem:
            yield Finding(f"config.{section}-host", ERROR, str(problem))
        if part.path and not part.path.startswith("/"):
            message = f"{section}.path {part.path!r} does not start with /"
            yield Finding(f"config.{section}-path", WARNING, message, f"write /{part.path}")
    # Without a range only the present value is asked for, and the step has no meaning.
    step = source.params.step or int(asks and not source.params.range)
    path = f"/{scoring.path.lstrip('/')}" if scoring.path else DEFAULT_PATH
    source = structs.replace(source, params=structs.replace(source.params, step=step))
    try:
        check_definition(
            structs.replace(page, source=source, scoring=structs.replace(scoring, path=path))
        )
    except DefinitionError as problem:
        hint = "source.params has range and step, scoring.params name and interval"
        yield Finding("config.values", ERROR, str(problem), hint)
    else:
        yield Finding("config.values", OK, f"{name} every {scoring.params.interval} s")


def _query(text: str, judge_query: JudgeQuery) -> Iterator[Finding]:
    parts = query.split(text)
    is_right = True
    for part in parts:
        for mistake in judge_query(part.text):
            is_right = False
            severity = ERROR
            if mistake.may_be_new:
                severity = WARNING
            # People count characters from 1.
            character = part.offset + 1 + mistake.offset
            yield Finding(
                "config.query",
                severity,
                f"PromQL, character {character} of the query: {mistake.message}",
            )
    if is_right and len(parts) == 1:
        yield Finding("config.query", OK, "1 PromQL expression parses")
    elif is_right and parts:
        yield Finding("config.query", OK, f"{len(parts)} PromQL expressions parse")


def other_origin(scoring: ConfigScoring, target: Target) -> bool:
    """Whether scoring.host is a URL that is not on the origin of /config."""
    if not scoring.host:
        return False
    try:
        return exchange.origin_of(exchange.split_http(scoring.host)) != target.origin
    except UsageError:
        return False


def check(
    target: Target,
    *,
    client: Client,
    judge_query: JudgeQuery,
    token: str = "",
    sample: Sample | None = None,
    needs_config: bool = True,
    large: int = 2000,
) -> Report:
    """Runs all checks.

    The token is only sent to the target's host, or that of the given scoring URL.
    """
    findings = [healthz(client, target)]
    page = config_page(client, target, required=needs_config, judge_query=judge_query)
    config = page.config
    findings += page.findings
    # A page must not decide where the token of the person who checks it goes.
    url = target.scoring_url or _scoring_url(target, config)
    if config is not None and not target.scoring_url and other_origin(config.scoring, target):
        host = config.scoring.host
        hint = f"pass --scoring-url to check {host}, if it may have the token"
        findings.append(
            Finding(
                "scoring.url", WARNING, f"checked at {url}, although /config names {host}", hint
            )
        )
    if token:
        findings.append(_transport(url))
    reads_metrics = config is None or needs_metrics(config)
    endpoint = scoring.ScoringEndpoint(client=client, url=url, token=token)
    if sample is None:
        sample = Sample()
        if reads_metrics:
            sample = Sample(data=nodes(3))
    findings += scoring.check(endpoint, sample, large=large, reads_metrics=reads_metrics)
    errors = sum(finding.severity is ERROR for finding in findings)
    warnings = sum(finding.severity is WARNING for finding in findings)
    return Report(url=target.config_url, errors=errors, warnings=warnings, findings=tuple(findings))


def _scoring_url(target: Target, config: ScorerConfig | None) -> str:
    """The scoring URL on the origin of /config, whatever host that names."""
    if config is None:
        return target.origin + DEFAULT_PATH
    path = config.scoring.path
    if not path.startswith("/"):
        path = config.scoring.host.partition("://")[2].partition("/")[2].rstrip("/")
    if not path:
        return target.origin + DEFAULT_PATH
    return f"{target.origin}/{path.lstrip('/')}"


def _transport(url: str) -> Finding:
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname in exchange.LOOPBACK:
        return Finding("scoring.transport", OK, "the token does not travel in the clear")
    hint = "use https outside a cluster's own network"
    return Finding("scoring.transport", WARNING, "the token travels over http in the clear", hint)

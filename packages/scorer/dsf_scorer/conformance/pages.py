"""Checks the public pages: /healthz, and /config, which is taken over with configSyncMode Full."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, get_type_hints

import msgspec

from dsf_scorer.conformance.exchange import (
    SLOW_SECONDS,
    Client,
    Target,
    TargetError,
    origin_of,
    split_http,
    trouble,
)
from dsf_scorer.conformance.report import ERROR, OK, WARNING, Finding
from dsf_scorer.definition import MAX_SECONDS
from dsf_wire import query
from dsf_wire.constants import MAX_POINTS
from dsf_wire.scorename import sanitise
from dsf_wire.scoring import ConfigScoring, ConfigSource, ScorerConfig

MAX_CONFIG_BYTES: Final = 1024 * 1024
SOURCE_TYPES: Final = ("Prometheus", "None")


@dataclass(frozen=True, kw_only=True)
class QueryMistake:
    """A mistake in a PromQL expression, with its 0-based character offset. ``doubtful``: the expression may
    be newer than the parser.
    """

    message: str
    offset: int
    doubtful: bool = False


JudgeQuery = Callable[[str], list[QueryMistake]]


def healthz(client: Client, target: Target) -> Finding:
    """Checks /healthz. The reconciler treats a scorer as healthy if it answers 200."""
    url = f"{target.origin}/healthz"
    reply = client.send("GET", url, headers={})
    if (wrong := trouble("healthz", reply)) is not None:
        return wrong
    if reply.status != 200:
        hint = "answer 200 without a token while the scoring API can score"
        return Finding("healthz", ERROR, f"{url} answers {reply.status}", hint)
    if reply.seconds > SLOW_SECONDS:
        hint = "health checks give up early; answer at once"
        return Finding("healthz", WARNING, f"answers 200 after {reply.seconds:.1f} s", hint)
    return Finding("healthz", OK, f"answers 200 in {reply.seconds * 1000:.0f} ms")


def config_page(
    client: Client, target: Target, *, required: bool, judge_query: JudgeQuery
) -> tuple[ScorerConfig | None, list[Finding]]:
    """Checks /config; returns the typed page, None if it has another shape, and the findings. A missing page
    is an error only if it is required (configSyncMode Full).
    """
    reply = client.send("GET", target.config_url, headers={})
    if (wrong := trouble("config", reply)) is not None:
        return None, [wrong]
    if reply.status == 404 and not required:
        return None, [Finding("config", OK, "there is none; configSyncMode None needs none")]
    if reply.status != 200:
        public = "the page is public; without it use configSyncMode None"
        hint = public if reply.status in {401, 403, 404} else ""
        message = f"{target.config_url} answers {reply.status}{reply.excerpt}"
        return None, [Finding("config", ERROR, message, hint)]
    if len(reply.body) > MAX_CONFIG_BYTES:
        hint = f"at most {MAX_CONFIG_BYTES} are read"
        return None, [Finding("config", ERROR, f"the page has {len(reply.body)} bytes", hint)]
    try:
        plain = msgspec.json.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        return None, [Finding("config", ERROR, f"the page is not JSON: {problem}")]
    findings = [Finding("config", OK, f"answers 200 in {reply.seconds * 1000:.0f} ms")]
    if reply.media != "application/json":
        message = f"the content type is {reply.media or 'absent'}"
        findings.append(Finding("config.content-type", WARNING, message, "send application/json"))
    if not isinstance(plain, dict):
        message = f"the page is a JSON {type(plain).__name__}, not an object"
        return None, [*findings, Finding("config.schema", ERROR, message)]
    try:
        page = msgspec.convert(plain, ScorerConfig)
    except msgspec.ValidationError as problem:
        hint = (
            "the schema is {name, description, source{type, host, path, params{query, range, step}}, "
            "scoring{host, path, params{name, interval}}}"
        )
        return None, [*findings, Finding("config.schema", ERROR, str(problem), hint)]
    message = "has the fields and types of a scorer's configuration"
    findings.append(Finding("config.schema", OK, message))
    if unknown := ", ".join(_unknown(plain, ScorerConfig, "$")):
        message = f"{unknown} mean nothing to gitops-dsf"
        findings.append(Finding("config.unknown-fields", WARNING, message, "check the spelling"))
    return page, [*findings, *_source(page.source, judge_query), *_scoring(page.scoring, target)]


def needs_metrics(config: ScorerConfig) -> bool:
    """Whether the agent queries a metric source first."""
    source = config.source
    return source.type == "Prometheus" or (not source.type and bool(source.params.query.strip()))


def _unknown(plain: dict[str, Any], shape: type[msgspec.Struct], path: str) -> Iterator[str]:
    hints = get_type_hints(shape)
    for key, value in plain.items():
        if key not in hints:
            yield f"{path}.{key}"
        elif isinstance(value, dict):
            yield from _unknown(value, hints[key], f"{path}.{key}")


def _source(source: ConfigSource, judge_query: JudgeQuery) -> Iterator[Finding]:
    check, text, kind = "config.source-type", source.params.query.strip(), source.type
    if kind and kind not in SOURCE_TYPES:
        spelling = [name for name in SOURCE_TYPES if name.lower() == kind.lower()]
        hint = f"write {spelling[0]}" if spelling else f"write one of {', '.join(SOURCE_TYPES)}"
        yield Finding(check, ERROR, f"source.type is {kind!r}", hint)
    elif kind == "Prometheus" and not text:
        message = "source.type is Prometheus and source.params.query is empty"
        yield Finding(check, ERROR, message, "write a query, or type None")
    elif kind == "None" and text:
        message = "source.type is None, so source.params.query is never asked"
        yield Finding(check, WARNING, message, "remove one of them")
    else:
        yield Finding(check, OK, f"source.type {kind or ('Prometheus' if text else 'None')}")
    yield from _address("source", source.host, source.path)
    if text:
        yield from _query(source.params.query, judge_query)
        yield _window(source.params.range, source.params.step)


def _query(text: str, judge_query: JudgeQuery) -> Iterator[Finding]:
    parts = query.split(text)
    mistakes = [(part.offset + found.offset + 1, found) for part in parts for found in judge_query(part.text)]
    for place, mistake in mistakes:
        message = f"PromQL, character {place} of the query: {mistake.message}"
        yield Finding("config.query", WARNING if mistake.doubtful else ERROR, message)
    if not mistakes:
        parsed = "expressions parse" if len(parts) != 1 else "expression parses"
        yield Finding("config.query", OK, f"{len(parts)} PromQL {parsed}")


def _window(span: int, step: int) -> Finding:
    severity, hint = ERROR, ""
    if not 0 <= span <= MAX_SECONDS:
        message, hint = f"source.params.range is {span}", f"write seconds, 0 to {MAX_SECONDS}"
    elif not 0 <= step <= MAX_SECONDS or (span and not step):
        message = f"source.params.step is {step}"
        hint = "write the seconds between two points of a series"
    elif step and span // step >= MAX_POINTS:
        message = f"range {span} / step {step} asks for {span // step + 1} points per series"
        hint = f"Prometheus refuses more than {MAX_POINTS}; use a larger step"
    elif step > span > 0:
        severity, message = WARNING, f"step {step} is longer than range {span}: one point per series"
        hint = "use a shorter step"
    else:
        severity, message = OK, f"range {span} s, step {step} s"
    return Finding("config.window", severity, message, hint)


def _scoring(scoring: ConfigScoring, target: Target) -> Iterator[Finding]:
    check, name, interval = "config.score-name", scoring.params.name, scoring.params.interval
    if not name.strip():
        hint = "Placements refer to scores by this name"
        yield Finding(check, ERROR, "scoring.params.name is empty", hint)
    elif sanitise(name) != name:
        message = f"the AddOnPlacementScore of {name!r} is called {sanitise(name)!r}"
        yield Finding(check, WARNING, message, "use a-z, 0-9, . and -")
    else:
        yield Finding(check, OK, f"score name {name}")
    if not 1 <= interval <= MAX_SECONDS:
        message, hint = f"scoring.params.interval is {interval}", f"write seconds, 1 to {MAX_SECONDS}"
        yield Finding("config.interval", ERROR, message, hint)
    else:
        yield Finding("config.interval", OK, f"every {interval} s")
    yield from _address("scoring", scoring.host, scoring.path)
    if other_origin(scoring, target) is not None:
        message = f"scoring.host {scoring.host} is another host than that of /config"
        hint = "leave scoring.host out, or name it in the DynamicScorer and in allowedHosts"
        yield Finding("config.scoring-host", WARNING, message, hint)


def _address(field: str, host: str, path: str) -> Iterator[Finding]:
    if host:
        try:
            split_http(host)
        except TargetError as problem:
            yield Finding(f"config.{field}-host", ERROR, str(problem))
    if path and not path.startswith("/"):
        message = f"{field}.path {path!r} does not start with /"
        yield Finding(f"config.{field}-path", WARNING, message, f"write /{path}")


def other_origin(scoring: ConfigScoring, target: Target) -> str | None:
    """The origin of scoring.host, if it is a URL and not that of /config."""
    try:
        origin = origin_of(split_http(scoring.host)) if scoring.host else target.origin
    except TargetError:
        return None
    return origin if origin != target.origin else None

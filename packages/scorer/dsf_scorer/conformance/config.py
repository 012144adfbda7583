"""Checks the content of /config, which a DynamicScorer with configSyncMode Full would take over."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, get_type_hints

import msgspec

from dsf_scorer.conformance.finding import Finding, error, ok, warning
from dsf_scorer.conformance.target import Target, TargetError, origin_of, split_http
from dsf_scorer.definition import MAX_SECONDS
from dsf_wire import query
from dsf_wire.constants import MAX_POINTS
from dsf_wire.scorename import sanitise
from dsf_wire.scoring import ConfigScoring, ConfigSource, ScorerConfig

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


def needs_metrics(config: ScorerConfig) -> bool:
    """Whether the agent queries a metric source first."""
    return config.source.type == "Prometheus" or (
        not config.source.type and bool(config.source.params.query.strip())
    )


def judge(
    plain: Any,  # noqa: ANN401 - JSON
    *,
    target: Target,
    judge_query: JudgeQuery,
) -> tuple[ScorerConfig | None, list[Finding]]:
    """Returns the typed page, None if it has another shape, and the findings."""
    if not isinstance(plain, dict):
        return None, [error("config.schema", f"the page is a JSON {type(plain).__name__}, not an object")]
    try:
        config = msgspec.convert(plain, ScorerConfig)
    except msgspec.ValidationError as problem:
        hint = (
            "the schema is {name, description, source{type, host, path, params{query, range, step}}, "
            "scoring{host, path, params{name, interval}}}"
        )
        return None, [error("config.schema", str(problem), hint)]
    findings = [ok("config.schema", "has the fields and types of a scorer's configuration")]
    unknown = list(_unknown(plain, ScorerConfig, "$"))
    if unknown:
        findings.append(
            warning(
                "config.unknown-fields",
                f"{', '.join(unknown)} mean nothing to gitops-dsf",
                "check the spelling",
            )
        )
    findings += _source(config.source, judge_query)
    findings += _scoring(config.scoring, target)
    return config, findings


def _unknown(plain: dict[str, Any], shape: type[msgspec.Struct], path: str) -> Iterator[str]:
    hints = get_type_hints(shape)
    for key, value in plain.items():
        if key not in hints:
            yield f"{path}.{key}"
        elif (
            isinstance(value, dict)
            and isinstance(hints[key], type)
            and issubclass(hints[key], msgspec.Struct)
        ):
            yield from _unknown(value, hints[key], f"{path}.{key}")


def _source(source: ConfigSource, judge_query: JudgeQuery) -> Iterator[Finding]:
    text = source.params.query
    if source.type and source.type not in SOURCE_TYPES:
        spelling = next((name for name in SOURCE_TYPES if name.lower() == source.type.lower()), None)
        hint = f"write {spelling}" if spelling else f"write one of {', '.join(SOURCE_TYPES)}"
        yield error("config.source-type", f"source.type is {source.type!r}", hint)
    elif source.type == "Prometheus" and not text.strip():
        yield error(
            "config.source-type",
            "source.type is Prometheus and source.params.query is empty",
            "write a query, or type None",
        )
    elif source.type == "None" and text.strip():
        yield warning(
            "config.source-type",
            "source.type is None, so source.params.query is never asked",
            "remove one of them",
        )
    else:
        yield ok(
            "config.source-type", f"source.type {source.type or ('Prometheus' if text.strip() else 'None')!s}"
        )
    yield from _address("source", source.host, source.path)
    if text.strip():
        yield from _query(text, judge_query)
        yield from _window(source.params.range, source.params.step)


def _query(text: str, judge_query: JudgeQuery) -> Iterator[Finding]:
    parts = query.split(text)
    wrong = False
    for part in parts:
        for mistake in judge_query(part.text):
            wrong = True
            make = warning if mistake.doubtful else error
            yield make(
                "config.query",
                f"PromQL, character {part.offset + mistake.offset + 1} of the query: {mistake.message}",
            )
    if not wrong:
        yield ok(
            "config.query", f"{len(parts)} PromQL expression{'s parse' if len(parts) != 1 else ' parses'}"
        )


def _window(span: int, step: int) -> Iterator[Finding]:
    if not 0 <= span <= MAX_SECONDS:
        yield error("config.window", f"source.params.range is {span}", f"write seconds, 0 to {MAX_SECONDS}")
    elif not 0 <= step <= MAX_SECONDS or (span and not step):
        yield error(
            "config.window",
            f"source.params.step is {step}",
            "write the seconds between two points of a series",
        )
    elif step and span // step >= MAX_POINTS:
        message = f"range {span} / step {step} asks for {span // step + 1} points per series"
        yield error("config.window", message, f"Prometheus refuses more than {MAX_POINTS}; use a larger step")
    elif step > span > 0:
        yield warning(
            "config.window",
            f"step {step} is longer than range {span}: one point per series",
            "use a shorter step",
        )
    else:
        yield ok("config.window", f"range {span} s, step {step} s")


def _scoring(scoring: ConfigScoring, target: Target) -> Iterator[Finding]:
    name = scoring.params.name
    if not name.strip():
        yield error(
            "config.score-name", "scoring.params.name is empty", "Placements refer to scores by this name"
        )
    elif sanitise(name) != name:
        yield warning(
            "config.score-name",
            f"the AddOnPlacementScore of {name!r} is called {sanitise(name)!r}",
            "use a-z, 0-9, . and -",
        )
    else:
        yield ok("config.score-name", f"score name {name}")
    interval = scoring.params.interval
    if not 1 <= interval <= MAX_SECONDS:
        yield error(
            "config.interval", f"scoring.params.interval is {interval}", f"write seconds, 1 to {MAX_SECONDS}"
        )
    else:
        yield ok("config.interval", f"every {interval} s")
    yield from _address("scoring", scoring.host, scoring.path)
    if scoring.host and _origin(scoring.host) not in {None, target.origin}:
        hint = "leave scoring.host out, or name it in the DynamicScorer and in allowedHosts"
        yield warning(
            "config.scoring-host", f"scoring.host {scoring.host} is another host than that of /config", hint
        )


def _address(field: str, host: str, path: str) -> Iterator[Finding]:
    if host:
        try:
            split_http(host)
        except TargetError as problem:
            yield error(f"config.{field}-host", str(problem))
    if path and not path.startswith("/"):
        yield warning(
            f"config.{field}-path", f"{field}.path {path!r} does not start with /", f"write /{path}"
        )


def _origin(url: str) -> str | None:
    try:
        return origin_of(split_http(url))
    except TargetError:
        return None

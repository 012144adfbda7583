"""Drift: whether a /config page still says what was accepted, or changed, added or dropped a field."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from dsf_wire.scoring import ScorerConfig, without_nulls
from dsf_wire.text import printable
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.urls.defaults import SCORING_PATH
from gitops_dsf.urls.parts import origin
from gitops_dsf.urls.query_apis import QUERY_PATH

Config = Mapping[str, Any]
"""The content of a page: nested mappings, as `spec.config` of a lock."""

SCHEMA: Final = (
    "{name, description, source{type, host, path, params{query, range, step}}, scoring{host, path,"
    " params{name, interval}}}"
)


class ConfigChange(Struct, frozen=True):
    """A changed field: its dotted path, and its values; None where it is absent."""

    field: str
    before: Any
    after: Any


class ConfigError(ValueError):
    """The data is not a scorer's configuration."""


def read_config(data: object, *, where: str) -> Config:
    """The fields that are set in data, which `where` names.

    Raises ConfigError, also for unprintable text.
    """
    try:
        found = filled(msgspec.to_builtins(msgspec.convert(without_nulls(data), ScorerConfig)))
    except msgspec.ValidationError as error:
        msg = f"{where} has another shape: {printable(error, most=120)}; the schema is {SCHEMA}"
        raise ConfigError(msg) from error
    for path, value in flat(found).items():
        if isinstance(value, str) and not all(
            each.isprintable() or each in "\n\t" for each in value
        ):
            raise ConfigError(
                f"{where}: {path} holds control characters: {printable(value, most=120)}"
            )
    if not found:
        raise ConfigError(
            f"{where} has no field of a scorer's configuration; the schema is {SCHEMA}"
        )
    return found


def drift(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[ConfigChange, ...]:
    """Compares two flat configurations. Returns the fields that differ, in order of path."""
    return tuple(
        ConfigChange(field, before.get(field), after.get(field))
        for field in sorted(before.keys() | after.keys())
        if before.get(field) != after.get(field)
    )


def accepted_by(scorer: DynamicScorer, page: Mapping[str, Any]) -> dict[str, Any]:
    """The flat fields of a rendered scorer that its page sets now, or set when it was last in sync.

    The hub has no lock. A spec field that the page leaves empty may come from the author. It has
    drifted only if status.lastSyncedConfig shows that the page had set this value, and another one
    than the default. With source.ref, the page does not decide where the source is.
    """
    source, scoring = scorer.spec.source, scorer.spec.scoring
    spec = {
        f"source.params.{name}": getattr(source.params, name) for name in ("query", "range", "step")
    }
    if not source.ref:
        spec |= {"source.type": source.type, "source.host": source.host, "source.path": source.path}
    spec |= {"scoring.host": scoring.host, "scoring.path": scoring.path}
    spec |= {
        f"scoring.params.{name}": getattr(scoring.params, name) for name in ("name", "interval")
    }
    last = flat(scorer.last_synced)
    defaults = {
        "source.type": "Prometheus",
        "source.path": QUERY_PATH,
        "scoring.path": SCORING_PATH,
        "scoring.host": origin(scorer.spec.config_url),
    }
    return {
        field: value
        for field, value in spec.items()
        if field in page or (value and last.get(field) == value and defaults.get(field) != value)
    }


def last_synced(page: Mapping[str, Any], accepted: Mapping[str, Any]) -> dict[str, Any]:
    """What to write to status.lastSyncedConfig: the page, and accepted fields that it dropped."""
    found: dict[str, Any] = {}
    for field, value in sorted({**accepted, **page}.items()):
        *parents, leaf = field.split(".")
        inner = found
        for parent in parents:
            inner = inner.setdefault(parent, {})
        inner[leaf] = value
    return filled(found)


def filled(value: Mapping[str, Any]) -> dict[str, Any]:
    """Removes empty strings, zeros, nulls and empty mappings; sorts keys."""
    items = (
        (key, filled(each) if isinstance(each, Mapping) else each)
        for key, each in sorted(value.items())
    )
    return {key: item for key, item in items if item}


def flat(config: Config, prefix: str = "") -> dict[str, Any]:
    """Flattens nested mappings to values by dotted path."""
    result: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            result |= flat(value, f"{prefix}{key}.")
        else:
            result[f"{prefix}{key}"] = value
    return result

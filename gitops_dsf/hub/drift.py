"""Drift: differences between a /config page and the content that was accepted.

A page has drifted when it changed, added or dropped a field. Configurations are compared as flat
mappings from dotted paths to values.
"""

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

    Raises ConfigError, also for unprintable text: the values are shown in terminals and comments.
    """
    try:
        config = filled(msgspec.to_builtins(msgspec.convert(without_nulls(data), ScorerConfig)))
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"{where} has another shape: {printable(error, max_characters=120)};"
            f" the schema is {SCHEMA}"
        ) from error
    for path, value in flat(config).items():
        if isinstance(value, str) and not _is_printable(value):
            raise ConfigError(
                f"{where}: {path} holds control characters: {printable(value, max_characters=120)}"
            )
    if not config:
        raise ConfigError(
            f"{where} has no field of a scorer's configuration; the schema is {SCHEMA}"
        )
    return config


def drift(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[ConfigChange, ...]:
    """Compares two flat configurations. Returns the fields that differ, in order of path."""
    changes: list[ConfigChange] = []
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path):
            changes.append(ConfigChange(path, before.get(path), after.get(path)))
    return tuple(changes)


def accepted_by(scorer: DynamicScorer, page: Mapping[str, Any]) -> dict[str, Any]:
    """The flat fields of a rendered scorer that its page sets now, or set when it was last in sync.

    The hub has no lock. A spec field that the page leaves empty may come from the author. It has
    drifted only if status.lastSyncedConfig shows that the page had set this value, and another one
    than the default. With source.ref, the page does not decide where the source is.
    """
    last = flat(scorer.last_synced)
    defaults = {
        "source.type": "Prometheus",
        "source.path": QUERY_PATH,
        "scoring.path": SCORING_PATH,
        "scoring.host": origin(scorer.spec.config_url),
    }
    accepted: dict[str, Any] = {}
    for path, value in _flat_spec(scorer).items():
        # A default that the spec has may have come from anybody.
        was_set = value and last.get(path) == value and defaults.get(path) != value
        if path in page or was_set:
            accepted[path] = value
    return accepted


def last_synced(page: Mapping[str, Any], accepted: Mapping[str, Any]) -> dict[str, Any]:
    """The content of status.lastSyncedConfig: the page, and accepted fields that it dropped."""
    # A field that was dropped stays. Without it, the status would not show that the page had set
    # its value.
    nested: dict[str, Any] = {}
    # The present content of the page takes precedence over the earlier one.
    for path, value in sorted({**accepted, **page}.items()):
        *parents, leaf = path.split(".")
        inner = nested
        for parent in parents:
            inner = inner.setdefault(parent, {})
        inner[leaf] = value
    return filled(nested)


def filled(value: Mapping[str, Any]) -> dict[str, Any]:
    """Removes empty strings, zeros, nulls and empty mappings; sorts keys."""
    kept: dict[str, Any] = {}
    for key in sorted(value):
        content = value[key]
        if isinstance(content, Mapping):
            content = filled(content)
        if content:
            kept[key] = content
    return kept


def flat(config: Config, prefix: str = "") -> dict[str, Any]:
    """Flattens nested mappings to values by dotted path."""
    values: dict[str, Any] = {}
    # No field of the schema has a dot in its name, so paths are unique.
    for key, value in config.items():
        if isinstance(value, Mapping):
            values |= flat(value, f"{prefix}{key}.")
        else:
            values[f"{prefix}{key}"] = value
    return values


def _flat_spec(scorer: DynamicScorer) -> dict[str, Any]:
    """The fields of a scorer's spec that a page can set."""
    source = scorer.spec.source
    scoring = scorer.spec.scoring
    spec: dict[str, Any] = {
        "source.params.query": source.params.query,
        "source.params.range": source.params.range,
        "source.params.step": source.params.step,
    }
    # With source.ref a MetricSource says where the source is.
    if not source.ref:
        spec["source.type"] = source.type
        spec["source.host"] = source.host
        spec["source.path"] = source.path
    spec["scoring.host"] = scoring.host
    spec["scoring.path"] = scoring.path
    spec["scoring.params.name"] = scoring.params.name
    spec["scoring.params.interval"] = scoring.params.interval
    return spec


def _is_printable(text: str) -> bool:
    return all(character.isprintable() or character in "\n\t" for character in text)

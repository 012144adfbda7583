"""Drift: whether a /config page still says what was accepted. A field that is changed, added or dropped has
drifted.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from gitops_dsf.hub.scorers import DynamicScorer, Endpoint
from gitops_dsf.hub.urls import QUERY_PATH, SCORING_PATH, origin

Config = Mapping[str, Any]
"""What a page says: nested mappings, as `spec.config` of a lock."""


class FieldDrift(Struct, frozen=True):
    """One field, by its dotted path; None where it is absent."""

    field: str
    before: Any
    after: Any


def drift(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[FieldDrift, ...]:
    """Fields that differ between what was accepted and what is said now, both flat; by field."""
    return tuple(
        FieldDrift(field, before.get(field), after.get(field))
        for field in sorted(before.keys() | after.keys())
        if before.get(field) != after.get(field)
    )


def accepted_by(scorer: DynamicScorer, page: Mapping[str, Any]) -> dict[str, Any]:
    """The flat fields of a rendered scorer that its page decides: those it fills now, and those it filled
    when last in sync.

    The hub has no lock. A spec field that the page leaves empty may be the author's own, which is no drift;
    only when the page filled it with this value before (status.lastSyncedConfig) was it the page's word, and
    is dropped now. A dropped value that is the default anyway changes nothing, and is no drift either.
    """
    spec = {
        f"source.{key}": value
        for key, value in _fields(scorer.spec.source, "type", "query", "range", "step").items()
    }
    spec |= {
        f"scoring.{key}": value for key, value in _fields(scorer.spec.scoring, "name", "interval").items()
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
    """What status.lastSyncedConfig keeps of a page: all of it, and the accepted fields that it dropped, so
    that the drop stays visible.
    """
    found: dict[str, Any] = {}
    for field, value in sorted({**accepted, **page}.items()):
        *parents, leaf = field.split(".")
        inner = found
        for parent in parents:
            inner = inner.setdefault(parent, {})
        inner[leaf] = value
    return filled(found)


def filled(value: Mapping[str, Any]) -> dict[str, Any]:
    """Without empty texts, zeros, nulls and mappings that hold nothing else; keys sorted."""
    result: dict[str, Any] = {}
    for key in sorted(value):
        item = filled(value[key]) if isinstance(value[key], Mapping) else value[key]
        if item:
            result[key] = item
    return result


def flat(config: Config, prefix: str = "") -> dict[str, Any]:
    """Dotted field paths to values."""
    result: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            result |= flat(value, f"{prefix}{key}.")
        else:
            result[f"{prefix}{key}"] = value
    return result


def _fields(end: Endpoint, *special: str) -> dict[str, Any]:
    found: dict[str, Any] = {"host": end.host, "path": end.path}
    if "type" in special:
        found["type"] = end.type
    return found | {f"params.{name}": getattr(end.params, name) for name in special if name != "type"}

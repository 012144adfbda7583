"""A DynamicScorer as the hub has it, reduced to what a view needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from pydantic import ValidationError

from dsf_wire.constants import default_ttl_seconds
from dsf_wire.scorename import sanitise
from gitops_dsf.repository.model.base import LabelSelector

PUBLISHED = "AddOnPlacementScore"


class _Condition(msgspec.Struct, frozen=True):
    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""


class _Params(msgspec.Struct, frozen=True):
    name: str = ""
    interval: int = 0


class _Secret(msgspec.Struct, frozen=True):
    name: str = ""
    key: str = ""


class _Auth(msgspec.Struct, frozen=True, rename="camel"):
    token_secret_ref: _Secret | None = None


class _Endpoint(msgspec.Struct, frozen=True):
    params: _Params = _Params()
    auth: _Auth | None = None


_NAMES = {"mode": "configSyncMode", "destination": "scoreDestination", "ttl": "scoreTTLSeconds", "selector": "clusterSelector"}


class _Spec(msgspec.Struct, frozen=True, rename=_NAMES):
    mode: str = "None"
    suspend: bool = False
    destination: str = PUBLISHED
    ttl: int = 0
    selector: dict[str, Any] | None = None
    source: _Endpoint = _Endpoint()
    scoring: _Endpoint = _Endpoint()


class _Synced(msgspec.Struct, frozen=True):
    scoring: _Endpoint = _Endpoint()


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    health_status: str = ""
    conditions: list[_Condition] = []
    last_synced_config: _Synced | None = None


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    namespace: str = ""


class _Scorer(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec
    status: _Status = _Status()


@dataclass(frozen=True, kw_only=True)
class Scorer:
    """A DynamicScorer: effective values, as rendered."""

    name: str
    score_name: str
    resource: str
    """Name of its AddOnPlacementScores (the wire contract's rule)."""
    mode: str
    interval: int
    """Seconds."""
    ttl: int
    """Seconds that a published score stays valid."""
    suspend: bool
    published: bool
    """Whether its scores go to AddOnPlacementScores at all."""
    selector: LabelSelector | None
    secrets: tuple[str, ...]
    """Names of the token Secrets that its agents need."""
    health: str
    """Active, Inactive or Unknown; empty where nobody looked."""
    conditions: Mapping[str, tuple[str, str, str]]
    """Type to status, reason and message."""


def read_scorer(item: Mapping[str, Any]) -> Scorer:
    """A DynamicScorer from its object; the hub's CRD has checked it. Raises msgspec.ValidationError for what no CRD lets pass."""
    found = msgspec.convert(item, _Scorer)
    spec, status = found.spec, found.status
    synced = status.last_synced_config.scoring.params if status.last_synced_config else _Params()
    score_name = spec.scoring.params.name or synced.name or found.metadata.name
    interval = spec.scoring.params.interval or synced.interval
    secrets = {
        end.auth.token_secret_ref.name
        for end in (spec.source, spec.scoring)
        if end.auth is not None and end.auth.token_secret_ref is not None
    }
    return Scorer(
        name=found.metadata.name,
        score_name=score_name,
        resource=sanitise(score_name),
        mode=spec.mode,
        interval=interval,
        ttl=spec.ttl or default_ttl_seconds(interval),
        suspend=spec.suspend,
        published=spec.destination == PUBLISHED,
        selector=_selector(spec.selector),
        secrets=tuple(sorted(secrets)),
        health=status.health_status,
        conditions={item.type: (item.status, item.reason, item.message) for item in status.conditions},
    )


def _selector(value: dict[str, Any] | None) -> LabelSelector | None:
    if value is None:
        return None
    try:
        return LabelSelector.model_validate(value)
    except ValidationError:
        # Only a CRD of another version lets such a selector pass; it then says nothing that we could judge by.
        return None

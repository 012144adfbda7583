"""A view as JSON data, spelled like Kubernetes objects (docs/operate/status.md)."""

from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from gitops_dsf.hub.freshness import State
from gitops_dsf.hub.timestamp import timestamp
from gitops_dsf.views.status.model import ApplicationView, Cell, Overview, PlacementView, ScorerView
from gitops_dsf.views.status.queue import FailoverView, QueueView


class UnreadPart(Struct):
    what: str
    why: str
    message: str


class StatusHub(Struct):
    origin: str
    now: str
    clusters: int
    scores: int
    unread: tuple[UnreadPart, ...]


class Condition(Struct):
    type: str
    status: str
    reason: str
    message: str


class ScorerSummary(Struct, rename="camel"):
    clusters: dict[str, int]
    min: int | None
    median: int | None
    max: int | None
    at_default: int | None
    oldest_seconds: int | None


class ScorerStatus(Struct, rename="camel"):
    name: str
    score_name: str
    resource: str
    health: str | None
    conditions: tuple[Condition, ...]
    suspended_by: str | None
    interval_seconds: int
    ttl_seconds: int
    summary: ScorerSummary | None
    scores: tuple[Cell, ...]


class StatusOutput(Struct):
    """The output of `status`."""

    hub: StatusHub
    scorers: tuple[ScorerStatus, ...]
    placements: tuple[PlacementView, ...]
    applications: tuple[ApplicationView, ...]
    queue: QueueView | UnsetType = UNSET
    refuges: tuple[FailoverView, ...] | UnsetType = UNSET


def document(view: Overview) -> StatusOutput:
    unread = tuple(UnreadPart(item.what, str(item.why), str(item)) for item in view.unread)
    return StatusOutput(
        hub=StatusHub(view.origin, timestamp(view.now), len(view.clusters), view.score_count, unread),
        scorers=tuple(map(_scorer, view.scorers)),
        placements=view.placements,
        applications=view.applications,
        queue=view.queue or UNSET,
        refuges=view.refuges or UNSET,
    )


def _scorer(view: ScorerView) -> Any:  # noqa: ANN401 - a ScorerStatus that is JSON already
    """A scorer can have thousands of scores, so it is encoded at once."""
    scorer, summary = view.scorer, None
    if view.known:
        counts = {str(state): view.counts[state] for state in State} | {"unexpected": len(view.unexpected)}
        oldest = None if view.oldest is None else round(view.oldest)
        summary = ScorerSummary(counts, *view.values, view.at_default, oldest)
    status = ScorerStatus(
        name=scorer.name,
        score_name=scorer.score_name,
        resource=scorer.resource,
        health=scorer.health or None,
        conditions=tuple(Condition(it.type, it.status, it.reason, it.message) for it in scorer.conditions),
        suspended_by=view.suspended or None,
        interval_seconds=scorer.interval,
        ttl_seconds=scorer.ttl,
        summary=summary,
        scores=tuple(view.cells()),
    )
    return msgspec.Raw(msgspec.json.encode(status))

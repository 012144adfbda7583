"""Computes effective scorers from overlays."""

from dataclasses import replace

from dsf_wire.constants import default_ttl_seconds
from dsf_wire.dimension import DEFAULT_FORMAT
from dsf_wire.scorename import sanitise
from gitops_dsf.resolve.overlay import Overlay
from gitops_dsf.resolve.types import EffectiveScorer, PendingScorer


def effective(overlay: Overlay) -> EffectiveScorer:
    """Applies every default to a complete scorer."""
    declared = overlay.scorer.value
    spec = declared.spec
    kind = overlay.kind_of_source
    interval = int(overlay.interval.value)
    return EffectiveScorer(
        name=overlay.scorer.name,
        score_name=str(overlay.score_name.value),
        resource_name=sanitise(str(overlay.score_name.value)),
        declared=declared,
        position=overlay.scorer.position,
        source_type=kind,
        source_host=overlay.source_origin if kind == "Prometheus" else str(overlay.source_host.value),
        source_path=overlay.effective_source_path
        if overlay.source_endpoint
        else str(overlay.source_path.value),
        source_endpoint=overlay.source_endpoint,
        query=str(overlay.query.value),
        dialect=spec.source.dialect,
        range=int(overlay.range.value),
        step=int(overlay.step.value),
        source_auth=spec.source.auth,
        scoring_type=spec.scoring.type or "API",
        scoring_host=overlay.scoring_origin,
        scoring_path="" if overlay.scored_by_query else overlay.effective_scoring_path,
        scoring_endpoint=overlay.scoring_endpoint,
        interval=interval,
        scoring_auth=spec.scoring.auth,
        location=spec.location,
        destination=spec.score_destination,
        dimension_format=spec.score_dimension_format or DEFAULT_FORMAT,
        arguments=spec.scoring.arguments,
        score_range=spec.score_range,
        aggregation=spec.score_aggregation,
        ttl_seconds=spec.score_ttl_seconds or default_ttl_seconds(interval),
        publish=spec.publish,
        default_score=spec.default_score,
        suspend=spec.suspend,
        selector=spec.cluster_selector,
    )


def left_open(overlay: Overlay) -> EffectiveScorer:
    """A Full scorer whose /config the upstream controller will read. Fields that the spec leaves open stay
    empty.

    Without a query, the type of the source stays open, too. The controller takes it from /config, and skips a
    scorer that has none.
    """
    known = str(overlay.source_type.value or ("Prometheus" if overlay.query.value else ""))
    return replace(
        effective(overlay),
        source_type=known,
        source_path=overlay.effective_source_path if known else overlay.source_path.value,
    )


def pending(overlay: Overlay) -> PendingScorer:
    """A Full scorer that has no lock yet."""
    missing = tuple(".".join(str(part) for part in setting.path) for setting in overlay.missing())
    return PendingScorer(name=overlay.scorer.name, missing=missing, position=overlay.scorer.position)


def awaits_lock(overlay: Overlay) -> bool:
    """Whether a first lock could still complete the scorer."""
    return overlay.scorer.value.spec.reads_config and overlay.lock is None and bool(overlay.missing())

"""Computes effective scorers from overlays."""

from collections.abc import Sequence
from dataclasses import replace

from dsf_wire.constants import default_ttl_seconds
from dsf_wire.dimension import DEFAULT_FORMAT
from dsf_wire.query import split
from dsf_wire.scorename import sanitise
from gitops_dsf.resolve.metric_sources import ResolvedSource
from gitops_dsf.resolve.overlay import Overlay, overlay_with
from gitops_dsf.resolve.promql import check, history_seconds
from gitops_dsf.resolve.types import EffectiveScorer, PendingScorer


def effective(overlay: Overlay, source: ResolvedSource | None = None) -> EffectiveScorer:
    """Applies every default to a complete scorer. `source` is the MetricSource that it names, if any."""
    found = _effective(overlay)
    if source is None:
        return found
    each = (overlay_with(overlay, variant) for variant in source.variants)
    return replace(
        found, source_type="", metric_source=source.item.value, variants=tuple(map(_effective, each))
    )


def _effective(overlay: Overlay) -> EffectiveScorer:
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
        source_is_pushed=overlay.is_pushed,
        history_seconds=_history(overlay) if overlay.is_pushed else 0,
        source_host=overlay.source_origin if kind == "Prometheus" else str(overlay.source_host.value),
        source_path=overlay.effective_source_path
        if overlay.source_endpoint
        else str(overlay.source_path.value),
        source_endpoint=overlay.source_endpoint,
        query=str(overlay.query.value),
        range=int(overlay.range.value),
        step=int(overlay.step.value),
        source_auth=overlay.source_auth,
        variant=overlay.variant.value if overlay.variant is not None else None,
        scoring_type=spec.scoring.type or "API",
        scoring_host=overlay.scoring_origin,
        scoring_path="" if overlay.scored_by_query else overlay.effective_scoring_path,
        scoring_endpoint=overlay.scoring_endpoint,
        interval=interval,
        dimension_format=spec.score_dimension_format or DEFAULT_FORMAT,
        ttl_seconds=spec.score_ttl_seconds or default_ttl_seconds(interval),
    )


def _history(overlay: Overlay) -> int:
    trees = [checked.tree for part in split(str(overlay.query.value)) for checked in (check(part.text),)]
    return int(overlay.range.value) + max(map(history_seconds, filter(None, trees)), default=0)


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


def pending(overlays: Sequence[Overlay]) -> PendingScorer:
    """A Full scorer that has no lock yet, with each variant of its source."""
    missing = dict.fromkeys(
        ".".join(str(part) for part in setting.path) for overlay in overlays for setting in overlay.missing()
    )
    scorer = overlays[0].scorer
    return PendingScorer(name=scorer.name, missing=tuple(missing), position=scorer.position)


def awaits_lock(overlay: Overlay) -> bool:
    """Whether a first lock could still complete the scorer."""
    return overlay.scorer.value.spec.reads_config and overlay.lock is None and bool(overlay.missing())

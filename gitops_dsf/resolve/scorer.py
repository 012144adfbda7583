"""A scorer as it runs: one spec, into which the lock and a variant of the MetricSource are merged.

With configSyncMode Full, a non-empty field of the lock overrides the spec. With None, only the spec
counts. With source.ref, type, host, path and auth of the source come from a variant of the
MetricSource alone. Fields are named by their path below spec, such as `source.params.query`.

Not guaranteed: that the spec is complete or valid. `missing` names the fields that it lacks, and
rules judge the others.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Final, TypeVar

import msgspec

from dsf_wire.constants import default_ttl_seconds
from dsf_wire.dimension import DEFAULT_FORMAT, fixed_name
from dsf_wire.query import QueryPart, split
from dsf_wire.scorename import sanitise
from dsf_wire.summary import ScoreRange
from gitops_dsf.diagnostics import Position
from gitops_dsf.hub.intervals import ScoreSpan
from gitops_dsf.hub.scorers import PUSHED
from gitops_dsf.repository.load import Document, FieldPath
from gitops_dsf.repository.model.base import Authored
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.lock import ScorerLock
from gitops_dsf.repository.model.metric_source import MetricSourceVariant
from gitops_dsf.repository.model.scorer import Auth, DynamicScorer, DynamicScorerSpec
from gitops_dsf.resolve.metric_sources import Variant
from gitops_dsf.resolve.promql.check import MAX_QUERY, ParsedQuery, check
from gitops_dsf.resolve.promql.history import history_seconds
from gitops_dsf.urls.defaults import RECEIVER_ORIGIN, SCORING_PATH
from gitops_dsf.urls.parts import has_path, join, origin, path_of, rooted
from gitops_dsf.urls.query_apis import instant, is_query_api, query_api_below

AuthoredT = TypeVar("AuthoredT", bound=Authored)
_OF_VARIANT: Final = frozenset({"source.type", "source.host", "source.path"})
"""Fields that only the variant of a MetricSource says, with source.ref."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EffectiveScorer:
    """A scorer with its lock applied (docs/scores/locks.md#effective-values).

    It may be incomplete. Endpoints are URLs, durations seconds.
    """

    declared: Item[DynamicScorer]
    """The document that people wrote."""
    spec: DynamicScorerSpec
    """The spec that counts. Defaults that depend on other fields are not filled in."""
    lock: Item[ScorerLock] | None
    """The lock that is applied; None if the scorer reads no /config."""
    chosen: Variant | None = None
    """The variant of its MetricSource that is applied, if one is chosen."""

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def position(self) -> Position:
        return self.declared.position

    @property
    def variant(self) -> MetricSourceVariant | None:
        return None if self.chosen is None else self.chosen.value

    def place(self, field: str) -> tuple[Document, FieldPath]:
        """The document and path that a field comes from."""
        path: FieldPath = tuple(field.split("."))
        if self.spec.source.ref is not None and field in _OF_VARIANT:
            if self.chosen is None:
                return self.declared.document, ("spec", "source", "ref")
            return self.chosen.source.document, (*self.chosen.path, path[-1])
        # A lock has no effect on a field that it leaves empty.
        if self.lock is not None and attrgetter(field)(self.lock.value.spec.config):
            return self.lock.document, ("spec", "config", *path)
        return self.declared.document, ("spec", *path)

    def is_locked(self, field: str) -> bool:
        """Whether the value of a field comes from the lock."""
        return self.lock is not None and self.place(field)[0] is self.lock.document

    def at(self, field: str) -> Position:
        """The position of a field; if it is missing, where it should be."""
        document, path = self.place(field)
        return document.at(path)

    def in_query(self, offset: int) -> Position:
        """The position of a character of the query."""
        document, path = self.place("source.params.query")
        return document.inside(path, offset)

    def has(self, field: str) -> bool:
        """Whether a field is written where its value comes from."""
        document, path = self.place(field)
        return document.has(path)

    @property
    def score_name(self) -> str:
        return self.spec.scoring.params.name

    @cached_property
    def resource_name(self) -> str:
        """Sanitised score name, which is the name of the AddOnPlacementScore."""
        # By upstream's rule for names (addon-contrib f5844b9), so that Placements find the same
        # score after a migration.
        return sanitise(self.score_name)

    @property
    def dimension_format(self) -> str:
        return self.spec.score_dimension_format or DEFAULT_FORMAT

    @property
    def only_item(self) -> str | None:
        """The only item name that the format can yield; None if labels or clusters decide."""
        return fixed_name(self.dimension_format, score_name=self.score_name)

    @property
    def ttl_seconds(self) -> int:
        return self.spec.score_ttl_seconds or default_ttl_seconds(self.spec.scoring.params.interval)

    @cached_property
    def score_range(self) -> ScoreRange | None:
        """The map from raw to published scores, as the agent reads it."""
        mapping = self.spec.score_range
        return None if mapping is None else msgspec.convert(mapping.model_dump(), ScoreRange)

    @property
    def published(self) -> ScoreSpan:
        """The scores that it can publish."""
        mapping = self.spec.score_range
        # Without a map the agent clamps raw scores to what the CRD of AddOnPlacementScore allows.
        ends = (-100, 100) if mapping is None else (mapping.output_min, mapping.output_max)
        return ScoreSpan(min(ends), max(ends))

    @property
    def width(self) -> int:
        """The points by which the scores of two clusters can differ if both have one."""
        return self.published.width

    @property
    def scoring_type(self) -> str:
        """API, or Query for a scorer without a scoring API, whose scoring endpoint is empty."""
        return self.spec.scoring.type or "API"

    @cached_property
    def scoring_origin(self) -> str:
        """Base URL of the scoring API: the written host, else the origin of configURL.

        Empty for a scorer without an API.
        """
        if self.spec.scored_by_query:
            return ""
        return self.spec.scoring.host or origin(self.spec.config_url)

    @property
    def scoring_path(self) -> str:
        """The path with a leading slash; the default if the host URL has no path."""
        if self.spec.scoring.path:
            return rooted(self.spec.scoring.path)
        return "" if has_path(self.scoring_origin) else SCORING_PATH

    @cached_property
    def scoring_endpoint(self) -> str:
        """URL that scoring requests are posted to; empty if no host is known."""
        return join(self.scoring_origin, self.scoring_path) if self.scoring_origin else ""

    @property
    def is_pushed(self) -> bool:
        """Whether collectors push the metrics to the receiver in the agent's pod."""
        return self.spec.source.type == PUSHED

    @cached_property
    def source_type(self) -> str:
        """The type of source that the agent asks: Prometheus, Kubernetes or None.

        It is the one that is written, else it depends on whether there is a query, or must be one.
        The receiver for OpenTelemetry is a Prometheus.
        """
        source = self.spec.source
        if self.is_pushed:
            return "Prometheus"
        if source.type:
            return source.type
        is_asked = source.params.query or self.spec.scored_by_query or source.ref is not None
        return "Prometheus" if is_asked else "None"

    @cached_property
    def source_origin(self) -> str:
        """Base URL of the metric source: the written host, else the origin of configURL.

        Upstream does so, too. Empty for a Full scorer without a lock, because its /config, which is
        still unknown, usually names the host.
        """
        if self.is_pushed:
            return RECEIVER_ORIGIN
        host = self.spec.source.host
        is_unseen = self.spec.reads_config and self.lock is None
        if host or is_unseen or self.spec.scored_by_query or self.spec.source.ref is not None:
            return host
        return origin(self.spec.config_url)

    @cached_property
    def source_path(self) -> str:
        """The path below the host URL at which the source is asked.

        The written one with a leading slash, else that of the query API; empty if the host URL
        has it already. For a scorer by query it is that of the instant query. As it is written if
        the source is not a Prometheus.
        """
        if self.source_type != "Prometheus":
            return self.spec.source.path
        own_path = rooted(self.spec.source.path)
        by_query = self.spec.scored_by_query
        if own_path:
            return instant(own_path) if by_query else own_path
        base = path_of(self.source_origin)
        return "" if is_query_api(base) else query_api_below(base, of_instant=by_query)

    @cached_property
    def source_endpoint(self) -> str:
        """URL of the metric source's query API; empty for sources without one."""
        if self.source_type != "Prometheus" or not self.source_origin:
            return ""
        url = join(self.source_origin, self.source_path)
        return instant(url) if self.spec.scored_by_query else url

    @property
    def source_parameters(self) -> dict[str, str]:
        """URL parameters of every query. Those of the scorer replace those of its MetricSource."""
        own = self.spec.source.parameters or {}
        return own if self.variant is None else {**(self.variant.parameters or {}), **own}

    @property
    def on_partial(self) -> str:
        """Publish or Fail. What the scorer says replaces what its MetricSource says."""
        of_source = None if self.variant is None else self.variant.on_partial
        return self.spec.source.on_partial or of_source or "Publish"

    @property
    def is_instant(self) -> bool:
        """Whether the query is an instant query: by a path that ends in /query, or by the type."""
        path = path_of(self.source_endpoint).rstrip("/")
        return self.spec.scored_by_query or path.endswith("/query")

    @property
    def needs_variant(self) -> bool:
        """Whether the source depends on the cluster, and no variant is chosen yet."""
        return self.spec.source.ref is not None and self.chosen is None

    @property
    def needs_step(self) -> bool:
        """Whether the source is asked for the points of a range.

        Unknown, so false, without a variant.
        """
        return self.source_type == "Prometheus" and not self.is_instant and not self.needs_variant

    @cached_property
    def history_seconds(self) -> int:
        """The time that the receiver must keep metrics: the range, and the time the query adds."""
        added = [0]
        for part in split(self.spec.source.params.query):
            tree = check(part.text).tree
            # Another rule reports an expression that does not parse.
            if tree is not None:
                added.append(history_seconds(tree))
        return self.spec.source.params.range + max(added)

    def parsed_query(self) -> list[tuple[QueryPart, ParsedQuery]]:
        """Each expression of the query; empty if it is not PromQL for a Prometheus.

        The trees are not kept: those of thousands of scorers would take much memory.
        """
        query = self.spec.source.params.query
        if self.source_type != "Prometheus" or self.spec.source.dialect == "Other":
            return []
        # A rule reports it, and to parse it would take seconds.
        if len(query) > MAX_QUERY:
            return []
        return [(part, check(part.text)) for part in split(query)]

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """The fields without which the scorer cannot run, and that neither spec nor lock has."""
        required = ["scoring.params.name", "scoring.params.interval"]
        if not self.scoring_origin and not self.spec.scored_by_query:
            required.append("scoring.host")
        if self.source_type == "Prometheus" and not self.source_origin and not self.needs_variant:
            required.append("source.host")
        if self.source_type != "None":
            required.append("source.params.query")
        # Prometheus refuses a range query without a step.
        if self.source_type != "None" and self.needs_step:
            required.append("source.params.step")
        return tuple(field for field in required if not attrgetter(field)(self.spec))

    @property
    def awaits_lock(self) -> bool:
        """Whether a first lock could still complete the scorer."""
        return self.spec.reads_config and self.lock is None and bool(self.missing)


def effective(declared: Item[DynamicScorer], lock: Item[ScorerLock] | None) -> EffectiveScorer:
    """Applies the lock to a scorer.

    With source.ref it has no source until `with_variant` gives it one.
    """
    spec = declared.value.spec
    # A lock can stay behind when a scorer stops reading /config. A rule reports it.
    if not spec.reads_config:
        lock = None
    if lock is not None:
        config = lock.value.spec.config
        spec = spec.model_copy(
            update={
                "source": _merged(spec.source, config.source),
                "scoring": _merged(spec.scoring, config.scoring),
            }
        )
    # Fields beside ref have no effect, and DSF138 says so. They must not count here either.
    if spec.source.ref is not None:
        spec = _with_source(spec, type=None, host="", path="")
    return EffectiveScorer(declared=declared, spec=spec, lock=lock)


def with_variant(scorer: EffectiveScorer, variant: Variant) -> EffectiveScorer:
    """The scorer as it asks one variant of the MetricSource that source.ref names."""
    source = variant.value
    spec = _with_source(
        scorer.spec, type=source.type, host=source.host, path=source.path, auth=source.auth
    )
    # This makes a new object, so values that the scorer has cached without a source do not stay.
    return replace(scorer, chosen=variant, spec=spec)


def _with_source(spec: DynamicScorerSpec, **update: Auth | str | None) -> DynamicScorerSpec:
    return spec.model_copy(update={"source": spec.source.model_copy(update=update)})


def _merged(spec: AuthoredT, locked: Authored) -> AuthoredT:
    """The fields of the spec, with those that a lock has instead."""
    update = {}
    for name in type(locked).model_fields:
        value = getattr(locked, name)
        own = getattr(spec, name)
        update[name] = _merged(own, value) if isinstance(value, Authored) else value or own
    return spec.model_copy(update=update)

"""Chooses the value of each field of a scorer: from the lock, the spec or the default, and where it was
written.

With configSyncMode Full, a non-empty field of the lock overrides the spec. With None, only the spec counts.
With source.ref, type, host, path and auth of the source come from a variant of the MetricSource alone.
"""

from dataclasses import dataclass
from typing import Any

from gitops_dsf.diagnostics import Position
from gitops_dsf.hub.scorers import PUSHED
from gitops_dsf.hub.urls import (
    INSTANT_PATH,
    QUERY_PATH,
    RECEIVER_ORIGIN,
    SCORING_PATH,
    has_path,
    instant,
    join,
    origin,
    path_of,
    rooted,
)
from gitops_dsf.repository.load import Document, Path
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.lock import ScorerLock
from gitops_dsf.repository.model.scorer import Auth, DynamicScorer
from gitops_dsf.resolve.metric_sources import Variant


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Setting:
    """One effective field: its value, and the document and path that it comes from."""

    value: Any
    document: Document
    path: Path
    locked: bool
    """Whether the value comes from the lock."""

    @property
    def position(self) -> Position:
        """The position of the value; if it is missing, where it should be."""
        return self.document.at(self.path)

    def inside(self, offset: int) -> Position:
        """The position of a character of a string value."""
        return self.document.inside(self.path, offset)


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Overlay:
    """A scorer with its lock applied. Nothing is checked yet."""

    scorer: Item[DynamicScorer]
    lock: Item[ScorerLock] | None
    """The lock that is applied; None if the scorer reads no /config."""
    variant: Variant | None
    """The variant of the MetricSource that is applied; None without source.ref, and where no variant is
    chosen yet.
    """
    source_type: Setting
    source_host: Setting
    source_path: Setting
    query: Setting
    range: Setting
    step: Setting
    scoring_host: Setting
    """The written host only. If it is missing, `scoring_origin` is used."""
    scoring_path: Setting
    score_name: Setting
    interval: Setting

    @property
    def scored_by_query(self) -> bool:
        """Whether the query is the scorer: there is no scoring API, and no range."""
        return self.scorer.value.spec.scored_by_query

    @property
    def scoring_origin(self) -> str:
        """Base URL of the scoring API: the written host, else the origin of configURL. Empty without
        a scoring API.
        """
        if self.scored_by_query:
            return ""
        return str(self.scoring_host.value) or origin(self.scorer.value.spec.config_url)

    @property
    def source_origin(self) -> str:
        """Base URL of the metric source: the written host, else the origin of configURL, as upstream does.

        Empty for a Full scorer without a lock, because its /config, which is still unknown, usually names the
        host.
        """
        if self.is_pushed:
            return RECEIVER_ORIGIN
        spec = self.scorer.value.spec
        if self.scored_by_query or spec.source.ref is not None:
            return str(self.source_host.value)
        unseen = spec.reads_config and self.lock is None
        return str(self.source_host.value) or ("" if unseen else origin(spec.config_url))

    @property
    def kind_of_source(self) -> str:
        """What the agent asks, Prometheus, Kubernetes or None: as written, else by whether there is a query,
        or must be one. The receiver for OpenTelemetry is a Prometheus.
        """
        if self.is_pushed:
            return "Prometheus"
        asked = self.query.value or self.scored_by_query or self.scorer.value.spec.source.ref is not None
        return str(self.source_type.value or ("Prometheus" if asked else "None"))

    @property
    def source_auth(self) -> Auth | None:
        """How the agent proves who it is to the metric source."""
        return self.scorer.value.spec.source.auth if self.variant is None else self.variant.value.auth

    @property
    def is_pushed(self) -> bool:
        """Whether collectors push the metrics to the receiver in the agent's pod."""
        return bool(self.source_type.value == PUSHED)

    @property
    def source_endpoint(self) -> str:
        """URL of the metric source's query API; empty for sources without one."""
        if self.kind_of_source != "Prometheus" or not self.source_origin:
            return ""
        url = join(self.source_origin, self.effective_source_path)
        return instant(url) if self.scored_by_query else url

    @property
    def effective_source_path(self) -> str:
        """The path with a leading slash; the default if the host URL has no path. For a scorer by query the
        path of the instant query.
        """
        written = rooted(str(self.source_path.value))
        if self.scored_by_query:
            return instant(written) or ("" if has_path(self.source_origin) else INSTANT_PATH)
        return written or ("" if has_path(self.source_origin) else QUERY_PATH)

    @property
    def is_instant(self) -> bool:
        """Whether the query is an instant query. A path that ends in /query takes neither range nor step, and
        a scorer by query has none.
        """
        return self.scored_by_query or path_of(self.source_endpoint).rstrip("/").endswith("/query")

    @property
    def needs_step(self) -> bool:
        """Whether the source is asked for the points of a range. A variant decides that, if one is needed."""
        if self.needs_variant:
            return False
        return self.kind_of_source == "Prometheus" and not self.is_instant

    @property
    def scoring_endpoint(self) -> str:
        """URL that scoring requests are posted to; empty if no host is known."""
        return join(self.scoring_origin, self.effective_scoring_path) if self.scoring_origin else ""

    @property
    def effective_scoring_path(self) -> str:
        """The path with a leading slash; the default if the host URL has no path."""
        return rooted(str(self.scoring_path.value)) or ("" if has_path(self.scoring_origin) else SCORING_PATH)

    @property
    def needs_variant(self) -> bool:
        """Whether the source depends on the cluster, and no variant is chosen yet."""
        return self.scorer.value.spec.source.ref is not None and self.variant is None

    def missing(self) -> tuple[Setting, ...]:
        """Required fields that are missing."""
        required = [self.score_name, self.interval]
        if not self.scoring_origin and not self.scored_by_query:
            required.append(self.scoring_host)
        if self.kind_of_source == "Prometheus" and not self.source_origin and not self.needs_variant:
            required.append(self.source_host)
        if self.kind_of_source != "None":
            required += [self.query, self.step] if self.needs_step else [self.query]
        return tuple(setting for setting in required if not setting.value)


def overlay_with(found: Overlay, variant: Variant) -> Overlay:
    """The same scorer with a variant of its MetricSource."""
    return overlay(found.scorer, found.lock, variant)


def overlay(
    scorer: Item[DynamicScorer], lock: Item[ScorerLock] | None, variant: Variant | None = None
) -> Overlay:
    """Applies a lock, and a variant of the MetricSource that the scorer names, to a scorer."""
    spec = scorer.value.spec
    counts = lock if spec.reads_config else None
    config = counts.value.spec.config if counts is not None else None

    def setting(declared: object, *path: str, locked: object) -> Setting:
        if counts is not None and locked:
            return Setting(
                value=locked, document=counts.document, path=("spec", "config", *path), locked=True
            )
        return Setting(value=declared, document=scorer.document, path=("spec", *path), locked=False)

    def place(field: str, declared: str | None, *, locked: object) -> Setting:
        """A field that says where the source is."""
        if spec.source.ref is None:
            return setting(declared, "source", field, locked=locked)
        if variant is None:
            return Setting(value="", document=scorer.document, path=("spec", "source", "ref"), locked=False)
        return Setting(
            value=getattr(variant.value, field),
            document=variant.source.document,
            path=(*variant.path, field),
            locked=False,
        )

    source, scoring = spec.source, spec.scoring
    said = config.source if config is not None else None
    told = config.scoring if config is not None else None
    return Overlay(
        scorer=scorer,
        lock=counts,
        variant=variant,
        source_type=place("type", source.type, locked=said and said.type),
        source_host=place("host", source.host, locked=said and said.host),
        source_path=place("path", source.path, locked=said and said.path),
        query=setting(source.params.query, "source", "params", "query", locked=said and said.params.query),
        range=setting(source.params.range, "source", "params", "range", locked=said and said.params.range),
        step=setting(source.params.step, "source", "params", "step", locked=said and said.params.step),
        scoring_host=setting(scoring.host, "scoring", "host", locked=told and told.host),
        scoring_path=setting(scoring.path, "scoring", "path", locked=told and told.path),
        score_name=setting(
            scoring.params.name, "scoring", "params", "name", locked=told and told.params.name
        ),
        interval=setting(
            scoring.params.interval, "scoring", "params", "interval", locked=told and told.params.interval
        ),
    )

"""What counts for a scorer, field by field: the lock's word, the author's, or the default; and where it was
written.

configSyncMode Full: a non-empty field of the lock wins over the spec's. None: only the spec counts.
"""

from dataclasses import dataclass
from typing import Any

from gitops_dsf.diagnostics import Position
from gitops_dsf.hub.urls import QUERY_PATH, SCORING_PATH, has_path, join, origin, path_of, rooted
from gitops_dsf.repository.load import Document, Path
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.lock import ScorerLock
from gitops_dsf.repository.model.scorer import DynamicScorer


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Setting:
    """One effective field: its value, and the document and path that it comes from."""

    value: Any
    document: Document
    path: Path
    locked: bool
    """Whether the lock decided."""

    @property
    def position(self) -> Position:
        """Where the value is written; where it should be, when it is not."""
        return self.document.at(self.path)

    def inside(self, offset: int) -> Position:
        """Where a character of a string value is written."""
        return self.document.inside(self.path, offset)


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Overlay:
    """A scorer with its lock applied, before anything is checked."""

    scorer: Item[DynamicScorer]
    lock: Item[ScorerLock] | None
    """The lock that counts: none with configSyncMode None."""
    source_type: Setting
    source_host: Setting
    source_path: Setting
    query: Setting
    range: Setting
    step: Setting
    scoring_host: Setting
    """Written host only; `scoring_origin` is what counts without one."""
    scoring_path: Setting
    score_name: Setting
    interval: Setting

    @property
    def scoring_origin(self) -> str:
        """Base URL of the scoring API: the host that is named, else the origin of configURL."""
        return str(self.scoring_host.value) or origin(self.scorer.value.spec.config_url)

    @property
    def source_origin(self) -> str:
        """Base URL of the metric source: the host that is named, else the origin of configURL, as upstream
        has it.

        Nothing for a Full scorer without a lock: its /config, which nobody has looked at, usually names the
        host.
        """
        spec = self.scorer.value.spec
        unseen = spec.config_sync_mode == "Full" and self.lock is None
        return str(self.source_host.value) or ("" if unseen else origin(spec.config_url))

    @property
    def kind_of_source(self) -> str:
        """Prometheus or None: as written, else by whether there is a query."""
        return str(self.source_type.value or ("Prometheus" if self.query.value else "None"))

    @property
    def source_endpoint(self) -> str:
        """Whole URL of the metric source's query API; empty without a source."""
        if self.kind_of_source == "None" or not self.source_origin:
            return ""
        return join(self.source_origin, self.effective_source_path)

    @property
    def effective_source_path(self) -> str:
        """The path with its leading slash, or the default where the host URL carries none."""
        return rooted(str(self.source_path.value)) or ("" if has_path(self.source_origin) else QUERY_PATH)

    @property
    def is_instant(self) -> bool:
        """Whether the source is asked for present values: a path that ends in /query has neither range nor
        step.
        """
        return path_of(self.source_endpoint).rstrip("/").endswith("/query")

    @property
    def scoring_endpoint(self) -> str:
        """Whole URL that is posted to; empty when no host is known."""
        return join(self.scoring_origin, self.effective_scoring_path) if self.scoring_origin else ""

    @property
    def effective_scoring_path(self) -> str:
        """The path with its leading slash, or the default where the host URL carries none."""
        return rooted(str(self.scoring_path.value)) or ("" if has_path(self.scoring_origin) else SCORING_PATH)

    def missing(self) -> tuple[Setting, ...]:
        """Fields without which the scorer cannot run."""
        wanted = [self.score_name, self.interval]
        if not self.scoring_origin:
            wanted.append(self.scoring_host)
        if self.kind_of_source == "Prometheus":
            if not self.source_origin:
                wanted.append(self.source_host)
            wanted += [self.query] if self.is_instant else [self.query, self.step]
        return tuple(setting for setting in wanted if not setting.value)


def overlay(scorer: Item[DynamicScorer], lock: Item[ScorerLock] | None) -> Overlay:
    """Applies a lock to its scorer."""
    spec = scorer.value.spec
    counts = lock if spec.config_sync_mode == "Full" else None
    config = counts.value.spec.config if counts is not None else None

    def setting(declared: object, *path: str, locked: object) -> Setting:
        if counts is not None and locked:
            return Setting(
                value=locked, document=counts.document, path=("spec", "config", *path), locked=True
            )
        return Setting(value=declared, document=scorer.document, path=("spec", *path), locked=False)

    source, scoring = spec.source, spec.scoring
    said = config.source if config is not None else None
    told = config.scoring if config is not None else None
    return Overlay(
        scorer=scorer,
        lock=counts,
        source_type=setting(source.type, "source", "type", locked=said and said.type),
        source_host=setting(source.host, "source", "host", locked=said and said.host),
        source_path=setting(source.path, "source", "path", locked=said and said.path),
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

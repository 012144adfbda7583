"""Inputs of raw scores, and their differences between two versions of a scorer."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gitops_dsf.resolve.scorer import EffectiveScorer


@dataclass(frozen=True, slots=True)
class _Input:
    """A field by the name that people read, before and after."""

    title: str
    before: Any
    after: Any

    @property
    def is_changed(self) -> bool:
        return bool(self.before != self.after)


def raw_causes(before: EffectiveScorer, after: EffectiveScorer) -> tuple[str, ...]:
    """Changed fields that decide what a result is, so that the next raw score is open.

    The variant of a MetricSource depends on the cluster: `asks_elsewhere` compares those.
    """
    return tuple(field.title for field in _raw_inputs(before, after) if field.is_changed)


def history_causes(before: EffectiveScorer, after: EffectiveScorer) -> tuple[str, ...]:
    """Changed fields that make past raw scores useless. Items can be computed again from them.

    The history has no results where the source had no series, and names a score by its name.
    """
    causes = raw_causes(before, after)
    if before.spec.default_score != after.spec.default_score:
        causes += ("defaultScore",)
    if before.score_name != after.score_name:
        causes += ("score name",)
    return causes


def asks_elsewhere(before: EffectiveScorer, after: EffectiveScorer) -> bool:
    """Whether two versions, each with the variant of one cluster, ask for other metrics."""
    return any(field.is_changed for field in _places(before, after))


def _raw_inputs(before: EffectiveScorer, after: EffectiveScorer) -> Iterator[_Input]:
    """Everything that a raw score and its labels depend on."""
    old = before.spec
    new = after.spec
    if old.source.ref is None and new.source.ref is None:
        yield from _places(before, after)
    yield _Input("runsOn", old.runs_on, new.runs_on)
    # An agent asks for its own cluster, and does not read this label.
    if old.on_hub and new.on_hub:
        yield _Input("cluster label", old.source.cluster_label, new.source.cluster_label)
    yield _Input("query", old.source.params.query, new.source.params.query)
    # An instant query, which a scorer without an API always sends, has neither of the two.
    if not (old.scored_by_query and new.scored_by_query):
        yield _Input("range", old.source.params.range, new.source.params.range)
        yield _Input("step", old.source.params.step, new.source.params.step)
    yield _Input("scoring type", before.scoring_type, after.scoring_type)
    yield _Input("scoring API", before.scoring_endpoint, after.scoring_endpoint)
    yield _Input("arguments", old.scoring.arguments, new.scoring.arguments)


def _places(before: EffectiveScorer, after: EffectiveScorer) -> Iterator[_Input]:
    """The places of the metrics. Credentials are not compared: they give the same answers."""
    yield _Input("source type", before.source_type, after.source_type)
    yield _Input("source", _server(before), _server(after))
    yield _Input("headers", _plain_headers(before), _plain_headers(after))
    yield _Input("parameters", before.source_parameters, after.source_parameters)


def _server(scorer: EffectiveScorer) -> str:
    """The endpoint without what makes no difference to the server."""
    return scorer.source_endpoint.rstrip("/")


def _plain_headers(scorer: EffectiveScorer) -> list[tuple[str, str]]:
    """Headers such as the tenant, which choose what a source answers.

    Values of Secrets are not known. The order of two names means nothing to a server.
    """
    headers = scorer.variant.headers if scorer.variant is not None else []
    return sorted(
        (header.name, header.value or "") for header in headers if header.secret_ref is None
    )

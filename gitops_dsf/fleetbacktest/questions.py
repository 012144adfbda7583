"""Which history a revision of a fleet repository needs: the questions to a metric store.

The raw scores of the past are those of the scorers of that time. So the history of a scorer answers
for a revision only where nothing changed that raw scores depend on.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from dsf_wire import query
from dsf_wire.summary import SCORED_BY_API
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.plan.summaries import cluster_label
from gitops_dsf.resolve.raw_inputs import history_causes
from gitops_dsf.resolve.scorer import EffectiveScorer


@dataclass(frozen=True, kw_only=True)
class HistoryQuestion:
    """A score whose history is needed."""

    score_name: str
    step: int
    """Seconds between two points: the interval of the scorer."""
    query: str = ""
    """A query to evaluate anew; empty for the raw scores that agents exported."""
    label: str = ""
    """With a query: the label of the series that names the cluster."""
    clusters: tuple[tuple[str, str], ...] = ()
    """With a query: values of the label, and the clusters that they mean."""
    parameters: tuple[tuple[str, str], ...] = ()
    """With a query: the URL parameters of its source."""
    fails_on_partial: bool = False
    """With a query: whether the scorer refuses an answer of which data is missing."""


@dataclass(kw_only=True)
class Questions:
    """The questions of one revision, by name of the AddOnPlacementScore."""

    scorers: dict[str, EffectiveScorer] = field(default_factory=dict)
    by_resource: dict[str, HistoryQuestion] = field(default_factory=dict)
    """The same keys as `scorers`."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Why no history can answer for other AddOnPlacementScores."""


def questions_of(
    resources: Iterable[str], *, fleet: CheckedFleet, before: CheckedFleet | None, can_query: bool
) -> Questions:
    """The questions about AddOnPlacementScores.

    `before` is the revision that the history is of; None if it is this one. `can_query`: whether a
    store evaluates queries.
    """
    questions = Questions()
    # In the order of the Placements, so that equal repositories give equal output.
    for resource in dict.fromkeys(resources):
        scorer = fleet.scorer_by_resource.get(resource)
        if scorer is None:
            questions.reasons[resource] = f"no scorer of this repository publishes {resource}"
            continue
        question: HistoryQuestion | None = HistoryQuestion(
            score_name=scorer.score_name, step=scorer.spec.scoring.params.interval
        )
        reason = "" if before is None else _why_outdated(scorer, before)
        if reason:
            question = _evaluated_anew(scorer, fleet) if can_query else None
        if question is None:
            questions.reasons[resource] = reason
        else:
            questions.scorers[resource] = scorer
            questions.by_resource[resource] = question
    return questions


def _why_outdated(scorer: EffectiveScorer, before: CheckedFleet) -> str:
    """Why the history of a scorer says nothing about its changed definition; empty if it does."""
    old = before.scorer_by_name.get(scorer.name)
    if old is None:
        return f"{scorer.name}: it is new, so it has no history"
    causes = history_causes(old, scorer)
    if not causes:
        return ""
    return (
        f"{scorer.name}: {', '.join(causes)} changed, so the raw scores of the past are those of"
        " another definition"
    )


def _evaluated_anew(scorer: EffectiveScorer, fleet: CheckedFleet) -> HistoryQuestion | None:
    """The question that evaluates a changed query over the past; None if that is not possible.

    The store has the metrics of all clusters only for scorers on the hub, and a scoring API cannot
    be asked again.
    """
    label = scorer.spec.source.cluster_label
    hub = fleet.hub_scoring
    if not scorer.spec.on_hub or scorer.scoring_type == SCORED_BY_API or label is None:
        return None
    if hub is None or len(query.split(scorer.spec.source.params.query)) != 1:
        return None
    identity = cluster_label(label).identity
    clusters: list[tuple[str, str]] = []
    for cluster in hub.clusters:
        if not identity:
            clusters.append((cluster.name, cluster.name))
        elif identity in cluster.values:
            clusters.append((cluster.values[identity], cluster.name))
    # A MetricSource has one variant for the hub scorer.
    variant = fleet.by_variant[scorer.name][0]
    return HistoryQuestion(
        score_name=scorer.score_name,
        step=scorer.spec.scoring.params.interval,
        query=scorer.spec.source.params.query,
        label=label.name,
        parameters=tuple(variant.source_parameters.items()),
        fails_on_partial=variant.on_partial == "Fail",
        clusters=tuple(clusters),
    )

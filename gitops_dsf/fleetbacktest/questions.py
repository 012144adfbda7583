"""Queries to a metric store for the history that a revision of a fleet repository needs.

The raw scores of the past are those of the scorers of that time. So the history of a scorer answers
for a revision only where nothing changed that raw scores depend on.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.plan.storequery import StoreQuery, store_query
from gitops_dsf.resolve.raw_inputs import history_causes
from gitops_dsf.resolve.scorer import EffectiveScorer


@dataclass(frozen=True, kw_only=True)
class HistoryQuestion:
    """A score whose history is needed."""

    score_name: str
    step: int
    """Seconds between two points: the interval of the scorer."""
    reevaluated: StoreQuery | None = None
    """A query that the store evaluates again; None for the raw scores that agents exported."""

    @property
    def query(self) -> str:
        """The text that is evaluated again; empty for the raw scores that agents exported."""
        return "" if self.reevaluated is None else self.reevaluated.text


@dataclass(kw_only=True)
class Questions:
    """The questions of one revision, by name of the AddOnPlacementScore."""

    scorers: dict[str, EffectiveScorer] = field(default_factory=dict)
    by_resource: dict[str, HistoryQuestion] = field(default_factory=dict)
    """The same keys as `scorers`."""
    reasons: dict[str, str] = field(default_factory=dict)
    """The reasons why no history can answer for other AddOnPlacementScores."""


def questions_of(
    resources: Iterable[str],
    *,
    fleet: CheckedFleet,
    before: CheckedFleet | None,
    cluster_label: str | None,
) -> Questions:
    """The questions about AddOnPlacementScores.

    `before` is the revision that the history is of; None if it is this one. `cluster_label` names
    the cluster in series of a store that evaluates queries; None if there is no such store.
    """
    questions = Questions()
    # In the order of the Placements, so that equal repositories give equal output.
    for resource in dict.fromkeys(resources):
        scorer = fleet.scorer_by_resource.get(resource)
        if scorer is None:
            questions.reasons[resource] = _why_foreign(resource, fleet)
            continue
        reason = "" if before is None else _why_outdated(scorer, before)
        reevaluated: StoreQuery | None = None
        if reason:
            if cluster_label is not None:
                reevaluated = store_query(scorer, fleet, cluster_label=cluster_label)
            if reevaluated is None:
                questions.reasons[resource] = reason
                continue
        questions.scorers[resource] = scorer
        questions.by_resource[resource] = HistoryQuestion(
            score_name=scorer.score_name,
            step=scorer.spec.scoring.params.interval,
            reevaluated=reevaluated,
        )
    return questions


def _why_foreign(resource: str, fleet: CheckedFleet) -> str:
    """The reason why there is no history of a score that no scorer publishes."""
    for external in fleet.repository.spec.external_scores:
        if external.resource == resource:
            # Agents export what they publish as dynamic_score. Other add-ons do not.
            return f"another add-on publishes {resource}, and no history has what it published"
    return f"no scorer of this repository publishes {resource}"


def _why_outdated(scorer: EffectiveScorer, before: CheckedFleet) -> str:
    """The reason why a scorer's history is useless after its change; empty if it is useful."""
    # A scorer that publishes nothing exports its raw scores, too.
    old = before.predecessor_of(scorer) or before.scorer_by_name.get(scorer.name)
    if old is None:
        return f"{scorer.name}: it is new, so it has no history"
    causes = history_causes(old, scorer)
    if not causes:
        return ""
    return (
        f"{scorer.name}: {', '.join(causes)} changed, so the raw scores of the past are those of"
        " another definition"
    )

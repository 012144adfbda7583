"""Explanations, changed scores and the live commit, added to each record of the journal.

The explanations are those of the simulator.
"""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec

from dsf_runtime.apiserver import ApiError
from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.deployed import Deployed
from gitops_dsf.hub.names import DELIVERY_APPLICATION
from gitops_dsf.hub.objects import Placement, PlacementDecision
from gitops_dsf.hub.placements import resources_read
from gitops_dsf.hub.resources import APPLICATIONS, PLACEMENTS
from gitops_dsf.hub.score_states import expired
from gitops_dsf.journal.cause import cause_of
from gitops_dsf.journal.record import (
    MAX_EXPLAINED,
    MAX_SCORES,
    ClusterReason,
    Record,
    ScoreChange,
    reason_of,
)
from gitops_dsf.journal.timeline import ScoreValues
from gitops_dsf.pacing.ledger import LedgerMove
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.simulator import HubState, Outcome, Verdict, explain, simulate_placement
from gitops_dsf.simulator.prioritizers import Prioritizer
from gitops_dsf.simulator.scheduler import as_people_wrote
from gitops_dsf.simulator.verdict import outcome_text

MAX_FOLLOWED: Final = 64
"""Clusters whose scores are followed: those that left, joined or are decided, and the best."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The hub at one moment."""

    state: HubState
    now: datetime
    commit: str
    """The commit that Argo CD applied last; empty if that is not known."""
    applied: str = ""
    """The commit of the last sync, which may still run; empty if that is not known."""


async def read_facts(names: Collection[str], *, api: HubApi, view: HubView) -> Facts:
    """Raises ApiError.

    Scores come first, from the informer: they are what OCM saw when it decided.
    """
    now = datetime.fromtimestamp(api.now(), tz=UTC)
    ranked_by = set[str]()
    for name in names:
        for prioritizer in view.placements.items[name].ranked_by:
            ranked_by.add(prioritizer.resource)
    scores = {resource: dict(view.scores.of(resource)) for resource in sorted(ranked_by)}
    path = PLACEMENTS.within(view.argocd_namespace).path
    decoder = msgspec.json.Decoder(Placement)
    # One list in place of a read of each: one outage can move a thousand applications.
    listed = await api.listed(path, decoder.decode)
    placements = [placement for placement in listed if placement.metadata.name in names]
    for placement in placements:
        resources = resources_read(placement)
        if resources is None:
            # An expression computes the name of the score that it reads.
            resources = frozenset(view.scores.columns)
        for resource in sorted(resources - scores.keys()):
            scores[resource] = dict(view.scores.of(resource))
    sets = await api.cluster_sets()
    bound = await api.bound_sets(view.argocd_namespace)
    # In a thread, because thousands of clusters take a while, and leadership must be renewed.
    state = await asyncio.to_thread(
        HubState.of,
        clusters=list(view.clusters.items.values()),
        sets=sets,
        bindings=[(view.argocd_namespace, name) for name in bound],
        placements=placements,
        decisions=list(view.decisions.items.values()),
        scores=scores,
    )
    deployed = await _deployed(api, view.argocd_namespace)
    return Facts(state=state, now=now, commit=deployed.commit, applied=deployed.applied)


async def _deployed(api: HubApi, namespace: str) -> Deployed:
    """The commit of the rendered Placements that Argo CD has applied."""
    try:
        deployed = await api.one(
            APPLICATIONS.within(namespace).path, DELIVERY_APPLICATION, Deployed
        )
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return Deployed()  # a hub without Argo CD
    return deployed or Deployed()


class ExplainedRecord(NamedTuple):
    """A record with its cause and details, and the scores at it."""

    record: Record
    scores: ScoreValues


def explain_record(
    record: Record,
    *,
    before: Collection[str] | None,
    after: Collection[str],
    facts: Facts,
    known: ScoreValues,
    admitted: LedgerMove | None = None,
    edited: bool = False,
) -> ExplainedRecord:
    """The record with its cause and details, by what the hub says now.

    `known` are the scores at the record before. `admitted` is the paced move that led to it.
    `edited`: whether the Placement was changed just before.

    The scores and explanations are by the weights that people wrote. Items of moves are not scores.
    """
    namespace, name = record.key
    record = msgspec.structs.replace(record, commit=facts.commit)
    placement = facts.state.placements.get(record.key)
    if placement is None:
        doubtful = msgspec.structs.replace(record, doubt="the Placement was deleted")
        return ExplainedRecord(doubtful, scores={})
    # OCM decided from the decision before, which counts for Steady and for NoSelectIfNew.
    old: list[PlacementDecision] = []
    for decision in facts.state.decisions.values():
        if (decision.metadata.namespace, decision.placement) != record.key:
            old.append(decision)
    if before:
        # One page holds any number of clusters here.
        old.append(decision_of(namespace=namespace, placement=name, clusters=sorted(before)))
    verdict = simulate_placement(placement, state=facts.state.deciding(old), now=facts.now)
    by_scores = as_people_wrote(verdict)
    subjects = [*record.joined, *record.left] or sorted(after)
    values = dict(_values(by_scores, _followed(by_scores, subjects, after)))
    changed: list[ScoreChange] = []
    for key in _ordered({*values, *known}, subjects):
        value_before = known.get(key)
        value = values.get(key)
        if value_before != value:
            changed.append(
                ScoreChange(name=key[0], cluster=key[1], before=value_before, after=value)
            )
    explained: list[ClusterReason] = []
    for cluster in subjects[:MAX_EXPLAINED]:
        if cluster in verdict.state.positions:
            explained.append(_explained(by_scores, cluster, decided=cluster in after))
    record = msgspec.structs.replace(
        record,
        clusters=tuple(explained),
        doubt=_doubt(record, verdict, after),
        scores=tuple(changed[:MAX_SCORES]),
        more_scores=len(changed[MAX_SCORES:]),
    )
    cause = cause_of(
        record,
        verdict=verdict,
        by_scores=by_scores,
        after=after,
        admitted=admitted,
        edit=facts.applied if edited else None,
    )
    return ExplainedRecord(msgspec.structs.replace(record, cause=cause), scores=values)


def _explained(by_scores: Verdict, cluster: str, *, decided: bool) -> ClusterReason:
    """The explanation of a cluster by its scores, and whether it is decided.

    The cause of the decision may be another one than the scores.
    """
    reason = reason_of(explain(by_scores, cluster))
    return msgspec.structs.replace(reason, selected=decided)


def _followed(verdict: Verdict, subjects: Iterable[str], after: Collection[str]) -> list[str]:
    best: list[str] = []
    if verdict.ranking is not None:
        for index in verdict.ranking.order:
            best.append(verdict.state.names[verdict.ranking.clusters[index]])
    return list(dict.fromkeys([*subjects, *sorted(after), *best]))[:MAX_FOLLOWED]


def _values(verdict: Verdict, clusters: Sequence[str]) -> Iterator[tuple[tuple[str, str], int]]:
    terms: dict[str, Prioritizer] = {}
    for result in verdict.prioritizers:
        # OCM's own prioritizers, such as Steady, do not rank by a published score.
        if result.prioritizer.built_in is None:
            terms[result.prioritizer.name] = result.prioritizer
    for name, term in terms.items():
        column = verdict.state.scores.get(term.resource, {})
        for cluster in clusters:
            score = column.get(cluster)
            # In a ranking OCM counts an expired score as 0 (v1.2.1), so it is not a value here.
            if score is None or expired(score.valid_until, verdict.now):
                continue
            if (value := score.get(term.score)) is not None:
                yield (name, cluster), value


def _ordered(keys: Iterable[tuple[str, str]], subjects: Iterable[str]) -> list[tuple[str, str]]:
    """Scores of the clusters that moved come first, then by cluster and name."""
    positions = {cluster: position for position, cluster in enumerate(subjects)}
    return sorted(keys, key=lambda key: (positions.get(key[1], len(positions)), key[1], key[0]))


def _doubt(record: Record, verdict: Verdict, after: Collection[str]) -> str:
    """The reason why the explanations may not be OCM's reasons."""
    if record.kind == "Later":
        return (
            "no reconciler watched when it happened, so scores and explanations are of the time"
            " when it was found"
        )
    if verdict.outcome is not Outcome.SCHEDULED:
        return f"the simulator has no decision: {outcome_text(verdict)}"
    if verdict.chosen != frozenset(after):
        chosen = ", ".join(sorted(verdict.chosen)[:5]) or "no cluster"
        return f"by what the hub held when this was recorded, the simulator would choose {chosen}"
    return ""

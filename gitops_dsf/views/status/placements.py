"""Placements: what OCM decided, what it would decide now, and the nearest score that would flip it."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from gitops_dsf.hub.freshness import expired
from gitops_dsf.simulator import Explanation, HubState, Outcome, SimulatorInputError, Verdict, explain, simulate
from gitops_dsf.snapshot.asobjects import binding_object, decision_object, score_objects
from gitops_dsf.views.status.inputs import Inputs, Object, Part
from gitops_dsf.views.status.model import PlacementView, Turn

NEEDED = (Part.CLUSTERS, Part.SETS, Part.BINDINGS, Part.SCORES, Part.DECISIONS)
"""Without these nobody can say what OCM would decide."""


def key_of(placement: Object) -> str:
    """namespace/name."""
    metadata = placement["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}"


def ranked_by(placement: Object) -> frozenset[str]:
    """Names of the AddOnPlacementScores that a Placement's prioritizers read."""
    policy = (placement.get("spec") or {}).get("prioritizerPolicy") or {}
    coordinates = ((item.get("scoreCoordinate") or {}).get("addOn") or {} for item in policy.get("configurations") or ())
    return frozenset(str(addon["resourceName"]) for addon in coordinates if addon.get("resourceName"))


def placement_views(placements: Iterable[Object], inputs: Inputs, *, cluster: str | None) -> tuple[PlacementView, ...]:
    """One view for each, in the order given. With a cluster, what would bring that one in or out, and only where it is eligible."""
    chosen = list(placements)
    decided = _decided(inputs)
    missing = [inputs.unread[part] for part in NEEDED if part in inputs.unread]
    if missing:
        return tuple(_unknown(item, decided, str(missing[0])) for item in chosen)
    try:
        state = HubState.build(_documents(chosen, inputs))
    except SimulatorInputError as error:
        return tuple(_unknown(item, decided, str(error)) for item in chosen)
    views = (_view(item, state, decided, now=inputs.now, cluster=cluster) for item in chosen)
    return tuple(view for view in views if view is not None)


def _documents(placements: Iterable[Object], inputs: Inputs) -> Iterator[Mapping[str, Any]]:
    snapshot = inputs.snapshot
    yield from ({"kind": "Placement", **item} for item in placements)
    yield from ({"kind": "ManagedCluster", **facts} for facts in snapshot.clusters.values())
    yield from snapshot.sets.values()
    yield from (binding_object(namespace, name) for namespace, name in snapshot.bindings)
    yield from (decision_object(item) for item in snapshot.decisions)
    yield from score_objects(snapshot.scores)


def _decided(inputs: Inputs) -> dict[str, tuple[str, ...]] | None:
    if not inputs.knows(Part.DECISIONS):
        return None
    found: dict[str, set[str]] = {}
    for page in inputs.snapshot.decisions:
        found.setdefault(f"{page.namespace}/{page.placement}", set()).update(page.clusters)
    return {key: tuple(sorted(clusters)) for key, clusters in found.items()}


def _unknown(item: Object, decided: dict[str, tuple[str, ...]] | None, why: str) -> PlacementView:
    key = key_of(item)
    return PlacementView(
        placement=key,
        wanted=(item.get("spec") or {}).get("numberOfClusters"),
        eligible=None,
        decided=None if decided is None else decided.get(key, ()),
        next=None,
        note=f"what OCM would decide is not known: {why}",
        counted_as_zero=(),
        turns=(),
    )


def _view(
    item: Object, state: HubState, decided: dict[str, tuple[str, ...]] | None, *, now: datetime, cluster: str | None
) -> PlacementView | None:
    key = key_of(item)
    verdict = simulate(state, key, now)
    scheduled = verdict.outcome is Outcome.SCHEDULED and verdict.ranking is not None
    eligible = verdict.scores if scheduled else None
    current = None if decided is None else decided.get(key, ())
    if cluster is not None and cluster not in (eligible or ()) and cluster not in (current or ()):
        return None
    return PlacementView(
        placement=key,
        wanted=verdict.source.spec.number_of_clusters,
        eligible=None if eligible is None else tuple(sorted(eligible)),
        decided=current,
        next=tuple(sorted(verdict.chosen)) if scheduled else None,
        note=_note(verdict, scheduled=scheduled),
        counted_as_zero=_zeroes(verdict) if scheduled else (),
        turns=tuple(_turns(verdict, cluster)) if scheduled else (),
    )


def _note(verdict: Verdict, *, scheduled: bool) -> str:
    if not scheduled:
        first = next(iter(verdict.notes), "") or verdict.status.message
        return f"{verdict.outcome}: {first}" if first else str(verdict.outcome)
    satisfied = verdict.satisfied
    return satisfied.message if satisfied is not None and not satisfied.status else ""


def _zeroes(verdict: Verdict) -> tuple[str, ...]:
    """Eligible clusters of which an add-on score is missing or expired: simulator and OCM count it as 0."""
    ranking = verdict.ranking
    if ranking is None:
        return ()
    names = [verdict.state.names[position] for position in ranking.clusters]
    found: set[str] = set()
    for result in verdict.prioritizers:
        coordinate = result.prioritizer
        if coordinate.built_in is not None:
            continue
        table = verdict.state.scores.get(coordinate.resource, {})
        for name in names:
            score = table.get(name)
            if score is None or expired(score.valid_until, verdict.now) or score.get(coordinate.score) is None:
                found.add(name)
    return tuple(sorted(found))


def _turns(verdict: Verdict, cluster: str | None) -> Iterator[Turn]:
    """The last that is in and the first that is out; or the one cluster that was asked for."""
    ranking = verdict.ranking
    if ranking is None:
        return
    names = [verdict.state.names[ranking.clusters[index]] for index in ranking.order]
    if cluster is not None:
        asked = [cluster] if cluster in names else []
    else:
        asked = names[max(0, ranking.selected - 1) : ranking.selected + 1] if ranking.selected else []
    for name in asked:
        turn = _turn(explain(verdict, name))
        if turn is not None:
            yield turn


def _turn(found: Explanation) -> Turn | None:
    if found.rival is None or found.margin is None:
        return None
    return Turn(cluster=found.cluster, gains=not found.selected, rival=found.rival, margin=found.margin, flip=found.nearest)

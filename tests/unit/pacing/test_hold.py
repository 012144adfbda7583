"""What OCM does with a paced Placement, by the exact simulator.

Items of moves and refuges, in every order of writes, for random scores.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import msgspec
from hypothesis import assume, given
from hypothesis import strategies as st

from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.pace import DRAW, MOVES_SCORE, PUSH
from gitops_dsf.hub.scores import score_of
from gitops_dsf.pacing.items import MoveItems, items_of
from gitops_dsf.pacing.ledger import LedgerMove, Phase
from gitops_dsf.pacing.publication import ClusterItems, ItemWrites, PossibleItems
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.resolve.paced_rankings import hold_weights
from gitops_dsf.simulator import HubState, simulate
from tests.support.closedloop import (
    DELAY,
    HOUR,
    RANGE,
    VERIFICATION,
    CapacityChange,
    Loop,
    fleet,
    herd,
)
from tests.support.laws import examples
from tests.unit.pacing.fleet import MOMENT
from tests.unit.simulator.hub import cluster, exact, hub

HOLD_WEIGHT = 10

CLUSTERS = ("c1", "c2", "c3", "c4")
KEY = "ns/a"
TAINT = {"key": "cluster.open-cluster-management.io/unreachable", "effect": "NoSelect"}
PERCENT, SIGNED = (0, 100), (-100, 100)


Scores = Mapping[str, tuple[int, ...]]
"""By cluster, one for each weight."""
NO_SCORES: Scores = {}


@lru_cache
def _hub(lost: str) -> HubState:
    """Four clusters; one of them may be lost."""
    return HubState.build(
        hub(*(cluster(name, taints=[TAINT] if name == lost else []) for name in CLUSTERS))
    )


@dataclass(frozen=True)
class HoldScene:
    """A Placement with random weights that hold, and random scores of all clusters."""

    weights: tuple[int, ...]
    scores: Scores
    decided: tuple[str, ...]

    def chosen(self, items: MoveItems, *, lost: str = "", scores: Scores = NO_SCORES) -> set[str]:
        """What OCM decides with these items."""
        names = [f"s{number}" for number in range(len(self.weights))]
        prioritizers = [
            (f"r/{name}", weight) for name, weight in zip(names, self.weights, strict=True)
        ]
        placement = msgspec.convert(
            {
                "metadata": {"name": "a", "namespace": "ns"},
                "spec": {
                    "numberOfClusters": len(self.decided),
                    "prioritizerPolicy": exact(
                        *prioritizers,
                        (f"{MOVES_SCORE}/{KEY}", HOLD_WEIGHT),
                        ("Steady", HOLD_WEIGHT),
                    ),
                },
            },
            Placement,
        )
        published = {
            name: score_of(zip(names, values, strict=True))
            for name, values in {**self.scores, **scores}.items()
        }
        state = replace(_hub(lost), placements={("ns", "a"): placement}).deciding(
            [decision_of(namespace="ns", placement="a", clusters=self.decided)]
        )
        moves = {name: score_of(values) for name, values in items.items()}
        found = simulate(state.scoring({"r": published, MOVES_SCORE: moves}), KEY, MOMENT)
        return set(found.chosen)


def _scores(spans: list[tuple[int, int]]) -> st.SearchStrategy[Scores]:
    """Ends of the ranges are the worst cases."""
    values = st.tuples(*(st.one_of(st.sampled_from(span), st.integers(*span)) for span in spans))
    return st.fixed_dictionaries(dict.fromkeys(CLUSTERS, values))


@st.composite
def scenes(draw: st.DrawFn) -> tuple[HoldScene, Scores]:
    """A scene, and other scores of the same spans."""
    score = st.tuples(st.integers(-9, 9), st.sampled_from([PERCENT, SIGNED]))
    written = draw(st.lists(score, min_size=1, max_size=3))
    spans = [span for _, span in written]
    widths = [high - low for low, high in spans]
    weights = hold_weights([weight for weight, _ in written], widths)
    assume(weights is not None and any(weights))
    decided = tuple(sorted(draw(st.permutations(CLUSTERS))[: draw(st.integers(1, 2))]))
    scene = HoldScene(weights=weights or (), scores=draw(_scores(spans)), decided=decided)
    return scene, draw(_scores(spans))


OUTCOMES = ("confirmed", "refused", "lost", "lost, but written")


def _states(published: MoveItems, wanted: MoveItems, data: st.DataObject) -> Iterator[MoveItems]:
    """What is published before, between and after the writes, of which some fail, and of the next
    look, when all writes that are left succeed. Nobody reads again what a lost write did.
    """
    now, known = dict(published), {cluster: (items,) for cluster, items in published.items()}
    yield dict(now)
    for fails in (True, False):
        look = ItemWrites(known, wanted)
        for name, items in look.writes():
            outcome = data.draw(st.sampled_from(OUTCOMES)) if fails else "confirmed"
            if outcome in ("confirmed", "lost, but written"):
                now[name] = items
            if outcome == "confirmed":
                look.wrote(name, items)
                known[name] = (items,)
            elif outcome != "refused":
                look.lost(name, items)
                known[name] = (*known.get(name, ({},)), items)
            yield dict(now)
    assert {name: items for name, items in now.items() if items} == wanted


def _others(scene: HoldScene) -> list[str]:
    return [name for name in CLUSTERS if name not in scene.decided]


def _refuge(data: st.DataObject, places: Collection[str]) -> Mapping[str, str]:
    """One of the clusters as the refuge, or none."""
    place = data.draw(st.sampled_from([*places, None]))
    return {KEY: place} if place else {}


@examples(25, soak=1000)
@given(found=scenes(), data=st.data())
def test_a_refuge_moves_nothing_and_decides_a_failover(
    found: tuple[HoldScene, Scores], data: st.DataObject
) -> None:
    """Whatever the scores become, and between the writes that change the refuge."""
    scene, later = found
    before, after = (data.draw(st.sampled_from(_others(scene))) for _ in range(2))
    wanted = items_of([], {KEY: after})
    for items in _states(items_of([], {KEY: before}), wanted, data):
        assert scene.chosen(items, scores=later) == set(scene.decided)
    lost = data.draw(st.sampled_from(scene.decided))
    assert scene.chosen(wanted, lost=lost, scores=later) == {*scene.decided, after} - {lost}


@examples(20, soak=1000)
@given(found=scenes(), data=st.data())
def test_a_move_is_carried_out_in_spite_of_refuges(
    found: tuple[HoldScene, Scores], data: st.DataObject
) -> None:
    """Between the writes the Placement is where it was, or where it goes.

    Afterwards it stays there.
    """
    scene, later = found
    source = data.draw(st.sampled_from(scene.decided))
    target = data.draw(st.sampled_from(_others(scene)))
    refuge = _refuge(data, _others(scene))
    move = LedgerMove(placement=KEY, source=source, target=target, since=0)
    moved = {*scene.decided, target} - {source}
    carried = items_of([move], refuge)
    for items in _states(items_of([], refuge), carried, data):
        assert scene.chosen(items, scores=later) in (set(scene.decided), moved)
    assert scene.chosen(carried, scores=later) == moved
    there = replace(scene, decided=tuple(sorted(moved)))
    refuge = _refuge(data, {*_others(scene), source} - {target})
    for items in _states(carried, items_of([], refuge), data):
        assert there.chosen(items, scores=later) == moved


@examples(25, soak=1000)
@given(found=scenes(), data=st.data())
def test_a_withdrawn_move_leaves_the_placement_where_it_was(
    found: tuple[HoldScene, Scores], data: st.DataObject
) -> None:
    """OCM had not followed yet. It does, or stays; it never leaves or enters another cluster."""
    scene, later = found
    source = data.draw(st.sampled_from(scene.decided))
    target = data.draw(st.sampled_from(_others(scene)))
    move = LedgerMove(placement=KEY, source=source, target=target, since=0)
    moved = {*scene.decided, target} - {source}
    wanted = items_of([move.entered(Phase.WITHDRAWN, 60)], _refuge(data, [*_others(scene), source]))
    for items in _states(items_of([move], _refuge(data, _others(scene))), wanted, data):
        assert scene.chosen(items, scores=later) in (set(scene.decided), moved)
    assert scene.chosen(wanted, scores=later) == set(scene.decided)


@examples(25, soak=1000)
@given(found=scenes(), data=st.data())
def test_what_a_dead_reconciler_left_draws_nothing_back(
    found: tuple[HoldScene, Scores], data: st.DataObject
) -> None:
    """The move was followed, and nobody takes its items away.

    A cluster is lost, OCM chooses another one, and then the lost one returns.
    """
    scene, later = found
    source = data.draw(st.sampled_from(scene.decided))
    target = data.draw(st.sampled_from(_others(scene)))
    left = items_of([LedgerMove(placement=KEY, source=source, target=target, since=0)], {})
    there = replace(scene, decided=tuple(sorted({*scene.decided, target} - {source})))
    lost = data.draw(st.sampled_from(there.decided))
    chosen = there.chosen(left, lost=lost)
    assert source not in chosen
    assert replace(scene, decided=tuple(sorted(chosen))).chosen(left, scores=later) == chosen


PACE = Pace(concurrent=2, arrivals_per_cluster=1, settle_seconds=DELAY + RANGE, cooldown_seconds=0)
"""Without a cooldown, which would forbid moves back whatever the scores say."""
SPAN = 40 * 60
FLEET = fleet(
    clusters=6,
    applications=36,
    events=[
        CapacityChange(at=300, cluster="c01", capacity=60),
        CapacityChange(at=SPAN, cluster="c02", capacity=0),
        CapacityChange(at=2 * SPAN, cluster="c06", capacity=100),
    ],
    seconds=3 * SPAN,
)


def test_twenty_applications_do_not_move_as_a_herd() -> None:
    """They end within 10 points of even, and none moves back."""
    found = Loop(herd(), pace=PACE).run()
    even = sum(found.free.values()) / len(found.free)
    assert found.moves
    assert max(abs(free - even) for free in found.free.values()) <= 10
    assert (found.back, found.overload) == (0, 0.0)
    assert found.under_way <= PACE.concurrent


def test_without_a_pace_they_do() -> None:
    """The twin: the same applications fill a cluster and leave it again."""
    found = Loop(herd(seconds=HOUR // 2), pace=None).run()
    assert len([each for each in found.moves if each.at == found.moves[0].at]) == 20
    assert found.back > 20
    assert found.overload > 20


def test_a_fleet_that_changes_is_evened_out_without_a_move_back() -> None:
    """A cluster loses capacity, one fails and one joins; the pace holds all the time."""
    found = Loop(FLEET, pace=PACE).run()
    assert found.moves
    assert found.back == 0
    assert found.overload <= 5
    assert found.under_way == PACE.concurrent
    assert found.arriving == PACE.arrivals_per_cluster
    assert found.settling_time(0, SPAN) < SPAN
    assert found.settling_time(SPAN, 2 * SPAN) < SPAN
    assert found.free["c06"] < 100, "the new cluster is used"


LIES = {"c05": 200.0}
"""Always says that it is free."""


def test_a_cluster_that_lies_is_overloaded_only_until_the_checks_have_failed() -> None:
    """Applications that make it too full come back. Without checks they stay, and more follow."""
    quiet = fleet(clusters=6, applications=60, events=[], seconds=2 * HOUR)
    # Two at a time fill the cluster in an hour.
    pace = PACE.model_copy(update={"arrivals_per_cluster": 2})
    believed = Loop(quiet, pace=pace, lies=LIES).run()
    verified = Loop(quiet, pace=pace, lies=LIES, verified=VERIFICATION).run()
    assert (believed.returned, verified.returned) == (0, 2)
    assert believed.overload > 40
    assert verified.overload <= 10
    assert verified.overload_hours < believed.overload_hours / 10
    assert verified.under_way <= pace.concurrent


def test_a_fleet_with_too_many_returns_stops_for_good() -> None:
    """The cluster carries half of what it says, so hardly an application may stay there."""
    half = CapacityChange(at=0, cluster="c05", capacity=45)
    quiet = fleet(clusters=6, applications=60, events=[half], seconds=2 * HOUR)
    found = Loop(quiet, pace=PACE, lies=LIES, verified=VERIFICATION).run()
    assert found.stopped_at is not None
    assert found.returned == PACE.stop_after_returns == 3
    last = found.stopped_at + VERIFICATION.seconds
    assert max(move.at for move in found.moves) <= last < quiet.seconds


def test_honest_clusters_pass_their_checks() -> None:
    """The twin: a fleet that changes is evened out as without checks, and nothing returns."""
    found = Loop(FLEET, pace=PACE, verified=VERIFICATION).run()
    assert found.moves
    assert (found.returned, found.back, found.stopped_at) == (0, 0, None)
    assert found.overload <= 5
    assert found.free["c06"] < 100, "the new cluster is used"


def confirmed(known: PossibleItems, wanted: MoveItems) -> list[tuple[str, ClusterItems]]:
    """The writes of a round, all of which the hub confirms."""
    round_of_writes, done = ItemWrites(known, wanted), list[tuple[str, ClusterItems]]()
    for name, values in round_of_writes.writes():
        done.append((name, values))
        round_of_writes.wrote(name, values)
    return done


def test_what_is_published_as_wanted_is_not_written_again() -> None:
    wanted = {"c1": {KEY: DRAW}}
    assert not confirmed({"c1": ({KEY: DRAW},)}, wanted)
    # The last write may not have taken effect.
    assert confirmed({"c1": ({}, {KEY: DRAW})}, wanted) == [("c1", {KEY: DRAW})]
    # It is drawn elsewhere, too.
    assert confirmed({"c1": ({KEY: DRAW},), "c2": ({KEY: DRAW},)}, wanted) == [("c2", {})]


def test_a_push_without_a_draw_goes_also_if_it_is_wanted() -> None:
    items = {"c1": {KEY: PUSH}}
    assert confirmed({"c1": ({KEY: PUSH},)}, items) == [("c1", {})]

"""Single stories of paced Placements. Random ones are in tests/property/test_backtest_paced.py."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.run import run
from gitops_dsf.backtest.track import ABSENT, Track
from gitops_dsf.hub.pace import PacedRanking, PacedTerm
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.simulator import HubState, with_defaults
from tests.unit.simulator.hub import Object, cel, cluster, exact, hub, placement

GRID = TimeGrid(start=1_700_000_000, step=60, count=41)
ONE_ARRIVAL = Pace(concurrent=10, arrivals_per_cluster=1, settle_seconds=600, cooldown_seconds=0)
EXISTS = 'managedCluster.scores("r").exists(score, score.name == "v")'


def _track(values: Sequence[int]) -> Track:
    at = array("d", [GRID.at(number) for number in range(GRID.count)])
    return Track(ttl=900.0, at=at, values={"v": array("b", values)})


def _placement(name: str, resource: str, **spec: object) -> Object:
    written = placement(
        numberOfClusters=1, prioritizerPolicy=exact((f"{resource}/v", 1), ("Steady", 1)), **spec
    )
    return {**written, "metadata": {"name": name, "namespace": "ns"}}


def _moves(*, lost: bool) -> dict[str, list[tuple[int, tuple[str, ...]]]]:
    """`ns/a` ranks by r and needs a score, `ns/b` ranks by s, by which c2 is the best from 10 on.

    With `lost`, the score of c1 goes at point 10, so that OCM moves `ns/a` to c2, too.
    """
    documents = [_placement("a", "r", predicates=cel(EXISTS)), _placement("b", "s")]
    clusters = [cluster(name) for name in ("c1", "c2", "c3")]
    state = HubState.build(hub(*clusters, *map(dict, with_defaults(documents))))
    paced = {
        f"ns/{name}": Paced.of(
            state.placement(f"ns/{name}"),
            PacedRanking((PacedTerm(resource, "v", 1, delay=60.0, range=0.0),), steady=0),
        )
        for name, resource in (("a", "r"), ("b", "s"))
    }
    tracks = {
        "r": {
            "c1": _track([50] * 10 + [ABSENT if lost else 50] * 31),
            "c2": _track([40] * 41),
            "c3": _track([10] * 41),
        },
        "s": {
            "c1": _track([0] * 41),
            "c2": _track([0] * 10 + [100] * 31),
            "c3": _track([50] * 41),
        },
    }
    backtest = run(
        [item.written for item in paced.values()],
        state=state,
        tracks=tracks,
        grid=GRID,
        paced=paced,
        pace=ONE_ARRIVAL,
    )
    return {
        key: [(decision.number, decision.clusters) for decision in line.decided]
        for key, line in backtest.lines.items()
    }


def test_a_move_begins_where_nobody_arrives() -> None:
    assert _moves(lost=False) == {"ns/a": [(0, ("c1",))], "ns/b": [(0, ("c3",)), (10, ("c2",))]}


def test_a_move_waits_while_a_cluster_settles_after_a_move_that_ocm_made_itself() -> None:
    """OCM leaves a cluster without the score at once.

    The arrival counts by the pace, as on a hub.
    """
    moves = _moves(lost=True)
    assert moves["ns/a"] == [(0, ("c1",)), (10, ("c2",))]
    (_, start), (number, clusters) = moves["ns/b"]
    assert (start, clusters) == (("c3",), ("c2",))
    assert number > 20, "after the handover, and 600 s of settling"

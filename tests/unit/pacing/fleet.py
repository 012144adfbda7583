"""Small hubs with paced Placements."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from gitops_dsf.hub.pace import PacedRanking, PacedTerm
from gitops_dsf.pacing.admit import Situation
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.pacing.ledger import Ledger, LedgerMove
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.simulator import HubState
from tests.unit.simulator.hub import NOW, cluster, decision, exact, hub, score

MOMENT = datetime.fromisoformat(NOW)
SECONDS = MOMENT.timestamp()
PACE = Pace(concurrent=2, arrivals_per_cluster=1, settle_seconds=600, cooldown_seconds=3600)


def herd(
    scores: Mapping[str, int],
    placed: Mapping[str, Sequence[str]],
    *,
    demand: int = 0,
    steady: int = 0,
    weight: int = 1,
    refuges: bool = False,
    taints: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    delay: float = 60,
    span: float = 600,
) -> tuple[HubState, dict[str, Paced]]:
    """A hub where every application ranks by one score.

    `placed` are the clusters of each application.
    """
    documents = hub()
    for name, value in scores.items():
        documents += [
            cluster(name, taints=list((taints or {}).get(name, ()))),
            score(name, free=value),
        ]
    for name, clusters in placed.items():
        documents.append(
            {
                "kind": "Placement",
                "metadata": {"name": name, "namespace": "ns"},
                "spec": {
                    "numberOfClusters": max(1, len(clusters)),
                    "prioritizerPolicy": exact(
                        ("r/free", 1), ("Steady", 10), (f"gitops-dsf-moves/ns/{name}", 10)
                    ),
                },
            }
        )
        documents.append(decision(*clusters, name=f"{name}-decision-1", placement=name))
    state = HubState.build(documents)
    term = PacedTerm("r", "free", weight, demand=demand, delay=delay, range=span)
    ranking = PacedRanking((term,), steady=steady, refuges=refuges)
    paced = {
        key: Paced.of(state.placement(key), ranking) for key in (f"ns/{name}" for name in placed)
    }
    return state, paced


def situation(
    found: tuple[HubState, dict[str, Paced]],
    *,
    pace: Pace = PACE,
    moves: Sequence[LedgerMove] = (),
    **more: Any,
) -> Situation:
    """The herd under a pace."""
    state, paced = found
    return Situation(
        hub=state, paced=paced, ledger=Ledger(tuple(moves)), pace=pace, now=MOMENT, **more
    )

"""Moves in a closed loop, in simulated time: `python -m benchmarks.bench_herd`.

Load moves with the applications, and scores measure it late and with noise. A cluster loses half of its
capacity after 30 minutes, another one fails after 2.5 hours, and one joins after 4.5 hours. There is no
cooldown, which would forbid moves back whatever the scores say. The case that has goals runs with several
seeds of the noise, and the worst of them counts. Also what one admission costs in a wide fleet. Exits with 1
when a goal is missed.
"""

import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

from benchmarks.measure import Figure, shown
from gitops_dsf.hub.pace import PacedRanking, PacedTerm
from gitops_dsf.hub.scores import score_of
from gitops_dsf.pacing.admit import Situation, admit
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.pacing.ledger import Ledger
from gitops_dsf.repository.model.reconciler import Pace
from tests.support.closedloop import DELAY, HOUR, RANGE, Event, Loop, Outcome, fleet, hub_of

PACE = Pace(concurrent=2, arrivals_per_cluster=1, settle_seconds=DELAY + RANGE, cooldown_seconds=0)
HALF, LOST, JOINED, END = HOUR // 2, 5 * HOUR // 2, 9 * HOUR // 2, 13 * HOUR // 2
EVENTS = (
    Event(at=HALF, cluster="c03", capacity=50),
    Event(at=LOST, cluster="c07", capacity=0),
    Event(at=JOINED, cluster="c20", capacity=100),
)
SPANS = {
    "half of a cluster": (HALF, LOST),
    "a lost cluster": (LOST, JOINED),
    "a new one": (JOINED, END),
}
START = fleet(clusters=20, applications=200, events=EVENTS, seconds=END)
SEEDS = (1, 11, 12, 13)
DEMANDS: dict[str, Callable[[int], int]] = {
    "without a demand": lambda _load: 0,
    "demand half": lambda load: round(load / 2),
    "demand double": lambda load: load * 2,
}
WIDE = (3500, 1000)
"""Clusters and Placements."""


def main() -> int:
    return shown((*in_a_loop(), *in_a_wide_fleet()))


def in_a_loop() -> Iterator[Figure]:
    best = Loop(START, pace=PACE, exact=True).run()
    yield from _outcome("the pace at best: exact scores", best)
    yield from _outcome("no pace", Loop(START, pace=None).run())
    for what, demand in DEMANDS.items():
        yield from _outcome(f"pace, {what}", Loop(START, pace=PACE, demand=demand).run())
    found = [Loop(START, pace=PACE, seed=seed).run() for seed in SEEDS]
    yield Figure("pace and demand: moves", max(len(each.moves) for each in found))
    yield Figure("pace and demand: moves back within an hour", max(each.back for each in found), 0)
    yield Figure("pace and demand: worst overload", max(each.overload for each in found), 5, "%")
    yield Figure(
        "pace and demand: most moves under way",
        max(each.under_way for each in found),
        PACE.concurrent,
    )
    for event, span in SPANS.items():
        times = [each.settled(*span) for each in found]
        note = " ".join(f"{each:.0f}" for each in times)
        yield Figure(
            f"pace and demand: settled after {event}",
            max(times),
            1.3 * best.settled(*span),
            "s",
            note,
        )


def _outcome(what: str, found: Outcome) -> Iterator[Figure]:
    yield Figure(f"{what}: moves", len(found.moves))
    yield Figure(f"{what}: moves back within an hour", found.back)
    yield Figure(f"{what}: worst overload", found.overload, None, "%")
    for event, span in SPANS.items():
        yield Figure(f"{what}: settled after {event}", found.settled(*span), None, "s")


def in_a_wide_fleet() -> Iterator[Figure]:
    clusters, placements = WIDE
    names = [f"a{number:04}" for number in range(placements)]
    sites = [f"c{number:04}" for number in range(clusters)]
    placed = {name: sites[number] for number, name in enumerate(names)}
    scores = {name: score_of({"free": number * 37 % 97}) for number, name in enumerate(sites)}
    state = hub_of(dict.fromkeys(sites, 1.0), placed).scoring({"free": scores})
    ranking = PacedRanking(
        (PacedTerm("free", "free", 5, demand=5, delay=DELAY, range=RANGE),), steady=1
    )
    paced = {f"ns/{name}": Paced.of(state.placement(f"ns/{name}"), ranking) for name in names}
    moment = datetime.fromtimestamp(0, UTC)
    found = Situation(hub=state, paced=paced, ledger=Ledger(), pace=PACE, now=moment)
    seconds = []
    for _ in range(3):
        fresh = replace(found, hub=state.scoring(state.scores))
        before = time.process_time()
        assert len(admit(fresh).moves) == PACE.concurrent
        seconds.append(time.process_time() - before)
    what = f"one admission, {placements:,} paced Placements on {clusters:,} clusters"
    yield Figure(f"{what}: CPU", min(seconds), 2, "s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield Figure(f"{what}: memory of the benchmark", peak, 400, "MB")


if __name__ == "__main__":
    sys.exit(main())

"""Moves in a closed loop, in simulated time.

    python -m benchmarks.bench_herd

Load moves with the applications, and scores measure it late and with noise. A cluster loses half of
its capacity after 30 minutes, another one fails after 2.5 hours, and one joins after 4.5 hours.
There is no cooldown, which would forbid moves back whatever the scores say. The case that has goals
runs with several seeds of the noise, and the worst of them counts.

In another fleet nothing happens, but one cluster always says that it is free: with and without
verification. Also what one admission costs in a wide fleet. Exits with 1 when a goal is missed.
"""

import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from benchmarks.measure import Figure, shown
from gitops_dsf.hub.pace import PacedRanking, PacedTerm
from gitops_dsf.hub.scores import PublishedScore, score_of
from gitops_dsf.pacing.admit import Situation, admit
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.pacing.ledger import Ledger
from gitops_dsf.repository.model.reconciler import Pace
from tests.support.closedloop import (
    DELAY,
    HOUR,
    RANGE,
    VERIFICATION,
    CapacityChange,
    Loop,
    LoopOutcome,
    fleet,
    hub_of,
)

# Until DELAY and RANGE have passed, the scores do not have the whole effect of a move.
PACE = Pace(concurrent=2, arrivals_per_cluster=1, settle_seconds=DELAY + RANGE, cooldown_seconds=0)
HALF = HOUR // 2
LOST = 5 * HOUR // 2
JOINED = 9 * HOUR // 2
END = 13 * HOUR // 2
EVENTS = (
    CapacityChange(at=HALF, cluster="c03", capacity=50),
    CapacityChange(at=LOST, cluster="c07", capacity=0),
    CapacityChange(at=JOINED, cluster="c20", capacity=100),
)
SPANS = {
    "half of a cluster": (HALF, LOST),
    "a lost cluster": (LOST, JOINED),
    "a new one": (JOINED, END),
}
START = fleet(clusters=20, applications=200, events=EVENTS, seconds=END)
SEEDS = (1, 11, 12, 13)
# People guess the demand of an application, so wrong guesses are measured, too.
DEMANDS: dict[str, Callable[[int], int]] = {
    "without a demand": lambda _load: 0,
    "demand half": lambda load: round(load / 2),
    "demand double": lambda load: load * 2,
}
LIAR = "c05"
LIES = {LIAR: 200.0}
"""Points by which its scores are too high: it always says that it is free."""
QUIET = fleet(clusters=20, applications=200, events=(), seconds=END)
# So many returns do not come within the time of a loop.
WITHOUT_STOP = PACE.model_copy(update={"stop_after_returns": 100})
WIDE_CLUSTERS = 3500
WIDE_PLACEMENTS = 1000
WIDE = f"one admission, {WIDE_PLACEMENTS:,} paced Placements on {WIDE_CLUSTERS:,} clusters"


def main() -> int:
    return shown((*in_a_loop(), *with_a_liar(), *in_a_wide_fleet()))


def in_a_loop() -> Iterator[Figure]:
    best = Loop(START, pace=PACE, exact=True).run()
    yield from _outcome("the pace at best: exact scores", best)
    yield from _outcome("no pace", Loop(START, pace=None).run())
    for case, demand in DEMANDS.items():
        yield from _outcome(f"pace, {case}", Loop(START, pace=PACE, demand=demand).run())
    outcomes = [Loop(START, pace=PACE, seed=seed).run() for seed in SEEDS]
    yield from _worst(outcomes, best)


def _worst(outcomes: Sequence[LoopOutcome], best: LoopOutcome) -> Iterator[Figure]:
    """The case with goals. Of several seeds the worst counts."""
    moves = 0
    back = 0
    overload = 0.0
    under_way = 0
    for outcome in outcomes:
        moves = max(moves, len(outcome.moves))
        back = max(back, outcome.back)
        overload = max(overload, outcome.overload)
        under_way = max(under_way, outcome.under_way)
    yield Figure("pace and demand: moves", moves)
    yield Figure("pace and demand: moves back within an hour", back, 0)
    yield Figure("pace and demand: worst overload", overload, 5, "%")
    yield Figure("pace and demand: most moves under way", under_way, PACE.concurrent)
    for event, span in SPANS.items():
        seconds = [outcome.settling_time(*span) for outcome in outcomes]
        note = " ".join(f"{settled:.0f}" for settled in seconds)
        # What exact scores need, and a part more, because late and noisy ones must be waited for.
        goal = 1.3 * best.settling_time(*span)
        yield Figure(f"pace and demand: settled after {event}", max(seconds), goal, "s", note)


def _outcome(case: str, outcome: LoopOutcome) -> Iterator[Figure]:
    yield Figure(f"{case}: moves", len(outcome.moves))
    yield Figure(f"{case}: moves back within an hour", outcome.back)
    yield Figure(f"{case}: worst overload", outcome.overload, None, "%")
    for event, span in SPANS.items():
        yield Figure(f"{case}: settled after {event}", outcome.settling_time(*span), None, "s")


def with_a_liar() -> Iterator[Figure]:
    """What a cluster does that always says that it is free."""
    for case, loop in (
        ("believed", Loop(QUIET, pace=PACE, lies=LIES)),
        ("verified", Loop(QUIET, pace=PACE, lies=LIES, verified=VERIFICATION)),
        (
            "verified, never stopped",
            Loop(QUIET, pace=WITHOUT_STOP, lies=LIES, verified=VERIFICATION),
        ),
    ):
        outcome = loop.run()
        moves = sum(move.target == LIAR for move in outcome.moves)
        stopped = "" if outcome.stopped_at is None else f"stopped after {outcome.stopped_at:.0f} s"
        yield Figure(f"a liar, {case}: moves to it", moves, note=stopped)
        yield Figure(f"a liar, {case}: returned", outcome.returned)
        yield Figure(f"a liar, {case}: worst overload", outcome.overload, None, "%")
        yield Figure(f"a liar, {case}: overload over time", outcome.overload_hours, None, "% h")
    # Verification of honest clusters may take time, but must send nothing back.
    honest = Loop(START, pace=PACE, verified=VERIFICATION).run()
    yield from _outcome("honest, verified", honest)
    yield Figure("honest, verified: returned", honest.returned, 0)


def in_a_wide_fleet() -> Iterator[Figure]:
    situation = _wide_situation()
    seconds: list[float] = []
    for _ in range(3):
        # With scores of its own, so that no run finds what another one has computed.
        fresh = replace(situation, hub=situation.hub.scoring(situation.hub.scores))
        before = time.process_time()
        assert len(admit(fresh).moves) == PACE.concurrent
        seconds.append(time.process_time() - before)
    yield Figure(f"{WIDE}: CPU", min(seconds), 2, "s")
    # Linux counts it in kilobytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield Figure(f"{WIDE}: memory of the benchmark", peak, 400, "MB")


def _wide_situation() -> Situation:
    scores: dict[str, PublishedScore] = {}
    for number in range(WIDE_CLUSTERS):
        # Two numbers without a common divisor: the scores take all values, in no order.
        scores[f"c{number:04}"] = score_of({"free": number * 37 % 97})
    placed = {f"a{number:04}": f"c{number:04}" for number in range(WIDE_PLACEMENTS)}
    hub = hub_of(dict.fromkeys(scores, 1.0), placed).scoring({"free": scores})
    term = PacedTerm("free", "free", 5, demand=5, delay=DELAY, range=RANGE)
    ranking = PacedRanking((term,), steady=1)
    paced: dict[str, Paced] = {}
    for name in placed:
        paced[f"ns/{name}"] = Paced.of(hub.placement(f"ns/{name}"), ranking)
    moment = datetime.fromtimestamp(0, UTC)
    return Situation(hub=hub, paced=paced, ledger=Ledger(), pace=PACE, now=moment)


if __name__ == "__main__":
    sys.exit(main())

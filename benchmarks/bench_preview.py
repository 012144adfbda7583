"""Edits of scoreRange in previews: `python -m benchmarks.bench_preview [--edits 100] [--seed 2]`.

Each fleet has some clusters, scorers and applications of random sizes, and agents that have
published random raw scores. Each edit narrows, widens, moves, turns, adds or removes the scoreRange
of one scorer. The figures say how many previews decide where every application goes, and by how
much the others leave it open. Then the agents run the edited scorer, at once and after a refresh,
and OCM decides: a preview is wrong if what it told as certain does not come true. Exits with 1 when
one is.
"""

import random
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks.measure import Figure, options, shown
from gitops_dsf.hub.intervals import Interval
from gitops_dsf.hub.points import mean_weight
from gitops_dsf.hub.scores import PublishedScore, Scores, score_of
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.pipeline import check
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.plan.summaries import summarise
from gitops_dsf.resolve.next_score import ScorerEdit, unbounded
from gitops_dsf.simulator import simulate
from gitops_dsf.simulator.certainty import certainty
from gitops_dsf.views.preview.hubstate import hub_state
from gitops_dsf.views.preview.transition import Transition
from gitops_dsf.views.preview.verdictpairs import VerdictPair, verdict_pairs
from tests.integration.preview.gitfleet import FLEET, application, cluster, scorer, settings
from tests.support import yamlfast
from tests.support.agent.published import PublishedResult, PublishedScores
from tests.support.rendering import scorer_of

NOW = datetime(2026, 6, 1, 12, 0, 0, tzinfo=UTC)
EDITS_OF_FLEET = 10
INTERVAL = 60
REFRESHED = 900
"""Seconds after which every agent has written each score again."""
WIDE = 3500
"""Clusters of the fleet that the cost is measured with."""


@dataclass(frozen=True)
class PreviewedFleet:
    """A repository on disk, and what its agents have computed last."""

    root: Path
    documents: Mapping[str, dict[str, Any]]
    """Scorers by name."""
    raw_scores: Mapping[str, Mapping[str, float]]
    """By scorer, then by cluster."""


@dataclass
class Tally:
    """What became of all previews."""

    previews: int = 0
    certain: int = 0
    moves: int = 0
    """Certain previews in which an application moves."""
    certain_before: int = 0
    """Previews that would be certain if a new score could be anything that the scorer publishes."""
    wrong: int = 0
    applications: int = 0
    open_applications: int = 0
    possible: list[int] = field(default_factory=list)
    """Clusters among which an open application chooses."""
    open_points: list[float] = field(default_factory=list)
    """Points between the bounds of such a cluster."""
    widths: list[int] = field(default_factory=list)
    """Points between the bounds of a score."""
    seconds: float = 0.0


def main() -> int:
    args = options(__doc__, edits=1000, seed=1)
    return shown((*in_random_fleets(args.edits, args.seed), *in_a_wide_fleet()))


def in_random_fleets(edits: int, seed: int) -> Iterator[Figure]:
    rng = random.Random(seed)
    tally = Tally()
    while tally.previews < edits:
        with tempfile.TemporaryDirectory() as scratch:
            fleet = drawn_fleet(Path(scratch), rng)
            base = checked(fleet.root)
            agents = run_agents(base, fleet, {}, now=0.0)
            # To write and check a fleet takes longer than a preview.
            for _ in range(min(EDITS_OF_FLEET, edits - tally.previews)):
                preview_edit(fleet, base, agents, rng, tally)
    certain = tally.previews - tally.certain
    yield Figure("edits of scoreRange", tally.previews)
    yield Figure("certain previews", tally.certain, note=f"{tally.moves} of them with a move")
    yield Figure("certain previews without bounds", tally.certain_before)
    yield Figure("certain previews that are wrong", tally.wrong, 0)
    yield Figure("open previews", certain)
    yield Figure("open applications", tally.open_applications, note=f"of {tally.applications}")
    # With few edits, no preview may be open.
    if tally.possible:
        text = f"mean {mean(tally.possible):.1f}"
        yield Figure(
            "clusters that an open application chooses among", median(tally.possible), note=text
        )
        text = f"mean {mean(tally.open_points):.1f}"
        yield Figure("points that such a cluster is open by", median(tally.open_points), note=text)
    text = f"mean {mean(tally.widths):.1f}"
    yield Figure("points that a score is open by", median(tally.widths), note=text)
    yield Figure("CPU of one preview", 1000 * tally.seconds / tally.previews, unit="ms")


def drawn_fleet(root: Path, rng: random.Random) -> PreviewedFleet:
    names = [f"cluster-{number:02}" for number in range(rng.randint(2, 30))]
    scorers = {}
    raw_scores: dict[str, dict[str, float]] = {}
    for number in range(rng.randint(1, 3)):
        name = f"scorer-{number}"
        # The sizes of shares, prices, percentages and counts.
        top = rng.choice((1.0, 20.0, 100.0, 5000.0))
        spec: dict[str, Any] = {"scoreRange": drawn_range(rng, top)}
        if rng.random() < 0.5:
            spec["publish"] = {"deadband": rng.randint(0, 5), "minIntervalSeconds": 60}
        scorers[name] = scorer(name, **spec)
        raw_scores[name] = {}
        for cluster_name in names:
            raw_scores[name][cluster_name] = rng.uniform(0, top)
    applications = []
    for number in range(rng.randint(1, 4)):
        ranked_by = rng.sample(sorted(scorers), rng.randint(1, len(scorers)))
        applications.append(
            application(
                f"app-{number}",
                scorers=ranked_by,
                count=rng.randint(1, min(3, len(names))),
                stickiness=rng.choice((0, 10, 20)),
            )
        )
    write(root, "gitops-dsf.yaml", settings())
    write(root, "clusters/fleet.yaml", *(cluster(name, "eu") for name in names), FLEET)
    write(root, "apps/all.yaml", *applications)
    for scorer_name, document in scorers.items():
        write(root, f"scorers/{scorer_name}.yaml", document)
    return PreviewedFleet(root, scorers, raw_scores)


def drawn_range(rng: random.Random, top: float) -> dict[str, Any]:
    # What stands here twice is what most people write.
    low = rng.choice((0.0, 0.0, round(rng.uniform(0, top / 2), 2)))
    high = round(low + rng.uniform(top / 10, top), 2)
    first, last = rng.choice(((1, 100), (1, 100), (100, 1), (0, 100), (-100, 100), (100, -100)))
    return {"min": low, "max": high, "outputMin": first, "outputMax": last}


def edited(document: dict[str, Any], rng: random.Random, top: float) -> dict[str, Any]:
    """The scorer with another scoreRange, or with none, or with one where it had none."""
    spec = dict(document["spec"])
    before = spec.pop("scoreRange", None)
    kind = rng.choice(("narrow", "widen", "move", "turn", "draw", "remove"))
    # `draw` makes a scale that has nothing in common with the one before.
    if before is None or kind == "draw":
        spec["scoreRange"] = drawn_range(rng, top)
    elif kind != "remove":
        span = before["max"] - before["min"]
        after = dict(before)
        if kind == "narrow":
            after["min"] = before["min"] + rng.uniform(0, 0.4) * span
            after["max"] = before["max"] - rng.uniform(0, 0.4) * span
        elif kind == "widen":
            after["max"] = before["max"] + rng.uniform(0.1, 2) * span
        elif kind == "move":
            shift = rng.uniform(-0.5, 0.5) * span
            after["min"] = before["min"] + shift
            after["max"] = before["max"] + shift
        else:
            after["outputMin"] = before["outputMax"]
            after["outputMax"] = before["outputMin"]
        spec["scoreRange"] = after
    return {**document, "spec": spec}


def write(root: Path, name: str, *documents: Mapping[str, Any]) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yamlfast.dump(*map(dict, documents)), encoding="utf-8")


def checked(root: Path) -> CheckedFleet:
    result = check(root)
    if result.fleet is None:
        sys.exit("\n".join(map(str, result.diagnostics)))
    return result.fleet


def run_agents(
    fleet: CheckedFleet,
    of: PreviewedFleet,
    published: Mapping[str, PublishedScores],
    *,
    now: float,
) -> dict[str, PublishedScores]:
    """One cycle of every scorer on every cluster. What was published before is not changed."""
    agents = {}
    for name in fleet.cluster_names:
        before = published[name].by_name if name in published else {}
        agents[name] = PublishedScores(name, dict(before))
    for scorer_name, by_cluster in of.raw_scores.items():
        summary = summarise(fleet.scorer_by_name[scorer_name])
        for name, raw in by_cluster.items():
            agents[name].cycle(summary, [PublishedResult(raw)], now=now)
    return agents


def scores_of(agents: Mapping[str, PublishedScores], fleet: CheckedFleet) -> Scores:
    scores: dict[str, dict[str, PublishedScore]] = {}
    for resource in fleet.scorer_by_resource:
        scores[resource] = {}
        for name, agent in agents.items():
            scores[resource][name] = score_of(agent.by_name[resource].values)
    return scores


def preview_edit(
    fleet: PreviewedFleet,
    base: CheckedFleet,
    agents: Mapping[str, PublishedScores],
    rng: random.Random,
    tally: Tally,
) -> None:
    ranked_by: set[str] = set()
    for placement in base.placements:
        ranked_by.update(term.name for term in placement.scores)
    # A scorer that ranks nothing would make every preview a certain one. Sorted, because the order
    # of a set differs in each run.
    name = rng.choice(sorted(ranked_by))
    document = fleet.documents[name]
    top = max(fleet.raw_scores[name].values())
    write(fleet.root, f"scorers/{name}.yaml", edited(document, rng, top))
    head = checked(fleet.root)
    # Every edit begins with the same fleet, whose agents have published its scores.
    write(fleet.root, f"scorers/{name}.yaml", document)
    snapshot = Snapshot(origin="benchmark", scores=scores_of(agents, base))
    start = time.process_time()
    transition = Transition(base=base, head=head, snapshot=snapshot, now=NOW)
    pairs = [pair for pair in verdict_pairs(transition) if pair.touched]
    tally.seconds += time.process_time() - start
    tally.previews += 1
    tally.applications += len(pairs)
    is_certain = True
    is_certain_without_bounds = True
    has_move = False
    for pair in pairs:
        is_certain &= pair.is_decided
        is_certain_without_bounds &= is_decided_without_bounds(pair, head, name)
        has_move |= chosen_before(pair) != chosen_after(pair)
    tally.certain += is_certain
    tally.certain_before += is_certain_without_bounds
    tally.moves += is_certain and has_move
    for cell in transition.scores.unknown.get(name, {}).values():
        tally.widths.append(cell.interval(name).width)
    for pair in pairs:
        count_open(pair, tally)
    tally.wrong += is_wrong(fleet, transition, pairs, agents)


def chosen_before(pair: VerdictPair) -> frozenset[str]:
    return frozenset() if pair.before is None else pair.before.chosen


def chosen_after(pair: VerdictPair) -> frozenset[str]:
    if pair.certainty is not None:
        return pair.certainty.certain
    return frozenset() if pair.after is None else pair.after.chosen


def is_decided_without_bounds(pair: VerdictPair, head: CheckedFleet, name: str) -> bool:
    """Whether the decision is known even if a changed score can be anything."""
    if pair.after is None:
        return True
    # `exists`: each cluster has a score of it, and so it has a new one, whichever that is.
    cell = unbounded(head.scorer_by_name[name], "", exists=True)
    without_bounds = certainty(pair.after, {name: dict.fromkeys(head.cluster_names, cell)})
    # None: the scorer has no part in the decision.
    return without_bounds is None or without_bounds.decided


def count_open(pair: VerdictPair, tally: Tally) -> None:
    if pair.is_decided or pair.certainty is None or pair.after is None:
        return
    tally.open_applications += 1
    tally.possible.append(len(pair.certainty.open))
    weight = mean_weight(pair.after.prioritizers)
    for name in pair.certainty.open:
        tally.open_points.append(pair.certainty.sums[name].width / weight)


def is_wrong(
    fleet: PreviewedFleet,
    transition: Transition,
    pairs: list[VerdictPair],
    agents: Mapping[str, PublishedScores],
) -> bool:
    """Whether OCM decides something else than what was told as certain, or as possible."""
    head = transition.head
    # At once the deadband may keep a score that a refresh replaces, so the decision may differ. A
    # preview must be right about both.
    at_once = run_agents(head, fleet, agents, now=2 * INTERVAL)
    refreshed = run_agents(head, fleet, at_once, now=REFRESHED)
    for published in (at_once, refreshed):
        state = hub_state(
            head,
            transition.snapshot,
            scores=scores_of(published, head),
            decisions=transition.decided_base.decisions,
        )
        for pair in pairs:
            chosen = simulate(state, pair.placement, NOW).chosen
            bounds = pair.certainty
            if bounds is None and chosen != chosen_after(pair):
                return True
            if bounds is not None and not bounds.certain <= chosen <= bounds.possible:
                return True
    return False


def in_a_wide_fleet() -> Iterator[Figure]:
    """What the bounds of one scorer cost, for each published score once."""
    before = {"scoreRange": {"min": 0, "max": 1}}
    edit = ScorerEdit(
        scorer_of("cpu", **before), scorer_of("cpu", scoreRange={"min": 0, "max": 0.6})
    )
    start = time.process_time()
    widest = Interval(0, 0)
    for number in range(WIDE):
        score = score_of({"cpu": 1 + number % 100})
        bounds = edit.next_score(score, cluster=f"cluster-{number}").interval("cpu")
        widest = max(widest, bounds, key=lambda interval: interval.width)
    milliseconds = 1000 * (time.process_time() - start)
    text = f"the widest has {widest.width} points"
    yield Figure(f"CPU of the bounds of {WIDE} scores", milliseconds, 200, "ms", text)


if __name__ == "__main__":
    sys.exit(main())

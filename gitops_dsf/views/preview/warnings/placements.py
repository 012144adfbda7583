"""Warnings of Placements without a cluster, with too few, or close to another decision."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from gitops_dsf.hub.points import mean_weight, points_needed
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.simulator import Outcome, Verdict, explain, simulate
from gitops_dsf.simulator.scheduler import as_people_wrote
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.hubstate import hub_state
from gitops_dsf.views.preview.verdictpairs import VerdictPair


def filter_warnings(base: CheckedFleet | None, head: CheckedFleet) -> Iterator[str]:
    """Warns of Placements for which the filters leave no cluster, where no hub is known.

    Bindings that the repository does not render are taken as there, because no hub was asked.
    """
    state = hub_state(head, None)
    placements_before = {} if base is None else applied(base).placements
    for key in applied(head).placements:
        verdict = simulate(state, key)
        if verdict.outcome is not Outcome.SCHEDULED:
            yield f"{key}: {_outcome_text(verdict)}"
        elif not verdict.scores:
            reason = _why_no_cluster(verdict)
            if key in placements_before:
                yield f"{key} is left with no cluster: {reason}"
            else:
                yield f"{key} (new) is left with no cluster: {reason}"


def few_clusters_warnings(pairs: Iterable[VerdictPair]) -> Iterator[str]:
    """Warns of Placements that the change leaves without a cluster, or with too few."""
    for pair in pairs:
        verdict = pair.after
        if verdict is None or not pair.touched:
            continue
        if verdict.outcome in {Outcome.PANIC, Outcome.UNSUPPORTED, Outcome.FAILED}:
            yield f"{pair.placement}: {_outcome_text(verdict)}"
        elif verdict.outcome is Outcome.SCHEDULED:
            yield from _few_clusters(pair, verdict)


def close_warnings(
    pairs: Iterable[VerdictPair], max_points: int, spans: Mapping[str, tuple[int, int]]
) -> Iterator[str]:
    """Warns of decisions that a small change of a score would turn, by the weights people wrote.

    `spans` has the lowest and highest value of each score. Of a paced Placement that would move
    already, the queue of moves tells.
    """
    if max_points <= 0:
        return
    for pair in pairs:
        # With unknown scores the verdict has numbers that stand in, and no margin can be told.
        if pair.after is None or not pair.touched or pair.certainty is not None:
            continue
        by_scores = as_people_wrote(pair.after)
        if by_scores.chosen == pair.after.chosen:
            yield from _close(by_scores, max_points, spans)


def _few_clusters(pair: VerdictPair, verdict: Verdict) -> Iterator[str]:
    missing_before = 0 if pair.before is None else pair.before.unscheduled
    selected = len(verdict.chosen)
    if not selected:
        yield f"{pair.placement} is left with no cluster: {_why_no_cluster(verdict)}"
    elif verdict.unscheduled > missing_before:
        # Too few is news only if the change makes it worse.
        yield f"{pair.placement} gets {selected} of {selected + verdict.unscheduled} clusters"


def _outcome_text(verdict: Verdict) -> str:
    """Why OCM does not schedule a Placement."""
    return verdict.notes[0] if verdict.notes else str(verdict.outcome)


def _why_no_cluster(verdict: Verdict) -> str:
    if verdict.status.failed:
        return verdict.status.message
    if not verdict.cluster_sets:
        return verdict.satisfied.message if verdict.satisfied else "no cluster set is bound"
    if not verdict.candidates:
        return f"no cluster in {', '.join(verdict.cluster_sets)}"
    # The most frequent reason: one line cannot name why each of a thousand clusters is out.
    reasons = Counter(f"{drop.filter}: {drop.reason}" for drop in verdict.dropped.values())
    if not reasons:
        return "numberOfClusters is 0"
    [(reason, count)] = reasons.most_common(1)
    return f"{count} of {len(verdict.candidates)} candidates dropped by {reason}"


def _close(
    verdict: Verdict, max_points: int, spans: Mapping[str, tuple[int, int]]
) -> Iterator[str]:
    """Compares the last cluster that is selected with the first one that is not."""
    ranking = verdict.ranking
    if ranking is None or not 0 < ranking.selected < len(ranking.order):
        return
    if not _has_scores(verdict):
        # Nothing is published yet, and all clusters are equal.
        return
    last = verdict.state.names[ranking.clusters[ranking.order[ranking.selected - 1]]]
    rival = verdict.state.names[ranking.clusters[ranking.order[ranking.selected]]]
    of_last = explain(verdict, last, spans=spans)
    of_rival = explain(verdict, rival, spans=spans)
    if of_last.margin is None:
        return
    if points_needed(of_last.margin, mean_weight(verdict.prioritizers)) > max_points:
        return
    flips = []
    for explanation in (of_last, of_rival):
        if explanation.nearest is not None:
            change = abs(explanation.nearest.change)
            flips.append((change, f"{explanation.nearest} on {explanation.cluster}"))
    if flips:
        # Of two equal changes the first one is named, that of the cluster that would be left.
        _, flip_text = min(flips, key=lambda flip: flip[0])
        yield (f"{verdict.placement} would move from {last} to {rival} if {flip_text}")


def _has_scores(verdict: Verdict) -> bool:
    """Whether a score that the Placement ranks by is published on any cluster."""
    scores = verdict.state.scores
    return any(scores.get(result.prioritizer.resource) for result in verdict.prioritizers)

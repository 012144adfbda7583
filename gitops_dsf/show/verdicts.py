"""Simulated verdicts, for a terminal: targets of a Placement, ranks of clusters, and dropped ones.

Scores and points are shown as people compare them, by the weights that they wrote; weighted sums
are in the JSON output only.

Not guaranteed: that every cluster is listed. A list is cut to the first ones, and says how many are
left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dsf_wire.text import printable_lines
from gitops_dsf.hub.objects import ClusterPredicate, ClusterSelector, LabelSelector, Placement
from gitops_dsf.hub.pace import MOVES_SCORE, verification_of
from gitops_dsf.hub.placements import asks_for_scores
from gitops_dsf.hub.points import mean_weight, points_of, points_text
from gitops_dsf.hub.score_states import expired
from gitops_dsf.hub.selectors import lenient_selector
from gitops_dsf.show.movechecks import verification_text
from gitops_dsf.show.tables import table
from gitops_dsf.simulator import Outcome, Verdict
from gitops_dsf.simulator.prioritizers import Prioritizer, PrioritizerResult, prioritizers_of
from gitops_dsf.wording import names_text, plural, prioritizer_text

# In place of a score. OCM counts both as 0, which is not a bad score where others are negative.
MISSING: Final = "none"
EXPIRED: Final = "expired"
MAX_ROWS: Final = 20
"""Lines of a table without --all."""
MIN_ROWS: Final = 5
"""Lines of a table at least, where there are several Placements."""
MAX_LISTED: Final = 40
"""Placements that are listed without --all."""


def placement_text(placement: Placement) -> str:
    """Formats what a Placement asks for: how many clusters, of which sets, filters and ranking."""
    spec = placement.spec
    number = "all" if spec.number_of_clusters is None else str(spec.number_of_clusters)
    if spec.cluster_sets:
        sets = ", ".join(spec.cluster_sets)
        lines = [f"{placement.key} asks for {number} of the clusters in cluster sets {sets}"]
    else:
        lines = [f"{placement.key} asks for {number} of the clusters in all bound cluster sets"]
    for predicate in spec.predicates or ():
        terms = "; ".join(_terms(predicate))
        lines.append(f"  eligible: {terms or 'every cluster'}")
    prioritizers = ", ".join(map(_weighted, prioritizers_of(placement)))
    lines.append(f"  ranked by: {prioritizers or 'nothing'}")
    verification = verification_of(placement)
    if verification is not None:
        lines.append(f"  moves verified by: {verification_text(verification)}")
    return printable_lines(lines)


def _weighted(prioritizer: Prioritizer | PrioritizerResult) -> str:
    """Formats `cpu x5`."""
    return f"{prioritizer_text(prioritizer.name)} x{prioritizer.weight}"


def _terms(predicate: ClusterPredicate) -> Iterator[str]:
    """The terms that a predicate asks of a cluster: it must have all of these."""
    selector = predicate.required_cluster_selector or ClusterSelector()
    claims = selector.claim_selector
    # A claim selector has expressions as a label selector has, but no matchLabels.
    claims_as_labels = LabelSelector(None, claims.match_expressions if claims else None)
    for requirement in lenient_selector(selector.label_selector).requirements:
        yield f"label {requirement}"
    for requirement in lenient_selector(claims_as_labels).requirements:
        yield f"claim {requirement}"
    if selector.cel_selector is not None:
        yield from selector.cel_selector.cel_expressions or ()


def rankings_text(
    verdicts: Sequence[Verdict], unscored: Mapping[str, Placement], *, everything: bool
) -> str:
    """Formats every Placement with its ranking. With several, each one gets a part of the lines.

    `unscored` has the Placements as they were written, where no scores are known.
    """
    if not verdicts:
        return "this repository renders no Placement\n"
    # All Placements share about a screen. Below the minimum a ranking does not show what would
    # change.
    rows = None if everything else max(MIN_ROWS, MAX_ROWS // len(verdicts))
    text = ""
    for verdict in verdicts:
        without_scores = unscored.get(verdict.placement)
        text += f"\n{verdict_text(verdict, without_scores=without_scores, rows=rows)}"
    return text


def list_text(verdicts: Sequence[Verdict], unscored: Mapping[str, Placement]) -> str:
    """Formats one line for each Placement, those that would change first.

    `unscored` has the Placements as they were written, where no scores are known.
    """
    # Clusters that would change come first, so that they are seen where the list is cut.
    listed = sorted(verdicts, key=is_calm)[:MAX_LISTED]
    text = "\n"
    for verdict in listed:
        text += summary_text(verdict, without_scores=unscored.get(verdict.placement))
    if len(listed) < len(verdicts):
        text += f"... and {len(verdicts) - len(listed)} more Placements (--all shows them)\n"
    return f"{text}--placement NAME shows the ranking of a Placement, and --all that of each\n"


def verdict_text(
    verdict: Verdict,
    *,
    by: Verdict | None = None,
    without_scores: Placement | None = None,
    rows: int | None,
) -> str:
    """Formats the selection, the ranking with each prioritizer's share, and clusters that are out.

    Each table has at most `rows` lines. With `without_scores`, the Placement as it was written, the
    text says what the filters alone decide. With `by`, the verdict by other weights, it shows the
    ranking of that one.
    """
    if without_scores is not None and _is_ranked(verdict):
        return _eligible(verdict, without_scores, rows)
    notes = [f"  note: {note}" for note in verdict.notes]
    text = printable_lines((f"{verdict.placement}: {_headline(verdict)}", *notes))
    if verdict.ranking is not None:
        text += _ranking(by or verdict, rows, chosen=verdict.chosen)
    return text + _dropped(verdict, rows)


def summary_text(verdict: Verdict, *, without_scores: Placement | None = None) -> str:
    """Formats where a Placement is or would go, in one line.

    Its notes follow if something would change.
    """
    if without_scores is not None and _is_ranked(verdict):
        return printable_lines((_eligible_line(verdict, without_scores),))
    first = f"{verdict.placement}: {_where(verdict)}; {_headline(verdict)}"
    notes = [] if is_calm(verdict) else [f"  note: {note}" for note in verdict.notes]
    return printable_lines((first, *notes))


def _where(verdict: Verdict) -> str:
    """The clusters of a decision, compared with those of now."""
    target = names_text(sorted(verdict.chosen)) or "no cluster"
    if not verdict.current:
        return f"goes to {target}"
    if verdict.current == verdict.chosen:
        return f"stays on {target}"
    return f"would move from {names_text(sorted(verdict.current))} to {target}"


def is_calm(verdict: Verdict) -> bool:
    """Returns whether a Placement is decided, has as many clusters as it wants, and stays."""
    return (
        verdict.outcome is Outcome.SCHEDULED
        and not verdict.status.failed
        and not verdict.unscheduled
        and bool(verdict.chosen)
        # A Placement without a decision is about to get its first one, which is expected.
        and verdict.current in (verdict.chosen, frozenset())
    )


def _is_ranked(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.SCHEDULED and verdict.ranking is not None


def _eligible_line(verdict: Verdict, placement: Placement) -> str:
    """The clusters that pass the filters, and the influence of the scores among them."""
    eligible = plural(len(verdict.scores or ()), "cluster")
    candidates = _candidates(verdict)
    number = placement.spec.number_of_clusters
    if number is None:
        return (
            f"{verdict.placement}: {eligible} eligible of {candidates}; every eligible cluster is"
            " selected"
        )
    return (
        f"{verdict.placement}: {eligible} eligible of {candidates}; scores choose {number} of them"
    )


def _eligible(verdict: Verdict, placement: Placement, rows: int | None) -> str:
    lines = [_eligible_line(verdict, placement)]
    if asks_for_scores(placement):
        lines.append(
            "  note: a predicate asks for scores; it is left out here, so fewer clusters may be"
            " eligible"
        )
    names = sorted(verdict.scores or ())
    visible = names[:rows]
    listed = ", ".join(visible) or "none"
    if len(visible) < len(names):
        more = len(names) - len(visible)
        lines.append(f"  eligible: {listed} and {more} more (--all shows them)")
    else:
        lines.append(f"  eligible: {listed}")
    return printable_lines(lines) + _dropped(verdict, rows)


def _headline(verdict: Verdict) -> str:
    """The number of clusters that are selected, or the reason why none is."""
    if verdict.outcome is not Outcome.SCHEDULED:
        return str(verdict.outcome)
    # A mistake in a filter or a prioritizer ends OCM's pass before anything is ranked.
    if verdict.ranking is None:
        return f"nothing is selected: {verdict.status.message}"
    selected = len(verdict.ranked)
    eligible = plural(len(verdict.ranking.clusters), "cluster")
    wanted = verdict.source.spec.number_of_clusters
    candidates = _candidates(verdict)
    if wanted is not None and verdict.unscheduled:
        return f"{selected} of {eligible} selected ({wanted} asked for), from {candidates}"
    return f"{selected} of {eligible} selected, from {candidates}"


def _candidates(verdict: Verdict) -> str:
    """`3 clusters in cluster set global`: the clusters before the filters."""
    count = plural(len(verdict.candidates), "cluster")
    names = ", ".join(verdict.cluster_sets)
    if not names:
        return f"{count} in no bound cluster set"
    if len(verdict.cluster_sets) > 1:
        return f"{count} in cluster sets {names}"
    return f"{count} in cluster set {names}"


def _ranking(verdict: Verdict, rows: int | None, *, chosen: frozenset[str]) -> str:
    ranking = verdict.ranking
    if ranking is None or not ranking.order:
        return ""
    headers = ["rank", "", "cluster", "points"]
    headers += map(_weighted, verdict.prioritizers)
    weight = mean_weight(verdict.prioritizers)
    visible = ranking.order
    if rows is not None:
        # The first cluster that is not selected is shown as well: it would come in next.
        visible = ranking.order[: max(rows, min(ranking.selected + 1, MAX_ROWS))]
    lines: list[list[str]] = []
    is_incomplete = False
    for number, index in enumerate(visible, start=1):
        name = verdict.state.names[ranking.clusters[index]]
        # The clusters of a paced Placement are not always the first of this ranking.
        mark = "*" if name in chosen else ""
        points = points_text(points_of(ranking.sums[index], weight))
        line = [str(number), mark, name, points]
        for result in verdict.prioritizers:
            line.append(_score(verdict, result.prioritizer, result.values[index], name))
        is_incomplete = is_incomplete or not {MISSING, EXPIRED}.isdisjoint(line[4:])
        lines.append(line)
    text = table(headers, lines, right={0, *range(3, len(headers))})
    if is_incomplete:
        text += f"  ({MISSING} and {EXPIRED} scores count as 0)\n"
    return text + _more_clusters(len(ranking.order) - len(visible))


def _score(verdict: Verdict, prioritizer: Prioritizer, value: int | None, cluster: str) -> str:
    """The score, or why there is none. An item of moves is not a score, so it is never missing."""
    # OCM counts a missing and an expired score as 0. People want to know which of the two it is.
    if prioritizer.built_in is None and prioritizer.resource != MOVES_SCORE:
        score = verdict.state.scores.get(prioritizer.resource, {}).get(cluster)
        if score is None or score.get(prioritizer.score) is None:
            return MISSING
        if expired(score.valid_until, verdict.now):
            return EXPIRED
    return "-" if value is None else str(value)


def _dropped(verdict: Verdict, rows: int | None) -> str:
    if not verdict.dropped:
        return ""
    lines = [[name, drop.filter, drop.reason] for name, drop in verdict.dropped.items()]
    visible = lines[:rows]
    text = table(["out", "by", "because"], visible)
    return text + _more_clusters(len(lines) - len(visible))


def _more_clusters(count: int) -> str:
    return f"  ... and {count} more clusters (--all shows them)\n" if count > 0 else ""

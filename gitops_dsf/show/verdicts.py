"""Formats simulated verdicts and explanations as text."""

from typing import Final

from dsf_wire.text import printable_lines
from gitops_dsf.hub.objects import ClusterSelector, LabelSelector, Placement
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.hub.placements import asks_for_scores
from gitops_dsf.hub.points import mean_weight, points_needed, points_of, points_text
from gitops_dsf.hub.scores import expired
from gitops_dsf.hub.selectors import lenient_selector
from gitops_dsf.journal.record import ClusterReason
from gitops_dsf.show.tables import table
from gitops_dsf.simulator import Explanation, Outcome, Verdict
from gitops_dsf.simulator.prioritizers import Prioritizer, prioritizers_of
from gitops_dsf.wording import names_text, plural, prioritizer_text

MISSING, EXPIRED = "none", "expired"
MOST_ROWS: Final = 20
"""Lines of a table without --all."""


def placement_text(placement: Placement) -> str:
    spec = placement.spec
    sets = (
        f"cluster sets {', '.join(spec.cluster_sets)}"
        if spec.cluster_sets
        else "all bound cluster sets"
    )
    number = spec.number_of_clusters
    lines = [
        f"{placement.key} asks for {'all' if number is None else number} of the clusters in {sets}"
    ]
    for predicate in spec.predicates or ():
        selector = predicate.required_cluster_selector or ClusterSelector()
        claims, cel = selector.claim_selector, selector.cel_selector
        as_labels = LabelSelector(None, claims.match_expressions if claims else None)
        terms = [
            *(f"label {one}" for one in lenient_selector(selector.label_selector).requirements),
            *(f"claim {one}" for one in lenient_selector(as_labels).requirements),
            *((cel.cel_expressions if cel else None) or ()),
        ]
        lines.append(f"  eligible: {'; '.join(terms) or 'every cluster'}")
    ranked = [
        f"{prioritizer_text(item.name)} x{item.weight}" for item in prioritizers_of(placement)
    ]
    lines.append(f"  ranked by: {', '.join(ranked) or 'nothing'}")
    return printable_lines(lines)


def verdict_text(
    verdict: Verdict,
    *,
    by: Verdict | None = None,
    without_scores: Placement | None = None,
    rows: int | None,
) -> str:
    """Formats the selection, the ranking with each prioritizer's share, and the dropped clusters; at most
    `rows` lines of each table. With the Placement as it was written instead of scores: what the filters alone
    decide. `by`: the verdict by other weights, whose ranking is shown in place of its own.
    """
    if (
        without_scores is not None
        and verdict.outcome is Outcome.SCHEDULED
        and verdict.ranking is not None
    ):
        return _eligible(verdict, without_scores, rows)
    text = printable_lines(
        (
            f"{verdict.placement}: {_headline(verdict)}",
            *(f"  note: {note}" for note in verdict.notes),
        )
    )
    if verdict.ranking is not None:
        text += _ranking(by or verdict, rows, chosen=verdict.chosen)
    return text + _dropped(verdict, rows)


def summary_text(verdict: Verdict, *, without_scores: Placement | None = None) -> str:
    """Formats where a Placement is or would go, in one line, with its notes if something would change."""
    if (
        without_scores is not None
        and verdict.outcome is Outcome.SCHEDULED
        and verdict.ranking is not None
    ):
        return printable_lines((_eligible_line(verdict, without_scores),))
    before, after = sorted(verdict.current), sorted(verdict.chosen)
    to = names_text(after) or "no cluster"
    where = f"goes to {to}"
    if before:
        where = (
            f"stays on {to}" if before == after else f"would move from {names_text(before)} to {to}"
        )
    notes = () if is_calm(verdict) else verdict.notes
    first = f"{verdict.placement}: {where}; {_headline(verdict)}"
    return printable_lines((first, *(f"  note: {note}" for note in notes)))


def is_calm(verdict: Verdict) -> bool:
    """Whether there is nothing to say of it: it is decided, has as many clusters as it wants, and stays."""
    return (
        verdict.outcome is Outcome.SCHEDULED
        and not verdict.status.failed
        and not verdict.unscheduled
        and bool(verdict.chosen)
        and verdict.current in (verdict.chosen, frozenset())
    )


def _eligible_line(verdict: Verdict, placement: Placement) -> str:
    number_of_clusters = placement.spec.number_of_clusters
    choice = "every eligible cluster is selected"
    if number_of_clusters is not None:
        choice = f"scores choose {number_of_clusters} of them"
    eligible = plural(len(verdict.scores or ()), "cluster")
    return f"{verdict.placement}: {eligible} eligible of {_candidates(verdict)}; {choice}"


def _eligible(verdict: Verdict, placement: Placement, rows: int | None) -> str:
    names = sorted(verdict.scores or ())
    lines = [_eligible_line(verdict, placement)]
    if asks_for_scores(placement):
        lines.append(
            "  note: a predicate asks for scores; it is left out here, so fewer clusters may be eligible"
        )
    shown = names[:rows]
    more = (
        f" and {len(names) - len(shown)} more (--all shows them)" if len(shown) < len(names) else ""
    )
    lines.append(f"  eligible: {', '.join(shown) or 'none'}{more}")
    return printable_lines(lines) + _dropped(verdict, rows)


def _headline(verdict: Verdict) -> str:
    if verdict.outcome is not Outcome.SCHEDULED:
        return str(verdict.outcome)
    if verdict.ranking is None:
        return f"nothing is selected: {verdict.status.message}"
    number_of_clusters = verdict.source.spec.number_of_clusters
    asked = (
        ""
        if number_of_clusters is None or not verdict.unscheduled
        else f" ({number_of_clusters} asked for)"
    )
    total = plural(len(verdict.ranking.clusters), "cluster")
    return f"{len(verdict.ranked)} of {total} selected{asked}, from {_candidates(verdict)}"


def _candidates(verdict: Verdict) -> str:
    names = ", ".join(verdict.cluster_sets)
    sets = f"cluster set{'s' if len(verdict.cluster_sets) > 1 else ''} {names}"
    return f"{plural(len(verdict.candidates), 'cluster')} in {sets if names else 'no bound cluster set'}"


def _ranking(verdict: Verdict, rows: int | None, *, chosen: frozenset[str]) -> str:
    ranking = verdict.ranking
    if ranking is None or not ranking.order:
        return ""
    names, weight = verdict.state.names, mean_weight(verdict.prioritizers)
    weighted = (f"{prioritizer_text(item.name)} x{item.weight}" for item in verdict.prioritizers)
    headers = ["rank", "", "cluster", "points", *weighted]
    # The first cluster that is not selected is shown as well, because it is the next one to be.
    shown = (
        ranking.order
        if rows is None
        else ranking.order[: max(rows, min(ranking.selected + 1, MOST_ROWS))]
    )
    lines = []
    for number, index in enumerate(shown, start=1):
        name = names[ranking.clusters[index]]
        scores = (
            _score(verdict, item.prioritizer, item.values[index], name)
            for item in verdict.prioritizers
        )
        points = points_text(points_of(ranking.sums[index], weight))
        lines.append([str(number), "*" if name in chosen else "", name, points, *scores])
    text = table(headers, lines, right={0, *range(3, len(headers))})
    if any(cell in {MISSING, EXPIRED} for line in lines for cell in line[4:]):
        text += f"  ({MISSING} and {EXPIRED} scores count as 0)\n"
    return text + _more(len(ranking.order) - len(shown), "clusters")


def _score(verdict: Verdict, prioritizer: Prioritizer, value: int | None, cluster: str) -> str:
    """The score, or why there is none. An item of moves is no score, so nobody misses one."""
    if prioritizer.built_in is None and prioritizer.resource != MOVES_SCORE:
        found = verdict.state.scores.get(prioritizer.resource, {}).get(cluster)
        if found is None or found.get(prioritizer.score) is None:
            return MISSING
        if expired(found.valid_until, verdict.now):
            return EXPIRED
    return "-" if value is None else str(value)


def _dropped(verdict: Verdict, rows: int | None) -> str:
    if not verdict.dropped:
        return ""
    found = list(verdict.dropped.items())
    shown = found[:rows]
    text = table(
        ["out", "by", "because"], [[name, drop.filter, drop.reason] for name, drop in shown]
    )
    return text + _more(len(found) - len(shown), "clusters")


def _more(count: int, what: str) -> str:
    return f"  ... and {count} more {what} (--all shows them)\n" if count > 0 else ""


def explanation_text(explanation: Explanation | ClusterReason, *, placement: str) -> str:
    """Whether a cluster is selected, why, and what each prioritizer adds to its points."""
    selected = "selected" if explanation.selected else "not selected"
    dropped = f"dropped by the filter {explanation.filter}: " if explanation.filter else ""
    text = printable_lines(
        (
            f"{placement}, cluster {explanation.cluster}: {selected}",
            f"  {dropped}{explanation.reason}",
        )
    )
    return f"{text}\n{_contributions(explanation)}" if explanation.contributions else text


def _contributions(explanation: Explanation | ClusterReason) -> str:
    rows, weight = [], mean_weight(explanation.contributions)
    for part in explanation.contributions:
        score = "-" if part.score is None else str(part.score)
        points = points_text(points_of(part.points, weight))
        rows.append([part.name, score, f"x {part.weight}", points, part.note])
    rows.append(["total", "", "", points_text(points_of(explanation.points or 0, weight)), ""])
    return table(["prioritizer", "score", "weight", "points", ""], rows, right={1, 2, 3})


def what_would_flip(explanation: Explanation) -> str:
    if explanation.filter is not None:
        return (
            "\n  what would have to change: the cluster, or what the filter asks for; a better score does not"
            " help\n"
        )
    if explanation.margin is None:
        nothing = "\n  what would have to change: no score can flip this decision\n"
        return nothing if explanation.rank is not None else ""
    weight = mean_weight(explanation.contributions)
    verb = "lose" if explanation.selected else "gain"
    points = plural(points_text(points_needed(explanation.margin, weight)), "point")
    rival = f"{explanation.rival} ({points_text(points_of(explanation.rival_points or 0, weight))})"
    lines = ["", f"  what would have to change: it must {verb} {points} against {rival}"]
    if not explanation.flips:
        lines.append("    no score of this Placement has a weight, so none can do that")
    nearest = explanation.nearest
    lines += (
        f"    {flip}{'  <- the nearest' if flip is nearest else ''}" for flip in explanation.flips
    )
    return printable_lines(lines)

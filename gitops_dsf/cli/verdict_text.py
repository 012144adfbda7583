"""Formats a simulated verdict as text."""

from dsf_wire.text import printable_lines
from gitops_dsf.cli.table import table
from gitops_dsf.hub.freshness import expired
from gitops_dsf.simulator import Outcome, Verdict
from gitops_dsf.simulator.weights import Prioritizer
from gitops_dsf.wording import plural, prioritizer_text

MISSING, EXPIRED = "none", "expired"


def verdict_text(verdict: Verdict, *, rows: int | None) -> str:
    """Formats the selection, the ranking with each prioritizer's share, and the dropped clusters; at most
    `rows` lines of each table.
    """
    text = printable_lines(
        (f"{verdict.placement}: {_headline(verdict)}", *(f"  note: {note}" for note in verdict.notes))
    )
    if verdict.ranking is not None:
        text += _ranking(verdict, rows)
    return text + _dropped(verdict, rows)


def eligible_text(verdict: Verdict, *, asks_for_scores: bool, rows: int | None) -> str:
    """Formats what the filters alone decide. `asks_for_scores`: a predicate was left out, because there are
    no scores.
    """
    if verdict.outcome is not Outcome.SCHEDULED or verdict.ranking is None:
        return verdict_text(verdict, rows=rows)
    names = sorted(verdict.scores or ())
    number_of_clusters = verdict.source.spec.number_of_clusters
    choice = (
        "every eligible cluster is selected"
        if number_of_clusters is None
        else f"scores choose {number_of_clusters} of them"
    )
    lines = [
        (
            f"{verdict.placement}: {plural(len(names), 'cluster')} eligible of"
            f" {plural(len(verdict.candidates), 'cluster')} in {_sets(verdict)}; {choice}"
        )
    ]
    if asks_for_scores:
        lines.append(
            "  note: a predicate asks for scores; it is left out here, so fewer clusters may be eligible"
        )
    lines.append(_named("  eligible: ", names, rows))
    return printable_lines(lines) + _dropped(verdict, rows)


def _headline(verdict: Verdict) -> str:
    if verdict.outcome is not Outcome.SCHEDULED:
        return str(verdict.outcome)
    if verdict.ranking is None:
        return f"nothing is selected: {verdict.status.message}"
    number_of_clusters = verdict.source.spec.number_of_clusters
    asked = (
        "" if number_of_clusters is None or not verdict.unscheduled else f" ({number_of_clusters} asked for)"
    )
    total = len(verdict.ranking.clusters)
    return (
        f"{len(verdict.ranked)} of {plural(total, 'cluster')} selected{asked}, from"
        f" {plural(len(verdict.candidates), 'cluster')} in {_sets(verdict)}"
    )


def _sets(verdict: Verdict) -> str:
    names = ", ".join(verdict.cluster_sets)
    return (
        f"cluster set{'s' if len(verdict.cluster_sets) > 1 else ''} {names}"
        if names
        else "no bound cluster set"
    )


def _ranking(verdict: Verdict, rows: int | None) -> str:
    ranking = verdict.ranking
    if ranking is None or not ranking.order:
        return ""
    chosen, names = verdict.chosen, verdict.state.names
    headers = [
        "rank",
        "",
        "cluster",
        "points",
        *(f"{prioritizer_text(item.name)} x{item.weight}" for item in verdict.prioritizers),
    ]
    shown = ranking.order if rows is None else ranking.order[:rows]
    lines = []
    for number, index in enumerate(shown, start=1):
        name = names[ranking.clusters[index]]
        scores = (
            _score(verdict, item.prioritizer, item.values[index], name) for item in verdict.prioritizers
        )
        lines.append([str(number), "*" if name in chosen else "", name, str(ranking.sums[index]), *scores])
    text = table(headers, lines, right={0, *range(3, len(headers))})
    if any(cell in {MISSING, EXPIRED} for line in lines for cell in line[4:]):
        text += f"  ({MISSING} and {EXPIRED} scores count as 0)\n"
    return text + _more(len(ranking.order) - len(shown), "clusters")


def _score(verdict: Verdict, prioritizer: Prioritizer, value: int | None, cluster: str) -> str:
    """The score, or why there is none."""
    if prioritizer.built_in is None:
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
    shown = found if rows is None else found[:rows]
    text = table(["out", "by", "because"], [[name, drop.filter, drop.reason] for name, drop in shown])
    return text + _more(len(found) - len(shown), "clusters")


def _named(head: str, names: list[str], rows: int | None) -> str:
    shown = names if rows is None else names[:rows]
    more = f" and {len(names) - len(shown)} more (--all)" if len(shown) < len(names) else ""
    return f"{head}{', '.join(shown) or 'none'}{more}"


def _more(count: int, what: str) -> str:
    return f"  ... and {count} more {what} (--all shows them)\n" if count > 0 else ""

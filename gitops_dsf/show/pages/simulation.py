"""Pages of `simulate` and `explain`: decisions, paced moves, reasons, and the loss of clusters.

Numbers are points by the weights that people wrote. Not guaranteed: a number for each cluster.
Without scores the simulator gives none, and the page says so.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import UNSET

from gitops_dsf.hub.points import mean_weight, points_of, points_text
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.show.explanations import flip_lines
from gitops_dsf.show.losses import departure_text, losses_summary, overload_text
from gitops_dsf.show.pages.kit import Fact
from gitops_dsf.show.pages.report import Notice, Section, Table, columns, report
from gitops_dsf.show.preview.maintenance import window_text
from gitops_dsf.show.preview.pace import move_text, verification_time_text
from gitops_dsf.simulator import Explanation, Verdict
from gitops_dsf.simulator.scheduler import as_people_wrote
from gitops_dsf.views.preview.losses import Loss
from gitops_dsf.views.preview.paced import PacedWaves
from gitops_dsf.views.preview.windows import WindowView
from gitops_dsf.views.scorefailures import ClusterFailure
from gitops_dsf.wording import names_text, plural, prioritizer_text

MAX_RANKED: Final = 50
"""Clusters of a Placement in a table. The page says how many more there are."""
MAX_DETAILED: Final = 100
"""Placements with a table of their own."""
MAX_NAMES: Final = 100


def simulation_page(
    verdicts: Sequence[Verdict],
    *,
    verb: str,
    title: str,
    evidence: str,
    has_scores: bool,
    notes: Sequence[str] = (),
    failures: Sequence[ClusterFailure] = (),
) -> str:
    """The targets of Placements, and the ranks of their clusters by the written weights.

    Without scores the filters alone decide, and no cluster has points.
    """
    rows: list[tuple[str, ...]] = []
    nowhere: list[str] = []
    sections: list[Section] = []
    for verdict in verdicts:
        ranked = 0 if verdict.ranking is None else len(verdict.ranking.clusters)
        chosen = sorted(verdict.chosen) if has_scores else []
        if has_scores and not chosen:
            nowhere.append(verdict.placement)
        if has_scores:
            clusters = names_text(chosen, max_names=MAX_NAMES) or "nowhere"
        else:
            clusters = "not known without scores"
        # A note of the simulator says more than OCM's message, which the real hub shows as well.
        reason = next(iter(verdict.notes), "") or verdict.status.message
        rows.append((verdict.placement, clusters, str(ranked), str(verdict.outcome), reason))
    for verdict in verdicts[:MAX_DETAILED]:
        sections.append(_ranking(verdict, has_scores=has_scores))
    overview = Table(
        columns=columns(
            "Placement", "clusters", "eligible", "outcome", "why", numbers=("eligible",)
        ),
        rows=rows,
    )
    note = ""
    if len(verdicts) > MAX_DETAILED:
        note = f"The first {MAX_DETAILED} have their ranking below; --placement shows another one."
    notices = [Notice("unknown", text) for text in notes]
    if nowhere:
        names = names_text(nowhere, max_names=MAX_NAMES)
        notices.append(
            Notice("error", f"{plural(len(nowhere), 'Placement')} without a cluster", names)
        )
    elif has_scores:
        notices.append(Notice("ok", "Every Placement gets a cluster."))
    return report(
        verb=verb,
        title=title,
        lead=evidence,
        notices=notices,
        sections=(
            Section(heading="Placements", note=note, tables=(overview,)),
            _failing(failures),
            *sections,
        ),
    )


def _ranking(verdict: Verdict, *, has_scores: bool) -> Section:
    """The clusters of one Placement with their scores, best first."""
    ranking = verdict.ranking
    if ranking is None:
        return Section(heading=verdict.placement)
    by_people = as_people_wrote(verdict)
    ranking = by_people.ranking or ranking
    results = by_people.prioritizers if has_scores else ()
    # People compare points of the mean score; the sums of OCM depend on the weights.
    weight = mean_weight(by_people.prioritizers)
    titles = [f"{prioritizer_text(result.name)} x{result.weight}" for result in results]
    rows: list[tuple[str, ...]] = []
    for index in ranking.order[:MAX_RANKED]:
        name = verdict.state.names[ranking.clusters[index]]
        scores = [_number(result.values[index]) for result in results]
        points = points_text(points_of(ranking.sums[index], weight)) if has_scores else ""
        selected = "yes" if name in verdict.chosen and has_scores else ""
        # Without scores every cluster would have 0 points, and the first by name would look best.
        rows.append((name, selected, points, *scores) if has_scores else (name,))
    fields = ("cluster", "selected", "points", *titles) if has_scores else ("cluster",)
    numbers = ("points", *titles)
    sentences = [f"{plural(len(ranking.clusters), 'eligible cluster')}."]
    if len(ranking.clusters) > MAX_RANKED:
        sentences.append(f"The best {MAX_RANKED} are shown; -o json has all.")
    dropped: list[tuple[str, ...]] = []
    for name, drop in list(verdict.dropped.items())[:MAX_RANKED]:
        dropped.append((name, str(drop.filter), drop.reason))
    out = Table(
        title=f"Out by a filter ({len(verdict.dropped)})",
        columns=columns("cluster", "filter", "why"),
        rows=dropped,
        folded=True,
    )
    return Section(
        heading=verdict.placement,
        note=" ".join(sentences),
        tables=(
            Table(columns=columns(*fields, numbers=numbers), rows=rows),
            *((out,) if dropped else ()),
        ),
    )


def explanation_page(
    explanation: Explanation,
    *,
    evidence: str,
    notes: Sequence[str],
    has_flips: bool,
    failures: Sequence[ClusterFailure] = (),
) -> str:
    """The reasons why a cluster is in a decision or not, and the changes that would flip this.

    Without `has_flips`, the decision that the written weights ask for is not that of OCM.
    """
    weight = mean_weight(explanation.contributions)
    rows: list[tuple[str, ...]] = []
    for part in explanation.contributions:
        points = points_text(points_of(part.points, weight))
        rows.append((part.name, _number(part.score), str(part.weight), points, part.note))
    if rows:
        rows.append(("total", "", "", points_text(points_of(explanation.points or 0, weight)), ""))
    changes = flip_lines(explanation)
    return report(
        verb="explain",
        title=f"{explanation.cluster} for {explanation.placement}",
        lead=evidence,
        notices=(
            _standing(explanation),
            *(Notice("unknown", note) for note in notes),
        ),
        sections=(
            Section(
                heading="Points",
                note="Of the weighted mean of the scores.",
                tables=(
                    Table(
                        columns=columns(
                            "prioritizer",
                            "score",
                            "weight",
                            "points",
                            "note",
                            numbers=("score", "weight", "points"),
                        ),
                        rows=rows,
                    ),
                ),
            )
            if rows
            else Section(heading="Points"),
            Section(heading="What would change it", lines=changes if has_flips else ()),
            _failing(failures),
        ),
    )


def _failing(failures: Sequence[ClusterFailure]) -> Section:
    """The reasons why scores are not updated. The last ones still count until their validUntil."""
    if not failures:
        return Section(heading="Scores that are not updated")
    rows: list[tuple[str, ...]] = []
    for failure in failures:
        since = failure.since or "not known"
        rows.append((failure.score, failure.cluster, failure.reason, failure.message, since))
    table = Table(columns=columns("score", "cluster", "reason", "message", "since"), rows=rows)
    return Section(heading="Scores that are not updated", tables=(table,))


def _standing(explanation: Explanation) -> Notice:
    """Whether the cluster is selected, and why."""
    reason = explanation.reason
    if explanation.filter:
        reason = f"dropped by the filter {explanation.filter}: {explanation.reason}"
    match explanation.selected:
        case True:
            return Notice("ok", f"{explanation.cluster} is selected", reason)
        case False:
            return Notice("warning", f"{explanation.cluster} is not selected", reason)
        case None:
            return Notice(
                "unknown", f"Whether {explanation.cluster} is selected is not known", reason
            )


def waves_page(paced: PacedWaves, windows: Sequence[WindowView], *, evidence: str) -> str:
    """The moves that the pace would admit, wave by wave."""
    rows: list[tuple[str, ...]] = []
    row: tuple[str, ...]
    names_of_columns = ["wave", "Placement", "from", "to", "points"]
    # A column that is empty in every row is left out.
    are_verified = any(move.verified is not UNSET for move in paced.moves)
    if are_verified:
        names_of_columns.append("verified for")
    for number, wave in enumerate(paced.waves, start=1):
        for move in wave.moves:
            points = f"{move.points:+g}"
            row = (str(number), move.placement, move.source, move.target, points)
            if are_verified:
                time = "" if move.verified is UNSET else verification_time_text(move.verified)
                row = (*row, time)
            rows.append(row)
    count = plural(len(rows), "paced move")
    waves = plural(len(paced.waves), "wave")
    if not rows:
        summary = Notice("ok", "No paced move follows")
    elif paced.complete:
        summary = Notice("unknown", f"{count} in {waves}")
    else:
        summary = Notice("unknown", f"at least {count} in {waves}")
    notices = [summary]
    if paced.stopped_since is not None:
        since = timestamp_of(paced.stopped_since)
        notices.append(
            Notice("error", f"Moves stopped at {since}", "Too many came back; see status")
        )
    if paced.undecided:
        names = names_text(paced.undecided, max_names=MAX_NAMES)
        notices.append(Notice("unknown", "Without a decision, so OCM places them at once", names))
    return report(
        verb="simulate --paced",
        title="What the pace would admit",
        lead=evidence,
        notices=notices,
        sections=(
            # The start of the waves: open windows forbid moves, and moves that are under way take
            # places of the pace.
            Section(
                heading="Maintenance that is open",
                lines=[f"{window.name}: {window_text(window)}" for window in windows],
            ),
            Section(
                heading="Under way, taken as done", lines=list(map(move_text, paced.under_way))
            ),
            Section(
                heading="Waves",
                note="Moves of one wave are under way together." if rows else "",
                tables=(
                    Table(
                        columns=columns(*names_of_columns, numbers=("points",)),
                        rows=rows,
                    ),
                )
                if rows
                else (),
            ),
        ),
    )


def losses_page(losses: Sequence[Loss], *, left_out: int, evidence: str) -> str:
    """The consequences of the loss of clusters, the worst first."""
    ordered = sorted(
        losses, key=lambda loss: (-len(loss.homeless), -len(loss.overloads), loss.clusters)
    )
    homeless: list[tuple[str, ...]] = []
    overloads: list[str] = []
    rows: list[tuple[str, ...]] = []
    moves: list[tuple[str, ...]] = []
    for loss in ordered:
        lost = names_text(loss.clusters, max_names=MAX_NAMES)
        rows.append(
            (lost, str(len(loss.departures)), str(len(loss.homeless)), str(len(loss.overloads)))
        )
        if loss.homeless:
            homeless.append((lost, names_text(loss.homeless, max_names=MAX_NAMES)))
        for overload in loss.overloads:
            overloads.append(f"if {lost} were lost: {overload_text(overload)}")
        for departure in loss.departures:
            moves.append((lost, departure.placement, departure_text(departure)))
    is_safe = not homeless and not overloads
    summary = losses_summary(losses)
    notices = [Notice("ok" if is_safe else "error", f"{summary[:1].upper()}{summary[1:]}")]
    if left_out:
        message = f"{plural(left_out, 'cluster')} more with applications were left out"
        notices.append(Notice("warning", message, "name them with --lose"))
    return report(
        verb="simulate --lose",
        title="If a cluster were lost",
        lead=evidence,
        notices=notices,
        facts=(
            Fact(str(len(losses)), "losses"),
            Fact(str(len(homeless)), "leave an application nowhere to go"),
        ),
        sections=(
            Section(
                heading="Nowhere to go",
                tables=(
                    Table(columns=columns("if this is lost", "without a cluster"), rows=homeless),
                )
                if homeless
                else (),
            ),
            Section(heading="Overloaded", lines=overloads),
            Section(
                heading="Each loss",
                tables=(
                    Table(
                        columns=columns(
                            "if this is lost",
                            "applications there",
                            "nowhere to go",
                            "overloads",
                            numbers=("applications there", "nowhere to go", "overloads"),
                        ),
                        rows=rows,
                    ),
                    Table(
                        title="Where each application would go",
                        columns=columns("if this is lost", "Placement", "goes"),
                        rows=moves,
                        folded=len(moves) > 30,
                    ),
                ),
            ),
        ),
    )


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)

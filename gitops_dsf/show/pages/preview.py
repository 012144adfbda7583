"""The page of a preview, for `diff -o html` and as the artifact of a pull request's pipeline.

It has every entry of every list, which a comment has no room for.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec import UNSET

from gitops_dsf.show.losses import loss_change_lines
from gitops_dsf.show.pages.kit import Fact
from gitops_dsf.show.pages.report import Notice, Section, Table, columns, report
from gitops_dsf.show.preview.edits import value_text
from gitops_dsf.show.preview.firstscreen import certainty_text
from gitops_dsf.show.preview.headline import headline
from gitops_dsf.show.preview.joborders import job_order_text
from gitops_dsf.show.preview.maintenance import maintenance_lines, maintenance_text
from gitops_dsf.show.preview.moves import standing_text
from gitops_dsf.show.preview.pace import failover_text, paced_change_text, wave_lines
from gitops_dsf.show.preview.rawscores import raw_score_sentences
from gitops_dsf.show.preview.reasons import reason_text
from gitops_dsf.show.preview.warnings import warning_text
from gitops_dsf.views.preview.build import Comparison, Preview
from gitops_dsf.views.preview.fields import FieldChange
from gitops_dsf.views.preview.moves import UNKNOWN, DecisionMove
from gitops_dsf.wording import names_text, plural

MAX_VALUE: Final = 2_000
"""Characters of a value of a field. A query is shorter."""
MAX_NAMES: Final = 100
"""Names in one cell."""
_COUNTED: Final = {
    "scorers": "scorers",
    "clusters": "clusters",
    "works": "ManifestWorks",
    "placements": "Placements",
    "application_sets": "ApplicationSets",
    "other": "other objects",
}


def preview_page(preview: Preview, *, evidence: str) -> str:
    """The whole page. `evidence` says which data the moves are computed from."""
    comparison = preview.comparison
    sections: list[Section] = []
    if comparison is not None:
        evidence = ". ".join([evidence, *raw_score_sentences(preview.raw_scores)])
        sections = list(_sections(comparison))
    head = f"{preview.head[:1].upper()}{preview.head[1:]}"
    return report(
        verb="diff",
        title="What this change does",
        lead=f"{head} compared with {preview.base}. {evidence}",
        notices=tuple(_notices(preview)),
        facts=() if comparison is None else tuple(_facts(comparison)),
        sections=sections,
    )


def _notices(preview: Preview) -> Iterator[Notice]:
    for side, errors in (("head", preview.head_errors), ("base", preview.base_errors)):
        for error in errors:
            message = f"The {side} does not validate: {error.message}"
            yield Notice("error", message, f"{error.file}:{error.line} {error.code}")
    if preview.foreign_files:
        files = names_text(preview.foreign_files, max_names=MAX_NAMES)
        yield Notice("error", "Files in rendered/ that no source produces", files)
    comparison = preview.comparison
    if comparison is not None:
        # A move is neither good nor bad by itself. Whoever reads the page judges it.
        state = "unknown" if comparison.moves else "ok"
        sure = certainty_text(comparison) if comparison.moves else ""
        yield Notice(state, headline(comparison, preview.hub.missing), sure)
        for warning in comparison.warnings:
            yield Notice("warning", warning_text(warning.value))
    for note in preview.notes:
        yield Notice("unknown", note)


def _facts(comparison: Comparison) -> Iterator[Fact]:
    for field, title in _COUNTED.items():
        count = getattr(comparison.summary, field)
        if count.any:
            yield Fact(
                str(count.added + count.removed + count.changed),
                f"of {count.total} {title} change: {count.added} added, {count.removed} removed",
            )


def _sections(comparison: Comparison) -> Iterator[Section]:
    yield _moves(comparison.moves or ())
    yield Section(heading="Would move anyway", lines=comparison.pending)
    if comparison.maintenance is not UNSET:
        lines: list[str] = []
        for window in comparison.maintenance:
            lines.append(maintenance_text(window))
            lines += maintenance_lines(window, max_names=MAX_NAMES)
        yield Section(heading="Maintenance", lines=lines)
    if comparison.paced is not UNSET:
        paced = comparison.paced
        yield Section(
            heading="Paced moves",
            note=f"{paced_change_text(paced)}.",
            lines=tuple(wave_lines(paced.waves)),
        )
    if comparison.job_orders is not UNSET:
        lines = []
        for order in comparison.job_orders:
            lines.append(f"{order.placement}: {job_order_text(order)}")
        yield Section(heading="Order of clusters for jobs", lines=lines)
    if comparison.losses is not UNSET:
        lines = list(loss_change_lines(comparison.losses))
        yield Section(heading="If a cluster were lost", lines=lines)
    if comparison.refuges is not UNSET:
        yield Section(heading="Refuges", lines=list(map(failover_text, comparison.refuges)))
    yield _scorers(comparison)
    yield _edits(comparison)


def _moves(moves: Sequence[DecisionMove]) -> Section:
    rows: list[tuple[str, ...]] = []
    standings: list[tuple[str, ...]] = []
    for move in moves:
        target = UNKNOWN if move.target == UNKNOWN else _names(move.target)
        rows.append(
            (
                _title(move),
                _names(move.origin) or "-",
                target or "nowhere",
                str(move.kind),
                reason_text(move.reason.value),
            )
        )
        for standing in move.standings:
            standings.append((move.application, standing.cluster, standing_text(move, standing)))
    return Section(
        heading="Moves",
        tables=(
            Table(columns=columns("application", "from", "to", "what", "reason"), rows=rows),
            Table(
                title="Points of the clusters, before and after",
                columns=columns("application", "cluster", "points"),
                rows=standings,
                folded=True,
            ),
        )
        if rows
        else (),
    )


def _title(move: DecisionMove) -> str:
    """The Placement, and the applications that follow it unless that is one of the same name."""
    if not move.followers or move.followers == (move.application.partition("/")[2],):
        return move.application
    return f"{move.application} ({_names(move.followers)})"


def _scorers(comparison: Comparison) -> Section:
    rows: list[tuple[str, ...]] = []
    for change in comparison.scorers:
        clusters: list[str] = []
        if change.gained:
            clusters.append(f"also on {plural(len(change.gained), 'cluster')}")
        if change.lost:
            clusters.append(f"no longer on {plural(len(change.lost), 'cluster')}")
        scores = str(change.effect)
        if change.unknown_because:
            scores = f"{change.effect} because of {', '.join(change.unknown_because)}"
        rows.append(
            (
                change.name,
                str(change.change),
                "; ".join(clusters) or f"stays on {plural(change.kept, 'cluster')}",
                scores,
                "; ".join(map(str, change.credentials)),
            )
        )
    fields: list[tuple[str, ...]] = []
    for change in comparison.scorers:
        fields += _field_rows(change.name, change.fields)
    return Section(
        heading="Scorers",
        tables=(
            Table(
                columns=columns("scorer", "change", "where", "its scores", "sends"),
                rows=rows,
            ),
            _fields_table("Fields of scorers", fields),
        )
        if rows
        else (),
    )


def _edits(comparison: Comparison) -> Section:
    tables: list[Table] = []
    source_rows: list[tuple[str, ...]] = []
    for edit in (*comparison.sources, *comparison.bindings):
        title = f"{edit.kind} {_names(edit.names)}"
        # An object that comes or goes without a field has a row all the same.
        source_rows += _field_rows(title, edit.fields) or [(title, "", "", str(edit.change))]
    if source_rows:
        tables.append(_fields_table("As people write it", source_rows))
    rendered: list[tuple[str, ...]] = []
    for placement in comparison.placements:
        rows = _field_rows(placement.placement, placement.fields)
        rendered += rows or [(placement.placement, "", "", str(placement.change))]
    if rendered:
        tables.append(_fields_table("Rendered Placements", rendered))
    return Section(heading="Edits", tables=tables)


def _fields_table(title: str, rows: Sequence[Sequence[str]]) -> Table:
    titles = columns("object", "field", "before", "after")
    # One edit of a shared field changes every application, and what follows must stay in reach.
    return Table(title=title, columns=titles, rows=rows, folded=len(rows) > 20)


def _field_rows(name: str, fields: Iterable[FieldChange]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for field in fields:
        rows.append((name, field.path, _value(field.before), _value(field.after)))
    return rows


def _value(value: Any) -> str:  # noqa: ANN401 - whatever a field holds
    return value_text(value, MAX_VALUE)


def _names(names: Sequence[str]) -> str:
    return names_text(names, max_names=MAX_NAMES)

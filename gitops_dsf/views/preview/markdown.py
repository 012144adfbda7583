"""Formats a preview as Markdown: for a terminal, and, collapsed and limited in length, as a comment."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple

from msgspec import UNSET

from dsf_wire.text import printable
from gitops_dsf.diagnostics.output import FindingOutput
from gitops_dsf.hub.points import mean_weight, points_of, points_text
from gitops_dsf.views.markdown import code, escaped
from gitops_dsf.views.preview.build import Comparison, Preview
from gitops_dsf.views.preview.changes import SourceChange, alike
from gitops_dsf.views.preview.fields import FieldChange
from gitops_dsf.views.preview.maintenance import maintenance_lines, maintenance_text
from gitops_dsf.views.preview.moves import UNKNOWN, Move, Standing, Term, Unknown
from gitops_dsf.views.preview.paced import failover_text, paced_text, wave_lines
from gitops_dsf.views.preview.scorers import ScorerChange
from gitops_dsf.views.preview.scorershift import ScoreEffect
from gitops_dsf.wording import names_text, plural, prioritizer_text

MARKER: Final = "<!-- gitops-dsf-preview -->"
"""First line of every comment, by which a bot finds the comment that it edits."""
MAX_CHARACTERS: Final = 65_000
"""Of a comment. GitHub takes 65,536, and a pipeline may add a few words."""
_COLLAPSED: Final = re.compile(r"<details><summary>(.*)</summary>")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Limit:
    """How much of each list and value is shown, and how the text of others is written."""

    rows: int
    width: int
    names: int
    moves: int | None = None
    """Rows of moves, if they are not as many as those of other lists."""
    scores: int | None = None
    """The moves of which scores are shown."""
    why: str = ", left out to fit a comment"
    plain: Callable[[str], str] = escaped


_COMMENT: Final = (
    _Limit(rows=1_000, width=2_000, names=20),
    _Limit(rows=200, width=1_000, names=10),
    _Limit(rows=80, width=400, names=5),
    _Limit(rows=30, width=200, names=3),
    _Limit(rows=10, width=100, names=2),
    _Limit(rows=3, width=60, names=1),
)
_SHORT: Final = _Limit(rows=10, width=400, names=10, moves=40, scores=5, why="", plain=printable)
_WHOLE: Final = _Limit(rows=1_000_000, width=2_000, names=10, plain=printable)


def markdown(preview: Preview, *, evidence: str) -> str:
    """The comment. It says how much was left out. `evidence`: which data the moves are computed from."""
    for limit in _COMMENT:
        found = "\n".join((MARKER, *_lines(preview, evidence, limit))) + "\n"
        if len(found) <= MAX_CHARACTERS:
            return found
    ending = "\n\n...cut off: this preview is longer than a comment may be.\n"
    return found[: MAX_CHARACTERS - len(ending)] + ending


def text(preview: Preview, *, evidence: str, everything: bool) -> str:
    """Returns the same for a terminal, without HTML: everything, or the first of each list."""
    limit = _WHOLE if everything else _SHORT
    opened = (_COLLAPSED.sub(r"#### \1", line) for line in _lines(preview, evidence, limit))
    return "\n".join(line for line in opened if line != "</details>") + "\n"


def value_text(value: Any, width: int) -> str:  # noqa: ANN401 - whatever a field holds
    """Formats a field's value on one line, with at most `width` characters and how many were left out."""
    if value is None:
        return "(absent)"
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(shown) > width:
        return f"{shown[:width]}... ({len(shown) - width} more characters)"
    return shown or '""'


def _lines(preview: Preview, evidence: str, limit: _Limit) -> Iterator[str]:
    yield from ("### gitops-dsf preview", "")
    yield f"{limit.plain(preview.head)} compared with {code(preview.base)}"
    yield from (f"\n> {limit.plain(note)}" for note in preview.notes)
    if preview.foreign_files:
        files = f"{plural(len(preview.foreign_files), 'file')} that no source renders to"
        why = "Argo CD would apply what is in rendered/, so remove them before merging"
        yield f"\n**Foreign files**: {files}; {why}\n"
        paths = (code(f"rendered/{path}"[: limit.width]) for path in preview.foreign_files)
        yield from _list(paths, preview.foreign_files, "file", limit)
    yield from _errors("base", preview.base_errors, limit)
    yield from _errors("head", preview.head_errors, limit)
    found = preview.comparison
    if found is None:
        return
    yield from ("", *_summary(preview, found, limit))
    yield from _moves(found, evidence, limit)
    yield from _maintenance(found, limit)
    if found.concerns:
        yield "\n#### Warnings\n"
        yield from _long(found.concerns, found.concerns, "warning", limit)
    scorers = (_scorer(item, limit) for item in found.scorers)
    yield from _collapsed(
        f"Scorers ({len(found.scorers)})", scorers, found.scorers, "scorer", limit
    )
    placements = alike(item.edit for item in found.placements)
    for title, edits in (
        ("Applications and placements as written", found.sources),
        ("Rendered Placements", placements),
        ("Cluster set bindings", found.bindings),
    ):
        count = sum(len(edit.names) for edit in edits)
        blocks = (_edit(edit, limit) for edit in edits)
        yield from _collapsed(f"{title} ({count})", blocks, edits, "edit", limit)


def _list(lines: Iterable[str], everything: Sized, what: str, limit: _Limit) -> Iterator[str]:
    yield from (f"- {line}" for line in islice(lines, limit.rows))
    yield from _left_out(everything, what, limit, prefix="- ")


def _long(lines: Iterable[str], everything: Sized, what: str, limit: _Limit) -> Iterator[str]:
    """A list of sentences, which are cut."""
    yield from _list(
        (limit.plain(line[: 4 * limit.width]) for line in lines), everything, what, limit
    )


def _left_out(
    everything: Sized, what: str, limit: _Limit, *, prefix: str = "", rows: int | None = None
) -> Iterator[str]:
    count = len(everything) - (limit.rows if rows is None else rows)
    if count > 0:
        yield f"{prefix}... and {plural(count, what)} more{limit.why}; `gitops-dsf diff --all` shows all"


def _collapsed(
    title: str, blocks: Iterable[Iterable[str]], everything: Sized, what: str, limit: _Limit
) -> Iterator[str]:
    """A collapsed section; empty if there is nothing in it."""
    if not len(everything):
        return
    yield f"\n<details><summary>{title}</summary>\n"
    for block in islice(blocks, limit.rows):
        yield from (*block, "")
    yield from _left_out(everything, what, limit)
    yield "</details>"


def _errors(side: str, errors: Sequence[FindingOutput], limit: _Limit) -> Iterator[str]:
    if errors:
        count = plural(len(errors), "error")
        yield f"\n**The {side} does not validate**, so nothing can be compared: {count}.\n"
        lines = (
            f"{code(f'{item.file}:{item.line}')} {item.code}: {limit.plain(item.message[: 2 * limit.width])}"
            for item in errors
        )
        yield from _list(lines, errors, "error", limit)


def _summary(preview: Preview, found: Comparison, limit: _Limit) -> Iterator[str]:
    summary, clusters = found.summary, found.summary.clusters
    yield from ("| | added | removed | changed | now |", "|---|--:|--:|--:|--:|")
    for title, count in (
        ("scorers", summary.scorers),
        ("clusters in the inventory", summary.clusters),
        ("ManifestWorks", summary.works),
        ("Placements", summary.placements),
        ("ApplicationSets", summary.application_sets),
        ("other rendered objects", summary.other),
    ):
        yield f"| {title} | {count.added} | {count.removed} | {count.changed} | {count.total} |"
    yield f"\n- **{limit.plain(_moves_line(preview))}**"
    for names, what in (
        (clusters.joined, "new"),
        (clusters.left, "no longer"),
        (clusters.edited, "changed"),
    ):
        if names:
            yield f"- {what} in the inventory: {limit.plain(names_text(names, most=limit.names))}"
    for number, what in (
        (clusters.gaining, "gaining a scorer"),
        (clusters.losing, "losing a scorer"),
        (clusters.altered, "with changed scores of a scorer that stays"),
    ):
        if number:
            yield f"- {plural(number, 'cluster')} {what}"
    if found.concerns:
        yield f"- {plural(len(found.concerns), 'warning')}, below"


def _moves_line(preview: Preview) -> str:
    """How many applications move, in one sentence."""
    found = preview.comparison.moves if preview.comparison else None
    if found is None:
        return f"which applications move is unknown: {preview.hub.missing}"
    known = sum(len(move.followers) for move in found if move.target != UNKNOWN)
    others = sum(not move.followers and move.target != UNKNOWN for move in found)
    unknown = sum(max(1, len(move.followers)) for move in found if move.target == UNKNOWN)
    words = "no application moves"
    if known:
        words = f"{plural(known, 'application')} {'moves' if known == 1 else 'move'}"
    if others:
        change = "changes" if others == 1 else "change"
        words += f", {plural(others, 'decision')} for other consumers {change}"
    return (
        f"{words}, and {unknown} more are unknown until the changed scorers have run"
        if unknown
        else words
    )


def _scorer(change: ScorerChange, limit: _Limit) -> Iterator[str]:
    yield f"**{code(change.name)}** {change.change}\n"
    yield from (f"- sends {limit.plain(str(item))} ({item.section})" for item in change.credentials)
    yield from _fields(change.fields, limit)
    for clusters, words in (
        (change.gained, "runs now also on"),
        (change.lost, "no longer runs on"),
    ):
        if clusters:
            names = limit.plain(names_text(clusters, most=limit.names))
            yield f"- {words} {plural(len(clusters), 'cluster')}: {names}"
    unknown, causes = len(change.other_source), "source"
    if change.effect is ScoreEffect.UNKNOWN:
        unknown, causes = change.kept, ", ".join(change.unknown_because)
    if unknown:
        number = plural(unknown, "cluster")
        yield f"- new scores are **unknown** on {number}: {limit.plain(causes)} changed"
    if change.kept and change.effect is ScoreEffect.RANGE:
        yield f"- scores are mapped anew on {plural(change.kept, 'cluster')}"


def _edit(edit: SourceChange, limit: _Limit) -> Iterator[str]:
    yield f"{edit.kind} **{code(names_text(edit.names, most=limit.names))}** {edit.change}\n"
    yield from _fields(edit.fields, limit)


def _fields(fields: Sequence[FieldChange], limit: _Limit) -> Iterator[str]:
    for field in fields[: limit.rows]:
        before, after = value_text(field.before, limit.width), value_text(field.after, limit.width)
        if any(
            isinstance(one, str) and (len(one) > 40 or " " in one)
            for one in (field.before, field.after)
        ):
            yield f"- {code(field.path)}\n"
            yield from (*_diff(before, after), "")
        else:
            yield f"- {code(field.path)}: {code(before)} → {code(after)}"
    yield from _left_out(fields, "field", limit, prefix="- ")


def _diff(before: str, after: str) -> Iterator[str]:
    fence = "`" * max(
        3, 1 + max((len(run) for run in re.findall(r"`+", before + after)), default=0)
    )
    yield f"{fence}diff"
    yield from (f"- {printable(line)}" for line in before.splitlines())
    yield from (f"+ {printable(line)}" for line in after.splitlines())
    yield fence


def _moves(found: Comparison, evidence: str, limit: _Limit) -> Iterator[str]:
    yield "\n#### Moves\n"
    if found.moves is None:
        yield limit.plain(f"unknown: {evidence}")
        return
    yield f"Data: {limit.plain(evidence)}.\n"
    rows = limit.rows if limit.moves is None else limit.moves
    if found.moves:
        yield from ("| application | from | to | reason |", "|---|---|---|---|")
        yield from (_move(move, limit) for move in found.moves[:rows])
        yield from _left_out(found.moves, "move", limit, prefix="\n", rows=rows)
        yield "\n<details><summary>Scores before and after</summary>\n"
        rows = rows if limit.scores is None else min(rows, limit.scores)
        for move in found.moves[:rows]:
            yield f"- {code(move.application)}"
            yield from (
                f"  - {limit.plain(_standing(one))}" for one in move.standings[: 2 * limit.names]
            )
        yield from _left_out(found.moves, "move", limit, prefix="- ", rows=rows)
        yield from ("", "</details>")
    else:
        yield "No application moves."
    if found.paced is not UNSET:
        waves = found.paced.waves
        yield f"\nThe pace: {limit.plain(paced_text(found.paced))}{':' if waves else '.'}\n"
        yield from _long(wave_lines(waves), waves, "wave", limit)
    if found.refuges is not UNSET:
        yield "\nRefuges would be:\n"
        yield from _long(map(failover_text, found.refuges), found.refuges, "cluster", limit)
    if found.pending:
        names = limit.plain(names_text(found.pending, most=limit.names))
        yield f"\nWould move without this change too: {names}"


def _maintenance(found: Comparison, limit: _Limit) -> Iterator[str]:
    """Windows that differ, who leaves when and whereto, and who stays."""
    if found.maintenance is UNSET:
        return
    yield "\n#### Maintenance\n"
    for each in found.maintenance[: limit.rows]:
        yield f"- {code(each.name)} {limit.plain(maintenance_text(each)[: 4 * limit.width])}"
        lines = list(maintenance_lines(each, names=limit.names))
        yield from (f"  - {limit.plain(line[: 4 * limit.width])}" for line in lines[: limit.rows])
        yield from _left_out(lines, "line", limit, prefix="  - ")
    yield from _left_out(found.maintenance, "window", limit, prefix="- ")


def _move(move: Move, limit: _Limit) -> str:
    """The Placement, the applications that follow it unless that is one of the same name, and where to."""
    title = move.application
    if move.followers and move.followers != (title.partition("/")[2],):
        title += f" ({names_text(move.followers, most=limit.names)})"
    origin = names_text(move.origin, most=limit.names) or "nowhere"
    target = (
        UNKNOWN
        if move.target == UNKNOWN
        else names_text(move.target, most=limit.names) or "nowhere"
    )
    cells = map(limit.plain, (origin, target, move.reason[: 2 * limit.width]))
    return f"| {code(title)} | {' | '.join(cells)} |"


def _standing(standing: Standing) -> str:
    """`eu-1: 100 points -> 60 points (cpu x5: 80 -> 40, Steady x1: 100 -> 100)`."""
    before = mean_weight(_Weight(term.name, term.weight_before or 0) for term in standing.terms)
    after = mean_weight(_Weight(term.name, term.weight_after or 0) for term in standing.terms)
    terms = [
        _term(term) for term in standing.terms if term.before is not None or term.after is not None
    ]
    shown = f" ({', '.join(terms)})" if terms else ""
    points = f"{_points(standing.before, before)} -> {_points(standing.after, after)}"
    return f"{standing.cluster}: {points}{shown}"


def _term(term: Term) -> str:
    weight = f"x{term.weight_after if term.weight_before is None else term.weight_before}"
    if term.weight_before is not None and term.weight_after != term.weight_before:
        weight += f"->{'out' if term.weight_after is None else f'x{term.weight_after}'}"
    before, after = ("-" if value is None else str(value) for value in (term.before, term.after))
    after += f" ({term.unknown_because})" if term.unknown_because else ""
    return f"{prioritizer_text(term.name)} {weight}: {before} -> {after}"


class _Weight(NamedTuple):
    """A prioritizer with its weight in one of the two revisions."""

    name: str
    weight: int


def _points(value: int | Unknown | None, weight: int) -> str:
    """A sum in points."""
    if value == UNKNOWN:
        return UNKNOWN
    return "not ranked" if value is None else plural(points_text(points_of(value, weight)), "point")

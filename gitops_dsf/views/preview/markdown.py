"""Formats a preview as a comment on a pull request: GitHub's and GitLab's Markdown, with collapsed details
and a limited length.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.views.markdown import code, escaped
from gitops_dsf.views.preview.build import Comparison, Preview
from gitops_dsf.views.preview.fields import FieldChange
from gitops_dsf.views.preview.moves import Move
from gitops_dsf.views.preview.scorers import Effect, ScorerChange
from gitops_dsf.views.preview.sources import SourceChange
from gitops_dsf.views.preview.summary import PlacementChange, placements_alike
from gitops_dsf.views.preview.wording import (
    NOWHERE,
    cluster_lines,
    count_rows,
    evidence_line,
    foreign_line,
    inventory_lines,
    is_long,
    move_title,
    moves_line,
    standing_text,
    target_text,
    value_text,
)
from gitops_dsf.wording import names_text, plural

MARKER = "<!-- gitops-dsf-preview -->"
"""First line of every comment, by which a bot finds the comment that it edits."""
MAX_CHARACTERS = 65_536
"""Maximum length of a comment on GitHub."""
_TARGET = 65_000
"""The length to stay below; a pipeline may add a few words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Limit:
    """How much of each list and value is shown."""

    rows: int
    width: int
    names: int


_LIMITS = (
    _Limit(rows=1_000, width=2_000, names=20),
    _Limit(rows=200, width=1_000, names=10),
    _Limit(rows=80, width=400, names=5),
    _Limit(rows=30, width=200, names=3),
    _Limit(rows=10, width=100, names=2),
    _Limit(rows=3, width=60, names=1),
)


def markdown(preview: Preview) -> str:
    """Returns the comment, with at most 65,536 characters. It says how much was left out."""
    for limit in _LIMITS:
        found = "\n".join(_lines(preview, limit)) + "\n"
        if len(found) <= _TARGET:
            return found
    ending = "\n\n...cut off: this preview is longer than a comment may be.\n"
    return found[: _TARGET - len(ending)] + ending


def _lines(preview: Preview, limit: _Limit) -> Iterator[str]:
    yield MARKER
    yield "### gitops-dsf preview"
    yield ""
    yield f"{escaped(preview.head)} compared with {code(preview.base)}"
    yield from (f"\n> {escaped(note)}" for note in preview.notes)
    if preview.foreign:
        yield ""
        yield f":rotating_light: **Foreign files**: {foreign_line(len(preview.foreign))}"
        yield ""
        yield from (f"- {code(f'rendered/{path}'[: limit.width])}" for path in preview.foreign[: limit.rows])
        yield from _left_out(len(preview.foreign) - limit.rows, "file", prefix="- ")
    for side, errors in (("base", preview.base_errors), ("head", preview.head_errors)):
        yield from _errors(side, errors, limit)
    if preview.comparison is None:
        return
    found = preview.comparison
    yield ""
    yield from _summary(preview, found, limit)
    scorers, sources = found.scorers, found.sources
    placements = placements_alike(found.placements)
    yield from _collapsed(
        f"Scorers ({len(scorers)})", (_scorer(item, limit) for item in scorers), len(scorers), "scorer", limit
    )
    blocks = (_source(item, limit) for item in sources)
    count = sum(len(item.names) for item in sources)
    yield from _collapsed(
        f"Applications and placements as written ({count})", blocks, len(sources), "edit", limit
    )
    blocks = (_placements(items, limit) for items in placements)
    count = len(found.placements)
    yield from _collapsed(f"Rendered Placements ({count})", blocks, len(placements), "edit", limit)
    yield from _moves(preview, found, limit)
    if found.concerns:
        yield ""
        yield "#### Warnings"
        yield ""
        yield from (
            f"- :warning: {escaped(concern[: 4 * limit.width])}" for concern in found.concerns[: limit.rows]
        )
        yield from _left_out(len(found.concerns) - limit.rows, "warning", prefix="- ")


def _errors(side: str, errors: Sequence[Diagnostic], limit: _Limit) -> Iterator[str]:
    if errors:
        yield ""
        yield (
            f":x: **The {side} does not validate**, so nothing can be compared:"
            f" {plural(len(errors), 'error')}."
        )
        yield ""
        rows = min(20, limit.rows)
        yield from (
            f"- {code(str(item.position))} {item.code}: {escaped(item.message[: 2 * limit.width])}"
            for item in errors[:rows]
        )
        yield from _left_out(len(errors) - rows, "error", prefix="- ")


def _summary(preview: Preview, found: Comparison, limit: _Limit) -> Iterator[str]:
    yield "| | added | removed | changed | now |"
    yield "|---|--:|--:|--:|--:|"
    for title, count in count_rows(found.summary):
        yield f"| {title} | {count.added} | {count.removed} | {count.changed} | {count.total} |"
    yield ""
    yield f"- **{escaped(moves_line(preview))}**"
    yield from (
        f"- {line}" for line in (*inventory_lines(found.summary, limit.names), *cluster_lines(found.summary))
    )
    if found.concerns:
        yield f"- :warning: {plural(len(found.concerns), 'warning')}, at the end"


def _collapsed(
    title: str, blocks: Iterable[Iterable[str]], count: int, what: str, limit: _Limit
) -> Iterator[str]:
    """A collapsed section with at most limit.rows blocks; empty if there are none."""
    if not count:
        return
    yield ""
    yield f"<details><summary>{title}</summary>"
    yield ""
    for block in islice(blocks, limit.rows):
        yield from block
        yield ""
    yield from _left_out(count - limit.rows, what)
    yield "</details>"


def _left_out(count: int, what: str, *, prefix: str = "") -> Iterator[str]:
    if count > 0:
        yield (
            f"{prefix}... and {plural(count, what)} more, left out to fit a comment; `gitops-dsf diff`"
            " shows all"
        )


def _scorer(change: ScorerChange, limit: _Limit) -> Iterator[str]:
    yield f"**{code(change.name)}** {change.change}"
    yield ""
    yield from (f"- :key: sends {escaped(str(item))} ({item.section})" for item in change.credentials)
    yield from _fields(change.fields, limit)
    for clusters, words in ((change.gained, "runs now also on"), (change.lost, "no longer runs on")):
        if clusters:
            names = escaped(names_text(clusters, most=limit.names))
            yield f"- {words} {plural(len(clusters), 'cluster')}: {names}"
    if change.kept and change.effect is Effect.UNKNOWN:
        yield (
            f"- new scores are **unknown** on {plural(len(change.kept), 'cluster')}:"
            f" {escaped(', '.join(change.causes))} changed"
        )
    if change.asks_elsewhere and change.effect is not Effect.UNKNOWN:
        yield (
            f"- new scores are **unknown** on {plural(len(change.asks_elsewhere), 'cluster')}: source changed"
        )
    if change.kept and change.effect is Effect.RANGE:
        yield f"- scores are mapped anew on {plural(len(change.kept), 'cluster')}"


def _source(item: SourceChange, limit: _Limit) -> Iterator[str]:
    yield f"{item.kind} **{code(names_text(item.names, most=limit.names))}** {item.change}"
    yield ""
    yield from _fields(item.fields, limit)


def _placements(items: Sequence[PlacementChange], limit: _Limit) -> Iterator[str]:
    names = [item.placement for item in items]
    yield f"**{code(names_text(names, most=limit.names))}** {items[0].change}"
    yield ""
    yield from _fields(items[0].fields, limit)


def _fields(fields: Sequence[FieldChange], limit: _Limit) -> Iterator[str]:
    for field in fields[: limit.rows]:
        before, after = value_text(field.before, limit.width), value_text(field.after, limit.width)
        if is_long(field.before, field.after):
            yield f"- {code(field.path)}"
            yield ""
            yield from _diff(before, after)
            yield ""
        else:
            yield f"- {code(field.path)}: {code(before)} → {code(after)}"
    yield from _left_out(len(fields) - limit.rows, "field", prefix="- ")


def _diff(before: str, after: str) -> Iterator[str]:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", before + after)), default=0))
    yield f"{fence}diff"
    yield from (f"- {line}" for line in before.splitlines())
    yield from (f"+ {line}" for line in after.splitlines())
    yield fence


def _moves(preview: Preview, found: Comparison, limit: _Limit) -> Iterator[str]:
    yield ""
    yield "#### Moves"
    yield ""
    if found.moves is None:
        yield escaped(evidence_line(preview.evidence))
        return
    yield f"Data: {escaped(evidence_line(preview.evidence))}."
    yield ""
    if not found.moves:
        yield "No application moves."
    else:
        yield "| application | from | to | reason |"
        yield "|---|---|---|---|"
        yield from (_move(move, limit) for move in found.moves[: limit.rows])
        yield from _left_out(len(found.moves) - limit.rows, "move", prefix="\n")
        yield ""
        yield "<details><summary>Scores before and after</summary>"
        yield ""
        for move in found.moves[: limit.rows]:
            yield f"- {code(move.application)}"
            yield from (
                f"  - {escaped(standing_text(standing))}" for standing in move.standings[: 2 * limit.names]
            )
        yield ""
        yield "</details>"
    if found.pending:
        yield ""
        yield f"Would move without this change too: {escaped(names_text(found.pending, most=limit.names))}"


def _move(move: Move, limit: _Limit) -> str:
    origin = names_text(move.origin, most=limit.names) or NOWHERE
    reason = move.reason[: 2 * limit.width]
    return (
        f"| {code(move_title(move, limit.names))} | {escaped(origin)} |"
        f" {escaped(target_text(move, limit.names))} | {escaped(reason)} |"
    )

"""Formats a preview as plain text for terminals and logs."""

from collections.abc import Iterator, Sequence

from dsf_wire.text import printable_lines
from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.views.preview.build import Comparison, Preview
from gitops_dsf.views.preview.fields import FieldChange
from gitops_dsf.views.preview.scorers import Effect, ScorerChange
from gitops_dsf.views.preview.summary import placements_alike
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

WIDTH = 2_000
"""Maximum characters of one value."""
NAMES = 10


def text(preview: Preview) -> str:
    """Formats summary, scorers, Placements, moves and warnings."""
    return printable_lines(_lines(preview))


def _lines(preview: Preview) -> Iterator[str]:
    yield f"{preview.head} compared with {preview.base}"
    yield from (f"note: {note}" for note in preview.notes)
    if preview.foreign:
        yield f"FOREIGN FILES: {foreign_line(len(preview.foreign))}"
        yield from (f"  rendered/{path}" for path in preview.foreign)
    for side, errors in (("base", preview.base_errors), ("head", preview.head_errors)):
        yield from _errors(side, errors)
    if preview.comparison is None:
        return
    found = preview.comparison
    yield ""
    yield from _summary(preview, found)
    for change in found.scorers:
        yield ""
        yield from _scorer(change)
    for source in found.sources:
        yield ""
        yield f"{source.kind} {names_text(source.names, most=NAMES)} {source.change}"
        yield from _fields(source.fields)
    for first, *others in placements_alike(found.placements):
        names = [item.placement for item in (first, *others)]
        yield ""
        yield f"Placement {names_text(names, most=NAMES)} {first.change}"
        yield from _fields(first.fields)
    yield ""
    yield from _moves(preview, found)
    if found.concerns:
        yield ""
        yield "Warnings"
        yield from (f"  {concern}" for concern in found.concerns)


def _errors(side: str, errors: Sequence[Diagnostic]) -> Iterator[str]:
    if errors:
        yield f"the {side} does not validate, so nothing can be compared: {plural(len(errors), 'error')}"
        yield from (f"  {item.position}: {item.code}: {item.message}" for item in errors[:NAMES])


def _summary(preview: Preview, found: Comparison) -> Iterator[str]:
    yield "Summary"
    rows = count_rows(found.summary)
    width = max(len(title) for title, _ in rows)
    for title, count in rows:
        parts = [
            f"{number} {word}"
            for number, word in (
                (count.added, "added"),
                (count.removed, "removed"),
                (count.changed, "changed"),
            )
        ]
        shown = ", ".join(part for part in parts if not part.startswith("0 ")) or "no change"
        yield f"  {title.ljust(width)}  {shown} (now {count.total})"
    yield from (
        f"  {line}" for line in (*inventory_lines(found.summary, NAMES), *cluster_lines(found.summary))
    )
    yield f"  {moves_line(preview)}"
    if found.concerns:
        yield f"  {plural(len(found.concerns), 'warning')}, at the end"


def _scorer(change: ScorerChange) -> Iterator[str]:
    yield f"Scorer {change.name} {change.change}"
    yield from (f"  sends {item} ({item.section})" for item in change.credentials)
    yield from _fields(change.fields)
    if change.gained:
        names = names_text(change.gained, most=NAMES)
        yield f"  runs now on {plural(len(change.gained), 'cluster')} more: {names}"
    if change.lost:
        names = names_text(change.lost, most=NAMES)
        yield f"  no longer runs on {plural(len(change.lost), 'cluster')}: {names}"
    if change.kept and change.effect is Effect.UNKNOWN:
        yield (
            f"  new scores are unknown on {plural(len(change.kept), 'cluster')}: {', '.join(change.causes)}"
            " changed"
        )
    if change.asks_elsewhere and change.effect is not Effect.UNKNOWN:
        yield (f"  new scores are unknown on {plural(len(change.asks_elsewhere), 'cluster')}: source changed")
    if change.kept and change.effect is Effect.RANGE:
        yield f"  scores are mapped anew on {plural(len(change.kept), 'cluster')}"


def _fields(fields: Sequence[FieldChange]) -> Iterator[str]:
    for field in fields:
        if is_long(field.before, field.after):
            yield f"  {field.path}"
            yield f"    - {value_text(field.before, WIDTH)}"
            yield f"    + {value_text(field.after, WIDTH)}"
        else:
            yield f"  {field.path}: {value_text(field.before, WIDTH)} -> {value_text(field.after, WIDTH)}"


def _moves(preview: Preview, found: Comparison) -> Iterator[str]:
    if found.moves is None:
        yield f"Moves: {evidence_line(preview.evidence)}"
        return
    yield f"Moves ({evidence_line(preview.evidence)})"
    if not found.moves:
        yield "  none"
    for move in found.moves:
        origin = names_text(move.origin, most=NAMES) or NOWHERE
        yield f"  {move_title(move, NAMES)}: {origin} -> {target_text(move, NAMES)}"
        yield f"    {move.reason}"
        yield from (f"    {standing_text(standing)}" for standing in move.standings)
    if found.pending:
        yield f"  would move without this change too: {names_text(found.pending, most=NAMES)}"

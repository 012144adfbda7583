"""Rewrites a text until no older spelling is left. What cannot be rewritten is reported."""

from dataclasses import dataclass

from gitops_dsf.diagnostics import Diagnostic, Position
from gitops_dsf.repository.load import Document, load_text
from gitops_dsf.repository.migrate.edit import Edit, apply, edits_for, overlap
from gitops_dsf.repository.model.dialect import Dialect, Rewrite, find_dialects

_BOM = "\ufeff"
_MAX_PASSES = 100
"""One dialect can hide another, such as a field inside of a renamed one. Each pass makes at
least one edit.
"""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One change, and its position in the text before the pass that made it."""

    position: Position
    message: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class Rewritten:
    """The new text, the changes, and what people must decide."""

    text: str
    changes: tuple[Change, ...]
    left: tuple[Change, ...]
    unreadable: tuple[Diagnostic, ...]
    """YAML mistakes in documents that were skipped."""


def rewrite(text: str, *, file: str) -> Rewritten:
    """Rewrites every dialect of a text. A second run changes nothing."""
    changes: list[Change] = []
    for _ in range(_MAX_PASSES):
        edits, made = _one_pass(text, file=file)
        if not edits:
            break
        text = apply(text, edits)
        changes += made
    loaded = load_text(text, file=file)
    left = tuple(
        _change(document, dialect) for document in loaded.documents for dialect in find_dialects(document)
    )
    return Rewritten(text=text, changes=tuple(changes), left=left, unreadable=loaded.diagnostics)


def _one_pass(text: str, *, file: str) -> tuple[list[Edit], list[Change]]:
    """All edits of a pass. Edits that overlap are left for the next pass."""
    shift = len(_BOM) if text.startswith(_BOM) else 0
    edits: list[Edit] = []
    changes: list[Change] = []
    for document in load_text(text, file=file).documents:
        offset = shift + _offset(text[shift:], document.first_line)
        # The place of the score name depends on what the other edits leave of scoring.params, so it comes
        # last, in its own pass.
        dialects = sorted(find_dialects(document), key=lambda dialect: dialect.rewrite is Rewrite.SCORE_NAME)
        others = False
        for dialect in dialects:
            if others and dialect.rewrite is Rewrite.SCORE_NAME:
                continue
            found = edits_for(document, dialect)
            if not found:
                continue
            others = True
            moved = [Edit(edit.start + offset, edit.end + offset, edit.new) for edit in found]
            if not overlap(moved, edits):
                edits += moved
                changes.append(_change(document, dialect))
    return edits, changes


def _offset(text: str, line: int) -> int:
    """Index of the first character of a line; lines start at 0."""
    index = 0
    for _ in range(line):
        index = text.index("\n", index) + 1
    return index


def _change(document: Document, dialect: Dialect) -> Change:
    return Change(position=dialect.position(document), message=dialect.message, hint=dialect.hint)

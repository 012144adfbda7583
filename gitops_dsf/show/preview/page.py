"""A whole preview: the comment of a pull request, and the same text for a terminal."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from gitops_dsf.diagnostics.output import FindingOutput
from gitops_dsf.show.markdown import code
from gitops_dsf.show.preview.edits import edit_sections, scorer_section
from gitops_dsf.show.preview.firstscreen import first_screen
from gitops_dsf.show.preview.joborders import job_order_section
from gitops_dsf.show.preview.limits import COMMENT_LIMITS, SHORT, WHOLE, PageLimits
from gitops_dsf.show.preview.lists import bullets, sentences
from gitops_dsf.show.preview.losses import loss_section
from gitops_dsf.show.preview.maintenance import maintenance_section
from gitops_dsf.show.preview.moves import move_sections, pace_section
from gitops_dsf.show.preview.rawscores import raw_score_sentences
from gitops_dsf.show.preview.summary import object_section
from gitops_dsf.show.preview.warnings import warning_text
from gitops_dsf.views.preview.build import Preview
from gitops_dsf.wording import plural

MARKER: Final = "<!-- gitops-dsf-preview -->"
"""First line of every comment, by which a pipeline finds the comment that it edits."""
MAX_CHARACTERS: Final = 65_000
"""Upper limit of a comment. GitHub takes 65,536, and a pipeline may add a few words."""
_COLLAPSED: Final = re.compile(r"<details><summary>(.*)</summary>")
_EMPTY_LINES: Final = re.compile(r"\n{3,}")
_CUT_OFF: Final = "\n\n...cut off: this preview is longer than a comment may be.\n"


def preview_comment(preview: Preview, *, evidence: str) -> str:
    """Formats the comment. It says how much was left out.

    `evidence` says which data the moves are computed from.
    """
    for limits in COMMENT_LIMITS:
        # The text is written again for each limit: the length of escaped text is not known before.
        comment = "\n".join((MARKER, *_lines(preview, evidence, limits))) + "\n"
        if len(comment) <= MAX_CHARACTERS:
            return comment
    # Even three entries of each list are too long, so the end is missing.
    return comment[: MAX_CHARACTERS - len(_CUT_OFF)] + _CUT_OFF


def preview_text(preview: Preview, *, evidence: str, everything: bool) -> str:
    """Formats the same for a terminal, without HTML: everything, or the first of each list."""
    limits = WHOLE if everything else SHORT
    text = ""
    for line in _lines(preview, evidence, limits):
        # Sections that are collapsed in a comment are open in a terminal.
        if line != "</details>":
            text += _COLLAPSED.sub(r"#### \1", line) + "\n"
    return _EMPTY_LINES.sub("\n\n", text)


def _lines(preview: Preview, evidence: str, limits: PageLimits) -> Iterator[str]:
    yield "### gitops-dsf preview"
    for note in preview.notes:
        yield f"\n> {limits.plain(note)}"
    yield from _foreign_files(preview.foreign_files, limits)
    yield from _errors("base", preview.base_errors, limits)
    yield from _errors("head", preview.head_errors, limits)
    comparison = preview.comparison
    if comparison is not None:
        # The facts for the decision come first, then those that must be read. The rest is there to
        # open.
        evidence = ". ".join([evidence, *raw_score_sentences(preview.raw_scores)])
        yield from first_screen(preview, comparison, evidence, limits)
    yield f"\nCompared: {limits.plain(preview.head)} with {code(preview.base)}"
    if comparison is None:
        return
    yield from maintenance_section(comparison, limits)
    if comparison.warnings:
        yield "\n#### Warnings\n"
        texts = (warning_text(warning.value) for warning in comparison.warnings)
        yield from sentences(texts, comparison.warnings, "warning", limits)
    yield from move_sections(comparison, limits)
    yield from pace_section(comparison, limits)
    yield from job_order_section(comparison, limits)
    yield from loss_section(comparison, limits)
    yield from scorer_section(comparison, limits)
    yield from edit_sections(comparison, limits)
    yield from object_section(comparison, limits)


def _foreign_files(files: Sequence[str], limits: PageLimits) -> Iterator[str]:
    if not files:
        return
    yield (
        f"\n**Foreign files**: {plural(len(files), 'file')} that no source produces; Argo CD"
        " would apply what is in rendered/, so remove them before merging\n"
    )
    # Whoever can open a pull request chooses the names of its files, so they are code spans.
    paths = [code(f"rendered/{path}"[: limits.width]) for path in files[: limits.rows]]
    yield from bullets(paths, files, "file", limits)


def _errors(side: str, errors: Sequence[FindingOutput], limits: PageLimits) -> Iterator[str]:
    if not errors:
        return
    count = plural(len(errors), "error")
    yield f"\n**The {side} does not validate**, so nothing can be compared: {count}.\n"
    lines = []
    for error in errors[: limits.rows]:
        message = limits.plain(error.message[: 2 * limits.width])
        lines.append(f"{code(f'{error.file}:{error.line}')} {error.code}: {message}")
    yield from bullets(lines, errors, "error", limits)

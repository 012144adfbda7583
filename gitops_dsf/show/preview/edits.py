"""Changes of scorers, applications and Placements, field by field, in sections to open."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from dsf_wire.text import printable
from gitops_dsf.hub.pace import PacedRanking
from gitops_dsf.show.markdown import code
from gitops_dsf.show.preview.limits import PageLimits
from gitops_dsf.show.preview.lists import collapsed, left_out
from gitops_dsf.show.preview.pace import paced_ranking_text
from gitops_dsf.views.preview.build import Comparison
from gitops_dsf.views.preview.edits import PACE_FIELD, SourceChange, grouped
from gitops_dsf.views.preview.fields import ChangeKind, FieldChange
from gitops_dsf.views.preview.scorers import ScorerChange
from gitops_dsf.views.preview.scorershift import ScoreEffect
from gitops_dsf.wording import names_text, plural

MAX_INLINE: Final = 40
"""Characters of a value that is shown beside its field. A longer one is shown as a diff."""
_RANKED: Final = re.compile(r"(spec\.(scores|prioritizerPolicy\.configurations)\[[^\]]+\])\..+")
"""The path of a field of a score, or of a prioritizer, of which the name says nearly all."""
_NAMING: Final = re.compile(r".+\]\.(scoreCoordinate\.)?(scorer|builtIn|addOn\..+)")
"""The path of a field by which a score or a prioritizer has its name."""


def scorer_section(comparison: Comparison, limits: PageLimits) -> Iterator[str]:
    """The scorers that change: fields, clusters, credentials, and whether scores are known."""
    scorers = comparison.scorers
    blocks = (_scorer(change, limits) for change in scorers)
    yield from collapsed(f"Scorers ({len(scorers)})", blocks, scorers, "scorer", limits)


def edit_sections(comparison: Comparison, limits: PageLimits) -> Iterator[str]:
    """The changes as people write them, rendered ones, and bindings that are added or removed."""
    rendered = grouped(change.edit for change in comparison.placements)
    settings: list[SourceChange] = []
    others: list[SourceChange] = []
    for edit in comparison.sources:
        # A setting concerns the whole fleet, so it does not stand among applications.
        (settings if edit.kind == "FleetRepository" else others).append(edit)
    yield from _edits("Settings", settings, limits)
    yield from _edits("Applications and placements as written", others, limits)
    yield from _edits("Rendered Placements", rendered, limits)
    yield from _edits("Cluster set bindings", comparison.bindings, limits)


def value_text(value: Any, width: int) -> str:  # noqa: ANN401 - whatever a field holds
    """Formats a field's value on one line, with at most `width` characters of it."""
    if value is None:
        return "(absent)"
    # A field of numbers has 5 and 5.0 for the same, depending on who wrote it.
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) > width:
        return f"{text[:width]}... ({len(text) - width} more characters)"
    # Nothing at all would look like an absent value.
    return text or '""'


def _edits(title: str, edits: Sequence[SourceChange], limits: PageLimits) -> Iterator[str]:
    # Objects that change in the same way are one edit with several names.
    count = sum(len(edit.names) for edit in edits)
    blocks = (_edit(edit, limits) for edit in edits)
    yield from collapsed(f"{title} ({count})", blocks, edits, "edit", limits)


def _edit(edit: SourceChange, limits: PageLimits) -> Iterator[str]:
    names = ", ".join(f"**{code(name)}**" for name in edit.names[: limits.names])
    if len(edit.names) > limits.names:
        names += f" and {len(edit.names) - limits.names} more"
    yield f"{edit.kind} {names} {edit.change}"
    if edit.fields:
        yield ""
        yield from _fields(edit.fields, limits, is_new=edit.change is ChangeKind.ADDED)


def _scorer(change: ScorerChange, limits: PageLimits) -> Iterator[str]:
    yield f"**{code(change.name)}** {change.change}"
    lines = list(_scorer_lines(change, limits))
    if lines:
        yield ""
        yield from lines


def _scorer_lines(change: ScorerChange, limits: PageLimits) -> Iterator[str]:
    for credential in change.credentials:
        yield f"- sends {limits.plain(str(credential))} ({credential.section})"
    yield from _fields(change.fields, limits, is_new=change.change is ChangeKind.ADDED)
    if change.gained:
        yield f"- now also runs on {_clusters(change.gained, limits)}"
    if change.lost:
        yield f"- no longer runs on {_clusters(change.lost, limits)}"
    if change.effect is ScoreEffect.UNKNOWN and change.kept:
        clusters = plural(change.kept, "cluster")
        causes = limits.plain(", ".join(change.unknown_because))
        yield f"- new scores are **unknown** on {clusters}: {causes} changed"
    elif change.effect is not ScoreEffect.UNKNOWN and change.other_source:
        clusters = plural(len(change.other_source), "cluster")
        yield f"- new scores are **unknown** on {clusters}: source changed"
    if change.effect is ScoreEffect.KNOWN and change.kept:
        clusters = plural(change.kept, "cluster")
        causes = limits.plain(", ".join(change.unknown_because))
        yield f"- {causes} changed, and a metric store has the raw scores of {clusters}"
    if change.effect is ScoreEffect.RANGE and change.kept:
        clusters = plural(change.kept, "cluster")
        yield f"- what is published of raw scores changes on {clusters}"


def _clusters(names: Sequence[str], limits: PageLimits) -> str:
    """`3 clusters: eu-1, eu-2 and 1 more`."""
    listed = limits.plain(names_text(names, max_names=limits.names))
    return f"{plural(len(names), 'cluster')}: {listed}"


def _fields(fields: Sequence[FieldChange], limits: PageLimits, *, is_new: bool) -> Iterator[str]:
    """The values of an object that `is_new`, else those before and after."""
    changes = [field for field in fields if not _is_empty(field)]
    # All scores of a new object are new, and people want to see all of its fields.
    entries = {} if is_new else _whole_entries(changes)
    lines = []
    for field in changes:
        entry = _entry(field)
        if entry not in entries:
            lines.append(_field(field, limits, is_new=is_new))
        elif entries[entry]:
            # The first field of an entry that comes or goes stands for all.
            lines.append([f"- {code(entry)}: {entries[entry]}"])
            entries[entry] = ""
    for lines_of_field in lines[: limits.rows]:
        yield from lines_of_field
    yield from left_out(lines, "field", limits, prefix="- ")


def _field(field: FieldChange, limits: PageLimits, *, is_new: bool) -> list[str]:
    words_before = _in_words(field, field.before)
    words_after = _in_words(field, field.after)
    before = value_text(words_before, limits.width)
    after = value_text(words_after, limits.width)
    if field.path == PACE_FIELD and words_before == words_after:
        # Its revision differs, which also changes with the scorers of the application.
        return [f"- {code(field.path)}: the same pace; the change ends holds after returns"]
    if field.path != PACE_FIELD and (_is_prose(field.before) or _is_prose(field.after)):
        return [f"- {code(field.path)}\n", *_diff(None if is_new else before, after), ""]
    if is_new:
        return [f"- {code(field.path)}: {code(after)}"]
    return [f"- {code(field.path)}: {code(before)} → {code(after)}"]


def _is_empty(field: FieldChange) -> bool:
    """Whether an empty list or object is added or removed, which changes nothing."""
    empty: tuple[object, ...] = (None, [], {})
    return field.before in empty and field.after in empty


def _entry(field: FieldChange) -> str:
    """The score or the prioritizer that a field is of; empty if it is of none."""
    ranked = _RANKED.fullmatch(field.path)
    return "" if ranked is None else ranked[1]


def _whole_entries(fields: Sequence[FieldChange]) -> dict[str, str]:
    """The scores and prioritizers that come or go as a whole, each with what becomes of it."""
    by_entry = defaultdict[str, list[FieldChange]](list)
    for field in fields:
        if entry := _entry(field):
            by_entry[entry].append(field)
    texts = {}
    for entry, members in by_entry.items():
        # One that stays may gain or lose a field that has no default, but never its name.
        if not any(_NAMING.fullmatch(field.path) for field in members):
            continue
        if all(field.before is None for field in members):
            texts[entry] = "added" + "".join(_telling_values(members))
        elif all(field.after is None for field in members):
            texts[entry] = "removed" + "".join(_telling_values(members))
    return texts


def _telling_values(members: Iterable[FieldChange]) -> Iterator[str]:
    """The values that an entry shows beside its name: the weight and the demand of a score."""
    for field in members:
        name = field.path.rpartition(".")[2]
        value = field.after if field.before is None else field.before
        if name in {"weight", "demand"} and value:
            yield f", {name} {value}"


def _in_words(field: FieldChange, value: Any) -> Any:  # noqa: ANN401 - whatever a field holds
    """The value, or what it means if it is JSON that only the reconciler reads."""
    if field.path != PACE_FIELD or not isinstance(value, str):
        return value
    try:
        ranking = msgspec.json.decode(value, type=PacedRanking)
    except msgspec.DecodeError:
        return value
    return f"moves are paced: {paced_ranking_text(ranking)}"


def _is_prose(value: object) -> bool:
    """Whether a value is a text of several words, or a long one, such as a query."""
    return isinstance(value, str) and (len(value) > MAX_INLINE or " " in value)


def _diff(before: str | None, after: str) -> Iterator[str]:
    """A block of code in colours, in a fence that no text in it can close."""
    # CommonMark: a fence is closed by at least as many backticks as opened it.
    runs = re.findall(r"`+", (before or "") + after)
    fence = "`" * max(3, 1 + max(map(len, runs), default=0))
    yield f"{fence}diff"
    for line in (before or "").splitlines():
        yield f"- {printable(line)}"
    for line in after.splitlines():
        yield f"+ {printable(line)}"
    yield fence

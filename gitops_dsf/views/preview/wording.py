"""Phrases that the text and the Markdown of a preview share."""

import json
from typing import Any

from gitops_dsf.hub.timestamp import age_text
from gitops_dsf.views.preview.build import Evidence, Preview
from gitops_dsf.views.preview.moves import Move, Standing, Term
from gitops_dsf.views.preview.summary import Count, Summary
from gitops_dsf.wording import names_text, plural

UNKNOWN = "unknown"
NOWHERE = "nowhere"


def foreign_line(count: int) -> str:
    """Says what is wrong with files in rendered/ that are not rendered from the sources."""
    return (
        f"{plural(count, 'file')} that no source renders to; Argo CD would apply what is in rendered/, so"
        " remove them before merging"
    )


def count_rows(summary: Summary) -> list[tuple[str, Count]]:
    """The counted kinds, in the order of display."""
    return [
        ("scorers", summary.scorers),
        ("clusters in the inventory", summary.clusters),
        ("ManifestWorks", summary.works),
        ("Placements", summary.placements),
        ("ApplicationSets", summary.application_sets),
        ("other rendered objects", summary.other),
    ]


def cluster_lines(summary: Summary) -> list[str]:
    """What clusters gain, lose and keep; empty if nothing changes."""
    found = (
        (summary.gaining, "gains a scorer", "gain a scorer"),
        (summary.losing, "loses a scorer", "lose a scorer"),
        (summary.altered, "keeps a scorer whose scores change", "keep a scorer whose scores change"),
    )
    return [
        f"{plural(count, 'cluster')} {one if count == 1 else many}" for count, one, many in found if count
    ]


def inventory_lines(summary: Summary, limit: int) -> list[str]:
    """Clusters that join, leave or change in clusters/."""
    found = (
        (summary.joined, "joins", "join"),
        (summary.left, "leaves", "leave"),
        (summary.edited, "changes in", "change in"),
    )
    return [
        f"{names_text(names, most=limit)} {one if len(names) == 1 else many} the inventory"
        for names, one, many in found
        if names
    ]


def moves_line(preview: Preview) -> str:
    """How many applications move, in one sentence."""
    found = preview.comparison.moves if preview.comparison else None
    if found is None:
        return f"which applications move is {UNKNOWN}: {preview.evidence.missing}"
    known = sum(len(move.followers) for move in found if not move.unknown)
    others = sum(not move.followers and not move.unknown for move in found)
    unknown = sum(max(1, len(move.followers)) for move in found if move.unknown)
    text = (
        f"{plural(known, 'application')} {'moves' if known == 1 else 'move'}"
        if known
        else "no application moves"
    )
    if others:
        text += f", {plural(others, 'decision')} for other consumers {'changes' if others == 1 else 'change'}"
    return f"{text}, and {unknown} more are unknown until the changed scorers have run" if unknown else text


def move_title(move: Move, limit: int) -> str:
    """The Placement, and the applications that follow it unless that is one of the same name."""
    if not move.followers or move.followers == (move.application.partition("/")[2],):
        return move.application
    return f"{move.application} ({names_text(move.followers, most=limit)})"


def evidence_line(evidence: Evidence) -> str:
    """Which data the moves are computed from, and how old it is."""
    if evidence.snapshot is None:
        return f"{UNKNOWN}: {evidence.missing}"
    age = f"seen {age_text(evidence.age)} ago" if evidence.age is not None else "of unknown age"
    return (
        f"{evidence.snapshot.origin}, {plural(evidence.snapshot.score_count, 'AddOnPlacementScore')}, {age}"
    )


def value_text(value: Any, width: int) -> str:  # noqa: ANN401 - whatever a field holds
    """Formats a field's value on one line."""
    if value is None:
        return "(absent)"
    if isinstance(value, str):
        return clip(value, width) or '""'
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return clip(json.dumps(value, ensure_ascii=False, separators=(", ", ": ")), width)


def is_long(*values: Any) -> bool:  # noqa: ANN401 - whatever a field holds
    """Whether a change is easier to read on two lines, such as a query."""
    return any(
        isinstance(value, str) and (len(value) > 40 or "\n" in value or " " in value) for value in values
    )


def clip(text: str, width: int) -> str:
    """Cuts text to `width` characters, and says how many were left out."""
    return text if len(text) <= width else f"{text[:width]}... ({len(text) - width} more characters)"


def target_text(move: Move, limit: int) -> str:
    """Formats the clusters that an application moves to."""
    return UNKNOWN if move.unknown else names_text(move.target, most=limit) or NOWHERE


def standing_text(standing: Standing) -> str:
    """`eu-1: 500 points -> 300 points (cpu x5: 80 -> 40, Steady x2: 100 -> 100)`."""
    terms = ", ".join(
        _term(term)
        for term in standing.terms
        if term.before is not None or term.after is not None or term.unknown
    )
    after = UNKNOWN if any(term.unknown for term in standing.terms) else _points(standing.after)
    return f"{standing.cluster}: {_points(standing.before)} -> {after}" + (f" ({terms})" if terms else "")


def term_title(name: str) -> str:
    """Formats `AddOn/cpu/cpu` as `cpu`."""
    resource, _, score = name.removeprefix("AddOn/").partition("/")
    return resource if score in {"", resource} else f"{resource}/{score}"


def _term(term: Term) -> str:
    weight = f"x{term.weight_after if term.weight_before is None else term.weight_before}"
    if term.weight_before is not None and term.weight_after != term.weight_before:
        weight = f"x{term.weight_before}->{'out' if term.weight_after is None else f'x{term.weight_after}'}"
    after = f"{UNKNOWN} ({term.unknown})" if term.unknown else _number(term.after)
    return f"{term_title(term.name)} {weight}: {_number(term.before)} -> {after}"


def _points(value: int | None) -> str:
    return "not ranked" if value is None else plural(value, "point")


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)

"""The first screen of a preview: the moves and their causes, how sure they are, and what to review.

It is short, because a forge folds a long comment and a terminal scrolls. All details follow in
sections.

Guaranteed: its first sentence never contradicts the sections, because both count the same values
(`headline`), and an unknown score is never shown as a known one. Not guaranteed: that it names
everything; lists are cut, and their sections have the rest.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import UNSET

from gitops_dsf.show.losses import placement_names
from gitops_dsf.show.markdown import code
from gitops_dsf.show.preview.edits import value_text
from gitops_dsf.show.preview.headline import headline
from gitops_dsf.show.preview.joborders import job_order_lines
from gitops_dsf.show.preview.limits import PageLimits
from gitops_dsf.show.preview.moves import MAX_LISTED, move_line
from gitops_dsf.views.preview.build import Comparison, Preview
from gitops_dsf.views.preview.edits import PACE_FIELD
from gitops_dsf.views.preview.fields import FieldChange
from gitops_dsf.views.preview.joborders import MultiKueueChange
from gitops_dsf.views.preview.moves import UNKNOWN, DecisionMove, MoveKind
from gitops_dsf.views.preview.scorers import ScorerChange
from gitops_dsf.views.preview.verification import VerificationChange
from gitops_dsf.wording import be, names_text, plural

MAX_LOSSES: Final = 2
"""Lost clusters that are named. Their section has all."""
MAX_HINTS: Final = 3
"""Hints of one kind for a reviewer. The sections below have all."""
MAX_VALUE: Final = 20
"""Characters of a value of a field."""
_QUERY: Final = "source.params.query"


def first_screen(
    preview: Preview, comparison: Comparison, evidence: str, limits: PageLimits
) -> Iterator[str]:
    """The facts by which a reviewer decides. `evidence` names the data behind the moves."""
    sentence = headline(comparison, preview.hub.missing)
    yield f"\n**{limits.plain(sentence)}**\n"
    moves = comparison.moves
    if moves:
        for move in moves[:MAX_LISTED]:
            yield f"- {move_line(move, limits)}"
        if len(moves) > MAX_LISTED:
            yield f"- and {len(moves) - MAX_LISTED} more, below"
    adopted = _adopted_text(comparison, limits)
    if adopted:
        yield f"- **Adopted:** {adopted}"
    if comparison.pending:
        names = limits.plain(names_text(comparison.pending, max_names=limits.names))
        yield f"- would move anyway: {names}"
    for line in job_order_lines(comparison, limits):
        yield f"- **Jobs:** {line}"
    paced = _paced_text(comparison)
    if paced:
        yield f"- **Pace:** {paced}"
    # Without data of a hub nothing was simulated, so nothing can be said of it.
    if moves is not None:
        yield f"- **How sure:** {limits.plain(certainty_text(comparison))}"
        yield f"- **Nowhere to go:** {limits.plain(_nowhere_text(comparison))}"
    yield f"- **To review:** {_review_text(comparison, limits)}"
    if moves is not None:
        yield f"- **Data:** {limits.plain(evidence)}"


def _adopted_text(comparison: Comparison, limits: PageLimits) -> str:
    """The Placements that run already and that nothing moves; empty if there is none."""
    if comparison.adopted is UNSET:
        return ""
    moving = {move.application for move in comparison.moves or ()}
    staying = [name for name in comparison.adopted if name not in moving]
    # To a reviewer an adopted application looks like a new one, which would start somewhere.
    if not staying:
        return ""
    names = limits.plain(names_text(staying, max_names=limits.names))
    verb = "stays" if len(staying) == 1 else "stay"
    return f"{names} {verb} where the hub has decided already"


def certainty_text(comparison: Comparison) -> str:
    """The certainty of the preview's moves, in one sentence."""
    moves = comparison.moves or ()
    # One open decision makes the whole preview open: people merge all of it, or nothing.
    open_moves = [move for move in moves if move.kind is MoveKind.OPEN]
    paced = comparison.paced
    if open_moves:
        clauses = [_open_text(open_moves, len(moves))]
    elif any(map(_is_told_by_bounds, moves)):
        clauses = ["certain; the new scores are known between bounds, and the bounds decide"]
    else:
        clauses = ["certain, by the scores as they were seen"]
    if paced is not UNSET and paced.unknown:
        names = names_text(paced.unknown)
        clauses.append(
            f"the moves of the pace are a guess, because the new scores of {names} are open"
        )
    if comparison.job_orders is not UNSET and any(order.open for order in comparison.job_orders):
        clauses.append("the order of clusters for jobs is open until the scorers have run")
    if comparison.maintenance is not UNSET:
        clauses.append("maintenance is computed with these scores, too")
    return "; ".join(clauses)


def _open_text(open_moves: list[DecisionMove], count: int) -> str:
    if all(move.bounded for move in open_moves):
        if count == 1:
            return "the decision is open, because the bounds of the new scores overlap"
        return (
            f"{len(open_moves)} of {count} decisions {be(len(open_moves))} open, because the bounds"
            " of the new scores overlap"
        )
    if count == 1:
        return "the decision is open until the scorers have run"
    return (
        f"{len(open_moves)} of {count} decisions {be(len(open_moves))} open until the scorers"
        " have run"
    )


def _is_told_by_bounds(move: DecisionMove) -> bool:
    return any(standing.after == UNKNOWN for standing in move.standings)


def _nowhere_text(comparison: Comparison) -> str:
    """The applications that lose every cluster by the change, or would if a cluster were lost."""
    homeless: list[str] = []
    open_keys: list[str] = []
    for move in comparison.moves or ():
        if move.kind is MoveKind.HOMELESS:
            homeless.append(move.application)
        if _may_be_homeless(move):
            open_keys.append(move.application)
    clauses = [placement_names(homeless)] if homeless else []
    losses = () if comparison.losses is UNSET else comparison.losses
    worse = [change for change in losses if change.homeless]
    for change in worse[:MAX_LOSSES]:
        names = placement_names(change.homeless)
        before = change.homeless_before or "none"
        clauses.append(f"{names} if {change.cluster} were lost (before: {before})")
    if len(worse) > MAX_LOSSES:
        count = plural(len(worse) - MAX_LOSSES, "more cluster")
        clauses.append(f"others if one of {count} were lost, below")
    windows = () if comparison.maintenance is UNSET else comparison.maintenance
    for window in windows:
        if window.homeless:
            names = placement_names(window.homeless)
            clauses.append(f"{names} during the maintenance {window.name}")
    if open_keys:
        clauses.append(f"not known for {placement_names(open_keys)}")
    if not clauses:
        clauses.append("nothing changes, even if a cluster were lost")
    # An overloaded cluster comes after the answer: it is bad, but no application is without a
    # cluster.
    overloads = sum(bool(change.overloads) for change in losses)
    if overloads:
        count = plural(overloads, "cluster")
        clauses.append(f"the loss of {count} would overload another one, below")
    drains = names_text([window.name for window in windows if window.overloads])
    if drains:
        clauses.append(f"the maintenance {drains} would overload a cluster, below")
    return "; ".join(clauses)


def _may_be_homeless(move: DecisionMove) -> bool:
    """Whether a predicate reads an unknown score, so that no cluster may pass."""
    return move.kind is MoveKind.OPEN and move.open_places is None


def _paced_text(comparison: Comparison) -> str:
    """The applications whose moves begin or cease to wait for the pace; empty if there are none."""
    beginning = 0
    ending = 0
    for change in comparison.placements:
        for field in change.fields:
            if field.path == PACE_FIELD:
                # The annotation is there only while a Placement is paced, so adding or removing it
                # shows the change.
                beginning += field.before is None
                ending += field.after is None
    clauses = []
    if beginning:
        count = plural(beginning, "Placement")
        clauses.append(f"from now on the moves of {count} wait for their turn")
    if ending:
        count = plural(ending, "Placement")
        clauses.append(f"the moves of {count} no longer wait for their turn")
    return "; ".join(clauses)


def _review_text(comparison: Comparison, limits: PageLimits) -> str:
    """The parts that need a review: new hosts, credentials, queries, verification, warnings."""
    # Where data and tokens go comes first: a wrong move can be undone, a leak cannot.
    hints = list(_host_hints(comparison, limits))
    hints += _credential_hints(comparison.scorers, limits)
    hints += _query_hints(comparison.scorers, limits)
    if comparison.verification is not UNSET:
        hints += map(limits.plain, _verification_hints(comparison.verification))
    if comparison.multi_kueue is not UNSET:
        hints += map(limits.plain, _multi_kueue_hints(comparison.multi_kueue))
    if comparison.warnings:
        hints.append(f"{plural(len(comparison.warnings), 'warning')}, below")
    return "; ".join(hints) or "no new host, credential or query, and no warning"


def _host_hints(comparison: Comparison, limits: PageLimits) -> Iterator[str]:
    hosts = () if comparison.new_hosts is UNSET else comparison.new_hosts
    for new in hosts[:MAX_HINTS]:
        yield f"new host {code(new.host)} ({limits.plain(new.user)})"
    if len(hosts) > MAX_HINTS:
        yield plural(len(hosts) - MAX_HINTS, "more new host")


def _credential_hints(scorers: Iterable[ScorerChange], limits: PageLimits) -> Iterator[str]:
    hints: list[str] = []
    for change in scorers:
        for credential in change.credentials:
            hints.append(f"{change.name} now sends {credential}")
    yield from map(limits.plain, hints[:MAX_HINTS])
    if len(hints) > MAX_HINTS:
        yield plural(len(hints) - MAX_HINTS, "more new credential")


def _query_hints(scorers: Iterable[ScorerChange], limits: PageLimits) -> Iterator[str]:
    new: list[str] = []
    changed: list[str] = []
    for change in scorers:
        for field in change.fields:
            if field.path == _QUERY:
                names = new if field.before is None else changed
                names.append(change.name)
    if new:
        yield f"new query: {limits.plain(names_text(new, max_names=limits.names))}"
    if changed:
        yield f"changed query: {limits.plain(names_text(changed, max_names=limits.names))}"


def _verification_hints(change: VerificationChange) -> Iterator[str]:
    """Changes of the verification of moves, the most dangerous first."""
    if change.removed:
        yield f"moves no longer verified: {_names(change.removed)}"
    # Grouped by what changes: one edit of a template loosens all applications in the same way.
    loosened: dict[str, list[str]] = {}
    for application in change.loosened:
        fields = ", ".join(f"{field.path} {_changed(field)}" for field in application.fields)
        loosened.setdefault(fields, []).append(application.placement)
    for fields, placements in tuple(loosened.items())[:MAX_HINTS]:
        yield f"verification of {_names(placements)} loosened: {fields}"
    if len(loosened) > MAX_HINTS:
        count = sum(map(len, tuple(loosened.values())[MAX_HINTS:]))
        yield f"verification of {plural(count, 'more application')} loosened"
    for field in change.pace:
        if field.path == "acknowledgedStop":
            yield f"acknowledges that moves stopped, until {field.after}"
        else:
            yield f"the fleet stops later: {field.path} {_changed(field)}"
    if change.future_acknowledgement is not UNSET:
        yield (
            f"acknowledgedStop {change.future_acknowledgement} has no effect yet: it is in the"
            " future. Write the time that status shows"
        )
    if change.added:
        yield f"moves verified from now on: {_names(change.added)}"


def _multi_kueue_hints(change: MultiKueueChange) -> Iterator[str]:
    """The lists that the reconciler writes from now on, and those that it leaves as they are."""
    if change.removed:
        yield (
            f"MultiKueueConfig {names_text(change.removed)} is ordered no longer: its list stays as"
            " it is"
        )
    if change.added:
        yield (
            f"MultiKueueConfig {names_text(change.added)} is ordered from now on: nobody else may"
            " write it"
        )


def _names(placements: Iterable[str]) -> str:
    return names_text([key.partition("/")[2] for key in placements])


def _changed(field: FieldChange) -> str:
    """Formats `80 -> 60`, or `80 -> none`."""
    before = value_text(field.before, MAX_VALUE)
    after = "none" if field.after is None else value_text(field.after, MAX_VALUE)
    return f"{before} -> {after}"

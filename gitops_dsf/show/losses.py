"""The loss of clusters in words: targets, applications without one, and overloaded clusters."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gitops_dsf.views.preview.losschange import LossChange
from gitops_dsf.views.preview.losses import Departure, Loss, OverloadedScore
from gitops_dsf.wording import and_text, names_text, plural

MAX_NAMED: Final = 5
"""Placements that a sentence names."""


def loss_lines(loss: Loss) -> Iterator[str]:
    """Yields what one loss does: a title, and a line for each Placement and each overload."""
    names = names_text(loss.clusters)
    if not loss.departures:
        yield f"if {names} were lost: no application is there, so nothing would move"
        return
    yield f"if {names} were lost: {plural(len(loss.departures), 'application')}"
    for departure in loss.departures:
        yield f"  {departure.placement}: {departure_text(departure)}"
    for overload in loss.overloads:
        yield f"  {overload_text(overload)}"


def losses_summary(losses: Sequence[Loss]) -> str:
    """Formats how many losses leave an application nowhere to go, or overload a cluster."""
    homeless = 0
    overloading = 0
    for loss in losses:
        homeless += bool(loss.homeless)
        overloading += bool(loss.overloads)
    if not losses:
        return "no application has a decision, so no loss would move anything"
    if not homeless and not overloading:
        return f"any one of {plural(len(losses), 'cluster')} can be lost"
    count = plural(len(losses), "cluster")
    if not overloading:
        return f"of {count}, the loss of {homeless} would leave an application nowhere to go"
    if not homeless:
        return f"of {count}, the loss of {overloading} would overload another cluster"
    return (
        f"of {count}, the loss of {homeless} would leave an application nowhere to go, and the loss"
        f" of {overloading} would overload another cluster"
    )


def departure_text(departure: Departure) -> str:
    """Formats `eu-1 -> us-1 (refuge)`, or why it goes nowhere."""
    # It tolerates the taint, its scheduling is disabled, or OCM found a mistake in it.
    if not departure.source:
        return f"stays on {names_text(departure.stays)}: OCM does not decide otherwise"
    source = names_text(departure.source)
    if not departure.target:
        # Without a missing cluster it takes all eligible ones, so its decision only shrinks.
        if departure.missing:
            return f"{source} -> nowhere: no other cluster is eligible"
        return f"leaves {source}, and stays on its other clusters"
    target = names_text(departure.target)
    how = "refuge" if departure.by == "refuge" else "by scores"
    if departure.missing:
        missing = plural(departure.missing, "cluster")
        return f"{source} -> {target} ({how}); {missing} would be missing"
    return f"{source} -> {target} ({how})"


def overload_text(overload: OverloadedScore) -> str:
    """Formats `us-1 would be asked for 30 points of cpu and has 12 left (shop, web)`."""
    names = names_text(map(_name, overload.placements), max_names=MAX_NAMED)
    return (
        f"{overload.cluster} would be asked for {plural(overload.demand, 'point')} of"
        f" {_score_text(overload)} and has {overload.left} left ({names})"
    )


def loss_change_lines(changes: Iterable[LossChange]) -> Iterator[str]:
    """Yields what a change makes worse, then what it makes better."""
    # Read twice: what gets worse comes first, whatever the order of the clusters is.
    listed = list(changes)
    for change in listed:
        if change.homeless:
            yield _homeless_text(change)
        for overload in change.overloads:
            yield f"if {change.cluster} were lost, {overload_text(overload)}; before: not"
    for change in listed:
        if change.housed:
            names = placement_names(change.housed)
            yield f"if {change.cluster} were lost, {names} would no longer be without a cluster"
        for overload in change.relieved:
            yield (
                f"if {change.cluster} were lost, {overload.cluster} would no longer be asked for"
                f" more points of {_score_text(overload)} than it has"
            )


def placement_names(placements: Sequence[str]) -> str:
    """Formats `shop, web and portal`, without namespaces, or the first and how many more."""
    names = tuple(map(_name, placements))
    return and_text(names) if len(names) <= MAX_NAMED else names_text(names, max_names=MAX_NAMED)


def _homeless_text(change: LossChange) -> str:
    names = placement_names(change.homeless)
    before = change.homeless_before or "none"
    return f"if {change.cluster} were lost, {names} would have nowhere to go; before: {before}"


def _name(placement: str) -> str:
    return placement.partition("/")[2]


def _score_text(overload: OverloadedScore) -> str:
    if overload.dimension == overload.resource:
        return overload.resource
    return f"{overload.resource}/{overload.dimension}"

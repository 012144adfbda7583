"""Applications: their clusters, and the state of every copy of those that move."""

from collections.abc import Iterator, Sequence
from typing import Final

from gitops_dsf.views.status.applications import ApplicationView, Copy, CopyState
from gitops_dsf.wording import names_text

MAX_ROWS: Final = 10
"""Applications shown without --all. Those that do not run as decided come first."""


def application_lines(views: Sequence[ApplicationView], *, everything: bool) -> Iterator[str]:
    """Yields each application with its clusters. Those that do not run as decided come first."""
    if not views:
        yield "  none"
        return
    # An unknown state counts as not decided: it may be the one that the user is looking for.
    ordered = sorted(views, key=lambda view: (bool(view.as_decided), view.name))
    visible = ordered if everything else ordered[:MAX_ROWS]
    for view in visible:
        yield from _application(view)
    if len(visible) < len(ordered):
        yield f"  and {len(ordered) - len(visible)} more; --placement or --all shows them"


def _application(view: ApplicationView) -> Iterator[str]:
    # A rendered Placement has the name of its application, so it need not be named.
    if view.placements in {(), (view.name,)}:
        yield f"  {view.name} ({view.strategy}): {application_text(view)}"
    else:
        follows = names_text(view.placements)
        yield f"  {view.name} ({view.strategy}, follows {follows}): {application_text(view)}"
    if view.message:
        yield f"    Argo CD: {view.message}"
    # Where an application runs as it should, the names of its clusters say enough.
    if not view.as_decided:
        for copy in view.copies:
            yield f"    {copy.cluster}: {copy_text(copy, view)}"


def application_text(view: ApplicationView) -> str:
    if view.as_decided is None:
        return "not known"
    if not view.copies:
        return "nowhere, and no cluster is decided"
    if all(copy.standing is CopyState.RUNNING for copy in view.copies):
        return f"running on {names_text(copy.cluster for copy in view.copies)}"
    return "moving" if view.cause is None else f"moving, {view.cause}"


def copy_text(copy: Copy, view: ApplicationView) -> str:
    if copy.standing is CopyState.WAITING:
        return _waiting(copy, view)
    if copy.standing is CopyState.PENDING:
        return "decided; Argo CD has not made the Application yet"
    # Argo CD leaves the two out until it has looked at the Application.
    usual = {"Healthy", "Synced", None, ""}
    unusual = [state for state in (copy.health, copy.sync) if state not in usual]
    return f"{copy.standing} ({', '.join(map(str, unusual))})" if unusual else str(copy.standing)


def _waiting(copy: Copy, view: ApplicationView) -> str:
    """The reason why an old copy is still there: the reconciler's, or else by the strategy."""
    wait = copy.wait
    # The program that waits knows the reason. What the strategy says is only what it should do.
    if wait is not None:
        return f"waiting, no longer decided; {wait.message} ({wait.reason} since {wait.since})"
    match view.strategy:
        case "MakeBeforeBreak" if _are_new_copies_ready(view):
            return (
                "waiting, no longer decided; the new copies are Healthy and Synced, and the"
                " reconciler has not reported why it stays"
            )
        case "MakeBeforeBreak":
            return "waiting, no longer decided; stays until the new copies are Healthy and Synced"
        case "Keep":
            return "waiting, no longer decided; stays, because the strategy is Keep"
        case "Replace":
            return "waiting, no longer decided; deleted at Argo CD's next reconciliation"
        case _:
            return "waiting, no longer decided; stays as its ApplicationSet says"


def _are_new_copies_ready(view: ApplicationView) -> bool:
    """Whether there are new copies that all meet the conditions of the reconciler."""
    is_ready = False
    for copy in view.copies:
        if copy.standing in {CopyState.RUNNING, CopyState.STARTING}:
            if (copy.health, copy.sync) != ("Healthy", "Synced"):
                return False
            is_ready = True
    return is_ready

"""Says in words how a shadow agrees with its live scorer. `status` and previews share these lines."""

from collections.abc import Iterator, Sequence

from gitops_dsf.hub.shadows import Agreement, Difference, Spread
from gitops_dsf.views.shadows.build import Moves, ShadowMove, ShadowView
from gitops_dsf.wording import names_text

NAMES = 5
"""Clusters of a line, and moves."""


def headline(view: ShadowView) -> str:
    """The shadow and how well it agrees, in one line."""
    return f"{view.shadow.name}, a shadow of {view.shadow.live}: {_agrees(view.agreement)}"


def details(view: ShadowView, *, most: int = NAMES) -> Iterator[str]:
    """Distribution, differences, clusters with one score only, and moves; at most `most` of each."""
    found = view.agreement
    if found.live is not None and found.shadow is not None:
        yield (
            f"{view.shadow.live} {_spread(found.live)}, {view.shadow.name} {_spread(found.shadow)}"
            " (lowest, quartile, median, quartile, highest)"
        )
    if found.differences:
        shown = "; ".join(
            _difference(item, alone=found.items == found.clusters) for item in found.differences
        )
        yield f"differ most: {shown}"
    if found.only_live:
        yield f"no score of {view.shadow.name}, which would count as 0: {_some(found.only_live, most)}"
    if found.only_shadow:
        yield f"no score of {view.shadow.live}: {_some(found.only_shadow, most)}"
    yield from _moves(view, most)


def _agrees(found: Agreement) -> str:
    if not found.items:
        return "no cluster has a score of both yet"
    many = "1 cluster" if found.clusters == 1 else f"{found.clusters} clusters"
    if found.correlation is None:
        return f"{many} with both scores, too few or too equal for a rank correlation"
    return f"{many} with both scores, rank correlation {found.correlation:.2f}"


def _spread(found: Spread) -> str:
    values = (found.lowest, found.lower_quartile, found.median, found.upper_quartile, found.highest)
    return " ".join(map(str, values))


def _difference(item: Difference, *, alone: bool) -> str:
    name = item.cluster if alone else f"{item.cluster} ({item.item})"
    ranks = f"rank {item.live_rank} and {item.shadow_rank}"
    return f"{name} {item.live} and {item.shadow} ({ranks})"


def _moves(view: ShadowView, most: int) -> Iterator[str]:
    found = view.moves
    if found is None:
        yield "what its promotion would move is not known"
        return
    if not found.found:
        yield f"its promotion would move nothing{_stay(found)}"
    else:
        yield f"its promotion would move {len(found.found)} of {len(found.found) + found.stay}:"
        yield from (f"  {_move(item, most)}" for item in found.found[:most])
        if len(found.found) > most:
            yield f"  and {len(found.found) - most} more"
    if found.open:
        yield f"not known, because the simulator has no answer: {_some(found.open, most)}"


def _stay(found: Moves) -> str:
    if not found.stay:
        return ": no Placement reads its live score"
    return f": {found.stay} Placement{'s read' if found.stay > 1 else ' reads'} its live score"


def _move(item: ShadowMove, most: int) -> str:
    name = ", ".join(item.followers) or item.placement
    return f"{name}: {_some(item.origin, most)} -> {_some(item.target, most)}"


def _some(names: Sequence[str], most: int) -> str:
    return names_text(names, most=most) or "nowhere"

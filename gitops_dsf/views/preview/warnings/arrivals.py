"""Warnings of many applications that go to one cluster at once.

Its scores do not know what is about to arrive, so it looks free to each of them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.moves import UNKNOWN, DecisionMove
from gitops_dsf.views.preview.paced import is_paced
from gitops_dsf.wording import names_text

MAX_AT_ONCE: Final = 5
"""Applications that may go to one cluster at once without a warning."""


def arrival_warnings(
    moves: Iterable[DecisionMove], base: CheckedFleet | None, head: CheckedFleet
) -> Iterator[str]:
    """Warns of each cluster that gets too many applications, and says what a pace can do."""
    arriving = defaultdict[str, list[str]](list)
    could_be_paced = defaultdict[str, list[str]](list)
    for move in moves:
        # Where it goes is open, so nobody can say what arrives with it.
        if move.target == UNKNOWN:
            continue
        # A pace holds only what has a cluster already.
        is_new = base is None or move.application not in applied(base).placements
        for cluster in move.target:
            arriving[cluster] += move.followers
            if not is_new and not is_paced(head, move.application):
                could_be_paced[cluster] += move.followers
    for cluster, names in sorted(arriving.items()):
        if len(names) > MAX_AT_ONCE:
            hints = "; ".join(_hints(len(could_be_paced[cluster]), len(names), head))
            listed = names_text(sorted(names))
            yield f"{len(names)} applications go to {cluster} at once ({listed}): {hints}"


def _hints(could_be_paced: int, count: int, head: CheckedFleet) -> Iterator[str]:
    """What would let so many of these applications follow one another, and why others would not."""
    if could_be_paced and head.repository.spec.pace is None:
        yield "spec.pace in gitops-dsf.yaml lets them follow one another"
    elif could_be_paced:
        yield "moves.pace: Fleet lets them follow one another"
    if could_be_paced < count:
        yield (
            "the pace does not apply to new applications and to those that lost their cluster: OCM"
            " places them at once"
        )

"""Checks the load of the fleet's agents on the hub."""

from collections.abc import Iterator

from dsf_wire.constants import HUB_SCORER_WRITES_PER_SECOND
from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.repository.load import SETTINGS_FILE
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.hub_writes import MANY_WRITES_PER_SECOND, rate


def hub_can_take_the_writes(context: Context) -> Iterator[Diagnostic]:
    """Refreshes alone, without changed scores, should leave a small hub spare capacity."""
    writes = rate(
        context.scorers.values(), {name: len(clusters) for name, clusters in context.target_clusters.items()}
    )
    repository = context.declared.repository
    position = repository.position if repository is not None else Position(file=SETTINGS_FILE)
    yield from _hub_scorer(context, position)
    if writes <= MANY_WRITES_PER_SECOND:
        return
    message = (
        f"the fleet's scorers will write about {writes:.0f} scores per second to the hub; a small hub was"
        " seen to peak near 390"
    )
    hint = (
        "raise scoreTTLSeconds (a score is written at half of it), mask scorers where they are not needed, or"
        " give the hub more API servers"
    )
    yield codes.HUB_WRITES.at(position, message, hint)


def _hub_scorer(context: Context, position: Position) -> Iterator[Diagnostic]:
    """One process writes the scores of all clusters, at a limited rate."""
    writes = rate(
        (scorer for scorer in context.scorers.values() if scorer.on_hub),
        {name: len(clusters) for name, clusters in context.target_clusters.items()},
    )
    if writes > HUB_SCORER_WRITES_PER_SECOND:
        message = (
            f"scorers on the hub need about {writes:.0f} writes per second to renew their scores; the hub"
            f" scorer writes {HUB_SCORER_WRITES_PER_SECOND}"
        )
        hint = "raise scoreTTLSeconds (a score is written at half of it), or run some scorers on the spokes"
        yield codes.HUB_WRITES.at(position, message, hint)

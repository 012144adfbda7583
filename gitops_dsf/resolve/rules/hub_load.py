"""Checks the load of the fleet's agents on the hub."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.repository.load import SETTINGS_FILE
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.hub_writes import MANY_WRITES_PER_SECOND, rate


def hub_can_take_the_writes(context: Context) -> Iterator[Diagnostic]:
    """Refreshes alone, without changed scores, should leave a small hub spare capacity."""
    writes = rate(
        context.scorers.values(), {name: len(clusters) for name, clusters in context.target_clusters.items()}
    )
    if writes <= MANY_WRITES_PER_SECOND:
        return
    repository = context.declared.repository
    position = repository.position if repository is not None else Position(file=SETTINGS_FILE)
    message = (
        f"the fleet's agents will write about {writes:.0f} scores per second to the hub; a small hub was seen"
        " to peak near 390"
    )
    hint = (
        "raise scoreTTLSeconds (a score is written at half of it), mask scorers where they are not needed, or"
        " give the hub more API servers"
    )
    yield codes.HUB_WRITES.at(position, message, hint)

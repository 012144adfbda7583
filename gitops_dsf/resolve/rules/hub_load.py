"""Checks the load of the fleet's scores on the API server of the hub."""

from collections.abc import Iterator
from typing import Final

from dsf_wire.constants import HUB_SCORER_WRITES_PER_SECOND
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.hub_writes import writes_per_second
from gitops_dsf.resolve.rules.registry import SETTINGS, rule

MANY_WRITES_PER_SECOND: Final = 200
"""Writes of scores that leave a small hub room for everything else, and for scores that change.

A hub with one API server and an etcd on one disk was seen to take about 390 per second.
"""


@rule(needs=(SETTINGS, "ManagedCluster", "DynamicScorer", "DynamicScoringConfig"))
def hub_can_take_the_writes(context: Context) -> Iterator[Diagnostic]:
    """Every score is written at half of its TTL, even where nothing changes."""
    scorers = context.complete.values()
    runs_on = context.target_clusters
    # OCM 1.2.1 counts an expired score as 0, so agents write again also what did not change.
    writes = writes_per_second(scorers, runs_on)
    if writes > MANY_WRITES_PER_SECOND:
        yield codes.HUB_WRITES.at(
            context.repository.position,
            f"the scores of the fleet need about {writes:.0f} writes per second on the hub; a small"
            " hub accepted 390 in a measurement",
            "raise scoreTTLSeconds (a score is written at half of it), mask scorers where they are"
            " not needed, or give the hub more API servers",
        )
    from_hub = writes_per_second(scorers, runs_on, on_hub=True)
    # The hub scorer bounds its own writes, so that it leaves the API server room for others.
    if from_hub > HUB_SCORER_WRITES_PER_SECOND:
        yield codes.HUB_WRITES.at(
            context.repository.position,
            f"scorers on the hub need about {from_hub:.0f} writes per second to keep their scores,"
            f" and the hub scorer writes {HUB_SCORER_WRITES_PER_SECOND}: scores would expire",
            "raise scoreTTLSeconds (a score is written at half of it), or run some scorers on the"
            " spokes",
        )

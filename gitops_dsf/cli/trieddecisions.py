"""Decisions of Placements by the values that `gitops-dsf scorer try` computed.

The scores of a hub are needed for that. Without a hub, only the Placements are named.
"""

import argparse
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import UNSET

from gitops_dsf.cli.hubdata import read_hub_data
from gitops_dsf.hub.placements import ranked_by
from gitops_dsf.hub.scores import score_of
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.simulator import Explanation, explain, simulate
from gitops_dsf.simulator.scheduler import as_people_wrote
from gitops_dsf.views.preview.hubstate import hub_state
from gitops_dsf.views.preview.placements import resources_ranked, typed_placements
from gitops_dsf.views.scorertry import TryItem, TryOutput, VerifiedPlacement


def with_decisions(output: TryOutput, args: argparse.Namespace, fleet: CheckedFleet) -> TryOutput:
    """The output with the Placements that rank by the scorer, and what they would decide."""
    if output.resource is None:
        return output
    placements = _ranking_by(fleet, output.resource)
    explanations = _explanations(args, fleet, output.resource, output.items, placements)
    return msgspec.structs.replace(
        output,
        ranked_by=placements,
        explanations=explanations,
        verifies=tuple(_verified_by(fleet, output.resource)) or UNSET,
    )


def _ranking_by(fleet: CheckedFleet, resource: str) -> tuple[str, ...]:
    """namespace/name of the Placements that rank by an AddOnPlacementScore, sorted."""
    keys: list[str] = []
    for key, placement in typed_placements(fleet).items():
        resources = {score.resource for score in ranked_by(placement)}
        if resource in resources:
            keys.append(key)
    return tuple(sorted(keys))


def _verified_by(fleet: CheckedFleet, resource: str) -> Iterator[VerifiedPlacement]:
    """The checks of moves by an AddOnPlacementScore."""
    for placement in fleet.placements:
        if placement.paced is None or placement.paced.verification is None:
            continue
        for verified_by in placement.paced.verification.checks:
            if verified_by.resource == resource:
                yield VerifiedPlacement(placement=placement.key, check=verified_by)


def _explanations(
    args: argparse.Namespace,
    fleet: CheckedFleet,
    resource: str,
    items: Iterable[TryItem],
    placements: tuple[str, ...],
) -> tuple[Explanation, ...]:
    """The decisions by the values beside the scores of a hub, if it is named."""
    by_cluster: dict[str, dict[str, int]] = {}
    for tried in items:
        by_cluster.setdefault(tried.cluster, {})[tried.name] = tried.value
    # Before the hub is read, which takes time and needs rights.
    if not by_cluster or not placements:
        return ()
    only = frozenset(placements)
    data = read_hub_data(args, resources=resources_ranked([fleet], only))
    if data.snapshot is None:
        return ()
    of_resource = dict(data.snapshot.scores.get(resource, {}))
    # Clusters that were not tried keep the scores that they have on the hub.
    for cluster, values in by_cluster.items():
        of_resource[cluster] = score_of(values)
    state = hub_state(
        fleet,
        data.snapshot,
        scores={**data.snapshot.scores, resource: of_resource},
        only=only,
    )
    explanations: list[Explanation] = []
    for key in placements:
        # The written weights decide: a paced Placement holds by the rendered ones, so no value that
        # is tried would change it.
        verdict = as_people_wrote(simulate(state, key, data.now))
        for cluster in sorted(by_cluster):
            explanations.append(explain(verdict, cluster, spans=fleet.spans))
    return tuple(explanations)

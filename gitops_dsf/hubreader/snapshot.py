"""Reads a snapshot of a hub, for verbs that compute with one.

Guaranteed: `observe` gives a whole snapshot or raises HubError. Not guaranteed: that its parts are
of one moment, because they are read one after another.
"""

from dataclasses import replace
from pathlib import Path

from gitops_dsf.errors import HubError
from gitops_dsf.hub import objects, resources
from gitops_dsf.hub.names import MOVES_CONFIGMAP
from gitops_dsf.hub.snapshots.collect import whole as whole_cluster
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.hub.unread import Unread, Why
from gitops_dsf.hubreader.hub import HubClient, as_type
from gitops_dsf.hubreader.parts import PartReader
from gitops_dsf.hubreader.scores import ScoreReader
from gitops_dsf.views.status.inputs import HubPart


def observe(
    *, context: str, kubeconfig: Path | None, names: frozenset[str] | None, moves_in: str | None
) -> Snapshot:
    """Reads a whole snapshot: scores with these names (None: all), and paced moves of a namespace.

    Raises HubError, also if a part may not be read: a preview without it would be wrong.
    """
    with HubClient(context=context, kubeconfig=kubeconfig) as hub:
        parts = PartReader()
        snapshot = read_snapshot(hub, parts, ScoreReader(needed=names))
        for unread in parts.unread.values():
            raise HubError(hub.lacks(unread))
        if moves_in is None:
            return snapshot
        configmaps = resources.Resource(plural="configmaps", namespace=moves_in)
        moves = hub.find(configmaps, MOVES_CONFIGMAP)
        if isinstance(moves, Unread):
            raise HubError(hub.lacks(moves))
        return snapshot if moves is None else replace(snapshot, moves=moves.get("data"))


def read_snapshot(hub: HubClient, parts: PartReader, scores: ScoreReader) -> Snapshot:
    """Reads what `parts` allows. Raises HubError if the hub does not answer, or is not a hub."""
    # Clusters first: whether this is a hub of OCM is known before a million scores are read.
    clusters = parts.take(
        HubPart.CLUSTERS, hub.read(resources.CLUSTERS, as_type(objects.ManagedCluster))
    )
    unread = parts.unread.get(HubPart.CLUSTERS)
    if unread is not None and unread.why is Why.NOT_INSTALLED:
        raise HubError(hub.lacks(unread))
    sets = parts.take(
        HubPart.SETS, hub.read(resources.CLUSTER_SETS, as_type(objects.ManagedClusterSet))
    )
    bindings = parts.take(
        HubPart.BINDINGS, hub.read(resources.BINDINGS, as_type(objects.ManagedClusterSetBinding))
    )
    decisions = parts.take(
        HubPart.DECISIONS, hub.read(resources.DECISIONS, as_type(objects.PlacementDecision))
    )
    unread_scores = scores.read(hub)
    if unread_scores is not None:
        parts.unread[HubPart.SCORES] = unread_scores
    return Snapshot(
        origin=f"context {hub.context}",
        observed_at=hub.now(),
        scores=scores.tables,
        skipped=scores.skipped,
        unreadable=tuple(sorted(scores.unreadable)),
        decisions=tuple(sorted(decisions, key=_namespace_and_name)),
        clusters={cluster.metadata.name: whole_cluster(cluster) for cluster in clusters},
        sets={cluster_set.metadata.name: cluster_set for cluster_set in sets},
        bindings=tuple(sorted(map(_namespace_and_name, bindings))),
    )


def _namespace_and_name(item: objects.KubernetesObject) -> tuple[str, str]:
    return item.metadata.namespace or "", item.metadata.name

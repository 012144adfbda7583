"""A hub as the files of a snapshot. Scores are read page by page and become lines at once: no object of the
hub is kept.
"""

import asyncio
from datetime import UTC, datetime
from typing import Final

import msgspec

from gitops_dsf.hub.decisions import DecisionPage, decision_of
from gitops_dsf.hub.metadata import Metadata
from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterSpec, ManagedClusterStatus, PlacementDecision
from gitops_dsf.hub.scores import AddOnPlacementScore, ScoreStatus, score_of
from gitops_dsf.hub.snapshotfile import clusters_file, decisions_file, moment_file, score_row, scores_file
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.scores import SCORES_PATH
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.state import rounding
from gitops_dsf.reconciler.state.rawscores import Raw

MOMENT: Final = "snapshot.json"
README: Final = "README.md"
HUB: Final = "hub"
_README: Final = b"""Written by `gitops-dsf reconcile`: what the hub held when it last looked. Previews of pull requests read it.
Do not edit: the next snapshot replaces the whole branch.
"""  # noqa: E501


async def collect(*, api: HubApi, view: HubView, raw: Raw) -> dict[str, bytes]:
    """Every file of the branch. Raises ApiError: a snapshot of half a hub would say that the other half has
    no scores.
    """
    observed = datetime.fromtimestamp(api.now(), tz=UTC)
    rows: dict[str, list[tuple[str, str]]] = {}

    def take(item: msgspec.Raw) -> None:
        found = msgspec.json.decode(item, type=AddOnPlacementScore)
        rows.setdefault(found.metadata.name, []).append(
            (found.metadata.namespace or "", _row(found, raw, observed))
        )

    await api.list(SCORES_PATH, take)
    files = {README: _README, MOMENT: moment_file(hub=HUB, observed_at=observed)}
    for name, table in rows.items():
        files[f"scores/{name}.json"] = scores_file(name, (row for _, row in sorted(table)), hub=HUB)
        await asyncio.sleep(0)
    decisions = tuple(
        _decision(name, page, view.argocd_namespace)
        for name, page in sorted(view.decisions.items.items())
        if page.placement
    )
    if decisions:
        files["decisions.json"] = decisions_file(decisions, hub=HUB)
    clusters = {name: facts(cluster) for name, cluster in view.clusters.items.items() if not cluster.deleting}
    if clusters:
        files["clusters.json"] = clusters_file(clusters, hub=HUB)
    return files


def facts(cluster: ManagedCluster) -> ManagedCluster:
    """What a Placement can ask a ManagedCluster for: labels, taints, claims, resources. Annotations and
    addresses stay on the hub.
    """
    status = cluster.status or ManagedClusterStatus()
    return ManagedCluster(
        Metadata(cluster.metadata.name, labels=dict(sorted(cluster.labels.items()))),
        ManagedClusterSpec(taints=cluster.taints),
        ManagedClusterStatus(
            cluster_claims=tuple(sorted(status.cluster_claims or (), key=lambda each: each.name)),
            allocatable=dict(sorted((status.allocatable or {}).items())),
            capacity=dict(sorted((status.capacity or {}).items())),
        ),
    )


def _row(found: AddOnPlacementScore, raw: Raw, observed: datetime) -> str:
    cluster, name = found.metadata.namespace or "", found.metadata.name
    status = found.status or ScoreStatus()
    known = raw.get(name, {}).get(cluster, {})
    values = {item.name: item.value for item in status.scores or ()}
    return score_row(
        cluster,
        score_of(
            values,
            valid_until=rounding.valid_until(status.valid_until, observed=observed),
            raw={
                dimension: rounding.raw_score(known[dimension]) for dimension in values if dimension in known
            },
        ),
    )


def _decision(name: str, page: DecisionPage, namespace: str) -> PlacementDecision:
    return decision_of(
        namespace=namespace, name=name, placement=page.placement, clusters=sorted(page.clusters)
    )

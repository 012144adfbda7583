"""A hub as the files of a snapshot. Scores are read page by page and become lines at once: no object of the hub is kept."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from gitops_dsf.hub.decisions import DecisionPage
from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterStatus
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.scores import SCORES_PATH
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.state import rounding
from gitops_dsf.reconciler.state.rawscores import Raw
from gitops_dsf.snapshot import Decision, PublishedScore
from gitops_dsf.snapshot.fileformat import clusters_file, decisions_file, moment_file, score_row, scores_file

MOMENT: Final = "snapshot.json"
README: Final = "README.md"
HUB: Final = "hub"
_README: Final = b"""Written by `gitops-dsf reconcile`: what the hub held when it last looked. Previews of pull requests read it.
Do not edit: the next snapshot replaces the whole branch.
"""


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Item(msgspec.Struct, frozen=True):
    name: str
    value: int


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    valid_until: datetime | None = None
    scores: list[_Item] = []


class _Score(msgspec.Struct, frozen=True):
    metadata: _Metadata
    status: _Status = _Status()


async def collect(*, api: HubApi, view: HubView, raw: Raw) -> dict[str, bytes]:
    """Every file of the branch. Raises ApiError: a snapshot of half a hub would say that the other half has no scores."""
    observed = datetime.fromtimestamp(api.now(), tz=UTC)
    rows: dict[str, list[tuple[str, str]]] = {}

    def take(item: msgspec.Raw) -> None:
        found = msgspec.json.decode(item, type=_Score)
        rows.setdefault(found.metadata.name, []).append((found.metadata.namespace, _row(found, raw, observed)))

    await api.list(SCORES_PATH, take)
    files = {README: _README, MOMENT: moment_file(hub=HUB, observed_at=observed)}
    for name, table in rows.items():
        files[f"scores/{name}.json"] = scores_file(name, (row for _, row in sorted(table)), hub=HUB)
        await asyncio.sleep(0)
    decisions = tuple(_decision(name, page, view.argocd_namespace) for name, page in sorted(view.decisions.items.items()) if page.placement)
    if decisions:
        files["decisions.json"] = decisions_file(decisions, hub=HUB)
    clusters = {name: facts(cluster) for name, cluster in view.clusters.items.items() if not cluster.deleting}
    if clusters:
        files["clusters.json"] = clusters_file(clusters, hub=HUB)
    return files


def facts(cluster: ManagedCluster) -> Mapping[str, Any]:
    """What a Placement can ask a ManagedCluster for: labels, taints, claims, resources. Annotations and addresses stay on the hub."""
    taints = (msgspec.to_builtins(taint) for taint in cluster.taints)
    status = cluster.status or ManagedClusterStatus()
    return {
        "metadata": {"labels": dict(sorted(cluster.labels.items()))},
        "spec": {"taints": [{key: str(value) for key, value in sorted(taint.items())} for taint in taints]},
        "status": {
            "clusterClaims": [
                {"name": each.name, "value": each.value} for each in sorted(status.cluster_claims or (), key=lambda each: each.name)
            ],
            "allocatable": dict(sorted((status.allocatable or {}).items())),
            "capacity": dict(sorted((status.capacity or {}).items())),
        },
    }


def _row(found: _Score, raw: Raw, observed: datetime) -> str:
    cluster, name = found.metadata.namespace, found.metadata.name
    values = {item.name: item.value for item in found.status.scores}
    known = raw.get(name, {}).get(cluster, {})
    return score_row(
        cluster,
        PublishedScore(
            values=values,
            valid_until=rounding.valid_until(found.status.valid_until, observed=observed),
            raw={dimension: rounding.raw_score(known[dimension]) for dimension in values if dimension in known},
        ),
    )


def _decision(name: str, page: DecisionPage, namespace: str) -> Decision:
    return Decision(namespace=namespace, name=name, placement=page.placement, clusters=tuple(sorted(page.clusters)))

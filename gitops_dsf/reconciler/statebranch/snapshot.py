"""The hub as the files of a snapshot.

Scores are read page by page and become lines at once, so no object of the hub is kept. Values are rounded so
that a file changes only when the hub did. Published scores are never rounded: one point can decide a
Placement.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.metadata import Metadata, problem_of
from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterSpec, ManagedClusterStatus
from gitops_dsf.hub.resources import DECISIONS, SCORES
from gitops_dsf.hub.scores import AddOnPlacementScore, BareScore, ScoreStatus, score_of
from gitops_dsf.hub.snapshotfile import clusters_file, decisions_file, moment_file, score_row, scores_file
from gitops_dsf.hub.timestamp import LATEST, in_utc
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.kinds import decision_page
from gitops_dsf.reconciler.hub.view import HubView

MOMENT: Final = "snapshot.json"
README: Final = "README.md"
HUB: Final = "hub"
HOUR: Final = timedelta(hours=1)
_README: Final = b"""Written by `gitops-dsf reconcile`: what the hub held when it last looked. Previews of pull requests read it.
Do not edit: the next snapshot replaces the whole branch.
"""  # noqa: E501


async def collect(*, api: HubApi, view: HubView, namespaces: Sequence[str] = ()) -> dict[str, bytes]:
    """Every file of the branch. `namespaces` are those, beside Argo CD's, whose decisions are included.

    Raises ApiError when a list fails: a partial snapshot would say that the rest of the hub has no scores.
    """
    observed = datetime.fromtimestamp(api.now(), tz=UTC)
    rows: dict[str, list[tuple[str, str]]] = {}

    def take(item: msgspec.Raw) -> None:
        problem = ""
        try:
            found = msgspec.json.decode(item, type=AddOnPlacementScore)
        except msgspec.ValidationError as error:
            found = AddOnPlacementScore(msgspec.json.decode(item, type=BareScore).metadata)
            problem = problem_of(error)
        rows.setdefault(found.metadata.name, []).append(
            (found.metadata.namespace or "", _row(found, observed, problem))
        )

    await api.list(SCORES.path, take)
    files = {README: _README, MOMENT: moment_file(hub=HUB, observed_at=observed)}
    for name, table in rows.items():
        files[f"scores/{name}.json"] = scores_file(name, (row for _, row in sorted(table)), hub=HUB)
        await asyncio.sleep(0)
    pages = {(view.argocd_namespace, name): page for name, page in view.decisions.items.items()}
    for namespace in namespaces:
        found = await api.listed(DECISIONS.within(namespace).path, decision_page)
        pages |= {(namespace, name): page for name, page in found}
    decisions = tuple(
        decision_of(namespace=namespace, name=name, placement=page.placement, clusters=sorted(page.clusters))
        for (namespace, name), page in sorted(pages.items(), key=lambda item: item[0])
        if page.placement
    )
    if decisions:
        files["decisions.json"] = decisions_file(decisions, hub=HUB)
    clusters = {
        name: selectable(cluster) for name, cluster in view.clusters.items.items() if not cluster.deleting
    }
    if clusters:
        files["clusters.json"] = clusters_file(clusters, hub=HUB)
    return files


def selectable(cluster: ManagedCluster) -> ManagedCluster:
    """What a Placement can select a ManagedCluster by: labels, taints, claims, resources. Annotations and
    addresses are left out.
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


def _row(found: AddOnPlacementScore, observed: datetime, problem: str) -> str:
    cluster = found.metadata.namespace or ""
    status = found.status or ScoreStatus()
    values = {item.name: item.value for item in status.scores or ()}
    return score_row(
        cluster,
        score_of(
            values,
            valid_until=rounded_valid_until(status.valid_until, observed=observed),
        ),
        problem=problem,
    )


def rounded_valid_until(until: datetime | None, *, observed: datetime) -> datetime | None:
    """The next full hour. A score that was expired when it was observed gets the last full hour instead.

    So a fresh score stays fresh at the moment of observation, and an expired one stays expired. Agents renew
    validUntil at half of the TTL, so the exact time would change every line of every snapshot.
    """
    if until is None:
        return None
    until = in_utc(until)
    floor = until.replace(minute=0, second=0, microsecond=0)
    if until <= observed or floor == until or floor > LATEST - HOUR:
        return floor
    return floor + HOUR

"""Reads the objects that `status` shows.

Objects are reduced while their page is read, so the memory does not grow with their size. A part
that may not be read becomes a value, and the rest is shown.
"""

from collections.abc import Callable, Iterable

import msgspec

from gitops_dsf.hub import objects, resources
from gitops_dsf.hub.application_sets import ApplicationSet, read_application_set, recognised
from gitops_dsf.hub.applications import ArgoApplication, read_application
from gitops_dsf.hub.decisions import decided
from gitops_dsf.hub.delivery import addon_of
from gitops_dsf.hub.moves.waiting import WaitingCopy, read_waits
from gitops_dsf.hub.multikueue import MultiKueueConfig, any_orders_jobs
from gitops_dsf.hub.names import APPLICATION_LABEL, MASKS_CONFIGMAP, MASKS_KEY, MOVES_CONFIGMAP
from gitops_dsf.hub.pace import PACE_ANNOTATION
from gitops_dsf.hub.targets import Mask, read_masks
from gitops_dsf.hub.unread import Unread, Why
from gitops_dsf.hubreader.hub import HubClient, JsonObject, T, as_type
from gitops_dsf.hubreader.parts import PartReader
from gitops_dsf.hubreader.scorers import read_hub_scorers
from gitops_dsf.hubreader.scores import ScoreReader
from gitops_dsf.hubreader.snapshot import read_snapshot
from gitops_dsf.pacing.stored import MovesError, StoredMoves, read_moves
from gitops_dsf.views.status.applications import any_waits
from gitops_dsf.views.status.build import Filter, resources_shown
from gitops_dsf.views.status.inputs import HubPart, StatusInputs


class _MovesContent(msgspec.Struct, frozen=True):
    """The content of the ConfigMap with paced moves."""

    stored: StoredMoves
    waits: tuple[WaitingCopy, ...]


def read_inputs(
    hub: HubClient,
    *,
    hub_namespace: str,
    argocd_namespace: str,
    only: Filter | None = None,
    owners: bool = False,
) -> StatusInputs:
    """Reads what a view of `only` shows; with `owners` also who else writes scores.

    Raises HubError.
    """
    parts = PartReader()
    on_hub = read_hub_scorers(hub, hub_namespace)
    scorers = parts.take(HubPart.SCORERS, on_hub.scorers)
    if on_hub.unread_list is not None:
        parts.unread[HubPart.SCORER_LIST] = on_hub.unread_list
    if on_hub.unread_status is not None:
        parts.unread[HubPart.SCORER_STATUS] = on_hub.unread_status
    placements = parts.take(
        HubPart.PLACEMENTS, hub.read(resources.PLACEMENTS, as_type(objects.Placement))
    )
    # Other writers can be found only among all scores.
    needed = None if owners else resources_shown(scorers, placements, only or Filter())
    published = {scorer.resource for scorer in scorers}
    scores = ScoreReader(needed=needed, resources=published, owners=owners)
    snapshot = read_snapshot(hub, parts, scores)
    masks = parts.take(HubPart.MASKS, _configmap(hub, hub_namespace, MASKS_CONFIGMAP, _masks))
    applications, sets = _read_argocd(hub, argocd_namespace, parts)
    is_paced = any(placement.metadata.annotation(PACE_ANNOTATION) for placement in placements)
    moves: Iterable[_MovesContent] = ()
    # Only fleets with a pace, and those in which a copy waits, need the right.
    if is_paced or any_waits(sets, applications, decided(snapshot.decisions)):
        moves = parts.take(HubPart.MOVES, _configmap(hub, hub_namespace, MOVES_CONFIGMAP, _moves))
    configs: tuple[MultiKueueConfig, ...] = ()
    # A hub without Kueue does not serve the kind, which would be shown as something unread.
    if any_orders_jobs(placements):
        configs = parts.take(
            HubPart.MULTIKUEUE_CONFIGS,
            hub.read(resources.MULTIKUEUE_CONFIGS, as_type(MultiKueueConfig)),
        )
    addons = parts.take(
        HubPart.ADDONS,
        hub.read(
            resources.ADDONS,
            as_type(objects.ManagedClusterAddOn),
            name=addon_of(on_hub.mode),
            metadata_only=True,
        ),
    )
    # The hub's clock is known only after an answer, so it is read last.
    now = hub.now()
    content = next(iter(moves), None)
    stored = None
    if content is not None and is_paced:
        stored = content.stored.not_after(now.timestamp())
    return StatusInputs(
        snapshot=snapshot,
        now=now,
        hub_namespace=hub_namespace,
        scorers=scorers,
        unlisted_scorers=on_hub.unlisted,
        crds=on_hub.crds,
        mode=on_hub.mode,
        placements=placements,
        application_sets=sets,
        applications=applications,
        addons={addon.cluster: addon for addon in addons},
        masks=masks,
        moves=stored,
        waits=() if content is None else content.waits,
        multi_kueue_configs=configs,
        foreign=tuple(sorted(scores.foreign)),
        contested=tuple(sorted(scores.contested)),
        # Without the scorers every score would look like one that no scorer owns.
        unowned=() if HubPart.SCORERS in parts.unread else tuple(sorted(scores.unowned)),
        unread=parts.unread,
    )


def _read_argocd(
    hub: HubClient, namespace: str, parts: PartReader
) -> tuple[tuple[ArgoApplication, ...], tuple[ApplicationSet, ...]]:
    sets = parts.take(
        HubPart.APPLICATION_SETS,
        hub.read(resources.APPLICATION_SETS.within(namespace), read_application_set),
    )
    # Only the owner distinguishes adopted Applications without our label from those of others.
    are_marked = all(application_set.marked for application_set in sets if application_set.rendered)
    labels = APPLICATION_LABEL if are_marked else ""
    applications = parts.take(
        HubPart.APPLICATIONS,
        hub.read(resources.APPLICATIONS.within(namespace), read_application, labels=labels),
    )
    return tuple(recognised(applications, sets)), sets


def _configmap(
    hub: HubClient,
    namespace: str,
    name: str,
    read: Callable[[JsonObject | None], tuple[T, ...] | str],
) -> tuple[T, ...] | Unread:
    """The content of a ConfigMap.

    `read` gets the object, or None, and returns a text if it cannot be understood.
    """
    configmaps = resources.Resource(plural="configmaps", namespace=namespace)
    configmap = hub.find(configmaps, name)
    if isinstance(configmap, Unread):
        return configmap
    content = read(configmap)
    if isinstance(content, str):
        return Unread(what=configmaps.describe(name), why=Why.FAILED, verb="get", detail=content)
    return content


def _masks(configmap: JsonObject | None) -> tuple[Mask, ...] | str:
    if configmap is None:
        return "it is not there, so a masked score is shown as missing"
    try:
        masks = read_masks(configmap.get("data"))
    except msgspec.DecodeError as error:
        return f"{MASKS_KEY} is not a list of masks: {error}"
    if masks is None:
        return f"it has no key {MASKS_KEY}, so a masked score is shown as missing"
    return masks


def _moves(configmap: JsonObject | None) -> tuple[_MovesContent, ...] | str:
    """The paced moves, and what copies wait for; none before the reconciler has written them."""
    if configmap is None:
        return ()
    data = configmap.get("data")
    try:
        return (_MovesContent(read_moves(data), read_waits(data)),)
    except MovesError as error:
        return str(error)

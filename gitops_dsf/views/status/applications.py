"""Applications: the clusters of their decisions, and the copies that Argo CD has of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from operator import attrgetter

from msgspec import Struct, field

from gitops_dsf.hub.application_sets import ApplicationSet
from gitops_dsf.hub.applications import ArgoApplication
from gitops_dsf.hub.decisions import decided
from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.hub.moves.waiting import WaitingCopy
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.views.status.inputs import HubPart, StatusInputs


class CopyState(StrEnum):
    """The state of one copy of an application."""

    RUNNING = "running"
    """Decided, existing and Healthy."""
    STARTING = "starting"
    """Decided and existing, but not Healthy yet."""
    PENDING = "pending"
    """Decided, but Argo CD has not created the Application yet."""
    WAITING = "waiting"
    """No longer decided.

    By strategy, it stays until the new copies are Healthy, or for ever.
    """
    LEAVING = "leaving"
    """Being deleted."""


class CopyWait(Struct, frozen=True, kw_only=True):
    """The reason why an old copy is still there, as the reconciler reports it."""

    reason: str
    message: str
    since: str


class Copy(Struct, frozen=True):
    """An application on one cluster."""

    cluster: str
    standing: CopyState
    application: str | None
    """Name of the Application; None if there is none yet."""
    health: str | None
    sync: str | None
    wait: CopyWait | None = None
    """The wait of a copy that is no longer decided; None if the reconciler has reported nothing."""


class ApplicationView(Struct, frozen=True, kw_only=True):
    """One of our ApplicationSets: the clusters of its decision, and those of its Applications."""

    name: str
    strategy: str
    placements: tuple[str, ...]
    # Programs read one key, `settled`, of both views, although each has a reason of its own.
    as_decided: bool | None = field(name="settled")
    """Whether its Applications are exactly on the decided clusters; None if this is unknown."""
    message: str | None
    copies: tuple[Copy, ...]
    cause: MoveCause | None
    """The cause of its move, while old copies wait; None if it is unknown."""

    def is_on(self, cluster: str) -> bool:
        """Whether a cluster is decided, or has a copy."""
        return any(copy.cluster == cluster for copy in self.copies)


def application_views(
    sets: Iterable[ApplicationSet], inputs: StatusInputs
) -> tuple[ApplicationView, ...]:
    """One view for each ApplicationSet, in order of name."""
    clusters = decided(inputs.snapshot.decisions)
    applications: dict[tuple[str, str], list[ArgoApplication]] = {}
    for application in inputs.applications:
        key = application.namespace, application.application
        applications.setdefault(key, []).append(application)
    waits: dict[str, list[WaitingCopy]] = {}
    for wait in inputs.waits:
        waits.setdefault(wait.application_set, []).append(wait)
    is_known = inputs.knows(HubPart.DECISIONS, HubPart.APPLICATIONS)
    views: list[ApplicationView] = []
    for application_set in sorted(sets, key=attrgetter("name")):
        # None and not an empty list: without the right to read them, no copy is missing.
        present = None
        if is_known:
            present = applications.get((application_set.namespace, application_set.name), [])
        reasons = waits.get(application_set.name, ())
        views.append(_application(application_set, clusters, present, reasons))
    return tuple(views)


def any_waits(
    sets: Iterable[ApplicationSet],
    applications: Iterable[ArgoApplication],
    clusters: Mapping[str, frozenset[str]],
) -> bool:
    """Whether a copy of a rendered ApplicationSet is on a cluster that is not decided any more."""
    expected: dict[tuple[str, str], frozenset[str]] = {}
    for application_set in sets:
        # A set that people wrote may keep its copies on purpose.
        if application_set.rendered:
            key = application_set.namespace, application_set.name
            expected[key] = _decided_for(application_set, clusters)
    for application in applications:
        wanted = expected.get((application.namespace, application.application))
        if wanted is not None and application.cluster not in wanted:
            return True
    return False


def _decided_for(
    application_set: ApplicationSet, clusters: Mapping[str, frozenset[str]]
) -> frozenset[str]:
    """The clusters of all Placements that an ApplicationSet follows."""
    decided_clusters = frozenset[str]()
    for name in application_set.placements:
        decided_clusters |= clusters.get(f"{application_set.namespace}/{name}", frozenset())
    return decided_clusters


def _application(
    application_set: ApplicationSet,
    clusters: Mapping[str, frozenset[str]],
    present: list[ArgoApplication] | None,
    waits: Sequence[WaitingCopy],
) -> ApplicationView:
    """`present` are its Applications; None if decisions or Applications are not known."""
    copies: tuple[Copy, ...] = ()
    as_decided = None
    if present is not None:
        copies = tuple(_copies(_decided_for(application_set, clusters), present, waits))
        are_running = all(copy.standing is CopyState.RUNNING for copy in copies)
        # With an error Argo CD changes no Application, so what runs may not be what git has.
        as_decided = are_running and not application_set.error
    waiting = {copy.application for copy in copies if copy.wait is not None}
    # Old copies of one move have one cause, so that of the first is enough.
    causes = (wait.cause for wait in waits if wait.application in waiting)
    return ApplicationView(
        name=application_set.name,
        strategy=application_set.strategy or "",
        placements=tuple(sorted(application_set.placements)),
        as_decided=as_decided,
        message=application_set.error or None,
        copies=copies,
        cause=next(causes, None),
    )


def _copies(
    expected: frozenset[str], present: Iterable[ArgoApplication], waits: Iterable[WaitingCopy]
) -> Iterator[Copy]:
    """One copy for each cluster that is decided or has an Application, in order of cluster."""
    applications = {application.cluster: application for application in present}
    reasons = {wait.application: wait for wait in waits}
    for cluster in sorted(expected | applications.keys()):
        application = applications.get(cluster)
        if application is None:
            yield Copy(cluster, CopyState.PENDING, None, None, None)
            continue
        standing = _copy_state(application, decided=cluster in expected)
        # The ConfigMap is read at another moment. Of a copy that is decided again it is outdated.
        wait = reasons.get(application.name) if standing is CopyState.WAITING else None
        yield Copy(
            cluster=cluster,
            standing=standing,
            application=application.name or None,
            health=application.health or None,
            sync=application.sync or None,
            wait=None if wait is None else _copy_wait(wait),
        )


def _copy_wait(wait: WaitingCopy) -> CopyWait:
    return CopyWait(reason=wait.reason, message=wait.message, since=timestamp_of(wait.since))


def _copy_state(application: ArgoApplication, *, decided: bool) -> CopyState:
    # With Argo CD's finalizer, an Application stays until its workload is deleted.
    if application.deleting:
        return CopyState.LEAVING
    if not decided:
        return CopyState.WAITING
    return CopyState.RUNNING if application.health == "Healthy" else CopyState.STARTING

"""Warnings of new access: of hosts, agents, and pods that push metrics."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from dsf_wire.measures import SOURCE_TYPE, select
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.resolve.credentials import Sent
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.urls.parts import host_of
from gitops_dsf.views.preview.credentials import credentials_of


@dataclass(frozen=True, kw_only=True)
class HostGetsSecret:
    """A host that gets a Secret that it did not get before."""

    sent: Sent
    scorer: str
    """One that sends it."""


@dataclass(frozen=True, kw_only=True)
class AgentsReadNodes:
    """Agents that may read all nodes and pods only now."""

    clusters: tuple[str, ...]
    scorer: str
    """The one for which the first of them reads."""


@dataclass(frozen=True, kw_only=True)
class AgentsReadDevices:
    """Agents that may read all ResourceSlices and ResourceClaims only now."""

    clusters: tuple[str, ...]
    scorer: str
    """The one for which the first of them reads."""


@dataclass(frozen=True, kw_only=True)
class AgentsGetReceiver:
    """Agents to which pods of these namespaces may push OpenTelemetry metrics only now."""

    clusters: tuple[str, ...]
    namespaces: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class NamespacesMayPush:
    """Namespaces whose pods may push OpenTelemetry metrics only now, to agents that take them."""

    namespaces: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class HostGetsRawScores:
    """A host that gets the raw scores of clusters, and did not before."""

    host: str


AccessWarning = (
    HostGetsSecret
    | AgentsReadNodes
    | AgentsReadDevices
    | AgentsGetReceiver
    | NamespacesMayPush
    | HostGetsRawScores
)


class _Receipt(NamedTuple):
    """The parts of a Secret that a host receives."""

    scorer: str
    """One that sends it."""
    sent: Sent


def access_warnings(base: CheckedFleet | None, head: CheckedFleet) -> Iterator[AccessWarning]:
    """Everything that gets access only by the change."""
    # In a new fleet everything has access for the first time, and a warning of all says nothing.
    if base is None:
        return
    yield from _hosts(base, head)
    yield from _agents(base, head)
    yield from _receivers(base, head)
    yield from _remote_write(base, head)


def _hosts(base: CheckedFleet, head: CheckedFleet) -> Iterator[HostGetsSecret]:
    """Warns if a host gets a Secret that it did not get before.

    A Secret that no scorer used before is left out: its author is about to say where it goes.
    """
    after = _receipts(head)
    for secret, receipts_before in _receipts(base).items():
        receipts = after.get(secret, {})
        for host in sorted(receipts.keys() - receipts_before.keys()):
            receipt = receipts[host]
            yield HostGetsSecret(sent=receipt.sent, scorer=receipt.scorer)


def _receipts(fleet: CheckedFleet) -> dict[str, dict[str, _Receipt]]:
    """The receipts by Secret and host."""
    by_secret: dict[str, dict[str, _Receipt]] = {}
    for name, scorer in fleet.scorer_by_name.items():
        for credential in credentials_of(scorer, fleet):
            if credential.secret:
                # One scorer of several is enough to find in git why the host gets it.
                receipts = by_secret.setdefault(credential.secret, {})
                receipts.setdefault(credential.host, _Receipt(name, credential))
    return by_secret


def _agents(
    base: CheckedFleet, head: CheckedFleet
) -> Iterator[AgentsReadNodes | AgentsReadDevices]:
    """Warns if agents may read objects of the whole cluster that they could not read before.

    Clusters that join are left out: everything is new there.
    """
    nodes = _gained(base, head, reads=_measures)
    if nodes:
        clusters = tuple(sorted(nodes))
        yield AgentsReadNodes(clusters=clusters, scorer=nodes[clusters[0]])
    claims = _gained(base, head, reads=_measures_devices)
    if claims:
        clusters = tuple(sorted(claims))
        yield AgentsReadDevices(clusters=clusters, scorer=claims[clusters[0]])


def _gained(
    base: CheckedFleet, head: CheckedFleet, *, reads: Callable[[EffectiveScorer], bool]
) -> dict[str, str]:
    """Clusters of both whose agent reads something only now, each with a scorer that needs it."""
    before = _reading(base, reads=reads)
    gained: dict[str, str] = {}
    for cluster, scorer in _reading(head, reads=reads).items():
        if cluster not in before and cluster in base.cluster_names:
            gained[cluster] = scorer
    return gained


def _reading(fleet: CheckedFleet, *, reads: Callable[[EffectiveScorer], bool]) -> dict[str, str]:
    """The clusters whose agent reads something, each with a scorer that needs it."""
    scorer_on: dict[str, str] = {}
    for name, scorer in fleet.scorer_by_name.items():
        # Most scorers have no such form, and then no cluster is looked at.
        if not any(reads(form) for form in fleet.by_variant[name]):
            continue
        for cluster in fleet.runs_on.get(name, frozenset()):
            if reads(fleet.on_cluster(scorer, cluster)):
                scorer_on.setdefault(cluster, name)
    return scorer_on


def _measures(scorer: EffectiveScorer) -> bool:
    return scorer.source_type == SOURCE_TYPE


def _measures_devices(scorer: EffectiveScorer) -> bool:
    if not _measures(scorer):
        return False
    selections = select(scorer.spec.source.params.query)
    return any(selection.measure.needs_devices for selection in selections)


def _receivers(
    base: CheckedFleet, head: CheckedFleet
) -> Iterator[AgentsGetReceiver | NamespacesMayPush]:
    """Warns if other pods may push OpenTelemetry metrics than before.

    Clusters that join are left out: everything is new there.
    """
    settings = head.repository.spec.agent.open_telemetry
    if settings is None:
        return
    before = _with_receiver(base)
    after = _with_receiver(head)
    gained = tuple(sorted((after - before) & base.cluster_names))
    if gained:
        pushing = tuple(sorted(settings.collector_namespaces))
        yield AgentsGetReceiver(clusters=gained, namespaces=pushing)
    # Clusters that had a receiver already: on the others the namespaces are in the warning above.
    new_namespaces = set(settings.collector_namespaces)
    settings_before = base.repository.spec.agent.open_telemetry
    if settings_before is not None:
        new_namespaces.difference_update(settings_before.collector_namespaces)
    if new_namespaces and after & before:
        yield NamespacesMayPush(namespaces=tuple(sorted(new_namespaces)))


def _with_receiver(fleet: CheckedFleet) -> set[str]:
    """The clusters whose agent has a receiver."""
    return {work.cluster for work in fleet.works if work.addon.receiver}


def _remote_write(base: CheckedFleet, head: CheckedFleet) -> Iterator[HostGetsRawScores]:
    """Warns if the raw scores of clusters go to a host that did not get them before."""
    writing = head.repository.spec.agent.remote_write
    # A scorer that ceases to send gives access to no one.
    if writing is None:
        return
    before = base.repository.spec.agent.remote_write
    host = host_of(writing.url)
    if before is None or host_of(before.url) != host:
        yield HostGetsRawScores(host=host)

"""Consequences of open maintenance windows for moves, and the progress of drains. Pure.

Guaranteed: a drain moves applications only at the pace, also when its window ends before it is
done. Not guaranteed: that a drained cluster becomes empty. Applications that are not paced stay,
and so does one for which no other cluster is eligible.
"""

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import replace

from gitops_dsf.hub.maintenance import Maintenance, MaintenanceAction
from gitops_dsf.hub.names import MAINTENANCE_TAINT
from gitops_dsf.hub.objects import ManagedCluster, Taint
from gitops_dsf.hub.selectors import lenient_selector
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.hub.windows import Period, next_period, open_period
from gitops_dsf.simulator import HubState

CORDON: Final = "NoSelectIfNew"
"""Effect of the taint: a Placement keeps the cluster if it has it already."""
LEAVE: Final = "NoSelect"
"""Effect that asks the simulator where a Placement would go without the cluster.

It is never written to a hub: there OCM would leave the cluster at once, and not at the pace.
"""
MAX_DRAINS: Final = 500
"""Clusters that are listed."""
MAX_NAMED: Final = 100
"""Placements of a cluster that are listed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Drained:
    """The window that drains a cluster; of several the one that ends last."""

    maintenance: str
    period: Period


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenWindows:
    """The consequences of the windows that are open now."""

    cordoned: frozenset[str] = frozenset()
    """Clusters that no application may enter: those that are cordoned or drained."""
    drained: Mapping[str, Drained] = field(default_factory=dict)
    """Drained clusters by name."""
    frozen: Mapping[str, str] = field(default_factory=dict)
    """The reasons why applications (namespace/name) and clusters take part in no move."""

    @property
    def drains(self) -> Mapping[str, str]:
        """The maintenance by drained cluster."""
        return {cluster: drained.maintenance for cluster, drained in self.drained.items()}


NOTHING: Final = OpenWindows()


class Drain(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The progress of the drain of a cluster. Times are seconds since 1970."""

    cluster: str
    maintenance: str
    since: float
    """The time when it was seen first."""
    until: float
    """The end of its window."""
    first: int
    """Paced Placements that had to leave at the beginning."""
    count: int
    """Paced Placements that are left."""
    left: tuple[str, ...] = ()
    """The first of them, by namespace/name."""
    stays: tuple[str, ...] = ()
    """The first Placements that are not paced, which no drain moves."""
    stays_count: int = 0
    """The total number of these."""
    late: bool = False
    """Whether the end of the window will not be met, judged by its moves so far."""


class WindowState(Struct, frozen=True, omit_defaults=True):
    """Whether a window is open. Times are seconds since 1970."""

    name: str
    action: str
    open: bool = False
    changes: float | None = None
    """The time when it opens or closes next; absent for a window that is past."""


class MaintenanceState(Struct, frozen=True, omit_defaults=True):
    """Maintenance as `status` shows it."""

    windows: tuple[WindowState, ...] = ()
    drains: Annotated[tuple[Drain, ...], Meta(max_length=MAX_DRAINS)] = ()
    omitted: int = 0
    """Windows and drains that are not listed."""

    @property
    def is_empty(self) -> bool:
        return not self.windows and not self.drains

    def naming(self, max_names: int) -> "MaintenanceState":
        """The state with at most `max_names` Placements of each drained cluster."""
        drains: list[Drain] = []
        for drain in self.drains:
            drains.append(
                replace(drain, left=drain.left[:max_names], stays=drain.stays[:max_names])
            )
        return replace(self, drains=tuple(drains))

    def halved(self) -> "MaintenanceState":
        """The state with half of the windows and drains."""
        windows = self.windows[: len(self.windows) // 2]
        drains = self.drains[: len(self.drains) // 2]
        omitted = len(self.windows) - len(windows) + len(self.drains) - len(drains)
        return MaintenanceState(windows=windows, drains=drains, omitted=self.omitted + omitted)


def effect_of(
    items: Iterable[Maintenance],
    *,
    clusters: Mapping[str, ManagedCluster],
    placements: Iterable[str],
    now: float,
) -> OpenWindows:
    """The consequences of the windows that are open now.

    `placements` are the paced ones, by namespace/name.
    """
    keys = tuple(placements)
    cordoned = set[str]()
    drained: dict[str, Drained] = {}
    frozen: dict[str, str] = {}
    for maintenance in items:
        period = open_period(maintenance.window, now)
        if period is None:
            continue
        chosen = clusters_of(maintenance, clusters)
        if maintenance.action is MaintenanceAction.FREEZE:
            reason = f"maintenance {maintenance.name} freezes it until {timestamp_of(period.end)}"
            # Paced moves neither leave nor enter a frozen cluster. It gets no taint, so OCM places
            # applications without a pace there as before.
            frozen |= dict.fromkeys(chosen, reason)
            # An application and its Placement have the same name.
            names = frozenset(maintenance.applications or ())
            for key in keys:
                if key.partition("/")[2] in names:
                    frozen[key] = reason
            continue
        # A drain cordons, too: what leaves the cluster must not be replaced by what arrives.
        cordoned |= chosen
        if maintenance.action is not MaintenanceAction.DRAIN:
            continue
        for name in chosen:
            # A cluster stays drained until the last of its windows ends.
            earlier = drained.get(name)
            if earlier is None or earlier.period.end < period.end:
                drained[name] = Drained(maintenance=maintenance.name, period=period)
    return OpenWindows(cordoned=frozenset(cordoned), drained=drained, frozen=frozen)


def clusters_of(maintenance: Maintenance, clusters: Mapping[str, ManagedCluster]) -> frozenset[str]:
    """The clusters of a maintenance: those that are named, or that have the labels."""
    if maintenance.clusters is not None:
        return frozenset(maintenance.clusters)
    if maintenance.cluster_selector is None:
        return frozenset()
    selector = lenient_selector(maintenance.cluster_selector)
    chosen = set[str]()
    for name, cluster in clusters.items():
        if selector.matches(cluster.labels):
            chosen.add(name)
    return frozenset(chosen)


def tainted(
    clusters: Mapping[str, ManagedCluster], names: Collection[str], *, effect: str
) -> dict[str, ManagedCluster]:
    """The clusters, with our taint on those of these names."""
    # One taint of ours at most, whatever the cluster had: two effects would both count.
    taint = Taint(key=MAINTENANCE_TAINT, effect=effect)
    after = dict(clusters)
    for name in names:
        cluster = after.get(name)
        if cluster is not None:
            after[name] = _without_taint(cluster).tainted_by(taint)
    return after


def _without_taint(cluster: ManagedCluster) -> ManagedCluster:
    kept = tuple(taint for taint in cluster.taints if taint.key != MAINTENANCE_TAINT)
    if cluster.spec is None or len(kept) == len(cluster.taints):
        return cluster
    return replace(cluster, spec=replace(cluster.spec, taints=kept))


def tainted_by(state: HubState, effect: OpenWindows) -> HubState:
    """The hub as the open windows leave it: with our taint on these clusters, and on no others."""
    # The taints of windows that have ended may still be on the hub.
    plain = {cluster.metadata.name: _without_taint(cluster) for cluster in state.clusters}
    return state.with_taints(tainted(plain, effect.cordoned, effect=CORDON))


def without_drained(state: HubState, effect: OpenWindows) -> HubState | None:
    """The hub with a taint that forbids the drained clusters; None while none is drained."""
    if not effect.drained:
        return None
    by_name = {cluster.metadata.name: cluster for cluster in state.clusters}
    return state.with_taints(tainted(by_name, effect.drained, effect=LEAVE))


def state_of(
    items: Iterable[Maintenance],
    effect: OpenWindows,
    *,
    decided: Mapping[str, Collection[str]],
    paced: AbstractSet[str],
    before: MaintenanceState,
    now: float,
) -> MaintenanceState:
    """The progress of windows and drains.

    `decided` are the clusters of every Placement, by namespace/name.
    """
    # With the end of the window: the next window of the same maintenance is another drain.
    drains_before: dict[tuple[str, str, float], Drain] = {}
    for drain in before.drains:
        drains_before[drain.cluster, drain.maintenance, drain.until] = drain
    placements_on: dict[str, list[str]] = {cluster: [] for cluster in effect.drained}
    for key in sorted(decided):
        for cluster in decided[key]:
            if cluster in placements_on:
                placements_on[cluster].append(key)
    drains: list[Drain] = []
    for cluster, drained in sorted(effect.drained.items())[:MAX_DRAINS]:
        leaving: list[str] = []
        stays: list[str] = []
        for key in placements_on[cluster]:
            if key in paced:
                leaving.append(key)
            else:
                stays.append(key)
        until = drained.period.end
        earlier = drains_before.get((cluster, drained.maintenance, until))
        since = now if earlier is None else earlier.since
        # An application may have arrived at the last moment before the cordon.
        first = len(leaving) if earlier is None else max(earlier.first, len(leaving))
        gone = first - len(leaving)
        drain = Drain(
            cluster=cluster,
            maintenance=drained.maintenance,
            since=since,
            until=until,
            first=first,
            count=len(leaving),
            left=tuple(leaving[:MAX_NAMED]),
            stays=tuple(stays[:MAX_NAMED]),
            stays_count=len(stays),
            late=_late(len(leaving), gone, since=since, until=until, now=now),
        )
        drains.append(drain)
    windows = tuple(_stage(maintenance, now) for maintenance in items)
    omitted = len(effect.drained) - len(drains)
    return MaintenanceState(windows=windows, drains=tuple(drains), omitted=omitted)


def _stage(maintenance: Maintenance, now: float) -> WindowState:
    period = next_period(maintenance.window, now)
    action = str(maintenance.action)
    if period is None:
        return WindowState(maintenance.name, action)
    if period.start <= now:
        return WindowState(maintenance.name, action, open=True, changes=period.end)
    return WindowState(maintenance.name, action, open=False, changes=period.start)


def _late(left: int, gone: int, *, since: float, until: float, now: float) -> bool:
    """Whether a drain will not be done at its end.

    It is judged by the rate so far; while nothing has left, by whether half of the time has passed.
    """
    if not left:
        return False
    if not gone:
        return now > (since + until) / 2
    return now + left * (now - since) / gone > until

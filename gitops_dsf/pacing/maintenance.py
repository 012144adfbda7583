"""What open windows of maintenance mean, and how far drains are. Pure."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import replace

from gitops_dsf.hub.maintenance import Action, Maintenance, Period, next_period, open_period
from gitops_dsf.hub.metadata import timestamp_of
from gitops_dsf.hub.names import MAINTENANCE_TAINT
from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterSpec, Taint
from gitops_dsf.hub.selectors import lenient_selector
from gitops_dsf.simulator import HubState

CORDON: Final = "NoSelectIfNew"
"""Effect of the taint: a Placement keeps the cluster if it has it already."""
LEAVE: Final = "NoSelect"
"""Effect that asks the simulator where a Placement would go without the cluster. Never written to a hub."""
MOST_DRAINS: Final = 500
"""Clusters that are listed."""
MOST_NAMED: Final = 100
"""Placements of a cluster that are listed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Drained:
    maintenance: str
    period: Period


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    cordoned: frozenset[str] = frozenset()
    """Clusters that no application may enter: those that are cordoned or drained."""
    drained: Mapping[str, Drained] = field(default_factory=dict)
    """By cluster."""
    frozen: Mapping[str, str] = field(default_factory=dict)
    """Why an application (namespace/name) or a cluster takes no part in moves."""

    @property
    def drains(self) -> Mapping[str, str]:
        """The maintenance by drained cluster."""
        return {name: each.maintenance for name, each in self.drained.items()}


class Drain(Struct, frozen=True, rename="camel", omit_defaults=True):
    """How far the drain of a cluster is. Times are seconds since 1970."""

    cluster: str
    maintenance: str
    since: float
    """When it was seen first."""
    until: float
    """When its window ends."""
    first: int
    """Paced Placements that had to leave at the beginning."""
    count: int
    """Paced Placements that are left."""
    left: tuple[str, ...] = ()
    """The first of them, by namespace/name."""
    stays: tuple[str, ...] = ()
    """The first Placements that are not paced, which no drain moves."""
    stays_count: int = 0
    """How many these are altogether."""
    late: bool = False
    """Whether the end of the window will not be met, as far as its moves so far tell."""


class Stage(Struct, frozen=True, omit_defaults=True):
    """Whether a window is open. Times are seconds since 1970."""

    name: str
    action: str
    open: bool = False
    changes: float | None = None
    """When it opens or closes next; absent for a window that is past."""


class MaintenanceState(Struct, frozen=True, omit_defaults=True):
    """What `status` shows of maintenance."""

    windows: tuple[Stage, ...] = ()
    drains: Annotated[tuple[Drain, ...], Meta(max_length=MOST_DRAINS)] = ()
    omitted: int = 0
    """Windows and drains that are not listed."""

    def naming(self, most: int) -> "MaintenanceState":
        """With at most so many Placements of each drained cluster."""
        drains = tuple(
            replace(each, left=each.left[:most], stays=each.stays[:most]) for each in self.drains
        )
        return replace(self, drains=drains)

    def halved(self) -> "MaintenanceState":
        """With half of the windows and drains."""
        windows, drains = (
            self.windows[: len(self.windows) // 2],
            self.drains[: len(self.drains) // 2],
        )
        gone = len(self.windows) - len(windows) + len(self.drains) - len(drains)
        return MaintenanceState(windows=windows, drains=drains, omitted=self.omitted + gone)


NOTHING: Final = Effect()


def effect_of(
    items: Iterable[Maintenance],
    *,
    clusters: Mapping[str, ManagedCluster],
    placements: Iterable[str],
    now: float,
) -> Effect:
    """What the windows that are open now mean. `placements` are the paced ones, by namespace/name."""
    keys = tuple(placements)
    cordoned, drained, frozen = set[str](), dict[str, Drained](), dict[str, str]()
    for item in items:
        period = open_period(item.window, now)
        if period is None:
            continue
        chosen = clusters_of(item, clusters)
        if item.action is Action.FREEZE:
            why = f"maintenance {item.name} freezes it until {timestamp_of(period.end)}"
            names = frozenset(item.applications or ())
            frozen |= dict.fromkeys(chosen, why)
            frozen |= {key: why for key in keys if key.partition("/")[2] in names}
            continue
        cordoned |= chosen
        if item.action is Action.DRAIN:
            for name in chosen:
                known = drained.get(name)
                if known is None or known.period.end < period.end:
                    drained[name] = Drained(maintenance=item.name, period=period)
    return Effect(cordoned=frozenset(cordoned), drained=drained, frozen=frozen)


def clusters_of(item: Maintenance, clusters: Mapping[str, ManagedCluster]) -> frozenset[str]:
    """The clusters of a maintenance: those that are named, or that have the labels."""
    if item.clusters is not None:
        return frozenset(item.clusters)
    if item.cluster_selector is None:
        return frozenset()
    selector = lenient_selector(item.cluster_selector)
    return frozenset(name for name, each in clusters.items() if selector.matches(each.labels))


def tainted(
    clusters: Mapping[str, ManagedCluster], names: Collection[str], *, effect: str
) -> dict[str, ManagedCluster]:
    """The clusters, with our taint on those of these names."""
    taint = Taint(key=MAINTENANCE_TAINT, effect=effect)
    found = dict(clusters)
    for name in names:
        item = found.get(name)
        if item is not None:
            item = _without_taint(item)
            spec = replace(item.spec or ManagedClusterSpec(), taints=(*item.taints, taint))
            found[name] = replace(item, spec=spec)
    return found


def _without_taint(item: ManagedCluster) -> ManagedCluster:
    kept = tuple(each for each in item.taints if each.key != MAINTENANCE_TAINT)
    if item.spec is None or len(kept) == len(item.taints):
        return item
    return replace(item, spec=replace(item.spec, taints=kept))


def tainted_by(state: HubState, effect: Effect) -> HubState:
    """The hub as the open windows leave it: with our taint on these clusters, and on no others."""
    plain = {item.metadata.name: _without_taint(item) for item in state.clusters}
    found = tuple(tainted(plain, effect.cordoned, effect=CORDON).values())
    return state if found == state.clusters else dataclasses.replace(state, clusters=found)


def without_drained(state: HubState, effect: Effect) -> HubState | None:
    """The hub with a taint that forbids the drained clusters; None while none is drained."""
    if not effect.drained:
        return None
    clusters = {item.metadata.name: item for item in state.clusters}
    return dataclasses.replace(
        state, clusters=tuple(tainted(clusters, effect.drained, effect=LEAVE).values())
    )


def state_of(
    items: Iterable[Maintenance],
    effect: Effect,
    *,
    decided: Mapping[str, Collection[str]],
    paced: AbstractSet[str],
    before: MaintenanceState,
    now: float,
) -> MaintenanceState:
    """How far windows and drains are. `decided` are the clusters of every Placement, by namespace/name."""
    known = {(each.cluster, each.maintenance, each.until): each for each in before.drains}
    on: dict[str, list[str]] = {name: [] for name in effect.drained}
    for key in sorted(decided):
        for cluster in decided[key]:
            if cluster in on:
                on[cluster].append(key)
    drains = []
    for cluster, why in sorted(effect.drained.items())[:MOST_DRAINS]:
        left = [key for key in on[cluster] if key in paced]
        stays = [key for key in on[cluster] if key not in paced]
        earlier = known.get((cluster, why.maintenance, why.period.end))
        since = now if earlier is None else earlier.since
        # An application may have arrived at the last moment before the cordon.
        first = len(left) if earlier is None else max(earlier.first, len(left))
        drain = Drain(
            cluster=cluster,
            maintenance=why.maintenance,
            since=since,
            until=why.period.end,
            first=first,
            count=len(left),
            left=tuple(left[:MOST_NAMED]),
            stays=tuple(stays[:MOST_NAMED]),
            stays_count=len(stays),
            late=_late(len(left), first - len(left), since=since, until=why.period.end, now=now),
        )
        drains.append(drain)
    windows = tuple(_stage(item, now) for item in items)
    omitted = len(effect.drained) - len(drains)
    return MaintenanceState(windows=windows, drains=tuple(drains), omitted=omitted)


def _stage(item: Maintenance, now: float) -> Stage:
    found = next_period(item.window, now)
    if found is None:
        return Stage(item.name, str(item.action))
    is_open = found.start <= now
    return Stage(item.name, str(item.action), is_open, found.end if is_open else found.start)


def _late(left: int, gone: int, *, since: float, until: float, now: float) -> bool:
    """At the rate so far; without any departure, half of the time has passed."""
    if not left:
        return False
    if not gone:
        return now > (since + until) / 2
    return now + left * (now - since) / gone > until

"""The list of clusters of a MultiKueueConfig: its clusters, their order, and why it changed.

Guaranteed:

- A cluster on which a job is admitted stays listed until its ManagedCluster is gone. When a cluster
  leaves the list, Kueue takes the admission back ("Admitting remote no longer exists") and reads
  nothing more from it. The job hangs while its pods run on there, and starts from the beginning
  when the cluster is listed again (seen with v0.19.2).
- A cluster overtakes another one only with a lead of the stickiness.
- The list never has more clusters than Kueue accepts.
- Without an eligible cluster the list stays as it is: absence is not a decision.
- The list is ordered at most once in `reorder_seconds`. At any time new clusters may be appended,
  and clusters to which no job should go are put last. They rise only when the list is ordered.

Not guaranteed: that the first cluster has the best score. It may lead by less than the stickiness.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum

from gitops_dsf.hub.multikueue import MAX_CLUSTERS


class OrderCause(StrEnum):
    """A reason why a cluster has another place than before."""

    JOINED = "Joined"
    """It is eligible now, or a job runs there and it was not listed."""
    GONE = "Gone"
    """The cluster has no ManagedCluster any more."""
    LEFT = "Left"
    """It is not eligible any more, and no job runs there."""
    DISPLACED = "Displaced"
    """Another cluster took its place, because the list is full."""
    LAST = "Last"
    """It is not eligible any more. It stays at the end, because jobs run there."""
    INELIGIBLE = "Ineligible"
    """It is not eligible any more, and leaves when the list may be ordered."""
    UNREACHED = "Unreached"
    """Kueue does not reach it. A job that is offered to it waits for minutes."""
    OVERTOOK = "Overtook"
    """It leads another cluster by the stickiness or more."""
    RESTORED = "Restored"
    """Somebody else had changed the list."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderChange:
    """One change of the list, and why."""

    cause: OrderCause
    cluster: str = ""
    """Empty for RESTORED, which is about the whole list."""
    other: str = ""
    """OVERTOOK: the first cluster that was overtaken."""
    lead: float = 0.0
    """OVERTOOK: points by which the cluster leads the other one."""

    @property
    def text(self) -> str:
        """The change in a few words, for Events and logs."""
        match self.cause:
            case OrderCause.JOINED:
                return f"{self.cluster} joined"
            case OrderCause.GONE:
                return f"{self.cluster} left: its ManagedCluster is gone"
            case OrderCause.LEFT:
                return f"{self.cluster} left: it is not eligible, and no job runs there"
            case OrderCause.DISPLACED:
                return f"{self.cluster} left: a better cluster needs its place"
            case OrderCause.LAST:
                return f"{self.cluster} is last: it is not eligible, but jobs run there"
            case OrderCause.INELIGIBLE:
                return f"{self.cluster} is last: it is not eligible"
            case OrderCause.UNREACHED:
                return f"{self.cluster} is last: Kueue does not reach it"
            case OrderCause.OVERTOOK:
                return f"{self.cluster} leads {self.other} by {self.lead:.1f} points"
            case OrderCause.RESTORED:
                return "somebody else changed the list, and the reconciler restores it"


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderInputs:
    """The inputs of the order. Times are seconds since 1970."""

    shown: tuple[str, ...] = ()
    """The list on the hub; empty if there is no MultiKueueConfig."""
    last_written: tuple[str, ...] = ()
    """The list as we wrote it last. It is the base of the next one."""
    decided: AbstractSet[str]
    """The clusters of OCM's decision; empty if there is none."""
    served: AbstractSet[str]
    """The clusters that have a MultiKueueCluster."""
    gone: AbstractSet[str]
    """The listed or busy clusters without a ManagedCluster."""
    busy: AbstractSet[str]
    """The clusters on which a job of this list is admitted, or that a job waits for alone."""
    unreached: AbstractSet[str] = frozenset()
    """The clusters that Kueue does not reach: their MultiKueueCluster is not active."""
    points: Mapping[str, float]
    """Points by cluster. A cluster without points holds its place: its scores have expired."""
    stickiness: float
    """Points by which one cluster must lead another to overtake it."""
    ordered_at: float | None = None
    """The time when the list was ordered last; None if it is unknown."""
    now: float
    reorder_seconds: float

    @property
    def eligible(self) -> frozenset[str]:
        """The clusters to which jobs may go."""
        return frozenset((self.decided & self.served) - self.gone)

    @property
    def ready(self) -> frozenset[str]:
        """The eligible clusters that Kueue reaches. They come first."""
        return self.eligible - self.unreached

    @property
    def is_edited(self) -> bool:
        """Whether another program or a person changed the list."""
        return bool(self.last_written) and self.shown != self.last_written

    @property
    def due_at(self) -> float:
        """The time when the list may be ordered again."""
        if self.ordered_at is None:
            return self.now
        # A time in the future was written by a clock that was wrong.
        return min(self.ordered_at, self.now) + self.reorder_seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """The next list."""

    names: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    """Eligible clusters that have no place in it, best first."""
    changes: tuple[OrderChange, ...] = ()
    """The differences from the list on the hub; empty if there are none."""
    is_ordered: bool = False
    """Whether more than an append differs, so that the next order must wait."""

    @property
    def reason(self) -> str:
        """The reason why the list differs, in a few words; empty if it does not."""
        return "; ".join(change.text for change in self.changes)


def next_order(inputs: OrderInputs) -> Order:
    """The list to write. It is the one on the hub while nothing is to be changed."""
    eligible = inputs.eligible
    if not eligible:
        # OCM has not decided, or whatever the decision depends on is lost for the moment. A list
        # without clusters is not valid anyway.
        return Order(names=inputs.shown)
    if inputs.now >= inputs.due_at:
        names = _ordered(inputs, eligible)
    else:
        names = _appended(inputs, eligible)
    left_out = _best_first(eligible.difference(names), inputs.points)
    changes = tuple(_changes(inputs, eligible, names))
    return Order(
        names=names,
        left_out=tuple(left_out),
        changes=changes,
        is_ordered=names[: len(inputs.shown)] != inputs.shown or not inputs.shown,
    )


def _appended(inputs: OrderInputs, eligible: frozenset[str]) -> tuple[str, ...]:
    """The list on the hub with new clusters, and those to which no job should go at its end."""
    if inputs.is_edited:
        # Two writers that undo each other at once would never rest.
        return inputs.shown
    names = list(inputs.shown)
    for name in _newcomers(inputs, eligible, names):
        if len(names) < MAX_CLUSTERS:
            names.append(name)
    # Kueue looks at the list once for each job, and a job that is offered to a cluster without an
    # answer waits there for five minutes (v0.19.2), so this does not wait.
    return tuple(_first(names, inputs.ready))


def _ordered(inputs: OrderInputs, eligible: frozenset[str]) -> tuple[str, ...]:
    """The list with all its members in order."""
    ready = inputs.ready
    front: list[str] = []
    unreached: list[str] = []
    back: list[str] = []
    for name in _members(inputs, eligible):
        if name in ready:
            front.append(name)
        elif name in eligible:
            unreached.append(name)
        else:
            back.append(name)
    # A cluster that Kueue reaches again in a minute is worth more than one to which no job may go.
    return (*_sorted(front, inputs.points, inputs.stickiness), *unreached, *back)


def _first(names: Iterable[str], ready: AbstractSet[str]) -> list[str]:
    """The same names, with those that are ready first. Otherwise their order stays."""
    # Sorting is stable, and False comes before True.
    return sorted(names, key=lambda name: name not in ready)


def _newcomers(inputs: OrderInputs, eligible: frozenset[str], names: Sequence[str]) -> list[str]:
    """Clusters that should be listed and are not, the most important first."""
    # A job runs on a cluster that is not in the list: the list was deleted or edited.
    running = _best_first((inputs.busy & inputs.served) - inputs.gone, inputs.points)
    others = _best_first(eligible - inputs.busy, inputs.points)
    newcomers = dict.fromkeys((*running, *others))
    for name in names:
        newcomers.pop(name, None)
    return list(newcomers)


def _members(inputs: OrderInputs, eligible: frozenset[str]) -> list[str]:
    """The clusters that are listed. Newcomers are at the end."""
    members: list[str] = []
    for name in inputs.last_written or inputs.shown:
        if name not in inputs.gone and (name in eligible or name in inputs.busy):
            members.append(name)
    # If another program listed a cluster and a job was sent there, the cluster stays like any other
    # one.
    for name in inputs.shown:
        if name not in members and name in inputs.busy and name not in inputs.gone:
            members.append(name)
    # Both lists together may have too many, and then a member that goes makes no room.
    while len(members) > MAX_CLUSTERS:
        members.remove(min(reversed(members), key=lambda name: _claim(name, inputs)))
    for name in _newcomers(inputs, eligible, members):
        weakest = _weakest(members, name, inputs) if len(members) == MAX_CLUSTERS else None
        if weakest is not None:
            members.remove(weakest)
        if len(members) < MAX_CLUSTERS:
            members.append(name)
    return members


def _weakest(members: Sequence[str], newcomer: str, inputs: OrderInputs) -> str | None:
    """The member that makes room for a newcomer; None if all stay."""
    weakest = min(reversed(members), key=lambda name: _claim(name, inputs))
    if weakest in inputs.busy:
        return None
    if newcomer in inputs.busy:
        return weakest
    points = inputs.points
    if newcomer not in points or weakest not in points:
        return None
    return weakest if _leads(newcomer, weakest, points, inputs.stickiness) else None


def _claim(name: str, inputs: OrderInputs) -> tuple[bool, bool, float]:
    """The larger, the longer a member stays when there is no room for all."""
    is_busy = name in inputs.busy
    # Without points the quality of a cluster is unknown, and absence removes nothing.
    return (is_busy and name in inputs.shown, is_busy, inputs.points.get(name, math.inf))


def _sorted(names: Sequence[str], points: Mapping[str, float], stickiness: float) -> list[str]:
    """The clusters by points, as far as the stickiness lets them overtake each other."""
    by_points = list(filter(points.__contains__, names))
    # Neighbours are swapped until no one leads the one before it by the stickiness. So each pair
    # that changed its order was swapped with that lead, which sorting by rounded points, or by a
    # comparison with a tolerance, does not guarantee.
    is_sorted = False
    while not is_sorted:
        is_sorted = True
        for index in range(1, len(by_points)):
            before, after = by_points[index - 1 : index + 1]
            if _leads(after, before, points, stickiness):
                by_points[index - 1 : index + 1] = [after, before]
                is_sorted = False
    # Clusters without points keep their index.
    rest = iter(by_points)
    return [next(rest) if name in points else name for name in names]


def _leads(name: str, other: str, points: Mapping[str, float], stickiness: float) -> bool:
    lead = points[name] - points[other]
    return lead > 0 and lead >= stickiness


def _best_first(names: Iterable[str], points: Mapping[str, float]) -> list[str]:
    """The clusters, best first. Those without points are last; equal ones are in order of name."""
    return sorted(names, key=lambda name: (name not in points, -points.get(name, 0.0), name))


def _changes(
    inputs: OrderInputs, eligible: frozenset[str], names: tuple[str, ...]
) -> Iterator[OrderChange]:
    """The differences between the list on the hub and the next one."""
    if names == inputs.shown:
        return
    if inputs.is_edited:
        yield OrderChange(cause=OrderCause.RESTORED)
    for name in inputs.shown:
        if name not in names:
            yield OrderChange(cause=_why_left(name, inputs, eligible), cluster=name)
    for name in names:
        if name not in inputs.shown:
            yield OrderChange(cause=OrderCause.JOINED, cluster=name)
    # A list that another program wrote is not an order of ours, so overtaking is not reported.
    if not inputs.is_edited:
        yield from _moved(inputs, names)


def _moved(inputs: OrderInputs, names: tuple[str, ...]) -> Iterator[OrderChange]:
    """The clusters that stay and changed their order."""
    ready = inputs.ready
    places = dict(zip(inputs.shown, range(len(inputs.shown)), strict=True))
    stayed = [name for name in names if name in places]
    for index, name in enumerate(stayed):
        if name not in ready:
            for other in stayed[:index]:
                if other in ready and places[other] > places[name]:
                    yield OrderChange(cause=_why_last(name, inputs), cluster=name)
                    break
            continue
        overtaken: list[str] = []
        for other in stayed[index + 1 :]:
            if other in ready and other in inputs.points and places[other] < places[name]:
                overtaken.append(other)
        if overtaken and name in inputs.points:
            other = min(overtaken, key=places.__getitem__)
            lead = inputs.points[name] - inputs.points[other]
            yield OrderChange(cause=OrderCause.OVERTOOK, cluster=name, other=other, lead=lead)


def _why_last(name: str, inputs: OrderInputs) -> OrderCause:
    if name in inputs.eligible:
        return OrderCause.UNREACHED
    return OrderCause.LAST if name in inputs.busy else OrderCause.INELIGIBLE


def _why_left(name: str, inputs: OrderInputs, eligible: frozenset[str]) -> OrderCause:
    if name in inputs.gone:
        return OrderCause.GONE
    return OrderCause.DISPLACED if name in eligible else OrderCause.LEFT

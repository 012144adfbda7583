"""Devices of dynamic resource allocation (DRA): those that drivers offer, and those of claims.

The rules are those of the scheduler (k8s.io/dynamic-resource-allocation v0.37.2,
structured/internal/stable) and of ResourcePoolStatusRequest (Kubernetes 1.37,
pkg/controller/resourcepoolstatusrequest):

- of a pool only the newest generation counts, and only when all its ResourceSlices are there;
- a pool in which two devices have one name is not used;
- a device with a taint NoSchedule or NoExecute is not offered;
- a claim for admin access allocates nothing;
- a device that several claims may share is allocated from its first claim on;
- devices that consume counters, such as the partitions of a GPU, are available while the counters
  of the pool suffice.

Not guaranteed: taints of DeviceTaintRules, node selectors of devices that several nodes can reach,
and the rest of the capacity of shared devices. They are not read. Nor is it checked that a set of
counters is defined once and has every counter that devices consume: the scheduler does not use a
pool in which that is wrong, and here it counts. Pure.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from dsf_agent.kubernetes.objects import PREVENTING, OwnMetadata, object_key
from dsf_agent.kubernetes.quantity import nanos

DeviceId = tuple[str, str, str]
"""Driver, pool and name of a device: together they are unique."""
PoolId = tuple[str, str]
"""Driver and name of a pool."""
CounterAmounts = tuple[tuple[str, str, int], ...]
"""The set of counters, the counter, and billionths."""

ANY_NODE: Final = ""
"""The node of devices that several nodes reach, such as those of a fabric."""
NO_NODE: Final = "?"
"""The node of devices when it is not known which nodes reach them. No node has this name."""
HOLD_SECONDS: Final = 60.0
"""The time for which the last complete state of a pool counts while a driver replaces its
ResourceSlices. A driver writes them one after another, which takes seconds. Without it a fleet
would leave a cluster because a driver changes a label of its GPUs.
"""


class Device(msgspec.Struct, frozen=True, gc=False):
    """A device that a driver offers."""

    name: str
    node: str
    is_tainted: bool
    consumes: CounterAmounts


class ResourceSlice(msgspec.Struct, frozen=True, gc=False):
    """A part of a pool of devices."""

    pool: PoolId
    generation: int
    slices: int
    """The number of ResourceSlices that the pool has at this generation."""
    node: str
    """NO_NODE also if each device has its own."""
    devices: tuple[Device, ...]
    counters: CounterAmounts


class _Counter(msgspec.Struct, gc=False):
    value: str = "0"


class _Consumption(msgspec.Struct, gc=False, rename="camel"):
    """The counters of a set that a device consumes."""

    counter_set: str = ""
    counters: dict[str, _Counter] | None = None


class _CounterSet(_Consumption, gc=False):
    """The counters that a pool has of a set. There the name of the set has another key."""

    counter_set: str = msgspec.field(default="", name="name")


class _DeviceTaint(msgspec.Struct, gc=False):
    effect: str = ""


class _NodeSelector(msgspec.Struct, gc=False):
    """A node selector, of which only its presence is read."""


class _Reach(msgspec.Struct, gc=False, rename="camel"):
    """The nodes that reach a device, or all devices of a slice."""

    node_name: str | None = None
    all_nodes: bool | None = None
    node_selector: _NodeSelector | None = None

    def node(self) -> str:
        """The one node, or ANY_NODE or NO_NODE."""
        if self.node_name:
            return sys.intern(self.node_name)
        return ANY_NODE if self.all_nodes or self.node_selector is not None else NO_NODE


class _DeviceAsSent(_Reach, gc=False, rename="camel"):
    name: str = ""
    taints: list[_DeviceTaint] | None = None
    consumes_counters: list[_Consumption] | None = None


class _Pool(msgspec.Struct, gc=False, rename="camel"):
    name: str = ""
    generation: int = 0
    resource_slice_count: int = 1


class _SliceSpec(_Reach, gc=False, rename="camel"):
    driver: str = ""
    pool: _Pool = msgspec.field(default_factory=_Pool)
    per_device_node_selection: bool | None = None
    devices: list[_DeviceAsSent] | None = None
    shared_counters: list[_CounterSet] | None = None


class _SliceAsSent(msgspec.Struct, gc=False):
    metadata: OwnMetadata
    spec: _SliceSpec


class _Result(msgspec.Struct, gc=False, rename="camel"):
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None


class _AllocatedDevices(msgspec.Struct, gc=False):
    results: list[_Result] | None = None


class _Allocation(msgspec.Struct, gc=False):
    devices: _AllocatedDevices = msgspec.field(default_factory=_AllocatedDevices)


class _ClaimStatus(msgspec.Struct, gc=False):
    allocation: _Allocation | None = None


class _ClaimAsSent(msgspec.Struct, gc=False):
    metadata: OwnMetadata
    status: _ClaimStatus = msgspec.field(default_factory=_ClaimStatus)


_SLICE: Final = msgspec.json.Decoder(_SliceAsSent)
_CLAIM: Final = msgspec.json.Decoder(_ClaimAsSent)


def resource_slice(raw: msgspec.Raw) -> tuple[str, ResourceSlice]:
    """Name and slice. Raises ValueError or a msgspec error for an object that is none."""
    sent = _SLICE.decode(raw)
    spec = sent.spec
    node = NO_NODE if spec.per_device_node_selection else spec.node()
    devices: list[Device] = []
    for device in spec.devices or ():
        devices.append(
            Device(
                name=sys.intern(device.name),
                node=device.node() if spec.per_device_node_selection else node,
                # Consumers must treat effects that they do not know as none.
                is_tainted=any(taint.effect in PREVENTING for taint in device.taints or ()),
                consumes=_amounts(device.consumes_counters or ()),
            )
        )
    kept = ResourceSlice(
        pool=(sys.intern(spec.driver), sys.intern(spec.pool.name)),
        generation=spec.pool.generation,
        slices=spec.pool.resource_slice_count,
        node=node,
        devices=tuple(devices),
        counters=_amounts(spec.shared_counters or ()),
    )
    return sent.metadata.name, kept


def resource_claim(raw: msgspec.Raw) -> tuple[str, tuple[DeviceId, ...]]:
    """Key of a claim and the devices that it was given.

    Raises ValueError or a msgspec error for an object that is not a claim.
    """
    sent = _CLAIM.decode(raw)
    key = object_key(sent.metadata.namespace, sent.metadata.name)
    if sent.status.allocation is None:
        return key, ()
    allocated_ids: list[DeviceId] = []
    for result in sent.status.allocation.devices.results or ():
        # Monitors and the like look at a device that others use.
        if not result.admin_access:
            driver = sys.intern(result.driver)
            allocated_ids.append((driver, sys.intern(result.pool), sys.intern(result.device)))
    return key, tuple(allocated_ids)


def _amounts(sets: Iterable[_Consumption]) -> CounterAmounts:
    amounts: list[tuple[str, str, int]] = []
    for counter_set in sets:
        for name, counter in (counter_set.counters or {}).items():
            amounts.append((counter_set.counter_set, name, nanos(counter.value)))
    return tuple(amounts)


@dataclass(slots=True)
class DeviceCounts:
    """The number of devices of one driver on one node."""

    allocatable: int = 0
    allocated: int = 0
    available: int = 0
    """Each of them could be given to a claim, perhaps instead of another one."""

    def add(self, other: "DeviceCounts") -> None:
        """Adds the devices of another pool or node."""
        self.allocatable += other.allocatable
        self.allocated += other.allocated
        self.available += other.available


CountsByNode = Mapping[str, DeviceCounts]
"""Counts by the name of the node, or ANY_NODE."""


class DeviceTotals:
    """The devices of each driver and node, and the number of those given to claims.

    Pools are counted on request, because a cluster that starts changes each of them often.
    """

    def __init__(self) -> None:
        self._slices: dict[PoolId, dict[str, ResourceSlice]] = {}
        self._given: Counter[DeviceId] = Counter()
        """The number of results of claims that name a device."""
        self._changed: set[PoolId] = set()
        """Pools that must be counted again."""
        self._complete: dict[PoolId, tuple[ResourceSlice, ...]] = {}
        """The last complete generation of each pool."""
        self._incomplete_since: dict[PoolId, float] = {}
        self._counts: dict[PoolId, dict[str, DeviceCounts]] = {}

    def slice_changed(
        self, name: str, before: ResourceSlice | None, after: ResourceSlice | None
    ) -> None:
        """Takes a ResourceSlice that was added, changed or deleted."""
        if before is not None:
            slices = self._slices.get(before.pool, {})
            slices.pop(name, None)
            if not slices:
                self._slices.pop(before.pool, None)
            self._changed.add(before.pool)
        if after is not None:
            self._slices.setdefault(after.pool, {})[name] = after
            self._changed.add(after.pool)

    def claim_changed(
        self, _key: str, before: tuple[DeviceId, ...] | None, after: tuple[DeviceId, ...] | None
    ) -> None:
        """Takes a ResourceClaim that was added, changed or deleted."""
        for device in before or ():
            self._given[device] -= 1
            if not self._given[device]:
                del self._given[device]
            self._changed.add(device[:2])
        for device in after or ():
            self._given[device] += 1
            self._changed.add(device[:2])

    def counts(self, *, now: float) -> dict[str, dict[str, DeviceCounts]]:
        """The counts by driver and node. ``now``: monotonic."""
        for pool in self._changed:
            self._count(pool, now=now)
        self._changed.clear()
        for pool, since in self._incomplete_since.items():
            # The driver may have died or be slow: in both cases the scheduler allocates nothing of
            # such a pool.
            if now - since >= HOLD_SECONDS:
                self._complete.pop(pool, None)
                self._counts.pop(pool, None)
        by_driver: dict[str, dict[str, DeviceCounts]] = {}
        for (driver, _pool), by_node in self._counts.items():
            of_driver = by_driver.setdefault(driver, {})
            for node, counts in by_node.items():
                of_driver.setdefault(node, DeviceCounts()).add(counts)
        return by_driver

    def _count(self, pool: PoolId, *, now: float) -> None:
        slices = self._slices.get(pool)
        if slices is None:
            self._complete.pop(pool, None)
            self._counts.pop(pool, None)
            self._incomplete_since.pop(pool, None)
            return
        newest = _newest(slices.values())
        if _is_complete(newest):
            self._complete[pool] = newest
            self._incomplete_since.pop(pool, None)
        else:
            self._incomplete_since.setdefault(pool, now)
        complete = self._complete.get(pool)
        if complete is not None:
            self._counts[pool] = self._counted(pool, complete)

    def _counted(self, pool: PoolId, slices: tuple[ResourceSlice, ...]) -> dict[str, DeviceCounts]:
        counters_left: Counter[tuple[str, str]] = Counter()
        """Billionths of each counter that no device consumes."""
        for part in slices:
            for counter_set, counter, amount in part.counters:
                counters_left[counter_set, counter] += amount
            for device in part.devices:
                if (*pool, device.name) in self._given:
                    for counter_set, counter, amount in device.consumes:
                        counters_left[counter_set, counter] -= amount
        by_node: dict[str, DeviceCounts] = {}
        for part in slices:
            # A node whose driver has no device any more offers 0 of them.
            by_node.setdefault(part.node, DeviceCounts())
            for device in part.devices:
                counts = by_node.setdefault(device.node, DeviceCounts())
                if device.is_tainted:
                    continue
                counts.allocatable += 1
                if (*pool, device.name) in self._given:
                    counts.allocated += 1
                elif all(
                    counters_left[name, counter] >= need for name, counter, need in device.consumes
                ):
                    counts.available += 1
        return by_node


def _newest(slices: Iterable[ResourceSlice]) -> tuple[ResourceSlice, ...]:
    generation = max(part.generation for part in slices)
    return tuple(part for part in slices if part.generation == generation)


def _is_complete(slices: tuple[ResourceSlice, ...]) -> bool:
    """Whether the scheduler would use the pool."""
    if len(slices) != max(part.slices for part in slices):
        return False
    names = [device.name for part in slices for device in part.devices]
    return len(names) == len(set(names))

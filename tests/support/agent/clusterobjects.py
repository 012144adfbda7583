"""Nodes, pods and devices as an API server shows them."""

from typing import Any

Object = dict[str, Any]


def node(
    name: str, *, ready: bool = True, unschedulable: bool = False, taint: str = "", **offers: Any
) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {
            **({"unschedulable": True} if unschedulable else {}),
            **({"taints": [{"key": taint, "effect": "NoSchedule"}]} if taint else {}),
        },
        "status": {
            "allocatable": offers,
            "capacity": offers,
            "conditions": [
                {"type": "MemoryPressure", "status": "False"},
                {"type": "Ready", "status": "True" if ready else "Unknown"},
            ],
        },
    }


def pod(
    name: str, *, on: str = "", phase: str = "Running", unschedulable: bool = False, **asks: str
) -> Object:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            **({"nodeName": on} if on else {}),
            "containers": [
                {"name": "main", "image": "registry.invalid/x", "resources": {"requests": asks}}
            ],
        },
        "status": {"phase": phase, **({"conditions": [condition]} if unschedulable else {})},
    }


def device(name: str, **more: Any) -> Object:
    return {"name": name, **more}


def resource_slice(
    name: str,
    *devices: Object,
    node: str = "",
    pool: str = "",
    driver: str = "gpu.example.com",
    generation: int = 1,
    slices: int = 1,
    **more: Any,
) -> Object:
    """Part of a pool, which is by default that of the node. ``more``: of the spec."""
    numbers = {"generation": generation, "resourceSliceCount": slices}
    spec: Object = {"driver": driver, "pool": {"name": pool or node, **numbers}, **more}
    spec |= {"nodeName": node} if node else {}
    spec |= {"devices": list(devices)} if devices else {}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": spec,
    }


def claim(
    name: str, *given: tuple[str, str], driver: str = "gpu.example.com", admin: bool = False
) -> Object:
    """A claim with the devices that it was given, each a pool and a name."""
    results: list[Object] = []
    for pool, device_name in given:
        result = {"request": "r", "driver": driver, "pool": pool, "device": device_name}
        results.append({**result, **({"adminAccess": True} if admin else {})})
    status = {"allocation": {"devices": {"results": results}}} if given else {}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
        "status": status,
    }

"""Nodes and pods as an API server shows them."""

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

"""Sums over nodes and pods, kept up to date with each change. Pure."""

from collections.abc import Mapping

from dsf_agent.kubernetes.objects import Node, Pod


class Totals:
    """What the pods of each node request together, and how many pods wait."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.pending = 0
        self.unschedulable = 0
        self._requested: dict[str, dict[str, int]] = {}
        """Billionths by node and resource, also for nodes that are not known yet. A node without pods has no
        entry.
        """

    def requested(self, node: str) -> Mapping[str, int]:
        """Billionths by resource that the pods of a node request."""
        return self._requested.get(node, {})

    def node_changed(self, name: str, _before: Node | None, after: Node | None) -> None:
        """Takes a node that was added, changed or deleted."""
        if after is None:
            self.nodes.pop(name, None)
        else:
            self.nodes[name] = after

    def pod_changed(self, _key: str, before: Pod | None, after: Pod | None) -> None:
        """Takes a pod that was added, changed or deleted."""
        for pod, sign in ((before, -1), (after, 1)):
            if pod is not None:
                self._add(pod, sign)

    def _add(self, pod: Pod, sign: int) -> None:
        self.pending += sign * pod.pending
        self.unschedulable += sign * pod.unschedulable
        if not pod.node:
            return
        found = self._requested.setdefault(pod.node, {})
        for name, amount in pod.requests:
            found[name] = found.get(name, 0) + sign * amount
        if not found.get("pods"):
            del self._requested[pod.node]

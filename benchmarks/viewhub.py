"""A hub for `status` and `doctor`, in a process of its own: `python -m benchmarks.viewhub CLUSTERS
SCORERS APPLICATIONS`.

As widehub.py, with everything else that these two read: sets, bindings, Placements with decisions,
ApplicationSets with Applications. Nothing of the add-on's rights is there, so that `doctor` has the same
thing to say about every cluster.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from benchmarks.widehub import GROUP, Hub

ARGOCD = "argocd"
GROUPS = {
    GROUP: ("v1", "v1alpha1", "v1beta1", "v1beta2"),
    "work.open-cluster-management.io": ("v1",),
    "addon.open-cluster-management.io": ("v1alpha1",),
    "argoproj.io": ("v1alpha1",),
}


class ViewHub(Hub):
    def __init__(self, clusters: int, scorers: int, applications: int) -> None:
        super().__init__(clusters, scorers)
        self.applications = [f"app-{number:04}" for number in range(applications)]
        self._listed: dict[str, list[dict[str, Any]]] = {}

    def listing(self, kind: str) -> list[dict[str, Any]]:
        if kind not in self._listed:
            self._listed[kind] = self._made(kind)
        return self._listed[kind]

    def _made(self, kind: str) -> list[dict[str, Any]]:
        def meta(name: str, namespace: str = ARGOCD, **more: object) -> dict[str, Any]:
            return {
                "name": name,
                "namespace": namespace,
                "uid": f"uid-{name}",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                **more,
            }

        label = f"{GROUP}/placement"
        if kind == "managedclustersets":
            spec = {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}
            return [{"metadata": {"name": "global"}, "spec": spec}]
        if kind == "managedclustersetbindings":
            return [{"metadata": meta("global"), "spec": {"clusterSet": "global"}}]
        if kind == "placements":
            labels = {"app.kubernetes.io/managed-by": "gitops-dsf"}
            return [
                {
                    "metadata": meta(name, labels=labels),
                    "spec": {
                        "numberOfClusters": 3,
                        "prioritizerPolicy": {
                            "mode": "Exact",
                            "configurations": [self._ranks(n % len(self.scorers)), self._ranks(0)],
                        },
                    },
                }
                for n, name in enumerate(self.applications)
            ]
        if kind == "placementdecisions":
            return [
                {
                    "metadata": meta(f"{name}-decision-1", labels={label: name}),
                    "status": {
                        "decisions": [{"clusterName": each, "reason": ""} for each in self._decided(number)]
                    },
                }
                for number, name in enumerate(self.applications)
            ]
        if kind == "applicationsets":
            generator = {"configMapRef": "x", "labelSelector": {"matchLabels": {}}}
            return [
                {
                    "metadata": meta(name, annotations={"gitops-dsf.io/moves-strategy": "MakeBeforeBreak"}),
                    "spec": {
                        "generators": [
                            {
                                "clusterDecisionResource": {
                                    **generator,
                                    "labelSelector": {"matchLabels": {label: name}},
                                }
                            }
                        ]
                    },
                }
                for name in self.applications
            ]
        if kind == "applications":
            status = {
                "health": {"status": "Healthy"},
                "sync": {"status": "Synced"},
                "resources": [{"kind": "Deployment"}] * 10,
            }
            return [
                {
                    "metadata": meta(f"{name}-{cluster}", labels={"gitops-dsf.io/application": name}),
                    "spec": {"destination": {"name": cluster}},
                    "status": status,
                }
                for number, name in enumerate(self.applications)
                for cluster in self._decided(number)
            ]
        if kind == "/apis":
            return [
                {"name": name, "versions": [{"version": each} for each in versions]}
                for name, versions in GROUPS.items()
            ]
        return super().listing(kind)

    def _chosen(self, query: dict[str, list[str]]) -> bytes:
        """One page of scores as an API server with a watch cache makes it: by name, or as many as are asked
        for, and how many are left.
        """
        only = query.get("fieldSelector", [""])[0].removeprefix("metadata.name=")
        numbers = (
            range(self.scorers.index(only), len(self.clusters) * len(self.scorers), len(self.scorers))
            if only
            else range(0)
        )
        total = len(numbers) if only else len(self.clusters) * len(self.scorers)
        start = int(query.get("continue", ["0"])[0])
        end = min(start + int(query.get("limit", ["500"])[0]), total)
        rest = f',"continue":"{end}","remainingItemCount":{total - end}' if end < total else ""
        items = ",".join(self.score(numbers[each] if only else each) for each in range(start, end))
        return f'{{"metadata":{{"resourceVersion":"{self.version}"{rest}}},"items":[{items}]}}'.encode()

    def _decided(self, number: int) -> list[str]:
        return sorted(self.clusters[(number * 7 + each) % len(self.clusters)] for each in range(3))

    def _answer(
        self, method: str, kind: str, name: str, query: dict[str, list[str]], body: dict[str, Any]
    ) -> tuple[int, bytes]:
        if kind == "/apis":
            return 200, json.dumps({"groups": self.listing(kind)}).encode()
        if kind == "addonplacementscores":
            return 200, self._chosen(query)
        if name and kind != "configmaps":
            return 404, b"{}"
        return super()._answer(method, kind, name, query, body)


async def main() -> None:
    hub = ViewHub(*map(int, sys.argv[1:4]))
    server = await asyncio.start_server(hub.serve, "127.0.0.1", 0)
    hub.port = server.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{hub.port}", flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())

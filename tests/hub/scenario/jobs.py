"""Jobs that MultiKueue gives to clusters.

A manager with three workers, each with a Kueue of its own, and a team that submits jobs on the
manager.

The controller of Kubernetes makes the pods of a job on its worker. No node runs them, so a test
says when one is done.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import httpx

from tests.hub.controlplane.api import Client, Object, condition, manifest
from tests.hub.controlplane.binaries import Binaries
from tests.hub.controlplane.kueue import (
    ADMISSION_CHECK,
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    MULTIKUEUE_CLUSTER,
    MULTIKUEUE_CONFIG,
    NAMESPACE,
    RESOURCE_FLAVOR,
    WORKLOAD,
    Kueue,
)
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for, wait_until_gone

WORKERS: Final = ("alpha", "beta", "gamma")
TEAM: Final = "training"
QUEUE: Final = "jobs"
"""The LocalQueue of the team."""
SHARED_QUEUE: Final = "gpu-jobs"
"""The ClusterQueue behind it. It and others have the names of docs/decisions/multikueue.md."""
FLAVOR: Final = "default-flavor"
CHECK: Final = "gpu-jobs"
CONFIG: Final = "gpu-jobs"
"""The MultiKueueConfig of the check."""
PLENTY: Final = 100
"""Jobs at once, where no test limits them."""
JOB: Final = "batch/v1/Job"
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
JOB_UID_LABEL: Final = "kueue.x-k8s.io/job-uid"


@dataclass(frozen=True, kw_only=True)
class Jobs:
    """The manager, its workers, and what people do there."""

    plane: ControlPlane
    manager: Kueue
    workers: Mapping[str, Kueue]

    @property
    def hub(self) -> Client:
        return self.manager.admin

    def order(self, *clusters: str) -> None:
        """Writes the clusters of the MultiKueueConfig by hand, the best first."""
        self.hub.apply(manifest(MULTIKUEUE_CONFIG, CONFIG, spec={"clusters": list(clusters)}))

    def submit(self, *names: str) -> None:
        """Creates jobs of one CPU each, as fast as one person's client does."""
        for name in names:
            self.hub.create(_job(name))

    def workload(self, name: str) -> Object:
        """What Kueue made of a job on the manager; empty until it did."""
        uid = self.hub.get(JOB, name, namespace=TEAM)["metadata"]["uid"]
        label = f"{JOB_UID_LABEL}={uid}"
        workloads = self.hub.list(WORKLOAD, namespace=TEAM, labels=label)
        return workloads[0] if workloads else {}

    def nominated(self, name: str) -> list[str]:
        """The clusters on which Kueue tries a job."""
        status = self.workload(name).get("status") or {}
        return list(status.get("nominatedClusterNames") or [])

    def cluster(self, name: str) -> str | None:
        """Where a job is admitted."""
        status = self.workload(name).get("status") or {}
        cluster: str | None = status.get("clusterName")
        return cluster

    def active(self, name: str) -> int:
        """How many pods of a job run, as far as the manager knows."""
        status = self.hub.get(JOB, name, namespace=TEAM).get("status") or {}
        return int(status.get("active") or 0)

    def running(self, name: str) -> dict[str, str]:
        """Worker to UID of a job that runs there, of all workers whose API server answers."""
        uids = {}
        for cluster, worker in self.workers.items():
            try:
                job = worker.admin.find(JOB, name, namespace=TEAM)
            except httpx.TransportError:
                continue
            if job is not None and not job["spec"].get("suspend"):
                uids[cluster] = str(job["metadata"]["uid"])
        return uids

    def wait_for_running(self, name: str, cluster: str) -> str:
        """Waits until a job runs on this cluster, and says its UID there."""

        def admitted() -> str | None:
            uid = self.running(name).get(cluster)
            return uid if self.cluster(name) == cluster else None

        return wait_for(
            admitted, what=f"{name} runs on {cluster}", seen=lambda: self.evidence(name)
        )

    def spread(self, names: Sequence[str]) -> dict[str, int]:
        """Number of these jobs that are admitted on each worker; the others are under ""."""
        counts: dict[str, int] = {}
        for name in names:
            cluster = self.cluster(name) or ""
            counts[cluster] = counts.get(cluster, 0) + 1
        return counts

    def finish(self, name: str, cluster: str) -> None:
        """Ends the pods of a job, as a kubelet does after success, and waits for the manager."""
        worker = self.workers[cluster].admin
        selector = f"batch.kubernetes.io/job-name={name}"
        pods = wait_for(
            lambda: worker.list("v1/Pod", namespace=TEAM, labels=selector),
            what=f"{name} has a pod on {cluster}",
        )
        for pod in pods:
            worker.patch_status(
                "v1/Pod", pod["metadata"]["name"], {"phase": "Succeeded"}, namespace=TEAM
            )
        wait_for(
            lambda: (self.hub.get(JOB, name, namespace=TEAM).get("status") or {}).get("succeeded"),
            what=f"the manager knows that {name} is done",
            seen=lambda: self.evidence(name),
        )

    @contextmanager
    def unreachable(self, cluster: str) -> Iterator[None]:
        """Has no API server on a worker while the block runs, and waits for the manager to know."""
        server = self.plane.spokes[cluster]
        self.plane.processes.stop(server.process)
        try:
            self._wait_for_connection(cluster, "False")
            yield
        finally:
            server.start()
            server.wait()
            self._wait_for_connection(cluster, "True")

    def _wait_for_connection(self, cluster: str, status: str) -> None:
        wait_for(
            lambda: (
                condition(self.hub.get(MULTIKUEUE_CLUSTER, cluster), "Active").get("status")
                == status
            ),
            what=f"Kueue's connection with {cluster} is {status}",
            seen=lambda: self.hub.get(MULTIKUEUE_CLUSTER, cluster),
        )

    def limit(self, cluster: str, jobs: int) -> None:
        """Gives the queue of a worker quota for so many jobs at once, and waits until its Kueue
        counts with it.
        """
        worker = self.workers[cluster].admin
        generation = worker.apply(_cluster_queue(jobs))["metadata"]["generation"]

        def active() -> dict[str, str]:
            return condition(worker.get(CLUSTER_QUEUE, SHARED_QUEUE), "Active")

        wait_for(
            lambda: active().get("observedGeneration") == generation,
            what=f"Kueue on {cluster} knows its quota",
            seen=active,
        )

    def remove(self) -> None:
        """Deletes all jobs, and waits until they are gone everywhere."""
        names = [job["metadata"]["name"] for job in self.hub.list(JOB, namespace=TEAM)]
        for name in names:
            self.hub.delete(JOB, name, namespace=TEAM)
        wait_until_gone(self.hub, JOB, *names, namespace=TEAM)
        for worker in self.workers.values():
            for job in worker.admin.list(JOB, namespace=TEAM):
                # MultiKueue leaves a copy on a cluster that has left the config.
                worker.admin.delete(JOB, job["metadata"]["name"], namespace=TEAM)
            wait_for(
                lambda worker=worker: not worker.admin.list(WORKLOAD, namespace=TEAM),  # type: ignore[misc]
                what="the workers have no workloads",
            )

    def evidence(self, name: str) -> object:
        """What there is to see of a job."""
        status = self.workload(name).get("status")
        config = self.hub.find(MULTIKUEUE_CONFIG, CONFIG) or {}
        return status, self.running(name), config.get("spec")


def _job(name: str) -> Object:
    container = {
        "name": "train",
        "image": "example.invalid/train:1",
        "resources": {"requests": {"cpu": "1"}},
    }
    spec: Object = {
        "suspend": True,
        # Kueue's webhook writes it, too, but not in the first moments after Kueue started. Kueue
        # then rejects the job for good.
        "managedBy": "kueue.x-k8s.io/multikueue",
        "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
    }
    return manifest(JOB, name, namespace=TEAM, meta={"labels": {QUEUE_LABEL: QUEUE}}, spec=spec)


def _cluster_queue(jobs: int, **more: Any) -> Object:
    resources = [{"name": "cpu", "nominalQuota": jobs}]
    flavors = [{"name": FLAVOR, "resources": resources}]
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    spec: Object = {"namespaceSelector": {}, "resourceGroups": groups, **more}
    return manifest(CLUSTER_QUEUE, SHARED_QUEUE, spec=spec)


def _set_up_queue(kueue: Kueue, **more: Any) -> None:
    """Makes what a manager and its workers must have under the same names."""
    queue = manifest(LOCAL_QUEUE, QUEUE, namespace=TEAM, spec={"clusterQueue": SHARED_QUEUE})
    for item in (
        manifest("v1/Namespace", TEAM),
        manifest(RESOURCE_FLAVOR, FLAVOR, spec={}),
        _cluster_queue(PLENTY, **more),
        queue,
    ):
        kueue.admin.apply(item)


def _connect(manager: Kueue, name: str, worker: Kueue) -> None:
    """Makes a MultiKueueCluster of a worker, with the Secret of its kubeconfig."""
    worker.allow_remote()
    manager.admin.apply(
        manifest(
            "v1/Secret",
            f"{name}-kubeconfig",
            namespace=NAMESPACE,
            stringData={"kubeconfig": worker.remote_kubeconfig()},
        )
    )
    source = {"kubeConfig": {"locationType": "Secret", "location": f"{name}-kubeconfig"}}
    manager.admin.apply(manifest(MULTIKUEUE_CLUSTER, name, spec={"clusterSource": source}))


@contextmanager
def multikueue(plane: ControlPlane, binaries: Binaries, **settings: Any) -> Iterator[Jobs]:
    """Kueue on the hub of a control plane and on its spokes.

    `settings` are those of multiKueue in the configuration of the manager.
    """
    manager = Kueue(server=plane.hub, binaries=binaries, multikueue=settings)
    workers = {
        name: Kueue(server=server, binaries=binaries) for name, server in plane.spokes.items()
    }
    kueues = [manager, *workers.values()]
    with ThreadPoolExecutor(max_workers=len(kueues)) as threads:
        # Rendering the manifests and waiting for the kinds takes seconds on each.
        list(threads.map(Kueue.install, kueues))
    for kueue in kueues:
        kueue.start()
    for kueue in kueues:
        kueue.wait()
    for worker in workers.values():
        _set_up_queue(worker)
    for name, worker in workers.items():
        _connect(manager, name, worker)
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": CONFIG}
    check = {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters}
    manager.admin.apply(manifest(ADMISSION_CHECK, CHECK, spec=check))
    _set_up_queue(manager, admissionChecksStrategy={"admissionChecks": [{"name": CHECK}]})
    plane.processes.check_listeners()
    yield Jobs(plane=plane, manager=manager, workers=workers)
    for kueue in reversed(kueues):
        kueue.stop()

"""The first hour, with nothing simulated but OCM's registration agent: from `make release` in an empty folder
to an application that moves because of a score that was computed in a pod of our image. A release that is
built already is taken from the folder `GITOPS_DSF_RELEASE`.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from dsf_wire.constants import AGENT_NAMESPACE
from gitops_dsf import __version__
from gitops_dsf.hub.names import APPLICATION_LABEL
from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.applications import APPLICATION, ApplicationState
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.binaries import Binaries, obtain
from tests.hub.controlplane.exporter import LoadExporter
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kube import WORKLOAD_CONTROLLERS, Kubernetes
from tests.hub.controlplane.node import Node, Service, is_ready
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.processes import Processes
from tests.hub.controlplane.prometheus import start_prometheus
from tests.hub.controlplane.registry import Registry
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario import realimages
from tests.hub.scenario.fleet import PROMETHEUS
from tests.hub.scenario.hubcredentials import HUB_NAME, hub_kubeconfig
from tests.hub.scenario.installation import SCORE
from tests.hub.scenario.person import Person

pytestmark = [
    pytest.mark.family("kubernetes", "ocm", "argocd", "prometheus", "kubelet"),
    pytest.mark.soak,
    pytest.mark.timeout(2400),
]

ROOT = Path(__file__).parents[2]
CLUSTERS = ("cluster1", "cluster2")
GUESTBOOK = "guestbook"
SCORER = "cpu-headroom"
METRIC = "cpu_busy_percent"
RELEASE = "GITOPS_DSF_RELEASE"

SCORER_FILE = f"""\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata:
  name: {SCORER}
spec:
  description: Idle CPU of the cluster, in percent; more is better.
  source:
    type: Prometheus
    host: http://{PROMETHEUS}
    params:
      query: 100 - avg({METRIC})
  scoring:
    type: Query
    params:
      name: {SCORER}
      interval: 15
  scoreRange:
    min: 0
    max: 100
"""

APPLICATION_FILE = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoredApplication
metadata:
  name: {name}
spec:
  application:
    source:
      repoURL: {url}
      path: .
      targetRevision: main
    destinationNamespace: {name}
  placement:
    numberOfClusters: 1
    clusterSets: [default]
  scores:
    - scorer: {scorer}
  stickiness: 10
"""


@dataclass(frozen=True, kw_only=True)
class World:
    """A hub and two clusters with nodes, and nothing of ours on them."""

    plane: ControlPlane
    registry: Registry
    git_server: GitServer
    load: dict[str, LoadExporter]

    @property
    def hub(self) -> Client:
        return self.plane.hub.admin

    def pods(self, client: Client, namespace: str) -> list[Object]:
        """Those that are ready."""
        return [pod for pod in client.list("v1/Pod", namespace=namespace) if is_ready(pod)]

    def agents(self) -> bool:
        return all(self.pods(self.plane.spokes[name].admin, AGENT_NAMESPACE) for name in CLUSTERS)

    def scores(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for cluster in CLUSTERS:
            item = self.hub.find(SCORE, SCORER, namespace=cluster) or {}
            for one in item.get("status", {}).get("scores", []):
                found[cluster] = int(one["value"])
        return found

    def copies(self) -> dict[str, ApplicationState]:
        """The Applications of the guestbook, by cluster."""
        items = self.hub.list(APPLICATION, namespace="argocd", labels=f"{APPLICATION_LABEL}={GUESTBOOK}")
        return {item["spec"]["destination"]["name"]: ApplicationState.of(item) for item in items}

    def healthy_on(self, cluster: str) -> bool:
        found = self.copies().get(cluster)
        return found is not None and (found.sync, found.health) == ("Synced", "Healthy")

    def running_on(self, cluster: str) -> bool:
        return bool(self.pods(self.plane.spokes[cluster].admin, GUESTBOOK))

    def evidence(self) -> object:
        """Scores, copies, and what the kubelets say."""
        clients = {"hub": self.hub, **{name: self.plane.spokes[name].admin for name in CLUSTERS}}
        pods = {
            f"{name} {pod['metadata']['namespace']}/{pod['metadata']['name']}": (
                pod["status"].get("phase"),
                [one.get("state") for one in pod["status"].get("containerStatuses", [])],
            )
            for name, client in clients.items()
            for pod in client.list("v1/Pod")
        }
        return self.scores(), self.copies(), pods


@pytest.fixture(scope="module")
def possible() -> None:
    realimages.require_nodes()


@pytest.fixture(scope="module")
def person(possible: None, kubernetes_binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Person:
    """An empty folder in which a release was built, before anything of the hub runs."""
    folder = tmp_path_factory.mktemp("person")
    programs = [folder / "venv/bin", kubernetes_binaries.path("kubectl").parent]
    names = {"NAME": "A Platform Engineer", "EMAIL": "platform@example.com"}
    person = Person(
        folder=folder,
        environment={
            "PATH": os.pathsep.join([*map(str, programs), os.environ["PATH"]]),
            "KUBECONFIG": str(folder / "kubeconfig"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            **{
                f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in names.items()
            },
            "COLUMNS": "120",
        },
    )
    dist = folder / "dist"
    if given := os.environ.get(RELEASE):
        dist.symlink_to(Path(given).resolve())
    else:
        person.run(
            f"cd {ROOT}",
            f"{sys.executable} -m tools.release --base {realimages.base()} --out {dist}",
            step="Release built",
        )
    return person


@pytest.fixture(scope="module")
def world(
    person: Person,
    kubernetes_binaries: Binaries,
    ocm_binaries: Binaries | None,
    git_server: GitServer,
    tmp_path_factory: pytest.TempPathFactory,
    note: Callable[[str], None],
) -> Iterator[World]:
    """A control plane of its own: nothing else in the suite expects that Deployments get pods."""
    started = time.monotonic()
    folder = tmp_path_factory.mktemp("first-hour")
    kubelet = obtain("kubelet")
    processes = Processes(logs=folder / "logs")
    kubernetes = Kubernetes(binaries=kubernetes_binaries, processes=processes, folder=folder)
    plane = ControlPlane(
        kubernetes=kubernetes,
        ocm_binaries=ocm_binaries,
        spoke_names=CLUSTERS,
        # Argo CD waits for the status of the disruption budget.
        kube_controllers=(*WORKLOAD_CONTROLLERS, "disruption-controller"),
    )
    with plane, ExitStack() as stack:
        registry = stack.enter_context(Registry(processes=processes, folder=folder / "registry"))
        waits = realimages.sandbox(kubelet, folder)
        sandbox_image = registry.push(waits, "pause:test")
        registry.push(waits, f"{GUESTBOOK}:1")
        argocd = ArgoCD(
            binaries=obtain("argocd"), processes=processes, folder=folder / "argocd", hub=plane.hub
        )
        argocd.install()
        argocd.start()
        stack.callback(argocd.close)
        images = Service(
            name="localhost", ports={int(registry.authority.rpartition(":")[2]): registry.authority}
        )
        hub_service = Service(name=HUB_NAME, ports={443: plane.hub.url.removeprefix("https://")})
        host, _, port = PROMETHEUS.rpartition(":")
        load: dict[str, LoadExporter] = {}
        for number, server in enumerate([plane.hub, *plane.spokes.values()], start=1):
            services = [images, hub_service]
            if server is not plane.hub:
                load[server.name] = stack.enter_context(LoadExporter())
                prometheus = start_prometheus(
                    binaries=obtain("prometheus"),
                    processes=processes,
                    folder=folder / f"prometheus-{server.name}",
                    exporter=load[server.name],
                    name=f"prometheus-{server.name}",
                )
                target = prometheus.url.removeprefix("http://")
                services.append(Service(name=host, ports={int(port): target}))
                argocd.add_cluster_secret(server.name, server.url, server.kubeconfig())
            stack.enter_context(
                Node(
                    name=f"{server.name}-node",
                    server=server,
                    binaries=kubelet,
                    processes=processes,
                    folder=folder / f"{server.name}-node",
                    sandbox_image=sandbox_image,
                    services=services,
                    number=number,
                )
            )
        argocd.wait()
        processes.check_listeners()
        write_kubeconfig(plane, person.folder / "kubeconfig")
        note(f"first hour: a hub and two clusters with nodes: {time.monotonic() - started:.1f} s")
        yield World(
            plane=plane,
            registry=registry,
            git_server=git_server,
            load=load,
        )
    left = processes.left_behind()
    assert not left, f"processes left behind: {left}"


def write_kubeconfig(plane: ControlPlane, path: Path) -> None:
    """One file with a context for the hub and for each cluster, as people have it."""
    merged: Object = {"apiVersion": "v1", "kind": "Config", "current-context": "hub"}
    for server in (plane.hub, *plane.spokes.values()):
        single = yaml.safe_load(server.kubeconfig().read_text(encoding="utf-8"))
        for kind in ("clusters", "users"):
            merged.setdefault(kind, []).append({**single[kind][0], "name": server.name})
        merged.setdefault("contexts", []).append(
            {"name": server.name, "context": {"cluster": server.name, "user": server.name}}
        )
    path.write_text(yaml.safe_dump(merged), encoding="utf-8")
    path.chmod(0o600)


def register(plane: ControlPlane, cluster: str) -> None:
    """What OCM's registration agent does when the add-on arrives."""
    spoke = plane.spokes[cluster].admin
    wait_for(
        lambda: spoke.find("v1/Namespace", AGENT_NAMESPACE),
        what=f"the namespace of the agent is on {cluster}",
        timeout=600,
    )
    spoke.apply(hub_kubeconfig(plane, cluster))


def workload(image: str) -> Object:
    """A Deployment that a kubelet starts, unlike those of the other tests."""
    labels = {"app": GUESTBOOK}
    container = {"name": GUESTBOOK, "image": image}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": GUESTBOOK},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container], "terminationGracePeriodSeconds": 1},
            },
        },
    }


def test_from_a_release_to_an_application_that_moves(
    world: World, person: Person, note: Callable[[str], None]
) -> None:
    authority = world.registry.authority
    guestbook = world.git_server.create(GUESTBOOK)
    guestbook.commit({"deployment.yaml": yaml.safe_dump(workload(f"{authority}/{GUESTBOOK}:1"))})
    fleet = world.git_server.create("fleet")
    world.load["cluster1"].set(METRIC, {}, 60)
    world.load["cluster2"].set(METRIC, {}, 20)

    person.run(
        *(
            "skopeo --insecure-policy copy --quiet --dest-tls-verify=false \\\n"
            f"    oci-archive:{archive.relative_to(person.folder)} docker://{authority}/gitops-dsf-{name}:{__version__}"
            for name in ("agent", "reconciler")
            for archive in (person.folder / "dist").glob(f"gitops-dsf-{name}-*.oci.tar")
        ),
        step="Images pushed",
    )
    person.run(
        "python3 -m venv venv",
        "venv/bin/pip install --quiet dist/gitops_dsf_wire-*.whl dist/gitops_dsf_scorer-*.whl \\\n"
        '    dist/gitops_dsf_runtime-*.whl "$(echo dist/gitops_dsf-*.whl)[live]"',
        "gitops-dsf --version",
        step="Command line installed",
    )
    person.run(
        f"git clone --quiet {fleet.url} fleet",
        f"gitops-dsf init fleet --empty --registry {authority} --git-url {fleet.url}",
        "cd fleet",
        "gitops-dsf import --context hub",
        step="Fleet repository made, with the clusters of the hub",
    )
    person.write(f"fleet/scorers/{SCORER}.yaml", SCORER_FILE)
    person.run(*publish("One scorer"), step="Validated, rendered and pushed")
    with ThreadPoolExecutor(max_workers=len(CLUSTERS)) as pool:
        registering = [pool.submit(register, world.plane, cluster) for cluster in CLUSTERS]
        person.run("cd fleet", "gitops-dsf install --context hub", step="Installed on the hub")
        for each in registering:
            each.result()
    person.until(
        world.agents, step="The agent's pod is ready on both clusters", timeout=180, seen=world.evidence
    )
    person.until(
        lambda: world.scores().keys() == set(CLUSTERS),
        step="Both clusters have a score",
        timeout=120,
        seen=world.evidence,
    )

    person.write(
        f"fleet/apps/{GUESTBOOK}.yaml",
        APPLICATION_FILE.format(name=GUESTBOOK, url=guestbook.url, scorer=SCORER),
    )
    person.run(*publish("The guestbook"), step="Validated, rendered and pushed again")
    person.until(
        lambda: world.healthy_on("cluster2") and world.running_on("cluster2"),
        step="The guestbook runs on cluster2",
        timeout=240,
        seen=world.evidence,
    )
    assert set(world.copies()) == {"cluster2"}
    person.run("gitops-dsf status --context hub", step="Status")

    world.load["cluster2"].set(METRIC, {}, 90)
    person.until(
        lambda: world.scores()["cluster2"] < world.scores()["cluster1"],
        step="The score of cluster2 is below that of cluster1",
        timeout=90,
        seen=world.evidence,
    )
    person.until(
        lambda: world.healthy_on("cluster1") and world.running_on("cluster1"),
        step="The guestbook runs on cluster1",
        timeout=240,
        seen=world.evidence,
    )
    person.until(
        lambda: set(world.copies()) == {"cluster1"} and not world.running_on("cluster2"),
        step="The copy on cluster2 is gone",
        timeout=240,
        seen=world.evidence,
    )
    person.run("gitops-dsf status --context hub", step="Status")
    note("first hour: " + ", ".join(f"{step} {seconds:.1f} s" for step, seconds in person.times))


def publish(message: str) -> tuple[str, ...]:
    """What a person does after an edit."""
    return (
        "cd fleet",
        "gitops-dsf validate",
        "gitops-dsf render",
        "git add --all",
        f'git commit --quiet --message "{message}"',
        "git push --quiet",
    )

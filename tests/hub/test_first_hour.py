"""docs/start/kind.md, walked on the control planes of this suite in place of kind.

What our programs, kubectl and git do is run as printed, and compared with what the page shows. Not
run are docker, kind, clusteradm, make and curl, the commands that install Argo CD, and the copy of
what make builds, because no containers run here. tests/contract/test_walks.py reads their syntax
only: what the page says of them is from the documentation and the sources of kind v0.33.0,
clusteradm v1.2.1 and Gitea. The hub suite has OCM, Argo CD and clusters that joined.

What a scheduler and kubelets would do is done here: nodes, the binding of a pod, ready Deployments.
The agents, the reconciler and the sample scorer are processes of our programs, with the rights and
the environment of their Deployments. Gitea and the repository of the guestbook are replaced by the
git server of this suite, and the addresses of kind's nodes by those of the API servers.
"""

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.applications import copies
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitrepository import git
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kube import KubeApiServer
from tests.hub.controlplane.plane import SPOKES, ControlPlane
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.agents import cluster_dns, make_available, spoke_agent
from tests.hub.scenario.reconciling import HUB_NAMESPACE, reconciling
from tests.support.environment import GIT_CONFIGURATION
from tests.support.pages import ROOT, blocks
from tests.support.scorer.serving import serving
from tests.support.walks import NEEDS_CONTAINERS, REST, commands, edit

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

PAGE: Final = ROOT / "docs/start/kind.md"
PROGRAMS: Final = Path(sys.executable).parent
DEPLOYMENT: Final = "apps/v1/Deployment"
LOOKS: Final = ("status", "doctor", "explain", "simulate", "diff", "get applications")
"""What a reader repeats until it shows what the page shows, because other programs work on it."""
LOOK_SECONDS: Final = 150.0


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Who follows the page, with a home and a kubeconfig of their own."""

    environment: Mapping[str, str]
    elsewhere: Mapping[str, str]
    """What the page names, and where that is in this suite."""

    def run(self, command: str, folder: Path) -> str:
        """The output of a command, errors included; its exit code is 0."""
        done = subprocess.run(
            ["bash", "-euc", self.located(command)],
            cwd=folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=400,
            check=False,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}"
        return done.stdout

    def located(self, text: str) -> str:
        for name, here in self.elsewhere.items():
            text = text.replace(name, here)
        return text

    def expect(self, command: str, expected: list[str], folder: Path) -> None:
        """Runs a command and compares; a look is repeated."""
        if not any(word in command for word in LOOKS):
            output = self.run(command, folder)
            assert same(output, expected), f"$ {command}\n{output}"
            return
        last = ""

        def look() -> bool:
            nonlocal last
            last = self.run(command, folder)
            return same(last, expected)

        wait_for(look, what=f"$ {command}", timeout=LOOK_SECONDS, seen=lambda: last)


def same(output: str, expected: list[str]) -> bool:
    """Whether an output is as the page shows it.

    `...` stands for any lines, or for a part of one. The width of columns does not matter.
    """
    pattern = ""
    for line in expected:
        if line == REST:
            pattern += "(?:.*\n)*?"
        else:
            parts = [re.escape(part) for part in _narrow(line).split(REST)]
            pattern += ".*?".join(parts) + "\n"
    lines = "".join(f"{_narrow(line)}\n" for line in output.splitlines())
    return re.fullmatch(pattern, lines) is not None


def _narrow(line: str) -> str:
    return re.sub(r" +", " ", line).rstrip()


def kubeconfig_of_kind(plane: ControlPlane) -> str:
    """What kind would have written: a context for each cluster, with certificates and keys."""
    clusters, users, contexts = list[Object](), list[Object](), list[Object]()
    for server in (plane.hub, *plane.spokes.values()):
        name = f"kind-{server.name}"
        files = yaml.safe_load(server.kubeconfig().read_text("utf-8"))["users"][0]["user"]
        user = {f"{key}-data": _encoded(Path(file)) for key, file in files.items()}
        authority = _encoded(server.authority_file)
        cluster = {"server": server.url, "certificate-authority-data": authority}
        clusters.append({"name": name, "cluster": cluster})
        users.append({"name": name, "user": user})
        contexts.append({"name": name, "context": {"cluster": name, "user": name}})
    lists = {"clusters": clusters, "users": users, "contexts": contexts}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **lists})


def _encoded(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode("ascii")


def node(name: str) -> Object:
    """The node of a kind cluster, as its kubelet registers it."""
    offers = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    ready = [{"type": "Ready", "status": "True"}]
    return manifest(
        "v1/Node", name, status={"capacity": offers, "allocatable": offers, "conditions": ready}
    )


def schedule(spoke: KubeApiServer, pod: str, folder: Path) -> None:
    """Binds a pod to the node of its cluster and lets it run, as a scheduler and a kubelet do."""
    target = {"kind": "Node", "name": f"{spoke.name}-control-plane"}
    file = folder / "binding.json"
    file.write_text(
        json.dumps(manifest("v1/Binding", pod, namespace="default", target=target)), "utf-8"
    )
    path = f"/api/v1/namespaces/default/pods/{pod}/binding"
    spoke.kubectl("create", "--raw", path, "--filename", str(file))
    spoke.admin.patch_status("v1/Pod", pod, {"phase": "Running"}, namespace="default")


@dataclass(kw_only=True)
class Machine:
    """The machine of the reader, with the clusters on it."""

    plane: ControlPlane
    reader: Reader
    home: Path
    running: ExitStack
    """What was started on the way."""

    def install(self, command: str, expected: list[str], folder: Path) -> None:
        """`install` waits for the reconciler, which nobody starts here but this."""
        hub = self.plane.hub.admin
        with ThreadPoolExecutor(max_workers=1) as pool:
            installing = pool.submit(self.reader.run, command, folder)
            name = "gitops-dsf-reconciler"
            binding = "rbac.authorization.k8s.io/v1/ClusterRoleBinding"
            wait_for(
                lambda: (
                    hub.find("v1/ServiceAccount", name, namespace=HUB_NAMESPACE)
                    and hub.find(DEPLOYMENT, name, namespace=HUB_NAMESPACE)
                    and hub.find(binding, "gitops-dsf:reconciler")
                ),
                what="Argo CD has applied the reconciler and its rights",
                timeout=180,
                seen=lambda: installing.result() if installing.done() else "install waits",
            )
            self.running.enter_context(reconciling(self.plane, until="answers"))
            ready = {"replicas": 1, "readyReplicas": 1}
            hub.patch_status(DEPLOYMENT, name, ready, namespace=HUB_NAMESPACE)
            self.start_agents()
            output = installing.result()
        assert same(output, expected), output

    def start_agents(self) -> None:
        """The sample scorer, and the agents that call it by the name of its Service."""
        project = self.home / "spare-gpus"
        api = self.running.enter_context(serving("scorer:app", project, programs=PROGRAMS))
        services = {"spare-gpus.scoring.svc:8000": api.url}
        environment = self.running.enter_context(cluster_dns(services))
        for name in SPOKES:
            folder = self.home / f"agent-{name}"
            self.running.enter_context(
                spoke_agent(self.plane, name, folder=folder, environment=environment)
            )
            make_available(self.plane, name)

    def begin_training(self, command: str, expected: list[str], folder: Path) -> None:
        self.reader.expect(command, expected, folder)
        schedule(self.plane.spokes["cluster1"], "training", self.home)

    def steps(self) -> dict[str, Callable[[str, list[str], Path], None]]:
        """Commands for which something else must happen, too, by how they begin."""
        return {
            "gitops-dsf install": self.install,
            "kubectl --context kind-cluster1 apply": self.begin_training,
        }


@pytest.fixture
def machine(
    control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer, hub: Client, tmp_path: Path
) -> Iterator[Machine]:
    (tmp_path / "kubeconfig").write_text(kubeconfig_of_kind(control_plane), "utf-8")
    fleet = git_server.create("first-hour")
    # Gitea makes the repository with the first push.
    git("update-ref", "-d", "refs/heads/main", folder=fleet.bare)
    guestbook = git_server.create("first-hour-guestbook")
    greeting = manifest("v1/ConfigMap", "guestbook", data={"greeting": "hello"})
    guestbook.commit({"guestbook/guestbook.yaml": json.dumps(greeting)})
    kubectl = control_plane.kubernetes.binaries.path("kubectl")
    environment = {
        **os.environ,
        "PATH": f"{kubectl.parent}:{PROGRAMS}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "KUBECONFIG": str(tmp_path / "kubeconfig"),
        "GIT_CONFIG_GLOBAL": GIT_CONFIGURATION,
    }
    elsewhere = {
        "http://gitea:3000/platform/fleet.git": fleet.url,
        "https://github.com/argoproj/argocd-example-apps.git": guestbook.url,
        "https://$name-control-plane:6443": "$(of .clusters[0].cluster.server)",
    }
    reader = Reader(environment=environment, elsewhere=elsewhere)
    with ExitStack() as stack:
        for spoke in control_plane.spokes.values():
            name = f"{spoke.name}-control-plane"
            spoke.admin.create(node(name))
            stack.callback(spoke.admin.delete, "v1/Node", name)
            stack.callback(spoke.admin.delete, "v1/Namespace", "scoring")
            stack.callback(argocd.remove_cluster_secret, spoke.name)
            stack.callback(
                spoke.admin.delete, "v1/Pod", "training", namespace="default", gracePeriodSeconds=0
            )
        stack.callback(
            wait_for, lambda: not copies(hub, "guestbook", going=True), what="the guestbook is gone"
        )
        uninstall = "gitops-dsf uninstall --context kind-hub --delete-applications --timeout 90"
        stack.callback(reader.run, uninstall, tmp_path)
        running = stack.enter_context(ExitStack())
        yield Machine(plane=control_plane, reader=reader, home=tmp_path, running=running)


def test_the_first_hour_is_as_the_page_shows_it(machine: Machine) -> None:
    """It ends with the move that the page promises, and with the change that it previews."""
    folder = machine.home / "gitops-dsf"
    folder.mkdir()
    _checkout, *rest = blocks(PAGE)
    steps = machine.steps()
    for block in rest:
        if block.language == "yaml":
            (folder / block.title).write_text(machine.reader.located(block.text), "utf-8")
        elif block.language == "diff":
            edit(folder / block.title, block.text)
        elif block.language == "sh":
            machine.reader.run(block.text, folder)
        else:
            for command, expected in commands(block.text):
                if NEEDS_CONTAINERS.match(command):
                    continue
                if command.startswith("cd "):
                    folder = (folder / command.removeprefix("cd ")).resolve()
                    continue
                begins = [name for name in steps if command.startswith(name)]
                act = steps[begins[0]] if begins else machine.reader.expect
                act(command, expected, folder)

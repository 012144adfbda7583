"""From a query that fails on one cluster to its sentence on the hub, every program real.

Each cluster has its own Prometheus and its own agent. OCM delivers the edit, the agent has the
rights and the policy that we render, and people ask `gitops-dsf status`, or kubectl's jsonpath.
"""

import json
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.hub.controlplane.api import Client
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kubeconfig import ADMIN
from tests.hub.controlplane.plane import SPOKES, ControlPlane
from tests.hub.controlplane.prometheus import LoadExporter, ask, start_prometheus
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.agents import cluster_dns, make_available, spoke_agent
from tests.hub.scenario.fleet import PROMETHEUS, RESOURCE, SCORE, SCORER, new_fleet
from tests.hub.scenario.fleet import scorer as scorer_document
from tests.hub.scenario.installation import Installation, installed
from tests.hub.scenario.placements import SCORE as SCORES
from tests.hub.scenario.placements import scores

pytestmark = [pytest.mark.family("kubernetes", "ocm", "prometheus")]

PAGE = Path(__file__).parents[2] / "docs/operate/problems.md"
GOOD = "1 - avg(cpu_load)"
BROKEN = "1 - cpu_load * on () cpu_weight"
"""Many-to-many where a cluster has two series of the weight."""
MAX_SECONDS = 60.0


def by_query(query: str) -> dict[str, Any]:
    params = {"query": query}
    return {
        "source": {"type": "Prometheus", "host": f"http://{PROMETHEUS}", "params": params},
        "scoring": {"type": "Query", "params": {"name": SCORE, "interval": 1}},
    }


@dataclass(frozen=True, kw_only=True)
class ReasonScene:
    installation: Installation
    hub: Client

    def edit(self, query: str) -> float:
        """Merges another query. Returns when it was on the hub."""
        document = scorer_document(**by_query(query))
        self.installation.fleet.write(f"scorers/{SCORER}.yaml", document)
        self.installation.sync()
        return time.monotonic()

    def status(self, *arguments: str) -> str:
        plane = self.installation.plane
        kubeconfig = str(plane.hub.kubeconfig(ADMIN))
        ran = self.installation.fleet.run(
            "status", "--context", "context", "--kubeconfig", kubeconfig, *arguments
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def by_kubectl(self) -> str:
        """What the command on the page of problems prints."""
        [command] = [
            line.strip()
            for line in PAGE.read_text(encoding="utf-8").splitlines()
            if line.strip().startswith("kubectl get addonplacementscores -A")
        ]
        environment = {"KUBECONFIG": str(self.installation.plane.hub.kubeconfig(ADMIN))}
        return subprocess.run(
            shlex.split(command),
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout

    def status_of(self, cluster: str) -> dict[str, Any]:
        found: dict[str, Any] = self.hub.get(SCORES, RESOURCE, namespace=cluster)["status"]
        return found


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane,
    git_server: GitServer,
    hub: Client,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ReasonScene]:
    folder = tmp_path_factory.mktemp("reasons")
    fleet = new_fleet(git_server, "reasons", guestbook=False, **by_query(GOOD))
    processes = control_plane.processes
    with ExitStack() as stack:
        installation = stack.enter_context(installed(fleet, control_plane))
        for cluster in SPOKES:
            exporter = stack.enter_context(LoadExporter())
            exporter.set("cpu_load", {}, 0.25)
            exporter.set("cpu_weight", {"of": "a"}, 1)
            if cluster == "cluster2":
                exporter.set("cpu_weight", {"of": "b"}, 2)
            url = start_prometheus(
                processes=processes,
                folder=folder / cluster,
                name=f"prometheus-{cluster}",
                exporter=exporter,
            )
            stack.callback(processes.stop, f"prometheus-{cluster}")
            wait_for(lambda url=url: ask(url, "cpu_weight"), what="it is scraped")  # type: ignore[misc]
            environment = stack.enter_context(cluster_dns({PROMETHEUS: url}))
            make_available(control_plane, cluster)
            stack.enter_context(
                spoke_agent(
                    control_plane,
                    cluster,
                    folder=folder / f"agent-{cluster}",
                    environment=environment,
                )
            )
        installation.wait_for_policies()
        yield ReasonScene(installation=installation, hub=hub)


def test_a_query_that_fails_on_one_cluster_is_a_sentence_in_status_within_seconds(
    scene: ReasonScene, record_property: Any
) -> None:
    for cluster in SPOKES:
        wait_for(
            lambda cluster=cluster: scores(scene.hub, cluster, RESOURCE) == {SCORE: 75},  # type: ignore[misc]
            what=f"{cluster} has a score",
            seen=lambda: scene.hub.find(SCORES, RESOURCE, namespace="cluster1"),
        )
        [condition] = scene.status_of(cluster)["conditions"]
        assert (condition["type"], condition["status"], condition["reason"]) == (
            "Scored",
            "True",
            "Scored",
        )
    before = scene.status_of("cluster2")
    began = scene.edit(BROKEN)
    said = f"  {SCORER} on cluster2: QueryFailed for "
    wait_for(lambda: said in scene.status(), what="status says why", seen=scene.status)
    seconds = time.monotonic() - began
    record_property("seconds from the edit on the hub to the sentence in status", seconds)
    print(f"from the edit on the hub to its sentence in status: {seconds:.1f} s")
    assert seconds < MAX_SECONDS
    text = scene.status()
    assert "duplicate series for the match group" in text
    assert f"{SCORER} on cluster1" not in text
    after = scene.status_of("cluster2")
    assert (after["scores"], after["validUntil"]) == (before["scores"], before["validUntil"])
    [listed] = json.loads(scene.status("-o", "json"))["scorers"]
    assert listed["summary"]["failing"] == {"QueryFailed": 1}
    # Not every machine has kubectl, and the rest of the story does not need it.
    if shutil.which("kubectl"):
        assert f"cluster2\t{RESOURCE}\tQueryFailed\t" in scene.by_kubectl()
    scene.edit(GOOD)
    wait_for(lambda: said not in scene.status(), what="it works again", seen=scene.status)
    [condition] = scene.status_of("cluster2")["conditions"]
    assert condition["status"] == "True"
    assert condition["lastTransitionTime"] >= before["conditions"][0]["lastTransitionTime"]

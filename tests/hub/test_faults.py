"""The hub's API server crashes under the running loop: nothing is deleted, and the loop goes on where it
was.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.hub.controlplane.api import Client
from tests.hub.controlplane.applications import copies, refresh_set
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.agents import AgentProgram, spoke_agent
from tests.hub.scenario.clusterdns import ClusterDns
from tests.hub.scenario.fleet import APPLICATION, RESOURCE, SCORE, SCORING, Fleet, scorer, write_fleet
from tests.hub.scenario.headroom import HeadroomApi
from tests.hub.scenario.installation import installed
from tests.hub.scenario.placements import SCORE as SCORES
from tests.hub.scenario.placements import wait_for_decision

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

CLUSTERS = ("cluster1", "cluster2")


@dataclass(kw_only=True)
class Loop:
    """Scoring APIs, agents, placement and ApplicationSet of one fleet while they run."""

    hub: Client
    apis: dict[str, HeadroomApi] = field(default_factory=dict)
    agents: dict[str, AgentProgram] = field(default_factory=dict)

    def publish(self, **answers: float) -> None:
        """The scoring API of each cluster answers this from now on; wait for it on the hub."""
        for cluster, answer in answers.items():
            self.apis[cluster].fixed = answer
        for cluster, answer in answers.items():
            wait_for(
                lambda cluster=cluster, answer=answer: abs(self.value(cluster) - 1 - 99 * answer) <= 1,  # type: ignore[misc]
                what=f"{cluster} publishes {answer}",
                seen=self.agents[cluster].process.tail,
            )

    def value(self, cluster: str) -> int:
        """The score on the hub; 0, which is never one, where there is none."""
        item = self.hub.find(SCORES, RESOURCE, namespace=cluster) or {}
        items = item.get("status", {}).get("scores", [])
        return next((one["value"] for one in items if one["name"] == SCORE), 0)

    def applications(self) -> dict[str, str]:
        """Destination cluster to the uid of the Application."""
        return {name: item["metadata"]["uid"] for name, item in copies(self.hub, APPLICATION).items()}


@pytest.fixture
def loop(
    control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer, hub: Client, tmp_path: Path
) -> Iterator[Loop]:
    fleet = Fleet(repository=git_server.create("faults"), name="faults")
    write_fleet(fleet, clusters=list(CLUSTERS))
    fleet.write("scorers/cpu-headroom.yaml", scorer(source={"type": "None"}))
    fleet.render()
    loop = Loop(hub=hub)
    with ExitStack() as stack:
        stack.enter_context(argocd.knowing(control_plane.spokes.values()))
        stack.enter_context(installed(fleet, control_plane, clusters=CLUSTERS))
        for cluster in CLUSTERS:
            loop.apis[cluster] = stack.enter_context(HeadroomApi(fixed=0.5))
            names = stack.enter_context(ClusterDns({SCORING: loop.apis[cluster].url}))
            loop.agents[cluster] = stack.enter_context(
                spoke_agent(control_plane, cluster, folder=tmp_path, environment=names.environment)
            )
        yield loop


def test_the_hub_crashes_and_returns(loop: Loop, control_plane: ControlPlane) -> None:
    loop.publish(cluster1=0.9, cluster2=0.2)
    wait_for_decision(loop.hub, APPLICATION, "cluster1")
    refresh_set(loop.hub, APPLICATION)
    wait_for(lambda: "cluster1" in loop.applications(), what="there is an Application")
    before = loop.applications()
    server, agent = control_plane.hub, loop.agents["cluster1"]
    control_plane.processes.stop(server.process, kill=True)
    try:
        asked = len(loop.apis["cluster1"].requests)
        loop.apis["cluster1"].fixed = 0.1
        wait_for(
            lambda: len(loop.apis["cluster1"].requests) >= asked + 2,
            what="the agent goes on scoring without a hub",
        )
        wait_for(
            lambda: raw_score(agent) == 0.1, what="and exports what it cannot publish", seen=agent.metrics
        )
    finally:
        server.start()
        server.wait()
    loop.publish(cluster1=0.1, cluster2=0.8)
    wait_for_decision(loop.hub, APPLICATION, "cluster2")
    assert agent.process.running
    assert before.items() <= loop.applications().items(), "no Application is deleted or made anew"


def raw_score(agent: AgentProgram) -> float | None:
    line = next((one for one in agent.metrics().splitlines() if one.startswith("dynamic_score{")), None)
    return None if line is None else float(line.rpartition(" ")[2])

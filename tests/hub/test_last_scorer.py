"""Suspending a cluster's last scorer in git takes its scores off the hub, and nothing else; without it they
come back.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from dsf_wire.constants import AGENT_MANAGER, MANAGED_BY_LABEL
from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.clusterdns import ClusterDns
from tests.hub.scenario.fleet import APPLICATION, RESOURCE, SCORER, SCORING, Fleet, scorer, write_fleet
from tests.hub.scenario.headroom import HeadroomApi
from tests.hub.scenario.installation import SCORE, Installation, installed
from tests.hub.scenario.spokeagent import SpokeAgent, spoke_agent

pytestmark = pytest.mark.family("kubernetes", "ocm")

CLUSTER = "cluster1"
STAND_SECONDS = 6
"""How long an empty list must stand with a prune delay of 1 s."""


@dataclass(frozen=True, kw_only=True)
class Running:
    """A fleet of one scorer, its API, and the agent of one cluster."""

    installation: Installation
    agent: SpokeAgent
    hub: Client

    def suspend(self, suspended: bool) -> None:
        """As a merged pull request does."""
        fleet = self.installation.fleet
        fleet.write(f"scorers/{SCORER}.yaml", scorer(source={"type": "None"}, suspend=suspended))
        fleet.render()
        self.installation.apply()
        wait_for(
            lambda: (self.summaries() == "[]") is suspended,
            what="the agent's file follows",
            timeout=60,
            seen=self.summaries,
        )

    def summaries(self) -> str:
        return self.agent.summaries.read_text(encoding="utf-8").strip()

    def score(self, name: str = RESOURCE) -> Object | None:
        return self.hub.find(SCORE, name, namespace=CLUSTER)


@pytest.fixture(scope="module")
def running(
    control_plane: ControlPlane, git_server: GitServer, hub: Client, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    fleet = Fleet(repository=git_server.create("lastscorer"), name="lastscorer")
    write_fleet(fleet, clusters=[CLUSTER])
    (fleet.root / f"apps/{APPLICATION}.yaml").unlink()
    fleet.write(f"scorers/{SCORER}.yaml", scorer(source={"type": "None"}))
    fleet.render()
    with ExitStack() as stack:
        installation = stack.enter_context(installed(fleet, control_plane, clusters=(CLUSTER,)))
        api = stack.enter_context(HeadroomApi(fixed=0.5))
        names = stack.enter_context(ClusterDns({SCORING: api.url}))
        agent = stack.enter_context(
            spoke_agent(
                control_plane,
                CLUSTER,
                folder=tmp_path_factory.mktemp("lastscorer"),
                environment=names.environment,
                waits="prune=1",
            )
        )
        yield Running(installation=installation, agent=agent, hub=hub)


def test_the_last_scorer_is_suspended_and_resumed(running: Running) -> None:
    hub = running.hub
    wait_for(running.score, what="the score is on the hub", timeout=60, seen=running.agent.process.tail)
    published = running.score()
    assert published is not None
    assert published["metadata"]["labels"][MANAGED_BY_LABEL] == AGENT_MANAGER
    foreign: Object = {
        **{key: published[key] for key in ("apiVersion", "kind")},
        "metadata": {"name": "foreign", "namespace": CLUSTER},
    }
    hub.create(foreign)

    running.suspend(True)
    hold_for(
        lambda: running.score() is not None,
        what="an empty list deletes nothing at once",
        seconds=STAND_SECONDS / 2,
    )
    wait_for(
        lambda: running.score() is None,
        what="the suspended scorer's score is off the hub",
        seen=running.agent.process.tail,
    )
    assert running.score("foreign") is not None
    assert running.agent.ready()["configuration"]["trouble"] is None

    running.suspend(False)
    back = wait_for(running.score, what="the score is back", seen=running.agent.process.tail)
    assert back["metadata"]["uid"] != published["metadata"]["uid"]
    hub.delete(SCORE, "foreign", namespace=CLUSTER)

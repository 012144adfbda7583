"""Suspension with real agents: an API goes down, scores go stale, and agents stop calling it. It comes back,
and they publish again.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest

from dsf_wire.constants import ADDON_NAME, AGENT_MANAGER, AGENT_NAMESPACE, SUSPENDED_CONFIGMAP, SUSPENDED_KEY
from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.fleet import APPLICATION, RESOURCE, SCORE, SCORER, Fleet, scorer, write_fleet
from tests.hub.scenario.installation import ADDON, installed
from tests.hub.scenario.installation import SCORE as SCORE_KIND
from tests.hub.scenario.reconciling import DYNAMIC_SCORER, FAST, HUB_NAMESPACE, events, reconciling
from tests.hub.scenario.scoredplane import ScoredPlane
from tests.hub.scenario.spokeagent import DEPLOYMENT, SpokeAgent, spoke_agent
from tests.support.threadserver import Handler, ThreadServer

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

CLUSTERS = ("cluster1", "cluster2")
TTL = 60
SUSPENDING = {"reconciler": {"suspend": {"enabled": True}}}
"""The least that a scorer may have."""
READY: Object = {
    "replicas": 1,
    "readyReplicas": 1,
    "availableReplicas": 1,
    "updatedReplicas": 1,
    "observedGeneration": 1,
}


class FragileApi(ThreadServer):
    """A scoring API that answers 503 to everything while it is down; a context manager."""

    def __init__(self) -> None:
        self.down = False
        self.score = 0.5
        self.calls = 0
        """Scoring requests, answered or not."""
        api = self

        class FragileHandler(Handler):
            def serve(self) -> None:
                self.body()
                api.calls += self.command == "POST"
                if api.down:
                    self.send(503, b"down", media="text/plain")
                else:
                    self.send(200, json.dumps({"results": [{"metric": {}, "score": api.score}]}).encode())

        super().__init__(FragileHandler)


@dataclass(kw_only=True)
class FragileApiHub(ScoredPlane):
    api: FragileApi
    agents: dict[str, SpokeAgent] = field(default_factory=dict)

    def suspended(self) -> list[str] | None:
        """None where there is no ConfigMap."""
        found = self.hub.find("v1/ConfigMap", SUSPENDED_CONFIGMAP, namespace=HUB_NAMESPACE)
        return None if found is None else json.loads(found["data"][SUSPENDED_KEY])

    def fresh(self) -> list[str]:
        """Clusters whose score is valid now."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        scores = {
            cluster: self.hub.find(SCORE_KIND, RESOURCE, namespace=cluster) or {} for cluster in CLUSTERS
        }
        return [
            cluster for cluster, item in scores.items() if item.get("status", {}).get("validUntil", "") > now
        ]

    def run_out(self) -> None:
        """Ends the scores now, as if the agents had published them a TTL ago."""
        for cluster in CLUSTERS:
            item = self.hub.get(SCORE_KIND, RESOURCE, namespace=cluster)
            meta = {"name": RESOURCE, "namespace": cluster}
            status = {**item["status"], "validUntil": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
            body = {
                "apiVersion": item["apiVersion"],
                "kind": item["kind"],
                "metadata": meta,
                "status": status,
            }
            self.hub.apply_status(body, manager=AGENT_MANAGER)

    def publishes(self, score: float) -> None:
        """The API answers this from now on: both agents publish at once, and their scores have the whole TTL
        before them.
        """
        self.api.score = score
        wanted = 1 + 99 * score
        wait_for(
            lambda: all(abs(value - wanted) <= 1 for value in self.values()),
            what=f"both agents publish {score}",
            seen=self.seen,
        )

    def values(self) -> list[int]:
        """Of both clusters; -1 where there is none."""
        scores = [self.hub.find(SCORE_KIND, RESOURCE, namespace=cluster) or {} for cluster in CLUSTERS]
        return [
            next((one["value"] for one in item.get("status", {}).get("scores", [])), -1) for item in scores
        ]

    def health(self) -> str:
        return str(
            self.hub.get(DYNAMIC_SCORER, SCORER, namespace=HUB_NAMESPACE)
            .get("status", {})
            .get("healthStatus")
        )

    def states(self) -> set[str]:
        """Of the scorer, as the agents see it."""
        return {one["state"] for agent in self.agents.values() for one in agent.ready()["scorers"]}

    def seen(self) -> object:
        scores = {cluster: self.hub.find(SCORE_KIND, RESOURCE, namespace=cluster) for cluster in CLUSTERS}
        return self.suspended(), self.health(), scores, self.states()


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane,
    argocd: object,
    git_server: GitServer,
    hub: Client,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[FragileApiHub]:
    fleet = Fleet(repository=git_server.create("fragile"), name="fragile")
    write_fleet(fleet, clusters=list(CLUSTERS))
    (fleet.root / f"apps/{APPLICATION}.yaml").unlink()
    with ExitStack() as stack:
        api = stack.enter_context(FragileApi())
        scoring = {"host": api.url, "params": {"name": SCORE, "interval": 1}}
        fleet.write(
            f"scorers/{SCORER}.yaml",
            scorer(
                configURL=f"{api.url}/config", source={"type": "None"}, scoring=scoring, scoreTTLSeconds=TTL
            ),
        )
        fleet.render()
        stack.enter_context(installed(fleet, control_plane, clusters=CLUSTERS))
        stack.callback(hub.delete, "v1/ConfigMap", SUSPENDED_CONFIGMAP, namespace=HUB_NAMESPACE)
        scene = FragileApiHub(plane=control_plane, hub=hub, api=api)
        for cluster in CLUSTERS:
            folder = tmp_path_factory.mktemp("suspension")
            scene.agents[cluster] = stack.enter_context(
                spoke_agent(control_plane, cluster, folder=folder, environment={}, waits="suspension=1")
            )
            # No kubelet runs here: what a ready replica would make of the status.
            control_plane.spokes[cluster].admin.patch_status(
                DEPLOYMENT, ADDON_NAME, READY, namespace=AGENT_NAMESPACE
            )
        for cluster in CLUSTERS:
            wait_for(
                lambda cluster=cluster: available(hub.get(ADDON, ADDON_NAME, namespace=cluster)),  # type: ignore[misc]
                what=f"OCM calls the add-on of {cluster} available",
            )
        wait_for(lambda: scene.fresh() == list(CLUSTERS), what="both agents publish", seen=scene.seen)
        yield scene


def available(addon: Object) -> bool:
    conditions = addon.get("status", {}).get("conditions") or []
    return any(one["type"] == "Available" and one["status"] == "True" for one in conditions)


def test_down_suspended_back_resumed(scene: FragileApiHub, note: Callable[[str], None]) -> None:
    with reconciling(scene.plane, spec=SUSPENDING, speed=FAST) as reconciler:
        wait_for(lambda: scene.health() == "Active", what="the hub reaches the API", seen=scene.health)
        scene.publishes(0.7)
        scene.api.down = True
        clock = time.monotonic()
        wait_for(lambda: scene.health() == "Inactive", what="the hub sees that it is down", seen=scene.health)
        # The agents still have fresh scores: half of the quorum rule is not met.
        hold_for(lambda: scene.suspended() is None, what="probes alone suspend nothing", seconds=4)
        assert scene.fresh()
        scene.run_out()
        wait_for(
            lambda: scene.suspended() == [SCORE],
            what="it is suspended when the scores ran out",
            seen=scene.seen,
        )
        stale = time.monotonic() - clock
        assert scene.fresh() == []
        assert reconciler.metric("suspended", scorer=SCORER) == 1
        wait_for(lambda: scene.states() == {"suspended"}, what="the agents know", seen=scene.states)
        calls = scene.api.calls
        # One call may have been under way.
        hold_for(lambda: scene.api.calls <= calls + 1, what="the API is spared", seconds=4)
        assert events(scene.hub, SCORER, "Suspended"), "people are told"
        scene.api.down = False
        clock = time.monotonic()
        wait_for(lambda: scene.suspended() == [], what="it is lifted", seen=scene.seen)
        wait_for(lambda: scene.fresh() == list(CLUSTERS), what="the agents publish again", seen=scene.seen)
        wait_for(lambda: events(scene.hub, SCORER, "Resumed"), what="people are told")
        assert reconciler.metric("suspended", scorer=SCORER) == 0
        note(
            f"suspension: {stale:.1f} s after the API went down (TTL {TTL} s); scores"
            f" {time.monotonic() - clock:.1f} s after it was back"
        )

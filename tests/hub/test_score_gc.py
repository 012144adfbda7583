"""Score garbage collection on a real hub.

Dead scores are deleted, OCM decides anew, and all other scores stay. The status of the scorer says
so.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from dsf_wire.constants import ADDON_NAME, AGENT_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.reconciler.scoregc import CONFIRM_SECONDS
from tests.hub.controlplane.api import Client
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for, wait_until_gone
from tests.hub.scenario.agents import ADDON, make_available
from tests.hub.scenario.fleet import DYNAMIC_SCORER, RESOURCE, SCORE, SCORER, application, new_fleet
from tests.hub.scenario.installation import WORK, installed
from tests.hub.scenario.placements import SCORE as SCORE_KIND
from tests.hub.scenario.placements import decided, publish, remove_clusters
from tests.hub.scenario.reconciling import FAST, HUB_NAMESPACE, events, reconciling

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

GONE, LIVING = "cluster1", "cluster2"
OTHERS = tuple(f"adrift-{number:02}" for number in range(6))
"""Clusters without an agent; with the two that have a spoke, eight."""
FOREIGN, UNLABELLED = OTHERS[0], OTHERS[1]
TTL = 60
DEAD = "dead-scores"


@dataclass(kw_only=True)
class DeadScoreHub:
    plane: ControlPlane
    hub: Client

    def publish(
        self, cluster: str, value: int, *, seconds: float, manager: str | None = AGENT_MANAGER
    ) -> None:
        """As an agent does it; it ends so many seconds from now."""
        labels = {} if manager is None else {MANAGED_BY_LABEL: manager}
        publish(self.hub, cluster, RESOURCE, {SCORE: value}, seconds=seconds, labels=labels)

    def scored(self) -> set[str]:
        found = {
            item["metadata"]["namespace"]
            for item in self.hub.list(SCORE_KIND)
            if item["metadata"]["name"] == RESOURCE
        }
        return found & {GONE, LIVING, *OTHERS}

    def decision(self) -> list[str]:
        return decided(self.hub, DEAD)


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane, argocd: object, git_server: GitServer, hub: Client
) -> Iterator[DeadScoreHub]:
    fleet = new_fleet(
        git_server, "dead", guestbook=False, source={"type": "None"}, scoreTTLSeconds=TTL
    )
    fleet.write(f"apps/{DEAD}.yaml", application("dead", DEAD, onMissingScore="Exclude"))
    scene = DeadScoreHub(plane=control_plane, hub=hub)
    with ExitStack() as stack:
        stack.enter_context(installed(fleet, control_plane))
        make_available(control_plane, LIVING)
        control_plane.add_clusters({name: {} for name in OTHERS})
        stack.callback(remove_clusters, control_plane, OTHERS)
        yield scene


def test_only_what_nobody_renews_goes_and_ocm_decides_again(scene: DeadScoreHub) -> None:
    scene.publish(GONE, 90, seconds=3600)
    scene.publish(LIVING, 5, seconds=3600)
    wait_for(
        lambda: scene.decision() == [GONE], what="OCM decides for the best", seen=scene.decision
    )
    scene.hub.delete(ADDON, ADDON_NAME, namespace=GONE)
    wait_until_gone(scene.hub, ADDON, ADDON_NAME, namespace=GONE)
    scene.publish(GONE, 90, seconds=-TTL - 500)
    scene.publish(LIVING, 5, seconds=-TTL - 600)
    scene.publish(FOREIGN, 5, seconds=-TTL - 900, manager="somebody")
    scene.publish(UNLABELLED, 5, seconds=-TTL - 800, manager=None)
    for age, cluster in enumerate(OTHERS[2:]):
        scene.publish(cluster, 5, seconds=-TTL - 400 + age)
    everywhere = scene.scored()
    assert len(everywhere) == 8
    clock = time.monotonic()
    with reconciling(scene.plane, speed=FAST) as reconciler:
        wait_for(
            lambda: reconciler.metric("dead_scores", scorer=SCORER),
            what="they are counted",
            seen=reconciler.process.tail,
        )
        # Its agent may have gone, but its score still exists: the predicate holds, and stickiness
        # keeps the decision.
        assert scene.decision() == [GONE]
        assert scene.scored() == everywhere
        ours = everywhere - {LIVING, FOREIGN, UNLABELLED}
        wait_for(
            lambda: not scene.scored() & ours,
            what="the dead scores go",
            seen=reconciler.process.tail,
        )
        after = time.monotonic() - clock
        assert after > CONFIRM_SECONDS / FAST, "nothing goes before it was dead for a while"
        wait_for(
            lambda: scene.decision() == [LIVING],
            what="OCM looks again and decides anew",
            seen=scene.decision,
        )
        hold_for(
            lambda: scene.scored() == {LIVING, FOREIGN, UNLABELLED},
            what="what an agent may renew and what others wrote stays",
            seconds=3,
        )
        assert reconciler.metric("dead_scores_removed_total", scorer=SCORER) == len(ours)
        assert reconciler.metric("dead_scores", scorer=SCORER) is None
        found = scene.hub.get(DYNAMIC_SCORER, SCORER, namespace=HUB_NAMESPACE)
        assert (
            "(the agent's add-on is not installed)"
            in events(scene.hub, found, "DeadScoresRemoved")[0]
        )
        assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
        scorers = ("get", "dynamicscorers", SCORER, "-n", HUB_NAMESPACE, "-o", "wide")
        head, values = (text.split() for text in scene.plane.hub.kubectl(*scorers).splitlines())
        columns = dict(zip(head, values, strict=False))
        assert (columns["HEALTH"], columns["SCORED"]) == ("Unknown", "False"), (
            "the hub never reached it"
        )
        version = found["metadata"]["resourceVersion"]
        hold_for(
            lambda: (
                scene.hub.get(DYNAMIC_SCORER, SCORER, namespace=HUB_NAMESPACE)["metadata"][
                    "resourceVersion"
                ]
                == version
            ),
            what="nothing is written while nothing changes",
            seconds=12 / FAST,
        )
    assert scene.hub.find(WORK, "gitops-dsf-config", namespace=LIVING) is not None

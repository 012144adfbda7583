"""Things break under the running loop: nothing is deleted by it, and the loop goes on where it was."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest

from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.applications import APPLICATION as APPLICATIONS
from tests.hub.controlplane.applications import APPLICATION_SET
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.clusterdns import ClusterDns
from tests.hub.scenario.fleet import APPLICATION, RESOURCE, SCORE, SCORING, Fleet, scorer, write_fleet
from tests.hub.scenario.headroom import HeadroomApi
from tests.hub.scenario.installation import Installation, installed
from tests.hub.scenario.placements import (
    PLACEMENT,
    clusters_in_set,
    decided,
    exact,
    placement,
    publish,
    score_prioritizer,
)
from tests.hub.scenario.placements import SCORE as SCORES
from tests.hub.scenario.spokeagent import SpokeAgent, spoke_agent

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

CLUSTERS = ("cluster1", "cluster2")
ARGOCD = "argocd"


@dataclass(kw_only=True)
class Loop:
    """Scoring APIs, agents, placement and ApplicationSet of one fleet while they run."""

    installation: Installation
    hub: Client
    apis: dict[str, HeadroomApi] = field(default_factory=dict)
    agents: dict[str, SpokeAgent] = field(default_factory=dict)

    def score(self, cluster: str) -> Object | None:
        return self.hub.find(SCORES, RESOURCE, namespace=cluster)

    def value(self, cluster: str) -> int | None:
        items = (self.score(cluster) or {}).get("status", {}).get("scores", [])
        return next((item["value"] for item in items if item["name"] == SCORE), None)

    def publishes(self, cluster: str, answer: float) -> None:
        """The scoring API of that cluster answers this from now on; wait for it on the hub."""
        self.apis[cluster].fixed = answer
        wanted = 1 + 99 * answer
        wait_for(
            lambda: (value := self.value(cluster)) is not None and abs(value - wanted) <= 1,
            what=f"{cluster} publishes {wanted:.0f}",
            seen=lambda: (
                self.score(cluster),
                self.agents[cluster].ready(),
                self.agents[cluster].process.tail(),
            ),
        )

    def decides(self, cluster: str) -> None:
        wait_for(
            lambda: self.decision() == [cluster],
            what=f"OCM decides for {cluster}",
            seen=self.decision,
        )

    def decision(self) -> list[str]:
        return decided(self.hub, APPLICATION, namespace=ARGOCD)

    def applications(self) -> dict[str, str]:
        """Destination cluster to the uid of the Application."""
        items = self.hub.list(
            APPLICATIONS, namespace=ARGOCD, labels=f"gitops-dsf.io/application={APPLICATION}"
        )
        return {
            item["spec"]["destination"]["name"]: item["metadata"]["uid"]
            for item in items
            if "deletionTimestamp" not in item["metadata"]
        }

    def refresh(self) -> None:
        """As the reconciler does, with a value that was never there: after an error the same one again would
        be no change.
        """
        annotations = {"argocd.argoproj.io/application-set-refresh": str(time.time_ns())}
        self.hub.patch(
            APPLICATION_SET, APPLICATION, {"metadata": {"annotations": annotations}}, namespace=ARGOCD
        )


@pytest.fixture(scope="module")
def loop(
    control_plane: ControlPlane,
    argocd: ArgoCD,
    git_server: GitServer,
    hub: Client,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Loop]:
    fleet = Fleet(repository=git_server.create("faults"), name="faults")
    write_fleet(fleet, clusters=list(CLUSTERS))
    fleet.write("scorers/cpu-headroom.yaml", scorer(source={"type": "None"}))
    fleet.render()
    folder = tmp_path_factory.mktemp("faults")
    with ExitStack() as stack:
        for cluster in CLUSTERS:
            spoke = control_plane.spokes[cluster]
            argocd.add_cluster_secret(cluster, spoke.url, spoke.kubeconfig())
            stack.callback(argocd.remove_cluster_secret, cluster)
        loop = Loop(
            installation=stack.enter_context(installed(fleet, control_plane, clusters=CLUSTERS)), hub=hub
        )
        for cluster in CLUSTERS:
            loop.apis[cluster] = stack.enter_context(HeadroomApi(fixed=0.5))
            names = stack.enter_context(ClusterDns({SCORING: loop.apis[cluster].url}))
            loop.agents[cluster] = stack.enter_context(
                spoke_agent(control_plane, cluster, folder=folder, environment=names.environment)
            )
        wait_for(loop.decision, what="OCM made a first decision")
        loop.refresh()
        wait_for(loop.applications, what="there is an Application")
        yield loop


def test_the_hub_crashes_and_returns(
    loop: Loop, control_plane: ControlPlane, note: Callable[[str], None]
) -> None:
    loop.publishes("cluster1", 0.9)
    loop.publishes("cluster2", 0.2)
    loop.decides("cluster1")
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
    clock = time.monotonic()
    loop.publishes("cluster1", 0.1)
    published = time.monotonic() - clock
    loop.publishes("cluster2", 0.8)
    loop.decides("cluster2")
    assert agent.process.running
    assert before.items() <= loop.applications().items(), "no Application is deleted or made anew"
    decided_after = time.monotonic() - clock
    note(
        f"faults: with the hub's API server back, a score is on it after {published:.1f} s, a decision after"
        f" {decided_after:.1f} s"
    )


def test_a_cluster_leaves_and_returns_and_no_application_is_deleted(
    loop: Loop, control_plane: ControlPlane
) -> None:
    loop.publishes("cluster1", 0.9)
    loop.publishes("cluster2", 0.2)
    loop.decides("cluster1")
    loop.refresh()
    wait_for(
        lambda: "cluster1" in loop.applications(),
        what="the Application is on cluster1",
        seen=loop.applications,
    )
    first = loop.applications()
    control_plane.set_available("cluster1", "Unknown")
    try:
        loop.decides("cluster2")
        assert control_plane.taints("cluster1") == ["cluster.open-cluster-management.io/unreachable"]
        loop.refresh()
        wait_for(
            lambda: "cluster2" in loop.applications(),
            what="a copy is made on cluster2",
            seen=loop.applications,
        )
        second = loop.applications()
        assert first.items() <= second.items(), "the copy on the lost cluster stays"
    finally:
        control_plane.set_available("cluster1", "True")
    loop.decides("cluster1")
    loop.refresh()
    hold_for(lambda: loop.applications() == second, what="both stay, the same as before", seconds=6)


def test_a_score_that_expires_counts_nothing_but_only_when_ocm_looks(
    control_plane: ControlPlane, hub: Client, note: Callable[[str], None]
) -> None:
    """With clusters of its own: whatever happens to a cluster makes OCM look, and add-ons and agents happen
    to the others.
    """
    name = "faults-expiry"
    first, second = f"{name}-a", f"{name}-b"
    with clusters_in_set(control_plane, name, {first: {}, second: {}}):
        publish(hub, first, name, {"cpu": 90})
        publish(hub, second, name, {"cpu": 50})
        hub.create(
            placement(
                name,
                namespace=name,
                numberOfClusters=1,
                prioritizerPolicy=exact(score_prioritizer(name, "cpu")),
            )
        )
        wait_for(lambda: decided(hub, name, namespace=name) == [first], what="the first is best")
        until = int(time.time()) + 5
        publish(
            hub, first, name, {"cpu": 90}, valid_until=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until))
        )
        time.sleep(max(0.0, until + 1 - time.time()))
        hold_for(
            lambda: decided(hub, name, namespace=name) == [first],
            what="nothing happens when the score expires",
            seconds=4,
        )
        hub.patch(PLACEMENT, name, {"metadata": {"labels": {"touched": "yes"}}}, namespace=name)
        wait_for(
            lambda: decided(hub, name, namespace=name) == [second],
            what="at its next look OCM counts 0 for it",
        )
    note("faults: an expired score kept its decision for 5 s and until OCM looked for another reason")


def raw_score(agent: SpokeAgent) -> float | None:
    line = next((one for one in agent.metrics().splitlines() if one.startswith("dynamic_score{")), None)
    return None if line is None else float(line.rpartition(" ")[2])

"""One score moves one application: from YAML in git to the Application on the right cluster, every program
real.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest

from dsf_wire.constants import AGENT_NAMESPACE, CONFIGMAP_NAME
from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.applications import refresh_set
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.exporter import LoadExporter
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.prometheus import start_prometheus
from tests.hub.controlplane.series import past
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.clusterdns import ClusterDns
from tests.hub.scenario.fleet import (
    APPLICATION,
    PROMETHEUS,
    RESOURCE,
    SCORE,
    SCORING,
    Fleet,
    application,
    write_fleet,
)
from tests.hub.scenario.headroom import HeadroomApi
from tests.hub.scenario.installation import Installation, installed
from tests.hub.scenario.spokeagent import SpokeAgent, spoke_agent

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd", "prometheus"), pytest.mark.timeout(400)]

CLUSTERS = ("cluster1", "cluster2")
SCORES = "cluster.open-cluster-management.io/v1alpha1/AddOnPlacementScore"
DECISIONS = "cluster.open-cluster-management.io/v1beta1/PlacementDecision"
APPLICATIONS = "argoproj.io/v1alpha1/Application"
REPLACED = "replaced"


@dataclass(kw_only=True)
class Loop:
    """The whole loop while it runs."""

    installation: Installation
    hub: Client
    load: dict[str, LoadExporter] = field(default_factory=dict)
    agents: dict[str, SpokeAgent] = field(default_factory=dict)
    hops: dict[str, float] = field(default_factory=dict)

    def set_load(self, cluster: str, value: float) -> None:
        self.load[cluster].set("cpu_load", {"node": f"{cluster}-n1"}, value)

    def score(self, cluster: str) -> int | None:
        found = self.hub.find(SCORES, RESOURCE, namespace=cluster)
        items = (found or {}).get("status", {}).get("scores", [])
        return next((item["value"] for item in items if item["name"] == SCORE), None)

    def decision(self, placement: str = APPLICATION) -> list[str]:
        pages = self.hub.list(
            DECISIONS, namespace="argocd", labels=f"cluster.open-cluster-management.io/placement={placement}"
        )
        return sorted(
            one["clusterName"] for page in pages for one in page.get("status", {}).get("decisions", [])
        )

    def applications(self, name: str = APPLICATION) -> dict[str, Object]:
        """Destination cluster to Application."""
        items = self.hub.list(APPLICATIONS, namespace="argocd", labels=f"gitops-dsf.io/application={name}")
        return {
            item["spec"]["destination"]["name"]: item
            for item in items
            if "deletionTimestamp" not in item["metadata"]
        }


@pytest.fixture(scope="module")
def loop(
    control_plane: ControlPlane,
    argocd: ArgoCD,
    git_server: GitServer,
    hub: Client,
    tmp_path_factory: pytest.TempPathFactory,
    note: Callable[[str], None],
) -> Iterator[Loop]:
    folder = tmp_path_factory.mktemp("slice")
    fleet = Fleet(repository=git_server.create("slice"), name="slice")
    write_fleet(fleet, clusters=list(CLUSTERS))
    fleet.write(
        f"apps/{REPLACED}.yaml", application("slice", name=REPLACED, strategy="Replace", stickiness=0)
    )
    hops: dict[str, float] = {}
    with ExitStack() as stack:
        clock = time.monotonic()
        fleet.render()
        fleet.publish("Run the guestbook where the CPU headroom is best")
        hops["validate, render and push"] = time.monotonic() - clock
        for cluster in CLUSTERS:
            spoke = control_plane.spokes[cluster]
            argocd.add_cluster_secret(cluster, spoke.url, spoke.kubeconfig())
            stack.callback(argocd.remove_cluster_secret, cluster)
        api = stack.enter_context(HeadroomApi())
        exporters, names = {}, {}
        for cluster, load in zip(CLUSTERS, (0.2, 0.7), strict=True):
            exporters[cluster] = stack.enter_context(LoadExporter())
            labels = {"node": f"{cluster}-n1"}
            exporters[cluster].set("cpu_load", labels, load)
            prometheus = start_prometheus(
                binaries=obtain("prometheus"),
                processes=control_plane.processes,
                folder=folder / f"prometheus-{cluster}",
                history=[past("cpu_load", labels, [load] * 20, end=float(int(time.time()) - 5))],
                exporter=exporters[cluster],
                name=f"prometheus-{cluster}",
            )
            stack.callback(control_plane.processes.stop, f"prometheus-{cluster}")
            names[cluster] = stack.enter_context(ClusterDns({PROMETHEUS: prometheus.url, SCORING: api.url}))
        clock = time.monotonic()
        installation = stack.enter_context(installed(fleet, control_plane, clusters=CLUSTERS))
        hops["apply to the hub"] = time.monotonic() - clock
        loop = Loop(installation=installation, hub=hub, load=exporters, hops=hops)
        clock = time.monotonic()
        for cluster in CLUSTERS:
            admin = control_plane.spokes[cluster].admin
            wait_for(
                lambda admin=admin: admin.find("v1/ConfigMap", CONFIGMAP_NAME, namespace=AGENT_NAMESPACE),  # type: ignore[misc]
                what=f"OCM's work agent delivered the ConfigMap to {cluster}",
            )
        hops["ConfigMap on both spokes"] = time.monotonic() - clock
        for cluster in CLUSTERS:
            loop.agents[cluster] = stack.enter_context(
                spoke_agent(control_plane, cluster, folder=folder, environment=names[cluster].environment)
            )
        hops["both agents run"] = time.monotonic() - clock
        for placement in (APPLICATION, REPLACED):
            # The ApplicationSet was created in the same second as its Placement and found no decision: an
            # error, after which Argo CD looks again in 3 minutes whatever requeueAfterSeconds says. The
            # annotation is what the reconciler gives it.
            wait_for(lambda name=placement: loop.decision(name), what=f"OCM decides {placement}")  # type: ignore[misc]
            refresh_set(hub, placement, namespace=argocd.namespace)
        yield loop
        for what, seconds in hops.items():
            note(f"slice: {what}: {seconds:.2f} s")


def test_the_application_lands_where_the_headroom_is_best(loop: Loop) -> None:
    clock = time.monotonic()
    loop.set_load("cluster1", 0.2)
    loop.set_load("cluster2", 0.7)
    wait_for(
        lambda: near(loop.score("cluster1"), 80),
        what="cluster1 publishes its headroom",
        seen=lambda: evidence(loop, "cluster1"),
    )
    wait_for(
        lambda: near(loop.score("cluster2"), 30),
        what="cluster2 publishes its headroom",
        seen=lambda: evidence(loop, "cluster2"),
    )
    loop.hops["scores on the hub"] = time.monotonic() - clock
    wait_for(
        lambda: loop.decision(REPLACED) == ["cluster1"], what="OCM decides for cluster1", seen=loop.decision
    )
    loop.hops["decision"] = time.monotonic() - clock
    wait_for(
        lambda: list(loop.applications(REPLACED)) == ["cluster1"],
        what="the Application is on cluster1",
        seen=loop.applications,
    )
    loop.hops["Application"] = time.monotonic() - clock


def test_load_moves_the_decision_and_the_application(loop: Loop) -> None:
    test_the_application_lands_where_the_headroom_is_best(loop)
    wait_for(lambda: "cluster1" in loop.applications(), what="a copy is on cluster1", seen=loop.applications)
    clock = time.monotonic()
    loop.set_load("cluster1", 0.95)
    loop.set_load("cluster2", 0.1)
    wait_for(
        lambda: near(loop.score("cluster2"), 90),
        what="the scores follow the load",
        seen=lambda: evidence(loop, "cluster2"),
    )
    loop.hops["load changed: score"] = time.monotonic() - clock
    for placement in (APPLICATION, REPLACED):
        wait_for(
            lambda name=placement: loop.decision(name) == ["cluster2"],  # type: ignore[misc]
            what=f"{placement} is decided anew",
        )
    loop.hops["load changed: decision"] = time.monotonic() - clock
    wait_for(
        lambda: "cluster2" in loop.applications(),
        what="a new copy is made on cluster2",
        seen=loop.applications,
    )
    wait_for(
        lambda: list(loop.applications(REPLACED)) == ["cluster2"],
        what="the replaced Application moved",
        timeout=60,
    )
    loop.hops["load changed: Application"] = time.monotonic() - clock
    # MakeBeforeBreak never lets the ApplicationSet delete: without a reconciler the old copy stays.
    hold_for(lambda: "cluster1" in loop.applications(), what="the old copy stays", seconds=7)


def test_a_small_change_does_not_move_what_is_sticky(loop: Loop) -> None:
    loop.set_load("cluster1", 0.50)
    loop.set_load("cluster2", 0.10)
    wait_for(lambda: loop.decision() == ["cluster2"], what="cluster2 is clearly best", seen=loop.decision)
    loop.set_load("cluster1", 0.05)  # five points better, and ten would be needed
    wait_for(
        lambda: loop.decision(REPLACED) == ["cluster1"],
        what="without stickiness it moves at once",
        seen=loop.decision,
    )
    hold_for(lambda: loop.decision() == ["cluster2"], what="with stickiness it stays", seconds=3)


def test_scores_expire_by_the_hubs_clock_and_carry_our_label(loop: Loop) -> None:
    wait_for(lambda: loop.score("cluster1") is not None, what="a score is there")
    found = loop.hub.get(SCORES, RESOURCE, namespace="cluster1")
    assert found["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "gitops-dsf-agent"
    valid_until = (
        time.mktime(time.strptime(found["status"]["validUntil"], "%Y-%m-%dT%H:%M:%SZ")) - time.timezone
    )
    assert 400 < valid_until - time.time() <= 900


def test_the_metrics_carry_the_raw_score(loop: Loop) -> None:
    line = wait_for(
        lambda: next(
            (
                one
                for one in loop.agents["cluster1"].metrics().splitlines()
                if one.startswith("dynamic_score{")
            ),
            None,
        ),
        what="the agent exports dynamic_score",
    )
    assert f'ds_score_name="{SCORE}"' in line
    assert 'ds_cluster="cluster1"' in line


def near(value: int | None, wanted: int) -> bool:
    """The published value: floor of 1 + 99 x headroom."""
    return value is not None and abs(value - wanted) <= 1


def evidence(loop: Loop, cluster: str) -> object:
    agent = loop.agents[cluster]
    return loop.hub.find(SCORES, RESOURCE, namespace=cluster), agent.ready(), agent.process.tail()

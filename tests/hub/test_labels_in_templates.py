"""Applications whose templates read labels of clusters, with the real OCM and ApplicationSet controller: they
move, a label changes in git, a cluster joins, and there are a hundred clusters.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.applications import APPLICATION, APPLICATION_SET
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.fleet import APPLICATION as EVERYWHERE
from tests.hub.scenario.fleet import FLEET_LABEL, Fleet, application, cluster, cluster_set, write_fleet
from tests.hub.scenario.installation import Installation, installed
from tests.hub.scenario.placements import CLUSTER_SET, MANAGED_CLUSTER, PLACEMENT, remove_clusters
from tests.hub.test_moves import (
    ARGOCD_NAMESPACE,
    CLUSTERS,
    FLEET,
    GOOD,
    NAME,
    MovePlane,
    deployment,
    write_moving_fleet,
)

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd"), pytest.mark.timeout(300)]

REGIONS = {"cluster1": "us", "cluster2": "eu"}
NEW_REGION = "eu-west"
CROWD = "regions"
CROWDED = tuple(f"region-{number:02}" for number in range(99))
NEWCOMER = "region-99"
MANAGER = "argocd-controller"


def in_region(name: str, region: str, *, fleet: str) -> Object:
    """A cluster with a label."""
    item = cluster(name, fleet=fleet)
    item["metadata"]["labels"]["topology.example.com/region"] = region
    return item


def region_of(name: str) -> str:
    return f"r{int(name[-2:]) % 7}"


TEMPLATE = 'overlays/{{ index .labels "topology.example.com/region" }}'


@dataclass(kw_only=True)
class RegionPlane(MovePlane):
    installation: Installation

    def paths(self) -> dict[str, str]:
        return {name: item["spec"]["source"]["path"] for name, item in self.copies(NAME).items()}

    def start(self, on: str) -> None:
        """The labels in git are those of REGIONS, and the application is Healthy on one cluster. Needs a
        reconciler that runs.
        """
        for name, region in REGIONS.items():
            self.installation.fleet.write(f"clusters/{name}.yaml", in_region(name, region, fleet=FLEET))
        self.installation.sync()
        self.settle(NAME, on)
        wait_for(
            lambda: self.paths() == {on: f"overlays/{REGIONS[on]}"},
            what="it has the path of its region",
            seen=lambda: (self.paths(), self.error_of(NAME)),
        )


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer, hub: Client
) -> Iterator[RegionPlane]:
    fleet = Fleet(repository=git_server.create("labelled"), name=FLEET)
    workload = git_server.create("labelled-workload")
    workload.commit(
        {
            f"overlays/{region}/deployment.yaml": deployment(name)
            for name, region in (*REGIONS.items(), ("cluster2", NEW_REGION))
        }
    )
    write_moving_fleet(fleet, workload.url)
    for name, region in REGIONS.items():
        fleet.write(f"clusters/{name}.yaml", in_region(name, region, fleet=FLEET))
    item = application(FLEET, name=NAME)
    item["spec"]["application"]["source"] |= {"repoURL": workload.url, "path": TEMPLATE}
    del item["spec"]["application"]["syncPolicy"]
    fleet.write(f"apps/{NAME}.yaml", item)
    fleet.render()
    with ExitStack() as stack:
        for name in CLUSTERS:
            spoke = control_plane.spokes[name]
            argocd.add_cluster_secret(name, spoke.url, spoke.kubeconfig())
            stack.callback(argocd.remove_cluster_secret, name)
        installation = stack.enter_context(installed(fleet, control_plane, clusters=CLUSTERS))
        yield RegionPlane(plane=control_plane, hub=hub, workload=workload, installation=installation)


def test_an_application_moves_and_gets_the_path_of_the_other_region(
    scene: RegionPlane, note: Callable[[str], None]
) -> None:
    with scene.reconciler():
        scene.start("cluster1")
        told = [str(scene.paths())]
        scene.prefer(NAME, "cluster2")
        scene.become(NAME, "cluster1", "cluster2")
        told.append(str(scene.paths()))
        assert scene.paths() == {"cluster1": "overlays/us", "cluster2": "overlays/eu"}
        scene.report(NAME, "cluster2", GOOD, health="Healthy")
        scene.become(NAME, "cluster2")
        told.append(str(scene.paths()))
        assert scene.paths() == {"cluster2": "overlays/eu"}
        assert scene.workload_on(NAME, "cluster1") is None
        assert scene.workload_on(NAME, "cluster2") is not None
    note(f"labels in templates: a move {' -> '.join(told)}")


def test_a_label_counts_once_it_changes_in_git(scene: RegionPlane) -> None:
    with scene.reconciler():
        scene.start("cluster2")
    before, label = scene.uid(NAME, "cluster2"), "topology.example.com/region"
    scene.hub.patch(MANAGED_CLUSTER, "cluster2", {"metadata": {"labels": {label: NEW_REGION}}})
    try:
        scene.annotate(NAME, **{"argocd.argoproj.io/application-set-refresh": "true"})
        hold_for(
            lambda: scene.paths() == {"cluster2": "overlays/eu"}, what="the hub alone is not read", seconds=3
        )
        fleet = scene.installation.fleet
        fleet.write("clusters/cluster2.yaml", in_region("cluster2", NEW_REGION, fleet=FLEET))
        scene.installation.sync()
        wait_for(
            lambda: scene.paths() == {"cluster2": f"overlays/{NEW_REGION}"},
            what="the path follows",
            seen=lambda: (scene.paths(), scene.error_of(NAME)),
        )
        assert scene.uid(NAME, "cluster2") == before
    finally:
        scene.hub.patch(MANAGED_CLUSTER, "cluster2", {"metadata": {"labels": {label: None}}})


@dataclass(kw_only=True)
class Crowd(MovePlane):
    fleet: Fleet

    def write(self, name: str, region: str) -> None:
        self.fleet.write(f"clusters/{name}.yaml", in_region(name, region, fleet=CROWD))

    def deliver(self) -> None:
        """Renders, and applies what is about the application."""
        self.fleet.render()
        for _, item in self.fleet.objects("delivery"):
            self.hub.apply(item, manager=MANAGER)

    def applications(self) -> dict[str, tuple[str, str]]:
        """Cluster to path and uid."""
        return {
            name: (item["spec"]["source"]["path"], item["metadata"]["uid"])
            for name, item in self.copies(EVERYWHERE).items()
        }

    def paths(self) -> dict[str, str]:
        return {name: path for name, (path, _) in self.applications().items()}


@pytest.fixture(scope="module")
def crowd(
    control_plane: ControlPlane,
    argocd: ArgoCD,
    git_server: GitServer,
    hub: Client,
    note: Callable[[str], None],
) -> Iterator[Crowd]:
    repository = git_server.create(CROWD)
    fleet = Fleet(repository=repository, name=CROWD)
    write_fleet(fleet, clusters=[])
    item = application(CROWD, placement={"clusterSets": [CROWD]})
    item["spec"]["application"]["source"]["path"] = TEMPLATE
    fleet.write(f"apps/{EVERYWHERE}.yaml", item)
    found = Crowd(plane=control_plane, hub=hub, workload=repository, fleet=fleet)
    for name in CROWDED:
        found.write(name, region_of(name))
    with ExitStack() as stack:
        stack.callback(hub.delete, CLUSTER_SET, CROWD)
        stack.callback(remove_clusters, control_plane, (*CROWDED, NEWCOMER))
        hub.apply(cluster_set(CROWD))
        control_plane.add_clusters({name: {FLEET_LABEL: CROWD} for name in CROWDED})
        for name in (*CROWDED, NEWCOMER):
            # Nobody answers there: the Applications are never synced.
            argocd.add_cluster_secret(name, f"https://127.0.0.1:1/{name}", control_plane.hub.kubeconfig())
            stack.callback(argocd.remove_cluster_secret, name)
        found.deliver()
        stack.callback(removed, hub)
        wait_for(
            lambda: found.decision_of(EVERYWHERE) == sorted(CROWDED),
            what="OCM decides for all of them",
            seen=lambda: len(found.decision_of(EVERYWHERE)),
        )
        clock = time.monotonic()
        # Before the decision there is none, which is an error, and Argo CD looks again after minutes.
        found.annotate(EVERYWHERE, **{"argocd.argoproj.io/application-set-refresh": "true"})
        wait_for(
            lambda: found.paths() == {name: f"overlays/{region_of(name)}" for name in CROWDED},
            what="every cluster has the path of its region",
            seen=lambda: (len(found.paths()), found.error_of(EVERYWHERE)),
        )
        note(f"labels in templates: {len(CROWDED)} Applications in {time.monotonic() - clock:.1f} s")
        yield found


def removed(hub: Client) -> None:
    """Nobody answers at the destinations, so Argo CD could never finish a cascade."""
    hub.delete(APPLICATION_SET, EVERYWHERE, namespace=ARGOCD_NAMESPACE)
    hub.delete(PLACEMENT, EVERYWHERE, namespace=ARGOCD_NAMESPACE)
    for item in hub.list(
        APPLICATION, namespace=ARGOCD_NAMESPACE, labels=f"gitops-dsf.io/application={EVERYWHERE}"
    ):
        name = item["metadata"]["name"]
        hub.patch(APPLICATION, name, {"metadata": {"finalizers": None}}, namespace=ARGOCD_NAMESPACE)
        hub.delete(APPLICATION, name, namespace=ARGOCD_NAMESPACE)


def test_a_label_of_one_of_many_changes_and_one_application_with_it(crowd: Crowd) -> None:
    before = crowd.applications()
    crowd.write(CROWDED[0], "mars")
    crowd.deliver()
    path, uid = "overlays/mars", before[CROWDED[0]][1]
    wait_for(
        lambda: crowd.applications() == {**before, CROWDED[0]: (path, uid)},
        what="one path changes, and no Application is new",
        seen=lambda: (crowd.paths()[CROWDED[0]], crowd.error_of(EVERYWHERE)),
    )


def test_a_cluster_that_joins_gets_its_copy_with_its_file_and_stops_no_other(
    crowd: Crowd, note: Callable[[str], None]
) -> None:
    before = crowd.applications()
    crowd.plane.add_clusters({NEWCOMER: {FLEET_LABEL: CROWD}})
    wait_for(lambda: NEWCOMER in crowd.decision_of(EVERYWHERE), what="OCM decides for it")
    crowd.annotate(EVERYWHERE, **{"argocd.argoproj.io/application-set-refresh": "true"})
    wait_for(
        lambda: 'map has no entry for key "labels"' in crowd.error_of(EVERYWHERE),
        what="the ApplicationSet says that its labels are not known",
        seen=lambda: crowd.error_of(EVERYWHERE),
    )
    note(f"labels in templates: a cluster that git does not know: {crowd.error_of(EVERYWHERE)}")
    assert crowd.applications() == before
    crowd.write(NEWCOMER, "venus")
    clock = time.monotonic()
    crowd.deliver()
    wait_for(
        lambda: (
            crowd.paths()
            == {**{name: path for name, (path, _) in before.items()}, NEWCOMER: "overlays/venus"}
        ),
        what="the newcomer has its copy",
        seen=lambda: (len(crowd.paths()), crowd.error_of(EVERYWHERE)),
    )
    note(f"labels in templates: the newcomer's Application {time.monotonic() - clock:.1f} s after its file")
    assert {name: found for name, found in crowd.applications().items() if name != NEWCOMER} == before
    wait_for(lambda: not crowd.error_of(EVERYWHERE), what="the error is gone")

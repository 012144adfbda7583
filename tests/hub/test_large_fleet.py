"""A cluster joins a fleet of more than 100: the pages of the decision shift, and nothing of the other
clusters is touched.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from dsf_wire.constants import ADDON_NAME
from tests.hub.controlplane.api import Client
from tests.hub.controlplane.applications import APPLICATION as APPLICATIONS
from tests.hub.controlplane.applications import APPLICATION_SET
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.fleet import (
    APPLICATION,
    FLEET_LABEL,
    Fleet,
    application,
    cluster,
    scorer,
    write_fleet,
)
from tests.hub.scenario.installation import ADDON, WORK, installed
from tests.hub.scenario.placements import clusters_of, pages, remove_clusters

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd"), pytest.mark.soak]

FLEET = "crowd"
CLUSTERS = tuple(f"crowd-{number:03}" for number in range(1, 103))
EDGE = "crowd-100"
"""The last of the first page until a cluster joins that sorts before it; then the first of the second page.
"""
NEWCOMERS = ("crowd-000", "crowd-000a")
FOLLOWED = ("crowd-099", EDGE, "crowd-101")
"""Clusters that Argo CD knows: three Applications around the edge of a page show what a hundred would."""
CONFIG_WORK, AGENT_WORK = "gitops-dsf-config", f"addon-{ADDON_NAME}-deploy-0"


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """A fleet of 102 clusters with one application on all of them."""

    plane: ControlPlane
    fleet: Fleet
    hub: Client

    def ids(self) -> dict[str, str]:
        """Of each cluster's add-on, configuration and agent work: where it is to its uid."""
        found = {}
        for kind, names in ((ADDON, {ADDON_NAME}), (WORK, {CONFIG_WORK, AGENT_WORK})):
            for item in self.hub.list(kind):
                metadata = item["metadata"]
                if (
                    metadata["namespace"].startswith(f"{FLEET}-")
                    and metadata["name"] in names
                    and "deletionTimestamp" not in metadata
                ):
                    found[f"{kind.rpartition('/')[2]} {metadata['name']} of {metadata['namespace']}"] = (
                        metadata["uid"]
                    )
        return found

    def applications(self) -> dict[str, str]:
        items = self.hub.list(
            APPLICATIONS, namespace="argocd", labels=f"gitops-dsf.io/application={APPLICATION}"
        )
        return {
            item["spec"]["destination"]["name"]: item["metadata"]["uid"]
            for item in items
            if "deletionTimestamp" not in item["metadata"]
        }

    def pages(self) -> dict[str, list[str]]:
        return {
            page["metadata"]["name"]: clusters_of(page)
            for page in pages(self.hub, APPLICATION, namespace="argocd")
        }

    def decided(self) -> list[str]:
        """The clusters of all pages, one by one."""
        return [name for page in self.pages().values() for name in page]

    def render(self, clusters: tuple[str, ...]) -> None:
        """Not with --strict: more than 100 clusters in one decision is a warning, and the reason of this
        test.
        """
        for name in clusters:
            self.fleet.write(f"clusters/{name}.yaml", cluster(name, fleet=FLEET))
        ran = self.fleet.run("render", "--allow-shrink")
        assert ran.code == 0, ran.stdout + ran.stderr

    def apply(self, clusters: tuple[str, ...]) -> None:
        """What the render added for these clusters, as Argo CD would."""
        for directory in self.fleet.directories():
            for _, item in self.fleet.objects(directory):
                if item["metadata"].get("namespace") in clusters:
                    self.hub.apply(item, manager="argocd-controller")

    def refresh(self) -> None:
        annotations = {"argocd.argoproj.io/application-set-refresh": str(time.time_ns())}
        self.hub.patch(
            APPLICATION_SET, APPLICATION, {"metadata": {"annotations": annotations}}, namespace="argocd"
        )


@pytest.fixture(scope="module")
def crowd(
    control_plane: ControlPlane,
    argocd: ArgoCD,
    git_server: GitServer,
    hub: Client,
    note: Callable[[str], None],
) -> Iterator[Crowd]:
    fleet = Fleet(repository=git_server.create(FLEET), name=FLEET)
    write_fleet(fleet, clusters=[])
    fleet.write("scorers/cpu-headroom.yaml", scorer(publish={"deadband": 1, "minIntervalSeconds": 60}))
    fleet.write(f"apps/{APPLICATION}.yaml", application(FLEET, placement={"clusterSets": [FLEET]}))
    crowd = Crowd(plane=control_plane, fleet=fleet, hub=hub)
    clock = time.monotonic()
    with ExitStack() as stack:
        stack.callback(remove_clusters, control_plane, (*CLUSTERS, *NEWCOMERS))
        control_plane.add_clusters({name: {FLEET_LABEL: FLEET} for name in CLUSTERS})
        for name in FOLLOWED:
            # Nobody answers there: Applications that never sync are enough to see whether one is deleted.
            argocd.add_cluster_secret(name, f"https://127.0.0.1:1/{name}", control_plane.hub.kubeconfig())
            stack.callback(argocd.remove_cluster_secret, name)
        crowd.render(CLUSTERS)
        stack.enter_context(installed(fleet, control_plane, clusters=CLUSTERS))
        stack.callback(remove_applications, hub)
        wait_for(
            lambda: len(crowd.ids()) == 3 * len(CLUSTERS), what="the agent's work is made for each cluster"
        )
        wait_for(
            lambda: sorted(crowd.decided()) == list(CLUSTERS),
            what="all clusters are decided",
            seen=crowd.pages,
        )
        crowd.refresh()
        wait_for(
            lambda: sorted(crowd.applications()) == list(FOLLOWED),
            what="the Applications are there",
            seen=crowd.applications,
        )
        note(
            f"large fleet: {len(CLUSTERS)} clusters registered and installed after"
            f" {time.monotonic() - clock:.0f} s"
        )
        yield crowd


@pytest.mark.parametrize("newcomer", NEWCOMERS)
def test_a_cluster_joins_and_nothing_of_the_others_is_touched(crowd: Crowd, newcomer: str) -> None:
    before, applications, first = crowd.ids(), crowd.applications(), crowd.pages()
    clusters = sorted([newcomer, *crowd.decided()])
    crowd.plane.add_clusters({newcomer: {FLEET_LABEL: FLEET}})
    crowd.render((newcomer,))
    crowd.apply((newcomer,))
    # Between two writes a cluster may stand on both pages, or on none.
    wait_for(lambda: sorted(crowd.decided()) == clusters, what="the newcomer is decided", seen=crowd.pages)
    second = crowd.pages()
    moved = set(first[f"{APPLICATION}-decision-1"]) - set(second[f"{APPLICATION}-decision-1"])
    assert len(moved) == 1, "one cluster moved from the first page to the second"
    assert moved <= set(second[f"{APPLICATION}-decision-2"])
    crowd.refresh()
    wait_for(lambda: len(crowd.ids()) == len(before) + 3, what="the newcomer has its add-on and works")
    hold_for(
        lambda: before.items() <= crowd.ids().items(),
        what="add-ons and works of the others are the same objects",
        seconds=4,
    )
    assert crowd.applications() == applications


def remove_applications(hub: Client) -> None:
    hub.delete(APPLICATION_SET, APPLICATION, namespace="argocd")
    for item in hub.list(APPLICATIONS, namespace="argocd", labels=f"gitops-dsf.io/application={APPLICATION}"):
        # Nobody answers at the destination, so Argo CD could never finish a cascade.
        hub.patch(
            APPLICATIONS, item["metadata"]["name"], {"metadata": {"finalizers": None}}, namespace="argocd"
        )
        hub.delete(APPLICATIONS, item["metadata"]["name"], namespace="argocd")

"""Scoring on the hub, every program real.

Each cluster's Prometheus writes to a central one, the hub scorer asks it about all clusters with
the rights that we render, and OCM and Argo CD move the application.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dsf_wire.constants import ADDON_NAME
from gitops_dsf.render.hubscorer import NAME
from tests.hub.controlplane.api import ROLE_BINDING, ApiError, Client, Object, bound, manifest
from tests.hub.controlplane.applications import copies, refresh_set
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kubeconfig import Identity
from tests.hub.controlplane.plane import SPOKES, ControlPlane, addon_identity
from tests.hub.controlplane.prometheus import LoadExporter, start_prometheus
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.agents import HUB_NAMESPACE, AgentProgram, cluster_dns, hub_scorer
from tests.hub.scenario.fleet import APPLICATION, RESOURCE, SCORE, SCORER, new_fleet
from tests.hub.scenario.installation import ADDON, Installation, installed
from tests.hub.scenario.placements import SCORE as SCORES
from tests.hub.scenario.placements import delete_scores, scores, wait_for_decision
from tests.hub.test_agent_rights import NOT_THE_FLEETS, SCORE_RIGHTS

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd", "prometheus")]

CENTRAL = "thanos-query.monitoring.svc:9090"
AGENTS = {"app.kubernetes.io/managed-by": "gitops-dsf-agent"}
OURS = {**AGENTS, "gitops-dsf.io/runs-on": "Hub"}


@dataclass(kw_only=True)
class HubScorerScene:
    """A fleet whose score comes from the hub."""

    installation: Installation
    environment: dict[str, str]
    hub: Client
    load: dict[str, LoadExporter] = field(default_factory=dict)

    @property
    def plane(self) -> ControlPlane:
        return self.installation.plane

    def set_load(self, **loads: float) -> None:
        for cluster, load in loads.items():
            self.load[cluster].set("cpu_load", {"node": f"{cluster}-n1"}, load)

    def applications(self) -> list[str]:
        return sorted(copies(self.hub, APPLICATION))


ON_THE_HUB: Object = {
    "runsOn": "Hub",
    "source": {
        "host": f"http://{CENTRAL}",
        "params": {"query": "1 - avg by (cluster) (cpu_load)"},
        "clusterLabel": {"name": "cluster"},
    },
    "scoring": {"type": "Query", "params": {"name": SCORE, "interval": 1}},
    "scoreRange": {"min": 0, "max": 1, "outputMin": 0, "outputMax": 100},
}
"""The scorer of the fleet. The score is the headroom times 100."""


def score(name: str, labels: dict[str, str]) -> Object:
    return manifest(SCORES, name, namespace="cluster2", meta={"labels": labels})


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane,
    argocd: ArgoCD,
    git_server: GitServer,
    hub: Client,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[HubScorerScene]:
    folder = tmp_path_factory.mktemp("hubscoring")
    fleet = new_fleet(git_server, "hubscoring", **ON_THE_HUB)
    processes = control_plane.processes
    with ExitStack() as stack:
        stack.enter_context(argocd.knowing(control_plane.spokes.values()))
        central = start_prometheus(
            processes=processes,
            folder=folder / "central",
            name="central",
            flags=("--web.enable-remote-write-receiver",),
        )
        stack.callback(processes.stop, "central")
        exporters = {}
        queue = {"batch_send_deadline": "100ms"}
        for cluster in fleet.clusters:
            exporters[cluster] = stack.enter_context(LoadExporter())
            start_prometheus(
                processes=processes,
                folder=folder / cluster,
                name=f"prometheus-{cluster}",
                exporter=exporters[cluster],
                configuration={
                    "global": {"external_labels": {"cluster": cluster}},
                    "remote_write": [{"url": f"{central}/api/v1/write", "queue_config": queue}],
                },
            )
            stack.callback(processes.stop, f"prometheus-{cluster}")
        environment = stack.enter_context(cluster_dns({CENTRAL: central}))
        installation = stack.enter_context(installed(fleet, control_plane))
        wait_for(
            lambda: granted_to_hub_scorer(control_plane, "cluster1"),
            what="the hub scorer has its rights",
        )
        installation.wait_for_policies()
        yield HubScorerScene(
            installation=installation, environment=environment, hub=hub, load=exporters
        )


@pytest.fixture(autouse=True)
def _beginning(scene: HubScorerScene) -> Iterator[None]:
    """Every test begins with the same load and without scores."""
    scene.set_load(cluster1=0.2, cluster2=0.7)
    yield
    delete_scores(scene.hub, *SPOKES)


@pytest.fixture
def running(scene: HubScorerScene, tmp_path: Path) -> Iterator[AgentProgram]:
    with hub_scorer(scene.plane, folder=tmp_path, environment=scene.environment) as found:
        yield found


@pytest.fixture(scope="module")
def account(scene: HubScorerScene) -> Iterator[Client]:
    """The hub scorer's account."""
    with Client(scene.plane.hub.service_account_kubeconfig(HUB_NAMESPACE, NAME)) as client:
        yield client


def granted_to_hub_scorer(plane: ControlPlane, namespace: str) -> set[tuple[str, str, str]]:
    with (
        Client(plane.hub.service_account_kubeconfig(HUB_NAMESPACE, NAME)) as client,
        # Kubernetes grants some rights to every ServiceAccount.
        plane.hub.client(Identity(user="somebody", groups=("system:serviceaccounts",))) as anybody,
    ):
        return client.granted(namespace) - anybody.granted(namespace)


def test_it_has_exactly_the_rendered_rights(scene: HubScorerScene) -> None:
    for namespace, wanted in {
        "cluster1": SCORE_RIGHTS,
        "cluster2": SCORE_RIGHTS,
        "argocd": set(),
        "default": set(),
        HUB_NAMESPACE: set(),
    }.items():
        assert granted_to_hub_scorer(scene.plane, namespace) == wanted, namespace
    for cluster in SPOKES:
        assert scene.hub.find(ADDON, ADDON_NAME, namespace=cluster) is None, (
            "no cluster needs an agent"
        )


class TestPolicies:
    """What the API server refuses to the hub scorer's account. The program itself does not run."""

    def test_it_creates_scores_of_its_scorers_with_its_labels_only(self, account: Client) -> None:
        with pytest.raises(ApiError, match="of scorers with runsOn: Hub and no"):
            account.create(score("somebody-elses", OURS))
        with pytest.raises(ApiError, match=r"with the labels .* and no others"):
            account.create(score(RESOURCE, AGENTS))
        account.create(score(RESOURCE, OURS))
        filled = {**score(RESOURCE, {}), "status": {"scores": [{"name": SCORE, "value": 3}]}}
        del filled["metadata"]["labels"]
        account.apply_status(filled)
        with pytest.raises(ApiError, match=r"with the labels .* and no others"):
            account.patch(SCORES, RESOURCE, {"metadata": {"labels": None}}, namespace="cluster2")

    def test_it_leaves_scores_of_other_programs_alone(self, account: Client, hub: Client) -> None:
        hub.create(score(RESOURCE, {}))
        with pytest.raises(ApiError, match="may change AddOnPlacementScores with the label"):
            account.patch(SCORES, RESOURCE, {"metadata": {"labels": OURS}}, namespace="cluster2")
        with pytest.raises(
            ApiError, match="may delete AddOnPlacementScores that it wrote and no others"
        ):
            account.delete(SCORES, RESOURCE, namespace="cluster2")

    def test_it_takes_over_from_an_agent_and_then_the_agent_may_not_write(
        self, scene: HubScorerScene, account: Client, hub: Client
    ) -> None:
        identity = addon_identity(cluster="cluster2", addon=ADDON_NAME)
        hub.apply(
            bound("an-agent", "gitops-dsf:agent", namespace="cluster2", group=identity.groups[0])
        )
        try:
            with scene.plane.hub.client(identity) as agent:
                wait_for(
                    lambda: agent.granted("cluster2") >= SCORE_RIGHTS, what="the agent has rights"
                )
                hub.create(score(RESOURCE, AGENTS))
                renamed: Object = {"metadata": {"labels": {"gitops-dsf.io/scorer": "renamed"}}}
                agent.patch(SCORES, RESOURCE, renamed, namespace="cluster2")
                with pytest.raises(ApiError, match="the scorer runs on the hub now"):
                    agent.delete(SCORES, RESOURCE, namespace="cluster2")
                with pytest.raises(ApiError, match="may delete AddOnPlacementScores that it wrote"):
                    account.delete(SCORES, RESOURCE, namespace="cluster2")
                account.patch(
                    SCORES, RESOURCE, {"metadata": {"labels": OURS}}, namespace="cluster2"
                )
                renamed["metadata"]["labels"] = {"gitops-dsf.io/scorer": "again"}
                with pytest.raises(ApiError, match=NOT_THE_FLEETS):
                    agent.patch(SCORES, RESOURCE, renamed, namespace="cluster2")
                account.delete(SCORES, RESOURCE, namespace="cluster2")
        finally:
            hub.delete(ROLE_BINDING, "an-agent", namespace="cluster2")


def test_the_application_follows_the_scores_of_the_hub(
    scene: HubScorerScene, running: AgentProgram
) -> None:
    for cluster, value in (("cluster1", 80), ("cluster2", 30)):
        wait_for(
            lambda cluster=cluster, value=value: (
                scores(scene.hub, cluster, RESOURCE) == {SCORE: value}
            ),  # type: ignore[misc]
            what=f"the score of {cluster}",
            seen=lambda: (running.ready(), running.process.tail()),
        )
    found = scene.hub.get(SCORES, RESOURCE, namespace="cluster1")
    assert found["metadata"]["labels"] == {**OURS, "gitops-dsf.io/scorer": SCORER}
    wait_for_decision(scene.hub, APPLICATION, "cluster1")
    refresh_set(scene.hub, APPLICATION)
    wait_for(
        lambda: "cluster1" in scene.applications(),
        what="a copy on cluster1",
        seen=scene.applications,
    )
    scene.set_load(cluster1=0.9, cluster2=0.1)
    wait_for_decision(scene.hub, APPLICATION, "cluster2")
    wait_for(
        lambda: "cluster2" in scene.applications(),
        what="a copy on cluster2",
        seen=scene.applications,
    )

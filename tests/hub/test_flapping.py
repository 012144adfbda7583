"""An application that really moves back and forth: a noisy score, OCM's decisions, and what the reconciler
and Prometheus say about it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_dsf.render.reconciler.names import NAME
from tests.hub.controlplane.api import Client
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.prometheus import start_prometheus
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.fleet import (
    APPLICATION,
    RESOURCE,
    SCORE,
    SCORER,
    Fleet,
    application,
    scorer,
    write_fleet,
)
from tests.hub.scenario.installation import installed
from tests.hub.scenario.journalplane import JournalPlane
from tests.hub.scenario.reconciling import FAST, Reconciler, reconciling
from tests.hub.scenario.scoredplane import ARGOCD_NAMESPACE

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd", "prometheus"), pytest.mark.timeout(300)]

NOISY, STEADY = "cluster1", "cluster2"
CALM = "disk-headroom"
CALM_SCORE = "disk_headroom"
RULES = Path(__file__).parents[2] / "monitoring" / "rules.yaml"
LEAD = 22
"""Points of the mean of two scores, up and down."""
WORDS = (
    f"moved back and forth 2 times within a day between {NOISY} and {STEADY}, most of all because of"
    f" {SCORER}; gitops-dsf backtest --advise tells which stickiness would hold it"
)


class FlappingPlane(JournalPlane):
    def swing(self, *, to: str) -> None:
        """The noisy score changes, so that OCM decides for this cluster."""
        noise = 2 * LEAD if to == NOISY else -2 * LEAD
        for cluster, score in ((NOISY, 50 + noise), (STEADY, 50)):
            self.publish_score(cluster, CALM, {CALM_SCORE: 70})
            self.publish_score(cluster, RESOURCE, {SCORE: score})
        wait_for(
            lambda: self.decision_of(APPLICATION) == [to],
            what=f"OCM decides for {to}",
            timeout=60,
            seen=lambda: self.decision_of(APPLICATION),
        )

    def recorded(self, count: int, *, to: str) -> None:
        """Waits until the journal has so many records, and the last one is of a decision for this cluster."""
        wait_for(
            lambda: len(self.records()) == count and self.records()[-1].to == (to,),
            what=f"record {count} is on the branch",
            timeout=60,
            seen=lambda: [(each.kind, each.from_, each.to) for each in self.records()],
        )


@pytest.fixture
def scene(
    control_plane: ControlPlane,
    argocd: ArgoCD,
    git_server: GitServer,
    hub: Client,
) -> Iterator[FlappingPlane]:
    """A fleet whose application ranks by a noisy and by a calm score."""
    fleet = Fleet(repository=git_server.create("flapping"), name="flapping")
    write_fleet(fleet, clusters=[NOISY, STEADY])
    calm = scorer()
    calm["metadata"]["name"] = CALM
    calm["spec"]["scoring"]["params"]["name"] = CALM_SCORE
    fleet.write(f"scorers/{CALM}.yaml", calm)
    ranked = application(fleet.name, scores=[{"scorer": SCORER}, {"scorer": CALM}])
    fleet.write(f"apps/{APPLICATION}.yaml", ranked)
    fleet.render()
    with installed(fleet, control_plane, clusters=(NOISY, STEADY)):
        yield FlappingPlane(plane=control_plane, hub=hub, fleet=fleet)


def test_a_noisy_score_is_named(scene: FlappingPlane, tmp_path: Path) -> None:
    scene.swing(to=NOISY)
    with reconciling(scene.plane, spec=scene.spec, speed=FAST) as reconciler:
        scene.recorded(1, to=NOISY)
        wait_for(
            lambda: scene.condition_of(SCORER, "Settled")[1] == "NoFlapping",
            what="the score is calm at first",
            timeout=60,
            seen=reconciler.process.tail,
        )
        for number, cluster in enumerate((STEADY, NOISY, STEADY), start=2):
            scene.swing(to=cluster)
            scene.recorded(number, to=cluster)
        wait_for(
            lambda: (
                scene.condition_of(SCORER, "Settled")
                == ("False", "Flapping", f"argocd/{APPLICATION} {WORDS}")
            ),
            what="the condition of the noisy scorer names it",
            timeout=60,
            seen=lambda: scene.condition_of(SCORER, "Settled"),
        )
        assert scene.condition_of(CALM, "Settled")[:2] == ("True", "NoFlapping")
        assert reconciler.series("flapping_returns") == {
            f'{{placement="{APPLICATION}",scorer="{SCORER}"}}': 2.0
        }
        said = [
            (kind, count)
            for kind, reason, count in scene.events_about(APPLICATION, namespace=ARGOCD_NAMESPACE)
            if reason == "Flapping"
        ]
        assert said[-1:] == [("Warning", 1)]
        assert alerts(scene, reconciler, tmp_path) == [
            {"placement": APPLICATION, "scorer": SCORER, "severity": "warning"}
        ]


def alerts(scene: FlappingPlane, reconciler: Reconciler, folder: Path) -> list[dict[str, str]]:
    """The labels of the alerts GitopsDsfFlapping that fire in a Prometheus that scrapes the reconciler."""
    target = reconciler.url.removeprefix("http://")
    prometheus = start_prometheus(
        binaries=obtain("prometheus"),
        processes=scene.plane.processes,
        folder=folder / "prometheus",
        name="prometheus-flapping",
        configuration={
            "global": {"evaluation_interval": "1s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [{"job_name": NAME, "static_configs": [{"targets": [target]}]}],
        },
    )

    def firing() -> list[dict[str, str]]:
        found = prometheus.query('ALERTS{alertname="GitopsDsfFlapping",alertstate="firing"}')
        return [
            {
                key: value
                for key, value in each["metric"].items()
                if key not in {"__name__", "alertname", "alertstate"}
            }
            for each in found
        ]

    try:
        wait_for(lambda: bool(firing()), what="the alert fires", timeout=60, seen=firing)
        return firing()
    finally:
        scene.plane.processes.stop("prometheus-flapping")

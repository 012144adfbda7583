"""Jobs go where the scores say.

The reconciler orders the clusters of a MultiKueueConfig, and the real Kueue gives jobs to them.

Here a list is ordered every five seconds at most. The scores are those that a test writes, and no
agent measures the load of jobs, so assumed load counts for as long as a test runs.
"""

import os
import re
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.binaries import Binaries
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kueue import (
    ADMISSION_CHECK,
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    MULTIKUEUE_CONFIG,
    NAMESPACE,
    RESOURCE_FLAVOR,
)
from tests.hub.controlplane.waiting import hold_for, wait_for, wait_until_gone
from tests.hub.scenario.fleet import (
    PROMETHEUS,
    RESOURCE,
    SCORE,
    SCORER,
    SCORING,
    new_fleet,
    placement,
    scorer,
)
from tests.hub.scenario.installation import Installation, installed
from tests.hub.scenario.jobs import (
    CHECK,
    CONFIG,
    FLAVOR,
    QUEUE,
    SHARED_QUEUE,
    TEAM,
    WORKERS,
    Jobs,
)
from tests.hub.scenario.placements import MANAGED_CLUSTER, decided, publish
from tests.hub.scenario.reconciling import Reconciler, reconciling
from tests.support import yamlfast
from tests.support.pages import ROOT, blocks

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd", "kueue")]

GUIDE = ROOT / "docs/decisions/multikueue.md"
FLEET = "gpu"
USAGE = "resource-usage-score"
FREE_GPUS = "gpuClusterAvailable"
"""The score of another add-on."""
GUIDED_SCORER = "gpu-headroom"
GUIDED_SCORE = "gpu_headroom"
NAME = "gpu-jobs"
DEMAND = 10
"""Points of the score that a job takes."""
REORDER_SECONDS = 5


def ranking(*, demand: int | None = DEMAND) -> Object:
    """The ScoredPlacement, by which the reconciler orders the clusters."""
    score: Object = {"scorer": SCORER}
    if demand is not None:
        score["demand"] = demand
    return placement(
        FLEET,
        NAME,
        NAMESPACE,
        placement={"clusterSets": [FLEET]},
        scores=[score],
        stickiness=DEMAND,
        multiKueue={"config": CONFIG, "reorderSeconds": REORDER_SECONDS},
    )


def rate(hub: Client, **points: int) -> None:
    """Publishes the scores of the workers."""
    for cluster, value in points.items():
        publish(hub, cluster, RESOURCE, {SCORE: value})


def listed(hub: Client) -> list[str]:
    """The clusters of the MultiKueueConfig; none where there is no such object."""
    config = hub.find(MULTIKUEUE_CONFIG, CONFIG) or {}
    return list((config.get("spec") or {}).get("clusters") or [])


def wait_for_order(hub: Client, *clusters: str) -> None:
    wait_for(
        lambda: listed(hub) == list(clusters),
        what=f"the reconciler lists {', '.join(clusters)}",
        seen=lambda: (
            hub.find(MULTIKUEUE_CONFIG, CONFIG),
            decided(hub, NAME, namespace=NAMESPACE),
        ),
    )


@pytest.fixture(scope="module")
def installation(
    jobs: Jobs,
    git_server: GitServer,
    argocd_binaries: Binaries,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Installation]:
    """A fleet of the workers whose only consumer is Kueue."""
    # The reconciler needs Argo CD's kinds. None of its programs runs.
    ArgoCD(
        binaries=argocd_binaries,
        processes=jobs.plane.processes,
        folder=tmp_path_factory.mktemp("argocd"),
        hub=jobs.plane.hub,
    ).install()
    parameters = {"query": "avg(cpu_load)", "range": 36_000, "step": 600}
    source = {"type": "Prometheus", "host": f"http://{PROMETHEUS}", "params": parameters}
    fleet = new_fleet(git_server, FLEET, clusters=WORKERS, guestbook=False, source=source)
    scoring = {"host": f"http://{SCORING}", "params": {"name": GUIDED_SCORE, "interval": 60}}
    fleet.write("scorers/gpu.yaml", scorer(GUIDED_SCORER, source=source, scoring=scoring))
    fleet.write(f"apps/{NAME}.yaml", ranking())
    with installed(fleet, jobs.plane) as running:
        yield running


@pytest.fixture(autouse=True)
def _from_the_start(jobs: Jobs, installation: Installation) -> Iterator[None]:
    """Every test begins without jobs and without a list, and alpha is the best cluster."""
    rate(jobs.hub, alpha=80, beta=60, gamma=40)
    jobs.hub.delete(MULTIKUEUE_CONFIG, CONFIG)
    wait_until_gone(jobs.hub, MULTIKUEUE_CONFIG, CONFIG)
    yield
    jobs.remove()


@contextmanager
def ordering(jobs: Jobs, name: str = "reconciler") -> Iterator[Reconciler]:
    """Runs the reconciler, and waits until it has ordered the clusters."""
    with reconciling(jobs.plane, f"--multikueue-namespace={NAMESPACE}", name=name) as running:
        wait_for(lambda: listed(jobs.hub), what="the list is there", seen=running.process.tail)
        yield running


def test_jobs_follow_the_scores_and_a_running_one_stays(jobs: Jobs) -> None:
    with ordering(jobs):
        wait_for_order(jobs.hub, "alpha", "beta", "gamma")
        jobs.submit("first")
        uid = jobs.wait_for_running("first", "alpha")
        rate(jobs.hub, alpha=20, gamma=90)
        wait_for_order(jobs.hub, "gamma", "beta", "alpha")
        jobs.submit("second")
        jobs.wait_for_running("second", "gamma")
        assert jobs.running("first") == {"alpha": uid}


def test_jobs_that_come_one_after_another_spread_as_the_scores_have_room(jobs: Jobs) -> None:
    """Within one job for each cluster.

    Kueue reads the order once for each job. So the next job comes when the list shows the load that
    is assumed for the ones before.
    """
    names = [f"spread-{number}" for number in range(30)]
    left = {"alpha": 80, "beta": 60, "gamma": 40}
    with ordering(jobs):
        for name in names:
            wait_for(
                lambda: left[listed(jobs.hub)[0]] >= max(left.values()) - DEMAND,
                what="no cluster has room for more than one job more than the first one",
                seen=lambda: (listed(jobs.hub), left),
            )
            jobs.submit(name)
            cluster = wait_for(lambda name=name: jobs.cluster(name), what=f"{name} is admitted")  # type: ignore[misc]
            left[cluster] -= DEMAND
    spread = jobs.spread(names)
    for cluster, expected in headroom(len(names)).items():
        assert abs(spread[cluster] - expected) <= 1, spread


def headroom(jobs: int) -> dict[str, int]:
    """How many jobs each cluster has when each job goes where most is left."""
    left = {"alpha": 80, "beta": 60, "gamma": 40}
    counts = dict.fromkeys(left, 0)
    for _ in range(jobs):
        best = max(left, key=left.__getitem__)
        left[best] -= DEMAND
        counts[best] += 1
    return counts


def test_without_demand_the_best_cluster_has_all_jobs(
    jobs: Jobs, installation: Installation
) -> None:
    """Until its scores show them."""
    names = [f"heap-{number}" for number in range(6)]
    installation.fleet.write(f"apps/{NAME}.yaml", ranking(demand=None))
    installation.sync()
    try:
        with ordering(jobs):
            for name in names:
                jobs.submit(name)
                jobs.wait_for_running(name, "alpha")
            hold_for(
                lambda: listed(jobs.hub)[0] == "alpha",
                what="alpha stays the first",
                seconds=REORDER_SECONDS + 3,
            )
    finally:
        installation.fleet.write(f"apps/{NAME}.yaml", ranking())
        installation.sync()


def test_a_cluster_that_cannot_be_reached_is_last_and_keeps_its_job(jobs: Jobs) -> None:
    with ordering(jobs):
        jobs.submit("running")
        uid = jobs.wait_for_running("running", "alpha")
        try:
            with jobs.unreachable("alpha"):
                jobs.plane.set_available("alpha", "Unknown")
                wait_for_order(jobs.hub, "beta", "gamma", "alpha")
                jobs.submit("later")
                jobs.wait_for_running("later", "beta")
        finally:
            jobs.plane.set_available("alpha", "True")
        wait_for_order(jobs.hub, "alpha", "beta", "gamma")
        assert jobs.running("running") == {"alpha": uid}
        assert jobs.cluster("running") == "alpha"


def test_a_drained_cluster_leaves_when_its_job_is_done(jobs: Jobs) -> None:
    with ordering(jobs):
        jobs.submit("running")
        uid = jobs.wait_for_running("running", "alpha")
        drain: Object = {"key": "maintenance.example.com/drain", "effect": "NoSelect"}
        jobs.hub.patch(MANAGED_CLUSTER, "alpha", {"spec": {"taints": [drain]}})
        try:
            wait_for_order(jobs.hub, "beta", "gamma", "alpha")
            assert jobs.running("running") == {"alpha": uid}
            jobs.finish("running", "alpha")
            wait_for_order(jobs.hub, "beta", "gamma")
        finally:
            jobs.hub.patch(MANAGED_CLUSTER, "alpha", {"spec": {"taints": []}})
        wait_for_order(jobs.hub, "alpha", "beta", "gamma")


def test_jobs_go_on_while_the_reconciler_is_dead(jobs: Jobs) -> None:
    """Killed at any time, it leaves the last list. The next leader goes on with it."""
    with ordering(jobs) as running:
        jobs.submit("before")
        uid = jobs.wait_for_running("before", "alpha")
        os.kill(running.process.pid, signal.SIGKILL)
        rate(jobs.hub, alpha=10)
        jobs.submit("meanwhile")
        jobs.wait_for_running("meanwhile", "alpha")
        assert listed(jobs.hub) == ["alpha", "beta", "gamma"]
    with ordering(jobs):
        wait_for_order(jobs.hub, "beta", "gamma", "alpha")
        jobs.submit("after")
        jobs.wait_for_running("after", "beta")
        assert jobs.running("before") == {"alpha": uid}


def test_kueue_is_restarted(jobs: Jobs) -> None:
    with ordering(jobs):
        jobs.submit("before")
        uid = jobs.wait_for_running("before", "alpha")
        jobs.manager.restart()
        rate(jobs.hub, alpha=10)
        wait_for_order(jobs.hub, "beta", "gamma", "alpha")
        jobs.submit("after")
        jobs.wait_for_running("after", "beta")
        assert jobs.running("before") == {"alpha": uid}


def test_a_frozen_leader_writes_nothing_when_it_goes_on(jobs: Jobs) -> None:
    with ordering(jobs, name="first") as first:
        first.freeze()
        # It leads when the Lease of the frozen one has expired.
        with ordering(jobs, name="second"):
            rate(jobs.hub, alpha=10)
            wait_for_order(jobs.hub, "beta", "gamma", "alpha")
            written = jobs.hub.get(MULTIKUEUE_CONFIG, CONFIG)["metadata"]["resourceVersion"]
            first.thaw()
            wait_for(lambda: not first.process.running, what="the first one ends")
            assert jobs.hub.get(MULTIKUEUE_CONFIG, CONFIG)["metadata"]["resourceVersion"] == written


def test_a_list_that_somebody_edits_is_set_right(jobs: Jobs) -> None:
    with ordering(jobs):
        jobs.submit("running")
        uid = jobs.wait_for_running("running", "alpha")
        jobs.hub.patch(MULTIKUEUE_CONFIG, CONFIG, {"spec": {"clusters": ["gamma", "alpha"]}})
        wait_for_order(jobs.hub, "alpha", "beta", "gamma")
        assert jobs.running("running") == {"alpha": uid}


def test_a_list_of_somebody_else_is_left_alone(jobs: Jobs) -> None:
    jobs.hub.apply(manifest(MULTIKUEUE_CONFIG, CONFIG, spec={"clusters": ["gamma"]}))
    with reconciling(jobs.plane, f"--multikueue-namespace={NAMESPACE}"):
        hold_for(lambda: listed(jobs.hub) == ["gamma"], what="nobody writes it", seconds=5)


def test_a_cluster_that_is_detached_leaves(jobs: Jobs, installation: Installation) -> None:
    """Its jobs are lost with it."""
    with ordering(jobs):
        wait_for_order(jobs.hub, "alpha", "beta", "gamma")
        jobs.submit("running")
        jobs.wait_for_running("running", "alpha")
        try:
            jobs.hub.delete(MANAGED_CLUSTER, "alpha")
            wait_for_order(jobs.hub, "beta", "gamma")
        finally:
            wait_until_gone(jobs.hub, MANAGED_CLUSTER, "alpha")
            jobs.plane.add_clusters({"alpha": {}})
            installation.label_clusters()
        rate(jobs.hub, alpha=80)
        wait_for_order(jobs.hub, "alpha", "beta", "gamma")


def test_the_order_follows_a_score_of_another_add_on(
    jobs: Jobs, installation: Installation
) -> None:
    """It never expires, as those of many add-ons, and our scorer says the opposite."""
    by_usage: Object = {"addOn": {"resource": USAGE, "name": FREE_GPUS}}
    other = {**ranking(demand=None)}
    other["spec"] = {**other["spec"], "scores": [by_usage]}
    installation.fleet.configure(externalScores=[{"resource": USAGE, "names": [FREE_GPUS]}])
    installation.fleet.write(f"apps/{NAME}.yaml", other)
    for cluster, points in (("alpha", 10), ("beta", 50), ("gamma", 90)):
        publish(jobs.hub, cluster, USAGE, {FREE_GPUS: points, "cpuClusterAvailable": -points})
    installation.sync()
    try:
        with ordering(jobs):
            wait_for_order(jobs.hub, "gamma", "beta", "alpha")
            jobs.submit("first")
            uid = jobs.wait_for_running("first", "gamma")
            publish(jobs.hub, "beta", USAGE, {FREE_GPUS: 100})
            publish(jobs.hub, "gamma", USAGE, {FREE_GPUS: 0})
            wait_for_order(jobs.hub, "beta", "alpha", "gamma")
            jobs.submit("second")
            jobs.wait_for_running("second", "beta")
            assert jobs.running("first") == {"gamma": uid}
    finally:
        installation.fleet.configure()
        installation.fleet.write(f"apps/{NAME}.yaml", ranking())
        installation.sync()


def test_the_guide_leads_from_nothing_to_a_job_that_scores_placed(
    jobs: Jobs, installation: Installation
) -> None:
    """Every block of it, in its order. The workers have their queues already."""
    files, settings = [], []
    objects: list[Object] = []
    for block in blocks(GUIDE, "yaml"):
        if block.text.startswith("# apps/"):
            files.append(block.text)
        elif block.text.startswith("# configuration of Kueue"):
            settings.append(yamlfast.load(block.text))
        else:
            objects += yamlfast.load_all(block.text)
    [setting], [application] = settings, files
    [job] = [item for item in objects if item["kind"] == "Job"]
    commands = re.findall(
        r"^    kubectl (.*(?:clusterName|spec.clusters).*)$", GUIDE.read_text("utf-8"), re.MULTILINE
    )

    _remove_queue(jobs.hub)
    jobs.manager.restart(**setting["multiKueue"])
    for cluster, points in (("alpha", 10), ("beta", 90), ("gamma", 50)):
        publish(jobs.hub, cluster, GUIDED_SCORER, {GUIDED_SCORE: points})
    (installation.fleet.root / f"apps/{NAME}.yaml").write_text(application, encoding="utf-8")
    installation.sync()
    try:
        with ordering(jobs):
            wait_for_order(jobs.hub, "beta", "gamma", "alpha")
            for item in objects:
                jobs.hub.create(item)
            jobs.wait_for_running(job["metadata"]["name"], "beta")
            clusters, places = (jobs.plane.hub.kubectl(*shlex.split(line)) for line in commands)
            assert clusters == '["beta","gamma","alpha"]'
            assert re.search(r"^job-first-\w+ +beta$", places, re.MULTILINE)
    finally:
        installation.fleet.write(f"apps/{NAME}.yaml", ranking())
        installation.sync()


def _remove_queue(hub: Client) -> None:
    """What the guide makes on the hub, so that it begins without."""
    hub.delete(LOCAL_QUEUE, QUEUE, namespace=TEAM)
    for kind, name in (
        (CLUSTER_QUEUE, SHARED_QUEUE),
        (ADMISSION_CHECK, CHECK),
        (RESOURCE_FLAVOR, FLAVOR),
    ):
        # Kueue keeps each of them while another one uses it.
        hub.delete(kind, name)
        wait_until_gone(hub, kind, name)

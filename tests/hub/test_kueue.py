"""What the real Kueue makes of the order of a MultiKueueConfig, without anything of ours.

Our order of clusters by scores relies on these facts. One of them is a danger: a cluster that
leaves the list loses its jobs.
"""

from collections.abc import Iterator

import pytest

from tests.hub.controlplane.api import is_true
from tests.hub.controlplane.kueue import ALL_AT_ONCE, ONE_BY_ONE, WORKLOAD
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.jobs import PLENTY, TEAM, WORKERS, Jobs

pytestmark = [pytest.mark.family("kubernetes", "kueue")]


@pytest.fixture(autouse=True)
def _from_the_start(jobs: Jobs) -> Iterator[None]:
    """Every test begins with all workers in the order of the alphabet, and leaves no job."""
    jobs.order(*WORKERS)
    yield
    jobs.remove()
    for cluster in WORKERS:
        jobs.limit(cluster, PLENTY)


def test_a_job_goes_to_the_first_cluster_and_a_new_order_moves_no_running_job(jobs: Jobs) -> None:
    jobs.order("beta", "gamma", "alpha")
    jobs.submit("first")
    uid = jobs.wait_for_running("first", "beta")

    jobs.order("gamma", "alpha", "beta")
    jobs.submit("second")
    jobs.wait_for_running("second", "gamma")

    assert jobs.running("first") == {"beta": uid}
    jobs.finish("first", "beta")
    jobs.finish("second", "gamma")


def test_a_job_hangs_when_its_cluster_leaves_the_list_and_then_starts_anew(jobs: Jobs) -> None:
    """The danger of a list that holds only the clusters of a decision, as OCM's add-on writes it.

    Kueue takes the admission back, and reads nothing more of a cluster that is not listed. So the
    pods go on there, nobody learns how they end, and the quota of the job stays taken. When the
    cluster is listed again, Kueue deletes the job there and starts it from the beginning.
    """
    jobs.order("alpha")
    jobs.submit("training")
    first = jobs.wait_for_running("training", "alpha")
    wait_for(lambda: jobs.active("training"), what="the manager knows that a pod is active")

    jobs.order("beta", "gamma")
    wait_for(
        lambda: is_true(jobs.workload("training"), "Evicted"),
        what="Kueue takes the admission back",
        seen=lambda: jobs.evidence("training"),
    )
    hold_for(
        lambda: jobs.running("training") == {"alpha": first} and jobs.cluster("training") is None,
        what="the job goes on where nobody reads it",
        seconds=3,
    )

    jobs.order("beta", "gamma", "alpha")
    again = jobs.wait_for_running("training", "beta")
    assert again != first
    # The manager first has to reach alpha again.
    wait_for(
        lambda: jobs.running("training") == {"beta": again},
        what="Kueue deletes the job on alpha",
        seen=lambda: jobs.evidence("training"),
    )


def test_with_the_default_dispatcher_the_order_means_nothing(jobs: Jobs) -> None:
    """A job is tried everywhere at once, and the first worker with room for it has it."""
    jobs.manager.restart(**ALL_AT_ONCE)
    try:
        for cluster in ("alpha", "beta"):
            jobs.limit(cluster, 0)
        jobs.submit("training")
        jobs.wait_for_running("training", "gamma")
    finally:
        jobs.manager.restart(**ONE_BY_ONE)


def test_a_job_waits_for_the_first_cluster_also_when_another_one_has_room(jobs: Jobs) -> None:
    """For five minutes, which Kueue counts from its own start at the earliest."""
    jobs.limit("alpha", 0)
    jobs.submit("training")
    wait_for(lambda: jobs.nominated("training") == ["alpha"], what="alpha is nominated")
    hold_for(lambda: jobs.nominated("training") == ["alpha"], what="only alpha is tried", seconds=3)
    jobs.manager.restart()
    jobs.wait_for_running("training", "beta")


def test_an_unreachable_cluster_is_tried_all_the_same(jobs: Jobs) -> None:
    """The dispatcher asks for no connection. A job that runs there is not taken away."""
    jobs.submit("running")
    uid = jobs.wait_for_running("running", "alpha")
    with jobs.unreachable("alpha"):
        jobs.submit("waiting")
        wait_for(lambda: jobs.nominated("waiting") == ["alpha"], what="alpha is nominated")
        jobs.order("beta", "gamma", "alpha")
        jobs.submit("later")
        jobs.wait_for_running("later", "beta")
        assert jobs.nominated("waiting") == ["alpha"]
        assert jobs.cluster("running") == "alpha"
    jobs.wait_for_running("waiting", "alpha")
    assert jobs.running("running") == {"alpha": uid}


def test_a_job_that_waits_for_a_cluster_that_left_runs_there_when_it_is_listed_again(
    jobs: Jobs,
) -> None:
    """Kueue leaves its copy on the worker, where it takes quota."""
    jobs.limit("alpha", 0)
    jobs.submit("training")
    wait_for(lambda: jobs.nominated("training") == ["alpha"], what="alpha is nominated")
    worker = jobs.workers["alpha"].admin
    # Kueue makes it after the nomination, and makes none on a cluster that is not listed.
    wait_for(lambda: worker.list(WORKLOAD, namespace=TEAM), what="alpha has a copy")
    jobs.order("beta", "gamma")
    jobs.limit("alpha", PLENTY)
    wait_for(
        lambda: (
            [is_true(copy, "Admitted") for copy in worker.list(WORKLOAD, namespace=TEAM)] == [True]
        ),
        what="the copy on alpha is admitted",
    )
    hold_for(lambda: not jobs.running("training"), what="it runs nowhere", seconds=3)
    jobs.order("beta", "gamma", "alpha")
    jobs.wait_for_running("training", "alpha")


def test_jobs_that_come_at_once_all_go_to_the_first_cluster(jobs: Jobs) -> None:
    """Kueue reads the order once for each job, so only its quota spreads such a burst."""
    names = [f"burst-{number}" for number in range(6)]
    jobs.limit("alpha", 4)
    jobs.submit(*names)
    wait_for(
        lambda: jobs.spread(names) == {"alpha": 4, "": 2},
        what="alpha has as many as its quota allows",
        seen=lambda: jobs.spread(names),
    )
    waiting = [name for name in names if jobs.cluster(name) is None]
    wait_for(
        lambda: all(jobs.nominated(name) for name in waiting),
        what="the others are nominated, too",
        seen=lambda: [jobs.evidence(name) for name in waiting],
    )
    assert [jobs.nominated(name) for name in waiting] == [["alpha"], ["alpha"]]

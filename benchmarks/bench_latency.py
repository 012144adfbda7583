"""From a changed metric to a score, a decision, a Healthy new copy and a removed old one.

    python -m benchmarks.bench_latency [--seconds 150]

Every program is a real one: a Prometheus and an agent for each of two clusters, OCM, Argo CD and
the reconciler, with the programs of tests/hub. Two applications, each with a scorer of its own,
move between the two clusters again and again: the metric of one crosses that of the other. First
they follow their scores at once, then the reconciler admits each move, for so many seconds each. A
workload is a ConfigMap, which is Healthy once it is applied: what a real one needs to start comes
on top.

A step is a setting (it waits for a time that people write), fixed (it waits for a time of the
product) or work. There are no goals: work takes longer where other programs share the machine.
"""

import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from math import ceil
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.measure import options
from gitops_dsf.hub.names import APPLICATION_LABEL, REFRESH_ANNOTATION
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.pacing.stored import read_moves
from gitops_dsf.reconciler.hub.decisions import DEBOUNCE_SECONDS
from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.applications import APPLICATION, APPLICATION_SET, is_healthy
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kube import Kubernetes
from tests.hub.controlplane.plane import SPOKES, ControlPlane
from tests.hub.controlplane.processes import Processes
from tests.hub.controlplane.prometheus import LoadExporter
from tests.hub.controlplane.watching import Version, Watch
from tests.hub.scenario.agents import measuring_agent
from tests.hub.scenario.fleet import SCORER, Fleet, application, new_fleet, query_scorer
from tests.hub.scenario.installation import Installation, installed
from tests.hub.scenario.placements import DECISION, PLACEMENT_LABEL, SCORE, clusters_of
from tests.hub.scenario.reconciling import HUB_NAMESPACE, reconciling
from tests.support import environment

NAMES: Final = ("latency-a", "latency-b")
"""No more, because the reconciler deletes at most ten old copies a minute."""
STAYS, CHANGES = SPOKES
"""The metric of the first cluster stays at 0.5; that of the second one is below it or above."""
INTERVAL_SECONDS: Final = 1
"""Of `query_scorer`."""
SCRAPE_MILLISECONDS: Final = 700
"""No divisor of the interval, so that the agent asks at any moment after a scrape."""
MAX_STEP_SECONDS: Final = 120.0
QUERY_LOG: Final = "queries.log"
PAUSE_SECONDS: Final = 4.0
"""At most so long an application rests before its metric changes again, so that changes meet the
intervals at any moment.
"""
# Nothing in it makes a move wait, so that what is measured is the reconciler's own time.
PACE: Final[Object] = {
    "concurrent": 10,
    "arrivalsPerCluster": 10,
    "settleSeconds": 0,
    "cooldownSeconds": 0,
}


class Step(NamedTuple):
    """From the step before to an observation."""

    name: str
    """Of the observation."""
    text: str
    setting: str
    """What is waited for; empty: it is work."""


STEPS: Final = (
    Step(
        "scraped", "Prometheus scrapes it", f"`scrape_interval`: {SCRAPE_MILLISECONDS / 1000:g} s"
    ),
    Step("asked", "the agent asks Prometheus", f"`interval` of the scorer: {INTERVAL_SECONDS} s"),
    Step("published", "the score is on the hub", ""),
    Step(
        "admitted",
        "the reconciler admits the move",
        f"fixed: no decision changed for {DEBOUNCE_SECONDS:g} s; otherwise work",
    ),
    Step("decided", "OCM decides", ""),
    Step(
        "told",
        "the reconciler tells Argo CD",
        f"fixed: unchanged for {DEBOUNCE_SECONDS:g} s",
    ),
    Step("made", "Argo CD makes the Application", ""),
    Step("healthy", "the new copy is Healthy and Synced", ""),
    Step("deleted", "the reconciler deletes the old copy", ""),
    Step("removed", "Argo CD has removed it", ""),
)
MILESTONES: Final = {
    "published": "a published score",
    "decided": "a decision",
    "healthy": "a Healthy new copy",
    "removed": "a removed old copy",
}

Timeline = Mapping[str, float]
"""Unix times of the observations of one move, with `changed` for the metric."""


@dataclass(kw_only=True)
class MovingHub:
    """A hub on which the applications move."""

    scores: Watch
    ledger: Watch
    decisions: Watch
    sets: Watch
    applications: Watch
    exporter: LoadExporter
    queries: Path
    """The query log of the Prometheus of the cluster whose metric changes."""
    paced: bool
    timelines: list[Timeline] = field(default_factory=list)

    def run(self, ends: float) -> None:
        """Moves all applications until the time is over."""
        with ThreadPoolExecutor(max_workers=len(NAMES)) as threads:
            for future in [threads.submit(self.moves_of, name, ends=ends) for name in NAMES]:
                # Raises what a thread raised.
                future.result()

    def runs_where_it_stays(self, name: str) -> None:
        """Waits until an application has no copy but the one that it begins with."""
        self.applications.first(
            partial(runs, name=name, cluster=STAYS),
            after=0,
            timeout=MAX_STEP_SECONDS,
            what=f"{name} runs",
        )

    def moves_of(self, name: str, *, ends: float) -> None:
        """Moves one application there and back until the time is over."""
        # The two applications must not change at the same moments.
        rng = random.Random(name)
        while time.time() < ends:
            for load in (0.1, 0.9):
                time.sleep(rng.uniform(0, PAUSE_SECONDS))
                self.timelines.append(self.move(name, load))

    def move(self, name: str, load: float) -> Timeline:
        """Changes the metric, and observes what comes of it."""
        source, target = (STAYS, CHANGES) if load < 0.5 else (CHANGES, STAYS)
        times = {"changed": time.time()}
        self.exporter.set("cpu_load", {"app": name}, load)

        def observe(step: str, watch: Watch, fits: Callable[[Version], bool]) -> None:
            # After the change, and not after the step before: each watch has a thread of its own,
            # so a quick step can be seen before the one that led to it.
            version = watch.first(
                fits, after=times["changed"], timeout=MAX_STEP_SECONDS, what=f"{name}: {step}"
            )
            times[step] = version.at

        def is_target_ahead(version: Version) -> bool:
            """Whether the score of the cluster that changes is on the other side of 50.

            The score of the other cluster stays there.
            """
            meta = version.item["metadata"]
            if (meta["name"], meta["namespace"]) != (name, CHANGES):
                return False
            for score in version.item.get("status", {}).get("scores") or ():
                if (score["value"] > 50) == (load < 0.5):
                    return True
            return False

        def is_admitted(version: Version) -> bool:
            if version.name != MOVES_SCORE:
                return False
            for move in read_moves(version.item.get("data")).ledger.moves:
                # A move that OCM made by itself is in the ledger, too.
                if move.admitted and (move.placement, move.target) == (f"argocd/{name}", target):
                    return True
            return False

        def is_decided(version: Version) -> bool:
            labels = version.item["metadata"].get("labels", {})
            return labels.get(PLACEMENT_LABEL) == name and clusters_of(version.item) == [target]

        def is_told(version: Version) -> bool:
            """Whether the ApplicationSet asks Argo CD to look at the decision now."""
            annotations = version.item["metadata"].get("annotations", {})
            return version.name == name and REFRESH_ANNOTATION in annotations

        def is_old(version: Version) -> bool:
            return is_copy(version, name=name, cluster=source)

        observe("published", self.scores, is_target_ahead)
        if self.paced:
            observe("admitted", self.ledger, is_admitted)
        observe("decided", self.decisions, is_decided)
        # Without this Argo CD looks at decisions every three minutes only.
        observe("told", self.sets, is_told)
        observe("made", self.applications, partial(is_copy, name=name, cluster=target))
        observe("healthy", self.applications, partial(runs, name=name, cluster=target))
        observe(
            "deleted",
            self.applications,
            lambda version: is_old(version) and "deletionTimestamp" in version.item["metadata"],
        )
        observe(
            "removed",
            self.applications,
            lambda version: is_old(version) and version.event == "DELETED",
        )
        # Nothing on the hub shows these two, so they are looked up afterwards.
        times["scraped"] = next(
            scrape for scrape in self.exporter.scrapes if scrape > times["changed"]
        )
        times["asked"] = self.asked_before(times["published"], name)
        return times

    def asked_before(self, moment: float, name: str) -> float:
        """When the agent asked for what it published then, as Prometheus logged it."""
        last_query = 0.0
        for line in self.queries.read_text(encoding="utf-8").splitlines():
            params = json.loads(line)["params"]
            query_time = datetime.fromisoformat(params["end"]).timestamp()
            # The log has the queries of both applications, each with its name as a label value.
            if f'"{name}"' in params["query"] and last_query < query_time <= moment:
                last_query = query_time
        return last_query


def main() -> int:
    """Measures moves without a pace, and then with one."""
    chosen = options(__doc__, seconds=150.0)
    # The settings of git and Kubernetes on this machine must not count.
    environment.clean(os.environ)
    with prepared() as (installation, start):
        for paced in (False, True):
            spec: Object = {"pace": PACE} if paced else {}
            installation.fleet.configure(**spec)
            installation.sync()
            with reconciling(installation.plane, spec=spec), start(paced) as bench:
                # Moves begin from a known cluster; the first placement is not a move.
                for name in NAMES:
                    bench.runs_where_it_stays(name)
                bench.run(time.time() + chosen.seconds)
                show(bench.timelines, paced=paced)
    return 0


@contextmanager
def prepared() -> Iterator[
    tuple[Installation, Callable[[bool], AbstractContextManager[MovingHub]]]
]:
    """The hub with everything but a reconciler, and what begins to observe it."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        git_server = stack.enter_context(GitServer(folder=folder / "git"))
        plane = stack.enter_context(control_plane(folder))
        stack.enter_context(argocd(plane, folder))
        installation = stack.enter_context(installed(new_repository(git_server), plane))
        exporters = {}
        for cluster in SPOKES:
            exporters[cluster] = stack.enter_context(LoadExporter())
            for name in NAMES:
                # A score is 100 x (1 - load), so both applications begin where the metric stays.
                load = 0.5 if cluster == STAYS else 0.9
                exporters[cluster].set("cpu_load", {"app": name}, load)
            agent = measuring_agent(
                plane,
                cluster,
                exporters[cluster],
                folder=folder / cluster,
                configuration={"global": prometheus_settings(folder / cluster)},
            )
            stack.enter_context(agent)
        # Until the API server enforces them, a write can pass that it would refuse.
        installation.wait_for_policies()

        def start(paced: bool) -> AbstractContextManager[MovingHub]:
            return observing(
                plane.hub.admin,
                exporter=exporters[CHANGES],
                queries=folder / CHANGES / QUERY_LOG,
                paced=paced,
            )

        yield installation, start


@contextmanager
def observing(
    hub: Client, *, exporter: LoadExporter, queries: Path, paced: bool
) -> Iterator[MovingHub]:
    """Follows everything on the hub that a move changes, for one run."""
    with ExitStack() as stack:

        def watch(kind: str, namespace: str | None = "argocd") -> Watch:
            return stack.enter_context(Watch(hub, kind, namespace=namespace))

        yield MovingHub(
            scores=watch(SCORE, None),
            ledger=watch("v1/ConfigMap", HUB_NAMESPACE),
            decisions=watch(DECISION),
            sets=watch(APPLICATION_SET),
            applications=watch(APPLICATION),
            exporter=exporter,
            queries=queries,
            paced=paced,
        )


@contextmanager
def control_plane(folder: Path) -> Iterator[ControlPlane]:
    """The hub and its two spokes, with OCM."""
    processes = Processes(logs=folder / "logs")
    binaries = obtain("kubernetes")
    kubernetes = Kubernetes(binaries=binaries, processes=processes, folder=folder)
    with ControlPlane(kubernetes=kubernetes, ocm_binaries=obtain("ocm")) as plane:
        yield plane


@contextmanager
def argocd(plane: ControlPlane, folder: Path) -> Iterator[None]:
    """Argo CD on the hub, which knows the spokes."""
    running = ArgoCD(
        binaries=obtain("argocd"),
        processes=plane.processes,
        folder=folder / "argocd",
        hub=plane.hub,
    )
    running.install()
    running.start()
    running.wait()
    try:
        with running.knowing(plane.spokes.values()):
            yield
    finally:
        running.close()


def new_repository(git_server: GitServer) -> Fleet:
    """A fleet with the applications, each with its scorer, and the repository of the workloads."""
    fleet = new_fleet(git_server, "latency", guestbook=False)
    # Its own queries and writes would disturb what is measured.
    fleet.remove(f"scorers/{SCORER}.yaml")
    workload = git_server.create("latency-workload")
    workload.commit({f"{name}/map.yaml": json.dumps(workload_of(name)) for name in NAMES})
    for name in NAMES:
        query = f'1 - avg(cpu_load{{app="{name}"}})'
        fleet.write(
            f"scorers/{name}.yaml",
            query_scorer(name, query),
        )
        fleet.write(
            f"apps/{name}.yaml",
            application(
                "latency",
                name,
                source={"repoURL": workload.url, "path": name},
                scores=[{"scorer": name}],
                moves={"strategy": "MakeBeforeBreak"},
            ),
        )
    return fleet


def workload_of(name: str) -> Object:
    """What an application deploys: nothing has to start."""
    return manifest("v1/ConfigMap", name, data={"of": name})


def prometheus_settings(folder: Path) -> Object:
    """The section global of its configuration. The folder is its own."""
    scrape = f"{SCRAPE_MILLISECONDS}ms"
    return {
        "scrape_interval": scrape,
        # Prometheus refuses a timeout that is longer than the interval, and the default is 10 s.
        "scrape_timeout": scrape,
        "query_log_file": str(folder / QUERY_LOG),
    }


def runs(version: Version, *, name: str, cluster: str) -> bool:
    """Whether it is the copy of an application on a cluster, Healthy and Synced."""
    return is_copy(version, name=name, cluster=cluster) and is_healthy(version.item)


def is_copy(version: Version, *, name: str, cluster: str) -> bool:
    """Whether it is the copy of an application on a cluster."""
    labels = version.item["metadata"].get("labels", {})
    destination = version.item["spec"]["destination"].get("name")
    return (labels.get(APPLICATION_LABEL), destination) == (name, cluster)


def show(timelines: Sequence[Timeline], *, paced: bool) -> None:
    """Prints the tables of the steps, and of the times since the metric changed."""
    steps = [step for step in STEPS if step.name != "admitted" or paced]
    print(f"{len(timelines)} moves of {len(NAMES)} applications", end="")
    print(f" with pace {PACE}" if paced else " without a pace")
    print("\n| step | median | 99 % | setting |\n|---|---|---|---|")
    before = "changed"
    for step in steps:
        durations = [times[step.name] - times[before] for times in timelines]
        print(f"| {step.text} | {shown(durations)} | {step.setting or 'work'} |")
        before = step.name
    print("\n| from the changed metric to | median | 99 % | of that work: median | 99 % |")
    print("|---|---|---|---|---|")
    for name, text in MILESTONES.items():
        durations = []
        work = []
        for times in timelines:
            durations.append(times[name] - times["changed"])
            work.append(work_until(times, name, steps))
        print(f"| {text} | {shown(durations)} | {shown(work)} |")


def work_until(times: Timeline, milestone: str, steps: Sequence[Step]) -> float:
    """Seconds of the steps up to a milestone that wait for no setting."""
    seconds = 0.0
    before = "changed"
    for step in steps:
        if not step.setting:
            seconds += times[step.name] - times[before]
        if step.name == milestone:
            break
        before = step.name
    return seconds


def shown(seconds: Sequence[float]) -> str:
    """Median and 99th percentile (the nearest rank: of less than 100 the greatest)."""
    ordered = sorted(seconds)
    last = ordered[ceil(0.99 * len(ordered)) - 1]
    return f"{statistics.median(ordered):.2f} s | {last:.2f} s"


if __name__ == "__main__":
    sys.exit(main())

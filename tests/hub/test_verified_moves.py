"""Verified moves with every program real.

An application that does worse where the scores sent it comes back, and a fleet whose scores are
often wrong stops itself.

Each cluster has its own Prometheus and its own agent. OCM decides, Argo CD makes and removes the
copies, and the reconciler has the account and the policies that we render.
"""

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml

from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.pacing.ledger import Ledger, LedgerMove
from gitops_dsf.pacing.stored import StoredMoves
from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.applications import APPLICATION, copies, is_healthy
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kubeconfig import ADMIN
from tests.hub.controlplane.plane import SPOKES, ControlPlane
from tests.hub.controlplane.prometheus import LoadExporter
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.controlplane.watching import Version, Watch
from tests.hub.scenario.agents import DEPLOYMENT, measuring_agent
from tests.hub.scenario.fleet import SCORER, Fleet, application, new_fleet, query_scorer
from tests.hub.scenario.installation import Installation, installed
from tests.hub.scenario.placements import SCORE as SCORES
from tests.hub.scenario.placements import decided, scores
from tests.hub.scenario.reconciling import (
    FAST,
    HUB_NAMESPACE,
    Reconciler,
    reconciling,
    stored_moves,
)
from tests.hub.scenario.shop import METRIC, Shop, shop_runs
from tests.hub.scenario.stoppingproxy import StoppingProxy

pytestmark = [
    pytest.mark.family("kubernetes", "ocm", "argocd", "prometheus"),
    pytest.mark.timeout(600),
]

HERE, THERE = SPOKES
"""An application is at home on the first cluster. The scores send it to the second one."""
SHOP = "verified-shop"
HERD = tuple(f"verified-{number:02}" for number in range(10))
ROOM, SUCCESS = "room", "success"
"""The scorer that ranks the clusters, and the one that verifies."""
HOME = {HERE: 60.0, THERE: 20.0}
"""Room on the clusters with which everybody stays at home."""
LIE = {HERE: 60.0, THERE: 95.0}
PACE: Object = {
    "concurrent": 3,
    "arrivalsPerCluster": 3,
    "settleSeconds": 1,
    "cooldownSeconds": 0,
    "stopAfterReturns": 3,
    "returnsWindowSeconds": 3600,
}
CONFIG_MAP = "v1/ConfigMap"


@dataclass(kw_only=True)
class VerifiedMoveScene:
    """A fleet of applications that verify their moves."""

    installation: Installation
    hub: Client
    exporters: dict[str, LoadExporter]
    workload: str
    """URL of the repository with the folders of the workloads."""

    @property
    def plane(self) -> ControlPlane:
        return self.installation.plane

    def has_room(self, room: dict[str, float]) -> None:
        """Sets the metric by which the clusters are ranked, and waits for the scores."""
        for cluster, value in room.items():
            self.exporters[cluster].set("cluster_room", {}, value)
        expected = {cluster: round(value) for cluster, value in room.items()}

        def published() -> dict[str, int | None]:
            return {cluster: scores(self.hub, cluster, ROOM).get(ROOM) for cluster in room}

        wait_for(lambda: published() == expected, what=f"room {expected}", seen=published)

    def stored(self) -> StoredMoves:
        return stored_moves(self.hub)

    def ledger(self) -> Ledger:
        return self.stored().ledger

    def moves(self, name: str) -> list[LedgerMove]:
        """Of an application, in the order in which they began."""
        found = [move for move in self.ledger().moves if move.placement == f"argocd/{name}"]
        return sorted(found, key=lambda move: move.since)

    def healthy(self, name: str) -> set[str]:
        """Clusters with a copy that is Healthy and Synced."""
        return {cluster for cluster, item in copies(self.hub, name).items() if is_healthy(item)}

    def runs_at_home(self, *names: str) -> None:
        def where() -> dict[str, set[str]]:
            return {name: self.healthy(name) for name in names}

        wait_for(
            lambda: all(clusters == {HERE} for clusters in where().values()),
            what="all run at home",
            seen=where,
        )

    def write(self, *names: str) -> None:
        """Writes the applications into the repository, and applies what is rendered."""
        for name in names:
            self.installation.fleet.write(f"apps/{name}.yaml", verified(name, self.workload))
        self.installation.sync()

    def remove(self, *names: str) -> None:
        for name in names:
            self.installation.fleet.remove(f"apps/{name}.yaml")
        self.installation.sync()
        wait_for(
            lambda: not any(copies(self.hub, name, going=True) for name in names),
            what="the applications are gone",
        )

    def reconciler(self, name: str = "verifying", **more: Any) -> Any:
        return reconciling(self.plane, spec={"pace": PACE}, name=name, speed=FAST, **more)

    def status(self, *arguments: str) -> str:
        kubeconfig = str(self.plane.hub.kubeconfig(ADMIN))
        ran = self.installation.fleet.run(
            "status", "--context", "context", "--kubeconfig", kubeconfig, *arguments
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def forget(self) -> None:
        """Takes away what a test left of moves."""
        self.hub.delete(CONFIG_MAP, MOVES_SCORE, namespace=HUB_NAMESPACE)
        for cluster in SPOKES:
            self.hub.delete(SCORES, MOVES_SCORE, namespace=cluster)


def verified(name: str, workload: str) -> Object:
    """An application that must answer at least 80 of 100 requests where it goes."""
    check = {"scorer": SUCCESS, "dimension": name, "atLeast": 80, "forSeconds": 3}
    return application(
        "verified",
        name,
        source={"repoURL": workload, "path": name},
        scores=[{"scorer": ROOM}],
        moves={
            "strategy": "MakeBeforeBreak",
            "verify": [check],
            "verifySeconds": 60,
            "holdSeconds": 600,
        },
    )


def percent_scorer(name: str, query: str, **spec: Any) -> Object:
    """A score that is the answer of a query from 0 to 100, every second."""
    score_range = {"min": 0, "max": 100, "outputMin": 0, "outputMax": 100}
    return query_scorer(name, query, scoreRange=score_range, **spec)


def workloads() -> dict[str, str]:
    """Paths and texts: the shop is a Deployment, all others are ConfigMaps."""
    labels = {"app": SHOP}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "web", "image": "example.invalid/web:1"}]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    texts = {f"{SHOP}/shop.yaml": yaml.safe_dump(manifest(DEPLOYMENT, SHOP, spec=spec))}
    for name in HERD:
        item = manifest(CONFIG_MAP, name, data={"of": name})
        texts[f"{name}/map.yaml"] = yaml.safe_dump(item)
    return texts


def new_verified_fleet(git_server: GitServer) -> Fleet:
    fleet = new_fleet(git_server, "verified", guestbook=False)
    fleet.remove(f"scorers/{SCORER}.yaml")
    fleet.configure(pace=PACE)
    fleet.write(f"scorers/{ROOM}.yaml", percent_scorer(ROOM, "avg(cluster_room)"))
    # An agent writes a score that does not change after half of this time.
    by_application = percent_scorer(
        SUCCESS,
        f"avg by (app) ({METRIC})",
        scoreDimensionFormat="${app}",
        scoreTTLSeconds=60,
    )
    fleet.write(f"scorers/{SUCCESS}.yaml", by_application)
    return fleet


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane,
    argocd: ArgoCD,
    git_server: GitServer,
    hub: Client,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[VerifiedMoveScene]:
    folder = tmp_path_factory.mktemp("verified")
    workload = git_server.create("verified-workload")
    workload.commit(workloads())
    exporters = dict[str, LoadExporter]()
    with ExitStack() as stack:
        stack.enter_context(argocd.knowing(control_plane.spokes.values()))
        installation = stack.enter_context(installed(new_verified_fleet(git_server), control_plane))
        for cluster in SPOKES:
            exporters[cluster] = stack.enter_context(LoadExporter())
            agent = measuring_agent(
                control_plane, cluster, exporters[cluster], folder=folder / cluster
            )
            stack.enter_context(agent)
        installation.wait_for_policies()
        scene = VerifiedMoveScene(
            installation=installation, hub=hub, exporters=exporters, workload=workload.url
        )
        stack.callback(scene.forget)
        yield scene


@contextmanager
def at_home(scene: VerifiedMoveScene, *names: str) -> Iterator[None]:
    """These applications run on their first cluster, for as long as the block runs."""
    scene.has_room(HOME)
    scene.write(*names)
    try:
        with scene.reconciler("verifying-first"):
            scene.runs_at_home(*names)
        yield
    finally:
        scene.remove(*names)
        scene.forget()


@pytest.fixture
def shop(scene: VerifiedMoveScene) -> Iterator[Shop]:
    """It answers all requests at home, and fails four of ten on the other cluster."""
    with shop_runs(scene.plane, SHOP, scene.exporters) as shop, at_home(scene, SHOP):
        shop.failing = {THERE: 4}
        wait_for(
            lambda: scores(scene.hub, HERE, SUCCESS).get(SHOP) == 100,
            what="its score at home",
            seen=lambda: scene.hub.find(SCORES, SUCCESS, namespace=HERE),
        )
        shop.rounds.clear()
        yield shop


def never_without_a_copy(versions: Iterable[Version], name: str) -> None:
    """At every version of an Application a copy is Healthy that nobody deletes."""
    healthy = set[str]()
    for version in versions:
        if version.item["metadata"].get("labels", {}).get("gitops-dsf.io/application") != name:
            continue
        cluster = version.item["spec"]["destination"]["name"]
        goes = version.event == "DELETED" or "deletionTimestamp" in version.item["metadata"]
        if is_healthy(version.item) and not goes:
            healthy.add(cluster)
        else:
            healthy.discard(cluster)
        assert healthy, f"{name} has no Healthy copy when {version.name} was {version.event}"


def outcomes(moves: Iterable[LedgerMove]) -> list[tuple[str, str, str, bool]]:
    """From, to, how it ended, and whether it took the application back."""
    return [(move.source, move.target, str(move.outcome or ""), move.returning) for move in moves]


THERE_AND_BACK = [(HERE, THERE, "Returned", False), (THERE, HERE, "", True)]


def has_returned(scene: VerifiedMoveScene, name: str) -> bool:
    moves = scene.moves(name)
    return outcomes(moves) == THERE_AND_BACK and not any(move.under_way for move in moves)


def test_an_application_comes_back_from_a_cluster_on_which_it_does_worse(
    scene: VerifiedMoveScene, shop: Shop, record_property: Any
) -> None:
    """It goes there by its score, and both copies stay until the check has failed."""
    uid = copies(scene.hub, SHOP)[HERE]["metadata"]["uid"]
    # The check is open until people have looked.
    shop.unmeasured = {THERE}
    with (
        Watch(scene.hub, APPLICATION, namespace="argocd") as applications,
        scene.reconciler(),
    ):
        began = time.time()
        scene.has_room(LIE)
        wait_for(lambda: decided(scene.hub, SHOP) == [THERE], what="OCM follows", seen=scene.ledger)
        went = time.time()
        wait_for(
            lambda: [move.phase for move in scene.moves(SHOP)] == ["Verifying"],
            what="it is verified",
            seen=scene.ledger,
        )
        verifying = time.time()
        wait_for(
            lambda: f"{HERE} -> {THERE} verifying, " in scene.status(),
            what="status says so",
            seen=scene.status,
        )
        measured = time.time()
        shop.unmeasured = set()
        wait_for(
            lambda: decided(scene.hub, SHOP) == [HERE], what="it comes back", seen=scene.ledger
        )
        came = time.time()
        wait_for(lambda: has_returned(scene, SHOP), what="the end", seen=scene.ledger)
        wait_for(
            lambda: list(copies(scene.hub, SHOP, going=True)) == [HERE],
            what="the copy that failed is gone",
            seen=scene.ledger,
        )
        ended = time.time()
        hold_for(
            lambda: decided(scene.hub, SHOP) == [HERE],
            what="it is held, although the score still sends it there",
            seconds=3,
        )
        [hold] = scene.ledger().holds
        assert (hold.placement, hold.target, hold.returns) == (f"argocd/{SHOP}", THERE, 1)
        [waiting] = scene.stored().queue.waiting
        assert (waiting.target, waiting.reason) == (THERE, "Held")
    times = {
        "until OCM followed": went - began,
        "until the new copy was Healthy": verifying - went,
        "until it was back by the check": came - measured,
        "until the failed copy was gone": ended - came,
    }
    for text, seconds in times.items():
        record_property(text, seconds)
        print(f"{text}: {seconds:.1f} s")
    assert shop.failures(HERE) == [], "the copy at home never failed"
    assert shop.failures(THERE, HERE) == []
    assert any(found.statuses.get(THERE) == 500 for found in shop.rounds)
    assert copies(scene.hub, SHOP)[HERE]["metadata"]["uid"] == uid
    never_without_a_copy(applications.versions, SHOP)


@dataclass
class Killing:
    """Kills a replica when it has written the ledger as a condition says, before it can read the
    answer.
    """

    scene: VerifiedMoveScene
    moments: list[tuple[str, Callable[[Ledger], bool]]]
    """What the ledger says at each kill, one after the other."""
    killed: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answered(self, word: str, replica: Callable[[], Reconciler | None]) -> None:
        method, _, path = word.partition(" ")
        if method == "GET" or f"/configmaps/{MOVES_SCORE}" not in path:
            return
        with self.lock:
            if not self.moments or (running := replica()) is None:
                return
            what, fits = self.moments[0]
            if fits(self.scene.ledger()):
                os.kill(running.process.pid, signal.SIGKILL)
                self.moments.pop(0)
                self.killed.append(what)


@dataclass
class Replicas:
    """Two replicas of the reconciler, each behind a proxy. One that was killed is replaced."""

    scene: VerifiedMoveScene
    killing: Killing
    stack: ExitStack
    running: list[Reconciler] = field(default_factory=list)
    count: int = 0

    def start(self) -> None:
        """Starts one more."""
        self.count += 1
        here: list[Reconciler] = []
        upstream = self.scene.plane.hub
        proxy = self.stack.enter_context(
            StoppingProxy(upstream=upstream.url, trust=upstream.trust())
        )
        proxy.answered = lambda word: self.killing.answered(word, lambda: here[0] if here else None)
        replica = self.scene.reconciler(f"verifying-{self.count}", proxy=proxy.url, until="answers")
        here.append(self.stack.enter_context(replica))
        self.running.append(here[0])

    def replace(self) -> None:
        """Starts one for each that was killed."""
        alive = [replica for replica in self.running if replica.process.running]
        for _ in range(len(self.running) - len(alive)):
            self.start()
        self.running = [replica for replica in self.running if replica.process.running]


def in_phase(phase: str, *, returning: bool) -> Callable[[Ledger], bool]:
    return lambda ledger: any(
        move.phase == phase and move.returning == returning for move in ledger.under_way
    )


def test_five_kills_on_the_way_change_nothing(
    scene: VerifiedMoveScene, shop: Shop, record_property: Any
) -> None:
    """A replica is killed after each write of the ledger that takes the move on. The other one
    goes on.
    """
    moments = [
        (f"{'back' if returning else 'there'}: {phase}", in_phase(phase, returning=returning))
        for returning, phase in (
            (False, "Admitted"),
            (False, "Handover"),
            (False, "Verifying"),
            (True, "Admitted"),
            (True, "Handover"),
        )
    ]
    expected = [what for what, _ in moments]
    killing = Killing(scene, moments)
    with (
        Watch(scene.hub, APPLICATION, namespace="argocd") as applications,
        ExitStack() as stack,
    ):
        replicas = Replicas(scene, killing, stack)
        replicas.start()
        replicas.start()
        began = time.time()
        scene.has_room(LIE)

        def returned() -> bool:
            replicas.replace()
            return has_returned(scene, SHOP) and set(copies(scene.hub, SHOP, going=True)) == {HERE}

        wait_for(
            returned,
            what="it has returned",
            timeout=300,
            seen=lambda: (killing.killed, scene.ledger()),
        )
        record_property("until it was back, with five kills", time.time() - began)
        print(f"until it was back, with five kills: {time.time() - began:.1f} s")
        assert killing.killed == expected
        hold_for(lambda: decided(scene.hub, SHOP) == [HERE], what="it stays at home", seconds=3)
    assert shop.failures(HERE) == []
    never_without_a_copy(applications.versions, SHOP)


def measure(
    scene: VerifiedMoveScene, names: Iterable[str], success: dict[str, float]
) -> dict[str, set[str]]:
    """Sets the metric of each copy where it runs, as requests would; returns where that is.

    It varies, as that of requests does. An agent writes a score that never changes only after half
    of its lifetime.
    """
    less = 2 * (int(time.time()) % 2)
    where = {name: set(copies(scene.hub, name)) for name in names}
    for name, clusters in where.items():
        for cluster, exporter in scene.exporters.items():
            if cluster in clusters:
                exporter.set(METRIC, {"app": name}, success[cluster] - less)
            else:
                exporter.unset(METRIC, {"app": name})
    return where


@pytest.fixture
def herd(scene: VerifiedMoveScene) -> Iterator[None]:
    with at_home(scene, *HERD):
        measure(scene, HERD, {HERE: 100, THERE: 100})
        yield


def test_a_fleet_whose_scores_are_wrong_stops_itself(
    scene: VerifiedMoveScene, herd: None, record_property: Any
) -> None:
    """The scorer that ranks is poisoned. Of ten applications three go, three at a time, and come
    back. Seven never move. A person acknowledges the stop, and it goes on.
    """
    bad, good = {HERE: 100.0, THERE: 30.0}, {HERE: 100.0, THERE: 100.0}
    success = bad
    went = set[str]()

    def returned() -> list[str]:
        return [
            name
            for name, clusters in measure(scene, HERD, success).items()
            if clusters == {HERE} and has_returned(scene, name)
        ]

    with (
        Watch(scene.hub, APPLICATION, namespace="argocd") as applications,
        scene.reconciler() as running,
    ):
        began = time.time()
        scene.has_room(LIE)
        wait_for(lambda: len(returned()) == 3, what="three returned", seen=scene.ledger)
        stopped = time.time()
        went.update(returned())
        since = scene.ledger().stopped_since
        assert began - 1 <= since <= stopped
        wait_for(
            lambda: (
                {(queued.placement, queued.reason) for queued in scene.stored().queue.waiting}
                == {(f"argocd/{name}", "Stopped") for name in HERD}
            ),
            what="all wait",
            seen=lambda: scene.stored().queue,
        )
        hold_for(
            lambda: (
                {move.placement for move in scene.ledger().moves}
                == {f"argocd/{name}" for name in went}
            ),
            what="seven never move",
            seconds=3,
        )
        assert running.metric("fleet_stopped") == 1
        text = scene.status()
        said = re.search(r"^MOVES STOPPED since ([^ ]+): 3 moves went back", text, re.MULTILINE)
        assert said is not None, text
        assert said.start() < text.index("Clusters"), text
        assert said[1] == timestamp_of(since)
        success = good
        acknowledged = {"gitops-dsf.io/acknowledged-stop": said[1]}
        scene.hub.patch(
            CONFIG_MAP,
            MOVES_SCORE,
            {"metadata": {"annotations": acknowledged}},
            namespace=HUB_NAMESPACE,
        )

        def completed() -> bool:
            where = measure(scene, HERD, success)
            return {name for name in HERD if where[name] == {THERE}} == set(HERD) - went

        wait_for(completed, what="the seven moved", timeout=240, seen=scene.ledger)
        ended = time.time()
        assert {str(move.outcome) for move in scene.ledger().moves if move.passed_at} == {
            "Completed"
        }
        assert scene.ledger().stopped_since == 0
        assert all(decided(scene.hub, name) == [HERE] for name in went), "these are held"
    for text, seconds in {
        "until three had returned and the fleet had stopped": stopped - began,
        "until the other seven had moved after the acknowledgement": ended - stopped,
    }.items():
        record_property(text, seconds)
        print(f"{text}: {seconds:.1f} s")
    for name in HERD:
        never_without_a_copy(applications.versions, name)

"""One world: the programs, the models, the network and the clock, put together."""

import asyncio
import gc
import logging
import random
import ssl
import tempfile
import traceback
import uuid
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from dsf_agent.process import supervise
from dsf_wire.constants import MANAGED_BY_LABEL
from gitops_dsf.hub.names import (
    ACKNOWLEDGED_STOP_ANNOTATION,
    MAINTENANCE_CONFIGMAP,
    RECONCILER,
)
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.reconciler import forge as reconciler_forge
from gitops_dsf.reconciler.git import program
from gitops_dsf.reconciler.proposals import controller as proposals
from gitops_dsf.reconciler.proposals import worker
from gitops_dsf.reconciler.proposals.workload import Change as ProposedChange
from gitops_dsf.reconciler.proposals.workload import Task
from gitops_dsf.simulator import simulate_placement
from tests.support.agent.http import RecordedRequest, SentReply
from tests.support.apiserver import ApiTarget, Key, Object
from tests.world import admission, fleet, forge, forgefaults, git, network, upgrade
from tests.world.admission import AdmissionRequest
from tests.world.apiserver import StoredChange, WorldApiServer, stamp
from tests.world.argocd import COLLECTOR, Applications, ApplicationSets, Sync
from tests.world.faults import DrawnFault, Storm
from tests.world.fleet import Sources
from tests.world.forge import Forge, People
from tests.world.history import History
from tests.world.laws import BY_THE_LEDGER, SOMEBODY, Laws
from tests.world.loop import PROGRAM, Program, later, world_loop
from tests.world.network import Network
from tests.world.ocm import Informers, Registration, Scheduler
from tests.world.programs import ProgramPod, agent_pod, hub_scorer_pod, reconciler_pod
from tests.world.proposals import ProposalLaws
from tests.world.spokes import Delivery, ScoringApi, Truth, WorldSource

assert forgefaults.__doc__, "its faults are in the gallery"
GITOPS: Final = "argocd-sync"
MAINTENANCE_PATH: Final = f"/api/v1/namespaces/{fleet.HUB}/configmaps/{MAINTENANCE_CONFIGMAP}"
PEOPLE: Final = "people.example.com/"
"""What people write on objects of others begins with it."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """Of a world."""

    clusters: int = 8
    applications: int = 16
    scorers: int = 3
    """The last one runs on the hub, the others on each cluster."""
    interval: int = 300
    """Seconds between two runs of a scorer."""
    swing: float = 8.0
    """Points by which the capacity of a cluster differs from its mean, at one standard deviation.
    It is drawn anew each quarter of an hour.
    """
    is_verified: bool | None = None
    """Whether moves are verified. None: the seed draws it."""


def first_sources(size: Size, *, seed: int) -> Sources:
    """What the fleet repository says at first."""
    is_verified = size.is_verified
    if is_verified is None:
        is_verified = random.Random(f"{seed} verified").random() < 0.5
    return fleet.sources(
        clusters=size.clusters,
        scorers=size.scorers,
        applications=size.applications,
        interval=size.interval,
        is_verified=is_verified,
    )


class World:
    """Everything that exists. `start` brings it up; then time goes on while the caller sleeps."""

    def __init__(
        self, *, seed: int, size: Size, folder: Path, faults: Sequence[DrawnFault] = ()
    ) -> None:
        self.seed, self.size = seed, size
        self.loop = world_loop()
        self.history = History()
        self.sources = first_sources(size, seed=seed)
        self.first_sources = self.sources
        self.tree = fleet.rendered(self.sources)
        self.hub = WorldApiServer()
        self.network = Network(seed=seed)
        self.hub.requester = lambda: self.network.requester.name if self.network.requester else "?"
        self.hub.changed.append(self._changed)
        self.hub.admit = self._admit
        self.registration = Registration(self.hub, seed=seed)
        self.informers = Informers(self.hub)
        self.applications = Applications(self.hub, seed=seed, reachable=self.reachable)
        self.truth = Truth(seed=seed, load=self._load, swing=size.swing)
        self.delivery = Delivery(
            self.hub, folder=folder / "volumes", seed=seed, reachable=self.reachable
        )
        self.sync = Sync(self.hub)
        self.requests: Counter[str] = Counter()
        self.errors: list[str] = []
        self.ended = asyncio.Event()
        self.foreign: dict[Key, str] = {}
        """Objects of others, with a text in them that must stay."""
        self.raced: dict[Key, float] = {}
        """When people last wrote an object right before a program did."""
        self.fights: dict[str, tuple[str, ...]] = {}
        """Placements that somebody changes again and again, and the clusters that take turns."""
        self.backups: deque[tuple[float, dict[Key, Any]]] = deque(maxlen=8)
        self.old_ledgers: deque[str] = deque(maxlen=8)
        self.touched_pods: dict[str, float] = {}
        """When a program was last killed, frozen, thawed or started."""
        self.touched = 0.0
        """When a fault last touched a program or the network."""
        self.scheduler_up_since: float | None = None
        """Since when the placement controller has run without a break."""
        self.laws = Laws(self)
        self.storm = Storm(self, faults)
        self._folder = folder
        self._placements: Scheduler | None = None
        self._followers: ApplicationSets | None = None
        self.scheduler = ProgramPod("ocm-placement", self._schedule)
        self.sets = ProgramPod("argocd-applicationset", self._follow)
        self.older: set[int] = set()
        """Numbers of the replicas that start with the older version."""
        self.reconcilers = [
            reconciler_pod(
                f"reconciler-{number}",
                lambda: self.tree.spec,
                folder=folder / "git",
                secret=_secret(folder / "secret"),
                is_older=partial(self.older.__contains__, number),
            )
            for number in range(2)
        ]
        self.agents: dict[str, ProgramPod] = {}
        self.hub_scorer = hub_scorer_pod(files=self.delivery.files_of("hub"), folder=folder)
        self.network.hosts["hub"] = self.hub
        self.repository = git.Repository()
        self.network.hosts[git.HOST] = self.repository
        self.repository.pushed = self._pushed
        self._commit("the fleet as it is at first")
        self.forge = Forge(self.repository)
        self.network.hosts[fleet.FORGE_HOST] = self.forge
        self.people = People(self)
        self.proposals = ProposalLaws(self)
        self.forge.wrote = self.proposals.wrote
        self.scoring = ScoringApi(self.sources.by_page, interval=size.interval)
        self.network.hosts[fleet.PAGE_HOST] = self.scoring
        requester = lambda: self.network.requester  # noqa: E731
        clusters = lambda: [name for name in self.sources.clusters if self.reachable(name)]  # noqa: E731
        self.network.hosts[fleet.SOURCE_HOST] = WorldSource(
            self.truth, clusters=clusters, requester=requester
        )
        self.network.hosts[fleet.CENTRAL_HOST] = WorldSource(
            self.truth, clusters=clusters, requester=requester
        )
        self.network.unreachable = self._unreachable
        self.network.count = self._count
        self.network.served = self._served
        self.network.refusal = lambda host, reply: self.hub.dated(reply) if host == "hub" else reply
        self.network.refused = self.laws.refused

    # What exists.

    def reachable(self, cluster: str) -> bool:
        return cluster not in self.registration.lost

    def _admit(
        self, target: ApiTarget, before: Object | None, after: Object | None, sent: Object
    ) -> str:
        """What the policies of the tree that was synced last say of a program's write."""
        account = admission.program(self.hub.writer, namespace=fleet.HUB)
        if account is None:
            return ""
        name = target.name or (sent.get("metadata") or {}).get("name", "")
        asked = AdmissionRequest(
            account=account,
            plural=target.plural,
            namespace=target.namespace,
            name=name,
            before=before,
            after=after,
            options=sent if after is None else None,
            subresource=target.sub,
        )
        refused = admission.refusal(self.tree.policies, asked)
        self.laws.admitted(self.hub.writer, asked, refused)
        return refused

    def _load(self, cluster: str, scorer: str) -> int:
        ranked = dict(self.sources.applications)
        return sum(
            each == cluster and ranked.get(name) == scorer
            for name, each in self.applications.workloads
        )

    def _unreachable(self, program: Program, host: str) -> bool:
        """An agent whose cluster is lost reaches its own source alone."""
        cluster = program.name.rpartition("/")[2] if program.name.startswith("agent/") else ""
        if not cluster or host != "hub" or self.reachable(cluster):
            return False
        self.laws.unanswered(program.name)
        return True

    def _count(self, program: Program, seen: RecordedRequest, host: str) -> None:
        method = "WATCH" if "watch" in seen.query else seen.method
        if host == "hub":
            # A list of one object, or of the copies of one application, is a request of its own.
            query = seen.query
            selected = query.get("fieldSelector") or query.get("labelSelector") or ""
            self.laws.asked(program.name, method, seen.path, selected)
            if method == "DELETE":
                self.laws.deletes(program, seen.path)
        elif host == fleet.FORGE_HOST:
            self.proposals.asked(program)
        self.requests[f"{program.name.partition('/')[0]} {seen.method} {host}"] += 1

    def _served(self, program: Program, seen: RecordedRequest, reply: SentReply) -> None:
        if seen.path == MAINTENANCE_PATH and seen.method == "GET" and reply.status in {200, 404}:
            self.laws.read_maintenance(program)

    def _changed(self, change: StoredChange) -> None:
        self.history.change(change, self.hub.writer)
        if change.key[0] == "placements" and change.after is None and change.before is not None:
            uid = change.before["metadata"]["uid"]
            later(random.Random(f"{self.seed} {uid}").uniform(1, 10), self._collect_pages, uid)
        if change.key[0] == "managedclusteraddons" and not (change.before and change.after):
            later(15.0, self._deploy, change.key[1])
        if change.key == ("configmaps", fleet.HUB, "gitops-dsf-hub-scorer") and not (
            change.before and change.after
        ):
            # Its Deployment comes and goes with it.
            if change.after is None:
                self.hub_scorer.stop()
            else:
                later(3.0, self.hub_scorer.start)

    def _pushed(self, push: git.Push) -> None:
        pusher = self.network.requester.name if self.network.requester else "?"
        self.history.note(pusher, f"push of {push.branch}: {push.after or 'deleted'}")
        self.history.counts[f"push {push.branch}"] += 1
        self.laws.pushed(push, pusher)
        self.proposals.pushed(push)

    def _deploy(self, cluster: str) -> None:
        """The agent's Deployment and its files come and go with the add-on."""
        pod = self.agents.get(cluster)
        if pod is None:
            return
        if not self.reachable(cluster):
            later(30.0, self._deploy, cluster)
            return
        wanted = any(
            item["metadata"]["namespace"] == cluster for item in self.hub.of("managedclusteraddons")
        )
        if wanted and pod.stopped:
            pod.start()
        elif not wanted and not pod.stopped:
            pod.stop()
            self.delivery.volume(cluster).swap({})

    def _collect_pages(self, uid: str) -> None:
        """Kubernetes collects the decision of a Placement that is gone, also when there is a new
        one.
        """
        for page in self.hub.owned("placementdecisions", uid):
            meta = page["metadata"]
            self.hub.erase(
                COLLECTOR, "placementdecisions", meta["name"], namespace=meta["namespace"]
            )

    async def _schedule(self, _program: Program) -> None:
        if self._placements is not None:
            self._placements.stop()
        self._placements = Scheduler(self.hub, informers=self.informers, seed=self.seed)
        await self._placements.run()

    async def _follow(self, _program: Program) -> None:
        if self._followers is not None:
            self._followers.stop()
        self._followers = ApplicationSets(self.hub, seed=self.seed)
        await self._followers.run()

    @property
    def now(self) -> float:
        """Seconds since the world began."""
        return self.loop.time()

    @property
    def pods(self) -> list[ProgramPod]:
        return [*self.reconcilers, *self.agents.values(), self.hub_scorer]

    @property
    def leader(self) -> ProgramPod | None:
        """The replica that holds the Lease."""
        item = self.hub.objects.get(("leases", fleet.HUB, RECONCILER))
        holder = str(((item or {}).get("spec") or {}).get("holderIdentity") or "").partition("_")[0]
        return next((pod for pod in self.reconcilers if pod.name == holder), None)

    @property
    def sets_down(self) -> bool:
        """Whether Argo CD's ApplicationSet controller is away."""
        return not self.sets.program.runs

    @property
    def is_fine(self) -> bool:
        """Whether no fault of the network or of a process has touched the reconciler for a
        while.
        """
        now = world_loop().time()
        # A trigger that still waits has done nothing yet.
        return not self.storm.weather and now > self.touched + 120.0

    def is_fine_for(self, pod: ProgramPod) -> bool:
        """Whether no fault has touched this program, its network or its rights for a while."""
        return world_loop().time() > self.touched_pods.get(pod.name, 0.0) + 120.0 and not any(
            pod.name.startswith(each.who) and each.host == "hub" for each in self.storm.weather
        )

    def touch_pod(self, pod: ProgramPod) -> None:
        self.touched_pods[pod.name] = world_loop().time()
        self.touch()

    def touch(self) -> None:
        """A process is killed or frozen, or a right or the network is taken away."""
        self.touched = world_loop().time()

    def must_leave(self, placement: str, lost: str) -> bool:
        """Whether the filters of the Placement leave another cluster, and no longer the lost
        one.
        """
        item = self.informers.state.placements.get((fleet.ARGOCD, placement))
        if item is None:
            return False
        # A toleration that has just run out is known within seconds.
        before = datetime.fromtimestamp(world_loop().wall() - 60.0, UTC)
        verdict = simulate_placement(item, state=self.informers.state, now=before)
        scores = verdict.scores or {}
        return lost not in scores and bool(scores)

    @property
    def scored(self) -> set[str]:
        """The scorers of the tree that was synced last."""
        return {name for plural, _, name in self.tree.objects if plural == "dynamicscorers"}

    @property
    def foreign_names(self) -> set[str]:
        return {name for _, _, name in self.foreign}

    # What happens.

    def stop(self) -> None:
        """Ends the run: a law was broken."""
        self.ended.set()

    def start(self) -> None:
        """An installation: clusters join, then Argo CD syncs."""
        world_loop().set_exception_handler(self._broken)
        logging.getLogger().addHandler(_Bugs(self))
        every: dict[str, Any] = {
            "clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}
        }
        self.hub.write(
            "people", "managedclustersets", fleet.SET, {"kind": "ManagedClusterSet", "spec": every}
        )
        for name in self.sources.clusters:
            self.join(name)
        self.scheduler.start()
        self.sets.start()
        self.sync.apply(self.tree)
        self.hub_scorer.on_error = self._error
        for number, pod in enumerate(self.reconcilers):
            pod.on_error, pod.on_touch = self._error, partial(self.touch_pod, pod)
            later(1.0 + number, pod.start)

        self.scheduler_up_since = 0.0
        self._write_foreign()
        self.storm.start()
        self._watch()

    def _watch(self) -> None:
        """Each minute: what time alone breaks, and a backup now and then."""
        self.laws.tick()
        self.proposals.tick()
        now = world_loop().time()
        self._acknowledge()
        if int(now / 60) % 3 == 0:
            self.backups.append((now, self.hub.backup()))
            ledger = self.hub.objects.get(("configmaps", fleet.HUB, MOVES_SCORE), {})
            if "ledger" in (ledger.get("data") or {}):
                self.old_ledgers.append(ledger["data"]["ledger"])
        if int(now / 60) % 3 == 1:
            self.sync.heal()
        if not self.ended.is_set():
            later(60.0, self._watch)

    def _acknowledge(self) -> None:
        """Somebody acknowledges that the fleet stopped itself: in git, or on the ledger."""
        stopped = self.laws.stored().ledger.stopped_since
        drawn = random.Random(f"{self.seed} {stopped} acknowledged")
        if not stopped or self.hub.now() < stopped + drawn.uniform(600, 3000):
            return
        text = stamp(stopped)
        key = ("configmaps", fleet.HUB, MOVES_SCORE)
        config_map = self.hub.objects.get(key)
        if self.laws.acknowledged_stop >= stopped or config_map is None:
            return
        self.laws.acknowledged_stop = stopped
        self.history.note("people", f"the stop of {text} is acknowledged")
        if drawn.random() < 0.5 and self.sources.paced:
            self.merge(replace(self.sources, acknowledged=text), "the stop is acknowledged")
            return
        annotations = {
            **(config_map["metadata"].get("annotations") or {}),
            ACKNOWLEDGED_STOP_ANNOTATION: text,
        }
        metadata = {**config_map["metadata"], "annotations": annotations}
        changed = {**config_map, "metadata": metadata}
        self.hub.write("people", "configmaps", MOVES_SCORE, changed, namespace=fleet.HUB)

    def _write_foreign(self) -> None:
        """What other programs and people keep on this hub."""
        for name in self.sources.clusters[:3]:
            # It expired long ago: that of an upstream agent which is gone.
            status = {
                "scores": [{"name": "cpuAvailable", "value": 7}],
                "validUntil": "2020-01-01T00:00:00Z",
            }
            score = {"status": status, "metadata": {"labels": {}}}
            self.hub.write(
                "people", "addonplacementscores", "resource-usage-score", score, namespace=name
            )
            self.foreign["addonplacementscores", name, "resource-usage-score"] = "cpuAvailable"
        cluster = self.sources.clusters[0]
        item = self.hub.objects["managedclusters", "", cluster]
        metadata = {**item["metadata"], "labels": {"name": cluster, "people": "owned"}}
        taint = {"key": f"{PEOPLE}note", "effect": "PreferNoSelect"}
        spec = {**item["spec"], "taints": [taint]}
        changed = {**item, "metadata": metadata, "spec": spec}
        self.hub.write("people", "managedclusters", cluster, changed)
        self.foreign["managedclusters", "", cluster] = "people.example.com/note"
        key = ("configmaps", fleet.HUB, "people")
        self.hub.write("people", "configmaps", "people", {"data": {"a": "b"}}, namespace=fleet.HUB)
        self.foreign[key] = '"a"'

    def annotate(self, path: str) -> None:
        """Somebody writes an object: an annotation, or a taint of a cluster."""
        target = ApiTarget.of(path)
        key = target.plural, target.namespace, target.name
        stored = self.hub.objects.get(key)
        if stored is None:
            return
        writer, self.raced[key] = self.hub.writer, world_loop().time()
        meta = stored["metadata"]
        if target.plural == "managedclusters":
            taints = [
                each
                for each in stored["spec"].get("taints") or []
                if each["key"] != f"{PEOPLE}race"
            ]
            taint = {
                "key": f"{PEOPLE}race",
                "value": str(self.hub.version),
                "effect": "PreferNoSelect",
            }
            changed = {**stored, "spec": {**stored["spec"], "taints": [*taints, taint]}}
        else:
            annotations = {
                **(meta.get("annotations") or {}),
                f"{PEOPLE}race": str(self.hub.version),
            }
            changed = {**stored, "metadata": {**meta, "annotations": annotations}}
        self.hub.write("people", target.plural, target.name, changed, namespace=target.namespace)
        self.hub.writer = writer

    def take_over(self, key: Key) -> None:
        """Another program makes a score that has expired its own."""
        stored = self.hub.objects.get(key)
        until = ((stored or {}).get("status") or {}).get("validUntil", "")
        if stored is None or not until or until > stamp(self.hub.now()):
            return
        writer, meta = self.hub.writer, stored["metadata"]
        labels = {**(meta.get("labels") or {}), MANAGED_BY_LABEL: SOMEBODY}
        annotations = {**(meta.get("annotations") or {}), f"{PEOPLE}owner": SOMEBODY}
        metadata = {**meta, "labels": labels, "annotations": annotations}
        self.hub.write("people", *key[::2], {**stored, "metadata": metadata}, namespace=key[1])
        self.hub.writer = writer

    def thaw(self, pod: ProgramPod, frozen: Program) -> None:
        """The process goes on, if it is still the same."""
        if pod.program is frozen:
            pod.thaw()

    def repair_ledger(self) -> None:
        """Somebody does what the log says: deletes the ConfigMap that cannot be read."""
        self.hub.erase("people", "configmaps", MOVES_SCORE, namespace=fleet.HUB)
        self.laws.pardon(*BY_THE_LEDGER, seconds=1800, why="repaired")

    def change_leader(self) -> None:
        """The leader ends, and the other replica takes the Lease."""
        if self.leader is not None and self.leader.program.runs:
            self.leader.kill()

    def upgrade(self, number: int) -> None:
        """A replica of the older version starts as the newer one."""
        self.older.discard(number)
        pod = self.reconcilers[number]
        if pod.program.is_older:
            pod.kill()

    def scheduler_restarts(self, pod: ProgramPod, back: float) -> None:
        """It counts as up again when it is back."""
        if pod is self.scheduler:
            self.scheduler_up_since = None

            def up() -> None:
                self.scheduler_up_since = world_loop().time()

            later(back + 1.0, up)

    def detach(self, name: str, *, back: float, in_git: bool = True) -> None:
        """A cluster leaves the hub for a while, and git as well unless somebody forgets that."""
        if in_git:
            left = tuple(each for each in self.sources.clusters if each != name)
            self.merge(replace(self.sources, clusters=left), f"{name} is detached")
        pod = self.agents.pop(name, None)
        if pod is not None:
            pod.stop()
        self.foreign = {
            key: text for key, text in self.foreign.items() if key[1] != name and key[2] != name
        }
        self.registration.leave(name)
        self.laws.pardon("last-copy", "healthy-first", "only-copies", seconds=600, why="detached")
        # If nobody writes it, the reconciler proposes it.
        is_written = random.Random(f"{self.seed} {name} {back}").random() < 0.5

        def again() -> None:
            if name not in self.agents:
                self.join(name)
            if in_git and is_written:
                names = tuple(sorted({*self.sources.clusters, name}))
                self.merge(replace(self.sources, clusters=names), f"{name} is back")

        later(back, again)

    def remove_scorer(self, name: str) -> None:
        self.merge(self.sources.without_scorer(name), f"{name} is removed")
        self.laws.removed(name)

    def add_scorer(self, name: str) -> None:
        if name not in self.sources.scorers:
            self.laws.returned(name)
            first = self.first_sources
            # Others may have come back since this one went.
            scorers = tuple(each for each in first.scorers if each in {*self.sources.scorers, name})
            central = tuple(each for each in first.central if each in scorers)
            by_page = first.by_page if first.by_page in scorers else ""
            sources = replace(self.sources, scorers=scorers, central=central, by_page=by_page)
            self.merge(sources, f"{name} is added again")

    def join(self, name: str) -> None:
        self.registration.join(name)
        pod = self.agents[name] = agent_pod(
            name, files=self.delivery.files_of(name), folder=self._folder
        )
        pod.on_error = self._error
        later(2.0, pod.start)

    def _error(self, name: str, error: BaseException) -> None:
        self.errors.append(f"{name}: {error!r}")
        self.history.note(name, f"ended by a bug: {error!r}")

    def _broken(self, _loop: Any, context: dict[str, Any]) -> None:
        """A callback or task failed, and nobody handled that."""
        error = context.get("exception")
        text = f"{context['message']}: {error!r}"
        if isinstance(error, BaseException):
            text += " " + "".join(traceback.format_exception(error)[-3:])
        self.errors.append(text)
        self.history.note("bug", text)

    def _commit(self, message: str, *, also: str = "") -> None:
        """Main has what the sources say. `also` is a commit that is merged."""
        tip = self.repository.branches.get(git.MAIN)
        self.repository.made(
            self.sources.files,
            branch=git.MAIN,
            author=forge.PERSON,
            message=message,
            moment=world_loop().wall(),
            parents=[each for each in (tip, also) if each],
        )

    def merge(self, sources: Sources, why: str, *, also: str = "") -> None:
        """Somebody merges a pull request; Argo CD syncs it a little later. `also` is its commit."""
        self.sources = sources
        self._commit(why, also=also)
        self.history.note("people", f"merge: {why}")
        seconds = random.Random(f"{self.seed} {why} {world_loop().time()}").uniform(5, 180)
        later(seconds, self._sync)

    def _sync(self) -> None:
        """Argo CD applies the last commit, also when it noticed the one before it late."""
        tree = fleet.rendered(self.sources)
        rollout = tree.config != self.tree.config
        if rollout:
            self.laws.pace_changed()
        self.tree = tree
        self.history.note(GITOPS, "sync")
        self.sync.apply(tree)
        if rollout:
            # A rolling update: one replica after the other.
            for number, pod in enumerate(self.reconcilers):
                later(5.0 + 30.0 * number, pod.kill)


class _Bugs(logging.Handler):
    """A program logs an exception only for a bug: then it starts the part that failed again, and
    goes on.
    """

    def __init__(self, world: World) -> None:
        super().__init__(logging.ERROR)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info is not None and record.exc_info[1] is not None:
            program = PROGRAM.get()
            error = record.exc_info[1]
            place = "".join(traceback.format_exception(error)[-3:])
            name = program.name if program is not None else "?"
            self._world.errors.append(f"{name}: {record.getMessage()}: {place}")
            self._world.history.note("bug", f"{name}: {record.getMessage()}: {error!r}")


def quieten() -> None:
    """Certificates are not read: nobody checks one here, and it takes 0.1 s for each client."""
    for name in ("set_default_verify_paths", "load_verify_locations"):
        setattr(ssl.SSLContext, name, lambda *_arguments, **_how: None)


def prepare(*, seed: int, net: Network, lean: bool) -> None:
    """Makes this process fit for one world: its randomness, its network, and no pauses for
    garbage.
    """
    random.seed(seed)
    drawn = random.Random(f"{seed} uuid")
    uuid.uuid4 = lambda: uuid.UUID(int=drawn.getrandbits(128), version=4)
    network.install(net, lean=lean)
    repository = net.hosts[git.HOST]
    assert isinstance(repository, git.Repository)
    program.run = git.Git(net, repository).run
    for module, name, replacement in (
        (proposals, "ask", _in_this_process),
        (reconciler_forge, "time", _WallClock),
    ):
        setattr(module, name, replacement)
    upgrade.install()
    gc.disable()
    gc.collect = lambda *_: 0
    defaults = supervise.collect_periodically.__kwdefaults__
    assert defaults is not None
    defaults["pause_seconds"] = 86_400.0
    logging.disable(logging.WARNING)


class _WallClock:
    """In place of the module `time` where the reconciler reads the forge's answers."""

    @staticmethod
    def time() -> float:
        return world_loop().wall()


async def _in_this_process(task: Task) -> ProposedChange:
    """In place of the worker process of proposals. Over the wire both ways, as `worker.ask`."""
    asked = msgspec.json.decode(msgspec.json.encode(task), type=Task)
    change = await worker.work(asked)
    return msgspec.json.decode(msgspec.json.encode(change), type=ProposedChange)


def _secret(mounted: Path) -> Path:
    """The Secret with the credentials of git and of the forge."""
    mounted.mkdir(exist_ok=True)
    (mounted / "token").write_text(forge.TOKEN)
    return mounted


def folder() -> tempfile.TemporaryDirectory[str]:
    """Files in memory."""
    return tempfile.TemporaryDirectory(dir="/dev/shm", prefix="gitops-dsf-world-")

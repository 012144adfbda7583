"""The laws of the world.

What must hold after every write, each with the sentence that the docs promise.

`Laws` listens to every change on the hub. A law that is broken ends the world with a `Broken`. Some
faults are allowed to break a law for a while, such as a restored etcd: `pardon` says until when,
and why.
"""

import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dsf_wire.constants import MANAGED_BY_LABEL
from gitops_dsf.hub.inventory_digests import read_inventory_digests
from gitops_dsf.hub.maintenance import Maintenance, MaintenanceAction, read_maintenance
from gitops_dsf.hub.moves.causes import Cause
from gitops_dsf.hub.names import (
    JOURNAL_BRANCH,
    MAINTENANCE_CONFIGMAP,
    MAINTENANCE_TAINT,
    PLACEMENT_LABEL,
)
from gitops_dsf.hub.pace import MOVES_SCORE, Verification, paced_ranking
from gitops_dsf.hub.windows import open_period
from gitops_dsf.journal.lines import read
from gitops_dsf.journal.record import Record
from gitops_dsf.pacing.desired import DesiredMove, Paced, desired_move
from gitops_dsf.pacing.ledger import Ledger, LedgerMove, Phase, VerificationOutcome
from gitops_dsf.pacing.stored import MovesError, StoredMoves, read_moves
from gitops_dsf.reconciler.journal.branch import README
from gitops_dsf.simulator import simulate_placement
from tests.support.agent.http import RecordedRequest
from tests.support.apiserver import Object
from tests.world import fleet, ocm
from tests.world.admission import AdmissionRequest
from tests.world.apiserver import StoredChange
from tests.world.git import Push
from tests.world.loop import EPOCH, Program, world_loop

if TYPE_CHECKING:
    from tests.world.programs import ProgramPod
    from tests.world.world import World

SEEN_SECONDS: Final = 10.0
"""A decision or a health that was true so long ago may still be what a deletion was decided by."""
TIMEOUT_SECONDS: Final = 1800.0
"""moves.timeoutSeconds of every application of the world."""
LEFT_SECONDS: Final = 900.0
"""Within this time OCM has left a lost cluster."""
BACK_SECONDS: Final = 1800.0
"""Within this time the reconciler knows a scorer that came back."""
REMOVED_SECONDS: Final = 900.0
"""Within this time the scores of a removed scorer are gone, and stay away."""
EXPIRED_SECONDS: Final = 2400.0
"""The same on a cluster whose last scorer was removed: there a score must expire first."""
GOES_SECONDS: Final = 600.0
"""Within this time an old copy goes; the hold after a return of its cluster is a part of it."""
FREEZE_SECONDS: Final = 240.0
"""Within this time the reconciler knows a new freeze, or knows that it knows nothing."""
UNKNOWN_SECONDS: Final = 150.0 + 60.0
"""Windows that were read so long ago are unknown; a read and a pass take some time."""
SETTLED_SECONDS: Final = 5.0 - 0.5
"""A decision that has not changed for five seconds has settled. The moment of a write is that of
its sending, a little after the look that it follows from.
"""
CHANGE_KNOWN_SECONDS: Final = 0.5
"""After this time the reconciler knows of a change."""
CHANGING_SECONDS: Final = 45.0
"""Moves wait for decisions that keep changing for a minute. How often the reconciler looks, and so
when that minute began, is not known exactly.
"""
FOLLOW_SECONDS: Final = 55.0
"""OCM has a minute to follow a move."""
REFUSED_SECONDS: Final = 900.0
"""How long a refusal of items may be a reason to withdraw moves."""
MAX_AWAY: Final = 60
"""Requests of an agent whose hub is away, within ten minutes."""
RECONCILER: Final = "reconciler-"
SOMEBODY: Final = "somebody"
"""Another program, as the label of its scores says."""
REPORTED_SECONDS: Final = 120.0
HELD_SECONDS: Final = 170.0
"""Three minutes, less what an answer may take."""
UNASKED_SECONDS: Final = 30.0
"""Within this time the ledger has what OCM did by itself, if the reconciler works."""
MAX_REFUSED: Final = 16
"""Of one write of a process within ten minutes. Pauses that begin with five seconds, and double
up to five minutes, allow eight.
"""
MAX_A_MINUTE: Final = {"gitops-dsf-reconciler": 150, "events": 400, "": 100}
"""Requests of one program for one path, by the last part of the path: a Lease is renewed each two
seconds, and retried after conflicts; Events have one path for all objects.
"""
UNSUSPICIOUS_A_MINUTE: Final = min(MAX_A_MINUTE.values())
PATIENT_SECONDS: Final = 300.0
"""How long a move may be held up that nothing stands in the way of; a minute is promised."""
REST_SECONDS: Final = 900.0
"""After a move neither the application nor its clusters have to rest any more."""
PATIENT_POINTS: Final = 20.0
"""Smaller gains may be in doubt."""
BY_THE_LEDGER: Final = (
    "concurrent",
    "arrivals",
    "cooldown",
    "attraction",
    "admission",
    "unasked",
    "ended",
    "drawn",
    "verified",
    "returned-once",
    "held-away",
    "hold-length",
    "stopped",
)
"""Laws about what the ledger says. They cannot hold while it says something else than what
happened, because somebody edited it.
"""
SENTENCES: Final = {
    "last-copy": "The reconciler never deletes the last copy of an application.",
    "healthy-first": (
        "A copy is deleted only when a decided one was seen Healthy and Synced after the"
        " decision, or the"
        " time-out is over and every decided cluster has a copy."
    ),
    "gone": (
        "A copy that left the decision goes within ten minutes after a decided one is"
        " healthy, if nothing"
        " stands in the way."
    ),
    "only-copies": (
        "The reconciler deletes only Applications of its ApplicationSets that left the decision."
    ),
    "fence": "No replica sends a write after another one took the Lease.",
    "concurrent": "No more moves are under way than spec.pace.concurrent.",
    "arrivals": "No more moves arrive at a cluster than spec.pace.arrivalsPerCluster.",
    "unasked": (
        "No move is admitted to a cluster that receives spec.pace.arrivalsPerCluster"
        " already, also when OCM"
        " itself sent what arrives."
    ),
    "ended": (
        "A move is under way until the new copy is healthy and the old one is gone, or"
        " OCM decided otherwise."
    ),
    "withdrawn": (
        "A move is withdrawn when OCM has not followed it for a minute, when OCM decided"
        " otherwise, or when"
        " the hub refuses its items."
    ),
    "unsettled": (
        "No move begins within five seconds of a change of a decision, unless decisions have kept"
        " changing for a minute."
    ),
    "patience": "A decision that keeps changing does not hold up the moves of other applications.",
    "freeze": "No move begins from or to a cluster that a maintenance freezes.",
    "unknown": "No move begins while the windows of maintenance could not be read for 150 seconds.",
    "held": "A cluster that became reachable keeps its copies for three minutes.",
    "cooldown": (
        "An application is not admitted again within spec.pace.cooldownSeconds of its"
        " last move, except to"
        " leave a cluster that is drained."
    ),
    "admission": (
        "With a pace no application leaves a cluster that is eligible unless its move was admitted."
    ),
    "attraction": (
        "No item draws an application away before the write of the ledger that admits its move."
    ),
    "drawn": (
        "An application is pushed away only while it is drawn to the target of its move and"
        " no other."
    ),
    "verified": (
        "While a move is verified both copies stay: the old one is deleted only when the checks"
        " have passed, and the new one only when the application has gone back."
    ),
    "returned-once": (
        "A move that passed never returns, only a move that somebody admitted does, and a return is"
        " never verified."
    ),
    "held-away": (
        "An application is not admitted to a cluster that it came back from while the hold lasts."
    ),
    "hold-length": (
        "A hold lasts holdSeconds, doubled with each further return up to seven days, and is never"
        " made longer."
    ),
    "stopped": (
        "After spec.pace.stopAfterReturns returns within the window no move is admitted until a"
        " person acknowledges it."
    ),
    "left": "A lost cluster is left without the reconciler.",
    "writers": "No field has two writers.",
    "foreign": (
        "Nothing that people or other programs wrote is removed because something is absent."
    ),
    "version": "An object that somebody changed after it was read is not deleted.",
    "removed": "The scores of a removed scorer go, and stay away.",
    "collected": (
        "The reconciler deletes a score of the hub scorer only when the scorer has left git, or the"
        " cluster is lost."
    ),
    "writing": "A score that is being written is deleted only when the write has ended.",
    "journal": (
        "The journal only grows, and each record continues the one before of its Placement."
    ),
    "reported": "Each admitted move is reported by an Event, whatever becomes of other clusters.",
    "leader": "An annotation that somebody writes on the Lease does not end leadership.",
    "rate": "No program repeats a request without a pause.",
    "backoff": "A write that the hub refuses is tried ever more rarely.",
    "away": "An agent whose hub is away asks ever more rarely.",
    "protected": "The reconciler never pushes to the branch that Argo CD follows.",
    "theirs": (
        "A branch of a proposal whose last commit is by somebody else is neither changed"
        " nor deleted."
    ),
    "closed-first": "A pull request is closed with the reason before its branch is deleted.",
    "sources": (
        "A proposal is one commit on top of the fleet repository, of locks or of clusters alone."
    ),
    "pauses": "Pushes of a kind of proposal are at least 10 minutes apart.",
    "refused": "What people refused by closing its pull request is not proposed again.",
    "limits": "The pause after a failure is at least what the forge asks for.",
    "documented": "Requests to the forge are those that it documents.",
    "proposed": "A push that failed delays a proposal by half an hour at most.",
    "policies": "No admission policy refuses what a program of ours does.",
    "alive": "No program, and no part of one, ends by a bug.",
}
"""As the docs say it."""


class Broken(Exception):  # noqa: N818 - a finding
    """A law was broken."""

    def __init__(self, law: str, what: str) -> None:
        super().__init__(f"{law}: {SENTENCES[law]} {what}")
        self.law = law


@dataclass(frozen=True, slots=True)
class Pardon:
    law: str
    until: float
    why: str


class Laws:
    """Checks each write. `broken` is the first law that was broken."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.broken: Broken | None = None
        self.checks = Counter[str]()
        """How often each law was looked at with something to judge."""
        self._pardons: list[Pardon] = []
        self._decided: defaultdict[str, deque[tuple[float, frozenset[str]]]] = defaultdict(
            lambda: deque(maxlen=50)
        )
        self._good_until: dict[str, float] = {}
        """When an Application was last Healthy and Synced, by UID; infinite while it is."""
        self._good_on: dict[tuple[str, str], float] = {}
        """The same by UID of the ApplicationSet, and cluster."""
        self._good_since: dict[str, float] = {}
        """Since when an Application is Healthy and Synced, by UID."""
        self._hindered_at = 0.0
        """When something last kept the reconciler from its work."""
        self._moves: dict[tuple[str, str, float], LedgerMove] = {}
        self._handovers: dict[tuple[str, str, float], tuple[float, frozenset[str]]] = {}
        """When the handover of a move began, and the UIDs of the copies that it leaves."""
        self._unreachable: dict[str, float] = {}
        """Clusters that are not available, or have the taint of those that are lost, and since
        when.
        """
        self._reached_at: dict[str, float] = {}
        """When a cluster became reachable again."""
        self._refusals: Counter[tuple[Program, str, str]] = Counter()
        """Writes that were refused within ten minutes, by process, method and object."""
        self._refusals_since = 0.0
        self._ended: dict[str, float] = {}
        """When the last admitted move of a Placement ended, as this world saw it."""
        self._lost_since: dict[str, float] = {}
        self._taken_at: list[tuple[float, str]] = []
        """When the Lease got its holders."""
        self._writers: dict[tuple[str, str, str], str] = {}
        self._gone: dict[str, float] = {}
        """When a scorer was removed from the fleet, by score."""
        self._back: dict[str, float] = {}
        """When a removed scorer came back to the fleet, by score."""
        self._hindered: dict[str, float] = {}
        """When something last kept the writer of scores of a cluster from its work."""
        self._freezes: dict[str, tuple[float, Maintenance]] = {}
        """Freezes on the hub, and since when they are there."""
        self._maintenance_read: dict[Program, float] = {}
        """When a program last got the windows of maintenance, or that there are none."""
        self._items_refused_at = -REFUSED_SECONDS
        """When the hub last refused the items of a move."""
        self._asked_away: dict[str, tuple[float, int]] = {}
        """By agent, since when its hub is away, and what it asked for since then."""
        self._unreported: dict[tuple[str, str, float], float] = {}
        """Admitted moves without an Event so far, and when the ledger got them."""
        self._annotated: tuple[float, ProgramPod] | None = None
        """When somebody annotated the Lease, and who led."""
        self._asked: Counter[tuple[str, str, str, str]] = Counter()
        """Requests of this minute by program, method, path and selector."""
        self._held_up: dict[tuple[str, str], float] = {}
        """Since when a Placement should move to a cluster, and nothing stands in the way."""
        self._ledgers: deque[tuple[float, Ledger]] = deque(maxlen=500)
        """The last ledgers, and since when each was there."""
        self._returns: list[float] = []
        """When moves returned, by the hub's time, since a stop was acknowledged."""
        self.acknowledged_stop = 0.0
        """The last stop that somebody acknowledged, in seconds since 1970."""
        self.recorded: dict[str, Record] = {}
        """The last record of each Placement in the journal."""
        world.hub.changed.append(self._on_change)

    def pardon(self, *laws: str, seconds: float, why: str) -> None:
        until = world_loop().time() + seconds
        self._pardons += [Pardon(law, until, why) for law in laws]

    def removed(self, score: str) -> None:
        """A scorer is gone from the fleet."""
        self._gone[score] = world_loop().time()

    def pace_changed(self) -> None:
        """Without a pace the ledger is emptied, and with it the memory of moves that ended."""
        self._ended.clear()
        switched = ("cooldown", "concurrent", "arrivals", "verified", "held-away", "stopped")
        self.pardon(*switched, seconds=60, why="the pace was switched")
        self._returns.clear()

    def returned(self, score: str) -> None:
        self._gone.pop(score, None)
        self._back[score] = world_loop().time()

    def late(self, plural: str, *, seconds: float) -> None:
        """Events of a kind are late. What OCM or Argo CD did by itself is then known late."""
        laws = {"placementdecisions": ("unasked", "admission"), "applications": ("ended",)}
        self.pardon(*laws.get(plural, ()), seconds=seconds, why=f"{plural} are late")

    def _decided_at(self) -> float:
        """When the write that takes effect now was sent.

        What happened after that is not its fault.
        """
        sent = self._world.network.sent
        return world_loop().time() if sent is None else sent

    def admitted(self, writer: str, asked: AdmissionRequest, refused: str) -> None:
        """Policies looked at a program's write, and refused it, or not."""
        self.checks["policies"] += 1
        if not refused:
            return
        scorers = {*self._world.sources.all_scorers, *self._world.first_sources.all_scorers}
        comes_or_goes = asked.plural == "addonplacementscores" and asked.name in scorers
        if comes_or_goes and asked.operation == "CREATE" and asked.name not in self._world.scored:
            # An agent has a scorer sooner, or later, than the policy has it.
            return
        labels = ((asked.before or {}).get("metadata") or {}).get("labels") or {}
        if writer == "hub-scorer" and labels.get(MANAGED_BY_LABEL) == SOMEBODY:
            # The hub scorer takes no score over: its policy asks people to delete the object.
            return
        self._break(
            "policies", f"{writer}: {asked.operation} {asked.plural} {asked.name}: {refused}"
        )

    def breaks(self, law: str, what: str) -> None:
        """A law of another module was broken."""
        self._break(law, what)

    def fenced(self, program: Program, what: str) -> None:
        """A program wrote something outside of the hub."""
        sent = self._world.network.sent
        if not self._taken_at or sent is None:
            return
        at, holder = self._taken_at[-1]
        self.checks["fence"] += 1
        if not holder.startswith(f"{program.name}_") and sent > at:
            self._break(
                "fence", f"{program.name} sent a {what} {sent - at:.3f} s after {holder} took it"
            )

    def _break(self, law: str, what: str) -> None:
        now = world_loop().time()
        if self.broken is None and not any(
            each.law == law and now <= each.until for each in self._pardons
        ):
            self.broken = Broken(law, what)
            self._world.history.note("LAW BROKEN", str(self.broken))
            self._world.stop()

    def _on_change(self, change: StoredChange) -> None:
        writer, plural = self._world.hub.writer, change.key[0]
        if writer == "etcd" and plural == "addonplacementscores":
            return
        self._others(change, writer)
        for check in _CHECKS.get(plural, ()):
            check(self, change, writer)
        if writer.startswith(RECONCILER) and plural not in {"events", "leases"}:
            self._fence(change, writer)

    def _others(self, change: StoredChange, writer: str) -> None:
        """What people wrote on an object of a program stays, and protects it."""
        if change.before is None or not _is_ours(writer):
            return
        notes = _notes(change.before)
        if not notes:
            return
        if _begins(change):
            self.checks["version"] += 1
            # An agent that writes the score again makes it its own: only another writer of its
            # items keeps it out.
            labels = change.before["metadata"].get("labels") or {}
            if labels.get(MANAGED_BY_LABEL) == SOMEBODY:
                self._break("foreign", f"{writer} deleted {change.key}, which is somebody's")
            if self._world.raced.get(change.key) == world_loop().time():
                self._break("version", f"{writer} deleted {change.key}")
        elif change.after is not None:
            self.checks["foreign"] += 1
            if not notes <= _notes(change.after):
                self._break("foreign", f"{writer} removed {sorted(notes)} from {change.key}")

    # Copies.

    def _applications(self, change: StoredChange, writer: str) -> None:
        now, after, before = world_loop().time(), change.after, change.before
        if after is not None:
            uid = after["metadata"]["uid"]
            if is_good(after):
                self._good_until[uid] = float("inf")
                self._good_since.setdefault(uid, now)
            elif self._good_until.get(uid) == float("inf"):
                self._good_until[uid] = now
                self._good_since.pop(uid, None)
        elif before is not None and self._good_until.get(before["metadata"]["uid"]) == float("inf"):
            self._good_until[before["metadata"]["uid"]] = now
        for item in (before, after):
            if item is not None:
                cluster = str(item["spec"]["destination"]["name"])
                until = self._good_until.get(item["metadata"]["uid"], -1.0)
                for owner in item["metadata"].get("ownerReferences") or []:
                    key = owner["uid"], cluster
                    self._good_on[key] = (
                        max(until, self._good_on.get(key, -1.0)) if item is before else until
                    )
        if _begins(change) and writer.startswith(RECONCILER):
            assert before is not None
            self._deletion(before, writer)

    def _deletion(self, copy: Object, writer: str) -> None:
        hub, name = self._world.hub, copy["metadata"]["name"]
        cluster = copy["spec"]["destination"]["name"]
        owners = copy["metadata"].get("ownerReferences") or []
        owner = owners[0]["uid"] if owners else ""
        others = [
            each
            for each in hub.owned("applications", owner)
            if each["metadata"]["uid"] != copy["metadata"]["uid"]
            and "deletionTimestamp" not in each["metadata"]
        ]
        reached = self._reached_at.get(cluster)
        # A cluster that was detached does not come back with its old copies: nothing holds them.
        if reached is not None and ("managedclusters", "", cluster) in self._world.hub.objects:
            self.checks["held"] += 1
            if reached <= self._decided_at() < reached + HELD_SECONDS:
                since = self._decided_at() - reached
                self._break(
                    "held", f"{writer} deleted {name} {since:.0f} s after it was reached again"
                )
        self.checks["last-copy"] += 1
        if not others:
            self._break("last-copy", f"{writer} deleted {name}")
        sets = [
            each
            for each in hub.of("applicationsets", fleet.ARGOCD)
            if each["metadata"]["uid"] == owner
        ]
        if not sets:
            self._break("only-copies", f"{writer} deleted {name}, whose ApplicationSet is gone")
            return
        placement = placement_of(sets[0])
        decisions = list(self._recent(placement))
        self.checks["only-copies"] += 1
        if decisions and all(cluster in decided for _, decided in decisions):
            self._break(
                "only-copies", f"{writer} deleted {name}, and {placement} is decided for {cluster}"
            )
        self._check_verified(placement, cluster, decisions, writer)
        self.checks["healthy-first"] += 1
        if not any(self._may_go(others, decided, since) for since, decided in decisions):
            there = ", ".join(f"{each['metadata']['name']} {each.get('status')}" for each in others)
            self._break(
                "healthy-first", f"{writer} deleted {name}; decided: {decisions}; left: {there}"
            )

    def _check_verified(
        self,
        placement: str,
        cluster: str,
        decisions: Sequence[tuple[float, frozenset[str]]],
        writer: str,
    ) -> None:
        """A copy on a cluster was deleted that may be the old one of a verified move."""
        if self._verification(placement) is None:
            return
        self.checks["verified"] += 1
        moment = self._decided_at()
        entries = list(self._ledgers)
        for number, (_, ledger) in enumerate(entries):
            until = entries[number + 1][0] if number + 1 < len(entries) else math.inf
            if until < moment - SEEN_SECONDS:
                continue
            if any(
                permits(ledger, f"{fleet.ARGOCD}/{placement}", cluster, decided)
                for _, decided in decisions
            ):
                return
        self._break("verified", f"{writer} deleted that of {placement} on {cluster}")

    def _ledger_at(self, moment: float) -> Ledger:
        """The ledger that there was at this moment."""
        earlier = [ledger for since, ledger in self._ledgers if since <= moment]
        return earlier[-1] if earlier else Ledger()

    def _verification(self, placement: str) -> Verification | None:
        item = self._world.informers.state.placements.get((fleet.ARGOCD, placement))
        ranking = None if item is None else paced_ranking(item)
        return None if ranking is None else ranking.verification

    def _recent(self, placement: str) -> Iterator[tuple[float, frozenset[str]]]:
        """The decisions that held within the last seconds, with the time since when."""
        entries, now = list(self._decided[placement]), world_loop().time()
        moment = self._decided_at()
        for number, (since, decided) in enumerate(entries):
            until = entries[number + 1][0] if number + 1 < len(entries) else now
            if until >= moment - SEEN_SECONDS:
                yield since, decided

    def _may_go(self, others: list[Object], decided: frozenset[str], since: float) -> bool:
        moment = self._decided_at()
        on = {each["spec"]["destination"]["name"]: each["metadata"]["uid"] for each in others}
        if not decided:
            return False
        good = [
            cluster
            for cluster in decided & on.keys()
            if self._good_until.get(on[cluster], -1.0) >= max(since, moment - SEEN_SECONDS)
            and (
                self._unreachable.get(cluster, moment) > moment - SEEN_SECONDS
                # Its taint goes a moment after its condition says that it is back.
                or self._is_available(cluster)
            )
        ]
        return bool(good) or (decided <= on.keys() and moment >= since + TIMEOUT_SECONDS)

    def _is_available(self, cluster: str) -> bool:
        item = self._world.hub.objects.get(("managedclusters", "", cluster))
        conditions = [] if item is None else item["status"]["conditions"]
        return any(
            each["type"].endswith("Available") and each["status"] == "True" for each in conditions
        )

    def _decisions(self, change: StoredChange, writer: str) -> None:
        item = change.after or change.before
        assert item is not None
        placement = (item["metadata"].get("labels") or {}).get(PLACEMENT_LABEL, "")
        pages = self._world.hub.pages(placement, fleet.ARGOCD)
        clusters = frozenset(
            each["clusterName"]
            for page in pages
            for each in (page.get("status") or {}).get("decisions") or []
        )
        entries = self._decided[placement]
        before = entries[-1][1] if entries else frozenset()
        if not entries or before != clusters:
            entries.append((world_loop().time(), clusters))
            if writer == ocm.SCHEDULER and len(before) == 1 and len(clusters) == 1:
                self._admission(placement, min(before), min(clusters))

    # Moves.

    def _admission(self, placement: str, source: str, target: str) -> None:
        state = self._world.informers.state
        item = state.placements.get((fleet.ARGOCD, placement))
        if item is None or not _is_paced(item):
            return
        now = datetime.fromtimestamp(world_loop().wall(), UTC)
        verdict = simulate_placement(item, state=state, now=now)
        if source not in (verdict.scores or {}):
            # The cluster is no longer eligible: OCM leaves it by itself.
            return
        self.checks["admission"] += 1
        key = f"{fleet.ARGOCD}/{placement}"
        ledger = self.stored().ledger
        known = [*ledger.moves, *self._moves.values()]
        if not any(
            (each.placement, each.source, each.target) == (key, source, target) for each in known
        ):
            self._break("admission", f"{placement} went from {source} to {target}")

    def stored(self) -> StoredMoves:
        """What the reconciler keeps of moves."""
        item = self._world.hub.objects.get(("configmaps", fleet.HUB, MOVES_SCORE))
        try:
            return read_moves((item or {}).get("data"))
        except MovesError:
            return StoredMoves()

    def _configmaps(self, change: StoredChange, writer: str) -> None:
        if change.key[2] == MAINTENANCE_CONFIGMAP:
            self._windows(change.after)
        if change.key[2] != MOVES_SCORE:
            return
        self._ledgers.append((world_loop().time(), self.stored().ledger))
        if not writer.startswith(RECONCILER):
            # Somebody edits or deletes it, or etcd is restored: what it does not say is forgotten.
            self._returns = list(self._ledgers[-1][1].returns)
            return
        try:
            ledger = read_moves((change.after or {}).get("data")).ledger
        except MovesError:
            # Somebody wrote nonsense into it. The reconciler may still write the reasons of waits
            # beside it.
            return
        moves = ledger.moves
        self._check_ledger(change, ledger, writer)
        under_way = [each for each in moves if each.under_way and each.admitted]
        self.checks["concurrent"] += 1
        if len(under_way) > fleet.PACE["concurrent"]:
            self._break("concurrent", f"{len(under_way)} are: {under_way}")
        # A return goes to a cluster that has the copy already.
        arrivals = Counter(each.target for each in under_way if not each.returning)
        for cluster, count in arrivals.items():
            self.checks["arrivals"] += 1
            if count > fleet.PACE["arrivalsPerCluster"]:
                self._break("arrivals", f"{count} go to {cluster}: {under_way}")
        now = self._world.hub.now()
        present = {(each.placement, each.target, each.since) for each in moves}
        for key, gone in list(self._moves.items()):
            if key not in present:
                if gone.admitted and gone.phase in {Phase.ADMITTED, Phase.HANDOVER}:
                    self._check_ended(key, gone)
                del self._moves[key]
        for each in moves:
            key = each.placement, each.target, each.since
            known = self._moves.get(key)
            is_new = known is None and each.admitted and each.under_way
            if is_new and not each.returning:
                self._check_unasked(each, moves)
                self._check_freezes(each)
                self._check_unknown(each)
                self._check_unsettled(each)
            if known is not None and known.admitted and each.phase is Phase.WITHDRAWN:
                self._check_withdrawn(known)
            if each.phase is Phase.HANDOVER and (
                known is None or known.phase is not Phase.HANDOVER
            ):
                self._handovers[key] = world_loop().time(), self._copies_of(each)
            if (
                known is not None
                and known.admitted
                and known.under_way
                and each.phase is Phase.ENDED
                # Both copies stay when it failed.
                and each.outcome not in {VerificationOutcome.RETURNED, VerificationOutcome.FAILED}
                # The format of the older version has no outcome, so a move that came back looks
                # like one that passed.
                and not (known.phase is Phase.VERIFYING and self._is_older(writer))
            ):
                self._check_ended(key, known)
            if is_new and not each.returning:
                ended = self._ended.get(each.placement)
                drains = each.cause is not None and each.cause.cause is Cause.DRAIN
                # The older version of an upgrade keeps no causes, so it does not say that it
                # drains.
                drains = drains or self._is_older(writer)
                self.checks["cooldown"] += 1
                if (
                    ended is not None
                    and not drains
                    and each.since < ended + fleet.PACE["cooldownSeconds"] - 5.0
                ):
                    self._break(
                        "cooldown",
                        f"{each.placement} ended at {ended:.0f}, again at {each.since:.0f}",
                    )
            if known is None and each.admitted and each.under_way:
                self._unreported[key] = world_loop().time()
            if each.admitted and not each.under_way and (known is None or known.under_way):
                self._ended[each.placement] = max(
                    each.phase_since, self._ended.get(each.placement, 0.0)
                )
            self._moves[key] = each
        for key in [key for key, each in self._moves.items() if each.since < now - 4 * 3600]:
            del self._moves[key]

    def _check_ledger(self, change: StoredChange, ledger: Ledger, writer: str) -> None:
        """What a ledger may say after the one before it."""
        before = _ledger_in(change.before)
        if self._is_older(writer):
            # It knows nothing of what is verified.
            self._returns.clear()
            return
        known = {_key(each): each for each in before.moves}
        now = self._world.hub.now()
        for move in ledger.moves:
            earlier = known.get(_key(move))
            self._check_outcome(earlier, move)
            if earlier is not None or not move.admitted or not move.under_way:
                continue
            if move.returning:
                self._check_return(move, ledger)
                self._returns.append(now)
                continue
            self._check_held_away(move, before, now)
            self.checks["stopped"] += bool(before.stopped_since)
            if before.stopped_since and self.acknowledged_stop < before.stopped_since:
                self._break("stopped", f"{move.placement} to {move.target} was")
        window = float(fleet.PACE["returnsWindowSeconds"])
        self._returns = [each for each in self._returns if each > now - window]
        if before.stopped_since and not ledger.stopped_since:
            self._returns.clear()
            self.checks["stopped"] += 1
            if self.acknowledged_stop < before.stopped_since:
                self._break("stopped", "the fleet goes on, and nobody acknowledged it")
        elif len(self._returns) >= fleet.PACE["stopAfterReturns"]:
            self.checks["stopped"] += 1
            if not ledger.stopped_since:
                self._break("stopped", f"{len(self._returns)} moves came back")
        self._check_holds(before, ledger)

    def _check_outcome(self, earlier: LedgerMove | None, move: LedgerMove) -> None:
        """A move that passed stays so, and returns are not verified."""
        if not move.verified and not move.returning:
            return
        self.checks["returned-once"] += 1
        failed = move.outcome in {VerificationOutcome.RETURNED, VerificationOutcome.FAILED}
        if earlier is not None and earlier.passed_at and (failed or not move.passed_at):
            self._break("returned-once", f"it had passed: {move}")
        if move.returning and (move.verified or move.outcome is VerificationOutcome.RETURNED):
            self._break("returned-once", f"it is a return: {move}")
        if move.outcome is VerificationOutcome.RETURNED and not move.admitted:
            self._break("returned-once", f"OCM moved it itself: {move}")

    def _check_return(self, move: LedgerMove, ledger: Ledger) -> None:
        """A return begins."""
        self.checks["returned-once"] += 1
        forth = [
            each
            for each in ledger.moves
            if (each.placement, each.source, each.target)
            == (move.placement, move.target, move.source)
            and each.outcome is VerificationOutcome.RETURNED
            and each.admitted
            and not each.returning
        ]
        if not forth:
            self._break("returned-once", f"no move returned: {move}")

    def _check_held_away(self, move: LedgerMove, before: Ledger, now: float) -> None:
        """A move was admitted."""
        verification = self._verification(move.placement.partition("/")[2])
        for hold in before.holds:
            is_held = hold.active(now - SEEN_SECONDS) and hold.active(now)
            if hold.placement != move.placement or not is_held:
                continue
            self.checks["held-away"] += 1
            if hold.target != move.target:
                continue
            if verification is None or verification.revision != hold.revision:
                continue
            tree = self._world.tree.objects
            digests = read_inventory_digests(
                tree["configmaps", fleet.HUB, MAINTENANCE_CONFIGMAP].get("data")
            )
            if (digests or {}).get(move.target, "") == hold.inventory:
                self._break("held-away", f"{move.placement} to {move.target}: {hold}")

    def _check_holds(self, before: Ledger, ledger: Ledger) -> None:
        """Holds are as long as is written, and stay so."""
        earlier = {(each.placement, each.target): each for each in before.holds}
        for hold in ledger.holds:
            last = earlier.get((hold.placement, hold.target))
            if last == hold:
                continue
            self.checks["hold-length"] += 1
            longest = min(fleet.HOLD_SECONDS * 2.0 ** (hold.returns - 1), 7 * 86_400.0)
            if last is not None and last.since == hold.since:
                if hold.until > last.until:
                    self._break("hold-length", f"{last} became {hold}")
            elif hold.until - hold.since > longest + 1.0:
                self._break("hold-length", f"{hold}")
            elif last is not None and hold.returns != last.returns + 1:
                self._break("hold-length", f"{hold} after {last}")

    def _is_older(self, writer: str) -> bool:
        return any(pod.name == writer and pod.program.is_older for pod in self._world.reconcilers)

    def _sets_of(self, move: LedgerMove) -> list[Object]:
        name = move.placement.partition("/")[2]
        sets = self._world.hub.of("applicationsets", fleet.ARGOCD)
        return [each for each in sets if placement_of(each) == name]

    def _copies_of(self, move: LedgerMove) -> frozenset[str]:
        """The UIDs of the copies on the cluster that it leaves."""
        return frozenset(
            copy["metadata"]["uid"]
            for owner in self._sets_of(move)
            for copy in self._world.hub.owned("applications", owner["metadata"]["uid"])
            if copy["spec"]["destination"]["name"] == move.source
        )

    def _check_ended(self, key: tuple[str, str, float], move: LedgerMove) -> None:
        """A move ended that was under way."""
        name = move.placement.partition("/")[2]
        item = self._world.informers.state.placements.get((fleet.ARGOCD, name))
        if item is None or not _is_paced(item):
            return
        if key not in self._handovers:
            return
        begun, old = self._handovers[key]
        followed = [
            move.target in decided and move.source not in decided
            for _, decided in self._since(name, begun)
        ]
        if not followed or not all(followed):
            return
        self.checks["ended"] += 1
        for owner in self._sets_of(move):
            good = self._good_on.get((owner["metadata"]["uid"], move.target), -1.0)
            if good < begun - SEEN_SECONDS:
                self._break(
                    "ended", f"that of {name} did, whose copy on {move.target} is not healthy"
                )
        lost = move.source in self._unreachable or self._reached_at.get(move.source, -1e9) > begun
        if old & self._copies_of(move) and not lost:
            self._break("ended", f"that of {name} did, whose copy on {move.source} is still there")

    def _since(self, placement: str, moment: float) -> Iterator[tuple[float, frozenset[str]]]:
        """The decisions that held at this moment or later."""
        entries = list(self._decided[placement])
        for number, entry in enumerate(entries):
            if number + 1 == len(entries) or entries[number + 1][0] >= moment:
                yield entry

    def _windows(self, item: Object | None) -> None:
        """The freezes that the hub has."""
        now = world_loop().time()
        read = read_maintenance((item or {}).get("data")) or ()
        self._freezes = {
            each.name: self._freezes.get(each.name, (now, each))
            for each in read
            if each.action is MaintenanceAction.FREEZE
        }

    def _check_freezes(self, move: LedgerMove) -> None:
        """A move was admitted."""
        moment = self._decided_at()
        for since, freeze in self._freezes.values():
            period = open_period(freeze.window, self._world.hub.now())
            clusters = set(freeze.clusters or ()) & {move.source, move.target}
            if period is None or not clusters:
                continue
            self.checks["freeze"] += 1
            if moment > max(since, period.start - EPOCH) + FREEZE_SECONDS:
                self._break("freeze", f"{move.placement} does, and {freeze.name} is open")

    def read_maintenance(self, program: Program) -> None:
        """A program was told the windows of maintenance, or that there are none."""
        self._maintenance_read[program] = world_loop().time()

    def _check_unknown(self, move: LedgerMove) -> None:
        """A move was admitted."""
        program, moment = self._world.network.requester, self._decided_at()
        if program is None:
            return
        self.checks["unknown"] += 1
        read = self._maintenance_read.get(program)
        if read is None or moment > read + UNKNOWN_SECONDS:
            ago = "never" if read is None else f"{moment - read:.0f} s ago"
            self._break("unknown", f"{move.placement} does, and they were read {ago}")

    def _check_unsettled(self, move: LedgerMove) -> None:
        """A move was admitted."""
        world, moment = self._world, self._decided_at()
        if not world.is_fine or world.storm.lags:
            # The reconciler may know nothing of a change yet.
            return
        placements = world.informers.state.placements
        changes = [
            at
            for name, entries in self._decided.items()
            if (item := placements.get((fleet.ARGOCD, name))) is not None and _is_paced(item)
            for at, _ in entries
            if moment - 2 * CHANGING_SECONDS < at < moment
        ]
        self.checks["unsettled"] += 1
        if not changes or min(changes) < moment - CHANGING_SECONDS:
            return
        ago = moment - max(changes)
        if CHANGE_KNOWN_SECONDS < ago < SETTLED_SECONDS:
            self._break("unsettled", f"{move.placement} does, {ago:.1f} s after one")

    def _check_withdrawn(self, move: LedgerMove) -> None:
        """A move was withdrawn that was admitted before."""
        if move.phase is not Phase.ADMITTED:
            return
        moment, name = self._decided_at(), move.placement.partition("/")[2]
        stayed = all(move.source in decided for _, decided in self._recent(name))
        refused = moment < self._items_refused_at + REFUSED_SECONDS
        if not stayed or refused:
            return
        self.checks["withdrawn"] += 1
        waited = EPOCH + moment - move.phase_since
        if waited < FOLLOW_SECONDS:
            self._break("withdrawn", f"{name} to {move.target} was after {waited:.0f} s")

    def _check_unasked(self, move: LedgerMove, moves: Sequence[LedgerMove]) -> None:
        """A move was admitted. What OCM has just sent to its target may not be in the ledger."""
        now = world_loop().time()
        coming = {each.placement for each in moves if each.under_way and each.target == move.target}
        for placement, entries in self._decided.items():
            if len(entries) < 2:
                continue
            (_, before), (since, after) = entries[-2], entries[-1]
            if move.target in after - before and now - UNASKED_SECONDS <= since <= now - 1.0:
                coming.add(f"{fleet.ARGOCD}/{placement}")
        self.checks["unasked"] += 1
        if len(coming) > fleet.PACE["arrivalsPerCluster"] and move.placement in coming:
            self._break(
                "unasked", f"{move.placement} to {move.target}, which receives {sorted(coming)}"
            )

    def _events(self, change: StoredChange, writer: str) -> None:
        item = change.after
        if (
            item is not None
            and item.get("reason") in {"MoveAdmitted", "MoveReturned"}
            and writer.startswith(RECONCILER)
        ):
            name = item["involvedObject"]["name"]
            self.checks["reported"] += 1
            for key in [key for key in self._unreported if key[0].partition("/")[2] == name]:
                del self._unreported[key]

    def annotated(self) -> None:
        """Somebody wrote an annotation on the Lease."""
        leader = self._world.leader
        if leader is not None and self._world.is_fine_for(leader):
            self.checks["leader"] += 1
            self._annotated = world_loop().time(), leader

    def asked(self, program: str, method: str, path: str, selected: str) -> None:
        """A request was sent. `selected` is what it asks of a list."""
        key = program, method, path, selected
        count = self._asked[key] = self._asked.get(key, 0) + 1
        if count < UNSUSPICIOUS_A_MINUTE:
            return
        if count == MAX_A_MINUTE.get(path.rpartition("/")[2], MAX_A_MINUTE[""]):
            self._break(
                "rate",
                f"{program}: {method} {path} {selected} {count} times in a minute",
            )

    def refused(self, program: Program, seen: RecordedRequest, status: int) -> None:
        """A fault refused a request."""
        method, path = seen.method, seen.path
        plural = path.rpartition("/")[2]
        if program.name.startswith(RECONCILER) and "addonplacementscores" in path:
            self._items_refused_at = world_loop().time()
        if status != 403 or method == "GET" or plural == "events" or "/leases/" in path:
            return
        if "/configmaps/" in path:
            # All that the reconciler admits is written to one object.
            return
        now = world_loop().time()
        if now > self._refusals_since + 600.0:
            self._refusals.clear()
            self._refusals_since = now
        if method == "POST" and plural == "addonplacementscores":
            # All scores of a cluster are created at one path.
            path += f"/{seen.json()['metadata']['name']}"
        key = program, method, path
        self._refusals[key] += 1
        self.checks["backoff"] += 1
        if self._refusals[key] > MAX_REFUSED:
            self._break(
                "backoff", f"{program.name}: {method} {path} {MAX_REFUSED} times in ten minutes"
            )

    def deletes(self, program: Program, path: str) -> None:
        """A program sends a deletion."""
        if "/addonplacementscores/" not in path or program.name.startswith(RECONCILER):
            return
        self.checks["writing"] += 1
        for each, written in self._world.network.writing:
            if each is program and written in {path, f"{path}/status"}:
                self._break("writing", f"{program.name} deletes {path}")

    def _scores(self, change: StoredChange, writer: str) -> None:
        _, cluster, name = change.key
        if name == MOVES_SCORE:
            self._items(change, writer)
            return
        if name in self._gone and change.after is not None and change.before is None:
            self.checks["removed"] += 1
            if world_loop().time() > self._gone[name] + REMOVED_SECONDS:
                self._break("removed", f"{writer} wrote {name} of {cluster} again")
        if writer.startswith(RECONCILER) and _begins(change):
            self._collected(name, cluster)
        kind = writer.partition("/")[0]
        if kind in {"agent", "hub-scorer"} and change.after is not None:
            self.checks["writers"] += 1
            expected = "hub-scorer" if name in self._world.sources.central else f"agent/{cluster}"
            if writer != expected and name not in self._gone:
                self._break(
                    "writers", f"{writer} wrote {name} of {cluster}, which {expected} writes"
                )

    def _collected(self, score: str, cluster: str) -> None:
        """The reconciler deletes a score."""
        world, now = self._world, world_loop().time()
        is_in_git = score in world.sources.central
        # The list on the hub is behind git for a while, and longer while it is not whole.
        is_known = now > self._back.get(score, -BACK_SECONDS) + BACK_SECONDS
        holder = world.hub.objects.get(("managedclusters", "", cluster))
        is_lost = (
            holder is None
            or "deletionTimestamp" in holder["metadata"]
            or cluster in self._unreachable
            or self._reached_at.get(cluster, -SEEN_SECONDS) > now - SEEN_SECONDS
        )
        self.checks["collected"] += 1
        if is_in_git and is_known and not is_lost:
            self._break("collected", f"{score} of {cluster} is deleted, and a scorer has it")

    def _items(self, change: StoredChange, writer: str) -> None:
        if not writer.startswith(RECONCILER):
            return
        cluster = change.key[1]
        now, before = items_of(change.after), items_of(change.before)
        stored = self.stored()
        under_way = {
            (each.placement, each.target) for each in stored.ledger.moves if each.under_way
        }
        pushed = {
            each.placement
            for each in stored.ledger.moves
            if each.under_way and each.source == cluster
        }
        for key in sorted(now.keys() | before.keys()):
            value = now.get(key, 0)
            if before.get(key, 0) == value:
                continue
            if value < 0:
                # A refuge draws nothing while Steady counts; an item that takes Steady away does.
                self.checks["attraction"] += 1
                if key not in pushed:
                    self._break(
                        "attraction", f"{key}={value} on {cluster}; under way: {sorted(under_way)}"
                    )
            if value < 0 or self._is_pushed(key):
                self._check_drawn(key, cluster, stored.ledger.moves)

    def _is_pushed(self, key: str) -> bool:
        return any(
            items_of(item).get(key, 0) < 0
            for item in self._world.hub.named("addonplacementscores", MOVES_SCORE)
        )

    def _check_drawn(self, key: str, cluster: str, moves: Sequence[LedgerMove]) -> None:
        """An item of a Placement that is pushed away was written or taken away."""
        self.checks["drawn"] += 1
        drawn = {
            item["metadata"]["namespace"]
            for item in self._world.hub.named("addonplacementscores", MOVES_SCORE)
            if items_of(item).get(key, 0) > 0
        }
        # It may have ended meanwhile: then what pushes goes first.
        latest = max(
            (each for each in moves if each.placement == key),
            key=lambda each: each.since,
            default=None,
        )
        if latest is None or drawn != {latest.target}:
            to = "nowhere" if latest is None else latest.target
            self._break("drawn", f"{key} on {cluster}: to {to}, drawn to {sorted(drawn)}")

    def _leases(self, change: StoredChange, writer: str) -> None:
        before, after = (
            ((each or {}).get("spec") or {}).get("holderIdentity") or ""
            for each in (change.before, change.after)
        )
        now = world_loop().time()
        if after and after != before:
            self._taken_at.append((now, after))
        if after != before and not writer.startswith(RECONCILER):
            # Somebody deleted the Lease, or etcd was restored: that ends leadership.
            self._annotated = None
        if self._annotated is not None:
            at, leader = self._annotated
            if not self._world.is_fine_for(leader) or now > at + 30.0:
                self._annotated = None
            elif not after.startswith(f"{leader.name}_"):
                words = f"{leader.name} led, and {after or 'nobody'} does {now - at:.1f} s later"
                self._break("leader", words)

    def _fence(self, change: StoredChange, writer: str) -> None:
        """By the time of sending: what is under way cannot be called back."""
        if not self._taken_at:
            return
        at, holder = self._taken_at[-1]
        sent = self._world.network.sent
        self.checks["fence"] += 1
        if not holder.startswith(f"{writer}_") and sent is not None and sent > at:
            self._break(
                "fence", f"{writer} wrote {change.key} {sent - at:.3f} s after {holder} took it"
            )

    def pushed(self, push: Push, pusher: str) -> None:
        """The server of the repository took a push."""
        repository = self._world.repository
        sent = self._world.network.sent
        if self._taken_at and sent is not None:
            at, holder = self._taken_at[-1]
            self.checks["fence"] += 1
            if not holder.startswith(f"{pusher}_") and sent > at:
                self._break(
                    "fence",
                    f"{pusher} pushed {push.branch} {sent - at:.3f} s after {holder} took it",
                )
        if push.branch != JOURNAL_BRANCH:
            return
        before, after = repository.files(push.before), repository.files(push.after)
        self.checks["journal"] += 1
        added: dict[str, bytes] = {}
        for path in sorted(before.keys() | after.keys()):
            old, new = before.get(path, b""), after.get(path, b"")
            if not new.startswith(old):
                self._break("journal", f"{pusher} changed {path}")
            if path != README and new != old:
                added[path] = new[len(old) :]
        for record in read(added).records:
            last = self.recorded.get(record.placement)
            if last is not None and not _continues(record, last):
                self._break("journal", f"{pusher} wrote {record} after {last}")
            self.recorded[record.placement] = record

    # What does not change by a write.

    def _clusters(self, change: StoredChange, writer: str) -> None:
        name, now = change.key[2], world_loop().time()
        keys = (
            []
            if change.after is None
            else [each["key"] for each in change.after["spec"].get("taints") or []]
        )
        if ocm.UNREACHABLE["key"] in keys:
            self._lost_since.setdefault(name, now)
        else:
            self._lost_since.pop(name, None)
        # The condition comes before the taint.
        conditions = [] if change.after is None else change.after["status"]["conditions"]
        if any(
            each["type"].endswith("Available") and each["status"] != "True" for each in conditions
        ):
            self._unreachable.setdefault(name, now)
        elif name in self._unreachable and name not in self._lost_since:
            self._unreachable.pop(name)
            if change.after is not None:
                self._reached_at[name] = now
        if change.before is not None and change.after is not None and writer.startswith(RECONCILER):
            self.checks["writers"] += 1
            was, is_now = (_without_ours(each) for each in (change.before, change.after))
            if was != is_now:
                self._break("writers", f"{writer} changed {name}: {was} -> {is_now}")

    def tick(self) -> None:
        """Checks what time alone breaks."""
        world, now = self._world, world_loop().time()
        self._asked.clear()
        if world.errors:
            self._break("alive", world.errors[0])
        if not world.is_fine:
            self._unreported.clear()
        for (placement, target, _), at in list(self._unreported.items()):
            if now > at + REPORTED_SECONDS:
                self._break("reported", f"the move of {placement} to {target} is not")
        if world.hub.terminating:
            self._items_refused_at = now
        if not world.is_fine or world.sets_down or world.storm.lags:
            self._hindered_at = now
        elif now > self._hindered_at + GOES_SECONDS:
            self._check_gone(now)
        self._check_removed(now)
        self._check_away(now)
        self._check_patience(now)
        for item, text in world.foreign.items():
            self.checks["foreign"] += 1
            plural, namespace, name = item
            stored = world.hub.objects.get(item)
            if stored is None or text not in msgspec.json.encode(stored).decode():
                self._break("foreign", f"{text!r} is gone from {plural} {namespace}/{name}")
        if world.scheduler_up_since is None or now < world.scheduler_up_since + LEFT_SECONDS:
            return
        for cluster, since in self._lost_since.items():
            if now < since + LEFT_SECONDS:
                continue
            self.checks["left"] += 1
            for placement, entries in self._decided.items():
                if entries and cluster in entries[-1][1] and world.must_leave(placement, cluster):
                    self._break(
                        "left", f"{placement} is still on {cluster}, lost for {now - since:.0f} s"
                    )

    def _check_gone(self, now: float) -> None:
        """Old copies go where nothing has kept the reconciler from its work for a while."""
        hub, end = self._world.hub, now - GOES_SECONDS
        for owner in hub.of("applicationsets", fleet.ARGOCD):
            entries = self._decided[placement_of(owner)]
            if not entries or entries[-1][0] > end:
                continue
            copies = hub.owned("applications", owner["metadata"]["uid"])
            if any("deletionTimestamp" in each["metadata"] for each in copies):
                # One copy is deleted at a time, and on a lost cluster that takes until it is back.
                continue
            on = {each["spec"]["destination"]["name"]: each for each in copies}
            steady = {name for name in on if self._reached_at.get(name, -1e9) < end}
            steady -= self._unreachable.keys()
            decided = entries[-1][1]
            placement = placement_of(owner)
            if self._verification(placement) is not None:
                ledger, key = self._ledger_at(end), f"{fleet.ARGOCD}/{placement}"
                steady -= {
                    name for name in steady - decided if not permits(ledger, key, name, decided)
                }
            healthy = [
                name
                for name in decided & steady
                if self._good_since.get(on[name]["metadata"]["uid"], now) < end
            ]
            self.checks["gone"] += bool(healthy)
            old = sorted(
                on[name]["metadata"]["name"]
                for name in steady - decided
                if on[name]["metadata"]["uid"] in self._good_until
            )
            if healthy and len(healthy) == len(decided) and old:
                self._break("gone", f"{old} stay, and {sorted(decided)} is decided and healthy")

    def _check_removed(self, now: float) -> None:
        """The scores of removed scorers have gone wherever their writer could do its work."""
        world = self._world
        for cluster in world.sources.clusters:
            for pod in (world.agents.get(cluster), world.hub_scorer):
                # A restored etcd, a missing namespace and a lost cluster concern both.
                if (
                    pod is None
                    or pod.stopped
                    or not world.is_fine_for(pod)
                    or not world.reachable(cluster)
                    or cluster in world.hub.terminating
                ):
                    self._hindered[f"{pod.name if pod is not None else ''} {cluster}"] = now
        for score, gone in self._gone.items():
            for cluster in world.sources.clusters:
                on_hub = score in world.first_sources.central
                pod = world.hub_scorer if on_hub else world.agents.get(cluster)
                if pod is None or pod.stopped:
                    continue
                since = max(gone, self._hindered.get(f"{pod.name} {cluster}", 0.0))
                left = [
                    each
                    for each in world.sources.scorers
                    if (each in world.sources.central) == on_hub
                ]
                if now < since + (REMOVED_SECONDS if left else EXPIRED_SECONDS):
                    continue
                self.checks["removed"] += 1
                if ("addonplacementscores", cluster, score) in world.hub.objects:
                    self._break(
                        "removed", f"{score} of {cluster} is there {now - gone:.0f} s later"
                    )

    def _check_away(self, now: float) -> None:
        """What agents of lost clusters asked for."""
        away = {f"agent/{name}" for name in self._world.registration.lost}
        away |= self._world.storm.cut_off
        self._asked_away = {
            name: kept
            for name in sorted(away)
            if (kept := self._asked_away.get(name, (now, 0)))[0] > now - 600.0
        }
        for name, (since, count) in self._asked_away.items():
            self.checks["away"] += 1
            if count > MAX_AWAY:
                self._break("away", f"{name} asked {count} times in {now - since:.0f} s")

    def _check_patience(self, now: float) -> None:
        """Moves of others go on while people and a script fight over a Placement."""
        world = self._world
        is_hindered = (
            not world.fights
            or now < self._hindered_at + 120.0
            or now < self._items_refused_at + REFUSED_SECONDS
            or world.scheduler_up_since is None
            or bool(self._freezes)
            or any(each.law == "ended" and now <= each.until for each in self._pardons)
        )
        moves = () if is_hindered else self._due_moves(now)
        self._held_up = {
            (each.placement, each.target): self._held_up.get((each.placement, each.target), now)
            for each in moves
        }
        for (placement, target), since in self._held_up.items():
            self.checks["patience"] += 1
            if now > since + PATIENT_SECONDS:
                self._break(
                    "patience", f"{placement} should move to {target} for {now - since:.0f} s"
                )

    def _due_moves(self, now: float) -> Iterator[DesiredMove]:
        """Moves that OCM would make, and that no other move stands in the way of."""
        world = self._world
        state, moment = world.informers.state, world.hub.now()
        fought = {f"{fleet.ARGOCD}/{name}" for name in world.fights}
        clusters = {name for turns in world.fights.values() for name in turns}
        ledger = self.stored().ledger
        if ledger.stopped_since:
            return
        recent = [
            each
            for each in ledger.moves
            if each.under_way or each.phase_since > moment - REST_SECONDS
        ]
        if any(each.under_way and each.placement not in fought for each in recent):
            return
        for each in recent:
            clusters |= {each.source, each.target}
        for (namespace, name), item in sorted(state.placements.items()):
            ranking = paced_ranking(item)
            entries = self._decided[name]
            is_settled = entries and entries[-1][0] < now - PATIENT_SECONDS
            if (
                namespace != fleet.ARGOCD
                or name in world.fights
                or ranking is None
                or not is_settled
            ):
                continue
            paced = Paced.of(item, ranking)
            held = {each.target for each in ledger.holds if each.placement == item.key}
            move = desired_move(
                paced, state=state, now=datetime.fromtimestamp(moment, UTC), held=held
            )
            if (
                move is not None
                and move.points >= PATIENT_POINTS
                and clusters.isdisjoint({move.source, move.target})
                and self._unreachable.keys().isdisjoint({move.source, move.target})
            ):
                yield move

    def unanswered(self, program: str) -> None:
        """A program asked for the hub, and has no way to it."""
        if program in self._asked_away:
            since, count = self._asked_away[program]
            self._asked_away[program] = since, count + 1


Check = Callable[[Laws, StoredChange, str], None]
_CHECKS: Final[dict[str, tuple[Check, ...]]] = {
    "applications": (Laws._applications,),
    "placementdecisions": (Laws._decisions,),
    "configmaps": (Laws._configmaps,),
    "addonplacementscores": (Laws._scores,),
    "events": (Laws._events,),
    "leases": (Laws._leases,),
    "managedclusters": (Laws._clusters,),
}


def permits(ledger: Ledger, placement: str, cluster: str, decided: frozenset[str]) -> bool:
    """Whether a ledger lets the copy on a cluster go that the application has left."""
    last: LedgerMove | None = None
    for move in ledger.moves:
        if (move.placement, move.source) == (placement, cluster) and move.target in decided:
            last = move
    return last is not None and (last.returning or last.passed_at > 0)


def _ledger_in(item: Object | None) -> Ledger:
    """The ledger of a ConfigMap; an empty one if it cannot be read."""
    try:
        return read_moves((item or {}).get("data")).ledger
    except MovesError:
        return Ledger()


def _key(move: LedgerMove) -> tuple[str, str, float]:
    return move.placement, move.target, move.since


def _begins(change: StoredChange) -> bool:
    """Whether a deletion begins, which a finalizer may hold up."""
    before, after = change.before, change.after
    return (
        before is not None
        and "deletionTimestamp" not in before["metadata"]
        and (after is None or "deletionTimestamp" in after["metadata"])
    )


def _is_ours(writer: str) -> bool:
    return writer.startswith(RECONCILER) or writer.partition("/")[0] in {"agent", "hub-scorer"}


def _notes(item: Object) -> set[tuple[str, str]]:
    """What people wrote on it: annotations and taints, with their values."""
    notes = [*(item["metadata"].get("annotations") or {}).items()]
    taints = (item.get("spec") or {}).get("taints") or []
    notes += [(each["key"], each.get("value", "")) for each in taints]
    return {(key, value) for key, value in notes if key.startswith("people.example.com/")}


def is_good(item: Object) -> bool:
    """Whether an Application is Healthy and Synced, and stays."""
    status = item.get("status") or {}
    return bool(
        (status.get("health") or {}).get("status") == "Healthy"
        and (status.get("sync") or {}).get("status") == "Synced"
        and "deletionTimestamp" not in item["metadata"]
    )


def placement_of(item: Object) -> str:
    """The Placement that an ApplicationSet follows."""
    generator = item["spec"]["generators"][0]["clusterDecisionResource"]
    return str(generator["labelSelector"]["matchLabels"][PLACEMENT_LABEL])


def _continues(record: Record, last: Record) -> bool:
    if record.uid != last.uid:
        return record.kind == "Start"
    known = record.from_ is not None and last.to is not None
    return record.number == last.number + 1 and (not known or record.from_ == last.to)


def _is_paced(item: Any) -> bool:
    return MOVES_SCORE in msgspec.json.encode(item.spec).decode()


def items_of(item: Object | None) -> dict[str, int]:
    """The items of an AddOnPlacementScore."""
    return {
        each["name"]: each["value"]
        for each in ((item or {}).get("status") or {}).get("scores") or []
    }


def _without_ours(item: Object) -> Any:
    """What others write of a cluster."""
    taints = [each for each in item["spec"].get("taints") or [] if each["key"] != MAINTENANCE_TAINT]
    return {**item["spec"], "taints": taints}, item["metadata"].get("labels"), item.get("status")

"""The faults of a world: which ones, when, is drawn by the seed before anything runs.

Each fault has randomness of its own, so a world with fewer faults meets the others as before: that
is how a failing seed is made smaller. `GALLERY` has every kind; `plan` draws a list.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from gitops_dsf.hub.maintenance import MaintenanceAction
from gitops_dsf.hub.names import MAINTENANCE_CONFIGMAP, RECONCILER
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.hub.scorerlist import INDEX_CONFIGMAP, PART_CONFIGMAPS
from tests.support.agent.http import RecordedRequest, SentReply
from tests.support.apiserver import ApiTarget, failure
from tests.world import fleet, git
from tests.world.fleet import MaintenanceDocument
from tests.world.laws import BY_THE_LEDGER
from tests.world.loop import Program, later, world_loop
from tests.world.network import NONE, NetworkTrouble

if TYPE_CHECKING:
    from tests.world.programs import ProgramPod
    from tests.world.world import World

WRITES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
WATCHING: Final = ("reconciler-", "reconciler-0", "reconciler-1")
"""Who follows objects of the hub."""
CLIMATES: Final = (0.0, 0.0, 1.0, 1.0, 3.0)
"""By how much a seed multiplies the weight of a kind of fault."""
INTENSITIES: Final = (0.6, 1.0, 2.0)
"""By how much a seed multiplies the time between two faults."""
WAIT_SECONDS: Final = 2400.0
"""How long a fault waits for the request that it is about."""
LAGGING: Final = (
    "addonplacementscores",
    "applications",
    "managedclusters",
    "placementdecisions",
)
"""Kinds whose events may come late."""
CUT_OFF: Final = "hub out of reach"
Act = Callable[["World", random.Random], str]
"""Does something, and says what; empty if there is nothing to do it to."""


@dataclass(frozen=True, kw_only=True)
class DrawnFault:
    number: int
    at: float
    """Seconds after the world began."""
    kind: str


@dataclass(frozen=True, kw_only=True)
class RequestPlace:
    """Which requests a fault is about."""

    path: str = ""
    """A part of it."""
    method: str = ""

    def has(self, seen: RecordedRequest) -> bool:
        return self.path in seen.path and self.method in {"", seen.method}

    def __str__(self) -> str:
        return f"{self.method} {self.path}".strip()


EVERYWHERE: Final = RequestPlace()
PLACES: Final = (
    RequestPlace(path="/leases/"),
    RequestPlace(path="/configmaps/"),
    RequestPlace(path="/addonplacementscores"),
    RequestPlace(path="/addonplacementscores/", method="DELETE"),
    RequestPlace(path="/applications/"),
    RequestPlace(path="/applications/", method="DELETE"),
    RequestPlace(path="/applicationsets"),
    RequestPlace(path="/placementdecisions"),
    RequestPlace(path="/managedclusters"),
)
"""What a fault of the network may be limited to."""
RIGHTS: Final = {
    "reconciler-": (
        "/addonplacementscores",
        "/applications/",
        "/applicationsets",
        "/configmaps/",
        f"/configmaps/{MAINTENANCE_CONFIGMAP}",
        f"/configmaps/{MAINTENANCE_CONFIGMAP}",
        "/placements",
        "/leases/",
        "/placementdecisions",
        "/managedclusters",
        "/managedclusters",
        "/events",
    ),
    "agent/": ("/addonplacementscores",),
    "hub-scorer": ("/addonplacementscores", "/managedclusters"),
}
"""What a program may lose the right to. What is rarely asked for is there twice."""


@dataclass(frozen=True, kw_only=True)
class FaultKind:
    act: Act
    weight: int = 2


GALLERY: Final[dict[str, FaultKind]] = {}


def kind(weight: int = 2) -> Callable[[Act], Act]:
    """Adds a function to the gallery, with how often it is drawn beside the others."""

    def register(act: Act) -> Act:
        GALLERY[act.__name__.strip("_").replace("_", "-")] = FaultKind(act=act, weight=weight)
        return act

    return register


def plan(*, seed: int, begin: float, end: float, every: float) -> tuple[DrawnFault, ...]:
    """Faults from `begin` to `end`, one in about `every` seconds, sometimes several at once.

    Each seed has a climate of its own: some kinds never happen in it, and others often. So two
    kinds meet that would rarely do so if every seed had all of them (Groce and others, "Swarm
    testing", 2012).
    """
    drawn = random.Random(f"{seed} plan")
    kinds = list(GALLERY)
    weights = [each.weight * drawn.choice(CLIMATES) for each in GALLERY.values()]
    every *= drawn.choice(INTENSITIES)
    found: list[DrawnFault] = []
    at = begin
    while True:
        at += drawn.expovariate(1 / every) if drawn.random() < 0.7 else drawn.uniform(0, 20)
        if at >= end:
            return tuple(found)
        [name] = drawn.choices(kinds, weights)
        found.append(DrawnFault(number=len(found), at=at, kind=name))


class Storm:
    """Carries out a plan, and is what the network asks about each request."""

    def __init__(self, world: "World", faults: Sequence[DrawnFault]) -> None:
        self._world = world
        self.faults = faults
        self.weather: list[Weather] = []
        self.triggers: list[RequestTrigger] = []
        self.lags = 0
        """Faults that make events late now."""
        self.is_calm = False
        """Whether all faults have ended."""
        world.network.trouble = self.trouble

    def start(self) -> None:
        for fault in self.faults:
            later(fault.at, self._happen, fault)

    def _happen(self, fault: DrawnFault) -> None:
        drawn = random.Random(f"{self._world.seed} fault {fault.number}")
        what = GALLERY[fault.kind].act(self._world, drawn)
        if what:
            self._world.history.counts[f"fault {fault.kind}"] += 1
            self._world.history.note(f"FAULT {fault.number}", f"{fault.kind}: {what}")

    @property
    def cut_off(self) -> set[str]:
        """The programs that have no way to the hub now."""
        now = world_loop().time()
        return {each.who for each in self.weather if each.name == CUT_OFF and each.until >= now}

    def calm(self) -> None:
        """The end of all weather."""
        self.is_calm = True
        self.weather.clear()
        self.triggers.clear()

    def trouble(self, program: Program, seen: RecordedRequest, host: str) -> NetworkTrouble:
        for trigger in list(self.triggers):
            trigger.see(program, seen)
        now = world_loop().time()
        for each in list(self.weather):
            if now > each.until:
                self.weather.remove(each)
                self._world.touch()
            elif each.meets(program, seen, host):
                trouble = each.trouble(program, seen)
                if trouble is not NONE:
                    self._world.history.counts[f"trouble {each.name}"] += 1
                    return trouble
        return NONE


@dataclass(kw_only=True)
class Weather:
    """What happens to requests of some programs for a while."""

    name: str
    who: str
    """A prefix of their names."""
    host: str = "hub"
    until: float
    chance: float
    make: Callable[[random.Random, RecordedRequest], NetworkTrouble]
    place: RequestPlace = EVERYWHERE
    drawn: random.Random = field(default_factory=lambda: random.Random(0))
    """Never one that the operating system seeds: then the same seed had another history."""

    def meets(self, program: Program, seen: RecordedRequest, host: str) -> bool:
        return program.name.startswith(self.who) and host == self.host and self.place.has(seen)

    def trouble(self, _program: Program, seen: RecordedRequest) -> NetworkTrouble:
        return self.make(self.drawn, seen) if self.drawn.random() < self.chance else NONE


@dataclass(kw_only=True)
class RequestTrigger:
    """Does something right before, or shortly after, the nth request of a program."""

    who: str
    """A prefix of its name."""
    count: int
    act: Callable[[], None]
    storm: Storm
    place: RequestPlace = EVERYWHERE
    """Only these requests count."""
    writes: bool = False
    """Only writes count."""

    def forget(self) -> None:
        """It does not happen any more."""
        if self in self.storm.triggers:
            self.storm.triggers.remove(self)

    def expire(self) -> None:
        """It happens without a request, if it is still to happen."""
        if self in self.storm.triggers:
            self.storm.triggers.remove(self)
            self.act()

    def see(self, program: Program, seen: RecordedRequest) -> None:
        is_counted = self.place.has(seen) and (seen.method in WRITES or not self.writes)
        if program.name.startswith(self.who) and is_counted:
            self.count -= 1
            if self.count <= 0:
                self.storm.triggers.remove(self)
                self.act()


# The network.


def _weather(
    world: "World",
    drawn: random.Random,
    make: Callable[[random.Random, RecordedRequest], NetworkTrouble],
    *,
    name: str,
    chance: tuple[float, float] = (0.05, 0.6),
    seconds: tuple[float, float] = (20, 600),
    whose: Sequence[str] = (
        "reconciler-",
        "reconciler-0",
        "reconciler-1",
        "agent/",
        "hub-scorer",
        "",
    ),
) -> str:
    leader = world.leader
    # The laws ask most of the leader.
    who = leader.name if leader is not None and drawn.random() < 0.2 else drawn.choice(whose)
    length, likely = drawn.uniform(*seconds), drawn.uniform(*chance)
    # An overloaded priority level, or a webhook, concerns one kind of object.
    place = drawn.choice(PLACES) if drawn.random() < 0.4 else EVERYWHERE
    weather = Weather(
        name=name,
        who=who,
        until=0.0,
        chance=likely,
        make=make,
        place=place,
        drawn=random.Random(drawn.random()),
    )
    when = _begin(world, drawn, weather, seconds=length)
    what = f"{likely:.0%} of the requests {place}".strip()
    return f"{what} of {who or 'everybody'} for {length:.0f} s{when}"


def _begin(world: "World", drawn: random.Random, weather: Weather, *, seconds: float) -> str:
    """Begins now or, if it is about one kind of request, often with the next such write: some are
    rare. Returns what a history says of that.
    """

    def begin() -> None:
        weather.until = world_loop().time() + seconds
        world.storm.weather.append(weather)

    if weather.place == EVERYWHERE or drawn.random() < 0.4:
        begin()
        return ""
    trigger = RequestTrigger(
        who=weather.who, count=1, act=begin, storm=world.storm, place=weather.place, writes=True
    )
    world.storm.triggers.append(trigger)
    later(WAIT_SECONDS, trigger.forget)
    return ", from the next write on"


def _refused(status: int, message: str) -> NetworkTrouble:
    return NetworkTrouble(refuse=failure(status, message))


@kind(4)
def _conflicts(world: "World", drawn: random.Random) -> str:
    def make(_drawn: random.Random, seen: RecordedRequest) -> NetworkTrouble:
        if seen.method in {"PUT", "PATCH", "DELETE"}:
            return _refused(409, "the object has been modified")
        return NONE

    return _weather(world, drawn, make, name="409")


@kind()
def _too_old(world: "World", drawn: random.Random) -> str:
    def make(_drawn: random.Random, seen: RecordedRequest) -> NetworkTrouble:
        return _refused(410, "too old resource version") if "watch" in seen.query else NONE

    return _weather(world, drawn, make, name="410", whose=WATCHING)


@kind(3)
def _small_watch_caches(world: "World", drawn: random.Random) -> str:
    """An API server with a small watch cache ends each watch with 410 soon after it was opened."""

    def make(_drawn: random.Random, seen: RecordedRequest) -> NetworkTrouble:
        return NetworkTrouble(gone=True) if "watch" in seen.query else NONE

    for opened in list(world.hub.opened):
        if drawn.random() < 0.5:
            opened.watch.end(broken=True)
    return _weather(
        world, drawn, make, name="watch ended with 410", chance=(0.5, 1.0), whose=WATCHING
    )


@kind(5)
def _races(world: "World", drawn: random.Random) -> str:
    """Somebody writes the same object right before a write of a program takes effect."""

    def make(_inner: random.Random, seen: RecordedRequest) -> NetworkTrouble:
        if seen.method not in {"PUT", "PATCH", "DELETE"}:
            return NONE
        return NetworkTrouble(first=lambda: world.annotate(seen.path))

    return _weather(world, drawn, make, name="race", chance=(0.4, 1.0))


@kind(1)
def _taken_over(world: "World", drawn: random.Random) -> str:
    """Another program takes over scores that have expired, right before somebody reads them to
    delete them.
    """

    def make(_inner: random.Random, seen: RecordedRequest) -> NetworkTrouble:
        name = seen.query.get("fieldSelector", "").removeprefix("metadata.name=")
        key = ("addonplacementscores", ApiTarget.of(seen.path).namespace, name)
        if seen.method != "GET" or name == MOVES_SCORE or key not in world.hub.objects:
            return NONE
        return NetworkTrouble(first=lambda: world.take_over(key))

    length = drawn.uniform(1000, 5000)
    weather = Weather(
        name="taken over",
        who="reconciler-",
        until=world_loop().time() + length,
        chance=0.5,
        make=make,
        place=RequestPlace(path="/addonplacementscores"),
        drawn=random.Random(drawn.random()),
    )
    world.storm.weather.append(weather)
    return f"for {length:.0f} s"


@kind()
def _throttled(world: "World", drawn: random.Random) -> str:
    def make(inner: random.Random, _seen: RecordedRequest) -> NetworkTrouble:
        reply = failure(429, "too many requests")
        return NetworkTrouble(
            refuse=SentReply(
                status=429, body=reply.body, headers={"Retry-After": str(inner.randint(1, 9))}
            )
        )

    return _weather(world, drawn, make, name="429")


@kind(3)
def _server_errors(world: "World", drawn: random.Random) -> str:
    def make(inner: random.Random, _seen: RecordedRequest) -> NetworkTrouble:
        return _refused(inner.choice([500, 503, 504]), "etcdserver: leader changed")

    return _weather(world, drawn, make, name="500", chance=(0.1, 1.0))


@kind(4)
def _lost_answers(world: "World", drawn: random.Random) -> str:
    def make(inner: random.Random, seen: RecordedRequest) -> NetworkTrouble:
        return (
            NetworkTrouble(lost=True, slow=inner.choice([0.0, 30.0]))
            if seen.method in WRITES
            else NONE
        )

    return _weather(world, drawn, make, name="lost answer")


@kind(3)
def _broken_connections(world: "World", drawn: random.Random) -> str:
    def make(_inner: random.Random, _seen: RecordedRequest) -> NetworkTrouble:
        return NetworkTrouble(unsent=True)

    return _weather(world, drawn, make, name="broken connection")


@kind()
def _hub_out_of_reach(world: "World", drawn: random.Random) -> str:
    """One writer of scores has no way to the hub, and to its metric source it has."""
    who = drawn.choice([*sorted(pod.name for pod in world.agents.values()), world.hub_scorer.name])
    return cut_off(world, who, seconds=drawn.uniform(300, 2400))


def cut_off(world: "World", who: str, *, seconds: float) -> str:
    """Takes a program's way to the hub away."""

    def make(_inner: random.Random, _seen: RecordedRequest) -> NetworkTrouble:
        world.laws.unanswered(who)
        return NetworkTrouble(unsent=True)

    until = world_loop().time() + seconds
    world.storm.weather.append(Weather(name=CUT_OFF, who=who, until=until, chance=1.0, make=make))
    return f"{who} for {seconds:.0f} s"


@kind(4)
def _slow_answers(world: "World", drawn: random.Random) -> str:
    def make(inner: random.Random, _seen: RecordedRequest) -> NetworkTrouble:
        return NetworkTrouble(
            slow=inner.uniform(0.2, 12.0), late=inner.choice([0.0, inner.uniform(0, 3)])
        )

    return _weather(world, drawn, make, name="slow answer")


@kind(3)
def _late_requests(world: "World", drawn: random.Random) -> str:
    """A queue of the API server holds writes up: they take effect after their sender gave up."""

    def make(inner: random.Random, seen: RecordedRequest) -> NetworkTrouble:
        return NetworkTrouble(late=inner.uniform(3.0, 50.0)) if seen.method in WRITES else NONE

    return _weather(world, drawn, make, name="late request", chance=(0.1, 0.8))


@kind(4)
def _late_events(world: "World", drawn: random.Random) -> str:
    """The watch cache of an API server is behind: watches of one kind say everything late, in
    order.
    """
    plural, lag = drawn.choice(LAGGING), drawn.choice([2.0, 8.0, 30.0, 100.0])
    seconds = drawn.uniform(60, 1200)
    slow = [each.watch for each in world.hub.opened if each.target.plural == plural]

    def end() -> None:
        world.storm.lags -= 1
        for watch in slow:
            watch.lag = 0.0

    world.storm.lags += 1
    for watch in slow:
        watch.lag = lag
    later(seconds, end)
    world.laws.late(plural, seconds=lag + seconds)
    return f"{plural} {lag:.0f} s late for {seconds:.0f} s"


@kind(3)
def _cut_watches(world: "World", drawn: random.Random) -> str:
    def make(inner: random.Random, seen: RecordedRequest) -> NetworkTrouble:
        return NetworkTrouble(cut=inner.uniform(0.0, 60.0)) if "watch" in seen.query else NONE

    for opened in list(world.hub.opened):
        if drawn.random() < 0.5:
            opened.watch.end(broken=True)
    return _weather(world, drawn, make, name="cut watch", chance=(0.3, 1.0))


@kind(4)
def _stale_lists(world: "World", drawn: random.Random) -> str:
    """Another API server, which is behind, answers lists."""

    def make(_inner: random.Random, seen: RecordedRequest) -> NetworkTrouble:
        return (
            NetworkTrouble(other=True)
            if seen.method == "GET" and "watch" not in seen.query
            else NONE
        )

    world.hub.behind = (world.hub.version, world.hub.backup())
    for opened in list(world.hub.opened):
        if drawn.random() < 0.3:
            opened.watch.end(broken=True)
    length = drawn.uniform(5, 60)
    world.storm.weather.append(
        Weather(
            name="stale list",
            who=drawn.choice(["reconciler-", "agent/", "hub-scorer", ""]),
            until=world_loop().time() + length,
            chance=0.7,
            make=make,
            drawn=random.Random(drawn.random()),
        )
    )
    return f"for {length:.0f} s"


@kind()
def _silent_watches(world: "World", drawn: random.Random) -> str:
    """Open watches stay open and say nothing more: neither events nor bookmarks."""
    count = 0
    for opened in list(world.hub.opened):
        if drawn.random() < 0.2:
            opened.watch.mute()
            count += 1
    world.touch()
    return f"{count} watches" if count else ""


@kind(5)
def _forbidden(world: "World", drawn: random.Random) -> str:
    """Somebody takes a right away for a while, or a policy of one namespace refuses writes."""
    who = drawn.choice(["reconciler-", "reconciler-", "reconciler-", "agent/", "hub-scorer"])
    path = drawn.choice(RIGHTS[who])
    if path == "/addonplacementscores" and drawn.random() < 0.5:
        path = f"/namespaces/{drawn.choice(world.sources.clusters)}{path}"
    length = drawn.choice([drawn.uniform(30, 900), drawn.uniform(300, 3000)])
    only_writes = drawn.random() < 0.5 and path != f"/configmaps/{MAINTENANCE_CONFIGMAP}"

    def make(_inner: random.Random, seen: RecordedRequest) -> NetworkTrouble:
        return _refused(403, "forbidden") if seen.method in WRITES or not only_writes else NONE

    weather = Weather(
        name="403", who=who, until=0.0, chance=1.0, make=make, place=RequestPlace(path=path)
    )
    when = _begin(world, drawn, weather, seconds=length)
    return f"{who} may not {'write' if only_writes else 'touch'} {path} for {length:.0f} s{when}"


@kind()
def _sources_fail(world: "World", drawn: random.Random) -> str:
    def make(inner: random.Random, _seen: RecordedRequest) -> NetworkTrouble:
        return inner.choice(
            [_refused(503, "overloaded"), NetworkTrouble(unsent=True), NetworkTrouble(slow=40.0)]
        )

    host = drawn.choice([fleet.SOURCE_HOST, fleet.CENTRAL_HOST])
    who = drawn.choice(
        ["agent/", "", drawn.choice([f"agent/{name}" for name in world.sources.clusters])]
    )
    length = drawn.uniform(60, 3000)
    world.storm.weather.append(
        Weather(
            name="source",
            who=who,
            host=host,
            until=world_loop().time() + length,
            chance=1.0,
            make=make,
            drawn=random.Random(drawn.random()),
        )
    )
    return f"{host} for {who or 'everybody'} for {length:.0f} s"


# Git.


def _git_weather(
    world: "World",
    drawn: random.Random,
    name: str,
    make: Callable[[random.Random, RecordedRequest], NetworkTrouble],
) -> str:
    length = drawn.uniform(30, 2000)
    world.storm.weather.append(
        Weather(
            name=name,
            who="reconciler-",
            host=git.HOST,
            until=world_loop().time() + length,
            chance=drawn.choice([0.3, 1.0]),
            make=make,
            drawn=random.Random(drawn.random()),
        )
    )
    return f"for {length:.0f} s"


@kind()
def _git_away(world: "World", drawn: random.Random) -> str:
    def make(inner: random.Random, _seen: RecordedRequest) -> NetworkTrouble:
        return inner.choice(
            [_refused(503, "overloaded"), NetworkTrouble(unsent=True), NetworkTrouble(slow=200.0)]
        )

    return _git_weather(world, drawn, "git away", make)


@kind()
def _push_refused(world: "World", drawn: random.Random) -> str:
    """As when somebody else pushed first, or the credentials do not suffice."""

    def make(inner: random.Random, seen: RecordedRequest) -> NetworkTrouble:
        return _refused(inner.choice([409, 403]), "refused") if seen.method == "PUSH" else NONE

    return _git_weather(world, drawn, "push refused", make)


@kind(3)
def _push_lost(world: "World", drawn: random.Random) -> str:
    """The server takes a push, perhaps late, and its answer is lost."""

    def make(inner: random.Random, seen: RecordedRequest) -> NetworkTrouble:
        if seen.method != "PUSH":
            return NONE
        late = inner.choice([0.0, 0.0, inner.uniform(5, 90)])
        return NetworkTrouble(lost=True, slow=inner.choice([0.0, 30.0]), late=late)

    return _git_weather(world, drawn, "push lost", make)


@kind(1)
def _state_branch_deleted(world: "World", _drawn: random.Random) -> str:
    name = "gitops-dsf-state"
    return name if world.repository.branches.pop(name, None) else ""


# Programs.


def _some_pod(world: "World", drawn: random.Random) -> "ProgramPod":
    return drawn.choice(
        [*world.reconcilers, *world.reconcilers, world.leader or world.reconcilers[0], *world.pods]
    )


def _some_request(drawn: random.Random) -> tuple[RequestPlace, int]:
    """What kind of request, and a number: most requests renew the Lease, so others are asked for by
    name.
    """
    if drawn.random() < 0.4:
        return EVERYWHERE, drawn.randint(1, 60)
    push = RequestPlace(path="/fleet.git")
    return drawn.choice([*PLACES, push, push]), drawn.randint(1, 6)


@kind(5)
def _kill(world: "World", drawn: random.Random) -> str:
    pod, back = _some_pod(world, drawn), drawn.choice([2.0, 12.0, 60.0, 300.0])
    pod.kill(back=back)
    return f"{pod.name}, back after {back:.0f} s"


@kind(6)
def _kill_at_request(world: "World", drawn: random.Random) -> str:
    """Around one of its next requests: before it is sent, on the way, or after it took effect."""
    pod = world.leader or world.reconcilers[0]
    place, count = _some_request(drawn)
    after, back = drawn.choice([0.0, 0.0005, 0.004, 0.02]), drawn.choice([2.0, 12.0, 60.0])

    def act() -> None:
        if after:
            later(after, pod.kill)
        else:
            pod.kill(back=back)

    trigger = RequestTrigger(who=pod.name, count=count, act=act, storm=world.storm, place=place)
    world.storm.triggers.append(trigger)
    return f"{pod.name} {after * 1000:.1f} ms after its request {count} {place}"


@kind(5)
def _freeze(world: "World", drawn: random.Random) -> str:
    pod, seconds = _some_pod(world, drawn), drawn.choice([3.0, 11.0, 14.0, 20.0, 90.0, 700.0])
    frozen = pod.program
    pod.freeze()
    later(seconds, world.thaw, pod, frozen)
    return f"{pod.name} for {seconds:.0f} s"


@kind(5)
def _freeze_at_request(world: "World", drawn: random.Random) -> str:
    pod = world.leader or world.reconcilers[0]
    place, count = _some_request(drawn)
    seconds = drawn.choice([drawn.uniform(10, 18), drawn.uniform(10, 18), 20.0, 90.0, 400.0])

    def act() -> None:
        frozen = pod.program
        pod.freeze()
        later(seconds, world.thaw, pod, frozen)

    trigger = RequestTrigger(who=pod.name, count=count, act=act, storm=world.storm, place=place)
    world.storm.triggers.append(trigger)
    return f"{pod.name} at its request {count} {place} for {seconds:.0f} s"


@kind(3)
def _upgrade(world: "World", drawn: random.Random) -> str:
    """A rollout that lasts: one replica is of the older version, and leadership goes back and
    forth.
    """
    if world.older:
        return ""
    number, seconds = drawn.randrange(2), drawn.uniform(300, 2400)
    world.older.add(number)
    world.reconcilers[number].kill(back=2.0)
    for _ in range(drawn.randint(1, 5)):
        later(drawn.uniform(0, seconds), world.change_leader)
    later(seconds, world.upgrade, number)
    return f"reconciler-{number} is older for {seconds:.0f} s"


@kind()
def _clock_jumps(world: "World", drawn: random.Random) -> str:
    pod = _some_pod(world, drawn)
    pod.skew = pod.program.skew = drawn.choice([-2.0, 2.0, 1.3, -3600.0, 3600.0, 86_400.0])
    return f"the wall clock of {pod.name} is {pod.skew:+.1f} s off"


@kind(3)
def _other_controllers(world: "World", drawn: random.Random) -> str:
    pod = drawn.choice([world.scheduler, world.sets])
    back = drawn.choice([5.0, 26.0, 163.0, 900.0])
    pod.kill(back=back)
    world.scheduler_restarts(pod, back)
    return f"{pod.name} is away for {back:.0f} s"


# The hub's objects.


@kind()
def _namespace_terminates(world: "World", drawn: random.Random) -> str:
    name = drawn.choice(world.sources.clusters)
    world.hub.terminating.add(name)
    seconds = drawn.uniform(30, 600)
    later(seconds, world.hub.terminating.discard, name)
    return f"{name} for {seconds:.0f} s"


@kind(3)
def _replaced(world: "World", drawn: random.Random) -> str:
    """An object is deleted, and made again with another UID."""
    plural = drawn.choice(
        [
            "applications",
            "applicationsets",
            "placements",
            "addonplacementscores",
            "placementdecisions",
        ]
    )
    items = world.hub.of(plural)
    if not items:
        return ""
    item = drawn.choice(items)
    meta = item["metadata"]
    name, namespace = meta["name"], meta.get("namespace", "")
    if name == MOVES_SCORE or name in world.foreign_names:
        return ""
    seconds = drawn.choice([0.0, 0.5, 8.0, 40.0])
    world.hub.erase("people", plural, name, namespace=namespace)
    if plural in {"applicationsets", "placements"}:
        # Argo CD heals what is in git.
        later(seconds, world.sync.heal)
        world.laws.pardon(
            "last-copy",
            "admission",
            "left",
            "healthy-first",
            "only-copies",
            seconds=120 + seconds,
            why="deleted",
        )
    return f"{plural} {namespace}/{name}"


@kind()
def _ledger_edited(world: "World", drawn: random.Random) -> str:
    item = world.hub.objects.get(("configmaps", fleet.HUB, MOVES_SCORE))
    if item is None:
        return ""
    how = drawn.choice(["deleted", "emptied", "foreign key", "nonsense", "old"])
    if how == "deleted":
        world.hub.erase("people", "configmaps", MOVES_SCORE, namespace=fleet.HUB)
    else:
        data = dict(item.get("data") or {})
        if how == "emptied":
            data = {}
        elif how == "foreign key":
            data["people"] = "x" * drawn.randint(1, 1000)
        elif how == "nonsense":
            data["ledger"] = "{"
            later(drawn.uniform(20, 200), world.repair_ledger)
        else:
            data["ledger"] = drawn.choice(world.old_ledgers or [data.get("ledger", "{}")])
        world.hub.write(
            "people", "configmaps", MOVES_SCORE, {**item, "data": data}, namespace=fleet.HUB
        )
    world.touch()
    if how != "foreign key":
        world.laws.pardon(*BY_THE_LEDGER, seconds=1800, why=how)
    return how


@kind(4)
def _lease_edited(world: "World", drawn: random.Random) -> str:
    key = ("leases", fleet.HUB, RECONCILER)
    item = world.hub.objects.get(key)
    if item is None:
        return ""
    how, leader = drawn.choice(["annotated", "annotated", "annotated", "deleted"]), world.leader
    if how == "annotated":

        def act() -> None:
            world.annotate(
                f"/apis/coordination.k8s.io/v1/namespaces/{fleet.HUB}/leases/{RECONCILER}"
            )
            world.laws.annotated()

        if leader is None:
            return ""
        # Between its reading and its writing: at any other time nothing would come of it.
        trigger = RequestTrigger(
            who=leader.name,
            count=1,
            act=act,
            storm=world.storm,
            place=RequestPlace(path="/leases/"),
            writes=True,
        )
        world.storm.triggers.append(trigger)
        later(60.0, trigger.expire)
    else:
        world.hub.erase("people", "leases", RECONCILER, namespace=fleet.HUB)
        # Whoever finds no Lease takes it: Kubernetes' own leader election cannot do better.
        world.laws.pardon("fence", seconds=30, why="the Lease was deleted")
    return how


@kind(1)
def _restore(world: "World", drawn: random.Random) -> str:
    """etcd goes back to a backup of some minutes ago."""
    world.touch()
    if not world.backups:
        return ""
    age, objects = drawn.choice(list(world.backups))
    world.hub.restore(objects)
    world.laws.pardon(
        *BY_THE_LEDGER,
        "left",
        "fence",
        "removed",
        "last-copy",
        "healthy-first",
        "only-copies",
        "foreign",
        "collected",
        seconds=1800,
        why="restored",
    )
    return f"to the state of {world_loop().time() - age:.0f} s ago"


# Clusters and scores.


@kind(5)
def _cluster_lost(world: "World", drawn: random.Random) -> str:
    here = [name for name in world.sources.clusters if world.reachable(name)]
    if len(here) < 3:
        return ""
    name, seconds = drawn.choice(here), drawn.choice([100.0, 500.0, 1500.0, 4000.0])
    world.registration.lose(name)
    later(seconds, world.registration.find, name)
    return f"{name} for {seconds:.0f} s"


@kind()
def _cluster_detached(world: "World", drawn: random.Random) -> str:
    """And joined again later. Sometimes while the leader writes another cluster."""
    drained = {drain.cluster for drain in world.sources.drains}
    here = [name for name in world.sources.clusters if name not in drained]
    if len(world.sources.clusters) < 4 or not here:
        return ""
    name, back, leader = drawn.choice(here), drawn.uniform(600, 2400), world.leader

    def act() -> None:
        drained = {drain.cluster for drain in world.sources.drains}
        if (
            name in world.sources.clusters
            and name not in drained
            and len(world.sources.clusters) > 3
        ):
            world.detach(name, back=back)

    if leader is None or drawn.random() < 0.4:
        act()
        return name
    trigger = RequestTrigger(
        who=leader.name,
        count=1,
        act=act,
        storm=world.storm,
        place=RequestPlace(path="/managedclusters/"),
        writes=True,
    )
    world.storm.triggers.append(trigger)
    later(WAIT_SECONDS, trigger.expire)
    return f"{name} while {leader.name} writes another one"


@kind(4)
def _scores_swing(world: "World", drawn: random.Random) -> str:
    cluster, scorer = drawn.choice(world.sources.clusters), drawn.choice(world.sources.scorers)
    value, seconds = drawn.choice([-200.0, 0.0, 100.0, 500.0, 99.9]), drawn.uniform(300, 3000)
    world.truth.lies[cluster, scorer] = value
    later(seconds, world.truth.lies.pop, (cluster, scorer), None)
    return f"{scorer} of {cluster} is {value} for {seconds:.0f} s"


@kind(5)
def _applications_do_badly(world: "World", drawn: random.Random) -> str:
    """On some clusters, for a while, as the scorer by which moves are verified says."""
    if not world.sources.verified:
        return ""
    names = world.sources.clusters
    clusters = drawn.sample(names, drawn.randint(1, max(1, len(names) // 2)))
    value, seconds = drawn.choice([-50.0, 20.0, 49.0]), drawn.uniform(300, 5000)
    for name in clusters:
        world.truth.lies[name, fleet.VERIFIER] = value
        later(seconds, world.truth.lies.pop, (name, fleet.VERIFIER), None)
    return f"on {', '.join(clusters)} for {seconds:.0f} s"


@kind(3)
def _series_missing(world: "World", drawn: random.Random) -> str:
    scorer, seconds = drawn.choice(world.sources.all_scorers), drawn.uniform(300, 4000)
    names = world.sources.clusters
    clusters = names if drawn.random() < 0.3 else [drawn.choice(names)]
    for name in clusters:
        world.truth.missing.add((name, scorer))
        later(seconds, world.truth.missing.discard, (name, scorer))
    return f"{scorer} of {', '.join(clusters)} for {seconds:.0f} s"


# Applications.


@kind(3)
def _unhealthy_copies(world: "World", drawn: random.Random) -> str:
    seconds = drawn.uniform(200, 2000)
    world.applications.never_healthy, world.applications.degraded = drawn.choice(
        [(0.5, 0.0), (0.0, 0.6), (0.3, 0.3)]
    )

    def end() -> None:
        world.applications.never_healthy = world.applications.degraded = 0.0

    later(seconds, end)
    return f"new copies for {seconds:.0f} s"


@kind(3)
def _copy_breaks(world: "World", drawn: random.Random) -> str:
    items = world.hub.of("applications", fleet.ARGOCD)
    if not items:
        return ""
    name: str = drawn.choice(items)["metadata"]["name"]
    world.applications.break_down(name)
    return name


@kind()
def _hard_refresh(world: "World", drawn: random.Random) -> str:
    """Somebody presses the button in Argo CD, many times."""
    items = world.hub.of("applications", fleet.ARGOCD)
    for item in drawn.sample(items, min(3, len(items))):
        metadata = {**item["metadata"], "annotations": {"argocd.argoproj.io/refresh": "hard"}}
        name = item["metadata"]["name"]
        world.hub.write(
            "people", "applications", name, {**item, "metadata": metadata}, namespace=fleet.ARGOCD
        )
    return f"{min(3, len(items))} Applications" if items else ""


# The fleet repository.


@kind(3)
def _pace_switched(world: "World", drawn: random.Random) -> str:
    sources = world.sources
    if sources.drains:
        return ""
    world.merge(
        replace(sources, paced=not sources.paced),
        "the pace is removed" if sources.paced else "a pace",
    )
    return "off" if sources.paced else "on"


@kind(4)
def _maintenance(world: "World", drawn: random.Random) -> str:
    sources = world.sources
    if not sources.paced or len(sources.drains) >= 2:
        return ""
    name, action = (
        drawn.choice(sources.clusters),
        drawn.choice([MaintenanceAction.DRAIN, *MaintenanceAction]),
    )
    start = world_loop().wall() + drawn.uniform(0, 600)
    drain = MaintenanceDocument(
        cluster=name, action=action, start=start, end=start + drawn.uniform(600, 4000)
    )
    world.merge(replace(sources, drains=(*sources.drains, drain)), f"{action} {name}")

    def end() -> None:
        left = tuple(each for each in world.sources.drains if each != drain)
        if left != world.sources.drains:
            world.merge(replace(world.sources, drains=left), f"end of {action} {name}")

    later(drain.end - world_loop().wall() + drawn.uniform(-600, 600), end)
    return f"{action} {name}"


@kind()
def _scorer_removed(world: "World", drawn: random.Random) -> str:
    """And added again later."""
    if len(world.sources.scorers) < 2:
        return ""
    name = drawn.choice(world.sources.scorers)
    world.remove_scorer(name)
    later(drawn.uniform(2000, 4000), world.add_scorer, name)
    return name


@kind(3)
def _list_of_scorers(world: "World", drawn: random.Random) -> str:
    """A ConfigMap of the list of scorers is not the one of the others: Argo CD applies it late, or
    somebody deletes or edits it.
    """
    of_the_list = (INDEX_CONFIGMAP, *PART_CONFIGMAPS)
    keys = sorted(key for key in world.hub.objects if key[2] in of_the_list)
    if not keys:
        return ""
    key, seconds = drawn.choice(keys), drawn.uniform(20, 900)
    plural, namespace, name = key
    stored = world.hub.objects[key]
    how = drawn.choice(["missing", "stale", "edited", "replaced"])
    if how == "replaced":
        seconds = drawn.choice([0.0, 0.5, 8.0, 40.0])
    if how == "stale" and not _scorer_removed(world, drawn):
        return ""
    world.sync.hold(key, seconds=seconds)
    if how in {"missing", "replaced"}:
        world.hub.erase("people", plural, name, namespace=namespace)
    elif how == "edited":
        data = dict(stored["data"])
        changed = drawn.choice(sorted(data))
        if drawn.random() < 0.5:
            del data[changed]
        else:
            data[changed] = data[changed].replace("3", "4")
        world.hub.write("people", plural, name, {**stored, "data": data}, namespace=namespace)
    return f"{name} is {how} for {seconds:.0f} s"


@kind(3)
def _application_edited(world: "World", drawn: random.Random) -> str:
    """One is removed, or one is new, or one goes by another scorer."""
    sources = world.sources
    how = drawn.choice(["new", "removed", "other scorer", "stickiness"])
    applications = list(sources.applications)
    if how == "new":
        applications.append((f"new-{drawn.randrange(10**6)}", drawn.choice(sources.scorers)))
    elif how == "removed" and len(applications) > 3:
        applications.pop(drawn.randrange(len(applications)))
    elif how == "other scorer":
        number = drawn.randrange(len(applications))
        applications[number] = (applications[number][0], drawn.choice(sources.scorers))
    stickiness = drawn.choice([0, 10, 20]) if how == "stickiness" else sources.stickiness
    world.merge(replace(sources, applications=tuple(applications), stickiness=stickiness), how)
    return how


@kind(3)
def _placement_fought_over(world: "World", drawn: random.Random) -> str:
    """Somebody's script changes a Placement again and again: two clusters take turns."""
    items = world.hub.of("placements", fleet.ARGOCD)
    names = [each["metadata"]["name"] for each in items]
    names = [name for name in names if name not in world.fights]
    if not names or len(world.sources.clusters) < 3:
        return ""
    name, turns = drawn.choice(names), drawn.sample(world.sources.clusters, 2)
    every = drawn.choice([3.0, 4.0, 8.0, 20.0, 40.0])
    return fight(world, name, turns, every=every, seconds=drawn.uniform(100, 1500))


def fight(world: "World", name: str, turns: Sequence[str], *, every: float, seconds: float) -> str:
    """A script lets clusters take turns in a decision, while Argo CD heals the Placement."""
    end = world_loop().time() + seconds

    def turn(number: int) -> None:
        stored = world.hub.objects.get(("placements", fleet.ARGOCD, name))
        if stored is None or world_loop().time() > end or world.storm.is_calm:
            world.fights.pop(name, None)
            world.sync.heal()
            return
        labels = {"matchLabels": {"name": turns[number % len(turns)]}}
        only = {"requiredClusterSelector": {"labelSelector": labels}}
        changed = {**stored, "spec": {**stored["spec"], "predicates": [only]}}
        world.fights[name] = tuple(turns)
        world.hub.write("people", "placements", name, changed, namespace=fleet.ARGOCD)
        later(every, turn, number + 1)

    turn(0)
    return f"{name} between {' and '.join(turns)}, each for {every:.0f} s"

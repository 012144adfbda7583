"""A world whose faults are written down, in place of drawn ones.

Run one with `python -m tests.world.staged KIND@SECONDS ...`.

Kinds are those of the gallery, and some that leave nothing to chance. It prints the law that broke.
"""

import argparse
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from dsf_agent.configuration.settings import Waits
from gitops_dsf.hub.maintenance import MaintenanceAction
from gitops_dsf.hub.names import MAINTENANCE_CONFIGMAP
from gitops_dsf.hub.scorerlist import PART_CONFIGMAPS
from tests.support.agent.http import RecordedRequest
from tests.support.apiserver import failure
from tests.support.githubserver import Pull
from tests.world import faults, fleet, forgefaults, programs, run
from tests.world.faults import WRITES, DrawnFault, FaultKind, RequestPlace
from tests.world.fleet import MaintenanceDocument
from tests.world.loop import later, world_loop
from tests.world.network import NONE, NetworkTrouble
from tests.world.run import WorldOrder
from tests.world.world import Size

if TYPE_CHECKING:
    from tests.world.world import World

Way = Callable[["World", random.Random], Callable[[Pull], str]]
FORBIDDEN_SECONDS: Final = 5000.0


def _all(way: Way, world: "World", drawn: random.Random) -> str:
    """People do one thing to all open pull requests."""
    return ", ".join(way(world, drawn)(pull) for pull in world.forge.open_pulls)


def _page_drifts(world: "World", _drawn: random.Random) -> str:
    world.scoring.interval = 400
    return "for good"


def _branches_stay_forbidden(world: "World", _drawn: random.Random) -> str:
    return forgefaults.forbid_branches(world, seconds=FORBIDDEN_SECONDS)


def _meet(
    world: "World",
    make: Callable[[random.Random, RecordedRequest], NetworkTrouble],
    *,
    who: str,
    place: RequestPlace,
) -> None:
    """Each such request of these programs meets something from now on."""
    weather = faults.Weather(
        name="staged",
        who=who,
        until=world_loop().time() + FORBIDDEN_SECONDS,
        chance=1.0,
        make=make,
        place=place,
    )
    world.storm.weather.append(weather)


def _forbid(world: "World", _drawn: random.Random, *, path: str, only_writes: bool) -> str:
    """The reconciler may not touch these objects."""
    refused = NetworkTrouble(refuse=failure(403, "forbidden"))

    def make(_drawn: random.Random, seen: RecordedRequest) -> NetworkTrouble:
        return refused if seen.method in WRITES or not only_writes else NONE

    _meet(world, make, who="reconciler-", place=RequestPlace(path=path))
    return path


def _items_forbidden(world: "World", drawn: random.Random) -> str:
    """A policy of the namespace of one cluster refuses the reconciler's items."""
    path = f"/namespaces/{world.sources.clusters[0]}/addonplacementscores"
    return _forbid(world, drawn, path=path, only_writes=True)


def _drain(world: "World", _drawn: random.Random) -> str:
    """The cluster with most applications is drained."""
    name = _fullest(world)
    start = world_loop().wall()
    drain = MaintenanceDocument(
        cluster=name, action=MaintenanceAction.DRAIN, start=start, end=start + 1200.0
    )
    world.merge(replace(world.sources, drains=(drain,)), f"Drain {name}")
    return name


def _fullest(world: "World") -> str:
    counts = Counter(cluster for _, cluster in world.applications.workloads)
    return counts.most_common(1)[0][0]


def _target_is_lost(world: "World", _drawn: random.Random) -> str:
    """A patient application leaves a lost cluster. When its new copy is healthy, that cluster is
    lost as well, and the first one comes back.
    """
    name = min(world.sources.patient)
    [first] = (cluster for each, cluster in world.applications.workloads if each == name)
    world.registration.lose(first)

    def look() -> None:
        later_on = {cluster for each, cluster in world.applications.workloads if each == name}
        if len(later_on) < 2:
            later(5.0, look)
            return
        [second] = later_on - {first}
        for scorer in world.sources.scorers:
            # It does not go back.
            world.truth.lies[first, scorer] = -200.0
        later(100.0, world.registration.lose, second)
        later(300.0, world.registration.find, first)
        later(3000.0, world.registration.find, second)

    look()
    return f"{name} leaves {first}"


def _deletions_are_late(world: "World", _drawn: random.Random) -> str:
    _meet(
        world,
        lambda drawn, _seen: NetworkTrouble(late=drawn.uniform(15.0, 45.0)),
        who="reconciler-",
        place=RequestPlace(path="/applications/", method="DELETE"),
    )
    return "all"


def _fought_slowly(world: "World", _drawn: random.Random) -> str:
    """So slowly that each turn makes a copy healthy, and deletes the other one."""
    name, _ = world.sources.applications[0]
    return faults.fight(world, name, world.sources.clusters[:2], every=20.0, seconds=2400.0)


def _fought_over(world: "World", _drawn: random.Random) -> str:
    """And another application should move meanwhile, between clusters that nobody fights over."""
    name, other = (each for each, _ in world.sources.applications[:2])
    [place] = (cluster for each, cluster in world.applications.workloads if each == other)
    one, two, best, *_ = (each for each in world.sources.clusters if each != place)
    scorer = dict(world.sources.applications)[other]
    world.truth.lies[place, scorer], world.truth.lies[best, scorer] = -100.0, 100.0
    return faults.fight(world, name, (one, two), every=3.0, seconds=2400.0)


def _hub_scorer_is_cut_off(world: "World", _drawn: random.Random) -> str:
    """Meanwhile a half of its clusters have no series, in each cycle another half."""
    [scorer] = world.sources.central
    until = world_loop().time() + FORBIDDEN_SECONDS

    def flap(turn: int) -> None:
        for number, cluster in enumerate(world.sources.clusters):
            if number % 2 == turn and world_loop().time() < until:
                world.truth.missing.add((cluster, scorer))
            else:
                world.truth.missing.discard((cluster, scorer))
        if world_loop().time() < until:
            later(float(world.size.interval), flap, 1 - turn)

    flap(0)
    return faults.cut_off(world, world.hub_scorer.name, seconds=FORBIDDEN_SECONDS)


def _removed_while_written(world: "World", _drawn: random.Random) -> str:
    """Writes of a score take long, and its scorer is removed right after one has begun."""
    cluster, scorer = world.sources.clusters[0], world.sources.scorers[1]
    place = RequestPlace(path=f"/{cluster}/addonplacementscores/{scorer}", method="PATCH")
    _meet(
        world, lambda _drawn, _seen: NetworkTrouble(slow=14.0), who=f"agent/{cluster}", place=place
    )

    def remove() -> None:
        volume = world.delivery.volume(cluster)
        summaries = json.loads((volume.directory / "summaries").read_bytes())
        volume.put(*(each for each in summaries if each["name"] != scorer))
        world.remove_scorer(scorer)

    trigger = faults.RequestTrigger(
        who=f"agent/{cluster}", count=1, act=remove, storm=world.storm, place=place
    )
    world.storm.triggers.append(trigger)
    return f"{scorer} of {cluster}"


def _scorer_removed(world: "World", _drawn: random.Random) -> str:
    """For good: it is not added again."""
    name = world.sources.scorers[0]
    world.remove_scorer(name)
    return name


def _raced(world: "World", _drawn: random.Random, *, who: str, place: RequestPlace) -> str:
    """Somebody writes the object right before each such write of these programs takes effect."""
    _meet(
        world,
        lambda _drawn, seen: NetworkTrouble(first=lambda: world.annotate(seen.path)),
        who=who,
        place=place,
    )
    return str(place)


def _renewals_are_slow(world: "World", _drawn: random.Random) -> str:
    """Now and then the renewal of a leader is answered late, and then it cannot renew."""
    for pod in world.reconcilers:
        _meet(
            world, _slow_at_times(), who=pod.name, place=RequestPlace(path="/leases/", method="PUT")
        )
    return "of both replicas"


def _slow_at_times() -> Callable[[random.Random, RecordedRequest], NetworkTrouble]:
    """One request in two minutes, and those right after it do not arrive."""
    slow_at = -math.inf

    def make(_drawn: random.Random, _seen: RecordedRequest) -> NetworkTrouble:
        nonlocal slow_at
        now = world_loop().time()
        if now > slow_at + 120.0:
            slow_at = now
            return NetworkTrouble(slow=9.0)
        return NetworkTrouble(unsent=True) if now < slow_at + 40.0 else NONE

    return make


def _frozen_at_fetches(world: "World", _drawn: random.Random) -> str:
    """Now and then the leader is frozen while it fetches, so long that it leads no more."""
    until = world_loop().time() + FORBIDDEN_SECONDS

    def watch() -> None:
        pod = world.leader or world.reconcilers[0]

        def freeze() -> None:
            later(20.0, world.thaw, pod, pod.program)
            pod.freeze()
            if world_loop().time() < until:
                later(150.0, watch)

        place = RequestPlace(path="/fleet.git", method="FETCH")
        trigger = faults.RequestTrigger(
            who=pod.name, count=1, act=freeze, storm=world.storm, place=place
        )
        world.storm.triggers.append(trigger)

    watch()
    return "for 20 s each"


def _late(world: "World", _drawn: random.Random, *, plural: str, seconds: float) -> str:
    """Watches of a kind are behind."""
    for opened in world.hub.opened:
        if opened.target.plural == plural:
            opened.watch.lag = seconds
    world.storm.lags += 1
    world.laws.late(plural, seconds=FORBIDDEN_SECONDS)
    return "for good"


def _cluster_lies(world: "World", _drawn: random.Random) -> str:
    """A cluster says that it is the best one, and applications do badly there."""
    name = world.sources.clusters[0]
    for scorer in world.sources.scorers:
        world.truth.lies[name, scorer] = 100.0
    world.truth.lies[name, fleet.VERIFIER] = 20.0
    return name


def _never_a_score(world: "World", _drawn: random.Random) -> str:
    """The hub scorer never has series of one cluster, so it writes why there is no score."""
    [scorer] = world.sources.central
    name = world.sources.clusters[0]
    world.truth.missing.add((name, scorer))
    return f"{scorer} of {name}"


def _list_without_a_part(world: "World", _drawn: random.Random) -> str:
    """The part of the list that has the hub scorer's scorer is deleted, and comes back late."""
    [scorer] = world.sources.central
    [key] = (
        key
        for key, item in world.hub.objects.items()
        if key[2] in PART_CONFIGMAPS and scorer in item["data"]
    )
    world.sync.hold(key, seconds=900.0)
    world.hub.erase("people", key[0], key[2], namespace=key[1])
    return key[2]


STAGED: Final[dict[str, faults.Act]] = {
    "all-closed": partial(_all, lambda world, _drawn: world.people.close),
    "all-pushed-to": partial(_all, lambda world, drawn: partial(world.people.push, drawn=drawn)),
    "page-drifts": _page_drifts,
    "branches-stay-forbidden": _branches_stay_forbidden,
    "maintenance-unreadable": partial(
        _forbid, path=f"/configmaps/{MAINTENANCE_CONFIGMAP}", only_writes=False
    ),
    "taints-forbidden": partial(_forbid, path="/managedclusters/", only_writes=True),
    "items-forbidden": _items_forbidden,
    "refreshes-forbidden": partial(_forbid, path="/applicationsets/", only_writes=True),
    "scorer-goes": _scorer_removed,
    "deletions-raced": partial(
        _raced,
        who="agent/",
        place=RequestPlace(path="/addonplacementscores/", method="DELETE"),
    ),
    "taints-raced": partial(
        _raced, who="reconciler-", place=RequestPlace(path="/managedclusters/", method="PATCH")
    ),
    "renewals-are-slow": _renewals_are_slow,
    "frozen-at-fetches": _frozen_at_fetches,
    "decisions-are-late": partial(_late, plural="placementdecisions", seconds=25.0),
    "drained": _drain,
    "target-is-lost": _target_is_lost,
    "deletions-are-late": _deletions_are_late,
    "hub-scorer-is-cut-off": _hub_scorer_is_cut_off,
    "removed-while-written": _removed_while_written,
    "scores-are-late": partial(_late, plural="addonplacementscores", seconds=90.0),
    "fought-over": _fought_over,
    "fought-slowly": _fought_slowly,
    "cluster-lies": _cluster_lies,
    "never-a-score": _never_a_score,
    "list-without-a-part": _list_without_a_part,
}


def staged(order: WorldOrder, plan: Sequence[tuple[str, float]]) -> run.WorldResult:
    """Runs a world with exactly these faults, at these seconds.

    It is the end of this process' randomness.
    """
    for name, act in STAGED.items():
        faults.GALLERY[name] = FaultKind(act=act)
    written = tuple(
        DrawnFault(number=number, at=at, kind=kind) for number, (kind, at) in enumerate(plan)
    )
    for module, attribute, replacement in (
        (faults, "plan", lambda **_how: written),
        # As in production: a staged world is small.
        (programs, "WAITS", Waits()),
    ):
        setattr(module, attribute, replacement)
    return run.run_apart(order)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.world.staged", description=__doc__)
    parser.add_argument("plan", nargs="+", metavar="KIND@SECONDS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--clusters", type=int, default=3)
    parser.add_argument("--applications", type=int, default=3)
    parser.add_argument("--interval", type=int, default=Size().interval)
    parser.add_argument("--verified", action="store_true")
    flags = parser.parse_args()
    plan = [(kind, float(at)) for kind, _, at in (word.partition("@") for word in flags.plan)]
    size = Size(
        clusters=flags.clusters,
        applications=flags.applications,
        interval=flags.interval,
        is_verified=flags.verified,
    )
    result = staged(WorldOrder(seed=flags.seed, hours=flags.hours, size=size), plan)
    print("\n".join(run.told(result)))
    return 1 if result.law else 0


if __name__ == "__main__":
    sys.exit(main())

"""Faults of proposals.

The forge and its people, the page of the scoring API, and clusters that change on the hub alone.
"""

import random
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tests.support.agent.http import RecordedRequest, SentReply
from tests.support.githubserver import Pull
from tests.world import fleet, git
from tests.world.faults import WRITES, Weather, kind
from tests.world.forge import BRANCHES
from tests.world.loop import PROGRAM, later, world_loop
from tests.world.network import NONE, NetworkTrouble

if TYPE_CHECKING:
    from tests.world.world import World


def _weather(
    world: "World",
    drawn: random.Random,
    name: str,
    host: str,
    make: Callable[[random.Random, RecordedRequest], NetworkTrouble],
    *,
    seconds: tuple[float, float] = (30, 2000),
) -> str:
    length, likely = drawn.uniform(*seconds), drawn.choice([0.3, 1.0])
    world.storm.weather.append(
        Weather(
            name=name,
            who="",
            host=host,
            until=world_loop().time() + length,
            chance=likely,
            make=make,
            drawn=random.Random(drawn.random()),
        )
    )
    return f"{likely:.0%} for {length:.0f} s"


def _answer(status: int, message: str) -> NetworkTrouble:
    return NetworkTrouble(refuse=SentReply.of({"message": message}, status=status))


# The forge.


@kind()
def _forge_refuses(world: "World", drawn: random.Random) -> str:
    """It has trouble, or the token expired, or may not open pull requests."""
    status = drawn.choice([500, 502, 503, 401, 403, 404, 422])
    only_writes = drawn.random() < 0.5

    def make(_drawn: random.Random, seen: RecordedRequest) -> NetworkTrouble:
        return _answer(status, "Sorry") if seen.method in WRITES or not only_writes else NONE

    how = _weather(world, drawn, "forge refuses", fleet.FORGE_HOST, make)
    return f"{status} to {'writes' if only_writes else 'everything'}, {how}"


@kind()
def _forge_limits(world: "World", drawn: random.Random) -> str:
    """Its rate limit is met."""

    def make(inner: random.Random, _seen: RecordedRequest) -> NetworkTrouble:
        seconds = inner.randint(60, 900)
        program = PROGRAM.get()
        assert program is not None
        world.proposals.limited(program, seconds)
        message = {"message": "You have exceeded a secondary rate limit"}
        status, headers = inner.choice([403, 429]), {"retry-after": str(seconds)}
        return NetworkTrouble(refuse=SentReply.of(message, status=status, headers=headers))

    return _weather(world, drawn, "forge limits", fleet.FORGE_HOST, make)


@kind(3)
def _forge_answers_lost(world: "World", drawn: random.Random) -> str:
    """It opens or closes a pull request, and its answer is lost."""

    def make(inner: random.Random, seen: RecordedRequest) -> NetworkTrouble:
        return (
            NetworkTrouble(lost=True, slow=inner.choice([0.0, 30.0]))
            if seen.method in WRITES
            else NONE
        )

    return _weather(world, drawn, "forge answer lost", fleet.FORGE_HOST, make)


@kind()
def _forge_slow(world: "World", drawn: random.Random) -> str:
    def make(inner: random.Random, _seen: RecordedRequest) -> NetworkTrouble:
        return NetworkTrouble(
            slow=inner.uniform(1, 80), late=inner.choice([0.0, inner.uniform(0, 20)])
        )

    return _weather(world, drawn, "forge slow", fleet.FORGE_HOST, make)


@kind(3)
def _branches_forbidden(world: "World", drawn: random.Random) -> str:
    """A rule of the repository forbids the branches of proposals, until somebody changes the
    rule.
    """
    return forbid_branches(world, seconds=drawn.uniform(600, 9000))


def forbid_branches(world: "World", *, seconds: float) -> str:
    def make(_inner: random.Random, seen: RecordedRequest) -> NetworkTrouble:
        is_proposal = seen.method == "PUSH" and f'"{BRANCHES}'.encode() in seen.body
        return NetworkTrouble(refuse=SentReply(status=403)) if is_proposal else NONE

    until = world_loop().time() + seconds
    world.storm.weather.append(
        Weather(name="branch forbidden", who="", host=git.HOST, until=until, chance=1.0, make=make)
    )
    return f"for {seconds:.0f} s"


# People.


@kind(6)
def _reviewed(world: "World", drawn: random.Random) -> str:
    """Somebody goes through the pull requests: merges, closes or edits one, deletes its branch, or
    pushes to it.
    """
    people, told = world.people, list[str]()
    push = partial(people.push, drawn=drawn)
    ways: list[Callable[[Pull], str]] = [
        people.merge,
        people.close,
        people.edit,
        people.delete,
        push,
        push,
    ]
    for pull in world.forge.open_pulls:
        told.append(drawn.choice(ways)(pull))
    return ", ".join(filter(None, told))


# What changes on the hub and not in git.


@kind(4)
def _page_changed(world: "World", drawn: random.Random) -> str:
    """The scoring API is deployed with another page, sometimes only for a while."""
    before = world.scoring.interval
    world.scoring.interval = drawn.choice([200, 300, 400])
    if drawn.random() < 0.4:
        later(drawn.uniform(20, 900), setattr, world.scoring, "interval", before)
    return f"its interval is {world.scoring.interval} s"


@kind()
def _page_broken(world: "World", drawn: random.Random) -> str:
    """The scoring API answers nothing, or something else."""

    def make(inner: random.Random, seen: RecordedRequest) -> NetworkTrouble:
        login = SentReply(body=b"<html>login</html>", headers={"Content-Type": "text/html"})
        ways = [_answer(503, "overloaded"), NetworkTrouble(unsent=True), NetworkTrouble(slow=40.0)]
        return inner.choice([*ways, NetworkTrouble(refuse=login)] if seen.method == "GET" else ways)

    return _weather(world, drawn, "page broken", fleet.PAGE_HOST, make)


@kind(3)
def _cluster_labelled(world: "World", drawn: random.Random) -> str:
    """Somebody labels a cluster on the hub."""
    items = world.hub.of("managedclusters")
    item = drawn.choice(items)
    meta = item["metadata"]
    labels = {**(meta.get("labels") or {}), "rack": drawn.choice("abc")}
    changed = {**item, "metadata": {**meta, "labels": labels}}
    world.hub.write("people", "managedclusters", meta["name"], changed)
    return f"{meta['name']} is in rack {labels['rack']}"


@kind()
def _cluster_leaves_the_hub(world: "World", drawn: random.Random) -> str:
    """Somebody detaches a cluster and leaves its file in git. It comes back later."""
    here = [name for name in world.sources.clusters if name in world.agents]
    drained = {drain.cluster for drain in world.sources.drains}
    here = [name for name in here if name not in drained]
    if len(world.agents) < 4 or not here:
        return ""
    name, back = drawn.choice(here), drawn.uniform(300, 3000)
    world.detach(name, back=back, in_git=False)
    return f"{name} for {back:.0f} s"


@kind()
def _configuration_deleted(world: "World", drawn: random.Random) -> str:
    """Somebody deletes the ConfigMap of an agent on its cluster. The work agent brings it back."""
    here = [name for name in world.sources.clusters if world.reachable(name)]
    if not here:
        return ""
    name = drawn.choice(here)
    return f"of {name} for {world.delivery.lose(name):.0f} s"

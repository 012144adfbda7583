"""What a world must reach when its faults have ended.

It is quiet, and equal to what a world without faults reaches.

Decisions are not compared one by one with another run, because the stickiness keeps whichever
cluster an application came to. What a world without faults reaches is a fixed point, and
`unsettled` names all that is not at it.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from dsf_wire.constants import MANAGED_BY_LABEL
from gitops_dsf.hub.moves.reasons import MoveReason
from gitops_dsf.hub.names import MAINTENANCE_TAINT, PLACEMENT_LABEL
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.hub.snapshots import file_format
from gitops_dsf.simulator import simulate_placement
from tests.world import fleet, ocm
from tests.world.laws import SOMEBODY, is_good, items_of, placement_of
from tests.world.loop import world_loop

if TYPE_CHECKING:
    from tests.world.world import World

BOUND_SECONDS: Final = 4 * 3600.0
"""From the end of the faults until everything is settled."""
QUIET_SECONDS: Final = 600.0
"""How long it must stay so."""
POINTS: Final = 5
"""By how much a published score may differ from the truth: the default dead band."""
STATE_BRANCH: Final = "gitops-dsf-state"
REQUESTS_PER_MINUTE: Final = {"reconciler": 240.0, "agent": 30.0, "hub-scorer": 60.0}
"""Of all replicas of a program in a quiet world."""


def calm(world: "World") -> None:
    """Ends all faults: everything is reachable, every program runs, and the fleet is what it was at
    first.
    """
    world.storm.calm()
    world.hub.terminating.clear()
    world.applications.never_healthy = world.applications.degraded = 0.0
    world.truth.still_since = world_loop().time()
    world.truth.lies.clear()
    world.truth.missing.clear()
    for name in sorted(world.registration.lost):
        world.registration.find(name)
    for pod in [*world.pods, world.scheduler, world.sets]:
        pod.skew = pod.program.skew = 0.0
        if pod.program.frozen:
            pod.thaw()
    for number in sorted(world.older):
        world.upgrade(number)
    ledger = world.hub.objects.get(("configmaps", fleet.HUB, MOVES_SCORE))
    if ledger is not None and (ledger.get("data") or {}).get("ledger") == "{":
        world.repair_ledger()
    sources = world.sources
    first = world.first_sources
    for name in first.clusters:
        if name not in world.agents:
            world.join(name)
        elif ("managedclusters", "", name) not in world.hub.objects:
            # A restored etcd does not know a cluster that joined later. It registers again.
            world.registration.join(name)
    for name in first.scorers:
        world.laws.returned(name)
    for item in world.hub.of("addonplacementscores"):
        meta = item["metadata"]
        if (
            meta["name"] in first.central
            and (meta.get("labels") or {}).get(MANAGED_BY_LABEL) == SOMEBODY
        ):
            # The hub scorer takes no score over: people do what its policy asks for.
            world.hub.erase(
                "people", "addonplacementscores", meta["name"], namespace=meta["namespace"]
            )
    applications = tuple(sources.applications)
    world.merge(replace(first, applications=applications), "everything as at first")
    world.history.note("CALM", "all faults end")


def unsettled(world: "World") -> Iterator[str]:
    """What is not at the fixed point: first what is found fast."""
    hub = world.hub
    stored = world.laws.stored()
    for move in stored.ledger.under_way:
        yield f"a move is under way: {move}"
    for waiting in stored.queue.waiting:
        # A hold may be longer than the world goes on.
        if waiting.reason != MoveReason.HELD:
            yield f"a move waits: {waiting}"
    if stored.ledger.stopped_since:
        yield "nobody has acknowledged that the fleet stopped itself"
    for item in hub.of("addonplacementscores"):
        meta = item["metadata"]
        if meta["name"] == MOVES_SCORE and any(value < 0 for value in items_of(item).values()):
            yield f"items are left on {meta['namespace']}: {items_of(item)}"
    for item in hub.of("managedclusters"):
        for taint in item["spec"].get("taints") or []:
            if taint["key"] in {MAINTENANCE_TAINT, ocm.UNREACHABLE["key"]}:
                yield f"{item['metadata']['name']} has the taint {taint['key']}"
    yield from _scores(world)
    if world.leader is None:
        yield "nobody leads"
    yield from _branches(world)
    yield from world.proposals.unsettled()
    yield from _places(world)


def _branches(world: "World") -> Iterator[str]:
    """What the state branch and the journal do not say."""
    files = world.repository.read(STATE_BRANCH)
    if not files:
        yield "there is no state branch"
        return
    stated = {
        (each.namespace, each.name): frozenset(each.clusters)
        for each in file_format.read(files["decisions.json"], place="decisions.json").decisions
    }
    journal = {key: frozenset(record.to or ()) for key, record in world.laws.recorded.items()}
    for page in world.hub.of("placementdecisions", fleet.ARGOCD):
        name = page["metadata"]["name"]
        entries = (page.get("status") or {}).get("decisions") or []
        decided = frozenset(each["clusterName"] for each in entries)
        if stated.get((fleet.ARGOCD, name)) != decided:
            yield f"the state branch has another {name} than {sorted(decided)}"
        key = f"{fleet.ARGOCD}/{page['metadata']['labels'][PLACEMENT_LABEL]}"
        if journal.get(key) != decided:
            yield (
                f"the journal has {sorted(journal.get(key, ()))} for {key}, decided:"
                f" {sorted(decided)}"
            )
    for scorer in world.sources.all_scorers:
        place = f"scores/{scorer}.json"
        text = files.get(place)
        tables = dict(file_format.read(text, place=place).tables(None, place=place)) if text else {}
        table = tables.get(scorer, {})
        for cluster in world.sources.clusters:
            published = items_of(world.hub.objects.get(("addonplacementscores", cluster, scorer)))
            entry = None if isinstance(table, int) else table.get(cluster)
            if entry is None or entry.values != published:
                yield f"the state branch has another {scorer} of {cluster} than {published}"


def _places(world: "World") -> Iterator[str]:
    """Decisions that are not OCM's, and copies that are not where the decisions are."""
    hub, state = world.hub, world.informers.state
    now = datetime.fromtimestamp(world_loop().wall(), UTC)
    decided: dict[str, set[str]] = {}
    for page in hub.of("placementdecisions", fleet.ARGOCD):
        name = (page["metadata"].get("labels") or {}).get(PLACEMENT_LABEL, "")
        entries = (page.get("status") or {}).get("decisions") or []
        decided.setdefault(name, set()).update(each["clusterName"] for each in entries)
    for key in sorted(state.placements):
        verdict = simulate_placement(state.placements[key], state=state, now=now)
        there = decided.get(key[1], set())
        if set(verdict.chosen) != there or not verdict.chosen:
            yield f"{key[1]} is decided for {sorted(there)}, OCM would say {sorted(verdict.chosen)}"
    for item in hub.of("applicationsets", fleet.ARGOCD):
        wanted = decided.get(placement_of(item), set())
        copies = hub.owned("applications", item["metadata"]["uid"])
        placed = {each["spec"]["destination"]["name"] for each in copies}
        if placed != wanted:
            yield (
                f"{item['metadata']['name']} has copies on {sorted(placed)}, decided:"
                f" {sorted(wanted)}"
            )
        for each in copies:
            if not is_good(each):
                yield f"{each['metadata']['name']} is not healthy: {each.get('status')}"


def _scores(world: "World") -> Iterator[str]:
    now = datetime.fromtimestamp(world.hub.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for cluster in world.sources.clusters:
        for scorer in world.sources.all_scorers:
            item = world.hub.objects.get(("addonplacementscores", cluster, scorer))
            found = items_of(item).get(scorer)
            truth = world.truth.value(cluster, scorer)
            if found is None or item is None or truth is None:
                yield f"{scorer} of {cluster} is missing"
            elif abs(found - max(-100.0, min(100.0, truth))) > POINTS:
                yield f"{scorer} of {cluster} is {found}, the truth is {truth:.1f}"
            elif item["status"].get("validUntil", "") <= now:
                yield f"{scorer} of {cluster} is expired"
    known = {*world.sources.all_scorers, MOVES_SCORE, *world.foreign_names}
    for item in world.hub.of("addonplacementscores"):
        meta = item["metadata"]
        if meta["name"] not in known:
            yield f"{meta['name']} of {meta['namespace']} is of no scorer"


def too_many_requests(requests: dict[str, int], *, seconds: float) -> Iterator[str]:
    """What a quiet world asked the hub for, by program."""
    totals: dict[str, int] = {}
    for key, count in requests.items():
        program, _method, host = key.split(" ")
        if host == "hub":
            name = "reconciler" if program.startswith("reconciler-") else program
            totals[name] = totals.get(name, 0) + count
    for name, total in sorted(totals.items()):
        rate = total * 60 / seconds
        if rate > REQUESTS_PER_MINUTE[name]:
            yield (
                f"{name} asks the hub {rate:.0f} times a minute, more than"
                f" {REQUESTS_PER_MINUTE[name]:.0f}"
            )

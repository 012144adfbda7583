"""Laws of the simulator that hold for every hub.

Order does not matter, and decisions come to rest.
"""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_dsf.hub.objects import Taint
from gitops_dsf.simulator import HubState, Outcome, explain, margins, simulate, simulate_placement
from tests.support.laws import examples
from tests.unit.simulator.hub import GROUP, NOW, cel, cluster, decision, placement, plain, score

NAMES = [f"c{number:02}" for number in range(12)]
BUILT_INS = ["Balance", "Steady", "ResourceAllocatableCPU", "ResourceAllocatableMemory"]
RESOURCES = ["500m", "1", "4", "16", "2.5", "96"]
MAX_PASSES = 6
ANY_WEIGHT = st.integers(-10, 10)

labels = st.fixed_dictionaries(
    {}, optional={"region": st.sampled_from(["eu", "us"]), "gpu": st.just("true")}
)
taints = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["k", f"{GROUP}/unreachable"]),
            "effect": st.sampled_from(["NoSelect", "NoSelectIfNew", "PreferNoSelect"]),
        },
        optional={"timeAdded": st.sampled_from(["2026-05-31T23:59:00Z", "2026-05-31T00:00:00Z"])},
    ),
    max_size=2,
)
tolerations = st.lists(
    st.fixed_dictionaries(
        {"key": st.sampled_from(["k", f"{GROUP}/unreachable"]), "operator": st.just("Exists")},
        optional={"tolerationSeconds": st.sampled_from([0, 300, 10**6])},
    ),
    max_size=2,
)


@st.composite
def statuses(draw: st.DrawFn) -> dict[str, Any]:
    """Resources, one of which may be missing."""
    if draw(st.booleans()):
        return {}
    found = {
        "cpu": draw(st.sampled_from(RESOURCES)),
        "memory": draw(st.sampled_from(["4Gi", "64G", "1Ti"])),
    }
    return {"allocatable": found, "capacity": found if draw(st.booleans()) else {"cpu": "96"}}


@st.composite
def configurations(draw: st.DrawFn, *, steady: st.SearchStrategy[int]) -> list[dict[str, Any]]:
    """Prioritizers with weights; Steady's weight is drawn on its own."""
    found = []
    for name in draw(st.lists(st.sampled_from([*BUILT_INS, "r/a", "r/b", "q/a"]), max_size=5)):
        resource, slash, item = name.partition("/")
        coordinate: dict[str, Any] = (
            {"type": "AddOn", "addOn": {"resourceName": resource, "scoreName": item}}
            if slash
            else {"type": "BuiltIn", "builtIn": name}
        )
        weight = draw(steady if name == "Steady" else ANY_WEIGHT)
        found.append({"scoreCoordinate": coordinate, "weight": weight})
    return found


@st.composite
def groups(draw: st.DrawFn) -> dict[str, Any]:
    """A group strategy, sometimes a misconfigured one."""
    size = draw(st.sampled_from([1, 2, 5, "30%", "100%", "5"]))
    eu = {
        "groupName": "canary",
        "groupClusterSelector": {"labelSelector": {"matchLabels": {"region": "eu"}}},
    }
    return {
        "groupStrategy": {
            "clustersPerDecisionGroup": size,
            "decisionGroups": draw(st.sampled_from([[], [eu]])),
        }
    }


@st.composite
def hubs(draw: st.DrawFn, *, steady: st.SearchStrategy[int] = ANY_WEIGHT) -> list[dict[str, Any]]:
    """A hub with everything that decides a Placement."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True))
    objects: list[dict[str, Any]] = [
        {"kind": "ManagedClusterSet", "metadata": {"name": "s1"}, "spec": {"clusterSelector": {}}},
        {
            "kind": "ManagedClusterSet",
            "metadata": {"name": "eu"},
            "spec": {
                "clusterSelector": {
                    "selectorType": "LabelSelector",
                    "labelSelector": {"matchLabels": {"region": "eu"}},
                }
            },
        },
    ]
    objects += [
        {
            "kind": "ManagedClusterSetBinding",
            "metadata": {"name": name, "namespace": "ns"},
            "spec": {"clusterSet": name},
        }
        for name in draw(st.sampled_from([["s1"], ["s1", "eu"], ["eu"], []]))
    ]
    for name in names:
        objects.append(
            cluster(name, labels=draw(labels), taints=draw(taints), status=draw(statuses()))
        )
        for resource in draw(st.lists(st.sampled_from(["r", "q"]), unique=True)):
            until = draw(
                st.sampled_from([None, NOW, "2026-05-31T00:00:00Z", "2026-06-02T00:00:00Z"])
            )
            objects.append(score(name, resource, until=until, a=draw(st.integers(-100, 100)), b=7))
    for owner, namespace in (("p", "ns"), ("q", "ns"), ("p", "other")):
        chosen = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=4))
        objects.append(
            decision(*chosen, name=f"{owner}-decision-1", namespace=namespace, placement=owner)
        )
    mode = draw(st.sampled_from(["Exact", "Additive", "", "exact"]))
    spec: dict[str, Any] = {
        "prioritizerPolicy": {
            "mode": mode,
            "configurations": draw(configurations(steady=steady)),
        },
        "tolerations": draw(tolerations),
        "decisionStrategy": draw(groups()),
        "predicates": draw(
            st.sampled_from(
                [
                    [],
                    cel("managedCluster.scores('r').exists(s, s.value > 0)"),
                    cel("has(managedCluster.status.allocatable)"),
                ]
            )
        ),
    }
    if draw(st.booleans()):
        spec["numberOfClusters"] = draw(st.integers(-1, 8))
    return [*objects, placement(**spec)]


@examples(15, soak=1000)
@given(objects=hubs(), seed=st.integers(0, 2**16))
def test_order_of_objects_does_not_matter(objects: list[dict[str, Any]], seed: int) -> None:
    """Shuffled objects, and shuffled items within them, give the same verdict."""
    shuffled = list(objects)
    random.Random(seed).shuffle(shuffled)
    shuffled = [_reversed_mappings(document) for document in shuffled]
    assert plain(simulate(shuffled, "ns/p", NOW)) == plain(simulate(objects, "ns/p", NOW))


@examples(20, soak=1000)
@given(objects=hubs())
def test_a_shared_state_gives_the_same_verdict(objects: list[dict[str, Any]]) -> None:
    """What a HubState remembers from other Placements and moments changes nothing."""
    state = HubState.build(objects)
    first = plain(simulate(state, "ns/p", NOW))
    other = placement(prioritizerPolicy={"mode": "Additive"})
    simulate(HubState.build([*objects[:-1], other]), "ns/p", NOW)
    plain(simulate(state, "ns/p", "2026-06-03T00:00:00Z"))
    simulate_placement(state.placement("ns/p"), state=state, now=simulate(state, "ns/p", NOW).now)
    assert plain(simulate(state, "ns/p", NOW)) == first


@examples(15, soak=1000)
@given(objects=hubs(), lost=st.lists(st.sampled_from(NAMES), unique=True, max_size=4))
def test_a_taint_that_is_added_later_decides_as_one_that_was_there(
    objects: list[dict[str, Any]], lost: list[str]
) -> None:
    """What a HubState keeps when clusters are lost depends on no taint."""
    state = HubState.build(objects)
    plain(simulate(state, "ns/p", NOW))
    taint = {"key": f"{GROUP}/unreachable", "effect": "NoSelect"}
    tainted = []
    for document in objects:
        spec = document.get("spec")
        if document["kind"] == "ManagedCluster" and document["metadata"]["name"] in lost:
            spec = {**(spec or {}), "taints": [*((spec or {}).get("taints") or ()), taint]}
        tainted.append({**document, "spec": spec} if spec is not None else document)
    added = Taint(key=taint["key"], effect=taint["effect"])
    after = state.with_taints(
        {
            cluster.metadata.name: cluster.tainted_by(added)
            for cluster in state.clusters
            if cluster.metadata.name in lost
        }
    )
    assert plain(simulate(after, "ns/p", NOW)) == plain(simulate(tainted, "ns/p", NOW))
    assert plain(simulate(state, "ns/p", NOW)) == plain(simulate(objects, "ns/p", NOW))


@settings(examples(10, soak=500))
@given(objects=hubs(steady=st.integers(0, 10)))
def test_decisions_come_to_rest(objects: list[dict[str, Any]]) -> None:
    """Fed back into the hub, decisions stop changing.

    Usually that is the second pass. A tolerated NoSelectIfNew cluster that lost its decision drops
    out afterwards, which can shift the scale of a resource prioritizer once more; so a few passes
    are allowed, an endless change not. A negative Steady weight, which makes every decision undo
    itself, is left out.
    """
    seen = []
    for _ in range(MAX_PASSES):
        verdict = simulate(objects, "ns/p", NOW)
        if verdict.outcome is not Outcome.SCHEDULED:
            return
        seen.append(sorted(verdict.chosen))
        if len(seen) > 1 and seen[-1] == seen[-2]:
            break
        objects = [found for found in objects if not _own(found)] + [
            decision(*item.clusters, name=item.name) for item in verdict.decisions
        ]
    assert seen[-1] == seen[-2]


@examples(20, soak=1000)
@given(objects=hubs())
def test_verdicts_are_consistent(objects: list[dict[str, Any]]) -> None:
    """Selected clusters are the best of those left, decisions hold exactly them, and explanations
    agree.
    """
    verdict = simulate(objects, "ns/p", NOW)
    if verdict.outcome is not Outcome.SCHEDULED or verdict.scores is None:
        return
    order = sorted(
        verdict.scores, key=lambda name: (-verdict.scores[name] if verdict.scores else 0, name)
    )
    assert list(verdict.ranked) == order[: len(verdict.ranked)]
    if not verdict.status.failed:
        assert sorted(verdict.ranked) == sorted(
            name for item in verdict.decisions for name in item.clusters
        )
        assert set(verdict.current) - set(verdict.evicted) <= set(verdict.ranked)
    assert set(verdict.candidates) == set(verdict.scores) | set(verdict.dropped)
    close = margins(verdict)
    for name in verdict.candidates:
        found = explain(verdict, name)
        assert found.selected == (name in verdict.chosen)
        assert found.margin == close.get(name)
        if found.points is not None:
            assert found.points == sum(part.points for part in found.contributions)


def _own(document: dict[str, Any]) -> bool:
    metadata = document["metadata"]
    return (
        document["kind"] == "PlacementDecision"
        and metadata["namespace"] == "ns"
        and metadata["labels"].get(f"{GROUP}/placement") == "p"
    )


def _reversed_mappings(value: Any) -> Any:
    """The same document with the keys of every mapping the other way round."""
    if isinstance(value, dict):
        return {key: _reversed_mappings(item) for key, item in reversed(list(value.items()))}
    return [_reversed_mappings(item) for item in value] if isinstance(value, list) else value

"""What a preview tells as certain is what the agents and OCM then do.

Random maps before and after, deadbands, raw scores and Placements. The agents are their own
functions, and OCM is the simulator.
"""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.hub.scores import score_of
from gitops_dsf.plan.summaries import summarise
from gitops_dsf.resolve.next_score import NextScore, ScorerEdit
from gitops_dsf.simulator import simulate
from gitops_dsf.simulator.certainty import certainty
from tests.support import hubobjects
from tests.support.agent.published import PublishedResult, PublishedScores
from tests.support.hubobjects import NOW, binding, global_set, placement, score, stamp
from tests.support.laws import examples
from tests.support.rendering import scorer_of

CLUSTERS = ("a", "b", "c", "d", "e")
SCALES = st.none() | st.builds(
    lambda low, span, outputs: {
        "min": low,
        "max": low + span,
        "outputMin": outputs[0],
        "outputMax": outputs[1],
    },
    st.sampled_from([-20.0, 0.0, 3.0]),
    st.sampled_from([4.0, 20.0, 100.0]),
    st.permutations([-100, 0, 1, 60, 100]).map(lambda order: order[:2]),
)
DEADBANDS = st.integers(0, 5)
RAW_SCORES = st.lists(st.floats(-30, 110), min_size=len(CLUSTERS), max_size=len(CLUSTERS))
NOISE = st.lists(st.floats(-2, 2), min_size=len(CLUSTERS), max_size=len(CLUSTERS))


def written(scale: dict[str, Any] | None, deadband: int) -> Any:
    publish = {"deadband": deadband, "minIntervalSeconds": 0}
    return scorer_of("cpu", scoreRange=scale, publish=publish)


@examples(15, soak=1200)
@given(
    scales=st.tuples(SCALES, SCALES),
    deadbands=st.tuples(DEADBANDS, DEADBANDS),
    raw_scores=RAW_SCORES,
    noise=NOISE,
    others=st.lists(st.integers(-100, 100), min_size=5, max_size=5),
    weights=st.tuples(st.sampled_from([-2, 1, 5]), st.integers(-1, 2)),
    steady=st.integers(0, 2),
    wanted=st.integers(0, 6),
    chosen=st.sets(st.sampled_from(CLUSTERS), max_size=3),
)
def test_what_is_certain_comes_true(
    scales: tuple[dict[str, Any] | None, dict[str, Any] | None],
    deadbands: tuple[int, int],
    raw_scores: list[float],
    noise: list[float],
    others: list[int],
    weights: tuple[int, int],
    steady: int,
    wanted: int,
    chosen: set[str],
) -> None:
    edit = ScorerEdit(written(scales[0], deadbands[0]), written(scales[1], deadbands[1]))
    hub = {name: PublishedScores(name) for name in CLUSTERS}
    drifted = [raw + more for raw, more in zip(raw_scores, noise, strict=True)]
    for now, scored in ((0.0, raw_scores), (60.0, drifted)):
        for name, raw in zip(CLUSTERS, scored, strict=True):
            hub[name].cycle(summarise(edit.before), [PublishedResult(raw)], now=now)

    def objects(values: dict[str, int]) -> list[dict[str, Any]]:
        asking = placement("p", "cpu", "mem", number=wanted)
        policy = asking["spec"]["prioritizerPolicy"]
        for term, weight in zip(policy["configurations"], weights, strict=True):
            term["weight"] = weight
        keep = {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": steady}
        policy["configurations"].append(keep)
        decision = {
            "kind": "PlacementDecision",
            "metadata": {
                "name": "p-decision-1",
                "namespace": "argocd",
                "labels": {"cluster.open-cluster-management.io/placement": "p"},
            },
            "status": {"decisions": [{"clusterName": name} for name in sorted(chosen)]},
        }
        scores = [score(name, "cpu", values[name]) for name in CLUSTERS]
        scores += [score(name, "mem", value) for name, value in zip(CLUSTERS, others, strict=True)]
        clusters = map(hubobjects.cluster, CLUSTERS)
        return [*clusters, global_set(), binding(), asking, decision, *scores]

    cells: dict[str, NextScore] = {}
    stand_ins = {}
    for name in CLUSTERS:
        present = score_of(hub[name].by_name["cpu"].values)
        cells[name] = edit.next_score(present, cluster=name)
        stand_ins[name] = cells[name].interval("cpu").middle
    told = certainty(simulate(objects(stand_ins), "argocd/p", stamp(NOW)), {"cpu": cells})
    assert told is not None
    unedited = {name: PublishedScores(name, dict(hub[name].by_name)) for name in CLUSTERS}
    for now in range(120, 1200, 360):
        values = {}
        for name, raw in zip(CLUSTERS, drifted, strict=True):
            hub[name].cycle(summarise(edit.after), [PublishedResult(raw)], now=now)
            unedited[name].cycle(summarise(edit.before), [PublishedResult(raw)], now=now)
            values[name] = hub[name].counted("cpu", "cpu", now=now)
        if values == {name: unedited[name].counted("cpu", "cpu", now=now) for name in CLUSTERS}:
            # The edit has done nothing, and a refresh is none of its effects.
            continue
        outcome = simulate(objects(values), "argocd/p", stamp(NOW))
        assert told.certain <= outcome.chosen <= told.possible
        for name, total in (outcome.scores or {}).items():
            assert told.sums[name].holds(total)

"""Refuges against the rule of docs/decisions/paced-moves.md.

The rule is applied to one application after the other.
"""

from collections import Counter
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.pacing.refuges import plan_refuges
from tests.support.laws import examples
from tests.unit.pacing.fleet import MOMENT, herd

CLUSTERS = ("c1", "c2", "c3", "c4")
NAMES = ("a", "b", "c", "d", "e", "f")
SPREAD = 10


def planned(
    scores: Mapping[str, int], current: Mapping[str, str], *, count: int, weight: int, demand: int
) -> dict[str, str]:
    """All are on c1. A higher value is better: with a negative weight that of a lower score."""
    taken = demand or 1
    value = {
        name: score if weight > 0 else -score for name, score in scores.items() if name != "c1"
    }
    refuges = {name: cluster for name, cluster in current.items() if name in NAMES[:count]}
    for name in NAMES[:count]:
        before = refuges.pop(name, None)
        counts = Counter(refuges.values())
        left = {cluster: points - taken * counts[cluster] for cluster, points in value.items()}
        best = max(left.values())
        if before in left and left[before] > best - SPREAD:
            refuges[name] = before
            continue
        near = [
            cluster
            for cluster, points in left.items()
            if points == best or points - taken >= best - SPREAD
        ]
        refuges[name] = min(near, key=lambda each: (counts[each], -left[each], each))
    return refuges


@examples(60, soak=3000)
@given(
    scores=st.fixed_dictionaries(
        {name: st.integers(-100, 100) | st.integers(40, 60) for name in CLUSTERS}
    ),
    current=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(CLUSTERS[1:])),
    count=st.integers(1, len(NAMES)),
    weight=st.sampled_from([1, 2, 10, -1, -7]),
    demand=st.sampled_from([0, 1, 3, 12]),
)
def test_refuges_are_those_of_the_rule(
    scores: dict[str, int], current: dict[str, str], count: int, weight: int, demand: int
) -> None:
    placed = dict.fromkeys(NAMES[:count], ("c1",))
    state, paced = herd(scores, placed, demand=demand, weight=weight, refuges=True)
    found = plan_refuges(
        paced,
        state=state,
        now=MOMENT,
        current={f"ns/{name}": cluster for name, cluster in current.items()},
    )
    expected = planned(scores, current, count=count, weight=weight, demand=demand)
    assert found == {f"ns/{name}": cluster for name, cluster in expected.items()}

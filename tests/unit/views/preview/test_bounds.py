"""Bounds against brute force: whatever the unknown scores turn out to be, the certain are selected and only
the possible are.
"""

from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.simulator import simulate
from gitops_dsf.views.preview.transition import Unknown, certainty
from tests.support.hubobjects import NOW, binding, cluster, global_set, placement, score, stamp

NAMES = ("a", "b", "c", "d")


def hub(
    values: dict[str, int], *, wanted: int | None, weight: int, extra: dict[str, int]
) -> list[dict[str, Any]]:
    asking = placement("p", "open", "known", number=wanted or 0)
    asking["spec"]["prioritizerPolicy"]["configurations"][0]["weight"] = weight
    if wanted is None:
        del asking["spec"]["numberOfClusters"]
    scores = [
        score(name, resource, value)
        for resource, found in (("open", values), ("known", extra))
        for name, value in found.items()
    ]
    return [*map(cluster, NAMES), global_set(), binding(), asking, *scores]


@given(
    present=st.dictionaries(st.sampled_from(NAMES), st.integers(-3, 3)),
    ranges=st.dictionaries(st.sampled_from(NAMES), st.tuples(st.integers(-2, 1), st.integers(0, 2))),
    extra=st.dictionaries(st.sampled_from(NAMES), st.integers(-2, 2)),
    wanted=st.none() | st.integers(0, 5),
    weight=st.sampled_from([-2, -1, 1, 3]),
)
def test_bounds_agree_with_every_possible_outcome(
    present: dict[str, int],
    ranges: dict[str, tuple[int, int]],
    extra: dict[str, int],
    wanted: int | None,
    weight: int,
) -> None:
    cells = {
        name: Unknown(low=low, high=max(low, high), why="", exists=name in present)
        for name, (low, high) in ranges.items()
    }
    verdict = simulate(hub(present, wanted=wanted, weight=weight, extra=extra), "argocd/p", stamp(NOW))
    found = certainty(verdict, {"open": cells})
    if found is None:
        assert not cells
        return
    outcomes = []
    for values in product(*(range(cell.low, cell.high + 1) for cell in cells.values())):
        chosen = present | dict(zip(cells, values, strict=True))
        outcomes.append(
            simulate(hub(chosen, wanted=wanted, weight=weight, extra=extra), "argocd/p", stamp(NOW)).chosen
        )
    assert found.certain == frozenset.intersection(*outcomes)
    assert found.possible == frozenset.union(*outcomes)

"""Bounds of decisions against every possible outcome."""

from dataclasses import dataclass
from itertools import product
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from gitops_dsf.hub.intervals import Interval
from gitops_dsf.simulator import simulate
from gitops_dsf.simulator.certainty import certainty
from tests.support import hubobjects
from tests.support.hubobjects import NOW, binding, global_set, placement, score, stamp
from tests.support.laws import examples

NAMES = ("a", "b", "c", "d")


@dataclass(frozen=True)
class Between:
    """An open score with one item."""

    low: int
    high: int

    def interval(self, item: str) -> Interval:
        assert item == "open"
        return Interval(self.low, self.high)


def hub(
    values: dict[str, int], *, wanted: int | None, weights: list[int], extra: dict[str, int]
) -> list[dict[str, Any]]:
    """A hub whose Placement names the score `open` once for each weight."""
    asking = placement("p", *["open"] * len(weights), "known", number=wanted or 0)
    configurations = asking["spec"]["prioritizerPolicy"]["configurations"]
    for configuration, weight in zip(configurations, weights, strict=False):
        configuration["weight"] = weight
    if wanted is None:
        del asking["spec"]["numberOfClusters"]
    scores = [score(name, "open", value) for name, value in values.items()]
    scores += [score(name, "known", value) for name, value in extra.items()]
    return [*map(hubobjects.cluster, NAMES), global_set(), binding(), asking, *scores]


@examples(20, soak=1000)
@given(
    present=st.dictionaries(st.sampled_from(NAMES), st.integers(-3, 3)),
    ranges=st.dictionaries(
        st.sampled_from(NAMES), st.tuples(st.integers(-2, 1), st.integers(0, 2))
    ),
    extra=st.dictionaries(st.sampled_from(NAMES), st.integers(-2, 2)),
    wanted=st.none() | st.integers(0, 5),
    weights=st.lists(st.sampled_from([-2, -1, 1, 3]), min_size=1, max_size=2),
)
@example(present={}, ranges={"a": (0, 1), "b": (0, 1)}, extra={"a": 1}, wanted=1, weights=[3, -2])
def test_bounds_agree_with_every_possible_outcome(
    present: dict[str, int],
    ranges: dict[str, tuple[int, int]],
    extra: dict[str, int],
    wanted: int | None,
    weights: list[int],
) -> None:
    cells = {name: Between(low, max(low, high)) for name, (low, high) in ranges.items()}
    objects = hub(present, wanted=wanted, weights=weights, extra=extra)
    found = certainty(simulate(objects, "argocd/p", stamp(NOW)), {"open": cells})
    if found is None:
        assert not cells
        return
    chosen = []
    sums: dict[str, set[int]] = {name: set() for name in NAMES}
    for values in product(*(range(cell.low, cell.high + 1) for cell in cells.values())):
        drawn = present | dict(zip(cells, values, strict=True))
        outcome = simulate(
            hub(drawn, wanted=wanted, weights=weights, extra=extra), "argocd/p", stamp(NOW)
        )
        chosen.append(outcome.chosen)
        for name, total in (outcome.scores or {}).items():
            sums[name].add(total)
    assert found.certain == frozenset.intersection(*chosen)
    assert found.possible == frozenset.union(*chosen)
    assert found.decided == (len(set(chosen)) == 1)
    assert found.sums == {name: Interval.around(totals) for name, totals in sums.items()}

"""Bounds against brute force: whatever the unknown scores turn out to be, the certain are selected and only
the possible are.
"""

from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.simulator import simulate
from gitops_dsf.views.preview.nextscores import Unknown, certainty

NAMES = ("a", "b", "c", "d")
NOW = "2026-06-01T00:00:00Z"


def hub(
    values: dict[str, int], *, wanted: int | None, weight: int, extra: dict[str, int]
) -> list[dict[str, Any]]:
    def score(resource: str, name: str, value: int) -> dict[str, Any]:
        status = {"scores": [{"name": "x", "value": value}]}
        return {
            "kind": "AddOnPlacementScore",
            "metadata": {"name": resource, "namespace": name},
            "status": status,
        }

    def term(resource: str, factor: int) -> dict[str, Any]:
        return {
            "scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": resource, "scoreName": "x"}},
            "weight": factor,
        }

    spec: dict[str, Any] = {
        "prioritizerPolicy": {"mode": "Exact", "configurations": [term("open", weight), term("known", 1)]}
    }
    if wanted is not None:
        spec["numberOfClusters"] = wanted
    labels = {"cluster.open-cluster-management.io/clusterset": "s"}
    return [
        {"kind": "ManagedClusterSet", "metadata": {"name": "s"}, "spec": {"clusterSelector": {}}},
        {"kind": "ManagedClusterSetBinding", "metadata": {"name": "s", "namespace": "n"}},
        {"kind": "Placement", "metadata": {"name": "p", "namespace": "n"}, "spec": spec},
        *({"kind": "ManagedCluster", "metadata": {"name": name, "labels": labels}} for name in NAMES),
        *(score("open", name, value) for name, value in values.items()),
        *(score("known", name, value) for name, value in extra.items()),
    ]


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
    verdict = simulate(hub(present, wanted=wanted, weight=weight, extra=extra), "n/p", NOW)
    found = certainty(verdict, {"open": cells})
    if found is None:
        assert not cells
        return
    outcomes = []
    for values in product(*(range(cell.low, cell.high + 1) for cell in cells.values())):
        chosen = present | dict(zip(cells, values, strict=True))
        outcomes.append(simulate(hub(chosen, wanted=wanted, weight=weight, extra=extra), "n/p", NOW).chosen)
    assert found.certain == frozenset.intersection(*outcomes)
    assert found.possible == frozenset.union(*outcomes)

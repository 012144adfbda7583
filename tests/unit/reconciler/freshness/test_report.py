"""What is said of Placements in a scorer's status."""

from gitops_dsf.hub.targets import TargetClusters
from gitops_dsf.reconciler.freshness import owners
from gitops_dsf.reconciler.scan import Scan
from tests.unit.reconciler.freshness.hubobjects import made


def report(**zeros: str) -> Scan:
    found = {(name, "cpu"): frozenset(clusters) for name, clusters in zeros.items()}
    targets = TargetClusters(clusters={}, addons=None, masks=None)
    return Scan(targets=targets, owners={}, assessments={}, dead=(), zeros=found)


def test_the_first_placements_are_named_and_the_others_counted() -> None:
    assert report(web="").affected_placements("cpu") == ""
    assert report(web="ab").affected_placements("mem") == ""
    assert (
        report(web="ab", api="a", db="").affected_placements("cpu")
        == "Placement api counts 1 cluster as 0; Placement web counts 2 clusters as 0"
    )
    many = report(**dict.fromkeys("abcde", "x")).affected_placements("cpu")
    assert many.startswith("Placement a counts 1 cluster as 0; ")
    assert many.endswith("Placement c counts 1 cluster as 0, and 2 more Placements do so")


def test_of_scorers_with_one_score_name_the_first_by_name_owns_it() -> None:
    found = owners([made("b", score="cpu_free"), made("a", score="CPU-free"), made("mem")])
    assert {name: owner.item.name for name, owner in found.items()} == {"cpu-free": "a", "mem": "mem"}

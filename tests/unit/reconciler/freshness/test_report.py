"""What is said of Placements in a scorer's status."""

from gitops_dsf.reconciler.freshness.report import Report, owners
from tests.unit.reconciler.freshness.scenes import made


def report(**zeros: str) -> Report:
    return Report(scored={}, zeros={"cpu": {name: frozenset(clusters) for name, clusters in zeros.items()}})


def test_the_first_placements_are_named_and_the_others_counted() -> None:
    assert report(web="").hurt("cpu") == ""
    assert report(web="ab").hurt("mem") == ""
    assert (
        report(web="ab", api="a", db="").hurt("cpu")
        == "Placement api counts 1 cluster as 0; Placement web counts 2 clusters as 0"
    )
    many = report(**dict.fromkeys("abcde", "x")).hurt("cpu")
    assert many.startswith("Placement a counts 1 cluster as 0; ")
    assert many.endswith("Placement c counts 1 cluster as 0, and 2 more Placements do so")


def test_of_scorers_with_one_score_name_the_first_by_name_owns_it() -> None:
    assert owners([made("b", score="cpu_free"), made("a", score="CPU-free"), made("mem")]) == {
        "cpu-free": "a",
        "mem": "mem",
    }

"""Maintenance of who names very many clusters."""

from tests.golden import findings_maintenance
from tests.support.repositories import findings


def test_only_some_unknown_names_are_compared_with_those_of_the_fleet() -> None:
    """Each comparison takes some milliseconds, and a document may have a thousand names."""
    case = findings_maintenance.CASES["maintenance: tonight"]
    names = ", ".join(f"prod-1-{number}" for number in range(30))
    config = case["config"].replace("[prod-1]", f"[{names}]")
    found = [
        item
        for item in findings(**{**case, "config": config})
        if "no ManagedCluster" in item.message
    ]
    assert [item.hint.startswith("did you mean prod-") for item in found] == [True] * 20 + [
        False
    ] * 10

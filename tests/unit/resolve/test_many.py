"""Paces and maintenance of who writes very much."""

import pytest

from tests.golden import findings_maintenance, findings_pace
from tests.support.repositories import findings


@pytest.mark.parametrize(("count", "told"), [(100, []), (101, ["101 scores rank it"])])
def test_a_paced_placement_has_as_many_scores_as_its_annotation_may_name(count: int, told: list[str]) -> None:
    scores = ", ".join(["{scorer: cpu}", *["{scorer: cpu, weight: 0}"] * (count - 1)])
    case = findings_pace.CASES["pace: weights that hold"]
    begin, end = case["apps"].index("[{scorer"), case["apps"].index("]\n", case["apps"].index("[{scorer"))
    apps = f"{case['apps'][:begin]}[{scores}{case['apps'][end:]}"
    found = [item for item in findings(**{**case, "apps": apps}) if item.code == "DSF348"]
    assert [item.message.partition(",")[0] for item in found] == told


def test_only_some_unknown_names_are_compared_with_those_of_the_fleet() -> None:
    """Each comparison takes some milliseconds, and a document may have a thousand names."""
    case = findings_maintenance.CASES["maintenance: tonight"]
    names = ", ".join(f"prod-1-{number}" for number in range(30))
    config = case["config"].replace("[prod-1]", f"[{names}]")
    found = [item for item in findings(**{**case, "config": config}) if "no ManagedCluster" in item.message]
    assert [item.hint.startswith("did you mean prod-") for item in found] == [True] * 20 + [False] * 10

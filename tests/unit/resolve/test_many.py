"""Paces and maintenance of who writes very much."""

import pytest

from tests.golden import findings_maintenance, findings_pace
from tests.support.repositories import findings, findings_of


@pytest.mark.parametrize(("count", "told"), [(100, []), (101, ["101 scores rank it"])])
def test_a_paced_placement_has_as_many_scores_as_its_annotation_may_name(
    count: int, told: list[str]
) -> None:
    scores = ", ".join(["{scorer: cpu}", *["{scorer: cpu, weight: 0}"] * (count - 1)])
    case = findings_pace.CASES["pace: weights that hold"]
    begin, end = (
        case["apps"].index("[{scorer"),
        case["apps"].index("]\n", case["apps"].index("[{scorer")),
    )
    apps = f"{case['apps'][:begin]}[{scores}{case['apps'][end:]}"
    found = findings_of("DSF348", **{**case, "apps": apps})
    assert [item.message.partition(";")[0] for item in found] == told


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ((4, 1), "with the weights 4, 1 the scores can differ by 100 points"),
        # The same proportions in smaller numbers are 4 and 1.
        ((8, 2), "with the weights 8, 2 the scores can differ by 100 points"),
        ((3, 1), None),
        ((6, 2), None),
    ],
)
def test_what_a_paced_placement_holds_is_in_points_of_the_weighted_mean(
    weights: tuple[int, int], message: str | None
) -> None:
    case = findings_pace.CASES["pace: weights that hold"]
    begin, end = (
        case["apps"].index("[{scorer"),
        case["apps"].index("]\n", case["apps"].index("[{scorer")),
    )
    scores = f"{{scorer: cpu, weight: {weights[0]}}}, {{scorer: free, weight: {weights[1]}}}"
    apps = f"{case['apps'][:begin]}[{scores}{case['apps'][end:]}"
    found = findings_of("DSF348", **{**case, "apps": apps})
    held = "but the pace can hold a cluster against at most 99.8"
    assert [item.message for item in found] == ([] if message is None else [f"{message}, {held}"])


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

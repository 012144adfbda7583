"""Stickiness that no difference of scores overcomes."""

import pytest

from tests.support.repositories import (
    APP,
    app,
    findings,
    findings_of,
    placement,
    scorer,
)


@pytest.mark.parametrize(
    ("outputs", "stickiness", "number", "lead"),
    [
        ("", 90, 1, ""),
        ("", 100, 1, "99"),
        ("", 1000, 1, "99"),
        (", outputMin: 0, outputMax: 100", 100, 1, ""),
        (", outputMin: 30, outputMax: 10", 20, 1, ""),
        (", outputMin: 30, outputMax: 10", 25, 1, "20"),
        # Every eligible cluster is chosen, so scores move nothing.
        ("", 100, None, ""),
    ],
)
def test_a_stickiness_above_the_range_of_the_scores(
    outputs: str, stickiness: int, number: int | None, lead: str
) -> None:
    scorers = scorer("{min: 0, max: 1}", f"{{min: 0, max: 1{outputs}}}")
    rules = "{}" if number is None else "{numberOfClusters: 1}"
    apps = app("{numberOfClusters: 1}", rules) + f"  stickiness: {stickiness}\n"
    found = findings_of("DSF363", scorers=scorers, apps=apps)
    assert [str(item.severity) for item in found] == (["warning"] if lead else [])
    for item in found:
        assert item.message.startswith(f"the scores of two clusters differ by at most {lead},")
        assert str(item.position) == "apps/x.yaml:8:15"


def test_the_hint_is_a_stickiness_that_can_be_expressed_and_overcome() -> None:
    [found] = findings_of("DSF363", apps=APP + "  stickiness: 100\n")
    assert found.hint.startswith("write 90 or less, or")
    assert findings_of("DSF363", apps=APP + "  stickiness: 90\n") == []
    assert findings(apps=APP + "  stickiness: 90\n") == []


def test_without_a_range_scores_can_differ_by_200() -> None:
    bare = scorer("  scoreRange: {min: 0, max: 1}\n", "")
    assert findings_of("DSF363", scorers=bare, apps=APP + "  stickiness: 200\n") == []
    assert len(findings_of("DSF363", scorers=bare, apps=APP + "  stickiness: 250\n")) == 1


def by_score(
    weight: int, steady: int, number: str = "numberOfClusters: 1, ", name: str = "cpu-score"
) -> str:
    return placement(
        f"{{{number}clusterSets: [global], prioritizerPolicy: {{mode: Exact, configurations: ["
        "{scoreCoordinate: {type: BuiltIn, builtIn: Steady}, weight: "
        f"{steady}}}, {{scoreCoordinate: {{type: AddOn, addOn: {{resourceName: {name}, scoreName:"
        f" cpu_score}}}}, weight: {weight}}}]}}}}"
    )


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (by_score(1, 1), 1),  # 100 points, and the scores are 1 to 100
        (by_score(2, 1), 0),
        (by_score(1, 5), 1),
        (by_score(5, 5), 1),
        (by_score(6, 5), 0),
        (by_score(1, 5, number=""), 0),
        # Another add-on may publish -100 to 100.
        (by_score(1, 2, name="others"), 0),
        (by_score(1, 3, name="others"), 1),
    ],
)
def test_the_weight_of_steady_in_a_copied_placement(text: str, counts: int) -> None:
    assert len(findings_of("DSF363", apps=text)) == counts


def test_the_lead_of_steady_is_in_points_of_the_weighted_mean() -> None:
    """A weight of 5 for Steady and of 4 for the score: 500 and 396 in OCM's sum."""
    [found] = findings_of("DSF363", apps=by_score(4, 5))
    assert found.message == (
        "Steady gives 125 points to the clusters that are chosen, and all other"
        " prioritizers together can"
        " differ by 99: the decision never changes by scores"
    )

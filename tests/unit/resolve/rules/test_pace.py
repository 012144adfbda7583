"""A pace that has no effect on an application, or cannot hold it."""

import pytest

from tests.golden import findings_pace
from tests.support.repositories import (
    BASE,
    app,
    findings_of,
)

SETTINGS = BASE["gitops-dsf.yaml"]


PACED = SETTINGS.replace("spec: {", "spec: {pace: {concurrent: 2}, ")


class TestPace:
    @pytest.mark.parametrize(
        ("settings", "placement", "moves", "severity"),
        [
            (PACED, "{numberOfClusters: 1}", "", ""),
            (PACED, "{}", "", "notice"),
            (PACED, "{}", "  moves: {pace: Fleet}\n", "warning"),
            (PACED, "{}", "  moves: {pace: None}\n", ""),
            (PACED, "{}", "  moves: {timeoutSeconds: 600}\n", "notice"),
            (SETTINGS, "{}", "", ""),
            (SETTINGS, "{}", "  moves: {pace: Fleet}\n", ""),
        ],
    )
    def test_an_application_on_every_cluster_is_not_paced(
        self, settings: str, placement: str, moves: str, severity: str
    ) -> None:
        found = findings_of(
            "DSF350", settings=settings, apps=app("{numberOfClusters: 1}", placement) + moves
        )
        assert [str(item.severity) for item in found] == ([severity] if severity else [])
        for item in found:
            assert item.message == (
                "the pace has no effect on web: without placement.numberOfClusters it"
                " runs on every eligible"
                " cluster"
            )

    def test_an_application_that_follows_a_placement_is_not_paced(self) -> None:
        shared = (
            "apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoredPlacement\nmetadata: {name: shared}\n"
            "spec: {scores: [{scorer: cpu}], placement: {numberOfClusters: 1}}\n"
        )
        follower = app("{numberOfClusters: 1}", "{ref: shared}").replace(
            "  scores: [{scorer: cpu}]\n", ""
        )
        [found] = findings_of("DSF350", settings=PACED, apps=f"{follower}---\n{shared}")
        assert (
            found.message
            == "the pace has no effect on web: it follows a ScoredPlacement, which is not paced"
        )
        assert str(found.severity) == "notice"


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

"""Scales of scores that hide what people want to see.

An end that a missing score counts as, a dead band above the stickiness, percent on a scale of 1.
"""

import pytest

from tests.support.repositories import (
    APP,
    BASE,
    BY_QUERY,
    FULL,
    LOCK,
    app,
    findings_of,
)


def scaled(fields: str, text: str = BASE["scorers/s.yaml"]) -> str:
    assert "{min: 0, max: 1}" in text
    return text.replace("{min: 0, max: 1}", f"{{min: 0, max: 1, {fields}}}")


class TestLowestScores:
    @pytest.mark.parametrize(
        ("fields", "weight", "counts"),
        [
            ("outputMin: 0, outputMax: 100", 1, 1),
            ("outputMin: 100, outputMax: 0", 1, 1),
            ("outputMin: 1, outputMax: 100", 1, 0),
            ("outputMin: -100, outputMax: 0", -1, 1),
            # DSF304 says more of these.
            ("outputMin: -100, outputMax: 0", 1, 0),
            ("outputMin: 0, outputMax: 100", -1, 0),
        ],
    )
    def test_an_end_of_0_is_what_a_missing_score_counts(
        self, fields: str, weight: int, counts: int
    ) -> None:
        apps = app("{scorer: cpu}", f"{{scorer: cpu, weight: {weight}}}")
        found = findings_of("DSF193", scorers=scaled(fields), apps=apps)
        assert [str(item.severity) for item in found] == ["notice"] * counts
        assert all(str(item.position).startswith("scorers/s.yaml:9:") for item in found)

    def test_it_is_told_once_for_a_scorer_and_only_if_it_ranks(self) -> None:
        zero = scaled("outputMin: 0, outputMax: 100")
        two = (
            f"{APP}---\n{app('{name: web}', '{name: b}').replace('Namespace: web', 'Namespace: b')}"
        )
        assert len(findings_of("DSF193", scorers=zero, apps=two)) == 1
        assert findings_of("DSF193", scorers=zero) == []

    def test_a_scorer_with_a_lock_is_looked_at_too(self) -> None:
        found = findings_of(
            "DSF193", scorers=scaled("outputMin: 0, outputMax: 100", FULL), locks=LOCK, apps=APP
        )
        assert [str(item.position) for item in found] == ["scorers/s.yaml:9:43"]

    def test_without_the_score_a_cluster_may_be_left_out(self) -> None:
        zero = scaled("outputMin: 0, outputMax: 100")
        assert findings_of("DSF193", scorers=zero, apps=APP + "  onMissingScore: Exclude\n") == []


def deadband(points: int) -> str:
    return BASE["scorers/s.yaml"].replace(
        "  scoring:", f"  publish: {{deadband: {points}}}\n  scoring:"
    )


class TestDeadBands:
    @pytest.mark.parametrize(
        ("points", "stickiness", "number", "counts"),
        [
            (20, 20, True, 0),
            (21, 20, True, 1),
            (30, 50, True, 0),
            (2, 0, True, 0),  # DSF318
            (21, 20, False, 0),  # every cluster is chosen
        ],
    )
    def test_above_the_stickiness(
        self, points: int, stickiness: int, number: bool, counts: int
    ) -> None:
        apps = APP if number else app("{numberOfClusters: 1}", "{}")
        found = findings_of(
            "DSF366", scorers=deadband(points), apps=f"{apps}  stickiness: {stickiness}\n"
        )
        assert [str(item.severity) for item in found] == ["warning"] * counts
        for item in found:
            assert (
                f"a stickiness of {stickiness} is below the dead band of its scores"
                f" ({points} points)"
            ) in item.message

    def test_the_weights_count(self) -> None:
        """One score of two, with a quarter of the weight: 40 points of it are 10 points of the
        mean.
        """
        other = deadband(40).replace("{name: cpu}", "{name: gpu}").replace("cpu_score", "gpu_score")
        scorers = f"{deadband(0)}---\n{other}"
        apps = app("[{scorer: cpu}]", "[{scorer: cpu, weight: 3}, {scorer: gpu}]")
        assert findings_of("DSF366", scorers=scorers, apps=apps + "  stickiness: 25\n") == []
        heavy = app("[{scorer: cpu}]", "[{scorer: cpu}, {scorer: gpu, weight: 3}]")
        assert len(findings_of("DSF366", scorers=scorers, apps=heavy + "  stickiness: 25\n")) == 1


class TestFactors:
    @pytest.mark.parametrize(
        ("query", "scale", "counts"),
        [
            ("100 * avg(up)", "{min: 0, max: 1}", 1),
            ("avg(up) * 100", "{min: 0, max: 1}", 1),
            ("100 * (1 - avg(rate(node_cpu_seconds_total[5m])))", "{min: 0, max: 1}", 1),
            ("(100 * avg(up))", "{min: 0, max: 1}", 1),
            ("100 - avg(up) * 100", "{min: 0, max: 1}", 1),
            ("avg(100 * up)", "{min: 0, max: 1}", 1),
            ("100 * avg(up)", "{min: 0, max: 100}", 0),
            ("avg(up)", "{min: 0, max: 1}", 0),
            ("avg(up) * 100 / 100", "{min: 0, max: 1}", 0),
            ("clamp_max(100 * avg(up), 1)", "{min: 0, max: 1}", 0),
            ("10 * avg(up)", "{min: 0, max: 1}", 0),
            ("avg(up * on (a) b)", "{min: 0, max: 1}", 0),
        ],
    )
    def test_percent_on_a_scale_of_1(self, query: str, scale: str, counts: int) -> None:
        text = BY_QUERY.replace("avg(up)", query) + f"  scoreRange: {scale}\n"
        found = findings_of("DSF195", scorers=text)
        assert [str(item.severity) for item in found] == ["notice"] * counts
        for item in found:
            assert item.message == (
                "the query gives percent, and scoreRange ends at max: 1: all values above"
                " 1 become the same"
                " score"
            )
            assert item.hint == "write max: 100, or leave the factor of 100 out of the query"

    def test_with_a_scoring_api_the_query_is_not_the_score(self) -> None:
        text = BASE["scorers/s.yaml"].replace(
            "  scoring:",
            "  source:"
            " {host: 'http://prom:9090', params: {query: 100 * avg(up), range: 60, step: 60}}\n"
            "  scoring:",
        )
        assert findings_of("DSF195", scorers=text) == []

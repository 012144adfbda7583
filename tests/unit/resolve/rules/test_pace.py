"""A pace that has no effect on an application."""

import pytest

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

"""Paced Placements: they hold by themselves, and say what people wrote."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from gitops_dsf.hub.inventory_digests import read_inventory_digests
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.pace import (
    PACE_ANNOTATION,
    PacedRanking,
    PacedTerm,
    Verification,
    VerifiedBy,
    as_written,
    paced_ranking,
)
from gitops_dsf.reconciler.settings import read
from tests.support import fleets
from tests.support.rendering import application, objects, rendered, scorer

RANGED = scorer(
    "cpu",
    source={
        "host": "http://prometheus.svc:9090",
        "params": {"query": "up", "range": 600, "step": 60},
    },
    scoreRange={"min": 0, "max": 1},
)


def placements(
    root: Path, app: dict[str, Any], **settings: Any
) -> tuple[Placement, dict[str, Any]]:
    found = objects(rendered(root, RANGED, app, **settings))
    document = next(item for path, item in found.items() if item["kind"] == "Placement")
    return msgspec.convert(document, Placement), document


def test_a_paced_placement_holds_and_says_what_people_wrote(tmp_path: Path) -> None:
    """The score's weight is small, Steady and the items have 10; the annotation has the written
    weights.
    """
    app = application("web", scores=[{"scorer": "cpu", "weight": 2, "demand": 5}], stickiness=25)
    found, document = placements(tmp_path, app, pace={})
    assert document["spec"]["prioritizerPolicy"]["configurations"] == [
        {
            "scoreCoordinate": {
                "type": "AddOn",
                "addOn": {"resourceName": "cpu", "scoreName": "cpu"},
            },
            "weight": 1,
        },
        {
            "scoreCoordinate": {
                "type": "AddOn",
                "addOn": {"resourceName": "gitops-dsf-moves", "scoreName": "argocd/web"},
            },
            "weight": 10,
        },
        {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": 10},
    ]
    ranking = paced_ranking(found)
    assert ranking == PacedRanking(
        (PacedTerm("cpu", "cpu", 4, demand=5, delay=120, range=600),), steady=1
    )
    with_refuges = paced_ranking(placements(tmp_path / "refuges", app, pace={"refuges": True})[0])
    assert with_refuges == replace(ranking, refuges=True)


def test_as_written_is_what_is_rendered_without_a_pace(tmp_path: Path) -> None:
    """The reconciler simulates what OCM would do without the pace."""
    app = application("web", scores=[{"scorer": "cpu", "weight": -2}], stickiness=50)
    paced, _ = placements(tmp_path / "paced", app, pace={"concurrent": 3})
    plain, document = placements(tmp_path / "plain", app)
    ranking = paced_ranking(paced)
    assert ranking is not None
    assert as_written(paced, ranking).spec == plain.spec
    assert PACE_ANNOTATION not in document["metadata"].get("annotations", {})
    assert paced_ranking(plain) is None


@pytest.mark.parametrize(
    "app",
    [
        application("web", moves={"pace": "None"}),
        application("web", placement={"clusterSets": ["default"]}),
    ],
    ids=["pace None", "every cluster"],
)
def test_what_is_not_paced(tmp_path: Path, app: dict[str, Any]) -> None:
    """It follows its scores at once."""
    _, document = placements(tmp_path, app, pace={})
    assert PACE_ANNOTATION not in document["metadata"].get("annotations", {})


SLO = scorer(
    "slo",
    source={
        "host": "http://prometheus.svc:9090",
        "params": {"query": "up", "range": 300, "step": 60},
    },
    scoreRange={"min": 0, "max": 1},
    publish={"minIntervalSeconds": 30},
)
VERIFY = [{"scorer": "slo", "atLeast": 80}]


def verifying(root: Path, *more: dict[str, Any], **moves: Any) -> dict[str, dict[str, Any]]:
    """The objects of a fleet whose only application verifies its moves, by path."""
    app = application("web", moves={"verify": VERIFY, **moves})
    return objects(rendered(root, RANGED, SLO, app, *more, pace={}))


def verification_in(found: dict[str, dict[str, Any]]) -> Verification:
    document = next(item for item in found.values() if item["kind"] == "Placement")
    ranking = paced_ranking(msgspec.convert(document, Placement))
    assert ranking is not None
    assert ranking.verification is not None
    return ranking.verification


def test_the_annotation_says_what_must_hold_after_a_move(tmp_path: Path) -> None:
    """The reconciler reads what to compare, from when on, and until when."""
    verification = verification_in(
        verifying(
            tmp_path,
            verify=[
                {"scorer": "slo", "atLeast": 80, "forSeconds": 120},
                {"scorer": "cpu", "noWorseThan": 10},
            ],
            verifySeconds=3600,
            onUnknown="Return",
        )
    )
    assert replace(verification, revision="") == Verification(
        checks=(
            VerifiedBy(
                scorer="slo",
                resource="slo",
                dimension="slo",
                at_least=80,
                for_seconds=120,
                delay=90,
                range=300,
                lifetime=900,
            ),
            VerifiedBy(
                scorer="cpu",
                resource="cpu",
                dimension="cpu",
                no_worse_than=10,
                for_seconds=600,
                delay=120,
                range=600,
                lifetime=900,
            ),
        ),
        seconds=3600,
        on_unknown="Return",
        hold_seconds=21600,
        revision="",
    )


def test_the_revision_changes_with_the_application_and_its_scorers_alone(tmp_path: Path) -> None:
    """A change in git that could have mended what failed ends a hold; others do not."""
    plain = verification_in(verifying(tmp_path / "plain")).revision
    other = scorer("other")
    assert verification_in(verifying(tmp_path / "other", other)).revision == plain
    held = verification_in(verifying(tmp_path / "held", holdSeconds=60)).revision
    changed = {**SLO, "spec": {**SLO["spec"], "scoreTTLSeconds": 1000}}
    app = application("web", moves={"verify": VERIFY})
    result = rendered(tmp_path / "scorer", RANGED, changed, app, pace={})
    assert len({plain, held, verification_in(objects(result)).revision}) == 3


def test_digests_of_clusters_are_rendered_while_somebody_verifies(tmp_path: Path) -> None:
    """A hold ends when the inventory entry of its cluster changes; nobody else needs them."""
    path = "reconciler/configmap.gitops-dsf-maintenance.yaml"
    before = read_inventory_digests(verifying(tmp_path / "a")[path]["data"])
    assert before is not None
    assert sorted(before) == ["c0", "c1"]
    joined = fleets.cluster("c1-new", zone="b")
    after = read_inventory_digests(verifying(tmp_path / "b", joined)[path]["data"])
    assert after is not None
    assert {name: after[name] for name in before} == before
    relabelled = fleets.cluster("c1-new", zone="c")
    changed = read_inventory_digests(verifying(tmp_path / "c", relabelled)[path]["data"])
    assert changed is not None
    assert changed["c1-new"] != after["c1-new"]
    nobody = objects(rendered(tmp_path / "d", RANGED, application("web"), pace={}))
    assert sorted(nobody[path]["data"]) == ["maintenance"]


@pytest.mark.parametrize(
    "check",
    [{}, {"atLeast": 80, "noWorseThan": 10}, {"atLeast": 101}],
    ids=["neither", "both", "beyond"],
)
def test_a_broken_check_in_the_annotation_is_no_verification(check: dict[str, int]) -> None:
    """The reconciler must not verify by half of a check."""
    text = {"scorer": "s", "resource": "s", "dimension": "s", **check}
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(text, VerifiedBy)


def test_a_scorer_that_only_verifies_runs_on_every_cluster(tmp_path: Path) -> None:
    """No Placement ranks by it, and the agents and the hub get it all the same."""
    found = verifying(tmp_path)
    work = found["works-00/c0.manifestwork.yaml"]
    [summaries] = [
        manifest["data"]["summaries"]
        for manifest in work["spec"]["workload"]["manifests"]
        if manifest["kind"] == "ConfigMap"
    ]
    assert [entry["name"] for entry in msgspec.json.decode(summaries)] == ["cpu", "slo"]
    assert "platform/dynamicscorer.slo.yaml" in found


def test_the_reconciler_reads_how_often_the_fleet_may_be_wrong(tmp_path: Path) -> None:
    """The time of an acknowledgement stays a text: YAML 1.1 would read it as a time."""
    pace = {
        "stopAfterReturns": 5,
        "returnsWindowSeconds": 600,
        "acknowledgedStop": "2026-11-24T20:00:00Z",
    }
    result = rendered(tmp_path / "fleet", RANGED, application("web"), pace=pace)
    [text] = [
        text
        for item in objects(result).values()
        if item["kind"] == "ConfigMap"
        for name, text in item["data"].items()
        if name == "gitops-dsf.yaml"
    ]
    (tmp_path / "gitops-dsf.yaml").write_text(text, "utf-8")
    read_pace = read(tmp_path / "gitops-dsf.yaml").pace
    assert read_pace is not None
    assert (
        read_pace.stop_after_returns,
        read_pace.returns_window_seconds,
        read_pace.acknowledged_stop,
    ) == (5, 600, "2026-11-24T20:00:00Z")

"""Paced Placements: they hold by themselves, and say what people wrote."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.pace import PACE_ANNOTATION, PacedRanking, PacedTerm, as_written, paced_ranking
from tests.support.rendering import application, objects, rendered, scorer

RANGED = scorer(
    "cpu",
    source={
        "host": "http://prometheus.svc:9090",
        "params": {"query": "up", "range": 600, "step": 60},
    },
    scoreRange={"min": 0, "max": 1},
)
PATH = "delivery/placement.web.yaml"


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

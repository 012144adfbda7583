"""Paced moves in the verbs that read the ConfigMap of the reconciler.

They are `status`, `doctor`, `explain` and `simulate --paced`.
"""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.integration.hubverbs.conftest import Run, Serve
from tests.integration.preview.gitfleet import HERD, NAMES, SET, herd_fleet
from tests.support.hubobjects import (
    Object,
    binding,
    cluster,
    decision,
    global_set,
    move,
    moves_score,
    paced,
    paced_moves,
    placement,
    score,
    scorer,
)

NOW = datetime.now(UTC)
SECONDS = NOW.timestamp()
UNDER_WAY = move("app-00", "c1", "c2", since=SECONDS, phaseSince=SECONDS)
ARRIVALS = {"points": 20.0, "reason": "Arrivals", "message": "c2 receives 1 already"}
WAITING = move("app-01", "c1", "c2", since=SECONDS, **ARRIVALS)


def herd(*moves: Object) -> list[Object]:
    """The hub of the herd, with this ConfigMap."""
    return [
        *(cluster(name, **{SET: "fleet"}) for name in HERD),
        scorer("cpu"),
        *(score(name, "cpu", value, now=datetime.now(UTC)) for name, value in HERD.items()),
        *(paced(placement(name, "cpu"), demand=2) for name in NAMES),
        *(decision(name, "c1") for name in NAMES),
        *moves,
    ]


QUEUE = paced_moves({"moves": [UNDER_WAY]}, {"waiting": [WAITING]})


def test_status_shows_the_queue(serve: Serve, run: Run) -> None:
    hub = serve(herd(QUEUE))
    text = run(hub, "status").stdout
    assert "\nPaced moves\n  argocd/app-00: c1 -> c2: Admitted since " in text
    assert "\n  argocd/app-01: c1 -> c2 (+20 points) waits since " in text
    assert text.endswith(": Arrivals: c2 receives 1 already\n")


def settled(*moves: Object, where: str = "c2") -> list[Object]:
    """One paced application with a stickiness of 20, and fresh scores everywhere."""
    return [
        *(cluster(name) for name in HERD),
        global_set(),
        binding(),
        scorer("cpu"),
        *(score(name, "cpu", value, now=datetime.now(UTC)) for name, value in HERD.items()),
        paced(placement("web", "cpu"), weight=5, steady=1),
        decision("web", where),
        *moves,
    ]


def test_status_speaks_of_the_scores_that_people_wrote(serve: Serve, run: Run) -> None:
    """The items of moves are not scores: nobody misses one, and none of them flips a decision."""
    hub = serve(settled(moves_score("c3", web=50)))
    text = run(hub, "status").stdout
    assert "\n  argocd/web: c2 of 4 eligible clusters\n" in text
    assert "missing or expired" not in text
    assert "    c2 goes out for c3 if its cpu falls from 62 to 37\n" in text
    assert "    c3 comes in for c2 if its cpu rises from 58 to 83\n" in text
    (shown,) = json.loads(run(hub, "status", "-o", "json").stdout)["placements"]
    assert (shown["countedAsZero"], shown["paced"], shown["wish"]) == ([], True, None)
    others = [each for each in settled() if each["metadata"].get("namespace") != "c3"]
    expired = score("c3", "cpu", 58, now=datetime.now(UTC), age=2000)
    text = run(serve([*others, expired]), "status").stdout
    assert "    scores missing or expired, which count as 0: c3\n" in text, "the healthy twin"


def test_status_says_where_the_written_weights_ask_for(serve: Serve, run: Run) -> None:
    """Also while no reconciler admits the move, so that nothing waits in its queue."""
    hub = serve(settled(where="c1"))
    text = run(hub, "status").stdout
    assert "\n  argocd/web: c1 of 4 eligible clusters\n" in text
    assert "    paced: it holds its clusters; the written weights ask for c2\n" in text
    assert "no single score" not in text
    assert "comes in for" not in text
    (shown,) = json.loads(run(hub, "status", "-o", "json").stdout)["placements"]
    assert (shown["next"], shown["settled"], shown["wish"], shown["flips"]) == (
        ["c1"],
        True,
        ["c2"],
        [],
    )


def test_a_fleet_without_a_pace_needs_no_right_to_the_ledger(serve: Serve, run: Run) -> None:
    hub = serve()
    assert "Paced moves" not in run(hub, "status").stdout
    assert not [request for request in hub.requests if "gitops-dsf-moves" in request]


def test_a_ledger_that_cannot_be_read_is_told(serve: Serve, run: Run, tmp_path: Path) -> None:
    """`status` names it, `doctor` says what to do, and no wave is computed from nothing."""
    hub = serve(herd(paced_moves([], {})))
    shown = run(hub, "status")
    assert shown.returncode == 0
    assert "not known: get configmaps gitops-dsf-moves" in shown.stdout
    findings = json.loads(run(hub, "doctor", "-o", "json").stdout)["findings"]
    [found] = [each for each in findings if each["check"] == "paced-moves"]
    assert found["state"] == "error"
    assert " delete configmap gitops-dsf-moves" in found["fix"]
    refused = run(hub, "simulate", "--paced", str(herd_fleet(tmp_path / "fleet").path))
    assert (refused.returncode, "key ledger: Expected `object`" in refused.stderr) == (1, True)


def test_waves_begin_where_the_ledger_of_the_hub_ends(
    serve: Serve, run: Run, tmp_path: Path
) -> None:
    fleet = herd_fleet(tmp_path / "fleet", demand=2, stickiness=0)
    text = run(serve(herd(QUEUE)), "simulate", "--paced", str(fleet.path)).stdout
    assert "\nunder way, taken as done: app-00 c1 -> c2\n5 moves in " in text
    assert "app-00" not in text.partition("\n1: ")[2]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("app-00", "  argocd/app-00: c1 -> c2: Admitted since "),
        ("app-01", "  argocd/app-01: c1 -> c2 (+20 points) waits since "),
    ],
)
def test_explain_says_where_a_paced_placement_would_move_and_what_it_waits_for(
    serve: Serve, run: Run, tmp_path: Path, name: str, expected: str
) -> None:
    fleet = herd_fleet(tmp_path / "fleet", demand=2, stickiness=0)
    hub = serve(herd(QUEUE))
    text = run(hub, "explain", name, str(fleet.path)).stdout
    holds = (
        "  paced: it holds its clusters; by the written weights it would move c1 -> c2 (+22"
        " points)\n"
    )
    assert f"{holds}{expected}" in text
    shown: dict[str, Any] = json.loads(
        run(hub, "explain", name, str(fleet.path), "-o", "json").stdout
    )
    assert shown["paced"]["move"] == {
        "placement": f"argocd/{name}",
        "from": "c1",
        "to": "c2",
        "points": 22.0,
    }
    assert len([*shown["paced"]["queue"]["underWay"], *shown["paced"]["queue"]["waiting"]]) == 1


def test_explain_speaks_of_the_weights_that_people_wrote(
    serve: Serve, run: Run, tmp_path: Path
) -> None:
    """app-00 stays on c1, and would move to c2 by the written weights: the items of moves are no
    scores.
    """
    fleet = herd_fleet(tmp_path / "fleet", demand=2, stickiness=0)
    hub = serve([*herd(QUEUE), global_set(), binding(), moves_score("c3", app_00=50)])
    text = run(hub, "explain", "app-00", str(fleet.path)).stdout
    assert "\n  ranked by: cpu x1\n" in text
    assert "gitops-dsf-moves" not in text
    assert "Steady" not in text
    assert "count as 0" not in text
    assert re.search(r"\n +1 +c2 +62 +62\n", text), text
    assert re.search(r"\n +4 +\* +c1 +40 +40\n", text), "it is on c1 now"
    for cluster_name, standing in (
        ("c1", "selected"),
        ("c2", "not selected"),
        ("c3", "not selected"),
    ):
        text = run(hub, "explain", "app-00", cluster_name, str(fleet.path)).stdout
        assert f"argocd/app-00, cluster {cluster_name}: {standing}\n" in text
        assert "gitops-dsf-moves" not in text
    assert "paced: it holds its clusters; the written weights ask for c2" in text


def test_explain_of_a_settled_paced_placement_says_what_would_flip_it(
    serve: Serve, run: Run, tmp_path: Path
) -> None:
    fleet = herd_fleet(tmp_path / "fleet", demand=2, stickiness=20)
    leads = "  c2 leads c3 by 4 points of the mean score; the stickiness is 20, so it stays on c3\n"
    others = [each for each in herd() if each["kind"] != "PlacementDecision"]
    hub = serve([*others, global_set(), binding(), *(decision(name, "c2") for name in NAMES)])
    assert leads not in run(hub, "explain", "app-00", str(fleet.path)).stdout
    second = serve([*others, global_set(), binding(), *(decision(name, "c3") for name in NAMES)])
    assert leads in run(second, "explain", "app-00", str(fleet.path)).stdout
    text = run(hub, "explain", "app-00", "c3", str(fleet.path)).stdout
    assert "argocd/app-00, cluster c3: not selected\n" in text
    assert "cpu/cpu rises from 58 to 83  <- the nearest" in text
    assert "gitops-dsf-moves" not in text

"""Paced moves: `status`, `doctor`, `explain` and `simulate --paced` read the ConfigMap of the reconciler."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.integration.hubverbs.conftest import Run, Serve
from tests.integration.preview.gitfleet import HERD, NAMES, SET, herd_fleet
from tests.support.hubobjects import (
    Object,
    cluster,
    decision,
    move,
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
        *(score(name, "cpu", value, now=NOW) for name, value in HERD.items()),
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


def test_waves_begin_where_the_ledger_of_the_hub_ends(serve: Serve, run: Run, tmp_path: Path) -> None:
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
    holds = "  paced: it holds its clusters; by the written weights it would move c1 -> c2 (+22 points)\n"
    assert f"{holds}{expected}" in text
    shown: dict[str, Any] = json.loads(run(hub, "explain", name, str(fleet.path), "-o", "json").stdout)
    assert shown["paced"]["move"] == {"placement": f"argocd/{name}", "from": "c1", "to": "c2", "points": 22.0}
    assert len([*shown["paced"]["queue"]["underWay"], *shown["paced"]["queue"]["waiting"]]) == 1

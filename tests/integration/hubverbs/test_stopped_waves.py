"""`simulate --paced` of a fleet that stopped its moves, and of applications that came back."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.integration.hubverbs.conftest import Run, Serve
from tests.integration.hubverbs.test_paced import herd
from tests.integration.preview.gitfleet import NAMES, GitFleet, herd_app, herd_fleet, scorer
from tests.support.hubobjects import paced_moves

NOW = int(datetime.now(UTC).timestamp())
STOPPED = NOW - 60
TIME = datetime.fromtimestamp(STOPPED, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
PACE = {"concurrent": 2, "arrivalsPerCluster": 1}


def fleet_of(folder: Path, *, pace: dict[str, Any] = PACE, at_least: int = 80) -> GitFleet:
    """The herd, whose first application verifies its moves."""
    fleet = herd_fleet(folder, demand=2, stickiness=0, pace=pace)
    apps = [herd_app(name, demand=2, stickiness=0) for name in NAMES]
    apps[0]["spec"]["moves"] = {
        "verify": [{"scorer": "slo", "atLeast": at_least}],
        "verifySeconds": 7200,
    }
    fleet.write("apps/guestbook.yaml", *apps)
    fleet.write("scorers/slo.yaml", scorer("slo"))
    return fleet


def test_a_fleet_that_stopped_has_no_waves_until_a_person_acknowledges_it(
    serve: Serve, run: Run, tmp_path: Path
) -> None:
    hub = serve(herd(paced_moves({"stoppedSince": STOPPED, "returns": [STOPPED]}, {})))
    fleet = fleet_of(tmp_path / "fleet")
    text = run(hub, "simulate", "--paced", str(fleet.path)).stdout
    assert f"\nmoves stopped at {TIME}, and nobody has acknowledged it: no move begins\n" in text
    assert "\nno paced move follows\n" in text
    found = json.loads(run(hub, "simulate", "--paced", str(fleet.path), "-o", "json").stdout)
    assert (found["stoppedSince"], found["waves"]) == (STOPPED, [])
    page = run(hub, "simulate", "--paced", str(fleet.path), "-o", "html").stdout
    assert f"stopped at {TIME}" in page
    going_on = fleet_of(tmp_path / "on", pace={**PACE, "acknowledgedStop": TIME})
    text = run(hub, "simulate", "--paced", str(going_on.path)).stdout
    assert "stopped" not in text
    assert "\n6 moves in 4 waves, 1 of them verified:\n1: app-00 c1 -> c2 " in text


def test_a_change_that_could_mend_what_failed_ends_a_hold(
    serve: Serve, run: Run, tmp_path: Path
) -> None:
    """app-00 came back from c2. It goes elsewhere first, unless its check changes."""
    fleet = fleet_of(tmp_path / "fleet")
    plain = serve(herd())
    explained = run(plain, "explain", "app-00", str(fleet.path), "-o", "json").stdout
    hold = {
        "placement": "argocd/app-00",
        "target": "c2",
        "since": STOPPED,
        "until": NOW + 21600,
        "revision": json.loads(explained)["verification"]["revision"],
    }
    hub = serve(herd(paced_moves({"holds": [hold]}, {})))
    text = run(hub, "simulate", "--paced", str(fleet.path)).stdout
    assert "\n1: app-01 c1 -> c2, app-00 c1 -> c3 (verified for 22 to 120 min)\n" in text
    changed = fleet_of(tmp_path / "changed", at_least=70)
    text = run(hub, "simulate", "--paced", str(changed.path)).stdout
    assert "\n1: app-00 c1 -> c2 (verified" in text

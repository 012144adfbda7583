"""Maintenance before it happens: `diff` and `simulate --paced`, from real git repositories."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.integration.preview.gitfleet import (
    FLEET,
    NAMES,
    Formats,
    GitFleet,
    Run,
    cluster,
    herd_app,
    herd_fleet,
    save,
    snapshot,
)

PACE = {"concurrent": 2, "arrivalsPerCluster": 1, "settleSeconds": 600}
NIGHT = {"start": "2099-11-24T20:00:00+01:00", "end": "2099-11-25T04:00:00+01:00"}
WHEN = "from 2099-11-24 20:00 to 2099-11-25 04:00 +01:00"
LEAVE = "5 applications would leave in 3 waves, the last not before 2099-11-24 20:20"
SHORT = NIGHT | {"end": "2099-11-24T20:15:00+01:00"}
OPEN = {"start": "2020-01-01T00:00:00Z", "end": "2099-01-01T00:00:00Z"}
PAST = {"start": "2020-01-01T00:00:00Z", "end": "2020-01-02T00:00:00Z"}
ON_C2 = NAMES[:5]
DECIDED = {name: ["c2" if name in ON_C2 else "c1"] for name in NAMES}
STEADY: Mapping[str, int] = {"c1": 60, "c2": 62, "c3": 60, "c4": 50}


def maintenance(name: str, action: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "Maintenance",
        "metadata": {"name": name},
        "spec": {"action": action, **spec},
    }


@pytest.fixture
def herd(tmp_path: Path) -> GitFleet:
    """Five applications on c2, and fifteen on c1, which all stay for as long as they may."""
    return herd_fleet(tmp_path / "fleet", pace=PACE, demand=2)


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    return save(snapshot(values=STEADY, decided=DECIDED), tmp_path / "hub")


def windows(formats: Formats) -> dict[str, dict[str, Any]]:
    return {item["name"]: item for item in formats.comparison.get("maintenance", ())}


def page(text: str) -> list[str]:
    """What `diff` says of maintenance."""
    section = text.partition("#### Maintenance\n\n")[2]
    return section.partition("\n#### ")[0].splitlines()


def test_a_drain_shows_who_leaves_when_and_whereto(herd: GitFleet, run: Run, hub: Path) -> None:
    herd.write("config/maintenance.yaml", maintenance("patch", "Drain", clusters=["c2"], **NIGHT))
    formats = run.formats(herd, "--scores", hub)
    assert page(formats.text) == [
        f"- `patch` added: Drain of c2 {WHEN}; {LEAVE}",
        "  - 20:00: app-00 c2 -> c1, app-01 c2 -> c3",
        "  - 20:10: app-02 c2 -> c1, app-03 c2 -> c3",
        "  - 20:20: app-04 c2 -> c1",
    ]
    comment = formats.comment
    headline = "No application moves at once; 5 applications would leave for maintenance"
    assert f"\n**{headline}**\n" in comment
    assert "no application moves\n" not in comment.lower(), "nothing contradicts the headline"
    assert "\n#### Maintenance\n\n- `patch` added: Drain of c2 from 2099-" in comment
    found = formats.comparison
    assert (found["moves"], "paced" in found) == ([], False), (
        "nothing moves before the window opens"
    )
    run("diff", herd.path, "--base", "main", "--scores", hub, "--fail-on", "move", code=1)
    assert "--fail-on: maintenance patch: 5 applications would leave" in run.err


def test_a_drain_that_does_not_fit_says_who_is_left(herd: GitFleet, run: Run, hub: Path) -> None:
    herd.write("config/maintenance.yaml", maintenance("patch", "Drain", clusters=["c2"], **SHORT))
    first, *_, last = page(run.shown(herd, "--scores", hub))
    late = "1 would still be there at the end"
    assert f"; 4 applications would leave in 2 waves; {late}" in first
    assert last == "  - would not leave before the end: app-04"


def test_what_a_drain_does_not_move_is_named(herd: GitFleet, run: Run, hub: Path) -> None:
    """A frozen application, one that no other cluster takes, and one that is not paced."""
    apps = [herd_app(name, demand=2) for name in NAMES]
    apps[1]["spec"]["placement"]["clusterSelector"] = {"matchLabels": {"region": "solo"}}
    apps[2]["spec"]["moves"] = {"pace": "None"}
    del apps[2]["spec"]["scores"][0]["demand"]
    herd.write("apps/guestbook.yaml", *apps)
    herd.write(
        "clusters/fleet.yaml",
        *(cluster(name, "solo" if name == "c2" else "eu") for name in STEADY),
        FLEET,
    )
    herd.commit("apps")
    herd.write(
        "config/maintenance.yaml",
        maintenance("patch", "Drain", clusters=["c2"], **NIGHT),
        maintenance("quiet", "Freeze", applications=["app-00"], **NIGHT),
    )
    assert page(run.shown(herd, "--scores", hub))[1:] == [
        "  - 20:00: app-03 c2 -> c1, app-04 c2 -> c3",
        "  - with nowhere to go: app-01",
        "  - held by a freeze: app-00",
        "  - not paced, so not moved: app-02",
        f"- `quiet` added: Freeze of app-00 {WHEN}; no move of 1 paced application begins: app-00",
    ]


def test_a_drain_is_a_loss_with_notice(herd: GitFleet, run: Run, hub: Path) -> None:
    """Who has nowhere to go, and what is overloaded, is told as for a cluster that is lost."""
    apps = [herd_app(name, demand=40 if name in ON_C2 else 2) for name in NAMES]
    apps[1]["spec"]["placement"]["clusterSelector"] = {"matchLabels": {"region": "solo"}}
    tolerated = {"key": "gitops-dsf.io/maintenance", "operator": "Exists"}
    apps[2]["spec"]["placement"]["tolerations"] = [tolerated]
    herd.write("apps/guestbook.yaml", *apps)
    herd.write(
        "clusters/fleet.yaml",
        *(cluster(name, "solo" if name == "c2" else "eu") for name in ("c1", "c2")),
        FLEET,
    )
    herd.commit("two clusters")
    herd.write("config/maintenance.yaml", maintenance("patch", "Drain", clusters=["c2"], **NIGHT))
    diff = ("diff", herd.path, "--base", "HEAD", "--scores", hub)
    formats = run.formats(herd, "--scores", hub, base="HEAD")
    comment = formats.comment
    assert (
        "\n  - with nowhere to go: app-01\n  - tolerating the taint of maintenance: app-02\n"
        "  - c1 would be asked for 120 points of cpu and has 59 left (app-00, app-03, app-04)\n"
        in comment
    )
    assert (
        "- **Nowhere to go:** app-01 during the maintenance patch; the maintenance patch would"
        " overload a cluster, below\n" in comment
    )
    [patch] = formats.comparison["maintenance"]
    assert (patch["homeless"], patch["tolerant"]) == (["argocd/app-01"], ["argocd/app-02"])
    [lost] = run.json("simulate", herd.path, "--scores", hub, "--lose", "c2")["losses"]
    assert [each["demand"] for each in lost["overloads"]] == [160], "a loss waits for nobody"
    run(*diff, "--fail-on", "homeless", code=1)
    assert (
        "--fail-on: maintenance patch: 1 application would have nowhere to go: argocd/app-01"
        in run.err
    )
    run(*diff, "--fail-on", "overload", code=1)
    assert "--fail-on: maintenance patch: c1 would be asked for 120 points of cpu" in run.err


def test_a_drain_that_everybody_survives_fails_nothing(herd: GitFleet, run: Run, hub: Path) -> None:
    herd.write("config/maintenance.yaml", maintenance("patch", "Drain", clusters=["c2"], **NIGHT))
    diff = ("diff", herd.path, "--base", "main", "--scores", hub)
    run(*diff, "--fail-on", "homeless", "--fail-on", "overload")
    [patch] = run.compared(herd, "--scores", hub)["maintenance"]
    assert (patch["homeless"], patch["tolerant"], patch["overloads"]) == ([], [], [])


def test_a_cordon_and_a_freeze_of_clusters_say_who_is_there(
    herd: GitFleet, run: Run, hub: Path
) -> None:
    weekly = {"days": ["Sat"], "from": "22:00", "to": "01:00", "zone": "UTC"}
    herd.write(
        "config/maintenance.yaml",
        maintenance("a", "Cordon", clusters=["c2"], schedule=weekly),
        maintenance("b", "Freeze", clusterSelector={}, **NIGHT),
        maintenance("c", "Freeze", clusters=["c3"], **NIGHT),
    )
    formats = run.formats(herd, "--scores", hub)
    cordon, *freezes = page(formats.text)
    assert cordon.endswith(
        " 01:00 UTC; no application arrives, and 5 stay: app-00, app-01, app-02, app-03, app-04"
    )
    assert freezes[0].endswith(
        "no move of 20 paced applications begins: app-00, app-01, app-02, app-03, app-04"
        " and 15 more"
    )
    assert freezes[1].endswith("no paced application is there")
    assert windows(formats)["a"]["zone"] == "UTC"


def test_only_maintenance_that_differs_is_shown(herd: GitFleet, run: Run, hub: Path) -> None:
    both = (
        maintenance("a", "Cordon", clusters=["c2"], **OPEN),
        maintenance("b", "Drain", clusters=["c3"], **NIGHT),
    )
    herd.write("config/maintenance.yaml", *both)
    herd.commit("maintenance")
    assert windows(run.formats(herd, "--scores", hub)) == {}
    herd.write(
        "config/maintenance.yaml",
        maintenance("b", "Drain", clusters=["c3"], **SHORT),
        maintenance("c", "Cordon", clusters=["c1"], **PAST),
    )
    formats = run.formats(herd, "--scores", hub)
    found = windows(formats)
    assert {name: (each["change"], each["state"]) for name, each in found.items()} == {
        "a": ("removed", "open"),
        "b": ("changed", "later"),
        "c": ("added", "past"),
    }
    assert [line.rpartition("; ")[2] for line in page(formats.text)] == [
        "it ends with the change",
        "no application leaves",
        "the window is past, so it does nothing",
    ]


def test_a_window_that_is_open_counts_at_once(herd: GitFleet, run: Run, hub: Path) -> None:
    """In the waves of the pace, too: those of a drain begin, and those of a freeze do not."""
    herd.write("config/maintenance.yaml", maintenance("patch", "Drain", clusters=["c2"], **OPEN))
    found = run.json("simulate", herd.path, "--paced", "--scores", hub)
    moves = [(each["placement"], each["from"]) for wave in found["waves"] for each in wave["moves"]]
    assert sorted(moves) == [(f"argocd/{name}", "c2") for name in ON_C2]
    assert [each["name"] for each in found["maintenance"]] == ["patch"]
    formats = run.formats(herd, "--scores", hub)
    compared = formats.comparison
    assert [len(wave["moves"]) for wave in compared["paced"]["waves"]] == [2, 2, 1]
    assert compared["maintenance"][0]["state"] == "open"
    headline = "No application moves at once; 5 applications would leave for maintenance"
    assert f"\n**{headline}**\n" in formats.text, "each move counts once"
    freeze = maintenance("quiet", "Freeze", clusters=["c2"], **OPEN)
    herd.write("config/freeze.yaml", freeze)
    text = run("simulate", herd.path, "--paced", "--scores", hub)
    assert (
        "\nmaintenance quiet is open: Freeze of c2 from 2020-01-01 00:00 to 2099-01-01 00:00 UTC\n"
        in text
    )
    assert text.endswith("\nno paced move follows\n")


def test_a_long_drain_is_not_computed_to_its_end(
    herd: GitFleet, run: Run, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All windows of a comparison share the bound."""
    monkeypatch.setattr("gitops_dsf.views.preview.windoweffects.MAX_SIMULATED", 2 * len(ON_C2))
    herd.write(
        "config/maintenance.yaml",
        *(maintenance(name, "Drain", clusters=["c2"], **NIGHT) for name in ("a", "b")),
    )
    formats = run.formats(herd, "--scores", hub)
    found = windows(formats)
    assert {name: (len(each["waves"]), each["complete"]) for name, each in found.items()} == {
        "a": (2, False),
        "b": (0, False),
    }
    first, *lines, last = page(formats.text)
    assert "; at least 4 applications would leave in 2 waves" in first
    assert lines[-2] == "  - ... and more"
    assert lines[-1].endswith("; how many applications leave was not computed")
    assert last == "  - ... and more"


def test_without_scores_nobody_knows_who_leaves(herd: GitFleet, run: Run) -> None:
    herd.write("config/maintenance.yaml", maintenance("patch", "Drain", clusters=["c2"], **NIGHT))
    formats = run.formats(herd)
    (item,) = formats.comparison["maintenance"]
    assert (item["waves"], item["stays"]) == ([], None)
    assert page(formats.text)[-1].endswith("; which applications it concerns is unknown")

"""What the loss of a cluster would do: `simulate --lose`, `--lose-each`, and `diff`."""

from pathlib import Path
from typing import Any

import pytest

from tests.integration.preview.gitfleet import (
    FLEET,
    HERD,
    PACE,
    GitFleet,
    Run,
    application,
    cluster,
    herd_app,
    herd_fleet,
    herd_hub,
    save,
    scorer,
    settings,
    snapshot,
)

REFUGES = {**PACE, "refuges": True}


def losses(run: Run, fleet: GitFleet, hub: Path, *arguments: str) -> list[Any]:
    output = run.json("simulate", fleet.path, "--scores", hub, *arguments)
    return list(output["losses"])


def test_an_application_goes_to_the_next_best_cluster(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    [loss] = losses(run, fleet, scores, "--lose", "eu-1")
    assert loss == {
        "clusters": ["eu-1"],
        "departures": [
            {
                "placement": "argocd/guestbook",
                "from": ["eu-1"],
                "to": ["eu-2"],
                "stays": [],
                "missing": 0,
                "by": "scores",
            }
        ],
        "overloads": [],
    }
    text = run("simulate", fleet.path, "--scores", scores, "--lose", "eu-1")
    assert "\nif eu-1 were lost: 1 application\n" in text
    assert "\n  argocd/guestbook: eu-1 -> eu-2 (by scores)\n" in text
    text = run("simulate", fleet.path, "--scores", scores, "--lose", "us-1")
    assert "if us-1 were lost: no application is there, so nothing would move" in text


def test_clusters_with_a_label_are_lost_together(fleet: GitFleet, scores: Path, run: Run) -> None:
    [loss] = losses(run, fleet, scores, "--lose", "region=eu")
    assert loss["clusters"] == ["eu-1", "eu-2"]
    assert loss["departures"][0]["to"] == ["us-1"]
    assert losses(run, fleet, scores, "--lose", "eu-1", "--lose", "eu-2") == [loss]


def test_who_has_nowhere_to_go_is_named(fleet: GitFleet, scores: Path, run: Run) -> None:
    text = run("simulate", fleet.path, "--scores", scores, "--lose", "region=eu", "--lose", "us-1")
    assert "  argocd/guestbook: eu-1 -> nowhere: no other cluster is eligible\n" in text


def test_each_cluster_with_an_application_is_lost_once(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    fleet.write("apps/shop.yaml", application("shop", count=2))
    decided = {"guestbook": ["eu-1"], "shop": ["eu-1", "eu-2"]}
    hub = save(snapshot(decided=decided), tmp_path / "hub")
    each = losses(run, fleet, hub, "--lose-each")
    assert [loss["clusters"] for loss in each] == [["eu-1"], ["eu-2"]]
    moves = {
        (departure["placement"], *departure["from"]): departure["to"]
        for loss in each
        for departure in loss["departures"]
    }
    assert moves == {
        ("argocd/guestbook", "eu-1"): ["eu-2"],
        ("argocd/shop", "eu-1"): ["us-1"],
        ("argocd/shop", "eu-2"): ["us-1"],
    }
    text = run("simulate", fleet.path, "--scores", hub, "--lose-each")
    assert text.endswith("\nany one of 2 clusters can be lost\n")


def test_an_application_on_all_clusters_only_shrinks(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    everywhere = application("agent")
    del everywhere["spec"]["placement"]["numberOfClusters"]
    fleet.write("apps/guestbook.yaml", everywhere)
    hub = save(snapshot(decided={"agent": ["eu-1", "eu-2", "us-1"]}), tmp_path / "hub")
    [first, *_] = losses(run, fleet, hub, "--lose-each")
    [departure] = first["departures"]
    assert (departure["from"], departure["to"], departure["missing"]) == (["eu-1"], [], 0)
    text = run("simulate", fleet.path, "--scores", hub, "--lose", "eu-1")
    assert "argocd/agent: leaves eu-1, and stays on its other clusters\n" in text
    [all_lost] = losses(run, fleet, hub, "--lose", "region=eu", "--lose", "us-1")
    assert all_lost["departures"][0]["missing"] == 3


def test_a_loss_that_is_tolerated_moves_nothing(fleet: GitFleet, scores: Path, run: Run) -> None:
    """A toleration for some time has run out, because the cluster stays lost."""
    for seconds, stays in ((None, ["eu-1"]), (600, [])):
        tolerant = application("guestbook")
        toleration = {
            "key": "cluster.open-cluster-management.io/unreachable",
            "operator": "Exists",
        }
        if seconds is not None:
            toleration["tolerationSeconds"] = seconds  # type: ignore[assignment]
        tolerant["spec"]["placement"]["tolerations"] = [toleration]
        fleet.write("apps/guestbook.yaml", tolerant)
        [loss] = losses(run, fleet, scores, "--lose", "eu-1")
        assert loss["departures"][0]["stays"] == stays
    text = run("simulate", fleet.path, "--scores", scores, "--lose", "eu-1")
    assert "eu-1 -> eu-2" in text


def test_arrivals_that_ask_for_more_than_is_left_are_told(tmp_path: Path, run: Run) -> None:
    """Without a pace OCM sends the twenty to the same cluster. Each of them takes 5 points."""
    fleet = herd_fleet(tmp_path / "fleet", pace=None)
    hub = save(herd_hub(), tmp_path / "hub")
    [loss] = losses(run, fleet, hub, "--lose", "c1")
    [overload] = loss["overloads"]
    assert (overload["cluster"], overload["left"], overload["demand"]) == ("c2", 61, 100)
    text = run("simulate", fleet.path, "--scores", hub, "--lose-each")
    assert (
        "  c2 would be asked for 100 points of cpu and has 61 left (app-00, app-01, app-02, app-03,"
        " app-04 and 15 more)\n" in text
    )
    assert text.endswith("of 1 cluster, the loss of 1 would overload another cluster\n")


def test_refuges_spread_what_leaves(tmp_path: Path, run: Run) -> None:
    fleet = herd_fleet(tmp_path / "fleet", pace=REFUGES)
    hub = save(herd_hub(), tmp_path / "hub")
    [loss] = losses(run, fleet, hub, "--lose", "c1")
    targets = {target for departure in loss["departures"] for target in departure["to"]}
    assert targets == {"c2", "c3", "c4"}
    assert {departure["by"] for departure in loss["departures"]} == {"refuge"}
    assert loss["overloads"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--lose", "eu-9"), "--lose eu-9: there is no such cluster; did you mean eu-2?"),
        (("--lose", "region=mars"), "--lose region=mars: no cluster has the label region=mars"),
        (("--lose", "eu-1", "--paced"), "not allowed with argument"),
    ],
)
def test_a_cluster_that_does_not_exist_is_an_error(
    fleet: GitFleet, scores: Path, run: Run, arguments: tuple[str, ...], message: str
) -> None:
    run("simulate", fleet.path, "--scores", scores, *arguments, code=2)
    assert message in run.err


def test_losses_need_decisions(fleet: GitFleet, run: Run) -> None:
    run("simulate", fleet.path, "--lose-each", code=2)
    assert "--lose-each: no scores given (--scores, --state-branch or --context)" in run.err


def loss_lines(comment: str) -> list[str]:
    """What a comment says of the loss of clusters."""
    section = comment.partition("<summary>If a cluster were lost</summary>")[2]
    return [line for line in section.partition("\n</details>")[0].splitlines() if line]


def test_a_change_that_makes_an_application_homeless_is_shown(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    narrow = application("guestbook", region="eu")
    fleet.write("apps/guestbook.yaml", narrow)
    assert "losses" not in run.compared(fleet, "--scores", scores)
    fleet.write("clusters/fleet.yaml", cluster("eu-1", "eu"), cluster("us-1", "us"), FLEET)
    formats = run.formats(fleet, "--scores", scores)
    [change] = formats.comparison["losses"]
    assert (change["cluster"], change["homeless"]) == ("eu-1", ["argocd/guestbook"])
    assert change["homelessBefore"] == 0
    assert loss_lines(formats.comment) == [
        "- if eu-1 were lost, guestbook would have nowhere to go; before: none"
    ]
    diff = ("diff", fleet.path, "--base", "main", "--scores", scores)
    run(*diff, "--fail-on", "homeless", code=1)
    assert (
        "--fail-on: if eu-1 were lost, 1 application would have nowhere to go: argocd/guestbook"
        in run.err
    )
    run(*diff, "--fail-on", "overload", "--fail-on", "rescore")
    fleet.commit("narrow")
    fleet.write("apps/guestbook.yaml", application("guestbook"))
    [better] = run.compared(fleet, "--scores", scores, base="HEAD")["losses"]
    assert (better["housed"], better["homeless"]) == (["argocd/guestbook"], [])


def test_a_change_that_overloads_a_cluster_is_shown(tmp_path: Path, run: Run) -> None:
    fleet = herd_fleet(tmp_path / "fleet", pace=None, demand=2)
    hub = save(herd_hub(), tmp_path / "hub")
    names = [f"app-{number:02}" for number in range(20)]
    fleet.write("apps/guestbook.yaml", *(herd_app(name, demand=4) for name in names))
    formats = run.formats(fleet, "--scores", hub)
    [change] = formats.comparison["losses"]
    assert [each["demand"] for each in change["overloads"]] == [80]
    [line] = loss_lines(formats.comment)
    assert line.startswith(
        "- if c1 were lost, c2 would be asked for 80 points of cpu and has 61 left"
    )
    diff = ("diff", fleet.path, "--base", "main", "--scores", hub)
    run(*diff, "--fail-on", "overload", code=1)
    assert "--fail-on: if c1 were lost, c2 would be asked for 80 points of cpu" in run.err
    run(*diff, "--fail-on", "homeless")


def test_both_sides_are_computed_for_the_same_clusters(
    fleet: GitFleet, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a fleet that is too large to lose each cluster, other ones have the most applications."""
    monkeypatch.setattr("gitops_dsf.views.preview.losses.MAX_SIMULATED", 1)
    fleet.write("apps/pinned.yaml", application("pinned", region="us"))
    fleet.commit("pinned")
    hub = save(snapshot(decided={"guestbook": ["eu-1"], "pinned": ["us-1"]}), tmp_path / "hub")
    assert "losses" not in run.compared(fleet, "--scores", hub, base="HEAD")
    fleet.write("apps/second.yaml", application("second", region="us"))
    [change] = run.compared(fleet, "--scores", hub, base="HEAD")["losses"]
    assert (change["cluster"], change["homeless"]) == ("us-1", ["argocd/second"])
    assert change["homelessBefore"] == 1, "pinned had nowhere to go before"


def test_a_change_without_an_effect_on_losses_has_no_section(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("apps/guestbook.yaml", application("guestbook", stickiness=10))
    formats = run.formats(fleet, "--scores", scores)
    assert "losses" not in formats.comparison
    assert loss_lines(formats.comment) == []


def test_unknown_data_refuses_what_it_cannot_show(fleet: GitFleet, run: Run) -> None:
    run("diff", fleet.path, "--base", "main", "--fail-on", "homeless", code=1)
    assert "what the loss of a cluster would do is unknown: no scores given" in run.err


def test_ten_lines_at_most_are_shown(tmp_path: Path, run: Run) -> None:
    """Each of twelve clusters has an application that may be nowhere else after the change."""
    fleet = GitFleet(tmp_path / "fleet")
    names = [f"c{number:02}" for number in range(12)]
    fleet.write("gitops-dsf.yaml", settings())
    fleet.write("clusters/fleet.yaml", *(cluster(name, name) for name in names), FLEET)
    fleet.write("scorers/cpu.yaml", scorer("cpu"))
    fleet.write("apps/guestbook.yaml", *(application(f"app-{name}") for name in names))
    fleet.commit("wide")
    hub = save(
        snapshot(
            values=dict.fromkeys(names, 50), decided={f"app-{name}": [name] for name in names}
        ),
        tmp_path / "hub",
    )
    fleet.write("apps/guestbook.yaml", *(application(f"app-{name}", region=name) for name in names))
    formats = run.formats(fleet, "--scores", hub)
    assert len(formats.comparison["losses"]) == 12
    lines = loss_lines(formats.comment)
    assert len(lines) == 11
    assert lines[-1] == "- ... and 2 lines more; `gitops-dsf diff -o json` has all"


def test_the_worst_cluster_of_the_herd_is_known(tmp_path: Path, run: Run) -> None:
    """Arrivals share what is above 1, the lowest score that the scorer publishes."""
    fleet = herd_fleet(tmp_path / "fleet", pace=None, demand=3)
    values = {**HERD, "c2": 61}
    hub = save(herd_hub(values), tmp_path / "hub")
    [loss] = losses(run, fleet, hub, "--lose", "c1")
    assert loss["overloads"] == []
    hub = save(herd_hub({**values, "c2": 60}), tmp_path / "other")
    [loss] = losses(run, fleet, hub, "--lose", "c1")
    assert loss["overloads"][0]["left"] == 59


def test_a_placement_whose_scheduling_is_disabled_stays(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    """OCM decides nothing for it, although it would take all eligible clusters."""
    disabled = "cluster.open-cluster-management.io/experimental-scheduling-disable"
    raw = {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": {"name": "held", "namespace": "argocd", "annotations": {disabled: "true"}},
        "spec": {"clusterSets": ["fleet"]},
    }
    fleet.write("apps/held.yaml", raw)
    hub = save(snapshot(decided={"held": ["eu-1", "eu-2", "us-1"]}), tmp_path / "hub")
    [loss] = losses(run, fleet, hub, "--lose", "eu-1")
    [held] = [each for each in loss["departures"] if each["placement"] == "argocd/held"]
    assert (held["stays"], held["from"], held["missing"]) == (["eu-1"], [], 0)

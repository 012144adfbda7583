"""Where scores come from: lists of kubectl, folders of agents, snapshots, branches and hubs."""

import asyncio
import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from dsf_agent.publish.directory import DirectoryStore
from gitops_dsf.hub.scores import PublishedScore, ScoreFailure
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from tests.integration.preview.gitfleet import SET, GitFleet, Run, application, save, snapshot
from tests.support import hubobjects
from tests.support.agent.hub import HAS_SCORES
from tests.support.apiserver import FakeApiServer
from tests.support.hubobjects import Object, cluster, decision, hub_with
from tests.support.served import serving

GROUP = "/apis/cluster.open-cluster-management.io"
VALUES = {"eu-1": 90, "eu-2": 60, "us-1": 20}
LATER = datetime.now(UTC) + timedelta(hours=1)


def score(name: str, value: int) -> Object:
    return hubobjects.score(name, "cpu", value, now=LATER)


def kubectl_list() -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "List",
        "items": [*(score(*item) for item in VALUES.items()), decision("guestbook", "eu-1")],
    }


def ranked(found: dict[str, Any]) -> dict[str, int]:
    [verdict] = [item for item in found["placements"] if item["placement"] == "argocd/guestbook"]
    scores: dict[str, int] = verdict["scores"]
    return scores


@pytest.mark.parametrize(
    ("until", "counts", "readable"),
    [
        ("9999-12-31T23:59:59Z", True, True),
        ("9999-12-31T23:59:59-12:00", True, True),
        ("0001-01-01T00:00:00+14:00", False, True),
        ("0000-01-01T00:00:00Z", False, False),
        ("2999-01-01T00:00:00+99:99", False, False),
    ],
)
def test_an_odd_time_costs_no_more_than_its_score(
    fleet: GitFleet, tmp_path: Path, run: Run, until: str, counts: bool, readable: bool
) -> None:
    odd = score("eu-1", 90)
    odd["status"]["validUntil"] = until
    file = tmp_path / "scores.json"
    file.write_text(
        json.dumps({"kind": "List", "items": [odd, score("eu-2", 60), score("us-1", 20)]})
    )
    expected = {**VALUES, "eu-1": 90 if counts else 0}
    assert ranked(run.json("simulate", fleet.path, "--scores", file)) == expected
    assert "eu-1" in run("explain", "guestbook", "eu-1", fleet.path, "--scores", file)
    problem = "AddOnPlacementScore eu-1/cpu cannot be read and counts as 0"
    assert (problem in run.shown(fleet, "--scores", file)) is not readable


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_what_kubectl_prints(fleet: GitFleet, tmp_path: Path, run: Run, suffix: str) -> None:
    file = tmp_path / f"scores.{suffix}"
    file.write_text(
        yaml.safe_dump(kubectl_list()) if suffix == "yaml" else json.dumps(kubectl_list())
    )
    found = run.json("simulate", fleet.path, "--scores", file)
    assert ranked(found) == VALUES
    assert found["placements"][0]["ranked"] == ["eu-1"]
    assert found["hub"]["observedAt"] is None
    text = run("simulate", fleet.path, "--scores", file)
    assert "3 AddOnPlacementScores, of unknown age (no observedAt)" in text
    assert (
        "argocd/guestbook: 1 of 3 clusters selected, from 3 clusters in cluster set fleet" in text
    )
    assert "     1  *  eu-1         90      90" in text


def test_the_folder_that_an_agent_publishes_to(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    async def publish() -> None:
        for name, value in VALUES.items():
            store = DirectoryStore(directory=tmp_path / "out" / name, cluster=name)
            await store.write(
                "cpu",
                scorer="cpu",
                values={"cpu": value},
                valid_until=LATER.timestamp(),
                condition=HAS_SCORES,
            )

    asyncio.run(publish())
    assert ranked(run.json("simulate", fleet.path, "--scores", tmp_path / "out")) == VALUES


def test_missing_and_expired_scores_are_named(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    old = score("eu-1", 90)
    old["status"]["validUntil"] = "2020-01-01T00:00:00Z"
    file = tmp_path / "scores.yaml"
    file.write_text(yaml.safe_dump_all([old, score("eu-2", 60)]))
    text = run("simulate", fleet.path, "--scores", file)
    assert "eu-1          0  expired" in text
    assert "us-1          0     none" in text
    assert "(none and expired scores count as 0)" in text


def test_without_scores_only_the_filters_speak(fleet: GitFleet, run: Run) -> None:
    fleet.write("apps/eu.yaml", application("eu", region="eu", onMissingScore="Exclude"))
    text = run("simulate", fleet.path)
    assert text.startswith("no scores given (--scores, --state-branch or --context)\n")
    for line in (
        (
            "argocd/eu: 2 clusters eligible of 3 clusters in cluster set fleet; scores choose"
            " 1 of them\n"
        ),
        "a predicate asks for scores; it is left out here",
        "  eligible: eu-1, eu-2\n",
        "us-1  Predicate  label region in (eu) does not hold: it is 'us'",
    ):
        assert line in text
    explained = run("explain", "guestbook", "eu-2", fleet.path)
    assert "it passes the filters; without scores its rank is unknown" in explained


def test_a_placement_is_explained_by_the_repository_alone(
    fleet: GitFleet, scores: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(fleet.path)
    fleet.write("apps/eu.yaml", application("eu", region="eu", stickiness=20))
    out = run("explain", "eu")
    assert "argocd/eu asks for 1 of the clusters in cluster sets fleet\n" in out
    assert "  eligible: label region in (eu)\n  ranked by: cpu x" in out
    assert "argocd/eu: 2 clusters eligible of 3 clusters in cluster set fleet" in out
    assert out.endswith(
        "with --scores, --state-branch or --context: gitops-dsf explain argocd/eu CLUSTER\n"
    )
    assert "argocd/eu: 1 of 2 clusters selected" in run("explain", "eu", "--scores", scores)
    assert run.json("explain", "eu", fleet.path)["placements"][0]["placement"] == "argocd/eu"


def test_explain_names_the_nearest_score_that_would_flip_it(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    out = run("explain", "guestbook", "eu-2", fleet.path, "--scores", scores)
    assert "argocd/guestbook, cluster eu-2: not selected\n" in out
    assert "rank 2 of 3 with 60 points; the last that is selected is eu-1 with 90" in out
    assert (
        "it must gain 31 points against eu-1 (90)\n    AddOn/cpu/cpu rises from 60 to 91"
        "  <- the nearest\n"
    ) in out
    selected = run.json("explain", "guestbook", "eu-1", fleet.path, "--scores", scores)
    assert (selected["selected"], selected["flips"][0]["needed"]) == (True, 59)
    fleet.write("apps/guestbook.yaml", application("guestbook", region="us"))
    dropped = run("explain", "guestbook", "eu-1", fleet.path, "--scores", scores)
    assert (
        "dropped by the filter Predicate: label region in (us) does not hold: it is 'eu'" in dropped
    )


def test_names_that_do_not_exist(fleet: GitFleet, scores: Path, run: Run) -> None:
    run("explain", "guestbok", "eu-1", fleet.path, code=2)
    assert "there is no Placement guestbok; this repository renders argocd/guestbook" in run.err
    run("explain", "guestbook", "eu1", fleet.path, code=2)
    assert "there is no cluster eu1 in clusters/; did you mean eu-1" in run.err
    run("simulate", fleet.path, "--placement", "other/guestbook", code=2)
    run("simulate", fleet.path, "--scores", scores, "--context", "hub", code=2)
    run("simulate", fleet.path, "--kubeconfig", scores, code=2)
    run("simulate", fleet.path, "--scores", scores, "--now", "yesterday", code=2)
    assert "write RFC 3339, such as 2026-06-01T00:00:00Z" in run.err
    run("simulate", fleet.path, "--scores", fleet.path / "nowhere.yaml", code=1)
    assert "does not exist" in run.err


def test_a_missing_state_branch_says_how_to_get_it(fleet: GitFleet, run: Run) -> None:
    said = run("simulate", fleet.path, "--state-branch", "gitops-dsf-state")
    assert (
        "there is no branch gitops-dsf-state in this clone: fetch it (git fetch origin +refs/heads/"
        in said
    )
    assert "state: {enabled: true} and gitSecret: {name: SECRET} below spec.reconciler" in said


@pytest.mark.parametrize("where", ["local", "remote"])
def test_the_state_branch(fleet: GitFleet, tmp_path: Path, run: Run, where: str) -> None:
    publish_state(fleet)
    path = fleet.path
    if where == "remote":
        subprocess.run(
            ["git", "clone", "--quiet", str(fleet.top), str(tmp_path / "clone")], check=True
        )
        path = tmp_path / "clone"
    found = run.json("simulate", path, "--state-branch", "gitops-dsf-state")
    assert ranked(found) == VALUES
    assert found["hub"]["origin"].startswith("branch gitops-dsf-state at ")
    assert found["hub"]["now"] == found["hub"]["observedAt"], (
        "scores are judged at the moment they were seen"
    )
    assert "seen 5 min ago" in run(
        "diff", path, "--base", "main", "--state-branch", "gitops-dsf-state"
    )


def test_explain_says_by_the_state_branch_why_a_score_does_not_come(
    fleet: GitFleet, run: Run
) -> None:
    state = snapshot()
    since = datetime(2026, 1, 1, tzinfo=UTC)
    failure = ScoreFailure(reason="QueryFailed", message="parse error at char 12", since=since)
    table = {**state.scores["cpu"], "eu-1": PublishedScore(failure=failure)}
    publish_state(fleet, replace(state, scores={"cpu": table}))
    asked = ("--state-branch", "gitops-dsf-state")
    text = run("explain", "guestbook", "eu-1", fleet.path, *asked)
    assert re.search(r"\n    cpu: QueryFailed for \d+ d: parse error at char 12\n", text)
    text = run("explain", "guestbook", fleet.path, *asked)
    assert "  cpu: 1 QueryFailed (eu-1): parse error at char 12\n" in text


def publish_state(fleet: GitFleet, state: Snapshot | None = None) -> None:
    fleet.git("checkout", "--quiet", "--orphan", "gitops-dsf-state")
    fleet.git("rm", "-r", "--quiet", "--force", ".")
    save(snapshot() if state is None else state, fleet.path)
    fleet.commit("state")
    fleet.git("checkout", "--quiet", "main")


def hub(clusters: Sequence[Object] = ()) -> FakeApiServer:
    """Pages of two, with eu-1 unreachable; or with other clusters."""
    if not clusters:
        regions = {"eu-1": "eu", "eu-2": "eu", "us-1": "us", "only-on-hub": "eu"}
        clusters = [
            cluster(name, **{SET: "fleet", "region": region}) for name, region in regions.items()
        ]
        gone = {
            "key": "cluster.open-cluster-management.io/unreachable",
            "effect": "NoSelect",
            "timeAdded": "2026-01-01T00:00:00Z",
        }
        clusters[0]["spec"] = {"taints": [gone]}
    sets = {
        "kind": "ManagedClusterSet",
        "metadata": {"name": "fleet"},
        "spec": {"clusterSelector": {}},
    }
    scores = [score(*item) for item in VALUES.items()]
    return hub_with([*clusters, sets, decision("guestbook", "eu-1"), *scores], page=2)


def test_a_hub_by_its_context(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    with serving(hub()) as server:
        asked = ("--context", "hub", "--kubeconfig", server.kubeconfig(tmp_path / "kubeconfig"))
        found = run.json("simulate", fleet.path, *asked)
        assert ranked(found) == {"eu-2": 60, "only-on-hub": 0, "us-1": 20}
        [verdict] = found["placements"]
        assert verdict["dropped"]["eu-1"]["filter"] == "TaintToleration"
        assert verdict["evicted"] == ["eu-1"]
        assert found["hub"]["ageSeconds"] <= 60
        pages = [item for item in server.requests if "managedclusters?" in item]
        assert [item.rpartition("&")[2] for item in pages] == [pages[0], "continue=2"]
        told = "on the hub but not in clusters/: only-on-hub"
        told += "; no scorer runs there, and Placements may select them"
        assert told in run.compared(fleet, *asked)["warnings"]


def test_explain_says_why_a_score_does_not_come(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    refused = "query refused: parse error at char 12\x1b[2J"
    condition = {
        "type": "Scored",
        "status": "False",
        "reason": "QueryFailed",
        "message": refused,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    clusters = [cluster(name, **{SET: "fleet"}) for name in ("eu-1", "eu-2", "us-1")]
    sets = {
        "kind": "ManagedClusterSet",
        "metadata": {"name": "fleet"},
        "spec": {"clusterSelector": {}},
    }
    broken = score("eu-1", 50)
    broken["status"] = {"conditions": [condition]}
    there = hub_with([*clusters, sets, decision("guestbook", "eu-2"), broken, score("eu-2", 60)])
    with serving(there) as server:
        asked = ("--context", "hub", "--kubeconfig", server.kubeconfig(tmp_path / "kubeconfig"))
        printable = refused.replace("\x1b", "\\x1b")
        text = run("explain", "guestbook", "eu-1", fleet.path, *asked)
        assert re.search(rf"\n    cpu: QueryFailed for \d+ d: {re.escape(printable)}\n", text)
        text = run("explain", "guestbook", fleet.path, *asked)
        assert f"  cpu: 1 QueryFailed (eu-1): {printable}\n" in text
        found = run.json("explain", "guestbook", "eu-1", fleet.path, *asked)
        assert found["failures"] == [
            {
                "score": "cpu",
                "cluster": "eu-1",
                "reason": "QueryFailed",
                "message": printable,
                "since": "2026-01-01T00:00:00Z",
            }
        ]
        assert "failures" not in run.json("explain", "guestbook", "eu-2", fleet.path, *asked)


def test_labels_on_the_hub_win_and_are_pointed_out(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    fleet.write("apps/guestbook.yaml", application("guestbook", region="eu"))
    fleet.commit("in eu")
    moved = [cluster(name, **{SET: "fleet", "region": "us"}) for name in ("eu-1", "us-1")]
    with serving(hub(moved)) as server:
        asked = ("--context", "hub", "--kubeconfig", server.kubeconfig(tmp_path / "kubeconfig"))
        assert ranked(run.json("simulate", fleet.path, *asked)) == {"eu-2": 60}
        warnings = run.compared(fleet, *asked)["warnings"]
        assert (
            "labels on the hub differ from clusters/ for eu-1; decisions follow the hub's"
            in warnings
        )


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        ({"v1/managedclusters": 404}, "; this cluster is not an OCM hub"),
        (
            {"v1alpha1/addonplacementscores": 403},
            "needs the right to list addonplacementscores.cluster.open-cluster-management.io",
        ),
    ],
)
def test_a_hub_that_refuses(
    fleet: GitFleet, tmp_path: Path, run: Run, refused: dict[str, int], said: str
) -> None:
    wide = hub()
    wide.refused = {f"{GROUP}/{path}": status for path, status in refused.items()}
    with serving(wide) as server:
        config = server.kubeconfig(tmp_path / "kubeconfig")
        run("simulate", fleet.path, "--context", "hub", "--kubeconfig", config, code=1)
        assert said in run.err
        run("simulate", fleet.path, "--context", "other", "--kubeconfig", config, code=1)
        assert "there is no context other, only hub" in run.err
    run("simulate", fleet.path, "--context", "hub", "--kubeconfig", config, code=1)
    assert "the hub does not answer" in run.err


def test_a_repository_with_errors_is_not_simulated(fleet: GitFleet, run: Run) -> None:
    (fleet.path / "apps/guestbook.yaml").write_text("kind: [\n")
    assert run("simulate", fleet.path, code=1) == ""
    assert "apps/guestbook.yaml:" in run.err
    assert "nothing can be simulated" in run.err
    assert run("explain", "guestbook", "eu-1", fleet.path, code=1) == ""

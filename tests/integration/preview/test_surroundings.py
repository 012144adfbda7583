"""What a Placement depends on beside its own text, who follows a decision, and other namespaces."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.metadata import Metadata
from gitops_dsf.hub.objects import ManagedCluster
from tests.integration.preview.gitfleet import (
    SET,
    GitFleet,
    Run,
    application,
    cluster,
    save,
    scorer,
    settings,
    snapshot,
)
from tests.support import hubobjects, rendering, yamlfast

OCM = "cluster.open-cluster-management.io"


def test_a_cluster_that_leaves_the_inventory(fleet: GitFleet, scores: Path, run: Run) -> None:
    documents = yamlfast.load_all((fleet.path / "clusters/fleet.yaml").read_text())
    fleet.write(
        "clusters/fleet.yaml", *(item for item in documents if item["metadata"]["name"] != "eu-1")
    )
    found = run.compared(fleet, "--scores", scores)
    [move] = found["moves"]
    assert (move["from"], move["to"]) == (["eu-1"], ["eu-2"])
    assert move["reason"] == "eu-1 is no longer in clusters/"
    assert found["summary"]["clusters"]["left"] == ["eu-1"]
    assert found["summary"]["works"] == {"added": 0, "removed": 1, "changed": 0, "total": 2}
    assert found["scorers"] == [], "the scorer itself is what it was"


def without_cluster(fleet: GitFleet, *names: str) -> None:
    documents = yamlfast.load_all((fleet.path / "clusters/fleet.yaml").read_text())
    fleet.write(
        "clusters/fleet.yaml",
        *(item for item in documents if item["metadata"]["name"] not in names),
    )


LEFT = (
    "when eu-1 leaves, the next sync of Argo CD, by default within 3 minutes after"
    " rendered/ is pushed,"
    " deletes the ManifestWork gitops-dsf-config and the rights of the agent there, and"
    " the scores expire;"
    " the ManagedClusterAddOn gitops-dsf-agent and the agent stay, because OCM owns them"
    " and Argo CD deletes"
    " nothing that has an owner: run kubectl -n eu-1 delete managedclusteraddon"
    " gitops-dsf-agent after the"
    " sync; OCM removes the agent when the cluster answers"
)


@pytest.mark.parametrize("known", ["nothing", "scores", "clusters"])
def test_what_stays_on_a_cluster_that_leaves_and_what_to_do(
    fleet: GitFleet, tmp_path: Path, run: Run, known: str
) -> None:
    """Nothing stays only where the hub has no such ManagedCluster: OCM deletes all with it."""
    without_cluster(fleet, "eu-1")
    hub = snapshot()
    if known == "clusters":
        present = {name: ManagedCluster(Metadata(name=name)) for name in ("eu-1", "eu-2", "us-1")}
        hub = replace(hub, clusters=present)
    words = () if known == "nothing" else ("--scores", save(hub, tmp_path / "state"))
    assert LEFT in run.compared(fleet, *words)["warnings"]
    gone = replace(
        hub, clusters={name: ManagedCluster(Metadata(name=name)) for name in ("eu-2", "us-1")}
    )
    warnings = run.compared(fleet, "--scores", save(gone, tmp_path / "gone"))["warnings"]
    assert not any("gitops-dsf-agent" in each for each in warnings)


def test_a_directory_of_works_that_becomes_empty_is_synced_by_hand(
    fleet: GitFleet, run: Run
) -> None:
    """With eight directories each of the three clusters is alone in one."""
    fleet.write("gitops-dsf.yaml", settings(output={"shards": 8}))
    fleet.commit("eight directories")
    without_cluster(fleet, "eu-1", "us-1")
    warnings = run.compared(fleet, base="HEAD")["warnings"]
    [left] = [each for each in warnings if each.startswith("when eu-1, us-1 leave,")]
    assert "run kubectl -n CLUSTER delete managedclusteraddon gitops-dsf-agent for each" in left
    assert [each for each in warnings if "would be empty" in each] == [
        f"rendered/{directory} would be empty, and Argo CD never syncs to an empty"
        " directory by itself: what"
        " it has there stays on the hub until somebody runs argocd app sync"
        f" gitops-dsf-{directory} --prune"
        for directory in ("works-01", "works-03")
    ]


def test_a_cluster_that_stays_leaves_nothing_behind(fleet: GitFleet, run: Run) -> None:
    """Other labels, another scorer, a mask: the agent stays because it is wanted."""
    documents = list(yamlfast.load_all((fleet.path / "clusters/fleet.yaml").read_text()))
    documents[0]["metadata"]["labels"]["tier"] = "gold"
    fleet.write("clusters/fleet.yaml", *documents)
    fleet.write("scorers/net.yaml", scorer("net"))
    warnings = run.compared(fleet)["warnings"]
    assert not any("gitops-dsf-agent" in each or "would be empty" in each for each in warnings)


def test_an_application_that_gets_fewer_clusters_than_it_asks_for(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("apps/guestbook.yaml", application("guestbook", region="eu", count=3))
    warnings = run.compared(fleet, "--scores", scores)["warnings"]
    assert "argocd/guestbook gets 2 of 3 clusters" in warnings


def test_whether_a_score_will_exist_is_unknown_too(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    fleet.write(
        "scorers/cpu.yaml", scorer("cpu", clusterSelector={"matchLabels": {"region": "eu"}})
    )
    fleet.write("apps/guestbook.yaml", application("guestbook", onMissingScore="Exclude", count=3))
    fleet.commit("only in eu")
    known = snapshot(values={"eu-1": 90, "eu-2": 60}, decided={"guestbook": ["eu-1", "eu-2"]})
    where = save(known, tmp_path / "hub")
    fleet.write("scorers/cpu.yaml", scorer("cpu"))
    [move] = run.compared(fleet, "--scores", where)["moves"]
    assert move["to"] == "unknown"
    assert "cpu: it has not run there yet" in move["reason"]


def test_the_sets_that_ocm_makes_itself(fleet: GitFleet, scores: Path, run: Run) -> None:
    lonely = cluster("lonely", "eu")
    del lonely["metadata"]["labels"][SET]
    fleet.write("clusters/lonely.yaml", lonely)
    everywhere, rest = application("everywhere"), application("rest")
    everywhere["spec"]["placement"]["clusterSets"] = ["global"]
    rest["spec"]["placement"]["clusterSets"] = ["default"]
    fleet.write("apps/sets.yaml", everywhere, rest)
    placements = run.json("simulate", fleet.path, "--scores", scores)["placements"]
    found = {item["placement"]: item for item in placements}
    assert set(found["argocd/everywhere"]["scores"]) == {"eu-1", "eu-2", "us-1", "lonely"}
    assert set(found["argocd/rest"]["scores"]) == {"lonely"}


def test_bindings_of_the_hub_count_beside_those_of_the_repository(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    raw = hubobjects.placement("raw", "cpu", namespace="other")
    del raw["spec"]["clusterSets"]
    fleet.write("apps/raw.yaml", {"apiVersion": f"{OCM}/v1beta1", **raw})
    where = save(snapshot(), tmp_path / "hub")
    arguments = ("simulate", fleet.path, "--scores", where, "--placement", "other/raw")
    found = run.json(*arguments)
    assumed = ["other/default", "other/fleet", "other/global"]
    assert (
        found["assumedBindings"] == assumed
    )  # a file without bindings does not say that there are none
    assert found["placements"][0]["clusterSets"] == ["default", "fleet", "global"]
    bindings = [
        {"kind": "ManagedClusterSetBinding", "metadata": {"name": "fleet", "namespace": namespace}}
        for namespace in ("other", "argocd")
    ]
    (where / "bindings.yaml").write_text(yaml.safe_dump_all(bindings))
    [verdict] = run.json(*arguments)["placements"]
    assert (verdict["clusterSets"], verdict["ranked"]) == (["fleet"], ["eu-1"])


LOW = [{"scorer": "cpu", "weight": -1}]


def placement(name: str, **spec: Any) -> dict[str, Any]:
    on = {"numberOfClusters": 1, "clusterSets": ["fleet"]}
    return rendering.placement(name, **{"placement": on, "stickiness": 0} | spec)


def follower(name: str, ref: str) -> dict[str, Any]:
    found = application(name)
    for field in ("scores", "stickiness"):
        del found["spec"][field]
    found["spec"]["placement"] = {"ref": ref}
    return found


def test_a_shared_decision_moves_every_application_that_follows_it(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    followers = (follower(name, "frontends") for name in ("web", "shop"))
    fleet.write("apps/followers.yaml", *followers)
    fleet.write("apps/shared.yaml", placement("frontends"))
    fleet.commit("shared")
    fleet.write("apps/shared.yaml", placement("frontends", scores=LOW))
    fleet.prefer_low_scores()
    formats = run.formats(fleet, "--scores", scores)
    found = formats.comparison
    assert [(move["application"], move["followers"], move["to"]) for move in found["moves"]] == [
        ("argocd/frontends", ["shop", "web"], ["us-1"]),
        ("argocd/guestbook", ["guestbook"], ["us-1"]),
    ]
    text = formats.text
    assert "\n- `argocd/frontends (shop, web)` **eu-1 → us-1**: " in text
    assert "\n**3 applications move**\n" in text


def test_a_decision_for_other_consumers_is_no_application(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("apps/training.yaml", placement("training", namespace="kueue-system"))
    fleet.commit("training")
    fleet.write("apps/training.yaml", placement("training", namespace="kueue-system", scores=LOW))
    fleet.prefer_low_scores()
    text = run.shown(fleet, "--scores", scores)
    assert "\n- `kueue-system/training` **eu-1 → us-1**: " in text
    assert "\n**1 application moves and 1 decision for other consumers changes**\n" in text


def test_an_application_that_changes_to_a_shared_placement_says_so(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("apps/guestbook.yaml", placement("frontends"), follower("guestbook", "frontends"))
    moves = run.compared(fleet, "--scores", scores)["moves"]
    assert [(move["application"], move["to"]) for move in moves] == [
        ("argocd/frontends", ["eu-1"]),
        ("argocd/guestbook", []),
    ]
    assert moves[1]["reason"] == "the Placement is removed; guestbook follows argocd/frontends now"


def test_stickiness_counts_the_decision_of_its_own_namespace(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    """A decision of the same name in another namespace belongs to another Placement."""
    fleet.write(
        "apps/training.yaml", placement("training", namespace="kueue-system", stickiness=100)
    )
    hub = snapshot(decided={"training": ["us-1"]})
    own = decision_of(
        namespace="kueue-system",
        name="training-decision-1",
        placement="training",
        clusters=("eu-2",),
    )
    folder = save(replace(hub, decisions=(*hub.decisions, own)), tmp_path / "hub")
    text = run("explain", "training", "eu-2", fleet.path, "--scores", folder)
    assert "kueue-system/training, cluster eu-2: selected" in text


def test_explain_says_where_jobs_would_go(fleet: GitFleet, scores: Path, run: Run) -> None:
    """By the scores alone: the list on the hub is held by stickiness and by running jobs."""
    shared = placement("gpu-jobs", namespace="kueue-system", multiKueue={"config": "jobs"})
    del shared["spec"]["placement"]["numberOfClusters"]
    fleet.write("apps/jobs.yaml", shared)
    text = run("explain", "gpu-jobs", fleet.path, "--scores", scores)
    assert (
        "\n  by these scores alone, jobs of jobs go to eu-1 (90), then eu-2 (60), then us-1 (20);"
        " gitops-dsf status shows the list on the hub"
    ) in text
    assert (
        "\n  jobs of jobs go to the eligible clusters in the order of the scores, which are not"
        " known here\n"
    ) in run("explain", "gpu-jobs", fleet.path)
    fleet.write("apps/jobs.yaml", placement("plain", namespace="kueue-system"))
    assert "jobs of" not in run("explain", "plain", fleet.path)

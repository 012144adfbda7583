"""Clusters that joined, left or changed become a branch, with no file of anybody else."""

from pathlib import Path

import pytest

from dsf_runtime.informer import Informer
from tests.hub.controlplane.gitrepository import git
from tests.integration.reconciler.proposals.proposalhub import ProposalHub, cluster
from tests.integration.reconciler.replica import read_again

pytestmark = pytest.mark.real_time  # git is a process, and its server a thread


async def test_joined_and_relabelled_clusters_are_offered_together(
    scene: ProposalHub, tmp_path: Path
) -> None:
    scene.joins("c6", **{"tier": "gold", "feature.open-cluster-management.io/addon-x": "available"})
    scene.joins("c7", accepted=False)
    scene.joins("c2", region="us")
    async with scene.working() as working:
        await working.until(lambda: scene.proposals, "a branch appears")
        branch = scene.one
        assert branch.startswith("gitops-dsf/inventory-")
        assert scene.changed(branch) == ["clusters/c2.yaml", "clusters/c6.yaml"]
        assert scene.repository.read("clusters/c2.yaml", branch=branch) == cluster(
            "c2", region="us"
        ), "the comment stays"
        assert "tier: gold" in scene.repository.read("clusters/c6.yaml", branch=branch)
        assert "feature" not in scene.repository.read("clusters/c6.yaml", branch=branch)
        assert scene.errors(branch, tmp_path / "copy") == []
        shown = git("show", "--no-patch", "--format=%B", branch, folder=scene.repository.bare)
        assert shown.startswith("Follow the hub in 2 clusters\n")
        assert "- c6 joined" in shown
        assert "- c2: metadata.labels.region: eu -> us" in shown
        await working.until(lambda: working.open("inventory") == 1, "its look is over")
        assert working.count("inventory", "pushed") == 1


async def test_a_cluster_that_is_gone_for_long_is_removed(
    scene: ProposalHub, tmp_path: Path
) -> None:
    scene.repository.commit(
        {"clusters/c5.yaml": None, "clusters/c1.yaml": cluster("c1") + "---\n" + cluster("c5")}
    )
    scene.leaves("c5")
    async with scene.working() as working:
        await working.until(lambda: scene.proposals, "a branch appears")
        branch = scene.one
        assert (
            scene.repository.read("clusters/c1.yaml", branch=branch).rstrip()
            == cluster("c1").rstrip()
        )
        assert scene.changed(branch) == ["clusters/c1.yaml"]
        assert scene.errors(branch, tmp_path / "copy") == []
        scene.joins("c5")
        await read_again(working.view)
        await working.until(lambda: not scene.proposals, "it is back, so nothing is offered")
        await working.until(lambda: working.count("inventory", "withdrawn") == 1, "it is counted")


async def test_absence_counts_after_ten_minutes_only(scene: ProposalHub) -> None:
    scene.hurries = ("APART", "BETWEEN")
    scene.leaves("c5")
    now = [1000.0]
    async with scene.working(clock=lambda: now[0]) as working:
        scene.joins("c6")
        await read_again(working.view)
        await working.until(lambda: scene.proposals, "the joined one is offered")
        await working.looks_again("inventory", "unchanged")
        first = scene.one
        assert scene.changed(first) == ["clusters/c6.yaml"]
        now[0] += 700.0
        await working.until(
            lambda: scene.proposals and first not in scene.proposals, "another one takes its place"
        )
        assert scene.changed(scene.one) == ["clusters/c5.yaml", "clusters/c6.yaml"]
        await working.until(lambda: working.count("inventory", "superseded") == 1, "it is counted")


async def test_not_more_than_a_fifth_is_ever_removed(scene: ProposalHub) -> None:
    for name in ("c4", "c5"):
        scene.leaves(name)
    async with scene.working() as working:
        await working.looks_again("inventory", "undecided", times=3)
        assert scene.proposals == {}
        scene.joins("c6")
        await read_again(working.view)
        await working.until(lambda: scene.proposals, "what joined is offered all the same")
        assert scene.changed(scene.one) == ["clusters/c6.yaml"]


async def test_an_empty_hub_removes_nothing(scene: ProposalHub) -> None:
    for number in range(1, 6):
        scene.leaves(f"c{number}")
    scene.drifts("cpu")
    async with scene.working() as working:
        await working.looks_again("inventory", "nothing", times=3)
        assert scene.proposals == {}


async def test_a_cluster_on_its_way_out_is_left_alone(scene: ProposalHub) -> None:
    scene.hub.put(
        "managedclusters",
        "c5",
        metadata={"deletionTimestamp": "2026-11-21T08:00:00Z"},
        spec={"hubAcceptsClient": False},
    )
    scene.joins("c6")
    async with scene.working() as working:
        await working.until(lambda: scene.proposals, "a branch appears")
        assert scene.changed(scene.one) == ["clusters/c6.yaml"]


async def test_a_removal_that_makes_the_repository_invalid_is_left_out(
    scene: ProposalHub, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    mask = (
        "apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1\nkind:"
        " DynamicScoringConfig\nmetadata:\n"
    )
    mask += (
        "  name: dynamic-scoring-config\nspec:\n  masks:\n    - clusterName: c5\n"
        "      scoreName: cpu_score\n"
    )
    scene.repository.commit({"config/masks.yaml": mask})
    scene.leaves("c5")
    async with scene.working() as working:
        await working.looks_again("inventory", "undecided", times=3)
        assert scene.proposals == {}
        assert (
            "without c5 the repository would be invalid: DSF201 config/masks.yaml:7:20"
            in caplog.text
        )
        scene.joins("c6")
        await read_again(working.view)
        await working.until(lambda: scene.proposals, "what joined is offered all the same")
        assert scene.changed(scene.one) == ["clusters/c6.yaml"]
        assert scene.errors(scene.one, tmp_path / "copy") == []


async def test_two_looks_must_agree(scene: ProposalHub) -> None:
    scene.hurries = ()
    now = [1000.0]
    scene.joins("c6")
    async with scene.working(clock=lambda: now[0]) as working:
        await working.looks_again("inventory", "waiting")
        now[0] += 29
        scene.joins("c6", tier="gold")
        await read_again(working.view)
        await working.looks_again("inventory", "waiting")
        now[0] += 29
        await working.looks_again("inventory", "waiting")
        assert scene.proposals == {}
        now[0] += 2
        await working.until(lambda: scene.proposals, "half a minute without a change")
        scene.joins("c7")
        await read_again(working.view)
        now[0] += 31
        await working.looks_again("inventory", "waiting")
        now[0] += 31
        await working.looks_again("inventory", "waiting")
        first = scene.one
        now[0] += 600
        await working.until(
            lambda: scene.proposals and first not in scene.proposals,
            "ten minutes after the last push",
        )


async def test_a_cluster_like_a_namespace_of_the_platform_is_left_out_and_named(
    scene: ProposalHub, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """One such cluster keeps no other from being offered."""
    scene.joins("kube-public")
    scene.joins("openshift-config")
    scene.joins("c6")
    async with scene.working() as working:
        await working.until(lambda: scene.proposals, "a branch appears")
        assert scene.changed(scene.one) == ["clusters/c6.yaml"]
        assert scene.errors(scene.one, tmp_path / "copy") == []
        assert (
            "openshift-config is left out: the hub's namespace openshift-config belongs to"
            in caplog.text
        )
        assert (
            "kube-public is left out: the hub's namespace kube-public belongs to Kubernetes"
            in caplog.text
        )
        # Others see it where they decide, too.
        shown = git("show", "--no-patch", "--format=%B", scene.one, folder=scene.repository.bare)
        assert "- c6 joined" in shown


async def test_a_cluster_that_is_left_out_for_ever_is_nothing_to_change(
    scene: ProposalHub, caplog: pytest.LogCaptureFixture
) -> None:
    """So branches that are outdated are withdrawn, and the log says it once."""
    scene.joins("kube-public")
    async with scene.working() as working:
        await working.looks_again("inventory", "nothing", times=3)
    assert scene.proposals == {}
    assert caplog.text.count("kube-public is left out") == 1


async def test_an_informer_that_is_outdated_proposes_nothing(
    scene: ProposalHub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A cluster that has joined meanwhile would count as gone."""
    scene.leaves("c5")
    with monkeypatch.context() as patch:
        patch.setattr(Informer, "broken", "the hub refuses the list")
        async with scene.working() as working:
            await working.looks_again("inventory", "undecided")
            assert scene.proposals == {}
    assert "what it depends on may be outdated: the hub refuses the list" in caplog.text
    async with scene.working() as working:
        await working.until(lambda: scene.proposals, "now it is proposed")


CENTRAL = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: central}
spec:
  description: of one store for all clusters
  runsOn: Hub
  source:
    type: Prometheus
    host: http://prometheus.monitoring.svc:9090
    params: {query: up}
    clusterLabel: {name: cluster, claim: region.open-cluster-management.io}
  scoring: {type: Query, params: {name: central, interval: 60}}
"""


def claims(scene: ProposalHub, name: str, value: str) -> None:
    """What the spoke says about itself."""
    status = {"clusterClaims": [{"name": "region.open-cluster-management.io", "value": value}]}
    metadata, spec = {"labels": {"region": "eu"}}, {"hubAcceptsClient": True}
    scene.hub.put("managedclusters", name, metadata=metadata, spec=spec, status=status)


async def test_no_claim_of_a_spoke_blocks_the_proposals_of_others(
    scene: ProposalHub, tmp_path: Path
) -> None:
    """It is written into the file that git has, as YAML that everybody reads."""
    claims(scene, "c2", "eu\nand\x07\x1b[31m more")
    scene.joins("c6")
    async with scene.working() as working:
        await working.until(lambda: scene.proposals, "a branch appears")
        assert scene.changed(scene.one) == ["clusters/c2.yaml", "clusters/c6.yaml"]
        assert scene.errors(scene.one, tmp_path / "copy") == []
        written = scene.repository.read("clusters/c2.yaml", branch=scene.one)
        assert written.replace("\n", "").isprintable()


async def test_a_spoke_that_copies_the_claim_of_another_is_left_out_alone(
    scene: ProposalHub, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    scene.repository.commit({"scorers/central.yaml": CENTRAL})
    for number in range(1, 6):
        claims(scene, f"c{number}", "stolen" if number in {2, 4} else f"region-{number}")
    async with scene.working() as working:
        await working.until(lambda: scene.proposals, "a branch appears")
        assert scene.changed(scene.one) == [f"clusters/c{number}.yaml" for number in (1, 2, 3, 5)]
        assert scene.errors(scene.one, tmp_path / "copy") == []
        assert "c4 is left out: the repository would be invalid: DSF" in caplog.text

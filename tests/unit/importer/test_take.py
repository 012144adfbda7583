"""What an import takes, what it leaves, and what it does to files that people wrote.

Aspects covered: the allow-list and its exceptions; new objects; edits that keep comments; git's
scorers; refusals; a second run.
"""

from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.cli.scaffold import scaffold
from gitops_dsf.diagnostics import Severity
from gitops_dsf.errors import RepositoryError
from gitops_dsf.importer.planned import Import
from gitops_dsf.importer.selection import ImportSelection
from gitops_dsf.importer.take import take
from gitops_dsf.pipeline import check
from gitops_dsf.render.scorers import scorer as render_scorer
from gitops_dsf.repository.files import write_files
from tests.support import yamlfast
from tests.support.kubectl import OCM, cluster_set, dynamic_scorer, managed_cluster, scoring_config
from tests.support.upstream import CONFIGS, samples

WRITTEN_BY_HAND = """\
# Frankfurt, rack 7
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: fra-7   # do not rename
  annotations: {example.com/owner: 'dc ops'}
  labels:
    region: eu   # not the billing region
    rack: "07"
spec:
  hubAcceptsClient: true
  taints:
    # until the switch is replaced
    - key: maintenance
      effect: NoSelect
---
# its neighbour
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: fra-8, labels: {region: eu}}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    root = tmp_path / "fleet"
    scaffold(target=root, name="fleet", extras=("examples",))
    (root / "clusters/us-east-1.yaml").unlink()
    examples = root / "clusters/examples.yaml"
    examples.write_text(examples.read_text("utf-8").partition("---\n")[0], "utf-8")
    return root


def bring(
    fleet: Path,
    *objects: dict[str, Any],
    selection: ImportSelection | None = None,
    overwrite: bool = False,
) -> Import:
    found = take(fleet, objects, selection=selection or ImportSelection(), overwrite=overwrite)
    write_files(found.root, found.files)
    return found


def sample() -> dict[str, Any]:
    [found] = [
        item for item in samples() if item["metadata"]["name"] == "example-performance-scorer"
    ]
    return found


def document(path: Path) -> dict[str, Any]:
    loaded = yamlfast.load(path.read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def test_a_new_cluster_is_what_people_decide_about_it(fleet: Path) -> None:
    labels = {"region": "eu", "answer": "yes", "build": "017", "compliance.example.com/level": "3"}
    bring(
        fleet,
        managed_cluster(
            "ber-1", labels=labels, taints=[{"key": "gpu", "value": "a", "effect": "NoSelect"}]
        ),
    )
    assert document(fleet / "clusters" / "ber-1.yaml") == {
        "apiVersion": f"{OCM}/v1",
        "kind": "ManagedCluster",
        "metadata": {
            "name": "ber-1",
            "labels": {
                f"{OCM}/clusterset": "fleet",
                "region": "eu",
                "answer": "yes",
                "build": "017",
            },
        },
        "spec": {
            "hubAcceptsClient": True,
            "taints": [{"key": "gpu", "value": "a", "effect": "NoSelect"}],
        },
        "status": {
            "clusterClaims": [{"name": "platform.open-cluster-management.io", "value": "AWS"}]
        },
    }
    assert [
        item for item in check(fleet).diagnostics if item.position.file.startswith("clusters/")
    ] == []


def test_flags_take_more(fleet: Path) -> None:
    selection = ImportSelection(
        labels=("compliance.example.com/*",), claims=("kubeversion.*",), resources=True
    )
    bring(
        fleet,
        managed_cluster("ber-1", labels={"compliance.example.com/level": "3"}),
        selection=selection,
    )
    written = document(fleet / "clusters" / "ber-1.yaml")
    assert written["metadata"]["labels"]["compliance.example.com/level"] == "3"
    assert [claim["name"] for claim in written["status"]["clusterClaims"]] == [
        "kubeversion.open-cluster-management.io",
        "platform.open-cluster-management.io",
    ]
    assert written["status"]["allocatable"] == {"cpu": "8", "memory": "32Gi"}


def test_what_a_selector_of_the_repository_asks_for_is_taken(fleet: Path) -> None:
    (fleet / "apps" / "asking.yaml").write_text(
        "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name:"
        " asking}\nspec:\n  predicates:\n  - requiredClusterSelector:\n      labelSelector:"
        " {matchExpressions: [{key: node.example.com/arch, operator: Exists}]}\n"
        "      claimSelector:"
        " {matchExpressions: [{key: kubeversion.open-cluster-management.io, operator: Exists}]}\n",
        encoding="utf-8",
    )
    bring(
        fleet,
        managed_cluster(
            "ber-1", labels={"node.example.com/arch": "arm64", "node.example.com/other": "x"}
        ),
    )
    written = document(fleet / "clusters" / "ber-1.yaml")
    assert written["metadata"]["labels"].keys() == {f"{OCM}/clusterset", "node.example.com/arch"}
    assert "kubeversion.open-cluster-management.io" in {
        claim["name"] for claim in written["status"]["clusterClaims"]
    }


def test_what_scorers_on_the_hub_recognise_clusters_by_is_taken(fleet: Path) -> None:
    labels = {"claim": "kubeversion.open-cluster-management.io", "label": "node.example.com/id"}
    for kind, name in labels.items():
        (fleet / "scorers" / f"by-{kind}.yaml").write_text(
            "apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1\nkind: DynamicScorer\n"
            f"metadata: {{name: by-{kind}}}\nspec:\n  description: d\n  runsOn: Hub\n  source:\n"
            "    host: http://t:1\n    params: {query: x}\n    clusterLabel: {name:"
            f" c, {kind}: {name}}}\n"
            f"  scoring: {{type: Query, params: {{name: by-{kind}, interval: 60}}}}\n",
            encoding="utf-8",
        )
    bring(
        fleet,
        managed_cluster(
            "ber-1", labels={"node.example.com/id": "7", "node.example.com/other": "x"}
        ),
    )
    written = document(fleet / "clusters" / "ber-1.yaml")
    assert written["metadata"]["labels"].keys() == {f"{OCM}/clusterset", "node.example.com/id"}
    assert labels["claim"] in {claim["name"] for claim in written["status"]["clusterClaims"]}


def test_an_edit_keeps_every_other_line(fleet: Path) -> None:
    path = fleet / "clusters" / "fra.yaml"
    path.write_text(WRITTEN_BY_HAND, encoding="utf-8")
    hub = managed_cluster(
        "fra-7",
        labels={"region": "eu-central", "rack": "07"},
        taints=[{"key": "maintenance", "effect": "NoSelect"}],
    )
    hub["metadata"]["labels"].pop(f"{OCM}/clusterset")
    hub["status"]["clusterClaims"] = []
    found = bring(fleet, hub, managed_cluster("fra-8", labels={"region": "eu"}))
    text = path.read_text(encoding="utf-8")
    first, _, second = text.partition("---\n")
    before, _, _ = WRITTEN_BY_HAND.partition("---\n")
    assert first == before.replace("region: eu   #", "region: eu-central #")
    assert "# its neighbour" in second
    assert f"{OCM}/clusterset: fleet" in second
    changes = {line.name: line.changes for line in found.changed}
    assert changes["fra-7"] == ("metadata.labels.region: eu -> eu-central",)


def test_a_label_that_left_the_hub_leaves_the_file_and_an_unusual_one_that_is_there_is_kept_up(
    fleet: Path,
) -> None:
    bring(
        fleet,
        managed_cluster("ber-1", labels={"x.example.com/y": "1", "old": "a"}),
        selection=ImportSelection(labels=("x.example.com/*",)),
    )
    found = bring(fleet, managed_cluster("ber-1", labels={"x.example.com/y": "2"}))
    assert found.changed[0].changes == (
        "metadata.labels.old removed",
        "metadata.labels.x.example.com/y: 1 -> 2",
    )


def test_claims_and_taints_change_one_by_one(fleet: Path) -> None:
    path = fleet / "clusters" / "fra.yaml"
    path.write_text(WRITTEN_BY_HAND.partition("---")[0], encoding="utf-8")
    taints = [
        {"key": "gpu", "effect": "NoSelectIfNew"},
        {"key": "maintenance", "effect": "NoSelect", "value": "planned"},
    ]
    found = bring(
        fleet, managed_cluster("fra-7", labels={"region": "eu", "rack": "07"}, taints=taints)
    )
    assert "# until the switch is replaced" in path.read_text(encoding="utf-8")
    assert document(path)["spec"]["taints"] == [
        {"key": "maintenance", "effect": "NoSelect", "value": "planned"},
        {"key": "gpu", "effect": "NoSelectIfNew"},
    ]
    assert "spec.taints[gpu NoSelectIfNew] added" in found.changed[0].changes


def test_a_second_run_changes_nothing(fleet: Path) -> None:
    hub = [
        managed_cluster("ber-1", labels={"region": "eu"}),
        cluster_set("fleet"),
        cluster_set("edge"),
        dynamic_scorer("sample"),
        scoring_config(("ber-1", "sample_score")),
    ]
    first = bring(fleet, *hub)
    before = {path: path.read_bytes() for path in fleet.rglob("*") if path.is_file()}
    second = bring(fleet, *reversed(hub))
    assert len(first.added) >= 3
    assert (second.files, second.added, second.changed) == ({}, [], [])
    assert {path: path.read_bytes() for path in fleet.rglob("*") if path.is_file()} == before


def test_a_scorer_that_git_has_counts(fleet: Path) -> None:
    bring(fleet, dynamic_scorer("sample", interval=30))
    path = fleet / "scorers" / "sample.yaml"
    before = path.read_bytes()
    found = bring(fleet, dynamic_scorer("sample", interval=60))
    assert (found.files, path.read_bytes()) == ({}, before)
    assert [line.changes for line in found.differing] == [
        ("spec.scoring.params.interval: 30 -> 60",)
    ]
    overwritten = bring(fleet, dynamic_scorer("sample", interval=60), overwrite=True)
    assert [line.changes for line in overwritten.changed] == [
        ("spec.scoring.params.interval: 30 -> 60",)
    ]
    assert document(path)["spec"]["scoring"]["params"]["interval"] == 60


def test_what_gitops_dsf_rendered_is_passed_over(fleet: Path) -> None:
    rendered = dynamic_scorer("ours", labels={"app.kubernetes.io/managed-by": "gitops-dsf"})
    found = bring(fleet, rendered, managed_cluster("ber-1"))
    assert not (fleet / "scorers" / "ours.yaml").exists()
    assert found.skipped == ["1 DynamicScorer that gitops-dsf rendered"]


def test_a_cluster_that_is_not_on_the_hub_is_reported_and_stays(fleet: Path) -> None:
    bring(fleet, managed_cluster("ber-1"), managed_cluster("ber-2"))
    found = bring(fleet, managed_cluster("ber-2"))
    assert [(line.kind, line.name, line.file) for line in found.missing] == [
        ("ManagedCluster", "ber-1", "clusters/ber-1.yaml")
    ]
    assert (fleet / "clusters" / "ber-1.yaml").exists()


def test_a_file_of_the_same_name_gets_one_more_document(fleet: Path) -> None:
    path = fleet / "clusters" / "ber-1.yaml"
    path.write_text(WRITTEN_BY_HAND, encoding="utf-8")
    bring(fleet, managed_cluster("ber-1"), managed_cluster("fra-8", labels={"region": "us"}))
    names = [
        item["metadata"]["name"] for item in yamlfast.load_all(path.read_text(encoding="utf-8"))
    ]
    assert names == ["fra-7", "fra-8", "ber-1"]
    assert "region: us" in path.read_text(encoding="utf-8").replace('"', "")


def test_line_breaks_of_windows_stay(fleet: Path) -> None:
    path = fleet / "clusters" / "fra.yaml"
    path.write_bytes(WRITTEN_BY_HAND.replace("\n", "\r\n").encode())
    bring(fleet, managed_cluster("fra-8", labels={"region": "us"}))
    content = path.read_bytes()
    assert content.count(b"\n") == content.count(b"\r\n") > 10


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "A", "a/b", "a\n", 7, None])
def test_a_name_that_is_no_name_is_refused(fleet: Path, name: Any) -> None:
    before = set(fleet.parent.rglob("*"))
    with pytest.raises(RepositoryError, match="not the name of an object"):
        bring(
            fleet, {"apiVersion": f"{OCM}/v1", "kind": "ManagedCluster", "metadata": {"name": name}}
        )
    assert set(fleet.parent.rglob("*")) == before


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ([managed_cluster("ber-1")] * 2, "ManagedCluster ber-1 is in the input twice"),
        (
            [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}],
            r"no DynamicScorer, .* or ManagedClusterSet in the input; it holds 1 Pod",
        ),
    ],
)
def test_input_that_cannot_be_meant_is_refused(
    fleet: Path, objects: list[dict[str, Any]], words: str
) -> None:
    with pytest.raises(RepositoryError, match=words):
        bring(fleet, *objects)


def test_nothing_is_written_through_a_link_out_of_the_repository(fleet: Path) -> None:
    outside = fleet.parent / "outside"
    outside.mkdir()
    found = take(fleet, [managed_cluster("ber-1")], selection=ImportSelection())
    (fleet / "clusters").rename(fleet / "elsewhere")
    (fleet / "clusters").symlink_to(outside)
    with pytest.raises(RepositoryError, match="leads out of the repository"):
        write_files(found.root, found.files)
    assert list(outside.iterdir()) == []


def test_what_upstreams_controller_read_from_config_becomes_the_locks(fleet: Path) -> None:
    """Two samples have a token for a host that only /config names: their locks are refused, as
    `sync` refuses them.
    """
    found = bring(fleet, *samples())
    names = [item["metadata"]["name"] for item in samples()]
    locked = [name for name in names if not name.startswith("ai-workload")]
    assert sorted(line.name for line in found.added if line.kind == "ScorerLock") == locked
    assert document(fleet / "locks" / "simple-prediction-scorer.yaml")["spec"] == {
        "config": {
            "description": "A score",
            "name": "simple-prediction-scorer",
            "scoring": {
                "params": {"interval": 30, "name": "simple_prediction_score"},
                "path": "/scoring",
            },
            "source": {
                key: value
                for key, value in CONFIGS["simple-prediction-scorer"]["source"].items()
                if value
            },
        },
        "configURL": "http://simple-prediction-scorer:8000/config",
    }
    assert [(line.name, line.changes[0][:6]) for line in found.refused] == [
        (name, "DSF116") for name in names if name not in locked
    ]
    # One sample sends its token to a node's address over http.
    assert {item.code for item in check(fleet).diagnostics if item.severity is Severity.ERROR} == {
        "DSF127"
    }
    settings = fleet / "gitops-dsf.yaml"
    settings.write_text(
        settings.read_text().replace(
            "[forecast.scoring.example.com]", "[forecast.scoring.example.com, 192.0.2.10]"
        )
    )
    checked = check(fleet).fleet
    assert checked is not None
    assert {item.name for item in checked.scorers} >= set(locked)
    again = bring(fleet, *samples())
    assert (again.files, again.added, [line.name for line in again.refused]) == (
        {},
        [],
        [line.name for line in found.refused],
    )


def test_a_lock_that_git_has_stays_unless_it_is_to_be_overwritten(fleet: Path) -> None:
    static = sample()
    bring(fleet, static)
    path = fleet / "locks" / "example-performance-scorer.yaml"
    accepted = path.read_text(encoding="utf-8").replace(
        "interval: 30", "interval: 45  # slower is enough"
    )
    path.write_text(accepted, encoding="utf-8")
    assert bring(fleet, static).files == {}
    assert path.read_text(encoding="utf-8") == accepted
    found = bring(fleet, static, overwrite=True)
    assert [(line.file, line.changes) for line in found.changed] == [
        ("locks/example-performance-scorer.yaml", ("config.scoring.params.interval: 45 -> 30",))
    ]
    assert "interval: 30  # slower is enough" in path.read_text(encoding="utf-8")


def test_a_query_scorer_comes_back_from_the_hub_without_findings(fleet: Path) -> None:
    """The hub has every default written out."""
    result = check(fleet)
    assert result.fleet is not None
    rendered = render_scorer(
        result.fleet.scorer_by_name["cpu-headroom"],
        result.fleet.by_variant["cpu-headroom"],
        result.fleet.repository,
    )
    (fleet / "scorers" / "cpu-headroom.yaml").unlink()
    by_hand = {
        **rendered,
        "metadata": {"name": "cpu-headroom", "namespace": "gitops-dsf"},
    }
    found = bring(fleet, {**by_hand, "status": {"healthStatus": "Active"}})
    assert not found.refused
    again = check(fleet)
    assert [item for item in again.diagnostics if "cpu-headroom" in item.position.file] == []
    assert again.fleet is not None
    assert [item.scoring_type for item in again.fleet.scorers if item.name == "cpu-headroom"] == [
        "Query"
    ]


@pytest.mark.parametrize("change", ["mode", "url", "nothing"])
def test_no_lock_where_the_hub_read_no_page_that_counts_in_git(fleet: Path, change: str) -> None:
    static = sample()
    bring(fleet, {**static, "status": {"healthStatus": "Unknown"}})
    hub = {**static, "spec": dict(static["spec"])}
    if change == "mode":
        hub["spec"]["configSyncMode"] = "None"
    elif change == "url":
        hub["spec"]["configURL"] = "http://elsewhere.svc:8000/config"
    else:
        hub["status"] = {"healthStatus": "Unknown"}
    assert bring(fleet, hub).files == {}


def test_a_status_of_another_shape_is_refused_with_its_reason(fleet: Path) -> None:
    static = sample()
    static["status"]["lastSyncedConfig"] = {"scoring": {"params": {"interval": "soon"}}}
    [refused] = bring(fleet, static).refused
    assert refused.changes[0].startswith(
        "status.lastSyncedConfig of DynamicScorer example-performance-scorer has another"
        " shape: Expected"
        " `int`"
    )

"""`gitops-dsf import` as a process.

Files, standard input, a hub behind a kubeconfig, refusals and exit codes.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.cli.scaffold import scaffold
from tests.support.apiserver import FakeApiServer
from tests.support.commandline import gitops_dsf
from tests.support.kubectl import cluster_set, dynamic_scorer, managed_cluster, printed
from tests.support.served import serving


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    scaffold(target=tmp_path / "fleet", name="fleet", extras=("examples",))
    return tmp_path / "fleet"


def test_from_standard_input_and_then_again(fleet: Path) -> None:
    hub = printed(
        [
            managed_cluster("ber-1", labels={"region": "eu"}),
            managed_cluster("ber-2"),
            cluster_set("edge"),
        ]
    )
    first = gitops_dsf("import", "--from", "-", cwd=fleet, stdin=hub)
    assert first.returncode == 0, first.stderr
    assert first.stdout.splitlines() == [
        "clusters/ber-1.yaml: ManagedCluster ber-1 added",
        "clusters/ber-2.yaml: ManagedCluster ber-2 added",
        "clusters/sets.yaml: ManagedClusterSet edge added",
        "3 added, 0 changed, 0 unchanged",
    ]
    assert "clusters/examples.yaml: ManagedCluster eu-west-1 is not on the hub" in first.stderr
    second = gitops_dsf("import", "--from", "-", cwd=fleet, stdin=hub)
    assert second.stdout == "0 added, 0 changed, 3 unchanged\n"
    assert gitops_dsf("validate", cwd=fleet).returncode == 0


def as_json(objects: list[dict[str, Any]], shape: str) -> str:
    """The texts that people make of `kubectl get -o json` with jq."""
    if shape == "list":
        return json.dumps(objects)
    indent = 2 if shape == "stream" else None
    text = "\n".join(json.dumps(item, indent=indent) for item in objects)
    return f"\ufeff{text}\r\n" if shape == "marked" else text


@pytest.mark.parametrize("shape", ["list", "stream", "lines", "marked"])
def test_json_in_every_shape(fleet: Path, shape: str) -> None:
    objects = [managed_cluster("ber-1"), {"kind": "List", "items": [managed_cluster("ber-2")]}]
    done = gitops_dsf("import", "--from", "-", cwd=fleet, stdin=as_json(objects, shape))
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("2 added, 0 changed, 0 unchanged\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"kind": "List", "items": 7}]', "standard input: [0]: items of a List must be a list"),
        ('{"kind": "Pod"}\n[7]\n', "standard input: value 2: [0]: expected an object"),
        ('{"kind": "Pod"}\n{"kind": "List"', "standard input: not valid JSON: "),
        ('{"kind": "Pod"} x', "standard input: not valid JSON: "),
    ],
)
def test_what_is_wrong_in_a_stream_has_its_place(fleet: Path, text: str, said: str) -> None:
    done = gitops_dsf("import", "--from", "-", cwd=fleet, stdin=text)
    assert done.returncode == 1
    assert said in done.stderr


def test_an_object_of_another_version_is_named(fleet: Path) -> None:
    """A set that is not taken leaves its clusters out of every Placement."""
    old = cluster_set("blue") | {"apiVersion": "cluster.open-cluster-management.io/v1beta1"}
    other = {**dynamic_scorer("cpu"), "kind": "DynamicScoringConfig", "metadata": {"name": "mine"}}
    hub = printed([managed_cluster("ber-1"), old, other])
    done = gitops_dsf("import", "--from", "-", cwd=fleet, stdin=hub)
    assert done.returncode == 0, done.stderr
    assert (
        "clusters/sets.yaml: ManagedClusterSet blue is not written: its apiVersion is"
        " cluster.open-cluster-management.io/v1beta1, and"
        " cluster.open-cluster-management.io/v1beta2 is read;"
        " `kubectl get managedclustersets.v1beta2.cluster.open-cluster-management.io` prints that\n"
    ) in done.stderr
    assert "DynamicScoringConfig mine is not written: only the DynamicScoringConfig " in done.stderr
    assert not (fleet / "clusters/sets.yaml").exists()


def test_a_dry_run_writes_nothing(fleet: Path) -> None:
    done = gitops_dsf(
        "import", "--from", "-", "--dry-run", cwd=fleet, stdin=printed([managed_cluster("ber-1")])
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        0,
        "1 would be added, 0 would be changed, 0 unchanged",
    )
    assert not (fleet / "clusters" / "ber-1.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "message"),
    [
        (
            ["--from", "nowhere.yaml"],
            "",
            1,
            "nowhere.yaml cannot be read: No such file or directory",
        ),
        (["--from", "-"], "", 1, "there is no DynamicScorer"),
        (["--from", "-"], "kind: [", 1, "standard input:1:8"),
        (["--from", "-"], "- a\n- b\n", 1, "standard input:1:1"),
        (["--from", "-"], '{"kind": "List", "items": 7}', 1, "items of a List must be a list"),
        (
            ["--from", "-"],
            "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nspec: 7\n",
            1,
            "metadata.name None",
        ),
        (
            ["--from", "-"],
            (
                "apiVersion: cluster.open-cluster-management.io/v1\nkind:"
                " ManagedCluster\nmetadata: {name:"
                " a}\nspec: 7\n"
            ),
            1,
            "ManagedCluster: spec must be an object",
        ),
        ([], "", 2, "there is no current context: name the hub with --context"),
        (
            ["--from", "-", "--kubeconfig", "x"],
            "",
            2,
            "--kubeconfig is for reading a hub, and --from reads a file",
        ),
        (["--from", "-", "elsewhere"], "", 2, "elsewhere holds no gitops-dsf.yaml"),
    ],
)
def test_what_cannot_be_done_is_said(
    fleet: Path, arguments: list[str], stdin: str, code: int, message: str
) -> None:
    done = gitops_dsf("import", *arguments, cwd=fleet, stdin=stdin)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def hub() -> Iterator[FakeApiServer]:
    """It pages its lists two by two, leaves kinds out of items, and has no CRD of ours."""
    with serving(FakeApiServer(serves={}, page=2)) as server:
        yield server


def listed(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in {"apiVersion", "kind"}}


def test_from_a_hub_without_our_crds(fleet: Path, hub: FakeApiServer, tmp_path: Path) -> None:
    words = ("import", "--context", "hub", "--kubeconfig", hub.kubeconfig(tmp_path / "kubeconfig"))
    group = "/apis/cluster.open-cluster-management.io"
    hub.serve(
        f"{group}/v1/managedclusters", *(listed(managed_cluster(f"ber-{at}")) for at in range(5))
    )
    hub.serve(
        f"{group}/v1beta2/managedclustersets",
        *(listed(cluster_set(at)) for at in ("default", "edge")),
    )
    done = gitops_dsf(*words, cwd=fleet)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "6 added, 0 changed, 0 unchanged"
    dsf = "/apis/dynamic-scoring.open-cluster-management.io/v1alpha1"
    hub.serve(f"{dsf}/dynamicscorers", listed(dynamic_scorer("sample")))
    done = gitops_dsf(*words, cwd=fleet)
    assert done.stdout.splitlines()[0] == "scorers/sample.yaml: DynamicScorer sample added"


@pytest.mark.parametrize(
    ("context", "words"), [("hub", "this cluster is not an OCM hub"), ("nobody", "context nobody")]
)
def test_a_hub_that_is_none_is_said(
    fleet: Path, hub: FakeApiServer, tmp_path: Path, context: str, words: str
) -> None:
    kubeconfig = hub.kubeconfig(tmp_path / "kubeconfig")
    done = gitops_dsf("import", "--context", context, "--kubeconfig", kubeconfig, cwd=fleet)
    assert done.returncode == 1
    assert words in done.stderr


def test_a_cluster_like_a_namespace_of_the_platform_is_left_out(fleet: Path) -> None:
    """With it the repository would not validate, and Argo CD would refuse the whole works
    directory.
    """
    names = ("ber-1", "kube-public", "openshift-config", "argocd")
    hub = printed([managed_cluster(name) for name in names])
    done = gitops_dsf("import", "--from", "-", cwd=fleet, stdin=hub)
    assert done.stdout.splitlines() == [
        "clusters/ber-1.yaml: ManagedCluster ber-1 added",
        "1 added, 0 changed, 0 unchanged",
    ]
    assert (
        "ManagedCluster kube-public is not written: the hub's namespace kube-public"
        " belongs to Kubernetes"
        " (it reserves the prefix kube-)" in done.stderr
    )
    assert (
        "ManagedCluster openshift-config is not written: the hub's namespace openshift-config"
        in done.stderr
    )
    assert (
        "ManagedCluster argocd is not written: the hub's namespace argocd belongs to Argo CD"
        in done.stderr
    )
    assert done.returncode == 0
    assert gitops_dsf("validate", cwd=fleet).returncode == 0


def test_the_namespaces_of_the_settings_are_left_out_too(fleet: Path) -> None:
    settings = fleet / "gitops-dsf.yaml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(
        text.replace("spec:\n", "spec:\n  hubNamespace: scoring\n", 1), encoding="utf-8"
    )
    done = gitops_dsf(
        "import", "--from", "-", cwd=fleet, stdin=printed([managed_cluster("scoring")])
    )
    assert "the hub's namespace scoring belongs to gitops-dsf" in done.stderr
    assert not (fleet / "clusters" / "scoring.yaml").exists()


def claiming(name: str, value: str, **more: Any) -> dict[str, Any]:
    item = managed_cluster(name)
    item["status"]["clusterClaims"] = [
        {"name": "region.open-cluster-management.io", "value": value}
    ]
    item["metadata"] |= more
    return item


SCORER_OF_THE_HUB = """\
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


def errors(fleet: Path) -> list[str]:
    return [
        line
        for line in gitops_dsf("validate", cwd=fleet).stdout.splitlines()
        if ": error DSF" in line
    ]


def test_a_claim_of_a_spoke_cannot_make_the_repository_unreadable(fleet: Path) -> None:
    """A spoke writes the claims itself. Its cluster is in git already, so its file is edited."""
    first = gitops_dsf("import", "--from", "-", cwd=fleet, stdin=printed([claiming("ber-1", "eu")]))
    assert first.returncode == 0, first.stderr
    for value in ("a\nb\x07c", "a\n\x1b[31mred", "a\nb\u2028c", "x\x00y"):
        hub = printed([claiming("ber-1", value), managed_cluster("ber-2")])
        done = gitops_dsf("import", "--from", "-", cwd=fleet, stdin=hub)
        assert done.returncode == 0, done.stderr
        assert done.stdout.replace("\n", "").isprintable()
        checked = gitops_dsf("validate", cwd=fleet)
        assert checked.returncode == 0, checked.stdout


def test_a_cluster_that_would_make_the_repository_invalid_is_left_out(fleet: Path) -> None:
    """A hub scorer recognises clusters by a claim, which a spoke can copy from another one."""
    (fleet / "scorers/central.yaml").write_text(SCORER_OF_THE_HUB, encoding="utf-8")
    (fleet / "clusters/examples.yaml").unlink()
    hub = [claiming(f"ber-{number}", f"region-{number}") for number in range(1, 9)]
    first = gitops_dsf("import", "--from", "-", cwd=fleet, stdin=printed(hub))
    assert first.stdout.splitlines()[-1] == "8 added, 0 changed, 0 unchanged"
    before = errors(fleet)
    hub[2] = claiming("ber-3", "region-7")
    hub[4] = claiming("ber-5", "of-its-own")
    done = gitops_dsf(
        "import", "--from", "-", cwd=fleet, stdin=printed([*hub, claiming("ber-9", "new")])
    )
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "1 added, 1 changed, 6 unchanged"
    [told] = [line for line in done.stderr.splitlines() if "is not written" in line]
    assert told.startswith(
        "clusters/ber-3.yaml: ManagedCluster ber-3 is not written: the repository would"
        " be invalid: DSF"
    )
    assert "value: region-3" in (fleet / "clusters/ber-3.yaml").read_text(encoding="utf-8")
    assert errors(fleet) == before


def test_what_no_cluster_is_to_blame_for_keeps_none_out(fleet: Path) -> None:
    """The first import into a repository whose application wants clusters that the hub does not
    have.
    """
    (fleet / "clusters/examples.yaml").unlink()
    app = fleet / "apps/guestbook.yaml"
    app.write_text(
        app.read_text(encoding="utf-8").replace("env: prod", "env: none"), encoding="utf-8"
    )
    hub = printed(
        [*(managed_cluster(f"ber-{number}") for number in range(1, 5)), cluster_set("fleet")]
    )
    done = gitops_dsf("import", "--from", "-", cwd=fleet, stdin=hub)
    assert done.stdout.splitlines()[-1] == "5 added, 0 changed, 0 unchanged"
    assert "is not written" not in done.stderr
    assert "no cluster of the inventory is eligible" in gitops_dsf("validate", cwd=fleet).stdout


def test_clusters_that_leave_or_were_never_accepted_do_not_join(fleet: Path) -> None:
    """Any cluster that reaches the hub can ask to join. The reconciler proposes neither of them."""
    leaving = {"deletionTimestamp": "2026-11-21T08:00:00Z"}
    asking, gone = managed_cluster("ber-2"), claiming("ber-3", "eu", **leaving)
    asking["spec"]["hubAcceptsClient"] = False
    hub = printed([managed_cluster("ber-1"), asking, gone])
    done = gitops_dsf("import", "--from", "-", cwd=fleet, stdin=hub)
    assert done.stdout.splitlines() == [
        "clusters/ber-1.yaml: ManagedCluster ber-1 added",
        "1 added, 0 changed, 0 unchanged",
    ]
    assert (
        "ManagedCluster ber-2 is not written: nobody has accepted it on the hub"
        " (spec.hubAcceptsClient)"
    ) in done.stderr
    assert "ManagedCluster ber-3 is not written: it is being deleted on the hub" in done.stderr
    assert not (fleet / "clusters/ber-3.yaml").exists()

    # One that git has is followed when it is no longer accepted, and left alone while it is
    # deleted.
    refused = managed_cluster("ber-1")
    refused["spec"]["hubAcceptsClient"] = False
    done = gitops_dsf("import", "--from", "-", cwd=fleet, stdin=printed([refused]))
    assert "ManagedCluster ber-1: spec.hubAcceptsClient: true -> false" in done.stdout
    refused["metadata"] |= leaving
    refused["metadata"]["labels"]["region"] = "other"
    done = gitops_dsf("import", "--from", "-", cwd=fleet, stdin=printed([refused]))
    assert done.stdout == "0 added, 0 changed, 0 unchanged\n"
    assert "ber-1 is not on the hub" not in done.stderr

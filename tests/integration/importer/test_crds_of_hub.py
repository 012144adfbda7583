"""`import` and `init --context` write that another program owns the CRDs of a hub, and say why."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_dsf.cli.scaffold import scaffold
from gitops_dsf.schema.crd import crds
from tests.support import upstream
from tests.support.apiserver import FakeApiServer
from tests.support.commandline import gitops_dsf
from tests.support.kubectl import managed_cluster
from tests.support.served import serving

CLUSTERS = "/apis/cluster.open-cluster-management.io"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SCORER_CRD = "dynamicscorers.dynamic-scoring.open-cluster-management.io"
REASON = (
    "gitops-dsf.yaml: spec.delivery.crds: Existing, because multiclusterhub-operator wrote CRD"
    f" {SCORER_CRD} without our fields"
)


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    scaffold(target=tmp_path / "fleet", name="fleet", examples=False)
    return tmp_path / "fleet"


@pytest.fixture
def hub() -> Iterator[FakeApiServer]:
    """It has a cluster, and neither Argo CD nor our CRDs."""
    with serving(FakeApiServer(serves={})) as server:
        server.serve(f"{CLUSTERS}/v1/managedclusters", managed_cluster("ber-1"))
        server.serve(f"{CLUSTERS}/v1beta2/managedclustersets")
        server.serve(DEFINITIONS)
        yield server


def foreign_definition() -> dict[str, Any]:
    """Upstream's CRD of DynamicScorer, as an operator wrote it."""
    [definition] = [crd for crd in upstream.crds() if crd["metadata"]["name"] == SCORER_CRD]
    definition["metadata"]["managedFields"] = [
        {"manager": "multiclusterhub-operator", "operation": "Update"},
        {"manager": "kube-apiserver", "operation": "Update", "subresource": "status"},
    ]
    return definition


def text_of(fleet: Path) -> str:
    return (fleet / "gitops-dsf.yaml").read_text(encoding="utf-8")


def with_delivery(fleet: Path, delivery: str) -> None:
    """Writes spec.delivery as people do."""
    text = text_of(fleet)
    assert "\n  delivery:" not in text
    changed = text.replace("\nspec:\n", f"\nspec:\n  delivery: {delivery}\n", 1)
    (fleet / "gitops-dsf.yaml").write_text(changed, encoding="utf-8")


def delivery_of(fleet: Path) -> object:
    return yaml.safe_load(text_of(fleet))["spec"].get("delivery")


def words(hub: FakeApiServer, tmp_path: Path, *more: str) -> tuple[str, ...]:
    return ("import", "--context", "hub", "--kubeconfig", hub.kubeconfig(tmp_path / "k"), *more)


def test_crds_of_another_program_are_left_to_it(
    fleet: Path, hub: FakeApiServer, tmp_path: Path
) -> None:
    hub.serve(DEFINITIONS, foreign_definition())
    before = text_of(fleet)

    dry = gitops_dsf(*words(hub, tmp_path, "--dry-run"), cwd=fleet)
    assert dry.stdout.splitlines()[0] == REASON
    assert text_of(fleet) == before

    done = gitops_dsf(*words(hub, tmp_path), cwd=fleet)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == REASON
    assert delivery_of(fleet) == {"crds": "Existing"}
    assert set(before.splitlines()) <= set(text_of(fleet).splitlines()), "nothing else changed"
    assert gitops_dsf("validate", cwd=fleet).returncode == 0
    assert gitops_dsf("render", cwd=fleet).returncode == 0
    assert list((fleet / "rendered").rglob("customresourcedefinition.*")) == []

    after = text_of(fleet)
    again = gitops_dsf(*words(hub, tmp_path), cwd=fleet)
    assert again.stdout == "0 added, 0 changed, 1 unchanged\n"
    assert "spec.delivery" not in again.stderr
    assert text_of(fleet) == after


@pytest.mark.parametrize("is_installed", [False, True], ids=["no CRD", "our CRD"])
def test_a_hub_without_crds_or_with_ours_changes_nothing(
    fleet: Path, hub: FakeApiServer, tmp_path: Path, is_installed: bool
) -> None:
    if is_installed:
        hub.serve(DEFINITIONS, *crds())
    before = text_of(fleet)
    done = gitops_dsf(*words(hub, tmp_path), cwd=fleet)
    assert done.returncode == 0, done.stderr
    assert text_of(fleet) == before
    assert "spec.delivery" not in done.stdout + done.stderr


def test_what_people_wrote_stays_and_they_are_told(
    fleet: Path, hub: FakeApiServer, tmp_path: Path
) -> None:
    hub.serve(DEFINITIONS, foreign_definition())
    with_delivery(fleet, "{crds: Rendered}  # ours")
    before = text_of(fleet)
    done = gitops_dsf(*words(hub, tmp_path), cwd=fleet)
    assert done.returncode == 0, done.stderr
    assert text_of(fleet) == before
    assert (
        "gitops-dsf.yaml: spec.delivery.crds: Rendered stays as you wrote it, but"
        f" multiclusterhub-operator wrote CRD {SCORER_CRD} without our fields" in done.stderr
    )


def test_other_fields_of_delivery_stay(fleet: Path, hub: FakeApiServer, tmp_path: Path) -> None:
    hub.serve(DEFINITIONS, foreign_definition())
    with_delivery(fleet, "\n    mode: ManifestWork  # since March")
    assert gitops_dsf(*words(hub, tmp_path), cwd=fleet).returncode == 0
    assert delivery_of(fleet) == {"mode": "ManifestWork", "crds": "Existing"}
    assert "    mode: ManifestWork  # since March\n" in text_of(fleet)


def test_nothing_is_written_where_upstream_delivers(
    fleet: Path, hub: FakeApiServer, tmp_path: Path
) -> None:
    """With UpstreamController no CRDs are rendered, so the field has no effect."""
    hub.serve(DEFINITIONS, foreign_definition())
    with_delivery(fleet, "{mode: UpstreamController}")
    done = gitops_dsf(*words(hub, tmp_path), cwd=fleet)
    assert done.returncode == 0, done.stderr
    assert delivery_of(fleet) == {"mode": "UpstreamController"}


@pytest.mark.parametrize("field", ["delivery", "argocd"])
def test_settings_of_another_shape_are_reported_by_what_reads_the_repository(
    fleet: Path, hub: FakeApiServer, tmp_path: Path, field: str
) -> None:
    """There is no section to write into, and no traceback."""
    hub.serve(DEFINITIONS, foreign_definition())
    argocd = {
        "metadata": {"name": "argocd-applicationset-controller", "namespace": "openshift-gitops"},
        "spec": {"template": {"spec": {"serviceAccountName": "argocd-applicationset-controller"}}},
    }
    hub.serve("/apis/apps/v1/deployments", argocd)
    hub.serve("/api/v1/configmaps")
    settings = yaml.safe_load(text_of(fleet))
    settings["spec"][field] = "wrong"
    (fleet / "gitops-dsf.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    done = gitops_dsf(*words(hub, tmp_path), cwd=fleet)
    assert "Traceback" not in done.stderr
    assert f"spec.{field}" in gitops_dsf("validate", cwd=fleet).stdout
    assert yaml.safe_load(text_of(fleet))["spec"][field] == "wrong"


def test_what_may_not_be_read_is_said_and_the_rest_is_imported(
    fleet: Path, hub: FakeApiServer, tmp_path: Path
) -> None:
    hub.refused = {DEFINITIONS: 403}
    done = gitops_dsf(*words(hub, tmp_path), cwd=fleet)
    assert done.returncode == 0, done.stderr
    assert (
        "gitops-dsf.yaml: spec.delivery.crds was not compared with the hub: needs the right to get"
        f" customresourcedefinitions.apiextensions.k8s.io {SCORER_CRD}" in done.stderr
    )
    assert done.stdout.splitlines()[-1] == "1 added, 0 changed, 0 unchanged"
    assert delivery_of(fleet) is None


def test_init_with_a_context_writes_it_into_a_new_fleet(hub: FakeApiServer, tmp_path: Path) -> None:
    hub.serve(DEFINITIONS, foreign_definition())
    kubeconfig = hub.kubeconfig(tmp_path / "k")
    done = gitops_dsf(
        "init", "new", "--empty", "--context", "hub", "--kubeconfig", kubeconfig, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert REASON in done.stdout.splitlines()
    assert delivery_of(tmp_path / "new") == {"crds": "Existing"}

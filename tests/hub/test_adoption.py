"""Adopts ApplicationSets that run, on the real ApplicationSet controller.

The first sync changes no Application.

Every case of tests/data/adoption is applied as its author did, by another field manager than Argo
CD, in the namespace that it names: `openshift-gitops`, as on a hub of ACM, with an Argo CD of its
own. OCM decides, and the controller generates Applications. Then `import --adopt` reads the hub,
and what the repository renders is applied as Argo CD applies it: by server-side apply.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml

from gitops_dsf.importer.plan import plan_import
from gitops_dsf.importer.planned import Import
from gitops_dsf.importer.selection import ImportSelection
from gitops_dsf.pipeline import produce
from gitops_dsf.render.delivery import decision_readers
from gitops_dsf.repository.files import write_files
from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.applications import APPLICATION, APPLICATION_SET, error_of, refresh_set
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.binaries import Binaries
from tests.hub.controlplane.plane import MANAGED_CLUSTER, SPOKES, ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.decisionreaders import reading_decisions
from tests.hub.scenario.leftovers import PROJECT, remove_leftovers
from tests.hub.scenario.placements import (
    BINDING,
    CLUSTER_SET,
    PLACEMENT,
    decided,
    publish,
)
from tests.support import adoption
from tests.support.rendering import objects

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

NAMESPACE = adoption.NAMESPACE
CONFIG_MAPS = ("acm-placement", "ocm-placement-generator", "gitops-dsf-placement-decisions")
REFRESH = "argocd.argoproj.io/application-set-refresh"
CLAIMS = [{"name": "platform.open-cluster-management.io", "value": "AWS"}]
BY_DECISION = {"matrix-of-folders": 2}
"""Applications for each cluster of the decision, where it is not one."""
SETS = tuple(
    sorted(
        item["metadata"]["name"]
        for name in adoption.CASES
        for item in adoption.case(name)
        if item["kind"] == "ApplicationSet"
    )
)


@dataclass(frozen=True, kw_only=True)
class Adopted:
    """What the hub has before and after the first sync, by ApplicationSet."""

    planned: Import
    before: Mapping[str, Mapping[str, Object]]
    after: Mapping[str, Mapping[str, Object]]
    complaints: Mapping[str, str]
    """What the controller complains of after the first sync, by ApplicationSet."""
    decisions_before: Mapping[str, Any] = field(repr=False)
    decisions_after: Mapping[str, Any] = field(repr=False)


def create(hub: Client, item: Object) -> None:
    """Creates an object as a console does. The API server drops fields that it does not know."""
    version = item["apiVersion"]
    path = hub.path(f"{version}/{item['kind']}", namespace=item["metadata"].get("namespace"))
    hub.request("POST", path, body=item, parameters={"fieldManager": "Mozilla"})


def applications(hub: Client) -> dict[str, dict[str, Object]]:
    """What people see of the Applications, by ApplicationSet and name."""
    seen: dict[str, dict[str, Object]] = {name: {} for name in SETS}
    for item in hub.list(APPLICATION, namespace=NAMESPACE):
        meta = item["metadata"]
        [owner] = meta.get("ownerReferences") or [{"name": ""}]
        if owner["name"] in seen and "deletionTimestamp" not in meta:
            seen[owner["name"]][meta["name"]] = {
                "uid": meta["uid"],
                "labels": meta.get("labels"),
                "annotations": meta.get("annotations"),
                "finalizers": meta.get("finalizers"),
                "owner": owner["uid"],
                "spec": item["spec"],
            }
    return seen


def decisions(hub: Client) -> dict[str, Any]:
    """The UID of every Placement, and the clusters that OCM decided for."""
    found = {}
    for item in hub.list(PLACEMENT, namespace=NAMESPACE):
        name = item["metadata"]["name"]
        found[name] = (item["metadata"]["uid"], decided(hub, name, namespace=NAMESPACE))
    return found


@pytest.fixture(scope="module")
def openshift_gitops(
    control_plane: ControlPlane, argocd_binaries: Binaries, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ArgoCD]:
    """The Argo CD of that namespace. One of another namespace does not look at it."""
    running = ArgoCD(
        binaries=argocd_binaries,
        processes=control_plane.processes,
        folder=tmp_path_factory.mktemp("openshift-gitops"),
        hub=control_plane.hub,
        namespace=NAMESPACE,
    )
    running.bring_up()
    yield running
    running.remove()


@pytest.fixture(scope="module")
def running(hub: Client, openshift_gitops: ArgoCD, control_plane: ControlPlane) -> Iterator[None]:
    """All cases, as they run before anybody thinks of adopting them."""
    labels = {"metadata": {"labels": {"env": "prod"}}}
    for cluster in SPOKES:
        hub.patch(MANAGED_CLUSTER, cluster, labels)
        hub.patch_status(MANAGED_CLUSTER, cluster, {"clusterClaims": CLAIMS})
        high = 90 if cluster == "cluster1" else 5
        publish(hub, cluster, "cpu", {"cpu": high})
        publish(hub, cluster, "site-preference", {"preference": high})
        publish(hub, cluster, "resource-usage-score", {"cpuAvailable": high})
    selector = {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"env": "prod"}}}
    hub.apply(manifest(CLUSTER_SET, "fleet", spec={"clusterSelector": selector}))
    hub.apply(manifest(BINDING, "fleet", namespace=NAMESPACE, spec={"clusterSet": "fleet"}))
    generator = next(
        item["data"] for item in decision_readers(NAMESPACE) if item["kind"] == "ConfigMap"
    )
    for name in CONFIG_MAPS:
        hub.apply(manifest("v1/ConfigMap", name, namespace=NAMESPACE, data=generator))
    everything = {
        "sourceRepos": ["*"],
        "destinations": [{"server": "*", "namespace": "*"}],
    }
    for name in ("team-web", "project-cluster1", "project-cluster2"):
        hub.apply(manifest(PROJECT, name, namespace=NAMESPACE, spec=everything))
    with (
        reading_decisions(hub, control_plane, namespace=NAMESPACE),
        openshift_gitops.knowing(control_plane.spokes.values()),
    ):
        for name in adoption.CASES:
            for item in adoption.case(name):
                create(hub, item)
        yield
        remove_leftovers(hub)
    for cluster in SPOKES:
        hub.patch(MANAGED_CLUSTER, cluster, {"metadata": {"labels": {"env": None}}})
        hub.patch_status(MANAGED_CLUSTER, cluster, {"clusterClaims": None})


def expected(hub: Client, name: str) -> int:
    """The number of Applications that the sets of a case generate for its decision."""
    [placement] = [item for item in adoption.case(name) if item["kind"] == "Placement"]
    clusters = decided(hub, placement["metadata"]["name"], namespace=NAMESPACE)
    return len(clusters) * BY_DECISION.get(name, 1)


def all_generated(hub: Client) -> bool:
    """Whether every set has its Applications."""
    seen = applications(hub)
    counts = []
    for name in adoption.CASES:
        wanted = expected(hub, name)
        for item in adoption.case(name):
            if item["kind"] == "ApplicationSet":
                counts.append((len(seen[item["metadata"]["name"]]), wanted))
    return all(count == wanted != 0 for count, wanted in counts)


def look(hub: Client, name: str) -> None:
    """Asks for a look at an ApplicationSet."""
    refresh_set(hub, name, namespace=NAMESPACE)


def complaint(hub: Client, name: str) -> str:
    """What the controller complains of, or nothing."""
    return error_of(hub, name, namespace=NAMESPACE)


def look_everywhere(hub: Client) -> None:
    """Asks for a look at every ApplicationSet."""
    for name in SETS:
        look(hub, name)


@pytest.fixture(scope="module")
def adopted(hub: Client, running: None, tmp_path_factory: pytest.TempPathFactory) -> Adopted:
    wait_for(
        lambda: all(expected(hub, name) for name in adoption.CASES),
        what="OCM decides for all",
        seen=lambda: {name: expected(hub, name) for name in adoption.CASES},
    )
    look_everywhere(hub)
    wait_for(
        lambda: all_generated(hub),
        what="every set has its Applications",
        seen=lambda: {
            name: (sorted(found), complaint(hub, name)) for name, found in applications(hub).items()
        },
    )
    root = adoption.fleet(tmp_path_factory.mktemp("adopted") / "fleet")
    live = [
        {"apiVersion": kind.rpartition("/")[0], "kind": kind.rpartition("/")[2], **item}
        for kind in (APPLICATION_SET, PLACEMENT)
        for item in hub.list(kind, namespace=NAMESPACE)
    ]
    planned = plan_import(root, live, selection=ImportSelection(), adopted=["*"])
    write_files(planned.root, planned.files)
    result = produce(root)
    assert result.tree is not None, result.diagnostics
    before = applications(hub)
    decisions_before = decisions(hub)
    delivered = [item for path, item in objects(result).items() if path.startswith("delivery/")]
    # In the order of Argo CD's waves.
    for item in sorted(delivered, key=wave):
        hub.apply(item, manager="argocd-controller")
    look_everywhere(hub)
    wait_for(
        lambda: not any(asked(hub, name) for name in SETS),
        what="the controller has looked at every ApplicationSet",
        seen=lambda: {name: complaint(hub, name) for name in SETS if asked(hub, name)},
    )
    hold_for(lambda: applications(hub) == before, what="no Application changes", seconds=3)
    return Adopted(
        planned=planned,
        before=before,
        after=applications(hub),
        complaints={name: complaint(hub, name) for name in SETS},
        decisions_before=decisions_before,
        decisions_after=decisions(hub),
    )


def wave(item: Object) -> int:
    return int(item["metadata"].get("annotations", {}).get("argocd.argoproj.io/sync-wave", "0"))


def asked(hub: Client, name: str) -> bool:
    """Whether a look at an ApplicationSet is asked for and has not succeeded yet."""
    found = hub.get(APPLICATION_SET, name, namespace=NAMESPACE)["metadata"]
    return REFRESH in found.get("annotations", {})


@pytest.mark.parametrize("name", SETS)
def test_the_first_sync_changes_no_application(adopted: Adopted, name: str) -> None:
    assert adopted.before[name] != {}
    assert adopted.after[name] == adopted.before[name]
    assert adopted.complaints[name] == ""


def test_the_first_sync_changes_no_decision(adopted: Adopted) -> None:
    assert adopted.decisions_after == adopted.decisions_before
    assert len(adopted.decisions_before) == len(adoption.CASES)


def test_what_is_rendered_is_on_the_hub(adopted: Adopted, hub: Client) -> None:
    """Otherwise nothing could have changed."""
    rendered = {line.name for line in adopted.planned.added if line.kind == "ScoredApplication"}
    for name in sorted(rendered):
        found = hub.get(APPLICATION_SET, name, namespace=NAMESPACE)
        assert found["spec"]["goTemplate"] is True
        assert found["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "gitops-dsf"
    assert len(rendered) >= 14


def take_the_next_step(hub: Client, planned: Import, name: str) -> None:
    """Our label, and a destination by name, as docs/start/adopt.md describes it."""
    file = planned.root / f"apps/{name}.yaml"
    written = yaml.safe_load(file.read_text("utf-8"))
    template = written["spec"]["application"]["template"]
    del template["destination"]
    del template["marks"]
    file.write_text(yaml.safe_dump(written), "utf-8")
    [rendered] = [
        item
        for item in objects(produce(planned.root)).values()
        if item["kind"] == "ApplicationSet" and item["metadata"]["name"] == name
    ]
    hub.apply(rendered, manager="argocd-controller")
    look(hub, name)


def has_taken_it(adopted: Adopted, hub: Client, name: str) -> None:
    """The same Applications name their cluster, and carry our label."""
    wait_for(
        lambda: all(
            "name" in item["spec"]["destination"] for item in applications(hub)[name].values()
        ),
        what="Applications name their cluster",
        seen=lambda: (applications(hub)[name], complaint(hub, name)),
    )
    after = applications(hub)[name]
    assert {key: item["uid"] for key, item in after.items()} == {
        key: item["uid"] for key, item in adopted.before[name].items()
    }
    for item in after.values():
        assert "server" not in item["spec"]["destination"]
        assert item["labels"]["gitops-dsf.io/application"] == name


def test_the_next_step_keeps_every_application(adopted: Adopted, hub: Client) -> None:
    """The first sync changed `{{server}}` into Go's language, so that Argo CD owns the field."""
    take_the_next_step(hub, adopted.planned, "api")
    has_taken_it(adopted, hub, "api")


def test_a_field_that_somebody_else_owns_stays(adopted: Adopted, hub: Client) -> None:
    """The console wrote `{{.server}}`, which the first sync did not change.

    Server-side apply leaves it, Argo CD generates nothing until somebody removes it, and deletes
    nothing.
    """
    take_the_next_step(hub, adopted.planned, "storage")
    wait_for(
        lambda: "can't have both name and server defined" in complaint(hub, "storage"),
        what="Argo CD complains",
        seen=lambda: complaint(hub, "storage"),
    )
    assert applications(hub)["storage"] == adopted.before["storage"]
    removed = {"spec": {"template": {"spec": {"destination": {"server": None}}}}}
    hub.patch(APPLICATION_SET, "storage", removed, namespace=NAMESPACE)
    look(hub, "storage")
    has_taken_it(adopted, hub, "storage")

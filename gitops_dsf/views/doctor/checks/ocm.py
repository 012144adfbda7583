"""Checks Open Cluster Management: its version, gates and clusters, the agents there, the upstream addon."""

import json
from collections.abc import Iterator
from typing import Final

import msgspec
from packaging.version import Version

from dsf_wire.constants import ADDON_NAME
from gitops_dsf.hub.metadata import Metadata, age_text
from gitops_dsf.hub.names import AVAILABLE_CONDITION, WORK_NAME
from gitops_dsf.views.doctor.facts import (
    VERSION_LABEL,
    Facts,
    Finding,
    Object,
    Source,
    condition,
    containers_of,
    error,
    name_of,
    namespace_of,
    ok,
    on_cluster,
    unknown,
    versions_of,
    warning,
)
from gitops_dsf.wording import names_text, plural

GROUPS: Final = {
    "cluster.open-cluster-management.io": ("v1", "v1alpha1", "v1beta1", "v1beta2"),
    "work.open-cluster-management.io": ("v1",),
    "addon.open-cluster-management.io": ("v1alpha1",),
}
MINIMUM: Final = Version("1.2.1")
"""Older ones approve a certificate that the administrator of one cluster made for another cluster or the hub
(CVE-2026-4740), and all that we separate on the hub is separated by the identity of clusters.
"""
DANGER: Final = "an older one lets one cluster act as another, or as the hub (CVE-2026-4740)"
NAMESPACE: Final = "open-cluster-management-hub"
"""The namespace where the cluster manager runs OCM (ocm manifests/cluster-manager)."""
GATES: Final = {
    "AddonManagement": (
        "addOnManagerConfiguration",
        "no add-on is installed, so no cluster gets an agent",
    ),
    "DefaultClusterSet": (
        "registrationConfiguration",
        "a cluster without a set label is in no ManagedClusterSet, not even `default`",
    ),
}
"""Gates that must stay on (ocm api feature/feature.go), their section, and what breaks without."""


def installed(facts: Facts) -> Iterator[Finding]:
    """Are OCM's kinds served, in the versions that we render?"""
    missing = [
        f"{group}/{version}"
        for group, versions in GROUPS.items()
        for version in versions
        if version not in facts.groups.get(group, ())
    ]
    if missing:
        yield error(
            f"the hub does not serve {names_text(missing)}", facts.clusteradm("init", "--wait")
        )
    yield ok("the hub serves every OCM kind that is rendered")


def version(facts: Facts) -> Iterator[Finding]:
    """Do OCM's own Deployments run at least the version that we need?"""
    deployments = facts.of(Source.OCM_DEPLOYMENTS)
    if not deployments:
        yield unknown(
            f"no Deployment in {NAMESPACE} tells a version; OCM {MINIMUM} or newer is needed"
        )
        return
    found = versions_of(deployments)
    old = [f"{name} {version}" for name, version in sorted(found.items()) if version < MINIMUM]
    if old:
        fix = facts.clusteradm("upgrade", "clustermanager", "--bundle-version", "latest")
        yield error(f"older than OCM {MINIMUM}: {names_text(old)}: {DANGER}", fix)
    if untold := sorted(name_of(item) for item in deployments if name_of(item) not in found):
        images = "jsonpath={..containers[*].image}"
        look = facts.command("-n", NAMESPACE, "get", "deployments", *untold[:5], "-o", images)
        yield warning(
            f"the version of {names_text(untold)} is not known, because the images have no tag with a"
            f" version: OCM {MINIMUM} or newer is needed; {DANGER}",
            f"{look}  # find these digests in the release notes of your distribution of OCM; a label"
            f" {VERSION_LABEL} on the Deployments tells the version to doctor",
        )
    if found:
        yield ok(f"OCM {min(found.values())}")


def features(facts: Facts) -> Iterator[Finding]:
    """Is a feature gate switched off that is on by default, and that we rely on?"""
    manager = facts.one(Source.CLUSTER_MANAGERS)
    if manager is None and not facts.of(Source.OCM_DEPLOYMENTS):
        yield unknown(
            "neither a ClusterManager nor OCM's Deployments are there to tell the feature gates"
        )
        return
    spec = (manager or {}).get("spec") or {}
    name = name_of(manager) if manager is not None else "cluster-manager"
    flags = {flag for item in facts.of(Source.OCM_DEPLOYMENTS) for flag in _flags(item)}
    for gate, (section, consequence) in GATES.items():
        written = (spec.get(section) or {}).get("featureGates") or ()
        others = [dict(item) for item in written if item.get("feature") != gate]
        modes = {item.get("mode", "Disable") for item in written if item.get("feature") == gate}
        if modes - {"Enable"} or any(f"{gate}=false" in flag for flag in flags):
            # A merge patch replaces the whole list, so it has the other gates.
            gates = [*others, {"feature": gate, "mode": "Enable"}]
            patch = json.dumps({"spec": {section: {"featureGates": gates}}}, separators=(",", ":"))
            fix = facts.command("patch", "clustermanager", name, "--type=merge", "-p", patch)
            yield error(f"feature gate {gate} is off: {consequence}", fix)
    yield ok(f"{', '.join(GATES)} are on")


def _flags(deployment: Object) -> Iterator[str]:
    for container in containers_of(deployment):
        for word in (*(container.get("command") or ()), *(container.get("args") or ())):
            if str(word).startswith("--feature-gates="):
                yield str(word)


def clusters(facts: Facts) -> Iterator[Finding]:
    """Did the clusters that have an agent join, and do they answer?"""
    for name in sorted(facts.inputs.addons):
        cluster = facts.inputs.snapshot.clusters.get(name)
        if cluster is None:
            continue
        if cluster.spec is None or not cluster.spec.hub_accepts_client:
            fix = facts.clusteradm("accept", "--clusters", name)
            yield error(
                f"{name} is not accepted, so its agent cannot reach the hub", fix, subject=name
            )
            continue
        available = cluster.condition(AVAILABLE_CONDITION)
        if cluster.condition("ManagedClusterJoined").status != "True":
            fix = f"{facts.clusteradm('get', 'token')}  # then run the join command that it prints, on {name}"
            yield error(f"{name} has not joined", fix, subject=name)
        elif available.status != "True":
            why = available.message or "its lease is not renewed"
            fix = on_cluster(name, "get pods", namespace="open-cluster-management-agent")
            yield warning(f"{name} is not available: {why}", fix, subject=name)
    everyone = plural(len(facts.inputs.snapshot.clusters), "cluster")
    ours = f"{len(facts.inputs.addons)} of them with an agent"
    yield ok(f"{everyone}, {ours}; all of those joined and are available")


def agents(facts: Facts) -> Iterator[Finding]:
    """Are the agents that OCM installs Available?"""
    states = sorted(facts.of(Source.ADDON_STATES), key=namespace_of)
    for item in states:
        cluster = namespace_of(item)
        applied = [
            condition(item, kind) or {} for kind in ("RegistrationApplied", "ManifestApplied")
        ]
        failed = next((one for one in applied if one.get("status") == "False"), None)
        if failed is not None:
            fix = facts.command("-n", cluster, "describe", "managedclusteraddon", ADDON_NAME)
            why = f"{failed['type']} is False: {failed.get('reason')}: {failed.get('message')}"
            yield error(f"agent of {cluster}: {why}", fix, subject=cluster)
            continue
        available = condition(item, "Available") or {}
        if available.get("status") != "True":
            fix = on_cluster(cluster, f"describe deployment {ADDON_NAME}")
            told = f"{available.get('reason')}: {available.get('message')}"
            why = told if available else "OCM has not reported on it yet"
            yield warning(f"agent of {cluster} is not Available: {why}", fix, subject=cluster)
    yield ok(f"{plural(len(states), 'agent')}, all Available")


LATE_SECONDS: Final = 600.0
"""An add-on without its ManifestWork, or a deletion that has not ended, is told after this time. Argo CD and
OCM need some minutes for either.
"""


def left_behind(facts: Facts) -> Iterator[Finding]:
    """Does an agent stay on a cluster that left the inventory?

    Argo CD deletes the ManifestWork and the rights of such a cluster. It never deletes the
    ManagedClusterAddOn, because that has the ClusterManagementAddOn as its owner.
    """
    works = {namespace_of(item): item for item in facts.of(Source.OUR_WORKS)}
    for item in sorted(facts.of(Source.ADDON_STATES), key=namespace_of):
        cluster, work = namespace_of(item), works.get(namespace_of(item))
        if work is not None and not _metadata(work).deleting and not _metadata(item).deleting:
            continue
        removed = [
            (f"ManagedClusterAddOn {ADDON_NAME}", _metadata(item)),
            *([(f"ManifestWork {WORK_NAME}", _metadata(work))] if work is not None else []),
        ]
        for what, metadata in removed:
            since = metadata.deletion_timestamp
            if since is None or (late := (facts.inputs.now - since).total_seconds()) < LATE_SECONDS:
                continue
            yield warning(
                f"the {what} of {cluster} is still there {age_text(late)} after its deletion: OCM waits until"
                " the cluster answers and has removed what is there",
                on_cluster(cluster, "get pods", namespace="open-cluster-management-agent"),
                subject=cluster,
            )
        is_old = facts.inputs.now.timestamp() - _metadata(item).created >= LATE_SECONDS
        if work is None and is_old and not _metadata(item).deleting:
            fix = facts.command("-n", cluster, "delete", "managedclusteraddon", ADDON_NAME)
            yield warning(
                f"{cluster} left the inventory, and the ManagedClusterAddOn {ADDON_NAME} is still there: Argo"
                " CD never deletes it, because OCM owns it, and the agent runs without rights and"
                " configuration",
                f"{fix}  # if it is in clusters/, look at its Application gitops-dsf-works-NN instead",
                subject=cluster,
            )
    yield ok("every agent is on a cluster of the inventory")


def _metadata(item: Object) -> Metadata:
    return msgspec.convert(item["metadata"], Metadata)


UPSTREAM_ADDON: Final = "dynamic-scoring-framework"
"""The ClusterManagementAddOn of the upstream addon."""
UPSTREAM_WORK: Final = "dynamic-scoring-config-manifestwork"
"""Its ManifestWork in a cluster's namespace (docs/contributing/behaviour.md#works-that-share-an-object)."""
UPSTREAM_LABELS: Final = (
    "app.kubernetes.io/name=dynamic-scoring-framework",
    "app=dynamic-scoring-addon-controller",
)
"""The labels of its two Deployments: one writes works and status, the other installs its agents."""
UPSTREAM_NEEDS: Final = (
    Source.UPSTREAM_DEPLOYMENTS,
    Source.ADDON_DEFINITIONS,
    Source.UPSTREAM_WORKS,
    Source.OUR_WORKS,
    Source.SCORING_CONFIGS,
)


def upstream(facts: Facts) -> Iterator[Finding]:
    """Does the upstream addon run beside ours?"""
    deployments = facts.of(Source.UPSTREAM_DEPLOYMENTS)
    running = [item for item in deployments if (item.get("spec") or {}).get("replicas", 1)]
    definition = any(name_of(item) == UPSTREAM_ADDON for item in facts.of(Source.ADDON_DEFINITIONS))
    theirs = sorted(namespace_of(item) for item in facts.of(Source.UPSTREAM_WORKS))
    if not is_ours(facts):
        there = "the upstream addon runs, and ours does not"
        neither = "neither the upstream addon nor ours is installed"
        yield ok(there if running or definition or theirs else neither)
        return
    for item in running:
        namespace, name = namespace_of(item), name_of(item)
        what = f"the upstream controller {namespace}/{name} runs beside ours"
        fix = facts.command("-n", namespace, "scale", "deployment", name, "--replicas=0")
        yield error(f"{what}: both write the scoring ConfigMap and the status", fix)
    if definition:
        fix = facts.command("delete", "clustermanagementaddon", UPSTREAM_ADDON)
        what = f"the upstream add-on {UPSTREAM_ADDON} is installed beside ours"
        yield error(f"{what}: two agents publish the same scores on each cluster", fix)
    if theirs:
        both = sorted(set(theirs) & {namespace_of(item) for item in facts.of(Source.OUR_WORKS)})
        delete = ("delete", "manifestwork", UPSTREAM_WORK)
        fix = " && ".join(facts.command("-n", cluster, *delete) for cluster in theirs[:5])
        what = f"is left on {names_text(theirs)}"
        if both:
            what = f"writes the same ConfigMap as ours on {names_text(both)}"
        yield error(
            f"the upstream addon's ManifestWork {what}: the last writer wins, and both report Applied",
            fix,
        )
    for item in facts.of(Source.SCORING_CONFIGS):
        namespace, name = namespace_of(item), name_of(item)
        what = f"DynamicScoringConfig {namespace}/{name} is on the hub"
        fix = facts.command("-n", namespace, "delete", "dynamicscoringconfig", name)
        yield warning(
            f"{what}: an upstream controller, once installed, would start writing works",
            f"{fix}  # config/ in git is what counts",
        )
    yield ok("no part of the upstream addon is on the hub")


def is_ours(facts: Facts) -> bool:
    """Whether our works or our add-on are on the hub."""
    return bool(facts.of(Source.OUR_WORKS)) or any(
        name_of(item) == ADDON_NAME for item in facts.of(Source.ADDON_DEFINITIONS)
    )


def delivers(facts: Facts) -> bool:
    """Whether the upstream addon delivers in our place (delivery.mode UpstreamController)."""
    needed = (Source.OUR_WORKS, Source.ADDON_DEFINITIONS, Source.UPSTREAM_DEPLOYMENTS)
    if any(facts.missing(need) is not None for need in needed) or is_ours(facts):
        return False
    return bool(facts.of(Source.UPSTREAM_DEPLOYMENTS)) or any(
        name_of(item) == UPSTREAM_ADDON for item in facts.of(Source.ADDON_DEFINITIONS)
    )

"""Checks Open Cluster Management: its kinds, version and feature gates, and its clusters."""

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from packaging.version import Version

from gitops_dsf.hub.names import AVAILABLE_CONDITION
from gitops_dsf.views.doctor.facts import DoctorFacts, FactSource, on_cluster
from gitops_dsf.views.doctor.finding import DoctorFinding, error, ok, unknown, warning
from gitops_dsf.views.doctor.objects import (
    VERSION_LABEL,
    HubObject,
    containers_of,
    name_of,
    versions_of,
)
from gitops_dsf.wording import names_text, plural

GROUPS: Final = {
    "cluster.open-cluster-management.io": ("v1", "v1alpha1", "v1beta1", "v1beta2"),
    "work.open-cluster-management.io": ("v1",),
    "addon.open-cluster-management.io": ("v1alpha1",),
}
"""The groups and versions of the kinds that are rendered."""
MINIMUM: Final = Version("1.2.1")
"""Older ones approve a certificate of one cluster for another cluster or the hub (CVE-2026-4740).

All that we separate on the hub is separated by the identity of clusters.
"""
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
_MAX_NAMED: Final = 5
_KLUSTERLET_NAMESPACE: Final = "open-cluster-management-agent"


def installed(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Are OCM's kinds served, in the versions that we render?"""
    missing: list[str] = []
    for group, versions in GROUPS.items():
        served = facts.groups.get(group, ())
        for version in versions:
            if version not in served:
                missing.append(f"{group}/{version}")
    if missing:
        yield error(
            f"the hub does not serve {names_text(missing)}", facts.clusteradm("init", "--wait")
        )
    yield ok("the hub serves every OCM kind that is rendered")


def version(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Do OCM's own Deployments run at least the version that we need?"""
    deployments = facts.of(FactSource.OCM_DEPLOYMENTS)
    if not deployments:
        yield unknown(
            f"the version of OCM is not known: {NAMESPACE} has no Deployment; OCM {MINIMUM} or"
            " newer is needed"
        )
        return
    versions = versions_of(deployments)
    old = [f"{name} {version}" for name, version in sorted(versions.items()) if version < MINIMUM]
    if old:
        yield error(
            f"older than OCM {MINIMUM}: {names_text(old)}: an older one lets one cluster act as"
            " another, or as the hub (CVE-2026-4740)",
            facts.clusteradm("upgrade", "clustermanager", "--bundle-version", "latest"),
        )
    # Distributions pin images by digest alone, which says nothing of a version.
    without = [name for name in sorted(map(name_of, deployments)) if name not in versions]
    if without:
        yield _version_unknown(facts, without)
    if versions:
        yield ok(f"OCM {min(versions.values())}")


def _version_unknown(facts: DoctorFacts, deployments: list[str]) -> DoctorFinding:
    images = ("-o", "jsonpath={..containers[*].image}")
    # The first ones are enough: the programs of OCM come from one bundle.
    look = facts.command("-n", NAMESPACE, "get", "deployments", *deployments[:_MAX_NAMED], *images)
    return warning(
        f"the version of {names_text(deployments)} is not known, because the images have no tag"
        f" with a version: OCM {MINIMUM} or newer is needed; an older one lets one cluster act as"
        " another, or as the hub (CVE-2026-4740)",
        f"{look}  # find these digests in the release notes of your distribution of OCM; a label"
        f" {VERSION_LABEL} on the Deployments gives the version, too",
    )


def features(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Is a feature gate switched off that is on by default, and that we rely on?"""
    manager = facts.one(FactSource.CLUSTER_MANAGERS)
    deployments = facts.of(FactSource.OCM_DEPLOYMENTS)
    if manager is None and not deployments:
        yield unknown(
            "the feature gates are not known: there is neither a ClusterManager nor a Deployment of"
            " OCM"
        )
        return
    spec = (manager or {}).get("spec") or {}
    name = "cluster-manager" if manager is None else name_of(manager)
    # OCM that was installed without its operator has its gates in the flags of its Deployments.
    flags = list(chain.from_iterable(map(_feature_flags, deployments)))
    for gate, (section, consequence) in GATES.items():
        is_off = any(f"{gate}=false" in flag for flag in flags)
        # A merge patch replaces the whole list, so it has the other gates.
        gates: list[dict[str, Any]] = []
        for feature in (spec.get(section) or {}).get("featureGates") or ():
            if feature.get("feature") != gate:
                gates.append(dict(feature))
            # The default of `mode` in the ClusterManager's CRD is Disable.
            elif feature.get("mode", "Disable") != "Enable":
                is_off = True
        if is_off:
            gates.append({"feature": gate, "mode": "Enable"})
            patch = json.dumps({"spec": {section: {"featureGates": gates}}}, separators=(",", ":"))
            yield error(
                f"feature gate {gate} is off: {consequence}",
                facts.command("patch", "clustermanager", name, "--type=merge", "-p", patch),
            )
    yield ok(f"{', '.join(GATES)} are on")


def _feature_flags(deployment: HubObject) -> Iterator[str]:
    for container in containers_of(deployment):
        for word in (*(container.get("command") or ()), *(container.get("args") or ())):
            if str(word).startswith("--feature-gates="):
                yield str(word)


def clusters(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Did the clusters that have an agent join, and do they answer?"""
    for name in sorted(facts.inputs.addons):
        yield from _cluster(facts, name)
    everyone = plural(len(facts.inputs.snapshot.clusters), "cluster")
    with_agent = len(facts.inputs.addons)
    yield ok(
        f"{everyone}, {with_agent} of them with an agent; all of those joined and are available"
    )


def _cluster(facts: DoctorFacts, name: str) -> Iterator[DoctorFinding]:
    cluster = facts.inputs.snapshot.clusters.get(name)
    # OCM is deleting the add-on of a cluster that is gone; `agents-left` reports what stays.
    if cluster is None:
        return
    available = cluster.condition(AVAILABLE_CONDITION)
    # Only taints keep a Placement away: OCM 1.2.1 may also decide for a cluster that was never
    # accepted, and nothing runs there (docs/decisions/scheduler.md).
    if cluster.spec is None or not cluster.spec.hub_accepts_client:
        yield error(
            f"{name} is not accepted, so its agent cannot reach the hub",
            facts.clusteradm("accept", "--clusters", name),
            subject=name,
        )
    elif cluster.condition("ManagedClusterJoined").status != "True":
        token = facts.clusteradm("get", "token")
        yield error(
            f"{name} has not joined",
            f"{token}  # then run the join command that it prints, on {name}",
            subject=name,
        )
    elif available.status != "True":
        reason = available.message or "its lease is not renewed"
        yield warning(
            f"{name} is not available: {reason}",
            on_cluster(name, "get pods", namespace=_KLUSTERLET_NAMESPACE),
            subject=name,
        )

"""Checks the agents that OCM installs, and those that stay on clusters which left the inventory."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import msgspec

from dsf_wire.constants import ADDON_NAME
from gitops_dsf.hub.delivery import addon_of, agent_deployment
from gitops_dsf.hub.metadata import Metadata
from gitops_dsf.hub.names import WORK_NAME
from gitops_dsf.hub.times import age_text
from gitops_dsf.views.doctor.facts import DoctorFacts, FactSource, on_cluster
from gitops_dsf.views.doctor.finding import DoctorFinding, error, ok, warning
from gitops_dsf.views.doctor.objects import HubObject, condition, namespace_of
from gitops_dsf.wording import plural

LATE: Final = timedelta(minutes=10)
"""After this time an add-on without a ManifestWork is reported, and a deletion that goes on.

Argo CD and OCM need some minutes for either.
"""
NEEDS: Final = (FactSource.ADDON_STATES, FactSource.UPSTREAM_ADDON_STATES)
_KLUSTERLET_NAMESPACE: Final = "open-cluster-management-agent"


def agents(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Are the agents that OCM installs Available?"""
    source = FactSource.UPSTREAM_ADDON_STATES if facts.is_upstreams else FactSource.ADDON_STATES
    addons = sorted(facts.of(source), key=namespace_of)
    for addon in addons:
        yield from _agent(facts, addon)
    yield ok(f"{plural(len(addons), 'agent')}, all Available")


def _agent(facts: DoctorFacts, addon: HubObject) -> Iterator[DoctorFinding]:
    cluster = namespace_of(addon)
    # These come first, because an agent that was not installed cannot become Available.
    for kind in ("RegistrationApplied", "ManifestApplied"):
        applied = condition(addon, kind) or {}
        if applied.get("status") == "False":
            yield error(
                f"agent of {cluster}: {kind} is False: {applied.get('reason')}:"
                f" {applied.get('message')}",
                facts.command(
                    "-n",
                    cluster,
                    "describe",
                    "managedclusteraddon",
                    addon_of(facts.inputs.mode),
                ),
                subject=cluster,
            )
            return
    available = condition(addon, "Available")
    describe = on_cluster(cluster, f"describe deployment {agent_deployment(facts.inputs.mode)}")
    if available is None:
        yield warning(
            f"agent of {cluster} is not Available: OCM has not reported on it yet",
            describe,
            subject=cluster,
        )
    elif available.get("status") != "True":
        reason = available.get("reason")
        yield warning(
            f"agent of {cluster} is not Available: {reason}: {available.get('message')}",
            describe,
            subject=cluster,
        )


def left_behind(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Does an agent stay on a cluster that left the inventory?

    Argo CD deletes the ManifestWork and the rights of such a cluster. It never deletes the
    ManagedClusterAddOn, because that has the ClusterManagementAddOn as its owner.
    """
    if facts.is_upstreams:
        yield ok("upstream's add-on installs the agents, and takes them away")
        return
    works = {namespace_of(work): _metadata(work) for work in facts.of(FactSource.OUR_WORKS)}
    for state in sorted(facts.of(FactSource.ADDON_STATES), key=namespace_of):
        cluster = namespace_of(state)
        addon = _metadata(state)
        yield from _deletion(facts, f"ManagedClusterAddOn {ADDON_NAME}", addon, cluster)
        work = works.get(cluster)
        if work is not None:
            yield from _deletion(facts, f"ManifestWork {WORK_NAME}", work, cluster)
        # Argo CD applies the two in one sync, but a cluster that just joined may be in between.
        elif not addon.deleting and facts.inputs.now.timestamp() - addon.created >= LATE.seconds:
            delete = facts.command("-n", cluster, "delete", "managedclusteraddon", ADDON_NAME)
            yield warning(
                f"{cluster} left the inventory, and the ManagedClusterAddOn {ADDON_NAME} is still"
                " there: Argo CD never deletes it, because OCM owns it, and the agent runs without"
                " rights and configuration",
                f"{delete}  # if it is in clusters/, look at its Application gitops-dsf-works-NN"
                " instead",
                subject=cluster,
            )
    yield ok("every agent is on a cluster of the inventory")


def _deletion(
    facts: DoctorFacts, what: str, metadata: Metadata, cluster: str
) -> Iterator[DoctorFinding]:
    """Reports a deletion that has not ended in time."""
    if metadata.deletion_timestamp is None:
        return
    # A finalizer of OCM keeps the object until the cluster has removed what is there.
    age = facts.inputs.now - metadata.deletion_timestamp
    if age >= LATE:
        yield warning(
            f"the {what} of {cluster} is still there {age_text(age.total_seconds())} after its"
            " deletion: OCM waits until the cluster answers and has removed what is there",
            on_cluster(cluster, "get pods", namespace=_KLUSTERLET_NAMESPACE),
            subject=cluster,
        )


def _metadata(hub_object: HubObject) -> Metadata:
    return msgspec.convert(hub_object["metadata"], Metadata)

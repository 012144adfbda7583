"""Checks for objects of ours that Red Hat Advanced Cluster Management's operator would remove.

According to a public fix of a demonstration of it, the operator removes objects in its own
namespace that it does not manage.
"""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.hub.names import HUB_NAMESPACE
from gitops_dsf.views.doctor.facts import DoctorFacts, FactSource
from gitops_dsf.views.doctor.finding import DoctorFinding, ok, warning
from gitops_dsf.views.doctor.objects import key_of, name_of, namespace_of

NEEDS: Final = (FactSource.MULTICLUSTERHUBS, FactSource.DELIVERY)


def hub_namespace(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Is the hub namespace one where the operator of a MultiClusterHub removes nothing of ours?"""
    # Whoever runs doctor may have named another namespace than the one that git renders.
    used = {facts.hub_namespace, *_destinations(facts)}
    operators = facts.of(FactSource.MULTICLUSTERHUBS)
    for operator in operators:
        namespace = namespace_of(operator)
        if namespace in used:
            yield warning(
                f"hubNamespace is {namespace}, the namespace of MultiClusterHub"
                f" {name_of(operator)}: its operator removes what it does not manage there",
                f"write hubNamespace: {HUB_NAMESPACE} in gitops-dsf.yaml, render and merge; create"
                " its Secrets in the new namespace",
            )
    if operators:
        names = ", ".join(map(key_of, operators))
        yield ok(f"the operator of MultiClusterHub {names} owns another namespace than ours")
    else:
        yield ok("Red Hat Advanced Cluster Management is not on the hub")


def _destinations(facts: DoctorFacts) -> Iterator[str]:
    """The hub namespace of the rendered tree, which may be another than that of the command line.

    The Applications of rendered/argocd have it as the namespace of their destination.
    """
    for application in facts.of(FactSource.DELIVERY):
        spec = application.get("spec") or {}
        yield str((spec.get("destination") or {}).get("namespace") or "")

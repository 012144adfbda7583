"""Everything in rendered/reconciler."""

from collections.abc import Iterator, Sequence

from gitops_dsf.render.monitoring import monitoring
from gitops_dsf.render.objects import Object
from gitops_dsf.render.rbac import account
from gitops_dsf.render.reconciler.deployment import workload
from gitops_dsf.render.reconciler.names import NAME
from gitops_dsf.render.reconciler.policies import policies
from gitops_dsf.render.reconciler.rights import rights
from gitops_dsf.repository.model.repository import FleetRepository


def reconciler(repository: FleetRepository, *, placement_namespaces: Sequence[str] = ()) -> Iterator[Object]:
    """`placement_namespaces` are those of ScoredPlacements outside of the Argo CD namespace.

    Disabled, the account alone is left, without rights: Argo CD never prunes a directory to nothing by
    itself, so the last objects of an empty one would stay, and the Deployment with them.
    """
    yield account(NAME, namespace=repository.spec.hub_namespace)
    if not repository.spec.reconciler.enabled:
        return
    yield from policies(repository)
    yield from rights(repository)
    yield from monitoring(repository)
    yield from workload(repository, placement_namespaces=placement_namespaces)

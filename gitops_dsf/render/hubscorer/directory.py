"""All objects of the hub scorer outside of the clusters' namespaces."""

from collections.abc import Iterator

from gitops_dsf.plan.types import Plan
from gitops_dsf.render.hubscorer.names import NAME
from gitops_dsf.render.hubscorer.policies import policies
from gitops_dsf.render.hubscorer.rights import hub_rights
from gitops_dsf.render.hubscorer.workload import workload
from gitops_dsf.render.objects import Object
from gitops_dsf.render.rbac import account


def hub_scorer(plan: Plan) -> Iterator[Object]:
    """Yields nothing if no scorer runs on the hub."""
    scoring = plan.hub_scoring
    if scoring is None:
        return
    yield account(NAME, namespace=plan.repository.spec.hub_namespace)
    yield from policies(plan)
    yield from hub_rights(plan.repository, scoring.configuration)
    yield from workload(plan.repository, scoring)

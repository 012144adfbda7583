"""rendered/platform: the objects that exist once per hub."""

from collections.abc import Iterator

from gitops_dsf.plan.types import Plan
from gitops_dsf.render import agent
from gitops_dsf.render.admission import score_policies
from gitops_dsf.render.objects import Object, Wave, filled, metadata
from gitops_dsf.render.scorers import masks, open_scorer, scorer, scoring_config
from gitops_dsf.schema import crds

KEEP = "Prune=false,Delete=false"


def platform(plan: Plan) -> Iterator[Object]:
    """Yields CRDs, hub namespace, permissions, add-on definition and the DynamicScorers."""
    spec = plan.resolved.repository.spec
    ours = spec.delivers_works
    if ours:
        yield from definitions()
    yield {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": metadata(name=spec.hub_namespace, wave=Wave.FOUNDATIONS, sync_options=KEEP),
    }
    if ours:
        yield from filled("agent-rights.yaml", namespace=spec.hub_namespace)
        yield from score_policies(plan, of_agents=True)
        yield from agent.addon(plan.resolved.repository, (work.addon for work in plan.works))
        yield masks(plan.resolved.masks, plan.resolved.repository)
    for item in plan.resolved.scorers:
        yield scorer(item, plan.resolved.repository)
    for item in plan.resolved.open_scorers:
        yield open_scorer(item, plan.resolved.repository)
    if not ours and plan.resolved.scoring_config is not None:
        yield scoring_config(plan.resolved.scoring_config, plan.resolved.repository)


def definitions() -> Iterator[Object]:
    """The CRDs. They are never pruned, because that would delete every object of their kinds."""
    for crd in crds():
        meta = crd["metadata"]
        yield {**crd, "metadata": metadata(name=meta["name"], wave=Wave.CRDS, sync_options=KEEP)}

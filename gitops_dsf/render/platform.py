"""The files of rendered/platform: objects that exist once per hub, with all defaults written."""

from collections.abc import Iterator

from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.render import agent
from gitops_dsf.render.admission import score_policies
from gitops_dsf.render.objects import Object, Wave, filled, metadata
from gitops_dsf.render.scorerlist import scorer_list
from gitops_dsf.render.scorers import masks, open_scorer, scorer, scoring_config
from gitops_dsf.schema.crd import crds

# Deleting a CRD deletes every object of its kind, and deleting the namespace every scorer in it.
KEEP = "Prune=false,Delete=false"


def platform(fleet: CheckedFleet) -> Iterator[Object]:
    """Yields CRDs, hub namespace, permissions, add-on definition, the list and DynamicScorers."""
    spec = fleet.repository.spec
    ours = spec.delivers_works
    if spec.renders_crds:
        yield from definitions()
    yield {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": metadata(name=spec.hub_namespace, wave=Wave.FOUNDATIONS, sync_options=KEEP),
    }
    # With delivery.mode UpstreamController, upstream's installation has its own add-on.
    if ours:
        yield from filled("agent-rights.yaml")
        yield from score_policies(fleet, of_agents=True)
        yield from agent.addon(fleet.repository, (work.addon for work in fleet.works))
    # The reconciler reads these in every mode.
    yield masks(fleet.masks, fleet.repository)
    yield from scorer_list(fleet)
    for effective in fleet.scorers:
        # Upstream's CRD refuses a scorer without configURL. The list has it all the same.
        if spec.renders_crds or not effective.spec.scored_by_query:
            yield scorer(effective, fleet.by_variant[effective.name], fleet.repository)
    for effective in fleet.open_scorers:
        yield open_scorer(effective, fleet.by_variant[effective.name], fleet.repository)
    if not ours and fleet.scoring_config is not None:
        yield scoring_config(fleet.scoring_config, fleet.repository)


def definitions() -> Iterator[Object]:
    """The CRDs, which Argo CD never prunes."""
    for crd in crds():
        name = crd["metadata"]["name"]
        yield {**crd, "metadata": metadata(name=name, wave=Wave.CRDS, sync_options=KEEP)}

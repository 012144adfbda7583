"""Which entries of spec.agent.rollout count on a cluster, and the agent's settings with them."""

from collections.abc import Mapping, Sequence

from gitops_dsf.repository.model.repository import Agent, Resources, RolloutResources


def entries_of(agent: Agent, labels: Mapping[str, str]) -> tuple[int, ...]:
    """Indexes of the entries that count on a cluster, sorted; none if they say what holds for all clusters
    anyway.

    Each field is taken from the first entry that selects the cluster and has it, so that the rollout of an
    image does not undo what another entry says about nodes.
    """
    found: dict[str, int] = {}
    for index, entry in enumerate(agent.rollout):
        missing = entry.changed.keys() - found.keys()
        if missing and entry.cluster_selector.matches(dict(labels)):
            found |= dict.fromkeys(missing, index)
    entries = tuple(sorted(set(found.values())))
    return entries if settings_with(agent, entries) != agent else ()


def settings_with(agent: Agent, entries: Sequence[int]) -> Agent:
    """The settings of clusters on which these entries count."""
    if not entries:
        return agent
    changes = {}
    for index in reversed(entries):
        changes.update(agent.rollout[index].changed)
    resources = changes.get("resources")
    if isinstance(resources, RolloutResources):
        changes["resources"] = Resources(
            requests=agent.resources.requests if resources.requests is None else resources.requests,
            limits=agent.resources.limits if resources.limits is None else resources.limits,
        )
    return agent.model_copy(update=changes)

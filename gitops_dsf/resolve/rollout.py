"""Entries of spec.agent.rollout that count on a cluster, and the agent's settings with them."""

from collections.abc import Mapping, Sequence

from gitops_dsf.repository.model.agent import Agent, RolloutResources


def entries_of(agent: Agent, labels: Mapping[str, str]) -> tuple[int, ...]:
    """Indexes of the entries that count on a cluster with these labels, sorted.

    Each field is taken from the first entry that selects the cluster and has it, so that the
    rollout of an image does not undo what another entry says about nodes. Empty if the entries
    change nothing.
    """
    by_field: dict[str, int] = {}
    for index, entry in enumerate(agent.rollout):
        new_fields = entry.changed.keys() - by_field.keys()
        if new_fields and entry.cluster_selector.matches(dict(labels)):
            by_field |= dict.fromkeys(new_fields, index)
    # An entry that writes what is there anyway would only give the cluster a configuration of its
    # own with the same content.
    entries = tuple(sorted(set(by_field.values())))
    return entries if settings_with(agent, entries) != agent else ()


def settings_with(agent: Agent, entries: Sequence[int]) -> Agent:
    """The settings of clusters on which these entries count."""
    if not entries:
        return agent
    changes = {}
    for index in reversed(entries):  # the first entry with a field counts, so it is written last
        changes.update(agent.rollout[index].changed)
    # An entry may name the memory alone. What it leaves out stays as it is for all clusters.
    resources = changes.get("resources")
    if isinstance(resources, RolloutResources):
        values = resources.model_dump(by_alias=False, exclude_none=True)
        changes["resources"] = agent.resources.model_copy(update=values)
    return agent.model_copy(update=changes)

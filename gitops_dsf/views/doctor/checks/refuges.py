"""Checks where paced applications go when their cluster fails."""

from collections.abc import Collection, Iterator

import msgspec

from gitops_dsf.hub.decisions import decided
from gitops_dsf.hub.names import POD_LABEL
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.pace import paced_ranking
from gitops_dsf.pacing.refuges import published_refuges
from gitops_dsf.views.doctor.facts import Facts
from gitops_dsf.views.doctor.finding import Finding, ok, warning
from gitops_dsf.wording import plural


def planned(facts: Facts) -> Iterator[Finding]:
    """Does every paced application have a refuge?"""
    wanting = [item for item in facts.inputs.placements if _wants_refuge(item)]
    refuges = published_refuges(facts.inputs.snapshot.scores)
    decisions = decided(facts.inputs.snapshot.decisions)
    count = 0
    for item in wanting:
        clusters = decisions.get((item.metadata.namespace or "", item.metadata.name), ())
        if not clusters:
            continue
        count += 1
        if refuges.get(item.key) in {None, *clusters}:
            yield _without(facts, item, clusters)
    yield ok(f"{plural(count, 'application')} with a refuge" if count else "no refuges are planned")


def _wants_refuge(item: Placement) -> bool:
    try:
        ranking = paced_ranking(item)
    except msgspec.DecodeError:
        return False  # the Placement is not paced
    return ranking is not None and ranking.refuges


def _without(facts: Facts, item: Placement, clusters: Collection[str]) -> Finding:
    what = f"{item.key} has no refuge"
    others = set(facts.overview.eligible.get(item.key, ())) - set(clusters)
    if not others:
        return warning(
            f"{what}: no cluster besides its own is eligible",
            f"gitops-dsf status --placement {item.key}  # then widen its clusterSelector or clusterSets",
        )
    logs = facts.command("-n", facts.hub_namespace, "logs", "-l", POD_LABEL)
    return warning(
        f"{what}: if its cluster fails, OCM chooses by the scores alone",
        f"{logs}  # it plans a refuge within a minute of a decision",
    )

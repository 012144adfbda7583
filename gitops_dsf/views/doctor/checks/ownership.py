"""Checks the owners of scores: each needs a scorer and an agent of ours, and no other writer."""

from collections.abc import Iterator
from typing import NamedTuple

from dsf_wire.constants import SCORE_PLURAL
from gitops_dsf.hub.score_states import ScoreState
from gitops_dsf.views.doctor.checks.scorers import find_scorers
from gitops_dsf.views.doctor.facts import MAX_COMMANDS, DoctorFacts
from gitops_dsf.views.doctor.finding import DoctorFinding, error, ok, unknown, warning
from gitops_dsf.views.status.scores import ScorerView
from gitops_dsf.wording import names_text, plural


class _ScoreKey(NamedTuple):
    """An AddOnPlacementScore: its namespace is the cluster."""

    cluster: str
    name: str

    def __str__(self) -> str:
        return f"{self.cluster}/{self.name}"


def ownership(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Is there a score that nobody keeps up, or that somebody else writes?"""
    if not facts.inputs.scorers and facts.inputs.unowned:
        # The scorers are probably in another --hub-namespace. Do not suggest deleting their scores.
        yield unknown(
            f"{plural(len(facts.inputs.unowned), 'score')} of our agents, and namespace"
            f" {facts.hub_namespace} has no DynamicScorer that could own them",
            find_scorers(facts),
        )
        return
    if facts.is_upstreams:
        yield from _left(facts)
        yield from _unowned(facts)
        yield from _unexpected(facts)
        yield ok("every score has a scorer and an agent of upstream's")
        return
    yield from _contested(facts)
    yield from _unowned(facts)
    yield from _unexpected(facts)
    yield from _foreign(facts)
    yield ok("every score of ours has a scorer and an agent, and no other writer")


def _left(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Scores that our agents left where upstream's publish now."""
    others = {_ScoreKey(cluster, name) for cluster, name in facts.inputs.foreign}
    for view in facts.overview.scorers:
        name = view.scorer.resource
        clusters = [
            cluster for cluster in sorted(view.published) if _ScoreKey(cluster, name) not in others
        ]
        if clusters:
            yield warning(
                f"AddOnPlacementScore {name} is of our agent on {names_text(clusters)}: upstream's"
                " agent does not renew its validUntil, so it expires and counts as 0",
                facts.in_each(clusters[:MAX_COMMANDS], "delete", SCORE_PLURAL, name),
            )


def _contested(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    for cluster, name, manager in facts.inputs.contested:
        yield error(
            f"AddOnPlacementScore {cluster}/{name} is written by our agent and by {manager}: while"
            " both run, ours reports conflict and its scores are not published",
            f"{_show(facts, cluster, name)}  # then stop {manager} on {cluster}",
            subject=cluster,
        )


def _unowned(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    views = {view.scorer.resource: view for view in facts.overview.scorers}
    orphans = {_ScoreKey(*pair) for pair in facts.inputs.unowned}
    for name, view in views.items():
        # A scorer on the hub needs no agent: one program scores all clusters.
        keepers = facts.inputs.snapshot.clusters if view.scorer.on_hub else facts.inputs.addons
        empty = view.unusual.get(ScoreState.EMPTY, ())
        # An object without items ranks nothing: OCM counts it as 0, as if it were not there.
        for cluster in view.published.keys() - keepers.keys() - set(empty):
            orphans.add(_ScoreKey(cluster, name))
    for key in sorted(orphans - _written_by_others(facts)):
        yield warning(
            _unowned_message(key, views.get(key.name)),
            facts.command("-n", key.cluster, "delete", SCORE_PLURAL, key.name),
            subject=key.cluster,
        )


def _unowned_message(key: _ScoreKey, view: ScorerView | None) -> str:
    if view is None:
        return (
            f"AddOnPlacementScore {key} has no owner: no scorer has that name; Placements may still"
            " rank by it"
        )
    if view.scorer.on_hub:
        return (
            f"AddOnPlacementScore {key} has no owner: there is no such cluster; Placements may"
            " still rank by it"
        )
    return (
        f"AddOnPlacementScore {key} has no owner: no agent is on that cluster; Placements may still"
        " rank by it"
    )


def _unexpected(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Scores on clusters where their scorer should not run.

    Those without an owner are reported above.
    """
    others = _written_by_others(facts)
    for view in facts.overview.scorers:
        scorer = view.scorer
        clusters: list[str] = []
        for name in view.unexpected:
            has_keeper = scorer.on_hub or name in facts.inputs.addons
            if has_keeper and _ScoreKey(name, scorer.resource) not in others:
                clusters.append(name)
        if not clusters:
            continue
        # OCM counts such a score like any other, so the mask or the suspension has no effect.
        fix = facts.in_each(clusters[:MAX_COMMANDS], "delete", SCORE_PLURAL, scorer.resource)
        names = names_text(clusters)
        if scorer.spec.suspend:
            yield warning(
                f"{scorer.name} is suspended, and its score is still there on {names}", fix
            )
        else:
            yield warning(
                f"{scorer.name} is excluded by selector or mask, and its score is still there on"
                f" {names}",
                fix,
            )


def _foreign(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Scores that another program writes.

    Our agent reports the conflict and waits until it stops.
    """
    for cluster, name in facts.inputs.foreign:
        yield warning(
            f"AddOnPlacementScore {cluster}/{name} has a scorer's name and was not written by our"
            " agent",
            f"{_show(facts, cluster, name)}  # who writes it?",
            subject=cluster,
        )


def _show(facts: DoctorFacts, cluster: str, name: str) -> str:
    return facts.command(
        "-n", cluster, "get", SCORE_PLURAL, name, "-o", "yaml", "--show-managed-fields"
    )


def _written_by_others(facts: DoctorFacts) -> set[_ScoreKey]:
    """Scores that another program owns. Where upstream's agents publish them, all are wanted."""
    keys = set[_ScoreKey]()
    if facts.is_upstreams:
        return keys
    for cluster, name in facts.inputs.foreign:
        keys.add(_ScoreKey(cluster, name))
    for cluster, name, _ in facts.inputs.contested:
        keys.add(_ScoreKey(cluster, name))
    return keys

"""Checks scorers, and whether their scores are there and valid.

It reads the list of scorers, the status of each, and all published scores. A reason that an agent
gives is reported in its words, and only scores without a reason are judged: many expired ones on
one cluster point to its agent, one that is missing everywhere to the scorer.

Guaranteed: a missing score is no problem while its scorer, cluster or agent is new, and none is
called missing while the masks could not be read. Suspended scorers are not judged.

Not guaranteed: the cause. Only the hub is read, so no metric source or scoring API is asked, and a
scorer that publishes wrong values passes.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dsf_wire.constants import SCORE_PLURAL
from gitops_dsf.hub.delivery import agent_deployment
from gitops_dsf.hub.names import HUB_SCORER
from gitops_dsf.hub.score_states import DEAD, ScoreState
from gitops_dsf.hub.times import age_text
from gitops_dsf.hub.unread import Why
from gitops_dsf.views.doctor.facts import RIGHTS, DoctorFacts, on_cluster
from gitops_dsf.views.doctor.finding import DoctorFinding, error, ok, unknown, warning
from gitops_dsf.views.status.inputs import HubPart
from gitops_dsf.views.status.scores import ScorerView
from gitops_dsf.wording import names_text, plural


def scorers(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Do scoring APIs answer, do /config pages say what was accepted, do queries give series?"""
    views = facts.overview.scorers
    if not views:
        yield warning(
            f"there is no DynamicScorer in namespace {facts.hub_namespace}",
            f"write a scorer, render and merge it; if you have one: {find_scorers(facts)}",
        )
        return
    for view in views:
        yield from _scorer(facts, view)
    yield ok(
        _all_scorers(views, by="upstream's controller" if facts.is_upstreams else "the reconciler")
    )


def scorer_list(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Does the hub have the whole list of scorers that the reconciler reads?"""
    unread = facts.missing(HubPart.SCORER_LIST)
    if unread is not None and unread.why is Why.FAILED:
        yield error(
            f"the reconciler keeps the scorers that it knows, or waits: {unread.detail}",
            f"{facts.in_argocd('get', 'application', 'gitops-dsf-platform')}  # it must be Synced",
        )
        return
    if unread is not None:
        yield unknown(str(unread), RIGHTS)
        return
    unlisted = facts.inputs.unlisted_scorers
    if unlisted and facts.is_upstreams:
        yield warning(
            f"the reconciler does not know {plural(len(unlisted), 'DynamicScorer')} that upstream's"
            f" controller runs: {names_text(unlisted)}: git does not have it, or only its /config"
            " says what it is",
            f"gitops-dsf sync --scorer {unlisted[0]}  # in the fleet repository; if git does not"
            " have it: gitops-dsf import",
        )
    elif unlisted:
        delete = facts.on_hub("delete", "dynamicscorer", *unlisted)
        yield warning(
            f"nothing runs {plural(len(unlisted), 'DynamicScorer')} of the hub, because git does"
            f" not have it: {names_text(unlisted)}",
            f"gitops-dsf import, or {delete}",
        )
    yield ok(f"the list has {plural(len(facts.inputs.scorers), 'scorer')}")


def _all_scorers(views: Sequence[ScorerView], *, by: str) -> str:
    without_api = 0
    probed = 0
    inactive = 0
    for view in views:
        inactive += view.scorer.health == "Inactive"
        # Without an API there is nothing to probe; its health says whether there are scores.
        if view.scorer.scored_by_query:
            without_api += 1
        else:
            probed += bool(view.scorer.health)
    parts = [plural(len(views), "scorer")]
    if without_api:
        parts[0] += f" ({without_api} without a scoring API)"
    parts.append(f"{probed} of them probed by {by}")
    parts.append(f"{inactive} Inactive: see scores-fresh" if inactive else "nothing wrong")
    return ", ".join(parts)


def find_scorers(facts: DoctorFacts) -> str:
    """A command for users who may have named the wrong namespace."""
    everywhere = facts.command("get", "dynamicscorers", "--all-namespaces")
    return f"{everywhere}  # then --hub-namespace NAME"


def _scorer(facts: DoctorFacts, view: ScorerView) -> Iterator[DoctorFinding]:
    name = view.scorer.name
    describe = facts.on_hub("describe", "dynamicscorer", name)
    healthy = view.scorer.condition("Healthy")
    synced = view.scorer.condition("ConfigSynced")
    if facts.is_upstreams:
        yield from _by_both(view, describe)
    # Only the hub asks: agents may reach an API that the hub does not, so this is not an error.
    elif view.scorer.health == "Inactive" and not view.scorer.scored_by_query:
        yield warning(
            f"the scoring API of {name} does not answer: {healthy.reason}: {healthy.message}",
            describe,
        )
    if synced.status == "False":
        fix = describe
        if synced.reason == "Drifted":
            fix = (
                f"gitops-dsf sync --scorer {name}"
                "  # in the fleet repository; then review the lock and merge"
            )
        yield warning(f"/config of {name}: {synced.reason}: {synced.message}", fix)
    # Some clusters may have no series for a good reason. If none has any, the query is wrong.
    if view.at_default and view.at_default == view.histogram.total():
        yield warning(
            f"every score of {name} is its defaultScore {view.scorer.spec.default_score}: its"
            " query gives no series on any cluster",
            f"{describe}  # then try its query at the metric source of a cluster",
        )


def _by_both(view: ScorerView, describe: str) -> Iterator[DoctorFinding]:
    """Upstream's controller stops a scorer that it cannot reach. The reconciler probes, too."""
    name = view.scorer.name
    healthy = view.scorer.condition("Healthy")
    if view.scorer.health == "Inactive":
        probed = f"{healthy.reason}: {healthy.message}" if healthy.reason else "not probed"
        yield warning(
            f"upstream's controller calls {name} Inactive, so no agent runs it, and its last scores"
            f" stay; the reconciler says {probed}",
            describe,
        )
    elif healthy.status == "False":
        yield warning(
            f"the scoring API of {name} does not answer the reconciler: {healthy.reason}:"
            f" {healthy.message}",
            describe,
        )


@dataclass(frozen=True, kw_only=True)
class _FreshnessTally:
    """The counts of `freshness` over all scorers."""

    published: list[str] = field(default_factory=list)
    """The cluster of each score that is there."""
    waiting: list[str] = field(default_factory=list)
    """The cluster of each score whose scorer, cluster or agent is new."""
    expected: Counter[str] = field(default_factory=Counter)
    """Scores that agents should publish, by cluster."""
    expired: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Scorers by cluster."""
    missing: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Scorers by cluster."""


def freshness(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Are scores there and valid wherever a scorer should run?"""
    tally = _FreshnessTally()
    on_hub: list[DoctorFinding] = []
    unread_masks = facts.missing(HubPart.MASKS)
    unclear = 0
    for view in facts.overview.scorers:
        if view.suspended:
            continue
        tally.published.extend(view.expected.intersection(view.published))
        # If an agent explains a missing score, no cause is guessed below.
        explained = view.failures.keys() & view.expected
        yield from _explained(facts, view)
        waiting = view.unusual.get(ScoreState.WAITING, ())
        tally.waiting.extend(name for name in waiting if name not in explained)
        expired = [name for name in _expired(view) if name not in explained]
        missing = view.unusual.get(ScoreState.MISSING, [])
        missing = [name for name in missing if name not in explained]
        if unread_masks is not None:
            # Without the masks, a missing score cannot be distinguished from a masked one.
            unclear += len(missing)
            missing = []
        if view.scorer.on_hub:
            on_hub += _on_hub(facts, view.scorer.name, {"expired": expired, "missing": missing})
        elif _is_nowhere(facts, view, [*expired, *missing]):
            yield _nowhere(facts, view)
        else:
            tally.expected.update(view.expected)
            for cluster in expired:
                tally.expired[cluster].append(view.scorer.name)
            for cluster in missing:
                tally.missing[cluster].append(view.scorer.name)
    yield from _by_cluster(facts, tally.expired, tally.expected, "expired")
    yield from _by_cluster(facts, tally.missing, tally.expected, "missing")
    yield from on_hub
    if unclear:
        yield unknown(f"{plural(unclear, 'score')} missing or masked: {unread_masks}")
    yield from _there(facts, tally)


def _there(facts: DoctorFacts, tally: _FreshnessTally) -> Iterator[DoctorFinding]:
    """Scores that may still come, and those that count."""
    if tally.waiting:
        yield _waiting(tally)
    if tally.published and facts.is_upstreams:
        yield ok(
            f"{_scores_on(tally.published)}, all there; how old they are is not known, because"
            " upstream's agent writes no validUntil"
        )
    elif tally.published:
        yield ok(f"{_scores_on(tally.published)}, all there and valid")
    else:
        yield ok("no cluster should have a score")


def _explained(facts: DoctorFacts, view: ScorerView) -> Iterator[DoctorFinding]:
    """Clusters without new scores, by the agents' own reasons: one finding for each reason."""
    name = view.scorer.name
    now = facts.inputs.now.timestamp()
    for group in view.failing:
        clusters = plural(len(group.clusters), "cluster")
        names = names_text(group.clusters)
        since = "" if group.since is None else f" for {age_text(now - group.since)}"
        yield warning(
            f"{name} gives no scores on {clusters} ({names}){since}: {group.reason}:"
            f" {group.message}",
            f"gitops-dsf status --scorer {name} --all  # has the message of each cluster",
            # The subject is the first cluster, so that many such findings are counted and not
            # listed.
            subject=group.clusters[0],
        )


def _expired(view: ScorerView) -> list[str]:
    """The clusters that should have a score, and have one that no longer counts."""
    expired = []
    for state in DEAD:
        expired += [name for name in view.unusual.get(state, ()) if name in view.expected]
    return expired


def _is_nowhere(facts: DoctorFacts, view: ScorerView, lacking: Sequence[str]) -> bool:
    """Whether the scorer itself is the cause.

    Then its score is missing everywhere, and agents there publish others.
    """
    # On one cluster alone, the agent is as likely the cause.
    if len(view.expected) < 2 or not view.expected <= set(lacking):
        return False
    for other in facts.overview.scorers:
        if other is view:
            continue
        published = (view.expected & other.expected).intersection(other.published)
        for state in DEAD:
            published = published.difference(other.unusual.get(state, ()))
        if published:
            return True
    return False


def _nowhere(facts: DoctorFacts, view: ScorerView) -> DoctorFinding:
    name = view.scorer.name
    clusters = plural(len(view.expected), "cluster")
    describe = facts.on_hub("describe", "dynamicscorer", name)
    return warning(
        f"{name} has no score on any of {clusters}, and counts as 0 everywhere, although the"
        " agents there publish other scores",
        f"{describe}  # then its query or its API",
    )


def _waiting(tally: _FreshnessTally) -> DoctorFinding:
    again = "gitops-dsf doctor  # again in a few minutes"
    waiting = _scores_on(tally.waiting)
    if tally.published:
        published = _scores_on(tally.published)
        return unknown(
            f"{waiting} not published yet: the scorer, the cluster or its agent is new;"
            f" {published} are there",
            again,
        )
    return unknown(
        f"{waiting} not published yet: the scorer, the cluster or its agent is new", again
    )


def _scores_on(clusters: Sequence[str]) -> str:
    return f"{plural(len(clusters), 'score')} on {plural(len(set(clusters)), 'cluster')}"


def _on_hub(
    facts: DoctorFacts, scorer: str, clusters_by_state: Mapping[str, Sequence[str]]
) -> Iterator[DoctorFinding]:
    """A scorer on the hub: one process and one query for all clusters."""
    for state, clusters in clusters_by_state.items():
        if clusters:
            names = names_text(sorted(clusters))
            yield warning(
                f"{scorer}, which runs on the hub: {state} on {names}, and counts as 0: the hub"
                " scorer is down, or its source has no series of them",
                facts.on_hub("logs", f"deployment/{HUB_SCORER}"),
            )


def _not_renewed(
    facts: DoctorFacts, scorers_by_cluster: Mapping[str, Sequence[str]]
) -> Iterator[DoctorFinding]:
    """Upstream's agent replaces the items of a score, and leaves a validUntil of ours."""
    resources = {view.scorer.name: view.scorer.resource for view in facts.overview.scorers}
    for cluster, names in sorted(scorers_by_cluster.items()):
        scores = sorted(resources[name] for name in names)
        yield warning(
            f"{cluster}: expired: {names_text(names)}, and counts as 0: upstream's agent does not"
            " renew the validUntil that our agent wrote",
            facts.command("-n", cluster, "delete", SCORE_PLURAL, *scores),
            subject=cluster,
        )


def _by_cluster(
    facts: DoctorFacts,
    scorers_by_cluster: Mapping[str, Sequence[str]],
    expected: Counter[str],
    state: str,
) -> Iterator[DoctorFinding]:
    """One finding for each cluster.

    If all of its scores expired at once, its agent is the likely cause.
    """
    if state == "expired" and facts.is_upstreams:
        yield from _not_renewed(facts, scorers_by_cluster)
        return
    for cluster, names in sorted(scorers_by_cluster.items()):
        logs = on_cluster(cluster, f"logs deployment/{agent_deployment(facts.inputs.mode)}")
        is_every = len(names) == expected[cluster]
        # One expired score alone is more likely the fault of its scorer than of the agent.
        if is_every and len(names) > 1:
            text = f"every score of {cluster} is {state}, and counts as 0"
        else:
            text = f"{cluster}: {state}: {names_text(names)}, and counts as 0"
        clauses = [text]
        if is_every and state == "expired":
            clauses.append("its agent is down, or cannot reach the hub")
        yield warning(": ".join(clauses), logs, subject=cluster)

"""Checks scorers and scores: published, fresh, owned, written by one program; and tokens of agents."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from dsf_wire.constants import SCORE_PLURAL
from gitops_dsf.hub.names import HUB_SCORER
from gitops_dsf.hub.scores import DEAD, State
from gitops_dsf.views.doctor.facts import Facts, Finding, error, ok, on_cluster, unknown, warning
from gitops_dsf.views.status.inputs import Part
from gitops_dsf.views.status.scores import ScorerView
from gitops_dsf.wording import names_text, plural


def scorers(facts: Facts) -> Iterator[Finding]:
    """Do scoring APIs answer, do their /config pages say what was accepted, and do queries give series?"""
    views = facts.overview.scorers
    if not views:
        fix = f"write a scorer, render and merge it; if you have one: {_look(facts)}"
        yield warning(f"there is no DynamicScorer in namespace {facts.hub_namespace}", fix)
        return
    for view in views:
        name = view.scorer.name
        describe = facts.on_hub("describe", "dynamicscorer", name)
        healthy, synced = view.scorer.condition("Healthy"), view.scorer.condition("ConfigSynced")
        if view.scorer.health == "Inactive" and not view.scorer.scored_by_query:
            why = f"{healthy.reason}: {healthy.message}"
            yield warning(f"the scoring API of {name} does not answer: {why}", describe)
        if synced.status == "False":
            sync = f"gitops-dsf sync --scorer {name}  # in the fleet repository"
            fix = (
                f"{sync}; then review the lock and merge"
                if synced.reason == "Drifted"
                else describe
            )
            yield warning(f"/config of {name}: {synced.reason}: {synced.message}", fix)
        if view.at_default and view.at_default == view.histogram.total():
            what = f"every score of {name} is its defaultScore {view.scorer.spec.default_score}"
            fix = f"{describe}  # then try its query at the metric source of a cluster"
            yield warning(f"{what}: its query gives no series on any cluster", fix)
    apis = [view for view in views if not view.scorer.scored_by_query]
    looked = sum(bool(view.scorer.health) for view in apis)
    without = f" ({len(views) - len(apis)} without a scoring API)" if len(apis) < len(views) else ""
    found = f"{plural(len(views), 'scorer')}{without}, {looked} of them probed by the reconciler"
    inactive = sum(view.scorer.health == "Inactive" for view in views)
    yield ok(
        f"{found}, {f'{inactive} Inactive: see scores-fresh' if inactive else 'nothing wrong'}"
    )


def freshness(facts: Facts) -> Iterator[Finding]:
    """Are scores there and valid wherever a scorer should run?"""
    stale, missing = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    expected, on_hub = Counter[str](), list[Finding]()
    there, waiting = list[str](), list[str]()
    no_masks = facts.missing(Part.MASKS)
    unclear = 0
    for view in facts.overview.scorers:
        if view.suspended:
            continue
        there += view.expected.intersection(view.published)
        waiting += view.unusual.get(State.WAITING, ())
        dead = [
            name for state in DEAD for name in view.unusual.get(state, ()) if name in view.expected
        ]
        absent = view.unusual.get(State.MISSING, [])
        if no_masks is not None:
            unclear += len(absent)
            absent = []
        if view.scorer.on_hub:
            on_hub += _on_hub(facts, view.scorer.name, {"expired": dead, "missing": absent})
            continue
        if _is_nowhere(facts, view, [*dead, *absent]):
            what = (
                f"{view.scorer.name} has no score on any of {plural(len(view.expected), 'cluster')}"
            )
            why = "the agents there publish other scores"
            fix = facts.on_hub("describe", "dynamicscorer", view.scorer.name)
            yield warning(
                f"{what}, and counts as 0 everywhere, although {why}",
                f"{fix}  # then its query or its API",
            )
            continue
        expected.update(view.expected)
        for cluster in dead:
            stale[cluster].append(view.scorer.name)
        for cluster in absent:
            missing[cluster].append(view.scorer.name)
    yield from _by_cluster(stale, expected, "expired")
    yield from _by_cluster(missing, expected, "missing")
    yield from on_hub
    if unclear:
        yield unknown(f"{plural(unclear, 'score')} missing or masked: {no_masks}")
    if waiting:
        others = f"; {_scores_on(there)} are there" if there else ""
        yield unknown(
            f"{_scores_on(waiting)} not published yet: the scorer, the cluster or its agent is new{others}",
            "gitops-dsf doctor  # again in a few minutes",
        )
    yield ok(
        f"{_scores_on(there)}, all there and valid" if there else "no cluster should have a score"
    )


def _is_nowhere(facts: Facts, view: ScorerView, lacking: Sequence[str]) -> bool:
    """Whether the scorer itself is the cause: its score is missing everywhere, and others are there."""
    if len(view.expected) < 2 or not view.expected <= set(lacking):
        return False
    for other in facts.overview.scorers:
        dead = {name for state in DEAD for name in other.unusual.get(state, ())}
        if (
            other is not view
            and (view.expected & other.expected).intersection(other.published) - dead
        ):
            return True
    return False


def _scores_on(clusters: Sequence[str]) -> str:
    return f"{plural(len(clusters), 'score')} on {plural(len(set(clusters)), 'cluster')}"


def _on_hub(facts: Facts, scorer: str, found: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """A scorer on the hub: one process and one query for all clusters."""
    for what, clusters in found.items():
        if clusters:
            where = names_text(sorted(clusters))
            told = f"{scorer}, which runs on the hub: {what} on {where}, and counts as 0"
            fix = facts.on_hub("logs", f"deployment/{HUB_SCORER}")
            yield warning(
                f"{told}: the hub scorer is down, or its source has no series of them", fix
            )


def _by_cluster(
    found: dict[str, list[str]], expected: Counter[str], what: str
) -> Iterator[Finding]:
    for cluster, names in sorted(found.items()):
        every = len(names) == expected[cluster]
        shown = f"{cluster}: {what}: {names_text(names)}"
        if every and len(names) > 1:
            shown = f"every score of {cluster} is {what}"
        hint = ": its agent is down, or cannot reach the hub" if every and what == "expired" else ""
        fix = on_cluster(cluster, "logs deployment/gitops-dsf-agent")
        yield warning(f"{shown}, and counts as 0{hint}", fix, subject=cluster)


def ownership(facts: Facts) -> Iterator[Finding]:
    """Is there a score that nobody keeps up, or that somebody else writes?"""
    if not facts.inputs.scorers and facts.inputs.unowned:
        # The scorers are probably in another --hub-namespace. Do not suggest deleting their scores.
        scores = f"{plural(len(facts.inputs.unowned), 'score')} of our agents"
        none = f"no DynamicScorer in namespace {facts.hub_namespace} to tell whose they are"
        yield unknown(f"{scores}, and {none}", _look(facts))
        return
    yield from _contested(facts)
    yield from _unowned(facts)
    yield from _unexpected(facts)
    yield from _foreign(facts)
    yield ok("every score of ours has a scorer and an agent, and no other writer")


def _look(facts: Facts) -> str:
    return (
        f"{facts.command('get', 'dynamicscorers', '--all-namespaces')}  # then --hub-namespace NAME"
    )


def _unowned(facts: Facts) -> Iterator[Finding]:
    orphans = set(facts.inputs.unowned)
    resources = {view.scorer.resource: view for view in facts.overview.scorers}
    for name, view in resources.items():
        kept = facts.inputs.snapshot.clusters if view.scorer.on_hub else facts.inputs.addons
        empty = view.unusual.get(State.EMPTY, ())
        orphans |= {(each, name) for each in view.published.keys() - kept.keys() - set(empty)}
    for cluster, name in sorted(orphans - _written_by_others(facts)):
        why = "no agent is on that cluster" if name in resources else "no scorer has that name"
        if name in resources and resources[name].scorer.on_hub:
            why = "there is no such cluster"
        what = f"AddOnPlacementScore {cluster}/{name} has no owner: {why}"
        fix = facts.command("-n", cluster, "delete", SCORE_PLURAL, name)
        yield warning(f"{what}; Placements may still rank by it", fix, subject=cluster)


def _unexpected(facts: Facts) -> Iterator[Finding]:
    others = _written_by_others(facts)
    for view in facts.overview.scorers:
        clusters = [
            name
            for name in view.unexpected
            if (view.scorer.on_hub or name in facts.inputs.addons)
            and (name, view.scorer.resource) not in others
        ]
        if clusters:
            delete = ("delete", SCORE_PLURAL, view.scorer.resource)
            fix = " && ".join(facts.command("-n", cluster, *delete) for cluster in clusters[:5])
            why = "suspended" if view.scorer.spec.suspend else "excluded by selector or mask"
            still = f"its score is still there on {names_text(clusters)}"
            yield warning(f"{view.scorer.name} is {why}, and {still}", fix)


def _foreign(facts: Facts) -> Iterator[Finding]:
    """Scores that another program writes. Our agent reports the conflict and waits until it stops."""
    for cluster, name in facts.inputs.foreign:
        what = f"AddOnPlacementScore {cluster}/{name} has a scorer's name and was not written by our agent"
        yield warning(what, f"{_show(facts, cluster, name)}  # who writes it?", subject=cluster)


def _contested(facts: Facts) -> Iterator[Finding]:
    for cluster, name, manager in facts.inputs.contested:
        fix = f"{_show(facts, cluster, name)}  # then stop {manager} on {cluster}"
        what = f"AddOnPlacementScore {cluster}/{name} is written by our agent and by {manager}"
        why = "while both run, ours reports conflict and its scores are not published"
        yield error(f"{what}: {why}", fix, subject=cluster)


def _show(facts: Facts, cluster: str, name: str) -> str:
    return facts.command(
        "-n", cluster, "get", SCORE_PLURAL, name, "-o", "yaml", "--show-managed-fields"
    )


def _written_by_others(facts: Facts) -> set[tuple[str, str]]:
    """(cluster, name) of scores that another program owns."""
    return {
        *facts.inputs.foreign,
        *((cluster, name) for cluster, name, _ in facts.inputs.contested),
    }


def tokens(facts: Facts) -> Iterator[Finding]:
    """Is a score missing whose scorer needs a token Secret, which only the cluster itself can show?"""
    needing = [
        view for view in facts.overview.scorers if view.scorer.secrets and not view.suspended
    ]
    # Without the masks, a missing score cannot be told from a masked one.
    gone = DEAD | ({State.MISSING} if facts.missing(Part.MASKS) is None else set())
    for view in needing:
        absent = sorted(
            name for state in gone for name in view.unusual.get(state, ()) if name in view.expected
        )
        if view.scorer.on_hub:
            # Its Secrets are on the hub, but doctor has no right to read Secrets there.
            if absent:
                names = view.scorer.secrets
                what = f"{view.scorer.name}, which runs on the hub, has no score on {names_text(absent)}"
                needed = f"needs Secret {', '.join(names)} in namespace {facts.hub_namespace}"
                yield warning(f"{what} and {needed}", facts.on_hub("get", "secret", *names))
            continue
        by_secrets = defaultdict[tuple[str, ...], list[str]](list)
        for name in absent:
            cluster = facts.inputs.snapshot.clusters.get(name)
            secrets = view.scorer.secrets_on(cluster.labels if cluster is not None else {})
            by_secrets[secrets].append(name)
        for secrets, clusters in by_secrets.items():
            if secrets:
                what = f"{view.scorer.name} has no score on {names_text(clusters)}"
                fix = on_cluster(clusters[0], f"get secret {' '.join(secrets)}")
                yield warning(
                    f"{what} and needs Secret {', '.join(secrets)} there, which the hub cannot see",
                    fix,
                )
    known = f"{plural(len(needing), 'scorer')} with a token, and no score missing"
    scorers = known if needing else "no scorer needs a token"
    yield ok(f"{scorers}; Secrets of clusters are not visible from the hub")

"""Warnings for reviewers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter

from dsf_wire.constants import ADDON_NAME
from dsf_wire.measures import SOURCE_TYPE
from gitops_dsf.hub.names import WORK_NAME
from gitops_dsf.hub.points import mean_weight, points_needed
from gitops_dsf.hub.score_states import expired
from gitops_dsf.hub.snapshots.snapshot import HubData, Snapshot
from gitops_dsf.hub.times import age_text
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.render.argocd import BOOTSTRAP
from gitops_dsf.render.tree import paths
from gitops_dsf.render.works import WORKS
from gitops_dsf.simulator import Outcome, Verdict, explain, simulate
from gitops_dsf.simulator.scheduler import as_people_wrote
from gitops_dsf.views.preview.applied import Manifest, applied
from gitops_dsf.views.preview.credentials import credentials_of
from gitops_dsf.views.preview.hubstate import hub_state
from gitops_dsf.views.preview.moves import UNKNOWN, DecisionMove
from gitops_dsf.views.preview.paced import is_paced
from gitops_dsf.views.preview.verdictpairs import VerdictPair
from gitops_dsf.wording import names_text, plural

OLD_SECONDS = 3_600
"""Data is old after this many seconds, because scores are published every few minutes."""
HERD = 5
"""More applications than this that go to one cluster at once are a herd."""


def concerns(
    base: CheckedFleet | None,
    head: CheckedFleet,
    hub: HubData,
    *,
    found: tuple[VerdictPair, ...],
    moving: Iterable[DecisionMove],
    rescored: Mapping[str, frozenset[str]],
    rescored_percent: float,
    close_points: int,
) -> Iterator[str]:
    """Every warning about a change. `found` and `moving` are empty without a hub."""
    yield from _credential_concerns(base, head)
    yield from _right_concerns(base, head)
    yield from _receiver_concerns(base, head)
    yield from _bootstrap_concerns(base, head)
    yield from _agent_concerns(base, head, hub.snapshot)
    yield from _binding_concerns(base, head)
    yield from _fleet_concerns(rescored, head, rescored_percent)
    if hub.snapshot is None:
        yield from _filter_concerns(base, head)
    else:
        touched = [(item, item.after) for item in found if item.after is not None and item.touched]
        for item, after in touched:
            yield from _too_few(item, after)
        yield from _herd_concerns(moving, base, head)
        yield from _data_concerns(hub.snapshot, hub, head)
        # Last, because there may be one for each application, and a short preview shows the first warnings.
        for item, after in touched:
            by_scores = as_people_wrote(after)
            # Of a paced Placement that wishes to move already, the queue of moves tells.
            if item.is_decided and by_scores.chosen == after.chosen:
                yield from _close(by_scores, close_points, head.spans)


def _fleet_concerns(
    rescored: Mapping[str, frozenset[str]], head: CheckedFleet, percent: float
) -> Iterator[str]:
    by_scorer = {name: clusters & head.cluster_names for name, clusters in rescored.items()}
    touched = frozenset[str]().union(*by_scorer.values())
    total = len(head.cluster_names)
    if total and 100 * len(touched) > percent * total:
        names = ", ".join(
            f"{name} ({len(clusters)})" for name, clusters in by_scorer.items() if clusters
        )
        share = f"{len(touched)} of {total} clusters ({100 * len(touched) / total:.0f} %)"
        yield f"{share} are re-scored, more than {percent:g} %: {names}"


def _credential_concerns(base: CheckedFleet | None, head: CheckedFleet) -> Iterator[str]:
    """Warns if a host gets a Secret that it did not get before, while the Secret was already in use."""
    before, after = _receivers(base), _receivers(head)
    for secret, hosts in before.items():
        for host in sorted(after.get(secret, {}).keys() - hosts.keys()):
            name, what = after[secret][host]
            yield f"{host} gets {what} for the first time (scorer {name})"


def _receivers(fleet: CheckedFleet | None) -> dict[str, dict[str, tuple[str, str]]]:
    """For each Secret, the hosts that receive it, each with a scorer that sends it and what it sends."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for name, item in (fleet.scorer_by_name if fleet else {}).items():
        for one in credentials_of(item, fleet):
            if one.secret:
                found.setdefault(one.secret, {}).setdefault(one.host, (name, one.what))
    return found


def _right_concerns(base: CheckedFleet | None, head: CheckedFleet) -> Iterator[str]:
    """Warns if agents may read nodes and pods that they could not read before, without clusters that join."""
    if base is None:
        return
    before, after = _counting(base), _counting(head)
    gained = {name: after[name] for name in (after.keys() - before.keys()) & base.cluster_names}
    if gained:
        names = sorted(gained)
        what = f"the agents of {plural(len(names), 'cluster')} may read all nodes and pods for the first time"
        yield f"{what} (scorer {gained[names[0]]}): {names_text(names)}"


def _counting(fleet: CheckedFleet) -> dict[str, str]:
    """The clusters whose agent reads nodes and pods, each with a scorer that needs it."""
    found: dict[str, str] = {}
    for name, item in fleet.scorer_by_name.items():
        if any(form.source_type == SOURCE_TYPE for form in fleet.by_variant[name]):
            for cluster in fleet.runs_on.get(name, frozenset()):
                if fleet.on_cluster(item, cluster).source_type == SOURCE_TYPE:
                    found.setdefault(cluster, name)
    return found


def _receiver_concerns(base: CheckedFleet | None, head: CheckedFleet) -> Iterator[str]:
    """Warns if other pods may push OpenTelemetry metrics than before. Clusters that join are left out."""
    settings = head.repository.spec.agent.open_telemetry
    if base is None or settings is None:
        return
    before = {work.cluster for work in base.works if work.addon.receiver}
    running = {work.cluster for work in head.works if work.addon.receiver}
    if gained := sorted((running - before) & base.cluster_names):
        what = f"the agents of {plural(len(gained), 'cluster')} get a receiver for OpenTelemetry metrics"
        pushing = names_text(sorted(settings.collector_namespaces))
        yield f"{what}, to which pods of {pushing} may push: {names_text(gained)}"
    known = base.repository.spec.agent.open_telemetry
    more = set(settings.collector_namespaces).difference(
        known.collector_namespaces if known else ()
    )
    if more and running & before:
        yield f"pods of {names_text(sorted(more))} may push OpenTelemetry metrics for the first time"


def _bootstrap_concerns(base: CheckedFleet | None, head: CheckedFleet) -> Iterator[str]:
    """Warns of changes in rendered/argocd, which people apply. Argo CD refuses what is not allowed."""
    if base is None:
        return
    before, after = _bootstrap(base), _bootstrap(head)
    changed = [key for key in after if before.get(key) != after[key]]
    if changed:
        yield (
            f"{names_text(sorted(changed))} in rendered/argocd, which people apply: run gitops-dsf install"
            " after the merge; until then the hub refuses what the old ones do not allow"
        )
    if gone := before.keys() - after.keys():
        yield (
            f"rendered/argocd no longer has {names_text(sorted(gone))}, which Argo CD leaves on the hub:"
            " delete it there"
        )


def _agent_concerns(
    base: CheckedFleet | None, head: CheckedFleet, snapshot: Snapshot | None
) -> Iterator[str]:
    """Warns of what stays on clusters that lose their agent, and says what to do.

    OCM writes its ClusterManagementAddOn as the owner of a ManagedClusterAddOn, and Argo CD prunes no object
    that has an owner (docs/contributing/behaviour.md#owners-of-generated-applications).
    """
    if base is None:
        return
    lost = {work.cluster for work in base.works} - {work.cluster for work in head.works}
    # With its ManagedCluster OCM deletes everything of a cluster.
    present = snapshot.clusters if snapshot is not None else {}
    names = sorted(lost & present.keys() if present else lost)
    if not names or not head.repository.spec.delivers_works:
        return
    leave, where, each = "leaves", names[0], ""
    if len(names) > 1:
        leave, where, each = "leave", "CLUSTER", " for each of them"
    yield (
        f"when {names_text(names)} {leave}, the next sync of Argo CD, by default within 3 minutes after"
        f" rendered/ is pushed, deletes the ManifestWork {WORK_NAME} and the rights of the agent there, and"
        f" the scores expire; the ManagedClusterAddOn {ADDON_NAME} and the agent stay, because OCM owns them"
        f" and Argo CD deletes nothing that has an owner: run kubectl -n {where} delete managedclusteraddon"
        f" {ADDON_NAME}{each} after the sync; OCM removes the agent when the cluster answers"
    )
    files = paths(head)
    for directory in sorted(_filled(base) - _filled(head)):
        if f"{directory}/README.md" not in files:
            continue  # with fewer shards its Application goes, too
        yield (
            f"rendered/{directory} would be empty, and Argo CD never syncs to an empty directory by itself:"
            " what it has there stays on the hub until somebody runs argocd app sync"
            f" gitops-dsf-{directory} --prune"
        )


def _filled(fleet: CheckedFleet) -> frozenset[str]:
    """The directories of works that have an object."""
    found = (path.split("/") for path in paths(fleet) if path.startswith(WORKS))
    return frozenset(directory for directory, name in found if name != "README.md")


def _binding_concerns(base: CheckedFleet | None, head: CheckedFleet) -> Iterator[str]:
    """Warns of bindings that Argo CD deletes, because others may use them."""
    gone: dict[str, list[str]] = {}
    for namespace, name in (
        sorted(applied(base).bindings - applied(head).bindings) if base is not None else ()
    ):
        gone.setdefault(namespace, []).append(name)
    for namespace, names in gone.items():
        yield (
            f"Argo CD deletes the ManagedClusterSetBinding of {names_text(names)} in {namespace}: Placements"
            " of others there, such as that of a GitOpsCluster, can no longer choose from this set; to keep"
            " it, write it as a ManagedClusterSetBinding into apps/"
        )


def _bootstrap(fleet: CheckedFleet) -> dict[str, Manifest]:
    return {
        f"{item['kind']} {item['metadata']['name']}": item
        for path, item in applied(fleet).objects.items()
        if path.startswith(f"{BOOTSTRAP}/")
    }


def _herd_concerns(
    moving: Iterable[DecisionMove], base: CheckedFleet | None, head: CheckedFleet
) -> Iterator[str]:
    """Warns if one cluster gets many applications at once: its scores do not know what is about to arrive."""
    arrivals: dict[str, list[str]] = {}
    unpaced: dict[str, list[str]] = {}
    for move in moving:
        for cluster in () if move.target == UNKNOWN else move.target:
            arrivals.setdefault(cluster, []).extend(move.followers)
            known = base is not None and move.application in applied(base).placements
            if known and not is_paced(head, move.application):
                unpaced.setdefault(cluster, []).extend(move.followers)
    for cluster, names in sorted(arrivals.items()):
        if len(names) <= HERD:
            continue
        hints = []
        if unpaced.get(cluster):
            where = "spec.pace in gitops-dsf.yaml"
            if head.repository.spec.pace is not None:
                where = "moves.pace: Fleet"
            hints.append(f"{where} lets them follow one another")
        if len(unpaced.get(cluster, ())) < len(names):
            hints.append(
                "OCM places what is new, or loses its cluster, at once, whatever the pace is"
            )
        named = names_text(sorted(names))
        yield f"{len(names)} applications go to {cluster} at once ({named}): {'; '.join(hints)}"


def _filter_concerns(base: CheckedFleet | None, head: CheckedFleet) -> Iterator[str]:
    """Without hub data: warns about applications for which the filters leave no cluster. Bindings that the
    repository does not render are taken as there, because the hub was not asked.
    """
    state = hub_state(head, None)
    for key in applied(head).placements:
        verdict = simulate(state, key)
        if verdict.outcome is Outcome.SCHEDULED and not (verdict.scores or ()):
            before = "" if base is not None and key in applied(base).placements else " (new)"
            yield f"{key}{before} is left with no cluster: {_why_none(verdict)}"
        elif verdict.outcome is not Outcome.SCHEDULED:
            yield f"{key}: {verdict.notes[0] if verdict.notes else verdict.outcome}"


def _data_concerns(snapshot: Snapshot, hub: HubData, head: CheckedFleet) -> Iterator[str]:
    """Warns about data that is old, of unknown age or expired, or that contradicts the inventory."""
    if hub.age is not None and hub.age > OLD_SECONDS:
        yield f"the scores were seen {age_text(hub.age)} ago; what would move now may differ"
    ends = Counter(
        item.valid_until for table in snapshot.scores.values() for item in table.values()
    )
    if gone := sum(count for until, count in ends.items() if expired(until, hub.now)):
        which = "that Placements rank by " if snapshot.skipped else ""
        read = f"{snapshot.score_count - snapshot.skipped} AddOnPlacementScores"
        yield f"{gone} of {read} {which}had expired at that moment; OCM counts them as 0"
    yield from snapshot.problems
    if not snapshot.score_count:
        yield "the hub data holds no AddOnPlacementScore: every score counts as 0"
    labels = {item.metadata.name: item.metadata.labels for item in head.clusters}
    # An inventory holds only a part of a cluster's labels, so only contradictions count.
    differ = [
        name
        for name, facts in snapshot.clusters.items()
        if (known := facts.metadata.labels) is not None
        and not labels.get(name, {}).items() <= known.items()
    ]
    if differ:
        names = names_text(sorted(differ))
        yield f"labels on the hub differ from clusters/ for {names}; decisions follow the hub's"
    if unknown := sorted(set(snapshot.clusters) - head.cluster_names):
        what = f"on the hub but not in clusters/: {names_text(unknown)}"
        yield f"{what}; no scorer runs there, and Placements may select them"


def _too_few(item: VerdictPair, verdict: Verdict) -> Iterator[str]:
    if verdict.outcome in {Outcome.PANIC, Outcome.UNSUPPORTED, Outcome.FAILED}:
        yield f"{item.placement}: {verdict.notes[0] if verdict.notes else verdict.outcome}"
        return
    if verdict.outcome is not Outcome.SCHEDULED:
        return
    chosen = verdict.chosen
    if not chosen:
        yield f"{item.placement} is left with no cluster: {_why_none(verdict)}"
    elif verdict.unscheduled > (item.before.unscheduled if item.before else 0):
        yield f"{item.placement} gets {len(chosen)} of {len(chosen) + verdict.unscheduled} clusters"


def _why_none(verdict: Verdict) -> str:
    if verdict.status.failed:
        return verdict.status.message
    if not verdict.cluster_sets:
        return verdict.satisfied.message if verdict.satisfied else "no cluster set is bound"
    if not verdict.candidates:
        return f"no cluster in {', '.join(verdict.cluster_sets)}"
    reasons = Counter(f"{drop.filter}: {drop.reason}" for drop in verdict.dropped.values())
    if not reasons:
        return "numberOfClusters is 0"
    [(reason, count)] = reasons.most_common(1)
    return f"{count} of {len(verdict.candidates)} candidates dropped by {reason}"


def _close(verdict: Verdict, points: int, spans: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """`verdict` is by the weights that people wrote."""
    ranking = verdict.ranking
    if points <= 0 or ranking is None or not 0 < ranking.selected < len(ranking.order):
        return
    if not any(
        verdict.state.scores.get(item.prioritizer.resource) for item in verdict.prioritizers
    ):
        return  # nothing is published yet: all clusters are equal
    name = verdict.state.names[ranking.clusters[ranking.order[ranking.selected - 1]]]
    rival = verdict.state.names[ranking.clusters[ranking.order[ranking.selected]]]
    explained = [explain(verdict, each, spans=spans) for each in (name, rival)]
    margin, weight = explained[0].margin, mean_weight(verdict.prioritizers)
    if margin is None or points_needed(margin, weight) > points:
        return
    near = [
        (abs(each.nearest.change), f"{each.nearest} on {each.cluster}")
        for each in explained
        if each.nearest
    ]
    if near:
        _, what = min(near, key=itemgetter(0))
        yield f"{verdict.placement} is close to moving from {name} to {rival}: it does when {what}"

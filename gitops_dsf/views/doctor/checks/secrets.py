"""Checks Secrets: the clusters that Argo CD knows, and the tokens that agents need, as far as the hub shows
them. The data of a Secret is never read, where Argo CD has the cluster's name
(docs/contributing/behaviour.md#cluster-secrets): its own name, its labels or an Application must tell.
"""

from collections.abc import Iterator

from gitops_dsf.hub.scores import DEAD, State
from gitops_dsf.views.doctor.facts import Facts, Object, Source, name_of, on_cluster
from gitops_dsf.views.doctor.finding import Finding, error, ok, unknown, warning
from gitops_dsf.views.status import Part
from gitops_dsf.wording import names_text, plural


def clusters(facts: Facts) -> Iterator[Finding]:
    """Does Argo CD know every cluster that an application is, or could be, decided for?"""
    decided, eligible = _pushed(facts)
    secrets = facts.of(Source.CLUSTER_SECRETS)
    refused = {
        item.cluster: item.refusal for item in facts.inputs.applications if item.application and item.refusal
    }
    named = {name for name in eligible | refused.keys() if any(_names(secret, name) for secret in secrets)}
    proven = {item.cluster for item in facts.inputs.applications} - refused.keys()
    everyone = facts.inputs.snapshot.clusters.keys() | proven
    spare = sum(not any(_names(secret, name) for name in everyone) for secret in secrets)
    unproven = sorted(eligible - named - proven)
    for name, reason in sorted(refused.items()):
        yield error(f"Argo CD does not know {name}: {reason}", _add(name))
    here = [name for name in unproven if name in decided and name not in refused]
    there = [name for name in unproven if name not in decided and name not in refused]
    for name in here if not spare else ():
        yield error(
            f"{name} is decided, and Argo CD has no cluster Secret for it: its application is silently"
            " left out",
            _add(name),
        )
    guessed = [*(here if spare else ()), *there]
    if len(guessed) > spare:
        without = (
            f"at least {len(guessed) - spare} of {names_text(guessed)}" if spare else names_text(guessed)
        )
        yield warning(
            f"Argo CD has no cluster Secret for {without}: an application that is decided for it is left out",
            _add(guessed[0]),
        )
    elif guessed:
        yield unknown(
            f"{names_text(guessed)}: no Secret shows it in its name or a label; {spare} may hold it in their"
            " data, which is not read",
            "argocd cluster list  # NAME must be the name of the ManagedCluster",
        )
    known = f"Argo CD knows {plural(len(eligible), 'cluster')}: all that applications may be decided for"
    yield ok(known if eligible else "no application is pushed")


def _pushed(facts: Facts) -> tuple[set[str], set[str]]:
    """Clusters that a pushed application is decided for, and clusters that it could be decided for."""
    pushed = {
        f"{item.namespace}/{placement}"
        for item in facts.inputs.application_sets
        if item.rendered and not item.pulled
        for placement in item.placements
    }
    views = [view for view in facts.overview.placements if view.placement in pushed]
    decided = {name for view in views for name in view.decided or ()}
    return decided, decided.union(*(facts.overview.eligible[view.placement] for view in views))


def _names(secret: Object, cluster: str) -> bool:
    metadata = secret["metadata"]
    words = {*(metadata.get("labels") or {}).values(), *(metadata.get("annotations") or {}).values()}
    usual = {
        cluster,
        f"cluster-{cluster}",
        f"{cluster}-cluster",
        f"{cluster}-secret",
        f"{cluster}-cluster-secret",
    }
    return name_of(secret) in usual or cluster in words


def _add(cluster: str) -> str:
    return (
        f"argocd cluster add {cluster} --name {cluster}  # the first is the cluster's context in your"
        " kubeconfig"
    )


def tokens(facts: Facts) -> Iterator[Finding]:
    """Is a score missing whose scorer needs a token Secret, which only the cluster itself can show?"""
    needing = [view for view in facts.overview.scorers if view.scorer.secrets and not view.suspended]
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
                yield warning(
                    f"{view.scorer.name}, which runs on the hub, has no score on {names_text(absent)} and"
                    f" needs Secret {', '.join(names)} in namespace {facts.hub_namespace}",
                    facts.command("-n", facts.hub_namespace, "get", "secret", *names),
                )
            continue
        by_secrets: dict[tuple[str, ...], list[str]] = {}
        for name in absent:
            cluster = facts.inputs.snapshot.clusters.get(name)
            needed = view.scorer.secrets_on(cluster.labels if cluster is not None else {})
            by_secrets.setdefault(needed, []).append(name)
        for secrets, clusters in by_secrets.items():
            if not secrets:
                continue
            yield warning(
                f"{view.scorer.name} has no score on {names_text(clusters)} and needs Secret"
                f" {', '.join(secrets)} there, which the hub cannot see",
                on_cluster(clusters[0], f"get secret {' '.join(secrets)}"),
            )
    known = f"{plural(len(needing), 'scorer')} with a token, and no score missing"
    scorers = known if needing else "no scorer needs a token"
    yield ok(f"{scorers}; Secrets of clusters are not visible from the hub")

"""Checks the Secrets with tokens that scorers need, as far as the hub shows them."""

from collections import defaultdict
from collections.abc import Iterator

from gitops_dsf.hub.score_states import DEAD, ScoreState
from gitops_dsf.views.doctor.facts import DoctorFacts, on_cluster
from gitops_dsf.views.doctor.finding import DoctorFinding, ok, warning
from gitops_dsf.views.status.inputs import HubPart
from gitops_dsf.views.status.scores import ScorerView
from gitops_dsf.wording import names_text, plural


def tokens(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Is a score missing whose scorer needs a token Secret, which only the cluster can show?"""
    views = facts.overview.scorers
    needing = [view for view in views if view.scorer.secrets and not view.suspended]
    for view in needing:
        # Where a score is there, its token works, so only what is missing is worth a look.
        lacking = _lacking(facts, view)
        if not view.scorer.on_hub:
            yield from _on_clusters(facts, view, lacking)
        elif lacking:
            # Its Secrets are on the hub, but doctor has no right to read Secrets there.
            names = view.scorer.secrets
            yield warning(
                f"{view.scorer.name}, which runs on the hub, has no score on {names_text(lacking)}"
                f" and needs Secret {', '.join(names)} in namespace {facts.hub_namespace}",
                facts.on_hub("get", "secret", *names),
            )
    if needing:
        count = plural(len(needing), "scorer")
        yield ok(
            f"{count} with a token, and no score missing; Secrets of clusters are not visible from"
            " the hub"
        )
    else:
        yield ok("no scorer needs a token; Secrets of clusters are not visible from the hub")


def _lacking(facts: DoctorFacts, view: ScorerView) -> list[str]:
    """The clusters that should have a score that counts, and have none."""
    # Without the masks it is unknown whether a score is missing or masked.
    states = {*DEAD}
    if facts.missing(HubPart.MASKS) is None:
        states.add(ScoreState.MISSING)
    lacking = set[str]()
    for state in states:
        lacking.update(view.unusual.get(state, ()))
    return sorted(lacking & view.expected)


def _on_clusters(
    facts: DoctorFacts, view: ScorerView, lacking: list[str]
) -> Iterator[DoctorFinding]:
    """One finding for each set of Secrets: some clusters may use another variant of a source."""
    clusters_by_secrets = defaultdict[tuple[str, ...], list[str]](list)
    for name in lacking:
        cluster = facts.inputs.snapshot.clusters.get(name)
        labels = {} if cluster is None else cluster.labels
        clusters_by_secrets[view.scorer.secrets_on(labels)].append(name)
    for secrets, clusters in clusters_by_secrets.items():
        if secrets:
            yield warning(
                f"{view.scorer.name} has no score on {names_text(clusters)} and needs Secret"
                f" {', '.join(secrets)} there, which the hub cannot see",
                on_cluster(clusters[0], f"get secret {' '.join(secrets)}"),
            )

"""Checks the way from OCM's decision to an Application.

It consists of Placements, the readers of their decisions in Argo CD, and the clusters that Argo CD
knows.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from dsf_wire.constants import GENERATOR_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.hub.application_sets import ApplicationSet
from gitops_dsf.hub.argocdplace import importers_into
from gitops_dsf.hub.decisions import decided as clusters_of_decisions
from gitops_dsf.hub.names import REFRESH_ANNOTATION
from gitops_dsf.hub.objects import Placement
from gitops_dsf.views.doctor.checks.argocdagent import argocd_agent_of
from gitops_dsf.views.doctor.facts import DoctorFacts, FactSource
from gitops_dsf.views.doctor.finding import DoctorFinding, error, ok, unknown, warning
from gitops_dsf.views.doctor.objects import HubObject, name_of
from gitops_dsf.views.status.inputs import HubPart
from gitops_dsf.wording import names_text, plural

CLUSTERS_NEED: Final = (
    FactSource.CLUSTER_SECRETS,
    FactSource.GITOPS_CLUSTERS,
    HubPart.APPLICATION_SETS,
    HubPart.APPLICATIONS,
    HubPart.DECISIONS,
    HubPart.CLUSTERS,
)
_NO_CLUSTER: Final = re.compile(r'no entry for key "(?:labels|claims)"')
"""The report of Argo CD when a template reads a label of a cluster that is not rendered."""


def placements(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Does OCM understand the rendered Placements?"""
    rendered = 0
    for placement in facts.inputs.placements:
        if placement.metadata.label(MANAGED_BY_LABEL) == GENERATOR_MANAGER:
            rendered += 1
            yield from _placement(facts, placement)
    yield ok(f"OCM understands {plural(rendered, 'rendered Placement')}")


def _placement(facts: DoctorFacts, placement: Placement) -> Iterator[DoctorFinding]:
    misconfigured = placement.condition("PlacementMisconfigured")
    satisfied = placement.condition("PlacementSatisfied")
    # OCM 1.2.1 empties the decision of a misconfigured Placement, so every cluster loses the
    # application (docs/decisions/scheduler.md#placements).
    if misconfigured.status == "True":
        yield error(
            f"Placement {placement.key} is misconfigured: {misconfigured.message}",
            "edit it in apps/ and render; gitops-dsf validate",
        )
    elif satisfied.status == "False":
        namespace = placement.metadata.namespace or ""
        yield warning(
            f"Placement {placement.key} has too few clusters: {satisfied.reason}:"
            f" {satisfied.message}",
            facts.command("-n", namespace, "describe", "placement", placement.metadata.name),
        )


def application_sets(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Do the rendered ApplicationSets generate Applications?"""
    rendered = 0
    for application_set in facts.inputs.application_sets:
        # Placements that people wrote are not judged.
        if not application_set.rendered:
            continue
        rendered += 1
        if application_set.error:
            yield error(
                f"ApplicationSet {application_set.name} generates nothing: {application_set.error}",
                _application_set_fix(facts, application_set),
            )
    yield ok(f"no error in {plural(rendered, 'rendered ApplicationSet')}")


def _application_set_fix(facts: DoctorFacts, application_set: ApplicationSet) -> str:
    message = application_set.error
    # The words of the API server. Argo CD's own Role cannot list PlacementDecisions, and on
    # OpenShift the ServiceAccount has another name than the one that is rendered by default.
    if "placementdecisions" in message and "forbidden" in message:
        return "add the ServiceAccount to spec.argocd.decisionReaders in gitops-dsf.yaml and render"
    # A merge keeps the number of the decision's clusters, so one that git does not list has no
    # labels, which missingkey=error reports (docs/contributing/behaviour.md#templates).
    if _NO_CLUSTER.search(message):
        return "write the clusters that joined into clusters/ (gitops-dsf import), and render"
    annotate = facts.in_argocd("annotate", "--overwrite", "applicationset", application_set.name)
    # The value must be new each time: Argo CD removes the annotation only after success.
    return (
        f"{annotate} {REFRESH_ANNOTATION}=$(date +%s)  # refreshes at once; else within 3 minutes"
    )


def clusters(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Does Argo CD know every cluster that an application is, or could be, decided for?

    The data of a Secret is never read, and Argo CD keeps the name of a cluster there
    (docs/contributing/behaviour.md#cluster-secrets). So the Secret's own name, its labels, or an
    Application on the cluster must show it. A Secret that shows no cluster may be that of any
    cluster.
    """
    decided, eligible = _pushed(facts)
    secrets = facts.of(FactSource.CLUSTER_SECRETS)
    refused: dict[str, str] = {}
    for application in facts.inputs.applications:
        if application.application and application.refusal:
            refused[application.cluster] = application.refusal
    # An ApplicationSet skips clusters that Argo CD does not know, so an Application is a proof.
    proven = {application.cluster for application in facts.inputs.applications} - refused.keys()
    named = {name for name in eligible if any(_names(secret, name) for secret in secrets)}
    spare = _count_unnamed(secrets, facts.inputs.snapshot.clusters.keys() | proven)
    for name, reason in sorted(refused.items()):
        yield error(f"Argo CD does not know {name}: {reason}", _add(facts, name))
    unproven = sorted(eligible - named - proven - refused.keys())
    guessed: list[str] = []
    lost: list[str] = []
    for name in unproven:
        if name in decided:
            lost.append(name)
        else:
            guessed.append(name)
    # A Secret that names no cluster may be the one of a decided cluster, so that is not an error.
    if spare:
        guessed = [*lost, *guessed]
    else:
        for name in lost:
            yield error(
                f"{name} is decided, and Argo CD has no cluster Secret for it: its application is"
                " silently left out",
                _add(facts, name),
            )
    yield from _guessed(facts, guessed, spare)
    if eligible:
        count = plural(len(eligible), "cluster")
        yield ok(f"Argo CD knows {count}: all that applications may be decided for")
    else:
        yield ok("no application is pushed")


def _count_unnamed(secrets: Iterable[HubObject], clusters: Collection[str]) -> int:
    """The number of Secrets that show none of these clusters: each may be of any cluster."""
    count = 0
    for secret in secrets:
        count += not argocd_agent_of(secret) and not any(_names(secret, name) for name in clusters)
    return count


def _guessed(facts: DoctorFacts, names: list[str], spare: int) -> Iterator[DoctorFinding]:
    """Clusters that no Secret names, of which `spare` Secrets without a name may be."""
    if names and not spare:
        yield warning(
            f"Argo CD has no cluster Secret for {names_text(names)}: an application that is"
            " decided for it is left out",
            _add(facts, names[0]),
        )
    elif len(names) > spare:
        yield warning(
            f"Argo CD has no cluster Secret for at least {len(names) - spare} of"
            f" {names_text(names)}: an application that is decided for it is left out",
            _add(facts, names[0]),
        )
    elif names:
        yield unknown(
            f"{names_text(names)}: no Secret shows it in its name or a label; {spare} may hold it"
            " in their data, which is not read",
            "argocd cluster list  # NAME must be the name of the ManagedCluster",
        )


def _pushed(facts: DoctorFacts) -> tuple[set[str], set[str]]:
    """Clusters that pushed applications are decided for, and those that they could be decided for.

    OCM's pull integration needs no cluster Secret, so pulled applications are left out.
    """
    pushed = set[str]()
    for application_set in facts.inputs.application_sets:
        if application_set.rendered and not application_set.pulled:
            for placement in application_set.placements:
                pushed.add(f"{application_set.namespace}/{placement}")
    decided = set[str]()
    eligible = set[str]()
    for view in facts.overview.placements:
        if view.placement in pushed:
            decided.update(view.decided or ())
            eligible.update(facts.overview.eligible[view.placement])
    return decided, decided | eligible


def _names(secret: HubObject, cluster: str) -> bool:
    """Whether the metadata of a Secret name a cluster, as the usual tools write it.

    A Secret of argocd-agent belongs to the cluster with its name, and to no other.
    """
    agent = argocd_agent_of(secret)
    if agent:
        return agent == cluster
    metadata = secret["metadata"]
    # `argocd cluster add` writes the name of the cluster into the data alone. So everything is
    # compared into which other tools and guides put it.
    labels = (metadata.get("labels") or {}).values()
    annotations = (metadata.get("annotations") or {}).values()
    usual = {
        cluster,
        f"cluster-{cluster}",
        f"{cluster}-cluster",
        f"{cluster}-secret",
        f"{cluster}-cluster-secret",
    }
    return name_of(secret) in usual or cluster in labels or cluster in annotations


def _add(facts: DoctorFacts, cluster: str) -> str:
    """The command that makes a cluster known to Argo CD: by a GitOpsCluster where the hub has one.

    A GitOpsCluster imports the clusters that a Placement in its namespace chooses. A Secret that
    was made by hand would have no owner that renews its token.
    """
    importers = importers_into(facts.of(FactSource.GITOPS_CLUSTERS), facts.argocd_namespace)
    chosen = clusters_of_decisions(facts.inputs.snapshot.decisions)
    for importer in importers:
        key = f"{importer.namespace}/{importer.placement}"
        if cluster in chosen.get(key, frozenset()):
            words = ("-n", importer.namespace, "describe", "gitopscluster", importer.name)
            return (
                f"{facts.command(*words)}  # its Placement {importer.placement} chooses {cluster},"
                " so its status says why"
            )
    if importers:
        first = importers[0]
        words = ("-n", first.namespace, "describe", "placement", first.placement)
        return (
            f"{facts.command(*words)}  # GitOpsCluster {first.name} imports what it chooses: let it"
            f" choose {cluster}"
        )
    if any(map(argocd_agent_of, facts.of(FactSource.CLUSTER_SECRETS))):
        return (
            f"argocd-agentctl agent create {cluster} --principal-namespace {facts.argocd_namespace}"
            "  # with the --principal-context and --resource-proxy-server of your hub"
        )
    return (
        f"argocd cluster add {cluster} --name {cluster}"
        "  # the first is the cluster's context in your kubeconfig"
    )

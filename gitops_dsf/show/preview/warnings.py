"""The sentences of warnings for reviewers, the same in texts and in JSON output.

`gitops_dsf.views.preview.warnings` finds the warnings, as values. A sentence says what the change
does, and what to do about it.
"""

from typing import assert_never

from dsf_wire.constants import ADDON_NAME
from gitops_dsf.hub.names import WORK_NAME
from gitops_dsf.hub.times import age_text
from gitops_dsf.views.preview.warnings import ManyRescored, ReviewWarning
from gitops_dsf.views.preview.warnings.access import (
    AccessWarning,
    AgentsGetReceiver,
    AgentsReadDevices,
    AgentsReadNodes,
    HostGetsRawScores,
    HostGetsSecret,
    NamespacesMayPush,
)
from gitops_dsf.views.preview.warnings.arrivals import ManyArrivals
from gitops_dsf.views.preview.warnings.hubdata import (
    ExpiredScores,
    HubDataProblem,
    HubDataWarning,
    NoScores,
    OldHubData,
    OtherLabels,
    UnlistedClusters,
)
from gitops_dsf.views.preview.warnings.manualsteps import (
    AgentsStay,
    BindingsDeleted,
    BootstrapChanged,
    BootstrapRemoved,
    DirectoryEmptied,
    ManualStep,
    ScoresChangeWriter,
)
from gitops_dsf.views.preview.warnings.names import ScoresRenamed
from gitops_dsf.views.preview.warnings.placements import (
    CloseDecision,
    EmptySets,
    FewClusters,
    MostDropped,
    NoCluster,
    NoneWanted,
    NotScheduled,
    PlacementWarning,
    UnboundSets,
)
from gitops_dsf.wording import names_text, plural


def warning_text(warning: ReviewWarning) -> str:
    """The sentence of a warning."""
    if isinstance(warning, AccessWarning):
        return _access(warning)
    if isinstance(warning, ManualStep):
        return _manual_step(warning)
    if isinstance(warning, PlacementWarning):
        return _placement(warning)
    if isinstance(warning, HubDataWarning):
        return _hub_data(warning)
    match warning:
        case ScoresRenamed():
            return (
                f"scores of {names_text(warning.scorers)} get another name: until the agents have"
                " published it, OCM counts 0 on every cluster, and an application may move for"
                " that time"
            )
        case ManyRescored():
            names = ", ".join(f"{name} ({count})" for name, count in warning.clusters_of.items())
            return (
                f"{warning.clusters} of {warning.total} clusters"
                f" ({100 * warning.clusters / warning.total:.0f} %) are re-scored, more"
                f" than {warning.max_percent:g} %: {names}"
            )
        case ManyArrivals():
            return _many_arrivals(warning)
    assert_never(warning)


def _access(warning: AccessWarning) -> str:
    match warning:
        case HostGetsSecret():
            return (
                f"{warning.sent.host} gets {warning.sent.what} for the first time"
                f" (scorer {warning.scorer})"
            )
        case AgentsReadNodes():
            return (
                f"the agents of {plural(len(warning.clusters), 'cluster')} may read all nodes and"
                f" pods for the first time (scorer {warning.scorer}):"
                f" {names_text(warning.clusters)}"
            )
        case AgentsReadDevices():
            return (
                f"the agents of {plural(len(warning.clusters), 'cluster')} may read all"
                " ResourceSlices and ResourceClaims for the first time"
                f" (scorer {warning.scorer}): {names_text(warning.clusters)}"
            )
        case AgentsGetReceiver():
            return (
                f"the agents of {plural(len(warning.clusters), 'cluster')} get a receiver for"
                f" OpenTelemetry metrics, to which pods of {names_text(warning.namespaces)} may"
                f" push: {names_text(warning.clusters)}"
            )
        case NamespacesMayPush():
            return (
                f"pods of {names_text(warning.namespaces)} may push OpenTelemetry metrics for the"
                " first time"
            )
        case HostGetsRawScores():
            return f"{warning.host} gets the raw scores of managed clusters for the first time"
    assert_never(warning)


def _manual_step(warning: ManualStep) -> str:
    match warning:
        case ScoresChangeWriter():
            return (
                "upstream's agents will publish the scores, and do not renew the validUntil that"
                " ours wrote: after the sync delete the AddOnPlacementScores of our agents, else"
                " they expire and count as 0; gitops-dsf doctor names them, and what else of ours"
                " is left"
            )
        case BootstrapChanged():
            return (
                f"{names_text(warning.objects)} in rendered/argocd, which people apply: run"
                " gitops-dsf install after the merge; until then the hub refuses what the old ones"
                " do not allow"
            )
        case BootstrapRemoved():
            return (
                f"rendered/argocd no longer has {names_text(warning.objects)}, which Argo CD leaves"
                " on the hub: delete it there"
            )
        case AgentsStay():
            return _agents_stay(warning)
        case DirectoryEmptied():
            return (
                f"rendered/{warning.directory} would be empty, and Argo CD never syncs to an empty"
                " directory by itself: what it has there stays on the hub until somebody runs"
                f" argocd app sync gitops-dsf-{warning.directory} --prune"
            )
        case BindingsDeleted():
            return (
                "Argo CD deletes the ManagedClusterSetBinding of"
                f" {names_text(warning.cluster_sets)} in {warning.namespace}: Placements of others"
                " there, such as that of a GitOpsCluster, can no longer choose from this set; to"
                " keep it, write it as a ManagedClusterSetBinding into apps/"
            )
    assert_never(warning)


def _agents_stay(warning: AgentsStay) -> str:
    if len(warning.clusters) == 1:
        return (
            f"when {warning.clusters[0]} leaves, the next sync of Argo CD, by default within 3"
            f" minutes after rendered/ is pushed, deletes the ManifestWork {WORK_NAME} and the"
            " rights of the agent there, and the scores expire; the ManagedClusterAddOn"
            f" {ADDON_NAME} and the agent stay, because OCM owns them and Argo CD deletes nothing"
            f" that has an owner: run kubectl -n {warning.clusters[0]} delete managedclusteraddon"
            f" {ADDON_NAME} after the sync; OCM removes the agent when the cluster answers"
        )
    return (
        f"when {names_text(warning.clusters)} leave, the next sync of Argo CD, by default within 3"
        f" minutes after rendered/ is pushed, deletes the ManifestWork {WORK_NAME} and the rights"
        " of the agent there, and the scores expire; the ManagedClusterAddOn"
        f" {ADDON_NAME} and the agent stay, because OCM owns them and Argo CD deletes nothing that"
        f" has an owner: run kubectl -n CLUSTER delete managedclusteraddon {ADDON_NAME} for each of"
        " them after the sync; OCM removes the agent when the cluster answers"
    )


def _placement(warning: PlacementWarning) -> str:
    match warning:
        case NotScheduled():
            return f"{warning.placement}: {warning.cause}"
        case NoCluster(is_new=True):
            return f"{warning.placement} (new) is left with no cluster: {_no_cluster(warning)}"
        case NoCluster():
            return f"{warning.placement} is left with no cluster: {_no_cluster(warning)}"
        case FewClusters():
            return f"{warning.placement} gets {warning.selected} of {warning.wanted} clusters"
        case CloseDecision():
            return (
                f"{warning.placement} would move from {warning.leaves} to {warning.rival} if"
                f" {warning.flip} on {warning.flips_on}"
            )
    assert_never(warning)


def _no_cluster(warning: NoCluster) -> str:
    match warning.cause:
        case UnboundSets():
            return "no cluster set is bound"
        case EmptySets(cluster_sets=names):
            return f"no cluster in {', '.join(names)}"
        case NoneWanted():
            return "numberOfClusters is 0"
        case MostDropped() as most:
            return (
                f"{most.dropped} of {most.candidates} candidates dropped by {most.filter}:"
                f" {most.reason}"
            )
        case str(message):
            return message
    assert_never(warning.cause)


def _many_arrivals(warning: ManyArrivals) -> str:
    names = warning.applications
    hints = []
    if warning.could_be_paced and not warning.has_pace:
        hints.append("spec.pace in gitops-dsf.yaml lets them follow one another")
    elif warning.could_be_paced:
        hints.append("moves.pace: Fleet lets them follow one another")
    if warning.could_be_paced < len(names):
        hints.append(
            "the pace does not apply to new applications and to those that lost their cluster: OCM"
            " places them at once"
        )
    return (
        f"{len(names)} applications go to {warning.cluster} at once ({names_text(names)}):"
        f" {'; '.join(hints)}"
    )


def _hub_data(warning: HubDataWarning) -> str:
    match warning:
        case OldHubData():
            return (
                f"the scores were seen {age_text(warning.age)} ago; what would move now may differ"
            )
        case ExpiredScores(only_ranked=True):
            return (
                f"{warning.expired} of {warning.read} AddOnPlacementScores that Placements rank by"
                " had expired at that moment; OCM counts them as 0"
            )
        case ExpiredScores():
            return (
                f"{warning.expired} of {warning.read} AddOnPlacementScores had expired at that"
                " moment; OCM counts them as 0"
            )
        case HubDataProblem():
            return warning.problem
        case NoScores():
            return "the hub data holds no AddOnPlacementScore: every score counts as 0"
        case OtherLabels():
            return (
                f"labels on the hub differ from clusters/ for {names_text(warning.clusters)};"
                " decisions follow the hub's"
            )
        case UnlistedClusters():
            return (
                f"on the hub but not in clusters/: {names_text(warning.clusters)}; no scorer runs"
                " there, and Placements may select them"
            )
    assert_never(warning)

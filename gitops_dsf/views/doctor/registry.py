"""Every check: its stable ID, its question, and what must be readable to answer it. docs/operate/status.md
has a row for each.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from gitops_dsf.views.doctor.checks import (
    addon,
    argocd,
    decisions,
    maintenance,
    moves,
    ocm,
    refuges,
    runtime,
    scores,
    secrets,
    upstream,
)
from gitops_dsf.views.doctor.facts import Facts, Need, Source
from gitops_dsf.views.doctor.finding import Finding
from gitops_dsf.views.status import Part


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check."""

    id: str
    run: Callable[[Facts], Iterator[Finding]]
    needs: tuple[Need, ...] = ()
    ours: bool = False
    """Whether only we install what it checks. Then it is skipped if the upstream addon delivers
    (delivery.mode UpstreamController).
    """
    first: bool = False
    """Whether it must be without errors before anything of ours is installed."""

    @property
    def title(self) -> str:
        """The question that the check answers, for people."""
        return " ".join((self.run.__doc__ or "").partition("\n\n")[0].split())


_SCORES: Final = (Part.CLUSTERS, Part.ADDONS, Part.SCORERS, Part.SCORES)

CHECKS: Final = (
    Check(id="clock", run=runtime.clock),
    Check(id="ocm-kinds", run=ocm.installed, first=True),
    Check(id="ocm-version", run=ocm.version, needs=(Source.OCM_DEPLOYMENTS,), first=True),
    Check(
        id="ocm-features",
        run=ocm.features,
        needs=(Source.CLUSTER_MANAGERS, Source.OCM_DEPLOYMENTS),
        first=True,
    ),
    Check(id="ocm-clusters", run=ocm.clusters, needs=(Part.CLUSTERS, Part.ADDONS), ours=True),
    Check(
        id="upstream",
        run=upstream.controller,
        needs=(
            Source.UPSTREAM_DEPLOYMENTS,
            Source.ADDON_DEFINITIONS,
            Source.UPSTREAM_WORKS,
            Source.OUR_WORKS,
            Source.SCORING_CONFIGS,
        ),
    ),
    Check(id="agents", run=addon.agents, needs=(Source.ADDON_STATES,), ours=True),
    Check(
        id="argocd-version",
        run=argocd.version,
        needs=(Source.ARGOCD_DEPLOYMENTS, Source.ARGOCD_STATEFULSETS),
        first=True,
    ),
    Check(id="argocd-policy", run=argocd.policy, needs=(Source.ARGOCD_PARAMETERS,), first=True),
    Check(id="argocd-settings", run=argocd.settings, needs=(Source.ARGOCD_SETTINGS,)),
    Check(id="argocd-delivery", run=argocd.delivery, needs=(Source.DELIVERY,)),
    Check(id="placements", run=decisions.placements, needs=(Part.PLACEMENTS,)),
    Check(
        id="applicationsets",
        run=decisions.application_sets,
        needs=(Part.APPLICATION_SETS,),
    ),
    Check(
        id="cluster-secrets",
        run=secrets.clusters,
        needs=(
            Source.CLUSTER_SECRETS,
            Part.APPLICATION_SETS,
            Part.APPLICATIONS,
            Part.DECISIONS,
            Part.CLUSTERS,
        ),
    ),
    Check(id="scorers", run=scores.scorers, needs=(Part.SCORERS,)),
    Check(id="scores-fresh", run=scores.freshness, needs=_SCORES, ours=True),
    Check(id="scores-owned", run=scores.ownership, needs=_SCORES, ours=True),
    Check(id="token-secrets", run=secrets.tokens, needs=_SCORES, ours=True),
    Check(id="paced-moves", run=moves.paced, needs=(Part.PLACEMENTS,)),
    Check(id="maintenance", run=maintenance.windows, needs=(Part.MOVES,)),
    Check(
        id="refuges",
        run=refuges.planned,
        needs=(Part.PLACEMENTS, Part.DECISIONS, Part.SCORES, Part.CLUSTERS),
    ),
    Check(id="reconciler", run=runtime.reconciler, needs=(Source.LEASES,), ours=True),
)
"""In order of dependency: an earlier failure is often the cause of a later one."""

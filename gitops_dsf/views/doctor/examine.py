"""Every check of `doctor` (docs/operate/status.md has a row for each), and the runner of them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from dsf_wire.constants import DSF_GROUP
from dsf_wire.text import printable
from gitops_dsf.hub.unread import Why
from gitops_dsf.views.doctor.checks import (
    acm,
    agents,
    argocd,
    argocdagent,
    decisions,
    definitions,
    external_scores,
    kueue,
    ocm,
    ownership,
    pacing,
    reconciler,
    scorers,
    tokens,
    upstream,
    verification,
)
from gitops_dsf.views.doctor.facts import RIGHTS, DoctorFacts, FactSource, Need
from gitops_dsf.views.doctor.finding import MOVES_STOPPED, DoctorFinding, State
from gitops_dsf.views.doctor.merge import merged
from gitops_dsf.views.status.inputs import HubPart


@dataclass(frozen=True)
class Check:
    """A check of `doctor`: a function, and what must have been read before it runs.

    Without that it is reported as unknown, so the function sees only what could be read.
    """

    id: str
    run: Callable[[DoctorFacts], Iterator[DoctorFinding]]
    needs: tuple[Need, ...] = ()
    ours: bool = False
    """Whether only we install it.

    It is skipped if the upstream add-on delivers and nothing of ours is on the hub.
    """
    first: bool = False
    """Whether it must be without errors before anything of ours is installed."""

    @property
    def title(self) -> str:
        """The question that the check answers: the first paragraph of its function's docstring."""
        return " ".join((self.run.__doc__ or "").partition("\n\n")[0].split())


_SCORES: Final = (HubPart.CLUSTERS, HubPart.ADDONS, HubPart.SCORERS, HubPart.SCORES)
_EXTERNAL: Final = (
    HubPart.PLACEMENTS,
    HubPart.SCORERS,
    HubPart.SCORES,
    HubPart.CLUSTERS,
    FactSource.EXTERNAL_SCORES,
)
_REFUGES: Final = (HubPart.PLACEMENTS, HubPart.DECISIONS, HubPart.SCORES, HubPart.CLUSTERS)
_VERIFIED: Final = (HubPart.MOVES, HubPart.PLACEMENTS, HubPart.DECISIONS, HubPart.SCORES)
_KUEUE: Final = (
    HubPart.PLACEMENTS,
    FactSource.KUEUE_DEPLOYMENTS,
    FactSource.KUEUE_SETTINGS,
)
_JOBS: Final = (
    HubPart.PLACEMENTS,
    HubPart.DECISIONS,
    HubPart.MULTIKUEUE_CONFIGS,
    FactSource.MULTIKUEUE_CLUSTERS,
    FactSource.ADMISSION_CHECKS,
)
_GATES: Final = (FactSource.CLUSTER_MANAGERS, FactSource.OCM_DEPLOYMENTS)

CHECKS: Final = (
    Check("clock", reconciler.clock),
    Check("ocm-kinds", ocm.installed, first=True),
    Check("ocm-version", ocm.version, (FactSource.OCM_DEPLOYMENTS,), first=True),
    Check("ocm-features", ocm.features, _GATES, first=True),
    Check("ocm-clusters", ocm.clusters, (HubPart.CLUSTERS, HubPart.ADDONS), ours=True),
    Check("upstream", upstream.upstream, upstream.UPSTREAM_NEEDS),
    Check("acm-namespace", acm.hub_namespace, acm.NEEDS),
    Check("agents", agents.agents, agents.NEEDS, ours=True),
    Check(
        "agents-left",
        agents.left_behind,
        (FactSource.ADDON_STATES, FactSource.OUR_WORKS),
        ours=True,
    ),
    Check("argocd-version", argocd.version, argocd.WORKLOADS, first=True),
    Check("argocd-policy", argocd.policy, (FactSource.ARGOCD_PARAMETERS,), first=True),
    Check("argocd-settings", argocd.settings, (FactSource.ARGOCD_SETTINGS,)),
    Check("argocd-delivery", argocd.delivery, (FactSource.DELIVERY,)),
    Check("placements", decisions.placements, (HubPart.PLACEMENTS,)),
    Check("applicationsets", decisions.application_sets, (HubPart.APPLICATION_SETS,)),
    Check("cluster-secrets", decisions.clusters, decisions.CLUSTERS_NEED),
    Check("argocd-agent", argocdagent.argocd_agent, argocdagent.NEEDS),
    Check("scorers", scorers.scorers, (HubPart.SCORERS,)),
    Check("crds", definitions.crds, (FactSource.SCORER_DEFINITION,), ours=True),
    Check("scorer-list", scorers.scorer_list, ours=True),
    Check("scores-fresh", scorers.freshness, _SCORES, ours=True),
    Check("scores-owned", ownership.ownership, _SCORES, ours=True),
    Check("external-scores", external_scores.scores, _EXTERNAL),
    Check("token-secrets", tokens.tokens, _SCORES, ours=True),
    Check("paced-moves", pacing.moves, (HubPart.PLACEMENTS,)),
    Check(MOVES_STOPPED, verification.stopped, (HubPart.MOVES,)),
    Check("verified-moves", verification.verification, _VERIFIED),
    Check("maintenance", pacing.windows, (HubPart.MOVES,)),
    Check("refuges", pacing.refuges, _REFUGES),
    Check("kueue", kueue.settings, _KUEUE),
    Check("multikueue-configs", kueue.configs, _JOBS),
    Check("reconciler", reconciler.reconciler, (FactSource.LEASES,), ours=True),
)
"""The checks in order of dependency: an earlier failure is often the cause of a later one."""


def examine(facts: DoctorFacts, checks: Iterable[Check] = CHECKS) -> tuple[DoctorFinding, ...]:
    """The findings in the order of the checks, at least one for each check."""
    findings: list[DoctorFinding] = []
    for check in checks:
        # Findings quote what agents, scoring APIs and other programs wrote into objects of the hub.
        findings += map(_printable, _run(check, facts))
    return tuple(findings)


def not_installed(facts: DoctorFacts) -> tuple[DoctorFinding, ...]:
    """One finding for a hub that has nothing of ours; none for any other."""
    ours = (FactSource.OUR_WORKS, FactSource.DELIVERY, FactSource.ADDON_STATES, FactSource.LEASES)
    if DSF_GROUP in facts.groups or any(facts.sources[source] != () for source in ours):
        return ()
    if facts.missing(FactSource.ADDON_DEFINITIONS) is not None:
        # The upstream add-on may deliver here. Then nothing of ours is wanted.
        return ()
    if upstream.is_ours(facts) or facts.is_upstreams or upstream.delivers_alone(facts):
        return ()
    message = "gitops-dsf is not installed on this hub"
    return (
        DoctorFinding(check="installed", state=State.ERROR, message=message, fix=facts.install),
    )


def _run(check: Check, facts: DoctorFacts) -> Iterator[DoctorFinding]:
    if check.ours and upstream.delivers_alone(facts):
        message = "the upstream add-on delivers here, so nothing of ours is installed"
        yield DoctorFinding(check=check.id, state=State.OK, message=message, fix=None)
        return
    # A check that cannot see would report what it does not see as absent.
    reasons: list[str] = []
    is_forbidden = False
    for need in check.needs:
        unread = facts.missing(need)
        if unread is not None:
            # Several sources may be of one kind, and then the hub says the same of each.
            if str(unread) not in reasons:
                reasons.append(str(unread))
            is_forbidden = is_forbidden or unread.why is Why.FORBIDDEN
    if reasons:
        yield DoctorFinding(
            check=check.id,
            state=State.UNKNOWN,
            message=f"{check.title} {'; '.join(reasons)}",
            fix=RIGHTS if is_forbidden else None,
        )
        return
    yield from merged(check.id, check.run(facts))


def _printable(finding: DoctorFinding) -> DoctorFinding:
    fix = None if finding.fix is None else printable(finding.fix)
    return structs.replace(finding, message=printable(finding.message), fix=fix)

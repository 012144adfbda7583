"""Every check (docs/operate/status.md has a row for each), and running them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from dsf_wire.constants import DSF_GROUP
from dsf_wire.text import printable
from gitops_dsf.hub.unread import Why
from gitops_dsf.views.doctor.checks import (
    agents,
    argocd,
    decisions,
    ocm,
    ownership,
    pacing,
    reconciler,
    scorers,
    tokens,
    upstream,
)
from gitops_dsf.views.doctor.facts import RIGHTS, Facts, Need, Source
from gitops_dsf.views.doctor.finding import Finding, State
from gitops_dsf.views.doctor.merge import merged
from gitops_dsf.views.status.inputs import Part


@dataclass(frozen=True)
class Check:
    """A check.

    Its function sees only what could be read: without its needs it is reported as unknown.
    """

    id: str
    run: Callable[[Facts], Iterator[Finding]]
    needs: tuple[Need, ...] = ()
    ours: bool = False
    """Only we install it: skipped if the upstream addon delivers (delivery.mode
    UpstreamController).
    """
    first: bool = False
    """Whether it must be without errors before anything of ours is installed."""

    @property
    def title(self) -> str:
        """The question that the check answers: the first paragraph of its function's docstring."""
        return " ".join((self.run.__doc__ or "").partition("\n\n")[0].split())


_SCORES: Final = (Part.CLUSTERS, Part.ADDONS, Part.SCORERS, Part.SCORES)
_REFUGES: Final = (Part.PLACEMENTS, Part.DECISIONS, Part.SCORES, Part.CLUSTERS)
_GATES: Final = (Source.CLUSTER_MANAGERS, Source.OCM_DEPLOYMENTS)

CHECKS: Final = (
    Check("clock", reconciler.clock),
    Check("ocm-kinds", ocm.installed, first=True),
    Check("ocm-version", ocm.version, (Source.OCM_DEPLOYMENTS,), first=True),
    Check("ocm-features", ocm.features, _GATES, first=True),
    Check("ocm-clusters", ocm.clusters, (Part.CLUSTERS, Part.ADDONS), ours=True),
    Check("upstream", upstream.upstream, upstream.UPSTREAM_NEEDS),
    Check("agents", agents.agents, (Source.ADDON_STATES,), ours=True),
    Check("agents-left", agents.left_behind, (Source.ADDON_STATES, Source.OUR_WORKS), ours=True),
    Check("argocd-version", argocd.version, argocd.WORKLOADS, first=True),
    Check("argocd-policy", argocd.policy, (Source.ARGOCD_PARAMETERS,), first=True),
    Check("argocd-settings", argocd.settings, (Source.ARGOCD_SETTINGS,)),
    Check("argocd-delivery", argocd.delivery, (Source.DELIVERY,)),
    Check("placements", decisions.placements, (Part.PLACEMENTS,)),
    Check("applicationsets", decisions.application_sets, (Part.APPLICATION_SETS,)),
    Check("cluster-secrets", decisions.clusters, decisions.CLUSTERS_NEED),
    Check("scorers", scorers.scorers, (Part.SCORERS,)),
    Check("scores-fresh", scorers.freshness, _SCORES, ours=True),
    Check("scores-owned", ownership.ownership, _SCORES, ours=True),
    Check("token-secrets", tokens.tokens, _SCORES, ours=True),
    Check("paced-moves", pacing.moves, (Part.PLACEMENTS,)),
    Check("maintenance", pacing.windows, (Part.MOVES,)),
    Check("refuges", pacing.refuges, _REFUGES),
    Check("reconciler", reconciler.reconciler, (Source.LEASES,), ours=True),
)
"""In order of dependency: an earlier failure is often the cause of a later one."""


def examine(facts: Facts, checks: Iterable[Check] = CHECKS) -> tuple[Finding, ...]:
    """Returns findings in the order of the checks, at least one for each check."""
    findings = []
    for check in checks:
        # Findings quote what agents, scoring APIs and other programs wrote into objects of the hub.
        findings += [_printable(finding) for finding in _run(check, facts)]
    return tuple(findings)


def not_installed(facts: Facts) -> tuple[Finding, ...]:
    """Returns one finding for a hub that has nothing of ours; none for any other."""
    ours = (Source.OUR_WORKS, Source.DELIVERY, Source.ADDON_STATES, Source.LEASES)
    if DSF_GROUP in facts.groups or any(facts.sources[source] != () for source in ours):
        return ()
    if facts.missing(Source.ADDON_DEFINITIONS) is not None:
        return ()
    if upstream.is_ours(facts) or upstream.delivers(facts):
        return ()
    message = "gitops-dsf is not installed on this hub"
    return (Finding(check="installed", state=State.ERROR, message=message, fix=facts.install),)


def _run(check: Check, facts: Facts) -> Iterator[Finding]:
    if check.ours and upstream.delivers(facts):
        message = "the upstream addon delivers here, so nothing of ours is installed"
        yield Finding(check=check.id, state=State.OK, message=message, fix=None)
        return
    unread = [reason for reason in map(facts.missing, check.needs) if reason is not None]
    if unread:
        reasons = "; ".join(dict.fromkeys(map(str, unread)))
        is_forbidden = any(reason.why is Why.FORBIDDEN for reason in unread)
        yield Finding(
            check=check.id,
            state=State.UNKNOWN,
            message=f"{check.title} {reasons}",
            fix=RIGHTS if is_forbidden else None,
        )
        return
    yield from merged(check.id, check.run(facts))


def _printable(finding: Finding) -> Finding:
    fix = None if finding.fix is None else printable(finding.fix)
    return structs.replace(finding, message=printable(finding.message), fix=fix)

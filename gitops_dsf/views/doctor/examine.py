"""Every check (docs/operate/status.md has a row for each), and running them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from dsf_wire.constants import ADDON_NAME, DSF_GROUP
from dsf_wire.text import printable
from gitops_dsf.hub.resources import Why
from gitops_dsf.views.doctor.checks import argocd, decisions, moves, ocm, runtime, scores, secrets, upstream
from gitops_dsf.views.doctor.checks.upstream import delivers
from gitops_dsf.views.doctor.facts import Facts, Need, Source, name_of
from gitops_dsf.views.doctor.finding import RIGHTS, Finding, State, findings_of
from gitops_dsf.views.status import Part


@dataclass(frozen=True, kw_only=True)
class Check:
    id: str
    run: Callable[[Facts], Iterator[Finding]]
    needs: tuple[Need, ...] = ()
    ours: bool = False
    """Only we install it: skipped if the upstream addon delivers (delivery.mode UpstreamController)."""
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
    Check(id="agents", run=ocm.agents, needs=(Source.ADDON_STATES,), ours=True),
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
    Check(id="applicationsets", run=decisions.application_sets, needs=(Part.APPLICATION_SETS,)),
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
    Check(id="maintenance", run=moves.windows, needs=(Part.MOVES,)),
    Check(
        id="refuges", run=moves.planned, needs=(Part.PLACEMENTS, Part.DECISIONS, Part.SCORES, Part.CLUSTERS)
    ),
    Check(id="reconciler", run=runtime.reconciler, needs=(Source.LEASES,), ours=True),
)
"""In order of dependency: an earlier failure is often the cause of a later one."""


def examine(facts: Facts, checks: Iterable[Check] = CHECKS) -> tuple[Finding, ...]:
    """Returns findings in the order of the checks, at least one per check."""
    # Findings quote what agents, scoring APIs and other programs wrote into objects of the hub.
    return tuple(
        structs.replace(
            found, message=printable(found.message), fix=None if found.fix is None else printable(found.fix)
        )
        for check in checks
        for found in _run(check, facts)
    )


def not_installed(facts: Facts) -> tuple[Finding, ...]:
    """One finding for a hub that has nothing of ours; none for any other."""
    ours = (Source.OUR_WORKS, Source.DELIVERY, Source.ADDON_STATES, Source.LEASES)
    if DSF_GROUP in facts.groups:
        return ()
    if any(facts.missing(source) is not None or facts.of(source) for source in ours):
        return ()
    definitions = facts.missing(Source.ADDON_DEFINITIONS) is None and facts.of(Source.ADDON_DEFINITIONS)
    if definitions is False or any(name_of(item) == ADDON_NAME for item in definitions) or delivers(facts):
        return ()
    message = "gitops-dsf is not installed on this hub"
    return (Finding(check="installed", state=State.ERROR, message=message, fix=facts.install),)


def _run(check: Check, facts: Facts) -> Iterator[Finding]:
    if check.ours and delivers(facts):
        yield Finding(
            check=check.id,
            state=State.OK,
            message="the upstream addon delivers here, so nothing of ours is installed",
            fix=None,
        )
        return
    missing = [found for need in check.needs if (found := facts.missing(need)) is not None]
    if missing:
        reasons = "; ".join(dict.fromkeys(map(str, missing)))
        fix = RIGHTS if any(item.why is Why.FORBIDDEN for item in missing) else None
        yield Finding(check=check.id, state=State.UNKNOWN, message=f"{check.title} {reasons}", fix=fix)
        return
    yield from findings_of(check.id, check.run(facts))

"""Every check (docs/operate/status.md has a row for each), and running them."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from dsf_wire.constants import DSF_GROUP
from dsf_wire.text import printable
from gitops_dsf.hub.resources import Why
from gitops_dsf.views.doctor.checks import argocd, ocm, reconciler, scores
from gitops_dsf.views.doctor.facts import RIGHTS, WORST_FIRST, Facts, Finding, Need, Source, State
from gitops_dsf.views.status.inputs import Part

MOST: Final = 10
"""Most findings of one check. A last one counts the others."""
LATER: Final = "fix these first and run doctor again; gitops-dsf status --all shows every score"
_SUBJECT: Final = "\0"
_WORD: Final = re.compile(r"\w+(?:[.-]+\w+)*")
_NAMED: Final = 5
"""How many clusters a finding names besides the first."""


@dataclass(frozen=True)
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
    Check("clock", reconciler.clock),
    Check("ocm-kinds", ocm.installed, first=True),
    Check("ocm-version", ocm.version, (Source.OCM_DEPLOYMENTS,), first=True),
    Check(
        "ocm-features", ocm.features, (Source.CLUSTER_MANAGERS, Source.OCM_DEPLOYMENTS), first=True
    ),
    Check("ocm-clusters", ocm.clusters, (Part.CLUSTERS, Part.ADDONS), ours=True),
    Check("upstream", ocm.upstream, ocm.UPSTREAM_NEEDS),
    Check("agents", ocm.agents, (Source.ADDON_STATES,), ours=True),
    Check("agents-left", ocm.left_behind, (Source.ADDON_STATES, Source.OUR_WORKS), ours=True),
    Check("argocd-version", argocd.version, argocd.WORKLOADS, first=True),
    Check("argocd-policy", argocd.policy, (Source.ARGOCD_PARAMETERS,), first=True),
    Check("argocd-settings", argocd.settings, (Source.ARGOCD_SETTINGS,)),
    Check("argocd-delivery", argocd.delivery, (Source.DELIVERY,)),
    Check("placements", argocd.placements, (Part.PLACEMENTS,)),
    Check("applicationsets", argocd.application_sets, (Part.APPLICATION_SETS,)),
    Check("cluster-secrets", argocd.clusters, argocd.CLUSTERS_NEED),
    Check("scorers", scores.scorers, (Part.SCORERS,)),
    Check("scores-fresh", scores.freshness, _SCORES, ours=True),
    Check("scores-owned", scores.ownership, _SCORES, ours=True),
    Check("token-secrets", scores.tokens, _SCORES, ours=True),
    Check("paced-moves", reconciler.paced, (Part.PLACEMENTS,)),
    Check("maintenance", reconciler.windows, (Part.MOVES,)),
    Check(
        "refuges", reconciler.planned, (Part.PLACEMENTS, Part.DECISIONS, Part.SCORES, Part.CLUSTERS)
    ),
    Check("reconciler", reconciler.reconciler, (Source.LEASES,), ours=True),
)
"""In order of dependency: an earlier failure is often the cause of a later one."""


def examine(facts: Facts, checks: Iterable[Check] = CHECKS) -> tuple[Finding, ...]:
    """Returns findings in the order of the checks, at least one per check."""
    # Findings quote what agents, scoring APIs and other programs wrote into objects of the hub.
    return tuple(
        structs.replace(
            found,
            message=printable(found.message),
            fix=None if found.fix is None else printable(found.fix),
        )
        for check in checks
        for found in _run(check, facts)
    )


def not_installed(facts: Facts) -> tuple[Finding, ...]:
    """One finding for a hub that has nothing of ours; none for any other."""
    ours = (Source.OUR_WORKS, Source.DELIVERY, Source.ADDON_STATES, Source.LEASES)
    if DSF_GROUP in facts.groups or any(facts.sources[source] != () for source in ours):
        return ()
    if (
        facts.missing(Source.ADDON_DEFINITIONS) is not None
        or ocm.is_ours(facts)
        or ocm.delivers(facts)
    ):
        return ()
    message = "gitops-dsf is not installed on this hub"
    return (Finding(check="installed", state=State.ERROR, message=message, fix=facts.install),)


def _run(check: Check, facts: Facts) -> Iterator[Finding]:
    if check.ours and ocm.delivers(facts):
        message = "the upstream addon delivers here, so nothing of ours is installed"
        yield Finding(check=check.id, state=State.OK, message=message, fix=None)
        return
    missing = [found for need in check.needs if (found := facts.missing(need)) is not None]
    if missing:
        reasons = "; ".join(dict.fromkeys(map(str, missing)))
        fix = RIGHTS if any(item.why is Why.FORBIDDEN for item in missing) else None
        yield Finding(
            check=check.id, state=State.UNKNOWN, message=f"{check.title} {reasons}", fix=fix
        )
        return
    yield from findings_of(check.id, check.run(facts))


def findings_of(check: str, results: Iterable[Finding]) -> Iterator[Finding]:
    """Merges results that differ only in the cluster. An ok counts only if it is alone."""
    groups: dict[object, list[Finding]] = {}
    found = list(results)
    for result in [one for one in found if one.state is not State.OK] or found:
        meaning: object = id(result)
        for name in result.subjects:
            meaning = result.state, _without(name, result.message), _without(name, result.fix or "")
        groups.setdefault(meaning, []).append(result)
    told, rest = 0, list[Finding]()
    for group in groups.values():
        first, subjects = group[0], _subjects(group)
        told += bool(subjects)
        if subjects and told > MOST:
            # Clusters whose results differ, such as thousands with different missing scores.
            rest += group
            continue
        message, others = first.message, subjects[1:]
        if others:
            names = ", ".join(others[:_NAMED]) + (", ..." if len(others) > _NAMED else "")
            message += f"; the same of {len(others)} more: {names}"
        yield structs.replace(
            first, check=check, message=message, count=len(group), subjects=subjects
        )
    if rest:
        state = min((result.state for result in rest), key=WORST_FIRST.index)
        message, subjects = f"{len(rest)} more such findings", _subjects(rest)
        yield Finding(
            check=check, state=state, message=message, fix=LATER, count=len(rest), subjects=subjects
        )


def _subjects(results: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for result in results for name in result.subjects))


def _without(name: str, text: str) -> str:
    """The text with a mark in the place of a name that stands alone."""
    return _WORD.sub(lambda word: _SUBJECT if word[0] == name else word[0], text)

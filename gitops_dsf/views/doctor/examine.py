"""Runs the checks. If an input of a check could not be read, its result is unknown, and names the missing
permission.
"""

from collections.abc import Iterable, Iterator

from msgspec import structs

from dsf_wire.constants import ADDON_NAME, DSF_GROUP
from dsf_wire.text import printable
from gitops_dsf.hub.unread import Why
from gitops_dsf.views.doctor.checks.upstream import delivers
from gitops_dsf.views.doctor.facts import Facts, Source, name_of
from gitops_dsf.views.doctor.finding import RIGHTS, Finding, State, findings_of
from gitops_dsf.views.doctor.registry import CHECKS, Check


def examine(facts: Facts, checks: Iterable[Check] = CHECKS) -> tuple[Finding, ...]:
    """Returns findings in the order of the checks, at least one per check."""
    return tuple(_shown(finding) for check in checks for finding in _run(check, facts))


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


def _shown(finding: Finding) -> Finding:
    """Findings quote what agents, scoring APIs and other programs wrote into objects of the hub."""
    fix = None if finding.fix is None else printable(finding.fix)
    return structs.replace(finding, message=printable(finding.message), fix=fix)


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

"""Checks the reconciler, and compares the clocks of the hub and this machine."""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.hub.names import POD_LABEL
from gitops_dsf.hub.pods import obstacles, read_leadership
from gitops_dsf.views.doctor.facts import Facts, Source, name_of
from gitops_dsf.views.doctor.finding import Finding, error, ok, unknown, warning

CLOCK_WARNING: Final = 30.0
CLOCK_ERROR: Final = 300.0
"""Seconds. A short TTL is 900 s, so this error costs a third of it, and certificates start to be rejected."""


def reconciler(facts: Facts) -> Iterator[Finding]:
    """Does a reconciler lead?"""
    apply = facts.command(
        "apply", "--server-side", "--field-manager=argocd-controller", "-f", "rendered/reconciler"
    )
    lease = facts.one(Source.LEASES)
    pods = facts.objects.get(Source.RECONCILER_PODS, ())
    found = read_leadership(lease or {})
    if not found.stands(facts.inputs.now) and (reasons := obstacles(pods)):
        fix = facts.command("-n", facts.hub_namespace, "describe", "pods", "-l", POD_LABEL)
        edit = "  # the image is spec.reconciler.image in gitops-dsf.yaml"
        yield error(f"no reconciler leads: {'; '.join(reasons)}", fix + edit)
        return
    if lease is None and pods:
        yield warning(
            f"no reconciler ever led; pod {name_of(pods[0])} is there",
            facts.command("-n", facts.hub_namespace, "logs", "-l", POD_LABEL),
        )
        return
    if lease is None:
        yield warning(
            "no reconciler ever led: no status, no immediate moves, and with MakeBeforeBreak the old copies"
            " of applications stay",
            f"{apply}  # spec.reconciler.enabled in gitops-dsf.yaml",
        )
        return
    find = facts.command("-n", facts.hub_namespace, "get", "pods", "-l", POD_LABEL)
    if found.renewed is None:
        yield warning("the Lease of the reconciler was never renewed", find)
    elif found.stands(facts.inputs.now):
        yield ok(f"{found.holder or 'a replica that just stopped'} leads")
    else:
        ago = int((facts.inputs.now - found.renewed).total_seconds())
        yield warning(
            f"no reconciler leads: the Lease of {found.holder or 'nobody'} was last renewed {ago} s ago", find
        )


def clock(facts: Facts) -> Iterator[Finding]:
    """Do the hub's clock and this machine's agree? Agents reckon validUntil from the hub's; your logs and
    commands use yours.
    """
    offset = facts.clock_offset
    if offset is None:
        yield unknown("the hub's answers carry no Date")
        return
    ahead = f"the hub's clock is {abs(offset):.0f} s {'ahead of' if offset > 0 else 'behind'} this machine's"
    fix = (
        "timedatectl status  # on this machine and on the hub's nodes: one of them does not follow a time"
        " server"
    )
    if abs(offset) >= CLOCK_ERROR:
        yield error(ahead, fix)
    elif abs(offset) >= CLOCK_WARNING:
        yield warning(ahead, fix)
    else:
        yield ok("the hub's clock and this machine's agree")

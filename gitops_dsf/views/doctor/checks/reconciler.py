"""Checks whether a reconciler leads, and compares the clocks of the hub and of this machine."""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.hub.names import POD_LABEL
from gitops_dsf.hub.programs.leadership import read_lease_claim
from gitops_dsf.hub.programs.pods import obstacles
from gitops_dsf.views.doctor.facts import DoctorFacts, FactSource
from gitops_dsf.views.doctor.finding import DoctorFinding, error, ok, unknown, warning
from gitops_dsf.views.doctor.objects import name_of

# An HTTP date has whole seconds, and an answer can be slow. Less than this is not a finding.
CLOCK_WARNING_SECONDS: Final = 30.0
CLOCK_ERROR_SECONDS: Final = 300.0
"""A short TTL is 900 s, so this costs a third of it, and certificates start to be rejected."""


def reconciler(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Does a reconciler lead?"""
    lease = facts.one(FactSource.LEASES)
    pods = facts.of(FactSource.RECONCILER_PODS)
    leadership = read_lease_claim(lease or {})
    is_led = leadership.is_valid(facts.inputs.now)
    reasons = obstacles(pods)
    get_pods = facts.on_hub("get", "pods", "-l", POD_LABEL)
    # A second replica that cannot start harms nothing while the other one leads.
    if reasons and not is_led:
        describe = facts.on_hub("describe", "pods", "-l", POD_LABEL)
        yield error(
            f"no reconciler leads: {'; '.join(reasons)}",
            f"{describe}  # the image is spec.reconciler.image in gitops-dsf.yaml",
        )
    # Without a Lease the log of a pod says more than the command that would install it.
    elif lease is None and pods:
        yield warning(
            f"no reconciler ever led; pod {name_of(pods[0])} is there",
            facts.on_hub("logs", "-l", POD_LABEL),
        )
    elif lease is None:
        apply = facts.command(
            "apply",
            "--server-side",
            "--field-manager=argocd-controller",
            "-f",
            "rendered/reconciler",
        )
        yield warning(
            "no reconciler ever led: no status, no immediate moves, and with MakeBeforeBreak the"
            " old copies of applications stay",
            f"{apply}  # spec.reconciler.enabled in gitops-dsf.yaml",
        )
    elif leadership.renewed is None:
        yield warning("the Lease of the reconciler was never renewed", get_pods)
    elif is_led:
        yield ok(f"{leadership.holder or 'a replica that just stopped'} leads")
    else:
        ago = int((facts.inputs.now - leadership.renewed).total_seconds())
        holder = leadership.holder or "nobody"
        yield warning(
            f"no reconciler leads: the Lease of {holder} was last renewed {ago} s ago", get_pods
        )


def clock(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Do the hub's clock and this machine's agree?

    Agents reckon validUntil from the hub's clock; your logs and commands use yours.
    """
    offset = facts.clock_offset
    if offset is None:
        yield unknown("the hub's answers carry no Date")
        return
    if abs(offset) >= CLOCK_WARNING_SECONDS:
        direction = "ahead of" if offset > 0 else "behind"
        report = error if abs(offset) >= CLOCK_ERROR_SECONDS else warning
        yield report(
            f"the hub's clock is {abs(offset):.0f} s {direction} this machine's",
            "timedatectl status  # on this machine and on the hub's nodes: one of them does not"
            " follow a time server",
        )
    yield ok("the hub's clock and this machine's agree")

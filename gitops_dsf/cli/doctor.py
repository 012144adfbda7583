"""gitops-dsf doctor: finds what is wrong on a hub, with the command that fixes it."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from gitops_dsf.cli.arguments import chosen_context
from gitops_dsf.cli.terminal import json_text, wants_colour, wrapped
from gitops_dsf.hub.metadata import timestamp
from gitops_dsf.hubreader.facts import read_facts
from gitops_dsf.views.doctor.examine import examine, not_installed
from gitops_dsf.views.doctor.facts import DoctorHub, DoctorOutput, Finding, State
from gitops_dsf.wording import plural

COLOURS = {"error": "\033[31m", "warning": "\033[33m", "unknown": "\033[36m", "ok": "\033[32m"}
END = "\033[0m"


def run(args: argparse.Namespace) -> int:
    """Returns 1 for errors, with --strict for warnings, or if the hub refused a read. Raises HubError."""
    facts = read_facts(
        context=chosen_context(args),
        kubeconfig=args.kubeconfig,
        hub_namespace=args.hub_namespace,
        argocd_namespace=args.argocd_namespace,
    )
    findings = not_installed(facts) or examine(facts)
    if args.output == "json":
        states = Counter(finding.state for finding in findings)
        offset = None if facts.clock_offset is None else round(facts.clock_offset, 1)
        hub = DoctorHub(facts.inputs.snapshot.origin, timestamp(facts.inputs.now), offset)
        output = DoctorOutput(hub, findings, {str(state): states[state] for state in State})
        sys.stdout.write(json_text(output))
    else:
        sys.stdout.write(findings_text(findings, colour=wants_colour(sys.stdout)))
    bad = {State.ERROR, State.WARNING} if args.strict else {State.ERROR}
    return int(facts.refused or any(finding.state in bad for finding in findings))


def findings_text(findings: Sequence[Finding], *, colour: bool) -> str:
    """Formats findings for people, with a summary as the last line."""
    width = max(len(finding.check) for finding in findings)
    lines = []
    for finding in findings:
        state = f"{finding.state:<7}"
        painted = f"{COLOURS[finding.state]}{state}{END}" if colour else state
        message = wrapped(finding.message, indent=width + 11)
        lines.append(f"{painted}  {finding.check:<{width}}  {message}")
        if finding.fix:
            lines.append(f"{'':<{width + 11}}fix: {finding.fix}")
    states = Counter(str(finding.state) for finding in findings)
    checks = plural(len({finding.check for finding in findings}), "check")
    counts = f"{plural(states['error'], 'error')}, {plural(states['warning'], 'warning')}"
    return "\n".join(lines) + f"\n\n{checks}: {counts}, {states['unknown']} unknown\n"

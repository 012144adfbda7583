"""gitops-dsf doctor: finds what is wrong on a hub, with the command that fixes it."""

import argparse
import sys
from collections import Counter
from typing import TYPE_CHECKING

from gitops_dsf.cli.arguments import add_hub_arguments, add_output, chosen_context, json_text
from gitops_dsf.cli.terminal import wants_colour, wrapped
from gitops_dsf.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitops_dsf.views.doctor.facts import Finding

DESCRIPTION = """\
Checks everything on a hub that scoring needs: OCM and its feature gates, the agents, Argo CD and what it
says of the rendered tree, an upstream addon running beside us, scores, the reconciler, clocks. Each finding
comes with the command that fixes it. Reads the hub and writes nothing; of Secrets only the metadata. What
may not be read is "unknown", with the right that is missing."""

EXAMPLES = """\
examples:
  gitops-dsf doctor --context hub                   every check; 1 when there is an error
  gitops-dsf doctor --context hub --strict          1 also when there is a warning
  gitops-dsf doctor --context hub -o json           for programs: {"hub", "findings": [{check, state, message, fix}], "summary"}"""  # noqa: E501

COLOURS = {"error": "\033[31m", "warning": "\033[33m", "unknown": "\033[36m", "ok": "\033[32m"}
END = "\033[0m"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_hub_arguments(parser)
    parser.add_argument("--strict", action="store_true", help="exit with 1 for warnings, too")
    add_output(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    """Returns 0 without errors; 1 with errors, with --strict also with warnings, or when the hub refused what
    a check needs. Raises HubError when the hub cannot be read.
    """
    from gitops_dsf.hub.metadata import timestamp
    from gitops_dsf.hubreader.facts import read_facts
    from gitops_dsf.views.doctor.examine import examine, not_installed
    from gitops_dsf.views.doctor.facts import DoctorHub, DoctorOutput, State

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
        hub = DoctorHub(facts.overview.origin, timestamp(facts.overview.now), offset)
        output = DoctorOutput(hub, findings, {str(state): states[state] for state in State})
        sys.stdout.write(json_text(output))
    else:
        sys.stdout.write(findings_text(findings, colour=wants_colour(sys.stdout)))
    bad = {State.ERROR, State.WARNING} if args.strict else {State.ERROR}
    return int(facts.refused or any(finding.state in bad for finding in findings))


def findings_text(findings: "Sequence[Finding]", *, colour: bool) -> str:
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

"""The verb `gitops-dsf doctor`: finds problems on a hub, with the commands that fix them."""

import argparse
import sys
from collections import Counter

from gitops_dsf.cli.inputs import chosen_context
from gitops_dsf.hub.times import timestamp
from gitops_dsf.hubreader.facts import read_facts
from gitops_dsf.show.doctor import findings_text
from gitops_dsf.show.jsontext import json_text
from gitops_dsf.show.terminal import wants_colour
from gitops_dsf.views.doctor.examine import examine, not_installed
from gitops_dsf.views.doctor.finding import DoctorHub, DoctorOutput, State


def run(args: argparse.Namespace) -> int:
    """Returns 1 for errors, with --strict for warnings, or if the hub refused a read.

    Raises HubError.
    """
    facts = read_facts(
        context=chosen_context(args),
        kubeconfig=args.kubeconfig,
        hub_namespace=args.hub_namespace,
        argocd_namespace=args.argocd_namespace,
    )
    findings = not_installed(facts) or examine(facts)
    if args.output == "json":
        states = Counter(finding.state for finding in findings)
        # An HTTP date has whole seconds, so more digits would be those of the network.
        offset = None if facts.clock_offset is None else round(facts.clock_offset, 1)
        hub = DoctorHub(facts.inputs.snapshot.origin, timestamp(facts.inputs.now), offset)
        # Every state is there, with 0 if it has no finding, so that scripts need no default.
        output = DoctorOutput(hub, findings, {str(state): states[state] for state in State})
        sys.stdout.write(json_text(output))
    else:
        sys.stdout.write(findings_text(findings, colour=wants_colour(sys.stdout)))
    bad = {State.ERROR, State.WARNING} if args.strict else {State.ERROR}
    # A part that the hub refused is only "unknown". A pipeline must not take that for a healthy
    # hub.
    return int(facts.refused or any(finding.state in bad for finding in findings))

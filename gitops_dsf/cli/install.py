"""The verb `gitops-dsf install`: brings a hub with OCM and Argo CD to a running loop."""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Final

from dsf_wire.text import printable
from gitops_dsf.cli.giturl import check_url
from gitops_dsf.cli.inputs import check_is_folder, chosen_context
from gitops_dsf.cli.report import show_findings
from gitops_dsf.hubreader.facts import read_facts
from gitops_dsf.installation.hub import WritableHub, report
from gitops_dsf.installation.install import Installer
from gitops_dsf.installation.published import published_state
from gitops_dsf.installation.source import InstallSource, read_source
from gitops_dsf.show.doctor import findings_text
from gitops_dsf.show.terminal import wants_colour
from gitops_dsf.views.doctor.examine import CHECKS, examine
from gitops_dsf.views.doctor.finding import DoctorFinding, State
from gitops_dsf.wording import names_text

PASSING_SECONDS: Final = 60.0
"""The time in which errors that doctor finds after an installation may pass."""
# doctor lists all objects of the hub each time.
LOOK_AGAIN_SECONDS: Final = 5.0

_Examine = Callable[[bool], tuple[DoctorFinding, ...]]
"""Examines the hub: with True only what must be right before anything is installed."""


def run(args: argparse.Namespace) -> int:
    """Returns 0 when the loop runs without errors, or a dry run passes.

    Raises HubError, RepositoryError.
    """
    check_is_folder(args.directory)
    if args.repo is not None:
        check_url(args.repo)
    context = chosen_context(args)
    checked = read_source(args.directory, url=args.repo)
    source = checked.source
    if source is None:
        show_findings(args.directory, checked.diagnostics, ending="nothing was installed")
        return 1
    show_findings(args.directory, checked.diagnostics)
    # The same checks as those of `doctor`, before and after.
    examine = _doctor(args, context, source)
    if not _ready(examine(True), dry_run=args.dry_run):
        return 1
    waits = not (args.dry_run or args.no_wait)
    # With a new URL nothing can be pushed yet: the settings are written below.
    if source.new_settings is None and not _is_published(source, must=waits):
        return 1
    _apply(args, context, source)
    if not waits:
        return 0
    findings = _lasting_findings(examine)
    sys.stdout.write("\nThe loop runs. What doctor finds\n")
    sys.stdout.write(findings_text(findings, colour=wants_colour(sys.stdout)))
    return int(any(finding.state is State.ERROR for finding in findings))


def _doctor(args: argparse.Namespace, context: str, source: InstallSource) -> _Examine:
    """Reads the hub each time that it is examined."""

    def examined(first: bool) -> tuple[DoctorFinding, ...]:
        facts = read_facts(
            context=context,
            kubeconfig=args.kubeconfig,
            hub_namespace=source.settings.spec.hub_namespace,
            argocd_namespace=source.settings.spec.argocd.namespace,
        )
        return examine(facts, [check for check in CHECKS if check.first or not first])

    return examined


def _ready(findings: tuple[DoctorFinding, ...], *, dry_run: bool) -> bool:
    """Prints the first checks, and says whether nothing forbids the installation."""
    sys.stdout.write("What the hub needs before an installation\n")
    sys.stdout.write(findings_text(findings, colour=wants_colour(sys.stdout)))
    is_ready = all(finding.state is not State.ERROR for finding in findings)
    if not is_ready:
        print("\nnothing was changed: mend the errors first, and run install again")
    elif dry_run:
        print("\nWhat is applied (a dry run)")
    else:
        print("\nWhat is applied")
    sys.stdout.flush()
    return is_ready


def _is_published(source: InstallSource, *, must: bool) -> bool:
    """Says what must be pushed first. Returns whether to go on."""
    state = published_state(source)
    # Waiting is useless for objects that Argo CD cannot have. Without waiting, people may push
    # afterwards.
    if state.missing and must:
        print(printable(f"nothing was changed: {state.missing}"), file=sys.stderr)
        return False
    if state.missing or state.unknown:
        print(printable(f"note: {state.missing or state.unknown}"), file=sys.stderr)
    return True


def _lasting_findings(examine: _Examine) -> tuple[DoctorFinding, ...]:
    """The findings of doctor that stay.

    Conditions of objects that were just applied are often errors for some seconds, also of
    ApplicationSets that already have their applications, so errors are looked at again for a
    minute.
    """
    until = time.monotonic() + PASSING_SECONDS
    is_reported = False
    while True:
        findings = examine(False)
        checks = (finding.check for finding in findings if finding.state is State.ERROR)
        errors = list(dict.fromkeys(checks))
        if not errors or time.monotonic() >= until:
            return findings
        if not is_reported:
            is_reported = True
            report(
                f"doctor finds errors ({names_text(errors)}) that may pass: looking again for"
                f" {PASSING_SECONDS:.0f} s"
            )
        time.sleep(LOOK_AGAIN_SECONDS)


def _apply(args: argparse.Namespace, context: str, source: InstallSource) -> None:
    """Applies what Argo CD needs, and waits until the loop runs. Raises HubError.

    The repository is written only after the hub has validated every object.
    """
    with WritableHub(context=context, kubeconfig=args.kubeconfig, dry_run=args.dry_run) as hub:
        installer = Installer(hub=hub, source=source)
        # The API server validates every object in a dry run, admission policies included, before
        # the first one is applied: half an installation would be worse than none.
        installer.check()
        url = source.settings.spec.git.url
        if source.new_settings is not None and args.dry_run:
            report(
                f"gitops-dsf.yaml: spec.git.url would be set to {url}, and rendered/ would be"
                " rendered"
            )
        if args.dry_run:
            return
        if source.new_settings is not None:
            report(f"gitops-dsf.yaml: spec.git.url set to {url}, and rendered/ rendered")
        source.save()
        installer.apply()
        if source.new_settings is not None:
            report(
                f"Commit gitops-dsf.yaml and rendered/, and push them to {url}: Argo CD applies"
                " what is there"
            )
        if not args.no_wait:
            report("")
            report("What Argo CD does with it")
            installer.wait(seconds=args.timeout)

"""spec.reconciler -> the arguments of `gitops-dsf reconcile`. What holds by default is left out, so that a
diff shows what was decided.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from gitops_dsf.render.containers import METRICS_PORT
from gitops_dsf.repository.model.reconciler import Proposals, StateBranch
from gitops_dsf.repository.model.repository import FleetRepository

CREDENTIALS_DIR: Final = "/etc/gitops-dsf/git"
TMP_DIR: Final = "/tmp"  # noqa: S108 - an emptyDir of the pod's own
WORK_DIR: Final = f"{TMP_DIR}/gitops-dsf"


def arguments(repository: FleetRepository, *, placement_namespaces: Sequence[str] = ()) -> list[str]:
    """The verb and its flags; gitops_dsf/cli/reconcile.py reads them."""
    spec = repository.spec
    settings = spec.reconciler
    found = [
        "reconcile",
        f"--hub-namespace={spec.hub_namespace}",
        f"--argocd-namespace={spec.argocd.namespace}",
        f"--metrics-address=0.0.0.0:{METRICS_PORT}",
    ]
    probe, suspend = settings.probe, settings.suspend
    found += _unless_default("--probe-interval", probe.interval_seconds, 30)
    found += _unless_default("--probe-timeout", probe.timeout_seconds, 5)
    if suspend.enabled:
        found.append("--suspend")
        found += _unless_default("--suspend-quorum", suspend.quorum_percent, 50)
    if settings.uses_git:
        found += _git(repository)
    if settings.proposals.kinds:
        found += _proposals(settings.proposals)
    if settings.state.enabled:
        found += _state(settings.state)
        found += (f"--placement-namespace={name}" for name in placement_namespaces)
    if settings.journal.enabled:
        found.append(f"--journal-branch={settings.journal.branch}")
        found += _unless_default("--journal-interval", settings.journal.interval_seconds, 300)
    return found


def _git(repository: FleetRepository) -> Iterator[str]:
    git, settings = repository.spec.git, repository.spec.reconciler
    yield f"--git-url={git.url}"
    yield from _unless_default("--git-branch", git.target_revision, "main")
    yield from _unless_default("--git-path", git.path, "")
    if settings.git_secret is not None:
        yield f"--git-credentials={CREDENTIALS_DIR}"
    yield f"--work-dir={WORK_DIR}"
    author = settings.proposals.author
    if author is not None:
        yield f"--author={author.name} <{author.email}>"


def _proposals(proposals: Proposals) -> Iterator[str]:
    yield f"--propose={','.join(sorted({kind.lower() for kind in proposals.kinds}, reverse=True))}"
    yield from _unless_default("--propose-interval", proposals.interval_seconds, 60)
    yield from _unless_default("--max-proposals", proposals.max_open, 10)
    yield from _unless_default("--proposal-prefix", proposals.branch_prefix, "gitops-dsf/")
    yield from _unless_default("--message-template", proposals.message_template, None)
    if proposals.forge != "None":
        yield f"--forge={proposals.forge.lower()}"
        yield from _unless_default("--forge-url", proposals.forge_url, None)
    if proposals.direct:
        yield "--direct"


def _state(state: StateBranch) -> Iterator[str]:
    yield f"--state-branch={state.branch}"
    yield from _unless_default("--state-interval", state.interval_seconds, 300)


def _unless_default(flag: str, value: object, default: object) -> list[str]:
    return [] if value == default else [f"{flag}={value}"]

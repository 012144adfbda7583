"""gitops-dsf reconcile: what git cannot know, observed on the hub."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsf_runtime.access import Access
    from gitops_dsf.reconciler.settings import GitSettings, ProposalSettings, Settings

DESCRIPTION = """\
Runs beside Argo CD on the hub until it is stopped: probes every DynamicScorer, writes its status (health,
whether /config still says what was accepted, on how many clusters scores are fresh), and asks Argo CD to look
at a placement decision as soon as it changed; the old copy of an application that moved is deleted once the
new one is healthy (moves.strategy MakeBeforeBreak). Replicas take turns by a Lease. Of what Argo CD owns, one
annotation is written and such Applications are deleted, nothing else."""

EXAMPLES = """\
examples:
  gitops-dsf reconcile                          inside the hub, with the pod's own account
  gitops-dsf reconcile --context hub            from outside
  gitops-dsf reconcile --git-url https://git.example.com/fleet.git --git-credentials /etc/git \\
      --propose locks,inventory --state-branch gitops-dsf-state
                                                bring news back to git, and a snapshot for previews

The log is JSON on standard error. /metrics, /healthz and /readyz are on --metrics-address."""


AUTHOR = "gitops-dsf <gitops-dsf@users.noreply.invalid>"
KINDS = frozenset({"locks", "inventory"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of reconcile."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument(
        "--context",
        metavar="NAME",
        help="context of the kubeconfig; without it and --kubeconfig the pod's own account",
    )
    parser.add_argument("--kubeconfig", metavar="FILE", type=Path, help="kubeconfig file")
    parser.add_argument(
        "--hub-namespace", metavar="NAME", default="open-cluster-management", help="(open-cluster-management)"
    )
    parser.add_argument(
        "--argocd-namespace",
        metavar="NAME",
        default="argocd",
        help="where ApplicationSets and Placements are (argocd)",
    )
    parser.add_argument(
        "--metrics-address",
        metavar="HOST:PORT",
        default="127.0.0.1:8080",
        help="(127.0.0.1:8080); port 0 takes a free one",
    )
    parser.add_argument(
        "--probe-interval",
        metavar="SECONDS",
        type=float,
        default=30.0,
        help="between two rounds of probes (30)",
    )
    parser.add_argument(
        "--probe-timeout", metavar="SECONDS", type=float, default=5.0, help="for each page, all in all (5)"
    )
    suspension = parser.add_argument_group("suspension (off unless asked for)")
    suspension.add_argument(
        "--suspend", action="store_true", help="suspend scorers that neither the hub nor the agents reach"
    )
    suspension.add_argument(
        "--suspend-quorum",
        metavar="PERCENT",
        type=int,
        default=50,
        help="of a scorer's clusters, how many must have no fresh score before it is suspended (50)",
    )
    git = parser.add_argument_group("the fleet repository (without --git-url it only reports)")
    git.add_argument(
        "--git-url", metavar="URL", help="where proposals, the state branch and the journal are pushed to"
    )
    git.add_argument(
        "--git-branch",
        metavar="NAME",
        default="main",
        help="the protected branch, which Argo CD follows (main)",
    )
    git.add_argument(
        "--git-path", metavar="FOLDER", default="", help="folder of the fleet in the repository (its root)"
    )
    git.add_argument(
        "--git-credentials",
        metavar="DIR",
        type=Path,
        help="mounted Secret: token, or username and password, or ssh-privatekey and known_hosts",
    )
    git.add_argument(
        "--work-dir", metavar="DIR", type=Path, help="where the shallow clone is kept (a temporary folder)"
    )
    git.add_argument("--author", metavar="TEXT", default=AUTHOR, help=f"of the commits ({AUTHOR})")
    proposals = parser.add_argument_group("proposals")
    proposals.add_argument(
        "--propose",
        metavar="KINDS",
        default="",
        help="locks, inventory, or both with a comma; nothing by default",
    )
    proposals.add_argument(
        "--propose-interval", metavar="SECONDS", type=float, default=60.0, help="between two looks (60)"
    )
    proposals.add_argument(
        "--max-proposals", metavar="N", type=int, default=10, help="that wait for people at a time (10)"
    )
    proposals.add_argument(
        "--proposal-prefix", metavar="TEXT", default="gitops-dsf/", help="of the branches (gitops-dsf/)"
    )
    proposals.add_argument(
        "--message-template",
        metavar="TEXT",
        default="",
        help="of the commits; {subject} and {body} are filled in",
    )
    proposals.add_argument(
        "--forge",
        choices=("github",),
        default="",
        help="open pull requests; needs a token in the credentials",
    )
    proposals.add_argument(
        "--forge-url", metavar="URL", default="", help="of the forge's API (its public one)"
    )
    proposals.add_argument(
        "--direct", action="store_true", help="commit to the protected branch instead of offering branches"
    )
    state = parser.add_argument_group("state branch")
    state.add_argument(
        "--state-branch",
        metavar="NAME",
        default="",
        help="keep a snapshot of scores and decisions there, for previews",
    )
    state.add_argument(
        "--state-interval", metavar="SECONDS", type=float, default=300.0, help="between two snapshots (300)"
    )
    state.add_argument(
        "--placement-namespace",
        metavar="NAME",
        action="append",
        default=[],
        help="another namespace than Argo CD's whose decisions are in the snapshot; may be repeated",
    )
    journal = parser.add_argument_group("journal")
    journal.add_argument(
        "--journal-branch",
        metavar="NAME",
        default="",
        help="append a record of each changed decision to this branch",
    )
    journal.add_argument(
        "--journal-interval",
        metavar="SECONDS",
        type=float,
        default=300.0,
        help="between two pushes of records (300)",
    )


def run(args: argparse.Namespace) -> int:
    """Reconciles until it is stopped."""
    import asyncio

    from gitops_dsf.errors import GitopsDsfError

    try:
        from dsf_runtime import logs
        from dsf_runtime.access import AccessError
        from gitops_dsf.reconciler import run as program
    except ModuleNotFoundError as error:
        msg = f"{error.name} is not installed; reconciling needs: pip install 'gitops-dsf[live]'"
        raise GitopsDsfError(msg) from error
    settings, load = _settings(args), _loader(args)
    try:
        load()  # a wrong context is a message, not a log line
    except AccessError as error:
        raise GitopsDsfError(str(error)) from error
    logs.configure(package="gitops_dsf", formatter=logs.JsonFormatter(below="gitops_dsf", traceback="error"))
    asyncio.run(program.run(settings, load=load))
    return 0


def _settings(args: argparse.Namespace) -> "Settings":
    from gitops_dsf.errors import UsageError
    from gitops_dsf.reconciler.settings import JournalSettings, Settings, StateSettings, SuspensionSettings

    host, _, port = args.metrics_address.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        msg = (
            f"--metrics-address {args.metrics_address}: write HOST:PORT, such as 127.0.0.1:8080, or :8080 for"
            " every address"
        )
        raise UsageError(msg)
    if not 0 < args.probe_timeout <= 60 or not 1 <= args.probe_interval <= 3600:
        msg = "--probe-timeout is above 0 and at most 60 seconds, --probe-interval 1 to 3600"
        raise UsageError(msg)
    if not 1 <= args.suspend_quorum <= 100 or not 10 <= args.state_interval <= 86_400:
        msg = "--suspend-quorum is 1 to 100 percent, --state-interval 10 to 86400 seconds"
        raise UsageError(msg)
    if not 10 <= args.journal_interval <= 86_400:
        msg = "--journal-interval is 10 to 86400 seconds"
        raise UsageError(msg)
    return Settings(
        hub_namespace=args.hub_namespace,
        argocd_namespace=args.argocd_namespace,
        metrics_host=host.strip("[]"),
        metrics_port=int(port),
        probe_interval=args.probe_interval,
        probe_timeout=args.probe_timeout,
        suspension=SuspensionSettings(enabled=args.suspend, quorum_percent=args.suspend_quorum),
        git=_git(args),
        proposals=_proposals(args),
        state=StateSettings(
            branch=args.state_branch,
            interval=args.state_interval,
            placement_namespaces=tuple(args.placement_namespace),
        ),
        journal=JournalSettings(branch=args.journal_branch, interval=args.journal_interval),
    )


def _git(args: argparse.Namespace) -> "GitSettings | None":
    from gitops_dsf.errors import UsageError
    from gitops_dsf.reconciler.git.commit import Author
    from gitops_dsf.reconciler.git.url import checked
    from gitops_dsf.reconciler.settings import GitSettings

    if not args.git_url:
        if args.propose or args.state_branch or args.journal_branch:
            msg = (
                "--propose, --state-branch and --journal-branch push to a repository: name it with --git-url"
            )
            raise UsageError(msg)
        return None
    if args.state_branch == args.git_branch:
        msg = (
            f"--state-branch {args.state_branch} is the protected branch: its content would be replaced; name"
            " another one"
        )
        raise UsageError(msg)
    if args.journal_branch and args.journal_branch in {args.git_branch, args.state_branch}:
        msg = f"--journal-branch {args.journal_branch} has another use already; name a branch of its own"
        raise UsageError(msg)
    return GitSettings(
        url=checked(args.git_url),
        branch=args.git_branch,
        path=args.git_path.strip("/"),
        credentials=args.git_credentials,
        work_dir=args.work_dir,
        author=str(Author.parse(args.author)),
    )


def _proposals(args: argparse.Namespace) -> "ProposalSettings":
    from gitops_dsf.errors import UsageError
    from gitops_dsf.reconciler.settings import ProposalSettings

    kinds = frozenset(item.strip() for item in args.propose.split(",") if item.strip())
    if kinds - KINDS:
        msg = (
            f"--propose {args.propose}: {', '.join(sorted(kinds - KINDS))} is not known; write locks,"
            " inventory, or both with a comma"
        )
        raise UsageError(msg)
    if args.direct and args.forge:
        msg = (
            "--direct commits to the protected branch: there is no pull request that --forge could open;"
            " leave one of them out"
        )
        raise UsageError(msg)
    if not 1 <= args.propose_interval <= 86_400 or not 1 <= args.max_proposals <= 100:
        msg = "--propose-interval is 1 to 86400 seconds, --max-proposals 1 to 100"
        raise UsageError(msg)
    if kinds:
        _check_branches(args)
    return ProposalSettings(
        kinds=kinds,
        interval=args.propose_interval,
        max_open=args.max_proposals,
        prefix=args.proposal_prefix,
        message_template=args.message_template,
        forge=args.forge,
        forge_url=args.forge_url,
        direct=args.direct,
    )


def _check_branches(args: argparse.Namespace) -> None:
    """What would fail at the first proposal fails at the start."""
    from gitops_dsf.reconciler.forge.address import address, github_api
    from gitops_dsf.reconciler.proposals.message import check_template
    from gitops_dsf.reconciler.proposals.proposal import Naming

    Naming(prefix=args.proposal_prefix, folder=args.git_path)
    check_template(args.message_template)
    if args.forge and args.git_url:
        github_api(address(args.git_url), url=args.forge_url)


def _loader(args: argparse.Namespace) -> "Callable[[], Access]":
    from dsf_runtime.access import InCluster
    from dsf_runtime.kubeconfig import Kubeconfig

    inside = args.context is None and args.kubeconfig is None
    return InCluster().load if inside else Kubeconfig(path=args.kubeconfig, context=args.context).load

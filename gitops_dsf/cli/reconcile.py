"""gitops-dsf reconcile: what git cannot know, observed on the hub."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitops_dsf.reconciler.settings import GitSettings, Settings
    from gitops_dsf.repository.model.repository import FleetRepositorySpec

DESCRIPTION = """\
Runs beside Argo CD on the hub until it is stopped: probes every DynamicScorer, writes its status (health,
whether /config still says what was accepted, on how many clusters scores are fresh), and asks Argo CD to look
at a placement decision as soon as it changed; the old copy of an application that moved is deleted once the
new one is healthy (moves.strategy MakeBeforeBreak). Replicas take turns by a Lease. Of what Argo CD owns, one
annotation is written and such Applications are deleted, nothing else. What else it does (suspension,
proposals, the state branch, the journal) is in spec.reconciler of gitops-dsf.yaml."""

EXAMPLES = """\
examples:
  gitops-dsf reconcile --config /etc/gitops-dsf/gitops-dsf.yaml
                                                inside the hub, with the pod's own account
  gitops-dsf reconcile --context hub            from outside, in the folder of the fleet

The log is JSON on standard error. /metrics, /healthz and /readyz are on --metrics-address."""


AUTHOR = "gitops-dsf <gitops-dsf@users.noreply.invalid>"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--context",
        metavar="NAME",
        help="context of the kubeconfig; without it and --kubeconfig the pod's own account",
    )
    parser.add_argument("--kubeconfig", metavar="FILE", type=Path, help="kubeconfig file")
    parser.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        default=Path("gitops-dsf.yaml"),
        help="the FleetRepository, read once (gitops-dsf.yaml)",
    )
    parser.add_argument(
        "--metrics-address",
        metavar="HOST:PORT",
        default="127.0.0.1:8080",
        help="(127.0.0.1:8080); port 0 takes a free one",
    )
    parser.add_argument(
        "--placement-namespace",
        metavar="NAME",
        action="append",
        default=[],
        help="another namespace than Argo CD's whose decisions are in the snapshot; may be repeated",
    )
    parser.add_argument(
        "--git-credentials",
        metavar="DIR",
        type=Path,
        help="mounted Secret: token, or username and password, or ssh-privatekey and known_hosts",
    )
    parser.add_argument(
        "--credentials",
        metavar="DIR",
        type=Path,
        help="mounted Secrets that scoring.auth of scorers names, each value in the file <secret>/<key>",
    )
    parser.add_argument(
        "--work-dir", metavar="DIR", type=Path, help="where the shallow clone is kept (a temporary folder)"
    )


def run(args: argparse.Namespace) -> int:
    import asyncio
    import gc

    from gitops_dsf.errors import GitopsDsfError

    try:
        from dsf_runtime import logs
        from dsf_runtime.access import AccessError, InCluster
        from gitops_dsf.hubreader.kubeconfig import Kubeconfig
        from gitops_dsf.reconciler import run as program
    except ModuleNotFoundError as error:
        raise GitopsDsfError(
            f"{error.name} is not installed; reconciling needs: pip install 'gitops-dsf[live]'"
        ) from error
    gc.enable()
    settings = _settings(args)
    inside = args.context is None and args.kubeconfig is None
    load = InCluster().load if inside else Kubeconfig(path=args.kubeconfig, context=args.context).load
    try:
        load()  # a wrong context is a message, not a log line
    except AccessError as error:
        raise GitopsDsfError(str(error)) from error
    logs.configure(package="gitops_dsf", formatter=logs.JsonFormatter(below="gitops_dsf", traceback="error"))
    asyncio.run(program.run(settings, load=load))
    return 0


def _settings(args: argparse.Namespace) -> "Settings":
    from gitops_dsf.errors import UsageError
    from gitops_dsf.reconciler.settings import Settings, read

    host, _, port = args.metrics_address.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise UsageError(
            f"--metrics-address {args.metrics_address}: write HOST:PORT, such as 127.0.0.1:8080, or :8080 for"
            " every address"
        )
    spec = read(args.config)
    return Settings(
        spec=spec,
        metrics_host=host.strip("[]"),
        metrics_port=int(port),
        git=_git(args, spec) if spec.reconciler.uses_git else None,
        placement_namespaces=tuple(args.placement_namespace),
        secrets=args.credentials,
    )


def _git(args: argparse.Namespace, spec: "FleetRepositorySpec") -> "GitSettings":
    from gitops_dsf.reconciler.git.credentials import checked
    from gitops_dsf.reconciler.settings import GitSettings

    author = spec.reconciler.proposals.author
    return GitSettings(
        url=checked(spec.git.url),
        branch=spec.git.target_revision,
        path=spec.git.path.strip("/"),
        credentials=args.git_credentials,
        work_dir=args.work_dir,
        author=AUTHOR if author is None else f"{author.name} <{author.email}>",
    )

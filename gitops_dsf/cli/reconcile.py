"""The verb `gitops-dsf reconcile`: observes on the hub what git cannot know."""

import argparse
import asyncio
import gc
from typing import Final

from gitops_dsf.errors import GitopsDsfError, UsageError
from gitops_dsf.repository.model.repository import FleetRepositorySpec

# `main` imports this module only for this verb, so the others work without the extra.
try:
    from dsf_runtime import logs
    from dsf_runtime.access import AccessError, InCluster
    from gitops_dsf.hubreader.kubeconfig import Kubeconfig
    from gitops_dsf.reconciler import run as program
    from gitops_dsf.reconciler.git.credentials import checked
    from gitops_dsf.reconciler.settings import GitSettings, ReconcilerSettings, read
except ModuleNotFoundError as error:
    raise GitopsDsfError(
        f"{error.name} is not installed; reconciling needs the extra live (docs/start/install.md)"
    ) from error

AUTHOR: Final = "gitops-dsf <gitops-dsf@users.noreply.invalid>"
"""The author of commits by default. The domain is reserved (RFC 2606)."""


def run(args: argparse.Namespace) -> int:
    """Runs the reconciler until it is stopped. Raises GitopsDsfError if it cannot start."""
    # `main` disables the collector for verbs that end soon; this one runs for months.
    gc.enable()
    settings = _settings(args)
    # The credentials of a pod change while it runs, and are read again; so this is a function.
    load = InCluster().load
    if args.context is not None or args.kubeconfig is not None:
        load = Kubeconfig(path=args.kubeconfig, context=args.context).load
    try:
        load()  # a wrong context is a message, not a log line
    except AccessError as error:
        raise GitopsDsfError(str(error)) from error
    logs.configure(
        package="gitops_dsf", formatter=logs.JsonFormatter(below="gitops_dsf", traceback="error")
    )
    asyncio.run(program.run(settings, load=load))
    return 0


def _settings(args: argparse.Namespace) -> ReconcilerSettings:
    """The settings of flags and of the configuration file. Raises UsageError or GitopsDsfError."""
    host, _, port = args.metrics_address.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise UsageError(
            f"--metrics-address {args.metrics_address}: write HOST:PORT, such as 127.0.0.1:8080, or"
            " :8080 for every address"
        )
    spec = read(args.config)
    return ReconcilerSettings(
        spec=spec,
        # `[::1]:8080` is how an IPv6 address is written before a port; a socket wants it bare.
        metrics_host=host.strip("[]"),
        metrics_port=int(port),
        # Without proposals, state branch and journal it needs neither credentials nor a clone.
        git=_git(args, spec) if spec.reconciler.uses_git else None,
        placement_namespaces=tuple(args.placement_namespace),
        multi_kueue_namespaces=tuple(args.multikueue_namespace),
        secrets=args.credentials,
        store_secrets=args.store_credentials,
    )


def _git(args: argparse.Namespace, spec: FleetRepositorySpec) -> GitSettings:
    author = spec.reconciler.proposals.author
    return GitSettings(
        url=checked(spec.git.url),
        branch=spec.git.target_revision,
        path=spec.git.path.strip("/"),
        credentials=args.git_credentials,
        work_dir=args.work_dir,
        author=AUTHOR if author is None else f"{author.name} <{author.email}>",
    )

"""gitops-dsf reconcile: what git cannot know, observed on the hub."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitops_dsf.live.access import Access
    from gitops_dsf.reconciler.run import Settings

DESCRIPTION = """\
Runs beside Argo CD on the hub until it is stopped: probes every DynamicScorer, writes its status (health, whether /config still
says what was accepted, on how many clusters scores are fresh), and asks Argo CD to look at a placement decision as soon as it
changed. Replicas take turns by a Lease. Nothing that Argo CD owns is written but one annotation."""

EXAMPLES = """\
examples:
  gitops-dsf reconcile                          inside the hub, with the pod's own account
  gitops-dsf reconcile --context hub            from outside
  gitops-dsf reconcile --context hub --once     one pass over all scorers: probe, write status, end

The log is JSON on standard error. /metrics, /healthz and /readyz are on --metrics-address."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of reconcile."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument("--context", metavar="NAME", help="context of the kubeconfig; without it and --kubeconfig the pod's own account")
    parser.add_argument("--kubeconfig", metavar="FILE", type=Path, help="kubeconfig file")
    parser.add_argument("--hub-namespace", metavar="NAME", default="open-cluster-management", help="(open-cluster-management)")
    parser.add_argument("--argocd-namespace", metavar="NAME", default="argocd", help="where ApplicationSets and Placements are (argocd)")
    parser.add_argument(
        "--metrics-address", metavar="HOST:PORT", default="127.0.0.1:8080", help="(127.0.0.1:8080); port 0 takes a free one"
    )
    parser.add_argument("--probe-interval", metavar="SECONDS", type=float, default=30.0, help="between two rounds of probes (30)")
    parser.add_argument("--probe-timeout", metavar="SECONDS", type=float, default=5.0, help="for each page, all in all (5)")
    parser.add_argument("--once", action="store_true", help="one pass over all scorers, then end")


def run(args: argparse.Namespace) -> int:
    """Reconciles until it is stopped."""
    import asyncio
    import sys

    from gitops_dsf.errors import GitopsDsfError

    try:
        from gitops_dsf.reconciler import run as program
        from gitops_dsf.reconciler.log import log_as_json
    except ModuleNotFoundError as error:
        msg = f"{error.name} is not installed; reconciling needs: pip install 'gitops-dsf[live]'"
        raise GitopsDsfError(msg) from error
    settings, load = _settings(args), _loader(args)
    load()  # a wrong context is a message, not a log line
    log_as_json()
    if args.once:
        written = asyncio.run(program.run_once(settings, load=load))
        sys.stdout.write(f"{written} statuses written\n")
    else:
        asyncio.run(program.run(settings, load=load))
    return 0


def _settings(args: argparse.Namespace) -> "Settings":
    from gitops_dsf.errors import UsageError
    from gitops_dsf.reconciler.run import Settings

    host, _, port = args.metrics_address.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        msg = f"--metrics-address {args.metrics_address}: write HOST:PORT, such as 127.0.0.1:8080, or :8080 for every address"
        raise UsageError(msg)
    if not 0 < args.probe_timeout <= 60 or not 1 <= args.probe_interval <= 3600:
        msg = "--probe-timeout is above 0 and at most 60 seconds, --probe-interval 1 to 3600"
        raise UsageError(msg)
    return Settings(
        hub_namespace=args.hub_namespace,
        argocd_namespace=args.argocd_namespace,
        metrics_host=host.strip("[]"),
        metrics_port=int(port),
        probe_interval=args.probe_interval,
        probe_timeout=args.probe_timeout,
    )


def _loader(args: argparse.Namespace) -> "Callable[[], Access]":
    from gitops_dsf.live.access import load_access

    return lambda: load_access(context=args.context, kubeconfig=args.kubeconfig)

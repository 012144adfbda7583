"""The arguments that several verbs share."""

import argparse
from pathlib import Path


def add_fleet_directory(parser: argparse.ArgumentParser) -> None:
    """Adds DIR, the fleet repository."""
    parser.add_argument(
        "directory",
        metavar="DIR",
        nargs="?",
        type=Path,
        default=Path(),
        help="fleet repository; this folder by default",
    )


def add_hub_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --context, --kubeconfig, --hub-namespace and --argocd-namespace."""
    hub = parser.add_argument_group("which hub")
    hub.add_argument("--context", metavar="HUB", required=True, help="context of the kubeconfig")
    hub.add_argument(
        "--kubeconfig", metavar="FILE", type=Path, help="in place of $KUBECONFIG or ~/.kube/config"
    )
    hub.add_argument(
        "--hub-namespace",
        metavar="NAME",
        default="open-cluster-management",
        help="where scorers are (open-cluster-management)",
    )
    hub.add_argument(
        "--argocd-namespace",
        metavar="NAME",
        default="argocd",
        help="where ApplicationSets and Placements are (argocd)",
    )

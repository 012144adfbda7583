"""Reads a hub, or files that hold what one had. Uses the Kubernetes client (extra `live`)."""

from gitops_dsf.hubreader.hub import observe

__all__ = ["observe"]

"""A hub as a source of objects. The only package that imports the Kubernetes client (extra `live`)."""

from gitops_dsf.hubreader.hub import observe

__all__ = ["observe"]

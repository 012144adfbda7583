"""Renders a plan as files, one Kubernetes object per file. The bytes are the same everywhere. Pure."""

from gitops_dsf.render.tree import RenderedTree, render

__all__ = ["RenderedTree", "render"]

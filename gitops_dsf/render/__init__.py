"""Plan -> files: one Kubernetes object per file, byte for byte the same everywhere. Pure."""

from gitops_dsf.render.tree import RenderedTree, render

__all__ = ["RenderedTree", "render"]

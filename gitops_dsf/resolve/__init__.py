"""Cross-object meaning: effective scorers, targets and applications, with every rule checked. Pure."""

from gitops_dsf.resolve.decide import resolve

__all__ = ["resolve"]

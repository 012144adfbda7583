"""Computes effective scorers, targets and applications, and checks every rule. Pure."""

from gitops_dsf.resolve.decide import resolve

__all__ = ["resolve"]

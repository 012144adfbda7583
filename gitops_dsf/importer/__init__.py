"""Writes what a hub knows into a fleet repository, and keeps what people wrote there."""

from gitops_dsf.importer.manifest import Selection
from gitops_dsf.importer.take import Import, Line, take

__all__ = ["Import", "Line", "Selection", "take"]

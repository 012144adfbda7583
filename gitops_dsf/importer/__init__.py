"""Writes a hub's clusters, sets, scorers, locks and masks into a fleet repository, and keeps what people
wrote there.
"""

from gitops_dsf.importer.result import Import, Line
from gitops_dsf.importer.selection import Selection
from gitops_dsf.importer.take import take

__all__ = ["Import", "Line", "Selection", "take"]

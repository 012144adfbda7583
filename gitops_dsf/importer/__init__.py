"""A hub's clusters, sets, scorers, their locks and masks into the files of a fleet repository, without losing
what people wrote there.
"""

from gitops_dsf.importer.result import Import, Line
from gitops_dsf.importer.selection import Selection
from gitops_dsf.importer.take import take

__all__ = ["Import", "Line", "Selection", "take"]

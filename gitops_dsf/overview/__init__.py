"""How scoring stands on a hub: scorers by clusters, decisions and what would flip them, applications on their way.

Pure: `build` makes a frozen model of what was read; reading is the business of `live`, showing that of `cli`.
"""

from gitops_dsf.overview.build import Filter, UnknownNameError, build
from gitops_dsf.overview.inputs import Inputs, Part
from gitops_dsf.overview.model import Overview

__all__ = ["Filter", "Inputs", "Overview", "Part", "UnknownNameError", "build"]

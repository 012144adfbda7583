"""How scoring stands on a hub: scorers by clusters, decisions and what would flip them, applications on their
way.

Pure: `build` makes a frozen model of what was read; reading is the business of `live`, showing that of `cli`.
"""

from gitops_dsf.views.status.build import Filter, UnknownNameError, build
from gitops_dsf.views.status.inputs import Inputs, Part
from gitops_dsf.views.status.model import Overview

__all__ = ["Filter", "Inputs", "Overview", "Part", "UnknownNameError", "build"]

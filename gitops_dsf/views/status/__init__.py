"""The state of scoring on a hub: scorers by clusters, decisions and what would flip them, applications and
their moves.

Pure: `build` makes a frozen model from what was read. `hubreader` reads the hub, and `cli` shows the model.
"""

from gitops_dsf.views.status.build import Filter, build
from gitops_dsf.views.status.inputs import Inputs, Part
from gitops_dsf.views.status.model import Overview

__all__ = ["Filter", "Inputs", "Overview", "Part", "build"]

"""Computes what OCM's placement controller would decide, from the objects of a hub.

The rules follow the controller's source, traps included; docs/decisions/scheduler.md explains them. Of
gitops_dsf, this package imports only the hub model. It does no I/O.
"""

from gitops_dsf.simulator.cel.function import Unsupported
from gitops_dsf.simulator.defaults import with_defaults
from gitops_dsf.simulator.documents import SimulatorInputError
from gitops_dsf.simulator.explain import Contribution, Explanation, Flip, explain, margins
from gitops_dsf.simulator.groups import DecisionObject, Group
from gitops_dsf.simulator.scheduler import simulate, simulate_placement
from gitops_dsf.simulator.state import HubState
from gitops_dsf.simulator.status import Code, Status
from gitops_dsf.simulator.verdict import Drop, Outcome, Verdict

__all__ = [
    "Code",
    "Contribution",
    "DecisionObject",
    "Drop",
    "Explanation",
    "Flip",
    "Group",
    "HubState",
    "Outcome",
    "SimulatorInputError",
    "Status",
    "Unsupported",
    "Verdict",
    "explain",
    "margins",
    "simulate",
    "simulate_placement",
    "with_defaults",
]

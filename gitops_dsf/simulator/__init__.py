"""Computes the decisions of OCM's placement controller from the objects of a hub.

Guaranteed: a verdict is that of OCM v1.2.1, traps included, or it is Unsupported. Comments name the
controller's functions below pkg/placement; docs/decisions/scheduler.md explains the rules. The
package does no I/O, and of gitops_dsf it imports the hub model and the type of a mistake. Not
guaranteed: when OCM makes a pass, and what other versions decide.

A pass goes through the modules in this order: `membership` finds the clusters, `predicates` and
`taints` filter them, `prioritizers` score them, `ranking` selects, `groups` cut the selection into
PlacementDecisions, `conditions` say how it went. `scheduler` calls them, and returns a `Verdict`.
"""

from gitops_dsf.simulator.cel.function import Unsupported
from gitops_dsf.simulator.defaults import with_defaults
from gitops_dsf.simulator.documents import SimulatorInputError
from gitops_dsf.simulator.explain import Contribution, Explanation, Flip, explain, margins
from gitops_dsf.simulator.groups import DecisionObject, Group
from gitops_dsf.simulator.outcome import Outcome
from gitops_dsf.simulator.scheduler import simulate, simulate_placement
from gitops_dsf.simulator.state import HubState
from gitops_dsf.simulator.status import Code, Status
from gitops_dsf.simulator.verdict import Verdict
from gitops_dsf.simulator.verdict_data import Drop, VerdictData

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
    "VerdictData",
    "explain",
    "margins",
    "simulate",
    "simulate_placement",
    "with_defaults",
]

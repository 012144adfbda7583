"""The result of a filter of OCM's scheduler, the same for each filter."""

from dataclasses import dataclass, field

from gitops_dsf.simulator.cel.function import Unsupported
from gitops_dsf.simulator.status import SUCCESS, Status


@dataclass(frozen=True, slots=True)
class Filtered:
    """The clusters that pass a filter, and how it went."""

    clusters: tuple[int, ...] = field(repr=False)
    status: Status = SUCCESS
    unsupported: tuple[Unsupported, ...] = ()
    """If it is not empty, it is unknown whether some clusters pass."""

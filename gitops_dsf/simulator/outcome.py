"""Outcomes of a pass over a Placement."""

from enum import StrEnum


class Outcome(StrEnum):
    SCHEDULED = "Scheduled"
    """The controller completed its pass, successfully or not; see status and conditions."""
    DISABLED = "Disabled"
    """It has the annotation experimental-scheduling-disable: decisions stay.

    The rest is what would be.
    """
    DELETING = "Deleting"
    """The Placement is being deleted: decisions stay until they go with it.

    Else as for DISABLED.
    """
    FAILED = "Failed"
    """The pass ends before it schedules (an invalid ManagedClusterSet).

    Decisions stay as they are.
    """
    PANIC = "Panic"
    """The controller panics on each reconciliation, and recovers.

    The old decision stays until a fix.
    """
    UNSUPPORTED = "Unsupported"
    """The simulator has no answer.

    The decision depends on a CEL feature that it does not reproduce.
    """

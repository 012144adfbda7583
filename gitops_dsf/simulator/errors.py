"""What can go wrong before there is anything to schedule."""

from __future__ import annotations


class SimulatorInputError(ValueError):
    """The objects given to the simulator cannot be the objects of a hub.

    The message names the object, the field and what was expected there. It is raised before any scheduling,
    so a verdict never rests on half-read input.
    """

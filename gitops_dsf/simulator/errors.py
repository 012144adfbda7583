"""Errors in the input of the simulator."""

from __future__ import annotations


class SimulatorInputError(ValueError):
    """The objects passed to the simulator cannot be objects of a hub.

    The message names the object, the field and what was expected. It is raised before scheduling, so a
    verdict is never based on partly read input.
    """

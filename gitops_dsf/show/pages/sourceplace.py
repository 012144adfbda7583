"""The place in git of an object that a page shows."""

from typing import NamedTuple


class SourcePlace(NamedTuple):
    """The place where git has an object."""

    place: str
    """File and line, such as `apps/portal.yaml:4`."""
    url: str
    """The page of the forge; empty where the forge is not known."""

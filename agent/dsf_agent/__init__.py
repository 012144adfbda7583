"""The spoke agent: watch, schedule, fetch, score, publish."""

from dsf_wire import __version__

__all__ = ["__version__"]

"""The spoke agent: watch, schedule, fetch, score, publish."""

__version__ = "0.1.0"

"""The hub as all controllers share it."""

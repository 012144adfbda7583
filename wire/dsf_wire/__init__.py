"""Wire formats and names that the generator and the agent share. It imports nothing else of ours."""

__version__ = "0.1.0"
"""Of all distributions: they are released together and pin each other exactly. `make version` changes it."""

"""Wire formats and names shared by the generator and the agent. A leaf: standard library and msgspec only, no
I/O.
"""

__version__ = "0.1.0"
"""Of all distributions: they are released together and pin each other exactly. `make version` changes it."""

"""Wire formats and names that the generator and the agent share.

Imports no other package of this project.
"""

__version__ = "0.1.0"
"""The version of all distributions, which pin each other exactly. `make version` changes it."""

"""The runtime library that the agent on the spoke and the reconciler on the hub share.

The generator does not import it.
"""

__version__ = "0.1.0"

"""What the long-running programs share: the agent on the spoke and the reconciler on the hub. The generator
does not import it.
"""

__version__ = "0.1.0"

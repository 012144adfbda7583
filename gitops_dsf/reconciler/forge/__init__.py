"""Forges, where people review and merge branches. `protocol.Forge` is what a forge offers; GitHub is the only
one so far.
"""

from gitops_dsf.reconciler.forge.protocol import Forge, ForgeCause, ForgeError, Request, RequestState

__all__ = ["Forge", "ForgeCause", "ForgeError", "Request", "RequestState"]

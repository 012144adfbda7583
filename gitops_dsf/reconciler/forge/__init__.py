"""Where branches become requests that people review and merge: GitHub today; `protocol.Forge` is what another
one has to offer.
"""

from gitops_dsf.reconciler.forge.protocol import Forge, ForgeCause, ForgeError, Request, RequestState

__all__ = ["Forge", "ForgeCause", "ForgeError", "Request", "RequestState"]

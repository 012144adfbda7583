"""Updates locks/ from the /config pages of scoring APIs.

Only `plan` and `fetch` send requests; they need the libraries of the extra `live`.
"""

from gitops_dsf.sync.result import LockResult, LockState, SyncPlan

__all__ = ["LockResult", "LockState", "SyncPlan"]

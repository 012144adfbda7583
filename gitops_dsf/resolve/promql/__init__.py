"""PromQL: whether an expression parses, where its mistake is, which labels its result can have, and how far
it looks back.
"""

from gitops_dsf.resolve.promql.check import Checked, Mistake, check
from gitops_dsf.resolve.promql.history import history_seconds
from gitops_dsf.resolve.promql.labels import can_have, others

__all__ = ["Checked", "Mistake", "can_have", "check", "history_seconds", "others"]

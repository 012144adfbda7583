"""PromQL: whether an expression parses, where its mistake is, and which labels its result can have."""

from gitops_dsf.resolve.promql.check import Checked, Mistake, check
from gitops_dsf.resolve.promql.labels import can_have, others

__all__ = ["Checked", "Mistake", "can_have", "check", "others"]

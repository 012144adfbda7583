"""PromQL: whether an expression parses, where its mistake is, which labels its result can have, and how far
it looks back.
"""

from gitops_dsf.resolve.promql.check import MAX_QUERY, Checked, Mistake, check
from gitops_dsf.resolve.promql.labels import can_have, history_seconds, others
from gitops_dsf.resolve.promql.mixing import Clause, mixing_clauses

__all__ = [
    "MAX_QUERY",
    "Checked",
    "Clause",
    "Mistake",
    "can_have",
    "check",
    "history_seconds",
    "mixing_clauses",
    "others",
]
